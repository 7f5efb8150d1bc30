// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where in the file system the cgroups of this process are, from the two texts in which the kernel
// says so. Opens nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aegis::confine {

enum class CgroupVersion : std::uint8_t {
  v1,  // one hierarchy for each controller, or few (cgroups(7))
  v2   // one for all
};

struct CgroupPlace {
  CgroupVersion version = CgroupVersion::v2;
  std::string mount_point;  // absolute: nothing above it is a cgroup
  std::string folder;       // absolute: mount_point or below it
  friend bool operator==(const CgroupPlace&, const CgroupPlace&) = default;
};

/// `cgroups` is /proc/self/cgroup, `mounts` /proc/self/mountinfo. Nothing when the hierarchy is not
/// mounted, or this process is in a part of it that is not.
std::optional<CgroupPlace> find_cgroup_v2(std::string_view cgroups, std::string_view mounts);
/// `controller`: "memory", "pids".
std::optional<CgroupPlace> find_cgroup_v1(std::string_view controller,
                                          std::string_view cgroups,
                                          std::string_view mounts);

/// Whether `word` is one of `words`, which `separator` separates.
bool has_word(std::string_view words, std::string_view word, char separator);

}  // namespace aegis::confine
