// SPDX-License-Identifier: Apache-2.0 OR MIT
// rlimits and pid_max, set between clone and exec: nothing here allocates. SIGXFSZ is ignored
// elsewhere (payload.cc), the mounts' sizes are the root's.
#include "confine/limits.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "confine/fd.h"

namespace aegis::confine {
namespace {

using Resource = decltype(RLIMIT_CORE);

int lower(Resource resource, rlim_t soft, rlim_t hard) noexcept {
  rlimit limit = {};
  if (::getrlimit(resource, &limit) < 0) return errno;
  limit.rlim_cur = std::min(limit.rlim_cur, soft);
  limit.rlim_max = std::min(limit.rlim_max, hard);
  return ::setrlimit(resource, &limit) == 0 ? 0 : errno;
}

/// Before 6.14 there is one pid_max for the whole machine, and root can write it even from a user
/// namespace of his (test_perm in fs/proc/proc_sysctl.c asks for the global uid 0 alone): it must
/// not be tried there.
bool has_own_pid_max() noexcept {
  constexpr unsigned kMajor = 6;
  constexpr unsigned kMinor = 14;
  utsname kernel = {};
  if (::getpid() != 1 || ::uname(&kernel) < 0) return false;
  const char* const end = kernel.release + std::strlen(kernel.release);
  unsigned major = 0;
  const std::from_chars_result dot = std::from_chars(kernel.release, end, major);
  if (dot.ec != std::errc() || dot.ptr == end || *dot.ptr != '.') return false;
  unsigned minor = 0;
  if (std::from_chars(dot.ptr + 1, end, minor).ec != std::errc()) return false;
  return major > kMajor || (major == kMajor && minor >= kMinor);
}

/// A small number from a file of /proc/sys, or 0.
std::uint64_t read_number(int file) noexcept {
  std::array<char, 24> text = {};
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  std::uint64_t number = 0;
  if (got > 0) std::from_chars(text.data(), text.data() + got, number);
  return number;
}

bool set_pid_max(std::uint64_t processes) noexcept {
  if (!has_own_pid_max()) return false;
  const Fd file(::open("/proc/sys/kernel/pid_max", O_RDWR | O_CLOEXEC));
  if (!file.is_open()) return false;
  const std::uint64_t held = read_number(file.get());
  const std::uint64_t wanted = std::min(held, processes) + kReservedPids;
  if (held == 0) return false;
  if (held <= wanted) return true;
  std::array<char, 24> text = {};
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), wanted).ptr;
  const auto size = static_cast<std::size_t>(end - text.data());
  if (::pwrite(file.get(), text.data(), size, 0) != end - text.data()) return false;
  return read_number(file.get()) == wanted;
}

/// Threads of the process that `name` stands for in /proc, when it is the caller's user's: `task`
/// has a link for each beside its own two (proc_task_getattr in fs/proc/base.c). A process that
/// hides its memory shows as root's and is missed, which makes the bound lower, not higher.
std::uint64_t threads_of(int proc, const char* name) noexcept {
  constexpr std::string_view kTask = "/task";
  std::array<char, 32> path = {};
  const std::size_t length = std::strlen(name);
  if (*name < '0' || *name > '9' || length + kTask.size() >= path.size()) return 0;
  std::memcpy(path.data(), name, length);
  std::memcpy(path.data() + length, kTask.data(), kTask.size());
  struct stat status = {};
  if (::fstatat(proc, path.data(), &status, 0) < 0 || status.st_uid != ::getuid()) return 0;
  return status.st_nlink > 2 ? status.st_nlink - 2 : 0;
}

/// By the system call: opendir(3) allocates.
std::uint64_t threads_of_user() noexcept {
  const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::uint64_t threads = 0;
  alignas(dirent64) std::array<char, 8192>
      entries;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (;;) {
    const long got = ::syscall(SYS_getdents64, proc.get(), entries.data(), entries.size());
    if (got <= 0) return std::max<std::uint64_t>(threads, 1);
    for (long at = 0; at < got;) {
      const char* const entry = entries.data() + at;
      unsigned short length = 0;
      std::memcpy(&length, entry + offsetof(dirent64, d_reclen), sizeof(length));
      threads += threads_of(proc.get(), entry + offsetof(dirent64, d_name));
      at += length;
    }
  }
}

/// By trying: the kernel lets uid 0 of the machine past RLIMIT_NPROC, whatever it is called here.
bool does_rlimit_bind() noexcept {
  rlimit kept = {};
  if (::getrlimit(RLIMIT_NPROC, &kept) < 0) return false;
  const rlimit nothing = {0, kept.rlim_max};
  if (::setrlimit(RLIMIT_NPROC, &nothing) < 0) return false;
  const pid_t child = ::_Fork();
  const bool is_refused = child < 0 && errno == EAGAIN;
  if (child == 0) ::_exit(0);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return ::setrlimit(RLIMIT_NPROC, &kept) == 0 && is_refused;
}

}  // namespace

int set_rlimits(const Bounds& bounds) noexcept {
  if (bounds.open_files < kFewestOpenFiles) return EINVAL;
  struct Limit {
    Resource resource;
    std::uint64_t soft;
    std::uint64_t hard;
  };
  const std::uint64_t seconds = bounds.cpu_seconds.value_or(RLIM_INFINITY);
  const std::uint64_t mapped = bounds.address_space.value_or(RLIM_INFINITY);
  const std::uint64_t stack = bounds.stack.value_or(RLIM_INFINITY);
  const std::array<Limit, 7> limits = {{
      {RLIMIT_CORE, 0, 0},
      {RLIMIT_DATA, bounds.memory, bounds.memory},
      {RLIMIT_AS, mapped, mapped},
      {RLIMIT_STACK, stack, stack},
      {RLIMIT_FSIZE, bounds.file_size, bounds.file_size},
      {RLIMIT_NOFILE, bounds.open_files, bounds.open_files},
      {RLIMIT_CPU, seconds, seconds == RLIM_INFINITY ? seconds : seconds + 1},
  }};
  for (const Limit& limit : limits) {
    if (const int code = lower(limit.resource, limit.soft, limit.hard)) return code;
  }
  return 0;
}

ProcessBound bound_processes(const Bounds& bounds) noexcept {
  const bool is_pid_max_set = set_pid_max(bounds.processes);
  // A new user namespace counts from its own beginning (Linux 5.14).
  const std::uint64_t now = ::getpid() == 1 ? 1 : threads_of_user();
  const rlim_t most = std::min<rlim_t>(bounds.processes, RLIM_INFINITY - now) + now;
  const bool is_limited = lower(RLIMIT_NPROC, most, most) == 0;
  if (is_pid_max_set) return ProcessBound::pid_namespace;
  return is_limited && does_rlimit_bind() ? ProcessBound::rlimit : ProcessBound::none;
}

}  // namespace aegis::confine
