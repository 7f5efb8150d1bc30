// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which system calls are refused, as tables. A deny list: an allow list breaks runtimes
// (docs/decisions/0016-libseccomp-deny-list.md). What no number and no argument shows (a path, a
// structure in memory) is for other layers.
#include "confine/seccomp.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

#include <seccomp.h>

#include "confine/filter_builder.h"
#include "confine/socket_rules.h"

namespace aegis::confine {
namespace {

// Not yet in libseccomp 2.5.4; the number is the same on every architecture (Linux 6.15).
constexpr int kOpenTreeAttr = 467;
// linux/ioprio.h, which Debian 12 does not install whole.
constexpr std::uint32_t kIoprioWhoUser = 3;
// linux/tcp.h and linux/in6.h: glibc's headers, which cannot stand beside those, lack some.
constexpr std::uint32_t kTcpFastopenConnect = 30;  // Linux 4.11
constexpr std::uint32_t kTcpUlp = 31;              // Linux 4.13
constexpr std::uint32_t kIpv6OldPktoptions = 6;  // IPV6_2292PKTOPTIONS: can carry a routing header

struct Refusal {
  int call = 0;
  int error = 0;
  std::string_view why;
  std::array<std::optional<Comparison>, 2> when = {};  // both must be true
};

constexpr Comparison masked(unsigned index, std::uint32_t mask, std::uint32_t value) {
  return {index, Comparison::Test::low_bits, value, mask};
}
constexpr Comparison has_flag(unsigned index, std::uint32_t flag) {
  return masked(index, flag, flag);
}
constexpr Comparison is(unsigned index, std::uint32_t value) {
  return masked(index, 0xffffffff, value);
}
/// A process's number that is not 0, which stands for the caller.
constexpr Comparison is_other(unsigned index) {
  return {index, Comparison::Test::not_equal, 0};
}

constexpr std::string_view kUring = "makes sockets and opens files past every filter (io_uring(7))";
constexpr std::string_view kNamespace =
    "a new user namespace gives capabilities (user_namespaces(7))";
constexpr std::string_view kInspect = "reads, writes or takes from other processes (ptrace(2))";
constexpr std::string_view kKeys = "keyrings know no namespaces (keyrings(7))";
constexpr std::string_view kSurface = "kernel interface with a long history of holes";
constexpr std::string_view kMount = "changes what exists (mount(2))";
constexpr std::string_view kKernel =
    "replaces or extends the kernel (init_module(2), kexec_load(2))";
constexpr std::string_view kSystem = "changes the machine for all (capabilities(7))";
constexpr std::string_view kHandle =
    "opens files by number, past every path (open_by_handle_at(2))";
constexpr std::string_view kOld = "gone from the kernel, or of no use but to an attacker";
// nosuid and no_new_privs hold inside: on the host such a file in a writable folder would run as
// aegis's user, whoever starts it.
constexpr std::string_view kSetId = "leaves a set-user-ID or set-group-ID file (inode(7))";
constexpr int kFchmodat2 = 452;  // Linux 6.6, the same number everywhere; libseccomp 2.5.5 names it
constexpr std::uint32_t kNameless = O_TMPFILE & ~O_DIRECTORY;  // open(2)
// On any file of the user's that may be read, and on the system's for root.
constexpr std::string_view kLease =
    "everybody who opens the file then waits, up to lease-break-time (fcntl(2))";
constexpr std::string_view kTerminal = "types into the user's terminal (ioctl_tty(2))";

// ENOSYS where programs then take another way; EPERM makes node abort on clone3 and leaves python
// without threads, since glibc falls back on ENOSYS alone.
constexpr auto kRefused = std::to_array<Refusal>({
    {SCMP_SYS(io_uring_setup), ENOSYS, kUring},
    {SCMP_SYS(io_uring_enter), ENOSYS, kUring},
    {SCMP_SYS(io_uring_register), ENOSYS, kUring},

    {SCMP_SYS(clone3), ENOSYS, "its flags are in memory, where a filter cannot look (clone(2))"},
    {SCMP_SYS(clone), EPERM, kNamespace, {has_flag(0, CLONE_NEWNS)}},
    {SCMP_SYS(clone), EPERM, kNamespace, {has_flag(0, CLONE_NEWCGROUP)}},
    {SCMP_SYS(clone), EPERM, kNamespace, {has_flag(0, CLONE_NEWUTS)}},
    {SCMP_SYS(clone), EPERM, kNamespace, {has_flag(0, CLONE_NEWIPC)}},
    {SCMP_SYS(clone), EPERM, kNamespace, {has_flag(0, CLONE_NEWUSER)}},
    {SCMP_SYS(clone), EPERM, kNamespace, {has_flag(0, CLONE_NEWPID)}},
    {SCMP_SYS(clone), EPERM, kNamespace, {has_flag(0, CLONE_NEWNET)}},
    {SCMP_SYS(unshare), EPERM, kNamespace},
    {SCMP_SYS(setns), EPERM, kNamespace},

    {SCMP_SYS(ptrace), EPERM, kInspect},
    {SCMP_SYS(process_vm_readv), EPERM, kInspect},
    {SCMP_SYS(process_vm_writev), EPERM, kInspect},
    {SCMP_SYS(process_madvise), EPERM, kInspect},
    {SCMP_SYS(pidfd_getfd), EPERM, kInspect},
    {SCMP_SYS(kcmp), EPERM, kInspect},

    {SCMP_SYS(add_key), EPERM, kKeys},
    {SCMP_SYS(request_key), EPERM, kKeys},
    {SCMP_SYS(keyctl), EPERM, kKeys},

    {SCMP_SYS(bpf), EPERM, kSurface},
    {SCMP_SYS(perf_event_open), EPERM, kSurface},
    {SCMP_SYS(userfaultfd), EPERM, kSurface},
    {SCMP_SYS(fanotify_init), EPERM, "watches whole file systems (fanotify(7))"},
    {SCMP_SYS(fanotify_mark), EPERM, "watches whole file systems (fanotify(7))"},

    {SCMP_SYS(mount), EPERM, kMount},
    {SCMP_SYS(umount2), EPERM, kMount},
    {SCMP_SYS(pivot_root), EPERM, kMount},
    {SCMP_SYS(chroot), EPERM, kMount},
    {SCMP_SYS(open_tree), EPERM, kMount},
    {SCMP_SYS(move_mount), EPERM, kMount},
    {SCMP_SYS(fsopen), EPERM, kMount},
    {SCMP_SYS(fsconfig), EPERM, kMount},
    {SCMP_SYS(fsmount), EPERM, kMount},
    {SCMP_SYS(fspick), EPERM, kMount},
    {SCMP_SYS(mount_setattr), EPERM, kMount},
    {kOpenTreeAttr, EPERM, kMount},

    {SCMP_SYS(kexec_load), EPERM, kKernel},
    {SCMP_SYS(kexec_file_load), EPERM, kKernel},
    {SCMP_SYS(init_module), EPERM, kKernel},
    {SCMP_SYS(finit_module), EPERM, kKernel},
    {SCMP_SYS(delete_module), EPERM, kKernel},
    {SCMP_SYS(create_module), EPERM, kOld},
    {SCMP_SYS(query_module), EPERM, kOld},
    {SCMP_SYS(get_kernel_syms), EPERM, kOld},

    {SCMP_SYS(swapon), EPERM, kSystem},
    {SCMP_SYS(swapoff), EPERM, kSystem},
    {SCMP_SYS(reboot), EPERM, kSystem},
    {SCMP_SYS(acct), EPERM, kSystem},
    {SCMP_SYS(quotactl), EPERM, kSystem},
    {SCMP_SYS(quotactl_fd), EPERM, kSystem},
    {SCMP_SYS(settimeofday), EPERM, kSystem},
    {SCMP_SYS(clock_settime), EPERM, kSystem},
    {SCMP_SYS(clock_adjtime), EPERM, kSystem},
    {SCMP_SYS(adjtimex), EPERM, kSystem},
    {SCMP_SYS(iopl), EPERM, kSystem},
    {SCMP_SYS(ioperm), EPERM, kSystem},
    {SCMP_SYS(sethostname), EPERM, kSystem},
    {SCMP_SYS(setdomainname), EPERM, kSystem},
    {SCMP_SYS(syslog), EPERM, "reads the kernel's messages (syslog(2))"},
    {SCMP_SYS(vhangup), EPERM, kSystem},

    {SCMP_SYS(name_to_handle_at), EPERM, kHandle},
    {SCMP_SYS(open_by_handle_at), EPERM, kHandle},
    {SCMP_SYS(nfsservctl), EPERM, kOld},
    {SCMP_SYS(lookup_dcookie), EPERM, kOld},

    {SCMP_SYS(ioctl), EPERM, kTerminal, {is(1, TIOCSTI)}},
    {SCMP_SYS(ioctl), EPERM, kTerminal, {is(1, TIOCLINUX)}},

    // EINVAL is what a file system without leases says.
    {SCMP_SYS(fcntl), EINVAL, kLease, {is(1, F_SETLEASE)}},

    {SCMP_SYS(chmod), EPERM, kSetId, {has_flag(1, S_ISUID)}},
    {SCMP_SYS(chmod), EPERM, kSetId, {has_flag(1, S_ISGID)}},
    {SCMP_SYS(fchmod), EPERM, kSetId, {has_flag(1, S_ISUID)}},
    {SCMP_SYS(fchmod), EPERM, kSetId, {has_flag(1, S_ISGID)}},
    {SCMP_SYS(fchmodat), EPERM, kSetId, {has_flag(2, S_ISUID)}},
    {SCMP_SYS(fchmodat), EPERM, kSetId, {has_flag(2, S_ISGID)}},
    {kFchmodat2, EPERM, kSetId, {has_flag(2, S_ISUID)}},
    {kFchmodat2, EPERM, kSetId, {has_flag(2, S_ISGID)}},
    {SCMP_SYS(creat), EPERM, kSetId, {has_flag(1, S_ISUID)}},
    {SCMP_SYS(creat), EPERM, kSetId, {has_flag(1, S_ISGID)}},
    {SCMP_SYS(mknod), EPERM, kSetId, {has_flag(1, S_ISUID)}},
    {SCMP_SYS(mknod), EPERM, kSetId, {has_flag(1, S_ISGID)}},
    {SCMP_SYS(mknodat), EPERM, kSetId, {has_flag(2, S_ISUID)}},
    {SCMP_SYS(mknodat), EPERM, kSetId, {has_flag(2, S_ISGID)}},
    {SCMP_SYS(open), EPERM, kSetId, {has_flag(2, S_ISUID), has_flag(1, O_CREAT)}},
    {SCMP_SYS(open), EPERM, kSetId, {has_flag(2, S_ISGID), has_flag(1, O_CREAT)}},
    {SCMP_SYS(open), EPERM, kSetId, {has_flag(2, S_ISUID), has_flag(1, kNameless)}},
    {SCMP_SYS(open), EPERM, kSetId, {has_flag(2, S_ISGID), has_flag(1, kNameless)}},
    {SCMP_SYS(openat), EPERM, kSetId, {has_flag(3, S_ISUID), has_flag(2, O_CREAT)}},
    {SCMP_SYS(openat), EPERM, kSetId, {has_flag(3, S_ISGID), has_flag(2, O_CREAT)}},
    {SCMP_SYS(openat), EPERM, kSetId, {has_flag(3, S_ISUID), has_flag(2, kNameless)}},
    {SCMP_SYS(openat), EPERM, kSetId, {has_flag(3, S_ISGID), has_flag(2, kNameless)}},
    {SCMP_SYS(openat2), ENOSYS, "its mode is in memory, where a filter cannot look (openat2(2))"},
});

// Without namespaces the user's other processes and System V and POSIX objects are in reach, and
// Landlock has no say over them: here for what a pid and an ipc namespace do in tier full. ENOSYS
// is what a kernel without such objects says.
constexpr std::string_view kIpc = "shared with all of the user's processes (ipc_namespaces(7))";
constexpr std::string_view kOther = "a user may do it to all his processes (prlimit(2), sched(7))";
constexpr auto kRefusedWithoutNamespaces = std::to_array<Refusal>({
    {SCMP_SYS(shmget), ENOSYS, kIpc},
    {SCMP_SYS(shmat), ENOSYS, kIpc},
    {SCMP_SYS(shmctl), ENOSYS, kIpc},
    {SCMP_SYS(msgget), ENOSYS, kIpc},
    {SCMP_SYS(msgsnd), ENOSYS, kIpc},
    {SCMP_SYS(msgrcv), ENOSYS, kIpc},
    {SCMP_SYS(msgctl), ENOSYS, kIpc},
    {SCMP_SYS(semget), ENOSYS, kIpc},
    {SCMP_SYS(semop), ENOSYS, kIpc},
    {SCMP_SYS(semtimedop), ENOSYS, kIpc},
    {SCMP_SYS(semctl), ENOSYS, kIpc},
    {SCMP_SYS(mq_open), ENOSYS, kIpc},
    {SCMP_SYS(mq_unlink), ENOSYS, kIpc},
    {SCMP_SYS(prlimit64), EPERM, kOther, {is_other(0)}},
    {SCMP_SYS(setpriority), EPERM, kOther, {is_other(1)}},
    {SCMP_SYS(setpriority), EPERM, kOther, {is(0, PRIO_USER)}},
    {SCMP_SYS(ioprio_set), EPERM, kOther, {is_other(1)}},
    {SCMP_SYS(ioprio_set), EPERM, kOther, {is(0, kIoprioWhoUser)}},
    {SCMP_SYS(sched_setaffinity), EPERM, kOther, {is_other(0)}},
    {SCMP_SYS(sched_setattr), EPERM, kOther, {is_other(0)}},
    {SCMP_SYS(sched_setparam), EPERM, kOther, {is_other(0)}},
    {SCMP_SYS(sched_setscheduler), EPERM, kOther, {is_other(0)}},
});

// A granted connection is a socket of the host's network, put in the program's hand: what would
// make it connect elsewhere, send over another route or tell about the host's interfaces.
constexpr std::string_view kFastOpen = "connects without connect (tcp(7), MSG_FASTOPEN)";
constexpr std::string_view kRoute = "leads the packets over another host (ip(7), ipv6(7))";
constexpr std::string_view kInterface = "tells about the host's interfaces (netdevice(7))";
constexpr auto kRefusedWithGrants = std::to_array<Refusal>({
    {SCMP_SYS(sendto), EOPNOTSUPP, kFastOpen, {has_flag(3, MSG_FASTOPEN)}},
    {SCMP_SYS(sendmsg), EOPNOTSUPP, kFastOpen, {has_flag(2, MSG_FASTOPEN)}},
    {SCMP_SYS(sendmmsg), EOPNOTSUPP, kFastOpen, {has_flag(3, MSG_FASTOPEN)}},
    {SCMP_SYS(setsockopt),
     ENOPROTOOPT,
     kFastOpen,
     {is(1, IPPROTO_TCP), is(2, kTcpFastopenConnect)}},
    {SCMP_SYS(setsockopt),
     ENOPROTOOPT,
     "puts another protocol into the socket (tls, smc, espintcp)",
     {is(1, IPPROTO_TCP), is(2, kTcpUlp)}},
    {SCMP_SYS(setsockopt), ENOPROTOOPT, kRoute, {is(1, IPPROTO_IP), is(2, IP_OPTIONS)}},
    {SCMP_SYS(setsockopt), ENOPROTOOPT, kRoute, {is(1, IPPROTO_IPV6), is(2, IPV6_RTHDR)}},
    {SCMP_SYS(setsockopt), ENOPROTOOPT, kRoute, {is(1, IPPROTO_IPV6), is(2, kIpv6OldPktoptions)}},
    // linux/sockios.h: 0x8910 SIOCGIFNAME to 0x89ff, and 0x8b00 to 0x8bff of wireless.h.
    {SCMP_SYS(ioctl), EPERM, kInterface, {masked(1, 0xfffffff0, 0x8910)}},
    {SCMP_SYS(ioctl), EPERM, kInterface, {masked(1, 0xffffffe0, 0x8920)}},
    {SCMP_SYS(ioctl), EPERM, kInterface, {masked(1, 0xffffffc0, 0x8940)}},
    {SCMP_SYS(ioctl), EPERM, kInterface, {masked(1, 0xffffff80, 0x8980)}},
    {SCMP_SYS(ioctl), EPERM, kInterface, {masked(1, 0xffffff00, 0x8b00)}},
});

// Of unix sockets only what must connect before it can send: a datagram goes to any path.
constexpr auto kUnixSockets = std::to_array<Socket>({{AF_UNIX, SOCK_STREAM, kAny}});
constexpr auto kPairs = std::to_array<Socket>({
    {AF_UNIX, SOCK_STREAM, kAny},
    {AF_UNIX, SOCK_SEQPACKET, kAny},  // takes no address either (af_unix.c)
});
// Datagrams are for the resolver on the loopback: the program's network namespace has nothing else.
constexpr auto kGrantedSockets = std::to_array<Socket>({
    {AF_INET, SOCK_STREAM, 0},
    {AF_INET, SOCK_STREAM, IPPROTO_TCP},
    {AF_INET, SOCK_DGRAM, 0},
    {AF_INET, SOCK_DGRAM, IPPROTO_UDP},
    {AF_INET6, SOCK_STREAM, 0},
    {AF_INET6, SOCK_STREAM, IPPROTO_TCP},
    {AF_INET6, SOCK_DGRAM, 0},
    {AF_INET6, SOCK_DGRAM, IPPROTO_UDP},
});
// getaddrinfo(3) and getifaddrs(3) ask by a raw netlink socket; the kernel makes no difference.
constexpr auto kHostSockets = std::to_array<Socket>({
    {AF_INET, kAny, kAny},
    {AF_INET6, kAny, kAny},
    {AF_NETLINK, SOCK_DGRAM, NETLINK_ROUTE},
    {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE},
});

std::vector<Socket> allowed_sockets(const FilterOptions& options) {
  std::vector<Socket> allowed;
  const auto add = [&](std::span<const Socket> more) {
    // One by one: g++ 12 sees an overflow in the insertion of a range, which is not there.
    for (const Socket& each : more)
      allowed.push_back(each);
  };
  // Without a private root every path's socket is in reach, whatever Landlock says.
  if (options.tier == Tier::full && options.are_unix_sockets_own()) add(kUnixSockets);
  if (options.network == Network::granted) add(kGrantedSockets);
  if (options.network == Network::unconfined) add(kHostSockets);
  return allowed;
}

Result<void> refuse_all(FilterBuilder& builder, std::span<const Refusal> refusals) {
  for (const Refusal& refusal : refusals) {
    std::vector<Comparison> when;
    for (const std::optional<Comparison>& one : refusal.when) {
      if (one) when.push_back(*one);
    }
    AEGIS_TRY(builder.refuse(refusal.call, refusal.error, when));
  }
  return {};
}

/// personality(2) sets what is not 0xffffffff, which asks for what is set; programs ask. Each of
/// the 32 bits that the kernel takes makes it a change when it is missing.
Result<void> refuse_personality(FilterBuilder& builder) {
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::array<Comparison, 1> is_clear = {masked(0, 1U << bit, 0)};
    AEGIS_TRY(builder.refuse(SCMP_SYS(personality), EPERM, is_clear));
  }
  return {};
}

Result<void> refuse_calls(FilterBuilder& builder, const FilterOptions& options) {
  AEGIS_TRY(refuse_all(builder, kRefused));
  AEGIS_TRY(refuse_personality(builder));
  if (options.tier == Tier::landlock) AEGIS_TRY(refuse_all(builder, kRefusedWithoutNamespaces));
  if (options.network == Network::granted) AEGIS_TRY(refuse_all(builder, kRefusedWithGrants));
  return {};
}

Result<void> refuse_sockets(FilterBuilder& builder, const FilterOptions& options) {
  AEGIS_TRY(refuse_other_sockets(builder, SCMP_SYS(socketpair), kPairs));
  const bool is_left = options.network == Network::granted &&
                       options.sockets == FilterOptions::Sockets::leave_to_listener;
  if (is_left) return {};
  return refuse_other_sockets(builder, SCMP_SYS(socket), allowed_sockets(options));
}

}  // namespace

Result<Filter> Filter::compile(const FilterOptions& options) {
  if (options.tier == Tier::landlock && options.network == Network::granted) {
    return refusal(
        "make the filter", "network grants", "they need tier full; leave out --tier landlock");
  }
  FilterBuilder builder = AEGIS_TRY(FilterBuilder::make(FilterBuilder::Otherwise::allow));
  AEGIS_TRY(refuse_calls(builder, options));
  AEGIS_TRY(refuse_sockets(builder, options));

  Filter filter;
  filter.program_ = AEGIS_TRY(builder.program());
  filter.instructions_ = filter.program_.size();
  if (filter.instructions_ > BPF_MAXINSNS) return code_error("make the filter", "too long", E2BIG);
  return filter;
}

int Filter::load() const noexcept {
  sock_fprog program = {};
  program.len = static_cast<unsigned short>(instructions_);
  // The kernel's structure for what libseccomp wrote; the kernel only reads it.
  const void* const words = program_.data();
  program.filter = static_cast<sock_filter*>(const_cast<void*>(words));
  const long loaded = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
  return loaded == 0 ? 0 : errno;
}

std::string syscall_name(int number) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number), &std::free);
  if (name == nullptr) return "system call " + std::to_string(number);
  return name.get();
}

}  // namespace aegis::confine
