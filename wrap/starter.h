// SPDX-License-Identifier: Apache-2.0 OR MIT
// The files that `aegis init` lays down: policies to read and change, a small workspace, and
// requests to try them on. Texts only.
#pragma once

#include <span>
#include <string_view>

namespace aegis::wrap {

struct StarterFile {
  std::string_view path;  // relative; its folder is one of starter_folders()
  std::string_view text;
};
/// Parents before what they hold.
std::span<const std::string_view> starter_folders();
std::span<const StarterFile> starter_files();

/// Of starter_files(): the policy of the broker, of `aegis wrap`, and the workspace.
inline constexpr std::string_view kStarterBrokerPolicy = "broker-policy.yaml";
inline constexpr std::string_view kStarterPolicy = "policy.yaml";
inline constexpr std::string_view kStarterWorkspace = "workspace";

}  // namespace aegis::wrap
