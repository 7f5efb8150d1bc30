// SPDX-License-Identifier: Apache-2.0 OR MIT
// The strengths of confinement that there are.
#pragma once

#include <cstdint>
#include <string_view>

namespace aegis::confine {

enum class Tier : std::uint8_t {
  landlock,  // Landlock, seccomp, no capabilities, a session of its own
  full,      // all that, in namespaces with a private root
};

constexpr std::string_view to_string(Tier tier) {
  return tier == Tier::full ? "full" : "landlock";
}

/// What the program can do on the network.
enum class Network : std::uint8_t {
  none,
  granted,     // TCP to what was granted, by aegis's own hand (egress.h)
  unconfined,  // the host's, whole: UnconfinedNetwork
};

}  // namespace aegis::confine
