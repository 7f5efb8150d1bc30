// SPDX-License-Identifier: Apache-2.0 OR MIT
// See cgroup_place.h. The formats: cgroups(7), proc_pid_mountinfo(5).
#include "confine/cgroup_place.h"

#include <algorithm>
#include <vector>

namespace aegis::confine {
namespace {

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// mountinfo writes blank, tab, newline and backslash as three octal digits.
std::string unescape(std::string_view text) {
  constexpr unsigned kBits = 3;
  const auto is_digit = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(std::min(i + 1, text.size()), kBits);
    if (text[i] != '\\' || digits.size() != kBits ||
        !std::all_of(digits.begin(), digits.end(), is_digit)) {
      plain += text[i];
      continue;
    }
    unsigned value = 0;
    for (const char digit : digits)
      value = (value << kBits) + static_cast<unsigned>(digit - '0');
    plain += static_cast<char>(value);
    i += kBits;
  }
  return plain;
}

struct Hierarchy {
  CgroupVersion version = CgroupVersion::v2;
  std::string_view controller = {};  // v1
};

/// "4:memory:/a/b": where this process is in the hierarchy.
std::optional<std::string_view> path_in(const Hierarchy& hierarchy, std::string_view cgroups) {
  for (const std::string_view line : split_at(cgroups, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool is_it = hierarchy.version == CgroupVersion::v2
                           ? line.starts_with("0::")
                           : has_word(controllers, hierarchy.controller, ',');
    if (is_it) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// The place by one line of mountinfo, when that is the hierarchy's and shows `path`.
std::optional<CgroupPlace> place_by(const Hierarchy& hierarchy,
                                    std::string_view line,
                                    std::string_view path) {
  const std::vector<std::string_view> fields = split_at(line, ' ');
  const auto dash = std::find(fields.begin(), fields.end(), "-");
  constexpr std::ptrdiff_t kFieldsBefore = 6;
  constexpr std::ptrdiff_t kFieldsBehind = 4;
  if (dash - fields.begin() < kFieldsBefore || fields.end() - dash < kFieldsBehind)
    return std::nullopt;
  const bool is_it = hierarchy.version == CgroupVersion::v2
                         ? dash[1] == "cgroup2"
                         : dash[1] == "cgroup" && has_word(dash[3], hierarchy.controller, ',');
  if (!is_it) return std::nullopt;
  const std::string root = unescape(fields[3]);
  std::string_view below = path;
  if (root != "/") {
    if (!path.starts_with(root)) return std::nullopt;
    below.remove_prefix(root.size());
    if (!below.empty() && below.front() != '/') return std::nullopt;
  }
  if (below == "/") below = {};
  const std::string mount_point = unescape(fields[4]);
  return CgroupPlace{hierarchy.version, mount_point, mount_point + std::string(below)};
}

std::optional<CgroupPlace> find(const Hierarchy& hierarchy,
                                std::string_view cgroups,
                                std::string_view mounts) {
  const std::optional<std::string_view> path = path_in(hierarchy, cgroups);
  // "/../x": outside of what the cgroup namespace shows.
  if (!path || !path->starts_with('/') || path->find("/..") != std::string_view::npos)
    return std::nullopt;
  for (const std::string_view line : split_at(mounts, '\n')) {
    if (auto place = place_by(hierarchy, line, *path)) return place;
  }
  return std::nullopt;
}

}  // namespace

bool has_word(std::string_view words, std::string_view word, char separator) {
  const std::vector<std::string_view> all = split_at(words, separator);
  return std::find(all.begin(), all.end(), word) != all.end();
}

std::optional<CgroupPlace> find_cgroup_v2(std::string_view cgroups, std::string_view mounts) {
  return find({CgroupVersion::v2}, cgroups, mounts);
}

std::optional<CgroupPlace> find_cgroup_v1(std::string_view controller,
                                          std::string_view cgroups,
                                          std::string_view mounts) {
  return find({CgroupVersion::v1, controller}, cgroups, mounts);
}

}  // namespace aegis::confine
