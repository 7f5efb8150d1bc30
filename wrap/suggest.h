// SPDX-License-Identifier: Apache-2.0 OR MIT
// What somebody may have meant by a word that is none of ours.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace aegis::wrap {

/// Letters to add, drop, change or swap with a neighbour to make one word of the other.
std::size_t edit_distance(std::string_view left, std::string_view right);
/// "; did you mean <the nearest of `known`>?", or nothing when none is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace aegis::wrap
