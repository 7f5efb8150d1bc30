// SPDX-License-Identifier: Apache-2.0 OR MIT
// Every row of the filter against the kernel, in a child. Nothing dangerous is ever carried out: an
// older filter lies below, which stops each call that ours lets through (SECCOMP_RET_TRACE without
// a tracer is ENOSYS; an errno of ours outranks it). What must work is tried without it.
#include "confine/seccomp.h"

#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/confine/forked.h"
#include "tests/wrap/scratch.h"

namespace {

using aegis::confine::Filter;
using aegis::confine::FilterOptions;
using aegis::confine::Network;
using aegis::confine::Result;
using aegis::confine::syscall_name;
using aegis::confine::Tier;
using aegis::test::Found;
using aegis::test::run_forked;
using aegis::test::Scratch;
using aegis::test::set_no_new_privs;

constexpr int kStopped = ENOSYS;  // by the filter below ours
constexpr int kNotTried = -1;
constexpr std::uint64_t kUpperHalf = 0xabcdef0100000000;
constexpr FilterOptions kFull = {Tier::full, Network::none, 7};
constexpr FilterOptions kGranted = {Tier::full, Network::granted, 7};
constexpr FilterOptions kUnconfined = {Tier::full, Network::unconfined, 7};
constexpr FilterOptions kLandlock = {Tier::landlock, Network::none, 7};
constexpr FilterOptions kLandlockUnconfined = {Tier::landlock, Network::unconfined, 7};

struct Call {
  const char* what;
  long number;
  std::array<std::uint64_t, 6> arguments;
  int error;  // expected
};

Filter compiled(const FilterOptions& options) {
  Result<Filter> filter = Filter::compile(options);
  REQUIRE(filter.is_ok());
  return std::move(filter).value();
}

/// Stops every call but the end of the process and the loading of one more filter.
bool stop_all_calls() {
  std::array<sock_filter, 5> program = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog whole = {static_cast<unsigned short>(program.size()), program.data()};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &whole) == 0;
}

int try_call(const Call& call) {
  const auto& a = call.arguments;
  errno = 0;
  const long got = ::syscall(call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
  return got == -1 ? errno : 0;
}

/// What each of `calls` gives under the filter, with nothing carried out.
std::vector<int> errors_of(const FilterOptions& options, const std::vector<Call>& calls) {
  struct Errors {
    std::array<int, 40'000> before;
    std::array<int, 40'000> after;
  };
  REQUIRE(calls.size() <= std::tuple_size_v<decltype(Errors::after)>);
  const Filter filter = compiled(options);
  const Found<Errors> found = run_forked<Errors>([&](Errors& errors) {
    errors.after.fill(kNotTried);
    if (!set_no_new_privs() || !stop_all_calls()) return;
    for (std::size_t i = 0; i < calls.size(); ++i)
      errors.before[i] = try_call(calls[i]);
    if (filter.load() != 0) return;
    for (std::size_t i = 0; i < calls.size(); ++i)
      errors.after[i] = try_call(calls[i]);
  });
  REQUIRE(found.has_ended_well());
  const auto end = found.value.before.begin() + static_cast<std::ptrdiff_t>(calls.size());
  CHECK(std::all_of(found.value.before.begin(), end, [](int code) { return code == kStopped; }));
  return {found.value.after.begin(),
          found.value.after.begin() + static_cast<std::ptrdiff_t>(calls.size())};
}

void check_all(const FilterOptions& options, const std::vector<Call>& calls) {
  const std::vector<int> errors = errors_of(options, calls);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CAPTURE(calls[i].what);
    CAPTURE(syscall_name(static_cast<int>(calls[i].number)));
    CHECK(errors[i] == calls[i].error);
  }
}

/// The numbers that are refused even with all arguments 0.
std::set<std::string> refused_with_zeros(const FilterOptions& options) {
  constexpr long kHighestNumber = 511;
  // The kernel's own, which no filter sees, and which kill who calls them by hand (Linux 6.14).
  constexpr std::array<long, 2> kProbes = {335, 336};
  std::vector<Call> calls;
  for (long number = 0; number <= kHighestNumber; ++number) {
    if (number == SYS_exit_group || number == SYS_seccomp) continue;
    if (std::find(kProbes.begin(), kProbes.end(), number) != kProbes.end()) continue;
    calls.push_back({"with zeros", number, {}, 0});
  }
  const std::vector<int> errors = errors_of(options, calls);
  std::set<std::string> refused;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (errors[i] != kStopped) refused.insert(syscall_name(static_cast<int>(calls[i].number)));
  }
  return refused;
}

// Those with ENOSYS cannot be told from what the filter below stops: they have a test of their own.
#if defined(__x86_64__)
const std::set<std::string>& refused_whole() {
  static const std::set<std::string> names = {"unshare",
                                              "setns",
                                              "ptrace",
                                              "process_vm_readv",
                                              "process_vm_writev",
                                              "process_madvise",
                                              "pidfd_getfd",
                                              "kcmp",
                                              "add_key",
                                              "request_key",
                                              "keyctl",
                                              "bpf",
                                              "perf_event_open",
                                              "userfaultfd",
                                              "fanotify_init",
                                              "fanotify_mark",
                                              "mount",
                                              "umount2",
                                              "pivot_root",
                                              "chroot",
                                              "open_tree",
                                              "move_mount",
                                              "fsopen",
                                              "fsconfig",
                                              "fsmount",
                                              "fspick",
                                              "mount_setattr",
                                              "system call 467",
                                              "kexec_load",
                                              "kexec_file_load",
                                              "init_module",
                                              "finit_module",
                                              "delete_module",
                                              "create_module",
                                              "query_module",
                                              "get_kernel_syms",
                                              "swapon",
                                              "swapoff",
                                              "reboot",
                                              "acct",
                                              "quotactl",
                                              "quotactl_fd",
                                              "settimeofday",
                                              "clock_settime",
                                              "clock_adjtime",
                                              "adjtimex",
                                              "iopl",
                                              "ioperm",
                                              "sethostname",
                                              "setdomainname",
                                              "syslog",
                                              "vhangup",
                                              "name_to_handle_at",
                                              "open_by_handle_at",
                                              "nfsservctl",
                                              "lookup_dcookie",
                                              "personality",
                                              "socket",
                                              "socketpair"};
  return names;
}

TEST_CASE("exactly these calls are refused whatever their arguments") {
  for (const FilterOptions& options : {kFull, kGranted, kUnconfined, kLandlock}) {
    const std::set<std::string> refused = refused_with_zeros(options);
    for (const std::string& name : refused) {
      CAPTURE(name);
      CHECK(refused_whole().count(name) == 1);
    }
    for (const std::string& name : refused_whole()) {
      CAPTURE(name);
      CHECK(refused.count(name) == 1);
    }
  }
}
#endif

constexpr std::uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                                  CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
                                  CLONE_CHILD_CLEARTID;

TEST_CASE("of these calls it depends on an argument") {
  const std::vector<Call> calls = {
      {"a new mount namespace", SYS_clone, {CLONE_NEWNS | SIGCHLD}, EPERM},
      {"a new cgroup namespace", SYS_clone, {CLONE_NEWCGROUP | SIGCHLD}, EPERM},
      {"a new uts namespace", SYS_clone, {CLONE_NEWUTS | SIGCHLD}, EPERM},
      {"a new ipc namespace", SYS_clone, {CLONE_NEWIPC | SIGCHLD}, EPERM},
      {"a new user namespace", SYS_clone, {CLONE_NEWUSER | SIGCHLD}, EPERM},
      {"a new pid namespace", SYS_clone, {CLONE_NEWPID | SIGCHLD}, EPERM},
      {"a new net namespace", SYS_clone, {CLONE_NEWNET | SIGCHLD}, EPERM},
      {"all of them", SYS_clone, {0x7e020000 | SIGCHLD}, EPERM},
      {"the upper half of the flags", SYS_clone, {kUpperHalf | CLONE_NEWUSER}, EPERM},
      {"a thread", SYS_clone, {kThread}, kStopped},
      {"fork", SYS_clone, {CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD}, kStopped},
      {"vfork", SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}, kStopped},

      {"TIOCSTI", SYS_ioctl, {0, TIOCSTI, 1}, EPERM},
      {"TIOCSTI with an upper half", SYS_ioctl, {0, kUpperHalf | TIOCSTI, 1}, EPERM},
      {"TIOCLINUX", SYS_ioctl, {0, TIOCLINUX, 1}, EPERM},
      {"TIOCLINUX with an upper half", SYS_ioctl, {0, kUpperHalf | TIOCLINUX, 1}, EPERM},
      {"TCGETS", SYS_ioctl, {0, TCGETS, 1}, kStopped},
      {"FIONREAD", SYS_ioctl, {0, FIONREAD, 1}, kStopped},
      {"TIOCGWINSZ", SYS_ioctl, {0, TIOCGWINSZ, 1}, kStopped},
      {"FIONBIO", SYS_ioctl, {0, FIONBIO, 1}, kStopped},

      {"the personality asked for", SYS_personality, {0xffffffff}, kStopped},
      {"asked for as -1", SYS_personality, {~0ULL}, kStopped},
      {"asked for with an upper half", SYS_personality, {kUpperHalf | 0xffffffff}, kStopped},
      {"READ_IMPLIES_EXEC", SYS_personality, {READ_IMPLIES_EXEC}, EPERM},
      {"ADDR_NO_RANDOMIZE", SYS_personality, {ADDR_NO_RANDOMIZE}, EPERM},
      {"all flags but the lowest", SYS_personality, {0xfffffffe}, EPERM},
      {"all flags but the highest", SYS_personality, {0x7fffffff}, EPERM},
      {"an upper half of ones", SYS_personality, {0xffffffff00000000}, EPERM},
  };
  for (const FilterOptions& options : {kFull, kGranted, kUnconfined, kLandlock}) {
    check_all(options, calls);
  }
}

TEST_CASE("without namespaces a program may change itself alone") {
  const std::vector<Call> calls = {
      {"limits of its own", SYS_prlimit64, {0, RLIMIT_NOFILE}, kStopped},
      {"limits of another", SYS_prlimit64, {1, RLIMIT_NOFILE}, EPERM},
      {"limits of another, sign-extended", SYS_prlimit64, {~0ULL, RLIMIT_NOFILE}, EPERM},
      {"limits, upper half only", SYS_prlimit64, {kUpperHalf, RLIMIT_NOFILE}, EPERM},
      {"a priority of its own", SYS_setpriority, {PRIO_PROCESS, 0, 5}, kStopped},
      {"the priority of another", SYS_setpriority, {PRIO_PROCESS, 4711, 5}, EPERM},
      {"the priority of its user", SYS_setpriority, {PRIO_USER, 0, 5}, EPERM},
      {"the same, upper half", SYS_setpriority, {kUpperHalf | PRIO_USER, 0, 5}, EPERM},
      {"an i/o priority of its own", SYS_ioprio_set, {1, 0, 0}, kStopped},
      {"the i/o priority of another", SYS_ioprio_set, {1, 4711, 0}, EPERM},
      {"the i/o priority of its user", SYS_ioprio_set, {3, 0, 0}, EPERM},
      {"a processor of its own", SYS_sched_setaffinity, {0, 8}, kStopped},
      {"a processor for another", SYS_sched_setaffinity, {4711, 8}, EPERM},
      {"the scheduling of another", SYS_sched_setscheduler, {4711, SCHED_IDLE}, EPERM},
      {"a parameter of another", SYS_sched_setparam, {4711}, EPERM},
      {"an attribute of another", SYS_sched_setattr, {4711}, EPERM},
  };
  check_all(kLandlock, calls);
  std::vector<Call> free = calls;
  for (Call& call : free)
    call.error = kStopped;
  check_all(kFull, free);
}

TEST_CASE("a granted connection can be led nowhere else") {
  constexpr std::uint64_t kFastopen = MSG_FASTOPEN | MSG_NOSIGNAL;
  const std::vector<Call> calls = {
      {"sendto that connects", SYS_sendto, {3, 0, 0, kFastopen}, EOPNOTSUPP},
      {"the same, upper half", SYS_sendto, {3, 0, 0, kUpperHalf | kFastopen}, EOPNOTSUPP},
      {"sendmsg that connects", SYS_sendmsg, {3, 0, kFastopen}, EOPNOTSUPP},
      {"sendmmsg that connects", SYS_sendmmsg, {3, 0, 1, kFastopen}, EOPNOTSUPP},
      {"TCP_FASTOPEN_CONNECT", SYS_setsockopt, {3, 6, 30}, ENOPROTOOPT},
      {"the same, upper halves", SYS_setsockopt, {3, kUpperHalf | 6, kUpperHalf | 30}, ENOPROTOOPT},
      {"TCP_ULP", SYS_setsockopt, {3, 6, 31}, ENOPROTOOPT},
      {"IP_OPTIONS", SYS_setsockopt, {3, 0, 4}, ENOPROTOOPT},
      {"IPV6_RTHDR", SYS_setsockopt, {3, 41, 57}, ENOPROTOOPT},
      {"IPV6_2292PKTOPTIONS", SYS_setsockopt, {3, 41, 6}, ENOPROTOOPT},
      {"SIOCGIFNAME", SYS_ioctl, {3, 0x8910}, EPERM},
      {"SIOCGIFCONF", SYS_ioctl, {3, 0x8912}, EPERM},
      {"SIOCGIFADDR", SYS_ioctl, {3, kUpperHalf | 0x8915}, EPERM},
      {"SIOCGIFHWADDR", SYS_ioctl, {3, 0x8927}, EPERM},
      {"SIOCETHTOOL", SYS_ioctl, {3, 0x8946}, EPERM},
      {"SIOCGSKNS", SYS_ioctl, {3, 0x894c}, EPERM},
      {"SIOCGARP", SYS_ioctl, {3, 0x8954}, EPERM},
      {"SIOCDEVPRIVATE", SYS_ioctl, {3, 0x89ff}, EPERM},
      {"SIOCGIWNAME", SYS_ioctl, {3, 0x8b01}, EPERM},
  };
  check_all(kGranted, calls);
  std::vector<Call> free = calls;
  for (Call& call : free)
    call.error = kStopped;
  check_all(kUnconfined, free);
  check_all(kGranted,
            {{"sendto", SYS_sendto, {3, 0, 0, MSG_NOSIGNAL}, kStopped},
             {"sendmsg", SYS_sendmsg, {3, 0, MSG_NOSIGNAL | MSG_DONTWAIT}, kStopped},
             {"TCP_NODELAY", SYS_setsockopt, {3, 6, 1}, kStopped},
             {"SO_KEEPALIVE", SYS_setsockopt, {3, 1, 9}, kStopped},
             {"IP_TOS", SYS_setsockopt, {3, 0, 1}, kStopped},
             {"IPV6_V6ONLY", SYS_setsockopt, {3, 41, 26}, kStopped},
             {"SO_TYPE 30 of another level", SYS_setsockopt, {3, 1, 30}, kStopped},
             {"SIOCATMARK", SYS_ioctl, {3, 0x8905}, kStopped},
             {"SIOCINQ", SYS_ioctl, {3, 0x541b}, kStopped}});
}

TEST_CASE("a granted connection answers no question about interfaces") {
  std::vector<Call> calls;
  for (std::uint64_t order = 0x8900; order < 0x8c00; ++order) {
    const bool is_refused = (order >= 0x8910 && order < 0x8a00) || order >= 0x8b00;
    calls.push_back({"ioctl", SYS_ioctl, {3, order}, is_refused ? EPERM : kStopped});
  }
  check_all(kGranted, calls);
}

/// What may be made, said once more in plain words.
bool is_allowed(const FilterOptions& options, std::uint64_t domain, int type, std::uint64_t proto) {
  if (domain == AF_UNIX) {
    return options.tier == Tier::full && type == SOCK_STREAM;
  }
  const bool is_internet = domain == AF_INET || domain == AF_INET6;
  if (options.network == Network::unconfined) {
    const bool is_route_socket = domain == AF_NETLINK && (type == SOCK_RAW || type == SOCK_DGRAM);
    return is_internet || (is_route_socket && proto == 0);
  }
  if (options.network == Network::none || !is_internet) return false;
  if (type == SOCK_STREAM) return proto == 0 || proto == IPPROTO_TCP;
  return type == SOCK_DGRAM && (proto == 0 || proto == IPPROTO_UDP);
}

std::vector<std::uint64_t> domains_to_try() {
  std::vector<std::uint64_t> domains = {64, 255, 0xffffffff, ~0ULL, kUpperHalf};
  for (std::uint64_t domain = 0; domain < 48; ++domain)
    domains.push_back(domain);
  for (const int domain : {AF_UNIX, AF_INET, AF_INET6}) {
    domains.push_back(kUpperHalf | static_cast<std::uint64_t>(domain));
  }
  return domains;
}

std::vector<Call> sockets_to_try(const FilterOptions& options) {
  constexpr int kTypes = 11;  // one more than there are (linux/net.h: SOCK_PACKET)
  const std::vector<std::uint64_t> protocols = {
      0, 1, 2, 5, 6, 7, 16, 17, 18, 58, 132, 136, 255, 256, 262, 0xffffffff, kUpperHalf | 6};
  const std::vector<std::uint64_t> flags = {0, SOCK_CLOEXEC | SOCK_NONBLOCK, kUpperHalf};
  std::vector<Call> calls;
  for (const std::uint64_t domain : domains_to_try()) {
    for (int type = 0; type < kTypes; ++type) {
      for (const std::uint64_t protocol : protocols) {
        const int error = is_allowed(options, domain, type, protocol) ? kStopped : EAFNOSUPPORT;
        const std::uint64_t flag = flags[(domain + protocol) % flags.size()];
        const std::uint64_t word = static_cast<std::uint64_t>(type) | flag;
        calls.push_back({"socket", SYS_socket, {domain, word, protocol}, error});
      }
    }
  }
  return calls;
}

TEST_CASE("every domain, type and protocol of a socket is refused but those that are meant") {
  for (const FilterOptions& options :
       {kFull, kGranted, kUnconfined, kLandlock, kLandlockUnconfined}) {
    const std::vector<Call> calls = sockets_to_try(options);
    const std::vector<int> errors = errors_of(options, calls);
    std::vector<std::string> wrong;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (errors[i] == calls[i].error) continue;
      const auto& a = calls[i].arguments;
      wrong.push_back(std::to_string(a[0]) + "," + std::to_string(a[1]) + "," +
                      std::to_string(a[2]));
    }
    const std::string first = wrong.empty() ? "" : wrong.front();
    CAPTURE(first);
    CHECK(wrong.empty());
  }
}

TEST_CASE("an unconfined network brings unix sockets only where Landlock keeps the host's away") {
  for (const int abi : {0, 3, 5}) {
    CAPTURE(abi);
    check_all({Tier::full, Network::unconfined, abi},
              {{"unix", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, EAFNOSUPPORT},
               {"internet", SYS_socket, {AF_INET, SOCK_STREAM, 0}, kStopped}});
  }
  check_all({Tier::full, Network::none, 3},
            {{"unix", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, kStopped}});
}

TEST_CASE("sockets are left to the listener where there is one alone") {
  using Sockets = FilterOptions::Sockets;
  for (const Network network : {Network::none, Network::granted, Network::unconfined}) {
    const bool is_left = network == Network::granted;
    const int error = is_left ? kStopped : EAFNOSUPPORT;
    check_all({Tier::full, network, 7, Sockets::leave_to_listener},
              {{"packets", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, error},
               {"unix datagrams", SYS_socket, {AF_UNIX, SOCK_DGRAM, 0}, error},
               {"a pair of them", SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0}, EAFNOSUPPORT}});
  }
}

TEST_CASE("a pair of sockets is of streams or packets") {
  const std::vector<Call> calls = {
      {"stream", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0}, kStopped},
      {"stream with flags", SYS_socketpair, {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0}, kStopped},
      {"packets", SYS_socketpair, {AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0}, kStopped},
      {"datagrams", SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0}, EAFNOSUPPORT},
      {"datagrams with flags", SYS_socketpair, {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC}, EAFNOSUPPORT},
      {"datagrams, upper half", SYS_socketpair, {AF_UNIX, kUpperHalf | SOCK_DGRAM}, EAFNOSUPPORT},
      // The kernel makes datagrams of it (unix_create in net/unix/af_unix.c).
      {"raw", SYS_socketpair, {AF_UNIX, SOCK_RAW, 0}, EAFNOSUPPORT},
      {"tipc", SYS_socketpair, {30, SOCK_STREAM, 0}, EAFNOSUPPORT},
      {"upper half", SYS_socketpair, {kUpperHalf | AF_UNIX, SOCK_DGRAM, 0}, EAFNOSUPPORT},
  };
  for (const FilterOptions& options : {kFull, kGranted, kUnconfined, kLandlock}) {
    check_all(options, calls);
  }
}

// Why those pairs: a datagram of a pair reaches any path, packets of a pair stay in it.
TEST_CASE("a pair of packets sends to no path, a pair of datagrams would") {
  const Scratch scratch;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  scratch.path("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  sockaddr any = {};
  static_assert(sizeof(address) > sizeof(any));
  const auto* const to = static_cast<const sockaddr*>(static_cast<const void*>(&address));
  const auto reaches_path = [&](int type) {
    const int listener = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ::unlink(address.sun_path);
    REQUIRE(::bind(listener, to, sizeof(address)) == 0);
    std::array<int, 2> pair = {};
    REQUIRE(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair.data()) == 0);
    [[maybe_unused]] const ssize_t sent =
        ::sendto(pair[0], "x", 1, MSG_NOSIGNAL, to, sizeof(address));
    char byte = 0;
    const bool is_there = ::recv(listener, &byte, 1, 0) == 1;
    for (const int fd : {listener, pair[0], pair[1]})
      ::close(fd);
    return is_there;
  };
  CHECK(reaches_path(SOCK_DGRAM));
  CHECK_FALSE(reaches_path(SOCK_SEQPACKET));
  CHECK_FALSE(reaches_path(SOCK_STREAM));
}

/// Real calls that fail by themselves, without the filter below.
void check_is_absent(const FilterOptions& options, const std::vector<Call>& calls) {
  struct Errors {
    std::array<int, 32> before;
    std::array<int, 32> after;
  };
  const Filter filter = compiled(options);
  const Found<Errors> found = run_forked<Errors>([&](Errors& errors) {
    for (std::size_t i = 0; i < calls.size(); ++i)
      errors.before[i] = try_call(calls[i]);
    if (!set_no_new_privs() || filter.load() != 0) return;
    for (std::size_t i = 0; i < calls.size(); ++i)
      errors.after[i] = try_call(calls[i]);
  });
  REQUIRE(found.has_ended_well());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CAPTURE(calls[i].what);
    CHECK(found.value.after[i] == ENOSYS);
    if (found.value.before[i] == ENOSYS) {
      MESSAGE("skipped: 1: this kernel has no " << calls[i].what << " to refuse");
    }
  }
}

TEST_CASE("io_uring and clone3 are not there, and programs take another way") {
  for (const FilterOptions& options : {kFull, kGranted, kUnconfined, kLandlock}) {
    check_is_absent(options,
                    {{"io_uring_setup", SYS_io_uring_setup, {1, 0}, ENOSYS},
                     {"io_uring_enter", SYS_io_uring_enter, {~0ULL, 0, 0, 0xff00}, ENOSYS},
                     {"io_uring_register", SYS_io_uring_register, {~0ULL, 0xff, 0, 0}, ENOSYS},
                     {"clone3", SYS_clone3, {0, 0}, ENOSYS}});
  }
}

TEST_CASE("without an ipc namespace the objects of the user are not there") {
  check_is_absent(kLandlock,
                  {{"shmget", SYS_shmget, {1, ~0ULL, 0}, ENOSYS},
                   {"shmat", SYS_shmat, {~0ULL}, ENOSYS},
                   {"shmctl", SYS_shmctl, {~0ULL, 4711}, ENOSYS},
                   {"msgget", SYS_msgget, {1, 0}, ENOSYS},
                   {"msgsnd", SYS_msgsnd, {~0ULL, 0, ~0ULL}, ENOSYS},
                   {"msgrcv", SYS_msgrcv, {~0ULL, 0, ~0ULL}, ENOSYS},
                   {"msgctl", SYS_msgctl, {~0ULL, 4711}, ENOSYS},
                   {"semget", SYS_semget, {1, ~0ULL, 0}, ENOSYS},
                   {"semop", SYS_semop, {~0ULL, 0, 0}, ENOSYS},
                   {"semtimedop", SYS_semtimedop, {~0ULL, 0, 0}, ENOSYS},
                   {"semctl", SYS_semctl, {~0ULL, 0, 4711}, ENOSYS},
                   {"mq_open", SYS_mq_open, {0, 0}, ENOSYS},
                   {"mq_unlink", SYS_mq_unlink, {0}, ENOSYS}});
}

#if defined(__x86_64__)
long call_as_i386(long number) {
  long result = number;
  asm volatile("int $0x80" : "+a"(result) : : "memory", "cc", "r8", "r9", "r10", "r11");
  return result;
}

TEST_CASE("the numbers of another architecture end the process") {
  constexpr long kGetpidOfI386 = 20;
  constexpr long kX32Bit = 0x40000000;
  struct Case {
    const char* what;
    long (*call)();
  };
  const std::array<Case, 2> cases = {{
      {"int 0x80", [] { return call_as_i386(kGetpidOfI386); }},
      {"x32", [] { return ::syscall(kX32Bit | SYS_getpid); }},
  }};
  const Filter filter = compiled(kFull);
  for (const Case& one : cases) {
    CAPTURE(one.what);
    const Found<long> before = run_forked<long>([&](long& result) { result = one.call(); });
    const Found<long> after = run_forked<long>([&](long& result) {
      if (!set_no_new_privs() || filter.load() != 0) return;
      result = one.call();
    });
    if (before.signal() != 0) {  // a kernel without 32-bit programs: int 0x80 is a fault
      MESSAGE("skipped: 1: no " << one.what << " here");
      continue;
    }
    CHECK(before.has_ended_well());
    CHECK(after.signal() == SIGSYS);
  }
}
#endif

struct Works {
  bool thread;
  bool program;
  bool stream_pair;
  bool named_socket;
  bool executable_memory;
  bool personality;
  bool own_limits;
};

bool can_talk_in_a_pair(int type) {
  std::array<int, 2> pair = {};
  char byte = 0;
  return ::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair.data()) == 0 &&
         ::write(pair[0], "x", 1) == 1 && ::read(pair[1], &byte, 1) == 1 && byte == 'x';
}

bool can_run_program() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", "echo x | cat >/dev/null", nullptr);
    ::_exit(1);
  }
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

TEST_CASE("threads, programs, pipes, pairs and just-in-time code work as before") {
  for (const FilterOptions& options :
       {kFull, kGranted, kUnconfined, kLandlock, kLandlockUnconfined}) {
    const Filter filter = compiled(options);
    const Found<Works> found = run_forked<Works>([&](Works& works) {
      if (!set_no_new_privs() || filter.load() != 0) return;
      std::thread([&] { works.thread = true; }).join();
      works.program = can_run_program();
      works.stream_pair = can_talk_in_a_pair(SOCK_STREAM) && can_talk_in_a_pair(SOCK_SEQPACKET);
      works.named_socket = ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
      void* const page =
          ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      works.executable_memory = ::mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
      works.personality = ::personality(0xffffffff) >= 0;
      rlimit limit = {};
      works.own_limits =
          ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
    });
    CHECK(found.has_ended_well());
    CHECK(found.value.thread);
    CHECK(found.value.program);
    CHECK(found.value.stream_pair);
    CHECK(found.value.named_socket == (options.tier == Tier::full));
    CHECK(found.value.executable_memory);
    CHECK(found.value.personality);
    CHECK(found.value.own_limits);
  }
}

TEST_CASE("a network cannot be granted without namespaces") {
  const Result<Filter> filter = Filter::compile({Tier::landlock, Network::granted, 7});
  REQUIRE_FALSE(filter.is_ok());
  CHECK(describe(filter.error()) ==
        "make the filter: network grants: they need tier full; leave out --tier landlock");
}

TEST_CASE("a filter that the kernel refuses says so") {
  const Filter filter = compiled(kFull);
  // Its loader may gain privileges by exec, and has no capability (seccomp(2): EACCES).
  const Found<int> found = run_forked<int>([&](int& code) {
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) < 0) return;
    code = filter.load();
  });
  CHECK(found.value == EACCES);
}

TEST_CASE("a system call has its name, or its number") {
  CHECK(syscall_name(SYS_openat) == "openat");
  CHECK(syscall_name(9999) == "system call 9999");
}

}  // namespace
