// SPDX-License-Identifier: Apache-2.0 OR MIT
// See escapes.h.
#include "confine/escapes.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace aegis::confine {
namespace {

/// For calls that answer -1 and errno.
int by_result(long result) {
  return result >= 0 ? 0 : errno;
}

int open_it(const std::string& path, int flags) {
  constexpr mode_t kMode = 0600;
  return by_result(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, kMode));
}

int read_file(const Bait& bait) {
  return open_it(bait.file(), O_RDONLY);
}
int write_file(const Bait& bait) {
  return open_it(bait.file(), O_WRONLY);
}
int make_file(const Bait& bait) {
  return open_it(bait.made(), O_WRONLY | O_CREAT | O_EXCL);
}
int see_file(const Bait& bait) {
  struct stat status {};
  return by_result(::stat(bait.file().c_str(), &status));
}
int change_mode(const Bait& bait) {
  constexpr mode_t kOther = 0644;
  return by_result(::chmod(bait.file().c_str(), kOther));
}
int use_descriptor(const Bait& bait) {
  return by_result(::fcntl(bait.descriptor, F_GETFD));
}
int go_through_process(const Bait& bait) {
  return open_it("/proc/" + std::to_string(bait.process) + "/root" + bait.file(), O_RDONLY);
}
int send_signal(const Bait& bait) {
  return by_result(::kill(bait.process, SIGUSR1));
}
int trace_process(const Bait& bait) {
  return by_result(::ptrace(PTRACE_SEIZE, bait.process, nullptr, nullptr));
}
int read_memory(const Bait& bait) {
  char byte = 0;
  iovec here{&byte, 1};
  iovec there{reinterpret_cast<void*>(bait.secret), 1};  // NOLINT(performance-no-int-to-ptr): ditto
  return by_result(::process_vm_readv(bait.process, &here, 1, &there, 1, 0));
}

int connect_tcp(const Bait& bait) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(bait.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return by_result(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}
int make_udp_socket(const Bait& /*bait*/) {
  return by_result(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}
int make_netlink_socket(const Bait& /*bait*/) {
  return by_result(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
}
int make_datagram_pair(const Bait& /*bait*/) {
  int ends[2];
  return by_result(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends));
}
int connect_abstract(const Bait& bait) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size =
      bait.abstract_name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  return by_result(::connect(fd, reinterpret_cast<const sockaddr*>(&address), length));
}

int set_up_uring(const Bait& /*bait*/) {
  alignas(8) char parameters[120] = {};  // struct io_uring_params
  return by_result(::syscall(SYS_io_uring_setup, 4, parameters));
}
int make_user_namespace(const Bait& /*bait*/) {
  return by_result(::unshare(CLONE_NEWUSER));
}
int mount_something(const Bait& /*bait*/) {
  // ENODEV comes behind the question whether the caller may mount at all (fs/namespace.c:
  // path_mount), and nothing is mounted.
  return ::mount("none", "/", "aegis-no-such-type", 0, nullptr) == 0 || errno == ENODEV ? 0 : errno;
}
int ask_keyring(const Bait& /*bait*/) {
  constexpr long kGetKeyringId = 0;
  constexpr long kUserKeyring = -4;
  return by_result(::syscall(SYS_keyctl, kGetKeyringId, kUserKeyring, 0));
}
int use_bpf(const Bait& /*bait*/) {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = sizeof(std::uint32_t);
  attributes.value_size = sizeof(std::uint32_t);
  attributes.max_entries = 1;
  return by_result(::syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes));
}
int open_perf_event(const Bait& /*bait*/) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return by_result(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}
int make_userfaultfd(const Bait& /*bait*/) {
  constexpr int kUserModeOnly = 1;  // Linux 5.11
  return by_result(::syscall(SYS_userfaultfd, O_CLOEXEC | kUserModeOnly));
}
int type_into_terminal(const Bait& /*bait*/) {
  // Into none: EBADF says that the filter let it through.
  return ::ioctl(-1, TIOCSTI, "") == 0 || errno == EBADF ? 0 : errno;
}
int write_kernel_setting(const Bait& /*bait*/) {
  return open_it("/proc/sys/kernel/core_pattern", O_WRONLY);
}
int have_capability(const Bait& /*bait*/) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  if (::syscall(SYS_capget, &header, sets) != 0) return errno;
  for (const __user_cap_data_struct& set : sets) {
    if ((set.effective | set.permitted | set.inheritable) != 0) return 0;
  }
  return EPERM;
}
int gain_by_set_uid(const Bait& /*bait*/) {
  return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? EPERM : 0;
}

#ifdef __x86_64__
int call_by_i386(const Bait& /*bait*/) {
  constexpr long kGetpid = 20;  // arch/x86/entry/syscalls/syscall_32.tbl
  long result = kGetpid;
  asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  return result < 0 ? static_cast<int>(-result) : 0;
}
int call_by_x32(const Bait& /*bait*/) {
  constexpr long kX32 = 0x40000000;
  return by_result(::syscall(kX32 | SYS_getpid));
}
#endif

using Trace = Escape::Trace;
using Reach = Escape::Reach;

constexpr Escape kEscapes[] = {
    {"read-file", "read a file that was not granted", read_file, {ENOENT, EACCES}},
    {"write-file", "open it for writing", write_file, {ENOENT, EACCES}},
    {"make-file", "make a file beside it", make_file, {ENOENT, EACCES}, Trace::made_file},
    {"see-file", "see whether it is there", see_file, {ENOENT}, Trace::none, Reach::full_only},
    {"change-mode", "change its mode", change_mode, {ENOENT}, Trace::mode, Reach::full_only},
    {"descriptor", "use a descriptor that aegis had open", use_descriptor, {EBADF}},
    {"process-root",
     "open it through another process's root",
     go_through_process,
     {ENOENT, EACCES}},
    {"signal",
     "end another process of the user's",
     send_signal,
     {ESRCH, EPERM},
     Trace::process_end},
    {"ptrace", "trace it", trace_process, {EPERM}},
    {"memory", "read its memory", read_memory, {EPERM}},
    {"tcp", "connect to a port of the host", connect_tcp, {EAFNOSUPPORT}, Trace::connection},
    {"udp", "make a UDP socket", make_udp_socket, {EAFNOSUPPORT}},
    {"netlink", "make a netlink socket", make_netlink_socket, {EAFNOSUPPORT}},
    {"datagram-pair", "make a pair of datagram sockets", make_datagram_pair, {EAFNOSUPPORT}},
    {"abstract-socket",
     "connect to an abstract unix socket of the host",
     connect_abstract,
     {ECONNREFUSED, EPERM, EAFNOSUPPORT},
     Trace::abstract},
    {"io-uring", "set up io_uring", set_up_uring, {ENOSYS}},
    {"user-namespace", "make a user namespace", make_user_namespace, {EPERM}},
    {"mount", "mount a file system", mount_something, {EPERM}},
    {"keyring", "look for the user's keyring", ask_keyring, {EPERM}},
    {"bpf", "make a BPF map", use_bpf, {EPERM}},
    {"perf", "open a performance counter", open_perf_event, {EPERM}},
    {"userfaultfd", "handle page faults", make_userfaultfd, {EPERM}},
    {"tiocsti", "type into the terminal", type_into_terminal, {EPERM}},
    {"proc-sys", "write a setting of the kernel", write_kernel_setting, {EROFS, EACCES, ENOENT}},
    {"capability", "have a capability", have_capability, {EPERM}},
    {"set-uid", "gain by executing a set-uid program", gain_by_set_uid, {EPERM}},
#ifdef __x86_64__
    // Without CONFIG_IA32_EMULATION the interrupt is a fault.
    {"i386", "make a system call by the i386 table", call_by_i386, {-SIGSYS, -SIGSEGV, ENOSYS}},
    {"x32", "make a system call by the x32 table", call_by_x32, {ENOSYS, -SIGSYS}},
#endif
};

template <class Number>
bool read_number(const std::string& word, Number& number) {
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  return error == std::errc() && stop == end;
}

}  // namespace

std::span<const Escape> all_escapes() {
  return kEscapes;
}

std::vector<std::string> encode_bait(const Bait& bait) {
  return {bait.folder,
          std::to_string(bait.process),
          std::to_string(bait.secret),
          std::to_string(bait.port),
          bait.abstract_name,
          std::to_string(bait.descriptor)};
}

std::optional<Bait> decode_bait(const std::vector<std::string>& words) {
  constexpr std::size_t kWords = 6;
  Bait bait;
  if (words.size() != kWords || !words[0].starts_with('/')) return std::nullopt;
  bait.folder = words[0];
  bait.abstract_name = words[4];
  if (!read_number(words[1], bait.process) || !read_number(words[2], bait.secret) ||
      !read_number(words[3], bait.port) || !read_number(words[5], bait.descriptor))
    return std::nullopt;
  // kill(2) takes other numbers for many processes, or for this one.
  if (bait.process <= 1) return std::nullopt;
  return bait;
}

}  // namespace aegis::confine
