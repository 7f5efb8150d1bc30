// SPDX-License-Identifier: Apache-2.0 OR MIT
// A couple of dozen escapes, tried inside a real confinement: made, started and enforced as any
// other, with baits outside that it must not reach. It finds a confinement that does not hold on
// this machine; that it finds none is no proof, which is what tests/probes is for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "confine/child.h"
#include "confine/result.h"

namespace aegis::confine {

struct EscapeResult {
  enum class Outcome : std::uint8_t {
    refused,
    succeeded,
    unclear  // it failed otherwise than it should, or there is no word of it: counts as a failure
  };
  std::string_view name;   // "read-file"
  std::string_view tried;  // in words
  Outcome outcome = Outcome::unclear;
  std::string how = {};  // "EPERM", "SIGSYS", what was seen from outside
};
constexpr std::string_view to_string(EscapeResult::Outcome outcome) {
  switch (outcome) {
    case EscapeResult::Outcome::refused:
      return "refused";
    case EscapeResult::Outcome::succeeded:
      return "succeeded";
    case EscapeResult::Outcome::unclear:
      return "unclear";
  }
  return {};
}

/// Runs `spec` with words about the baits added to its argv; its program must hand those to
/// try_escapes(). One result for each escape that the tier is to refuse, always in the same order.
/// An error: a bait could not be laid out, or the confinement could not be had. The caller has one
/// thread. Takes some ten milliseconds, at most ten seconds; leaves nothing behind.
Result<std::vector<EscapeResult>> run_self_test(Spec spec);

/// The other side: tries each escape in a process of its own and says on stdout how it went. To be
/// called first thing, with the words that run_self_test added. Harms nobody where nothing confines
/// it: it touches the baits alone. Returns the exit code.
int try_escapes(const std::vector<std::string>& words);

}  // namespace aegis::confine
