// SPDX-License-Identifier: Apache-2.0 OR MIT
// See caller.h.
#include "confine/caller.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

namespace aegis::confine {
namespace {

constexpr unsigned kPidfdThread = O_EXCL;  // linux/pidfd.h, PIDFD_THREAD, Linux 6.9

int open_pidfd(pid_t pid, unsigned flags) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, flags));  // close-on-exec by itself
}

/// The thread's process, from its status file; -1 when that cannot be read.
pid_t process_of(int folder) {
  const Fd file(::openat(folder, "status", O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  if (!file.is_open() || ::read(file.get(), text.data(), text.size() - 1) <= 0) return -1;
  // The name before it cannot hold a newline as such (proc(5): it is escaped).
  const char* line = std::strstr(text.data(), "\nTgid:\t");
  if (line == nullptr) return -1;
  return static_cast<pid_t>(std::strtol(line + std::strlen("\nTgid:\t"), nullptr, 10));
}

}  // namespace

int CopiedAddress::family() const {
  return size >= sizeof(sa_family_t) ? static_cast<int>(storage.ss_family) : -1;
}

int Caller::find(const Call& call, int proc, Caller& found) {
  if (call.thread <= 0) return EPERM;  // it is in no pid namespace of ours
  found.thread_ = call.thread;
  const std::string name = std::to_string(call.thread);
  if (proc >= 0) found.folder_ = Fd(::openat(proc, name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  found.pidfd_ = Fd(open_pidfd(call.thread, kPidfdThread));
  if (!found.pidfd_.is_open() && errno == EINVAL) {
    // Before 6.9 the process stands for the thread. One that has unshared its descriptors is then
    // answered by its process's: within the sandbox either way.
    found.pidfd_ = Fd(open_pidfd(process_of(found.folder_.get()), 0));
  }
  return found.pidfd_.is_open() ? 0 : errno;
}

Fd duplicate_of(int pidfd, int number) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd, number, 0U)));
}

Fd Caller::duplicate(int number) const {
  return duplicate_of(pidfd_.get(), number);
}

int Caller::copy_address(std::uint64_t at, std::uint64_t size, CopiedAddress& copied) const {
  // The kernel takes the length as int (socket(7)).
  const auto length = static_cast<std::int32_t>(size);
  if (length < 0 || static_cast<std::size_t>(length) > sizeof copied.storage) return EINVAL;
  copied = {};
  copied.size = static_cast<socklen_t>(length);
  if (length == 0) return 0;
  iovec here{&copied.storage, copied.size};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address in another process
  iovec there{reinterpret_cast<void*>(at), copied.size};
  const ssize_t read = ::process_vm_readv(thread_, &here, 1, &there, 1, 0);
  if (read == length) return 0;
  return read < 0 && errno != EFAULT ? errno : EFAULT;
}

}  // namespace aegis::confine
