// SPDX-License-Identifier: Apache-2.0 OR MIT
// The streaming verifier: bytes of a chain file in, a verdict out, in constant memory
// (docs/record-format.md). Reads no file, no clock; the same bytes give the same report.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/key.h"

namespace aegis::audit {

enum class Standing : std::uint8_t { verified, indeterminate, tampered };

/// The place where a record breaks: of the first Line that contradicts what stands before it.
struct Break {
  std::uint64_t session;
  std::uint64_t seq;
  std::uint64_t offset;  // bytes from the file's start, of the Line's first byte
  std::string expected;  // empty when there is nothing to compare
  std::string found;
};
struct Coverage {  // the highest position that a valid signature covers
  std::uint64_t session;
  std::uint64_t seq;
};
struct InFlight {
  std::uint64_t session;
  std::uint64_t seq;
  std::string call_id;
  std::string tool_id;
};
struct Unpaired {  // only in sessions without profile aegis/1
  std::uint64_t session;
  std::uint64_t seq;
  bool is_intent;
  std::string call_id;
};

struct Report {
  Standing standing;
  std::string reason;           // empty when verified
  std::optional<Break> broken;  // set when tampered
  bool is_pinned = false;       // verified, and the caller gave a trust set
  std::vector<KeyId> key_ids;   // in order of first use
  std::optional<Coverage> coverage;
  std::vector<InFlight> in_flight;  // of every session without a close; none when tampered
  std::vector<Unpaired> unpaired;   // none when tampered
  std::uint64_t unlisted = 0;       // more of those two kinds, left out to bound memory
  std::uint64_t lines = 0;
  std::uint64_t calls = 0;
};

/// The report that `aegis verify` prints, each line with its '\n':
///
///     <verdict>
///     at session <i> seq <n> byte <offset>       when tampered
///     expected <text>                            when there is something to compare
///     found <text>                               likewise
///     key_id <hex>                               each key, in order of first use
///     coverage session <i> seq <n>               unless nothing is covered
///     in_flight session <i> seq <n> call <call_id> tool <tool_id>
///     unpaired session <i> seq <n> <intent|outcome> call <call_id>
///     unlisted <n>                               when calls were left out of the list
///
/// What comes from the record is written so that it cannot move a terminal: controls, line
/// separators and characters that turn the direction of text or are invisible as \uxxxx, a
/// backslash as two.
std::string encode_text(const Report& report);
/// The same facts as one JSON object, without a newline: verdict, trust, reason, at, expected,
/// found, key_id, coverage, in_flight, unpaired, unlisted, each only when there is something to
/// say.
std::string encode_json(const Report& report);

/// Trusted public keys. An empty set given is still a pin, that nothing satisfies.
using TrustSet = std::vector<PublicKey>;
struct TrustStore {
  TrustSet keys;
  std::size_t malformed_line = 0;  // from 1; 0 when the store is good
};
/// One key a line, 64 lower-case hex digits; blank lines and those that begin with '#' are skipped.
TrustStore parse_trust_store(std::string_view text);

class Verifier {
 public:
  explicit Verifier(std::optional<TrustSet> trust);
  ~Verifier();
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  /// Any cut of the file into pieces gives the same report.
  void feed(std::string_view bytes);
  Report finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace aegis::audit
