// SPDX-License-Identifier: Apache-2.0 OR MIT
// Looks come in the order of what can be told with the least: spelling, secrets, denied patterns,
// allowed places.
#include "policy/broker_paths.h"

#include <algorithm>

#include "policy/broker_judge.h"
#include "policy/folded.h"
#include "policy/glob.h"
#include "policy/path.h"
#include "policy/sensitive.h"
#include "policy/text.h"

namespace aegis::policy {
namespace {

using mcp::BrokerCode;
using mcp::Refused;

bool is_revealed(std::string_view folded_name, std::span<const std::string> revealed) {
  return std::any_of(revealed.begin(), revealed.end(), [folded_name](const std::string& each) {
    return folded(each) == folded_name;
  });
}

bool has_secret(std::string_view folded_path, std::span<const std::string> revealed) {
  while (!folded_path.empty()) {
    const std::string_view name = take_component(folded_path);
    if (is_folded_name_sensitive(name) && !is_revealed(name, revealed)) return true;
  }
  return false;
}

bool is_denied(std::string_view folded_path, const BrokerPolicy& policy) {
  const std::vector<std::string>& patterns = policy.paths.denied_patterns;
  return std::any_of(patterns.begin(), patterns.end(), [folded_path](const std::string& each) {
    return does_glob_cover(each, folded_path);
  });
}

Refused refuse(BrokerCode code, std::string_view written, std::string_view why) {
  return {code, "the path " + quoted(written) + " is refused: " + std::string(why)};
}

std::variant<std::string, Refused> judge_path_in(std::string_view written,
                                                 const Judging& judging,
                                                 Place least) {
  auto normalised = normalise(written);
  if (const auto* flaw = std::get_if<PathFlaw>(&normalised))
    return refuse(BrokerCode::path_boundary_violation, written, describe(*flaw));
  const std::string& path = std::get<std::string>(normalised);
  const std::string folded_path = folded(path);
  if (has_secret(folded_path, judging.revealed)) {
    return refuse(
        BrokerCode::sensitive_target_denied,
        written,
        "secrets usually lie under such a name, whatever the policy allows; go on without "
        "it, or ask the user for what you need of it");
  }
  if (is_denied(folded_path, judging.policy)) {
    return refuse(BrokerCode::sensitive_target_denied,
                  written,
                  "the policy denies names like it (denied_patterns); go on without it");
  }
  const std::vector<std::string>& allowed = judging.policy.paths.allowed_subpaths;
  if (place_of(path, allowed) < least) {
    return refuse(BrokerCode::path_boundary_violation,
                  written,
                  "only what lies here in the workspace may be used: " + list_quoted(allowed));
  }
  return std::move(std::get<std::string>(normalised));
}

/// Whether `path` is `folder` or lies in it.
bool is_in(std::string_view path, std::string_view folder) {
  if (folder.empty()) return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

Place place_of(std::string_view path, std::span<const std::string> subpaths) {
  if (subpaths.empty()) return Place::inside;
  Place place = Place::outside;
  for (const std::string& each : subpaths) {
    if (is_in(path, each)) return Place::inside;
    if (is_in(each, path)) place = Place::above;
  }
  return place;
}

bool is_hidden(std::string_view path, const Judging& judging) {
  const std::string folded_path = folded(path);
  return has_secret(folded_path, judging.revealed) || is_denied(folded_path, judging.policy);
}

std::variant<std::string, Refused> judge_path(std::string_view written, const Judging& judging) {
  return judge_path_in(written, judging, Place::inside);
}

std::variant<std::string, Refused> judge_listed(std::string_view written, const Judging& judging) {
  return judge_path_in(written, judging, Place::above);
}

}  // namespace aegis::policy
