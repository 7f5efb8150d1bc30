// SPDX-License-Identifier: Apache-2.0 OR MIT
// See commons.h.
#include "confine/commons.h"

#include <fcntl.h>

#include <cerrno>

#include "confine/fd.h"
#include "confine/mounts.h"

namespace aegis::confine {
namespace {

enum class In : std::uint8_t { both, full, landlock };

struct Common {
  const char* path;
  In tiers;
  Rights rights;
  Ruleset::Kind kind;
};
constexpr Rights kRead{};
constexpr Rights kReadWrite{.may_write = true};
constexpr Rights kAll{.may_write = true, .may_execute = true};

constexpr Common kCommons[] = {
    // In tier landlock it is the host's: other processes' names can be read there, and no more than
    // names, since Landlock keeps ptrace(2) and what depends on it inside the domain.
    {"/proc", In::both, kRead, Ruleset::Kind::directory},
    {"/dev", In::full, kRead, Ruleset::Kind::directory},
    {"/dev/null", In::both, kReadWrite, Ruleset::Kind::device},
    {"/dev/zero", In::both, kReadWrite, Ruleset::Kind::device},
    {"/dev/full", In::both, kReadWrite, Ruleset::Kind::device},
    {"/dev/random", In::both, kRead, Ruleset::Kind::device},
    {"/dev/urandom", In::both, kReadWrite, Ruleset::Kind::device},
    // Locks of python's multiprocessing are files there. Tier landlock is granted the host's.
    {"/dev/shm", In::full, kReadWrite, Ruleset::Kind::directory},
    {"/dev/pts", In::full, kReadWrite, Ruleset::Kind::device},
    {"/tmp", In::full, kAll, Ruleset::Kind::directory},  // npx runs what it has unpacked there
    {"/run", In::full, kRead, Ruleset::Kind::directory},
    // Made for the sandbox in tier full; the few of the host that name resolution reads otherwise.
    {"/etc", In::full, kRead, Ruleset::Kind::directory},
    {"/etc/passwd", In::landlock, kRead, Ruleset::Kind::file},
    {"/etc/group", In::landlock, kRead, Ruleset::Kind::file},
    {"/etc/hosts", In::landlock, kRead, Ruleset::Kind::file},
    {"/etc/nsswitch.conf", In::landlock, kRead, Ruleset::Kind::file},
};

}  // namespace

int allow_commons(const Ruleset& ruleset, Tier tier, RunsInScratch runs) noexcept {
  const In other = tier == Tier::full ? In::landlock : In::full;
  for (const Common& each : kCommons) {
    if (each.tiers == other) continue;
    const Fd fd(open_exactly(AT_FDCWD, each.path));
    if (!fd.is_open() && (errno == ENOENT || errno == ELOOP)) continue;
    Rights rights = each.rights;
    if (runs == RunsInScratch::no) rights.may_execute = false;
    const int code = fd.is_open() ? ruleset.allow_fd(fd.get(), rights, each.kind) : errno;
    if (code != 0) return code;
  }
  return 0;
}

}  // namespace aegis::confine
