// SPDX-License-Identifier: Apache-2.0 OR MIT
// See traced_calls.h; the filter that shows these calls to a tracer is made here too. Arguments are
// as in section 2 of the manual. Connecting is the network's supervisor's.
#include "confine/traced_calls.h"

#include <linux/filter.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include <seccomp.h>

#include "confine/filter_builder.h"
#include "confine/seccomp.h"

namespace aegis::confine {
namespace {

using Act = TracedCall::Act;

// Linux 6.6, not yet in libseccomp 2.5.4; the number is the same on every architecture.
constexpr int kFchmodat2 = 452;

constexpr auto kCalls = std::to_array<TracedCall>({
    {SCMP_SYS(open), Act::open, 0, -1, 1},
    {SCMP_SYS(openat), Act::open, 1, 0, 2},
    {SCMP_SYS(openat2), Act::open_how, 1, 0, 2},
    {SCMP_SYS(creat), Act::create, 0},

    {SCMP_SYS(execve), Act::run, 0},
    {SCMP_SYS(execveat), Act::run, 1, 0},
    {SCMP_SYS(mmap), Act::map, 4},

    {SCMP_SYS(stat), Act::look, 0},
    {SCMP_SYS(lstat), Act::look_at_link, 0},
    {SCMP_SYS(newfstatat), Act::look, 1, 0},
    {SCMP_SYS(statx), Act::look, 1, 0},
    {SCMP_SYS(statfs), Act::look, 0},
    {SCMP_SYS(access), Act::access, 0, -1, 1},
    {SCMP_SYS(faccessat), Act::access, 1, 0, 2},
    {SCMP_SYS(faccessat2), Act::access, 1, 0, 2},
    {SCMP_SYS(readlink), Act::look_at_link, 0},
    {SCMP_SYS(readlinkat), Act::look_at_link, 1, 0},

    {SCMP_SYS(chdir), Act::read, 0},
    {SCMP_SYS(inotify_add_watch), Act::read, 1},

    {SCMP_SYS(truncate), Act::change, 0},
    {SCMP_SYS(chmod), Act::change, 0},
    {SCMP_SYS(fchmodat), Act::change, 1, 0},
    {kFchmodat2, Act::change, 1, 0},
    {SCMP_SYS(chown), Act::change, 0},
    {SCMP_SYS(lchown), Act::change, 0},
    {SCMP_SYS(fchownat), Act::change, 1, 0},
    {SCMP_SYS(utime), Act::change, 0},
    {SCMP_SYS(utimes), Act::change, 0},
    {SCMP_SYS(futimesat), Act::change, 1, 0},
    {SCMP_SYS(utimensat), Act::change, 1, 0},
    {SCMP_SYS(setxattr), Act::change, 0},
    {SCMP_SYS(lsetxattr), Act::change, 0},
    {SCMP_SYS(removexattr), Act::change, 0},
    {SCMP_SYS(lremovexattr), Act::change, 0},

    {SCMP_SYS(mkdir), Act::make_folder, 0},
    {SCMP_SYS(mkdirat), Act::make_folder, 1, 0},
    {SCMP_SYS(mknod), Act::make, 0},
    {SCMP_SYS(mknodat), Act::make, 1, 0},
    {SCMP_SYS(symlink), Act::make, 1},
    {SCMP_SYS(symlinkat), Act::make, 2, 1},
    {SCMP_SYS(link), Act::make, 1},
    {SCMP_SYS(linkat), Act::make, 3, 2},
    {SCMP_SYS(rename), Act::remove, 0},
    {SCMP_SYS(rename), Act::make, 1},
    {SCMP_SYS(renameat), Act::remove, 1, 0},
    {SCMP_SYS(renameat), Act::make, 3, 2},
    {SCMP_SYS(renameat2), Act::remove, 1, 0},
    {SCMP_SYS(renameat2), Act::make, 3, 2},
    {SCMP_SYS(unlink), Act::remove, 0},
    {SCMP_SYS(rmdir), Act::remove, 0},
    {SCMP_SYS(unlinkat), Act::remove, 1, 0},
});

/// Only files that are mapped as code: a runtime's own code lies in anonymous memory.
constexpr std::array<Comparison, 2> kMapsCode{
    {{2, Comparison::Test::low_bits, PROT_EXEC, PROT_EXEC},
     {3, Comparison::Test::low_bits, 0, MAP_ANONYMOUS}}};
constexpr std::array<Comparison, 1> kIsUnix{{{0, Comparison::Test::low_bits, AF_UNIX}}};

Result<void> show_calls(FilterBuilder& builder) {
  int last = -1;
  for (const TracedCall& each : kCalls) {
    if (each.number == last) continue;  // its second file
    last = each.number;
    std::span<const Comparison> when;
    if (each.act == Act::map) when = kMapsCode;
    AEGIS_TRY(builder.trace(each.number, when));
  }
  return {};
}

}  // namespace

std::span<const TracedCall> traced_calls() {
  return kCalls;
}

Result<Filter> Filter::compile_tracing() {
  FilterBuilder builder = AEGIS_TRY(FilterBuilder::make(FilterBuilder::Otherwise::allow));
  AEGIS_TRY(show_calls(builder));
  AEGIS_TRY(builder.refuse(SCMP_SYS(socket), EAFNOSUPPORT, kIsUnix));
  Filter filter;
  filter.program_ = AEGIS_TRY(builder.program());
  filter.instructions_ = filter.program_.size();
  if (filter.instructions_ > BPF_MAXINSNS) return code_error("make the filter", "too long", E2BIG);
  return filter;
}

}  // namespace aegis::confine
