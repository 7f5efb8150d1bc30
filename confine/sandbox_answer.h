// SPDX-License-Identifier: Apache-2.0 OR MIT
// A run's end as it crosses the pipe from the run's own process to its owner: one build of one
// program speaks to itself, so it has no version.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "confine/sandbox.h"

namespace aegis::confine {

/// One of these comes before the end: whether a program may have run. Who dies in between cannot
/// say it any more.
inline constexpr std::string_view kBegun = "B";
inline constexpr std::string_view kNotBegun = "N";

std::string encode_end(const SandboxEnd& end);
/// Nothing when `bytes` is not the whole of one: whoever wrote it died on the way.
std::optional<SandboxEnd> decode_end(std::string_view bytes);

}  // namespace aegis::confine
