// SPDX-License-Identifier: Apache-2.0 OR MIT
// Paths of a workspace as people and models write them: relative, below its root by their words
// alone. What lies under one is not looked at, and no policy either.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace aegis::policy {

/// Why a written path names nothing in a workspace.
enum class PathFlaw : std::uint8_t {
  empty,
  too_long,  // more than mcp::kMaxPath bytes: open(2) takes none that is longer
  control,   // a NUL, a newline or another control character of ASCII
  absolute,
  parent,  // a component ".."
};
/// "it has a component \"..\"; write …": for behind the path, a colon between.
std::string_view describe(PathFlaw flaw);

/// Components parted by single slashes, without "."; "" is the root. Bytes stay what they are: no
/// percent sign, backslash or '~' means anything.
///
/// A newline is a legal character of a name, and is refused all the same: paths go into records,
/// logs and lists of one line each, and no program that is asked for needs one.
std::variant<std::string, PathFlaw> normalise(std::string_view written);

/// The components of what may be a path, without empty ones and ".", whatever else is in it;
/// nothing when one of them is "..".
std::optional<std::string> join_components(std::string_view text);

/// Takes the first component off `path`, which then begins behind its slash.
std::string_view take_component(std::string_view& path);

/// "a", "b" and 3 more
std::string list_quoted(std::span<const std::string> texts);

}  // namespace aegis::policy
