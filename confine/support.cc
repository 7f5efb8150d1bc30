// SPDX-License-Identifier: Apache-2.0 OR MIT
// From errnos to words: which layer is there, why one is not, and the exact thing to do about it.
#include "confine/support.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <system_error>
#include <utility>

#include "confine/probe.h"

namespace aegis::confine {
namespace {

constexpr std::string_view kNeedsUserNamespace = "needs a user namespace";
constexpr std::string_view kInContainer =
    "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined";
constexpr std::string_view kUbuntu =
    "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for aegis "
    "with `userns,` and flags=(unconfined)";
constexpr int kAbiOfFull = 3;
constexpr int kAbiOfLandlock = 6;
constexpr int kAbiWithNetwork = 4;

// Documentation/userspace-api/landlock.rst, and the kernels' git history.
constexpr std::array<std::string_view, 8> kKernelOfAbi = {
    "", "5.13", "5.19", "6.2", "6.7", "6.10", "6.12", "6.15"};

struct Need {
  std::string_view layer;
  bool is_of_full;
  bool is_of_landlock;
};
constexpr std::array<Need, 10> kNeeds = {{
    {"user namespace", true, false},
    {"mount namespace", true, false},
    {"other namespaces", true, false},
    {"private /proc", true, false},
    {"process bound", true, false},
    {"landlock", true, true},
    {"landlock scopes", false, true},
    {"seccomp", true, true},
    {"network grants", false, false},
    {"cgroup", false, false},
}};

std::string words_of(int code) {
  return std::generic_category().message(code);
}

bool is_refused(int code) {
  return code == EPERM || code == EACCES;
}

/// Whether the kernel's release is older than major.minor. What cannot be read is not.
bool is_older(std::string_view release, int major, int minor) {
  const char* const end = release.data() + release.size();
  std::array<int, 2> has = {};
  const auto dot = std::from_chars(release.data(), end, has[0]);
  if (dot.ec != std::errc() || dot.ptr == end) return false;
  if (std::from_chars(dot.ptr + 1, end, has[1]).ec != std::errc()) return false;
  return has < std::array<int, 2>{major, minor};
}

struct Cause {
  std::string detail;
  std::string remedy;
};

Cause why_no_user_namespace(const Probed& probed) {
  const int code = probed.user_namespace;
  if (code == ENOSPC) {
    return {"user.max_user_namespaces is " +
                std::to_string(probed.max_user_namespaces.value_or(0)) + ", and that many are used",
            "sysctl -w user.max_user_namespaces=15000"};
  }
  if (code == EINVAL || code == ENOSYS) {
    return {"this kernel has none", "a kernel with CONFIG_USER_NS=y"};
  }
  if (!is_refused(code)) return {words_of(code), "--tier landlock"};
  if (probed.chroot == Chroot::yes) {
    return {"this is a chroot, in which nobody can have one (user_namespaces(7))",
            "start aegis outside of it, or enter it by pivot_root instead of chroot"};
  }
  if (probed.unprivileged_userns_clone == 0 && !probed.is_root) {
    return {"kernel.unprivileged_userns_clone is 0",
            "sysctl -w kernel.unprivileged_userns_clone=1"};
  }
  if (probed.is_filtered) {
    return {"a seccomp filter forbids it, as in a container", std::string(kInContainer)};
  }
  if (probed.apparmor_restrict_unprivileged_userns == 1) {
    return {"AppArmor forbids it (Ubuntu 23.10 or newer)", std::string(kUbuntu)};
  }
  if (probed.chroot == Chroot::perhaps) {
    return {
        "a security module forbids it, or this may be a chroot, in which nobody can have one: " +
            words_of(code),
        "--tier landlock, or start aegis outside of the chroot; as root `aegis doctor` can tell"};
  }
  return {"a security module forbids it: " + words_of(code), "--tier landlock"};
}

Cause why_no_capabilities(const Probed& probed, int code) {
  if (is_refused(code) && probed.apparmor_restrict_unprivileged_userns == 1) {
    return {"AppArmor takes its capabilities (Ubuntu 23.10 or newer)", std::string(kUbuntu)};
  }
  if (is_refused(code) && probed.is_filtered) {
    return {"forbidden inside this container", std::string(kInContainer)};
  }
  if (code == ENOSPC) {
    return {"one of the limits user.max_*_namespaces is reached",
            "raise those that are 0: sysctl -a --pattern '^user.max'"};
  }
  if (code == EINVAL || code == ENOSYS) {
    return {"this kernel lacks it", "Linux 5.12 or newer with all namespaces configured"};
  }
  return {words_of(code), "--tier landlock"};
}

Layer missing(std::string_view name, Cause cause) {
  return {name, false, std::move(cause.detail), std::move(cause.remedy)};
}

Layer there(std::string_view name, std::string detail) {
  return {name, true, std::move(detail), {}};
}

Layer user_namespace(const Probed& probed) {
  constexpr std::string_view kName = "user namespace";
  if (probed.user_namespace != 0) return missing(kName, why_no_user_namespace(probed));
  if (probed.id_map != 0) {
    Cause cause = why_no_capabilities(probed, probed.id_map);
    cause.detail.insert(0, "its ids cannot be mapped: ");
    return missing(kName, std::move(cause));
  }
  return there(kName, probed.is_root ? "as root" : "as an ordinary user");
}

Layer mount_namespace(const Probed& probed) {
  constexpr std::string_view kName = "mount namespace";
  if (probed.user_namespace != 0) return missing(kName, {std::string(kNeedsUserNamespace), {}});
  for (const int code : {probed.mount_inside, probed.private_mounts, probed.tree, probed.tmpfs}) {
    // What was not tried stands behind clone with all namespaces, whose layer says why.
    if (code > 0) return missing(kName, why_no_capabilities(probed, code));
  }
  return there(kName, "open_tree, mount_setattr (Linux 5.12)");
}

Layer other_namespaces(const Probed& probed) {
  constexpr std::string_view kName = "other namespaces";
  if (probed.user_namespace != 0) return missing(kName, {std::string(kNeedsUserNamespace), {}});
  if (probed.mount_inside != 0) return missing(kName, {"need capabilities there", {}});
  if (probed.all_namespaces == 0) return there(kName, "pid, net, ipc, uts, cgroup");
  return missing(kName, why_no_capabilities(probed, probed.all_namespaces));
}

Layer private_proc(const Probed& probed) {
  constexpr std::string_view kName = "private /proc";
  if (probed.all_namespaces != 0) return missing(kName, {"needs the namespaces", {}});
  if (probed.proc == 0) return there(kName, "mounted");
  if (probed.proc == kNotTried) return missing(kName, {"needs mounts", {}});
  if (!is_refused(probed.proc)) return missing(kName, {words_of(probed.proc), "--tier landlock"});
  return missing(kName,
                 {"parts of /proc are masked here, as in a container",
                  "docker run --security-opt systempaths=unconfined, podman run --security-opt "
                  "unmask=ALL, or procMount: Unmasked in Kubernetes"});
}

Layer process_bound(const Probed& probed) {
  constexpr std::string_view kName = "process bound";
  if (probed.process_bound == ProcessBound::pid_namespace) {
    return there(kName, "kernel.pid_max of the pid namespace (Linux 6.14)");
  }
  if (probed.process_bound == ProcessBound::rlimit) return there(kName, "RLIMIT_NPROC");
  if (probed.all_namespaces != 0 || probed.private_mounts != 0) {
    return missing(kName, {"needs the namespaces", {}});
  }
  return missing(kName,
                 {"no limit binds root before Linux 6.14",
                  "start aegis as an ordinary user, or take a newer kernel"});
}

/// Those of /sys/kernel/security/lsm that lsm= is to name: capability is there in any case.
std::string other_modules(std::string_view modules) {
  std::string others;
  while (!modules.empty()) {
    const std::size_t end = modules.find_first_of(",\n");
    const std::string_view one = modules.substr(0, end);
    modules.remove_prefix(end == std::string_view::npos ? modules.size() : end + 1);
    if (one.empty() || one == "capability") continue;
    others.append(others.empty() ? "" : ",").append(one);
  }
  return others;
}

Cause why_no_landlock(const Probed& probed) {
  if (probed.landlock == EOPNOTSUPP) {
    const std::string others = other_modules(probed.security_modules);
    const std::string list =
        "lsm=landlock," + (others.empty() ? "<those that are on now>" : others);
    return {"built into this kernel, but switched off", "the boot parameter " + list};
  }
  if (is_older(probed.kernel, 5, 13)) {
    return {"not in Linux " + probed.kernel, "Linux 6.2 or newer"};
  }
  if (probed.is_filtered) {
    return {"a seccomp filter forbids it, as in a container", std::string(kInContainer)};
  }
  if (probed.landlock == ENOSYS) {
    return {"not built into this kernel", "a kernel with CONFIG_SECURITY_LANDLOCK=y"};
  }
  return {words_of(probed.landlock), "a kernel or container that lets Landlock be used"};
}

std::string name_of_abi(int abi) {
  std::string text = "ABI " + std::to_string(abi);
  const auto index = static_cast<std::size_t>(abi);
  if (index >= kKernelOfAbi.size()) return text;
  return text.append(" (Linux ").append(kKernelOfAbi[index]).append(")");
}

Layer landlock(const Probed& probed) {
  constexpr std::string_view kName = "landlock";
  if (probed.landlock != 0) return missing(kName, why_no_landlock(probed));
  if (probed.landlock_abi >= kAbiOfFull) return there(kName, name_of_abi(probed.landlock_abi));
  return missing(
      kName,
      {name_of_abi(probed.landlock_abi) + " cannot refuse truncation", "Linux 6.2 or newer"});
}

Layer landlock_scopes(const Probed& probed) {
  constexpr std::string_view kName = "landlock scopes";
  if (probed.landlock != 0) return missing(kName, {"need Landlock", {}});
  if (probed.landlock_abi >= kAbiOfLandlock) return there(kName, "signals, abstract unix sockets");
  return missing(kName,
                 {name_of_abi(probed.landlock_abi) + " lets signals and abstract sockets out",
                  "Linux 6.12 or newer"});
}

Layer seccomp(const Probed& probed) {
  constexpr std::string_view kName = "seccomp";
  if (probed.seccomp == 0) return there(kName, "filters");
  if (probed.seccomp == EINVAL || probed.seccomp == ENOSYS) {
    return missing(kName, {"not built into this kernel", "a kernel with CONFIG_SECCOMP_FILTER=y"});
  }
  return missing(kName,
                 {words_of(probed.seccomp), "ask who started aegis why filters are refused"});
}

Layer network_grants(const Probed& probed) {
  constexpr std::string_view kName = "network grants";
  if (probed.all_namespaces != 0) return missing(kName, {"need the namespaces", {}});
  if (probed.landlock != 0) return missing(kName, {"need Landlock", {}});
  if (probed.landlock_abi < kAbiWithNetwork) {
    return missing(kName,
                   {name_of_abi(probed.landlock_abi) + " knows no TCP", "Linux 6.9 or newer"});
  }
  if (probed.listener == EBUSY) {
    return missing(kName,
                   {"a seccomp listener is on already: there can be one", "start aegis outside"});
  }
  if (probed.listener != 0) {
    return missing(
        kName,
        {"seccomp: " + words_of(probed.listener), "Linux 6.9 or newer, and no filter on the way"});
  }
  if (probed.thread_pidfd != 0) {
    return missing(kName, {"no pidfd of a thread", "Linux 6.9 or newer"});
  }
  return there(kName, "supervised connect");
}

Layer cgroup(const Probed& probed) {
  constexpr std::string_view kName = "cgroup";
  if (probed.cgroup_missing.empty()) return there(kName, probed.cgroup);
  // It tells the remedy itself.
  return missing(kName, {probed.cgroup_missing, {}});
}

bool is_needed(const Need& need, Tier tier) {
  return tier == Tier::full ? need.is_of_full : need.is_of_landlock;
}

template <class Consumer>
void for_each_missing(const Support& support, Tier tier, const Consumer& consume) {
  for (std::size_t i = 0; i < support.layers.size() && i < kNeeds.size(); ++i) {
    if (is_needed(kNeeds[i], tier) && !support.layers[i].is_there) consume(support.layers[i]);
  }
}

bool can_be_had(const Support& support, Tier tier) {
  bool is_complete = true;
  for_each_missing(support, tier, [&](const Layer&) { is_complete = false; });
  return is_complete;
}

}  // namespace

std::vector<const Layer*> Support::missing_for(Tier tier) const {
  std::vector<const Layer*> all;
  for_each_missing(*this, tier, [&](const Layer& layer) { all.push_back(&layer); });
  std::vector<const Layer*> causes;
  std::copy_if(all.begin(), all.end(), std::back_inserter(causes), [](const Layer* layer) {
    return !layer->remedy.empty();
  });
  // A consequence never stands alone; if it ever did, it must not be hidden.
  return causes.empty() ? all : causes;
}

std::string Support::remedies_for(Tier tier) const {
  std::string text;
  for (const Layer* layer : missing_for(tier)) {
    text.append("; ").append(layer->name).append(": ").append(layer->detail);
    if (!layer->remedy.empty()) text.append(" (").append(layer->remedy).append(")");
  }
  return text;
}

Support judge(const Probed& probed) {
  Support support;
  support.landlock_abi = probed.landlock_abi;
  support.layers = {user_namespace(probed),
                    mount_namespace(probed),
                    other_namespaces(probed),
                    private_proc(probed),
                    process_bound(probed),
                    landlock(probed),
                    landlock_scopes(probed),
                    seccomp(probed),
                    network_grants(probed),
                    cgroup(probed)};
  if (can_be_had(support, Tier::full)) {
    support.strongest = Tier::full;
  } else if (can_be_had(support, Tier::landlock)) {
    support.strongest = Tier::landlock;
  }
  return support;
}

Support probe_support() {
  return judge(probe());
}

}  // namespace aegis::confine
