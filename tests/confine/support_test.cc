// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is said of each thing that can be missing: first with every errno made up, then with the
// real thing taken away, each in a throwaway child.
#include "confine/support.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "confine/landlock.h"
#include "confine/probe.h"
#include "tests/confine/forked.h"

namespace {

using aegis::confine::Chroot;
using aegis::confine::judge;
using aegis::confine::kNotTried;
using aegis::confine::landlock_abi;
using aegis::confine::Layer;
using aegis::confine::probe_support;
using aegis::confine::Probed;
using aegis::confine::ProcessBound;
using aegis::confine::Support;
using aegis::confine::Tier;
using aegis::test::Found;
using aegis::test::run_forked;
using aegis::test::set_no_new_privs;

Probed everything() {
  Probed probed;
  probed.all_namespaces = probed.user_namespace = probed.mount_inside = 0;
  probed.id_map = probed.private_mounts = probed.tree = probed.tmpfs = probed.proc = 0;
  probed.process_bound = ProcessBound::pid_namespace;
  probed.landlock_abi = 7;
  probed.landlock = probed.seccomp = probed.listener = probed.thread_pidfd = 0;
  probed.kernel = "6.18.44-amd64";
  probed.max_user_namespaces = 15000;
  probed.cgroup = "memory by cgroup_v2, processes";
  return probed;
}

void refuse_user_namespace(Probed& probed, int code) {
  probed.all_namespaces = probed.user_namespace = code;
  probed.mount_inside = probed.id_map = kNotTried;
  probed.private_mounts = probed.tree = probed.tmpfs = probed.proc = kNotTried;
  probed.process_bound = ProcessBound::none;
}

void take_capabilities(Probed& probed, int code) {
  refuse_user_namespace(probed, code);
  probed.user_namespace = probed.id_map = 0;
  probed.mount_inside = code;
}

const Layer& layer(const Support& support, std::string_view name) {
  const auto found = std::find_if(support.layers.begin(),
                                  support.layers.end(),
                                  [&](const Layer& each) { return each.name == name; });
  REQUIRE(found != support.layers.end());
  return *found;
}

TEST_CASE("with everything there is tier full, and nothing to do") {
  const Support support = judge(everything());
  CHECK(support.strongest == Tier::full);
  CHECK(support.landlock_abi == 7);
  CHECK(support.missing_for(Tier::full).empty());
  CHECK(support.missing_for(Tier::landlock).empty());
  for (const Layer& each : support.layers) {
    CAPTURE(each.name);
    CHECK(each.is_there);
    CHECK_FALSE(each.detail.empty());
    CHECK(each.remedy.empty());
  }
}

struct Lack {
  std::string_view what;
  std::function<void(Probed&)> take_away;
  std::string_view layer;
  std::string_view detail;  // a part of it
  std::string_view remedy;  // a part of it
  std::optional<Tier> strongest;
};

const std::vector<Lack> namespace_lacks = {
    {"Ubuntu: the namespace without capabilities",
     [](Probed& p) {
       take_capabilities(p, EPERM);
       p.apparmor_restrict_unprivileged_userns = 1;
     },
     "mount namespace",
     "AppArmor",
     "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
     Tier::landlock},
    {"Ubuntu: no namespace at all",
     [](Probed& p) {
       refuse_user_namespace(p, EACCES);
       p.apparmor_restrict_unprivileged_userns = 1;
     },
     "user namespace",
     "AppArmor",
     "`userns,`",
     Tier::landlock},
    {"Ubuntu: ids that cannot be mapped",
     [](Probed& p) {
       take_capabilities(p, EPERM);
       p.id_map = EACCES;
       p.apparmor_restrict_unprivileged_userns = 1;
     },
     "user namespace",
     "ids cannot be mapped",
     "apparmor_restrict",
     Tier::landlock},
    {"a limit of none",
     [](Probed& p) {
       refuse_user_namespace(p, ENOSPC);
       p.max_user_namespaces = 0;
     },
     "user namespace",
     "user.max_user_namespaces is 0",
     "sysctl -w user.max_user_namespaces=15000",
     Tier::landlock},
    {"Debian's switch",
     [](Probed& p) {
       refuse_user_namespace(p, EPERM);
       p.unprivileged_userns_clone = 0;
     },
     "user namespace",
     "kernel.unprivileged_userns_clone is 0",
     "sysctl -w kernel.unprivileged_userns_clone=1",
     Tier::landlock},
    {"a chroot",
     [](Probed& p) {
       refuse_user_namespace(p, EPERM);
       p.chroot = Chroot::yes;
       p.is_root = true;
     },
     "user namespace",
     "chroot",
     "outside of it",
     Tier::landlock},
    {"a container's filter",
     [](Probed& p) {
       refuse_user_namespace(p, EPERM);
       p.is_filtered = true;
     },
     "user namespace",
     "seccomp filter",
     "seccomp=unconfined",
     Tier::landlock},
    {"another security module",
     [](Probed& p) { refuse_user_namespace(p, EPERM); },
     "user namespace",
     "security module",
     "--tier landlock",
     Tier::landlock},
    {"a security module, or a chroot whose root is a mount",
     [](Probed& p) {
       refuse_user_namespace(p, EPERM);
       p.chroot = Chroot::perhaps;
     },
     "user namespace",
     "security module forbids it, or this may be a chroot",
     "outside of the chroot",
     Tier::landlock},
    {"a kernel without user namespaces",
     [](Probed& p) { refuse_user_namespace(p, EINVAL); },
     "user namespace",
     "has none",
     "CONFIG_USER_NS=y",
     Tier::landlock},
    {"a container's AppArmor, which forbids mounts",
     [](Probed& p) {
       p.private_mounts = EACCES;
       p.tree = p.tmpfs = p.proc = kNotTried;
       p.process_bound = ProcessBound::none;
       p.is_filtered = true;
     },
     "mount namespace",
     "inside this container",
     "apparmor=unconfined",
     Tier::landlock},
    {"another namespace's limit",
     [](Probed& p) {
       take_capabilities(p, ENOSPC);
       p.mount_inside = 0;
     },
     "other namespaces",
     "user.max_*_namespaces",
     "sysctl -a",
     Tier::landlock},
    {"an old kernel's mounts",
     [](Probed& p) { p.tree = ENOSYS; },
     "mount namespace",
     "lacks it",
     "Linux 5.12",
     Tier::landlock},
    {"a masked /proc",
     [](Probed& p) { p.proc = EPERM; },
     "private /proc",
     "masked",
     "systempaths=unconfined",
     Tier::landlock},
    {"root on an older kernel",
     [](Probed& p) {
       p.process_bound = ProcessBound::none;
       p.is_root = true;
     },
     "process bound",
     "root",
     "ordinary user",
     Tier::landlock},
};

const std::vector<Lack> other_lacks = {
    {"an old kernel",
     [](Probed& p) {
       p.landlock_abi = 0;
       p.landlock = ENOSYS;
       p.kernel = "5.10.0-30-amd64";
     },
     "landlock",
     "not in Linux 5.10",
     "Linux 6.2 or newer",
     std::nullopt},
    {"a kernel built without",
     [](Probed& p) {
       p.landlock_abi = 0;
       p.landlock = ENOSYS;
     },
     "landlock",
     "not built",
     "CONFIG_SECURITY_LANDLOCK=y",
     std::nullopt},
    {"switched off at boot",
     [](Probed& p) {
       p.landlock_abi = 0;
       p.landlock = EOPNOTSUPP;
       p.security_modules = "lockdown,capability,yama,apparmor\n";
     },
     "landlock",
     "switched off",
     "lsm=landlock,lockdown,yama,apparmor",
     std::nullopt},
    {"refused by a container",
     [](Probed& p) {
       p.landlock = EPERM;
       p.is_filtered = true;
     },
     "landlock",
     "seccomp filter",
     "seccomp=unconfined",
     std::nullopt},
    {"too old an ABI for truncation",
     [](Probed& p) { p.landlock_abi = 2; },
     "landlock",
     "ABI 2 (Linux 5.19)",
     "Linux 6.2",
     std::nullopt},
    {"no filters",
     [](Probed& p) { p.seccomp = EINVAL; },
     "seccomp",
     "not built",
     "CONFIG_SECCOMP_FILTER=y",
     std::nullopt},
    {"no scopes is no tier landlock, but full",
     [](Probed& p) { p.landlock_abi = 5; },
     "landlock scopes",
     "ABI 5 (Linux 6.10)",
     "Linux 6.12",
     Tier::full},
    {"no TCP, which only grants need",
     [](Probed& p) { p.landlock_abi = 3; },
     "network grants",
     "knows no TCP",
     "Linux 6.9",
     Tier::full},
    {"no thread pidfd, which only grants need",
     [](Probed& p) { p.thread_pidfd = EINVAL; },
     "network grants",
     "pidfd",
     "Linux 6.9",
     Tier::full},
    {"a listener of somebody else's",
     [](Probed& p) { p.listener = EBUSY; },
     "network grants",
     "listener",
     "outside",
     Tier::full},
    {"no cgroup, which nobody needs",
     [](Probed& p) { p.cgroup_missing = "make a cgroup: v2: not delegated"; },
     "cgroup",
     "not delegated",
     "",
     Tier::full},
};

void check_lack(const Lack& lack) {
  CAPTURE(lack.what);
  Probed probed = everything();
  lack.take_away(probed);
  const Support support = judge(probed);
  const Layer& it = layer(support, lack.layer);
  CHECK_FALSE(it.is_there);
  CHECK(it.detail.find(lack.detail) != std::string::npos);
  CHECK(it.remedy.find(lack.remedy) != std::string::npos);
  CHECK(support.strongest == lack.strongest);
  // Whoever refuses a tier has something to say about it.
  for (const Tier tier : {Tier::full, Tier::landlock}) {
    const bool can_be_had = lack.strongest && *lack.strongest >= tier;
    const std::vector<const Layer*> missing = support.missing_for(tier);
    if (tier == Tier::full) CHECK(missing.empty() == can_be_had);
    for (const Layer* const each : missing)
      CHECK_FALSE(each->remedy.empty());
  }
}

TEST_CASE("each missing namespace is named, with its cause and its remedy") {
  for (const Lack& lack : namespace_lacks)
    check_lack(lack);
}

TEST_CASE("each missing piece beside namespaces is named, with its cause and its remedy") {
  for (const Lack& lack : other_lacks)
    check_lack(lack);
}

TEST_CASE("the cause is named, not what follows from it") {
  Probed probed = everything();
  refuse_user_namespace(probed, ENOSPC);
  const Support support = judge(probed);
  const std::vector<const Layer*> missing = support.missing_for(Tier::full);
  REQUIRE(missing.size() == 1);
  CHECK(missing[0]->name == "user namespace");
  CHECK_FALSE(layer(support, "mount namespace").is_there);
  CHECK_FALSE(layer(support, "private /proc").is_there);
}

TEST_CASE("nothing that was not tried counts as there") {
  const Support support = judge(Probed{});
  CHECK_FALSE(support.strongest);
  for (const Layer& each : support.layers) {
    CAPTURE(each.name);
    CHECK((each.name == "cgroup" || !each.is_there));
  }
}

// --- The real thing -----------------------------------------------------------------------------

struct Text {
  int ready = 0;  // the child could take away what it was to
  int tier = -1;
  std::array<char, 512> missing = {};  // for tier full: "name: detail; "
};

/// What the probe says in a child where `take_away` has been at work.
Found<Text> probe_without(const std::function<bool()>& take_away) {
  return run_forked<Text>([&](Text& text) {
    if (!take_away()) return;
    text.ready = 1;
    const Support support = probe_support();
    if (support.strongest) text.tier = static_cast<int>(*support.strongest);
    std::string all;
    for (const Layer* const each : support.missing_for(Tier::full)) {
      all.append(each->name).append(": ").append(each->detail).append("; ");
    }
    all.copy(text.missing.data(), text.missing.size() - 1);
  });
}

bool write_text(const char* path, std::string_view text) {
  std::ofstream file(path);
  file << text;
  return file.flush().good();
}

/// Root of a user namespace of one's own, with mounts of one's own.
bool be_root_of_own() {
  const std::string ids = " " + std::to_string(::geteuid()) + " 1";
  const std::string groups = " " + std::to_string(::getegid()) + " 1";
  return ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
         write_text("/proc/self/setgroups", "deny") &&
         write_text("/proc/self/uid_map", "0" + ids) &&
         write_text("/proc/self/gid_map", "0" + groups) &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// A filter that answers `code` for `number` when its first argument has all of `flags`.
bool answer(long number, std::uint32_t flags, int code) {
  const auto error = SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(code);
  std::array<sock_filter, 7> program = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, flags),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, flags, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog whole = {static_cast<unsigned short>(program.size()), program.data()};
  return set_no_new_privs() && ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &whole) == 0;
}

bool has_full_tier() {
  if (probe_support().strongest == Tier::full) return true;
  MESSAGE("skipped: 1: tier full cannot be had here");
  return false;
}

TEST_CASE("probing leaves the process as it was") {
  const auto namespaces = [] {
    struct stat status = {};
    std::vector<ino_t> all;
    for (const char* const one : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
      REQUIRE(::stat(("/proc/self/ns/" + std::string(one)).c_str(), &status) == 0);
      all.push_back(status.st_ino);
    }
    return all;
  };
  const auto line = [](const std::string& path) {
    std::string text;
    std::getline(std::ifstream(path), text);
    return text;
  };
  const std::vector<ino_t> before = namespaces();
  const std::string most = line("/proc/sys/kernel/pid_max");
  const Support support = probe_support();
  CHECK(namespaces() == before);
  CHECK(line("/proc/sys/kernel/pid_max") == most);
  CHECK(support.landlock_abi == landlock_abi());
  CHECK(::syscall(SYS_waitid, P_ALL, 0, nullptr, WEXITED | WNOHANG, nullptr) == -1);  // no child
}

TEST_CASE("a limit of no user namespaces is found out") {
  if (!has_full_tier()) return;
  const Found<Text> found = probe_without(
      [] { return be_root_of_own() && write_text("/proc/sys/user/max_user_namespaces", "0"); });
  REQUIRE(found.value.ready == 1);
  CHECK(std::string(found.value.missing.data()) ==
        "user namespace: user.max_user_namespaces is 0, and that many are used; ");
}

TEST_CASE("a masked /proc is found out") {
  if (!has_full_tier()) return;
  const Found<Text> found = probe_without([] {
    return be_root_of_own() && ::mount("none", "/proc/sys", "tmpfs", MS_RDONLY, nullptr) == 0;
  });
  REQUIRE(found.value.ready == 1);
  const std::string missing = found.value.missing.data();
  CHECK(missing.rfind("private /proc: parts of /proc are masked here, as in a container; ", 0) ==
        0);
}

TEST_CASE("a chroot is found out") {
  if (!has_full_tier()) return;
  const Found<Text> found = probe_without([] {
    return be_root_of_own() && ::mount("none", "/tmp", "tmpfs", 0, nullptr) == 0 &&
           ::mkdir("/tmp/root", 0700) == 0 && ::mkdir("/tmp/root/proc", 0700) == 0 &&
           ::mount("/proc", "/tmp/root/proc", nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
           ::chroot("/tmp/root") == 0 && ::chdir("/") == 0;
  });
  REQUIRE(found.value.ready == 1);
  CHECK(std::string(found.value.missing.data()) ==
        "user namespace: this is a chroot, in which nobody can have one (user_namespaces(7)); ");
}

/// Into a mount of its own, which looks like a root in /proc/self/mountinfo.
bool enter_mounted_chroot() {
  return be_root_of_own() && ::mount("none", "/tmp", "tmpfs", 0, nullptr) == 0 &&
         ::mkdir("/tmp/proc", 0700) == 0 &&
         ::mount("/proc", "/tmp/proc", nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
         ::chroot("/tmp") == 0 && ::chdir("/") == 0;
}

bool drop_capabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return ::syscall(SYS_capset, &header, none) == 0;
}

TEST_CASE("a chroot whose root is a mount is found out by root, and held possible by others") {
  if (!has_full_tier()) return;
  const Found<Text> root = probe_without(enter_mounted_chroot);
  REQUIRE(root.value.ready == 1);
  CHECK(std::string(root.value.missing.data()) ==
        "user namespace: this is a chroot, in which nobody can have one (user_namespaces(7)); ");
  const Found<Text> user =
      probe_without([] { return enter_mounted_chroot() && drop_capabilities(); });
  REQUIRE(user.value.ready == 1);
  const std::string missing = user.value.missing.data();
  CHECK(
      missing.starts_with("user namespace: a security module forbids it, or this may be a chroot"));
}

TEST_CASE("a container's filter is found out") {
  if (!has_full_tier()) return;
  const Found<Text> user = probe_without([] { return answer(SYS_clone, CLONE_NEWUSER, EPERM); });
  REQUIRE(user.value.ready == 1);
  CHECK(std::string(user.value.missing.data()) ==
        "user namespace: a seccomp filter forbids it, as in a container; ");
  CHECK(user.value.tier == (landlock_abi() >= 6 ? static_cast<int>(Tier::landlock) : -1));

  const Found<Text> landlock =
      probe_without([] { return answer(SYS_landlock_create_ruleset, 0, ENOSYS); });
  REQUIRE(landlock.value.ready == 1);
  CHECK(std::string(landlock.value.missing.data()) ==
        "landlock: a seccomp filter forbids it, as in a container; ");
  CHECK(landlock.value.tier == -1);

  const Found<Text> enforcing =
      probe_without([] { return answer(SYS_landlock_restrict_self, 0, EPERM); });
  CHECK(enforcing.value.tier == -1);
  const Found<Text> filtering = probe_without([] { return answer(SYS_seccomp, 0, EPERM); });
  CHECK(filtering.value.tier == -1);
}

}  // namespace
