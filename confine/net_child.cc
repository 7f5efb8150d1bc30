// SPDX-License-Identifier: Apache-2.0 OR MIT
// See net_child.h.
#include "confine/net_child.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace aegis::confine {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the listener's filter does not know this architecture's AUDIT_ARCH"
#endif
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "argument() takes the low half first");

constexpr std::uint32_t kX32Bit =
    0x40000000;  // asm/unistd.h, __X32_SYSCALL_BIT; no other numbers reach it
constexpr std::uint32_t kSocketTypeMask = 0xf;  // linux/net.h, SOCK_TYPE_MASK
constexpr std::uint32_t kWaitKillableRecv = 1U
                                            << 5U;  // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, 5.19
constexpr std::uint16_t kDnsPort = 53;

constexpr std::uint32_t refuse(unsigned error) {
  return SECCOMP_RET_ERRNO | error;
}
// The kernel takes all these arguments as int or unsigned int, so the low half is all there is.
constexpr std::uint32_t argument(unsigned index) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));
}

/// An instruction with its own row, and the rows where a jump leads. Rows are checked below.
struct Step {
  std::uint8_t row;
  std::uint16_t code;
  std::uint32_t value;
  std::uint8_t yes = 0;
  std::uint8_t no = 0;
};
constexpr std::uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
constexpr std::uint16_t kMask = BPF_ALU | BPF_AND | BPF_K;
constexpr std::uint16_t kAnswer = BPF_RET | BPF_K;
constexpr std::uint16_t kIs = BPF_JMP | BPF_JEQ | BPF_K;
constexpr std::uint16_t kAtLeast = BPF_JMP | BPF_JGE | BPF_K;
constexpr std::uint16_t kHas = BPF_JMP | BPF_JSET | BPF_K;

// What is not named here is the refusing filter's, which is loaded after this one. A call for which
// both have an answer gets the stricter one (seccomp(2)): an errno comes before a notification.
constexpr auto kSteps = std::to_array<Step>({
    {0, kLoad, offsetof(seccomp_data, arch)},
    {1, kIs, kArchitecture, 3, 2},
    {2, kAnswer, SECCOMP_RET_KILL_PROCESS},
    {3, kLoad, offsetof(seccomp_data, nr)},
    {4, kAtLeast, kX32Bit, 5, 6},
    {5, kAnswer, refuse(ENOSYS)},
    {6, kIs, SYS_connect, 34, 7},
    {7, kIs, SYS_bind, 34, 8},
    {8, kIs, SYS_listen, 34, 9},
    {9, kIs, SYS_sendmsg, 13, 10},
    {10, kIs, SYS_sendto, 15, 11},
    {11, kIs, SYS_sendmmsg, 15, 12},
    {12, kIs, SYS_socket, 18, 35},
    // sendmsg, sendto, sendmmsg: their flags
    {13, kLoad, argument(2)},
    {14, kHas, MSG_FASTOPEN, 17, 35},
    {15, kLoad, argument(3)},
    {16, kHas, MSG_FASTOPEN, 17, 35},
    {17, kAnswer, refuse(EOPNOTSUPP)},  // as where tcp_fastopen is switched off (tcp(7))
    // socket: domain, type, protocol
    {18, kLoad, argument(0)},
    {19, kIs, AF_UNIX, 31, 20},
    {20, kIs, AF_INET, 22, 21},
    {21, kIs, AF_INET6, 22, 34},
    {22, kLoad, argument(1)},
    {23, kMask, kSocketTypeMask},
    {24, kIs, SOCK_STREAM, 28, 25},
    {25, kIs, SOCK_DGRAM, 26, 34},
    {26, kLoad, argument(2)},
    {27, kIs, IPPROTO_UDP, 35, 30},
    {28, kLoad, argument(2)},
    {29, kIs, IPPROTO_TCP, 35, 30},
    {30, kIs, 0, 35, 34},
    // a unix socket: no datagrams, which would reach any path by sendto without connect
    {31, kLoad, argument(1)},
    {32, kMask, kSocketTypeMask},
    {33, kIs, SOCK_STREAM, 35, 34},
    {34, kAnswer, SECCOMP_RET_USER_NOTIF},
    {35, kAnswer, SECCOMP_RET_ALLOW},
});

constexpr bool are_rows_right() {
  for (std::size_t at = 0; at < kSteps.size(); ++at) {
    const Step& step = kSteps[at];
    if (step.row != at) return false;
    if (BPF_CLASS(step.code) != BPF_JMP) continue;
    if (step.yes <= at || step.no <= at || step.yes >= kSteps.size() || step.no >= kSteps.size())
      return false;
  }
  return BPF_CLASS(kSteps.back().code) == BPF_RET;
}
static_assert(are_rows_right(), "a row's number is not its own, or a jump leads back or out");

constexpr auto assemble() {
  std::array<sock_filter, kSteps.size()> program{};
  for (std::size_t at = 0; at < kSteps.size(); ++at) {
    const Step& step = kSteps[at];
    const bool is_jump = BPF_CLASS(step.code) == BPF_JMP;
    program[at].code = step.code;
    program[at].k = step.value;
    program[at].jt = is_jump ? static_cast<std::uint8_t>(step.yes - at - 1) : std::uint8_t{0};
    program[at].jf = is_jump ? static_cast<std::uint8_t>(step.no - at - 1) : std::uint8_t{0};
  }
  return program;
}
constexpr auto kProgram = assemble();

/// The control part of a message with one descriptor, aligned as cmsg(3) wants.
union Control {
  cmsghdr head;
  char bytes[CMSG_SPACE(sizeof(int))];
};

}  // namespace

int raise_loopback() noexcept {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", sizeof "lo");
  int code = ::ioctl(socket, SIOCGIFFLAGS, &request) == 0 ? 0 : errno;
  if (code == 0) {
    request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
    code = ::ioctl(socket, SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
  }
  ::close(socket);
  return code;
}

int open_resolver_socket(int* fd) noexcept {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kDnsPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int code = errno;
    ::close(socket);
    return code;
  }
  *fd = socket;
  return 0;
}

int send_fd(int socket, int fd, char tag) noexcept {
  iovec data{&tag, sizeof tag};
  Control control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == sizeof tag ? 0 : errno;
}

int receive_fd(int socket, int* fd, char* tag) noexcept {
  iovec data{tag, sizeof *tag};
  Control control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t received = 0;
  do {
    received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return errno;
  if (received == 0) return ECONNRESET;
  const cmsghdr* head = CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
      head->cmsg_len != CMSG_LEN(sizeof *fd))
    return EBADMSG;
  std::memcpy(fd, CMSG_DATA(head), sizeof *fd);
  return 0;
}

int load_listener(int* listener_fd) noexcept {
  sock_fprog program{};
  program.len = static_cast<unsigned short>(kProgram.size());
  program.filter = const_cast<sock_filter*>(kProgram.data());  // the kernel only reads it
  const long fd = ::syscall(SYS_seccomp,
                            SECCOMP_SET_MODE_FILTER,
                            SECCOMP_FILTER_FLAG_NEW_LISTENER | kWaitKillableRecv,
                            &program);
  if (fd < 0) return errno;
  *listener_fd = static_cast<int>(fd);
  return 0;
}

}  // namespace aegis::confine
