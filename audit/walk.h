// SPDX-License-Identifier: Apache-2.0 OR MIT
// The rules of a chain, Line by Line: what each may say given all before it, and what the whole is
// worth in the end. It is handed Lines; cutting bytes into them is verify.cc's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "audit/digest_set.h"
#include "audit/line_reader.h"
#include "audit/pairing.h"
#include "audit/verify.h"

namespace aegis::audit {

/// Keys that one file may use; more cap the verdict. Only a file with as many sessions has them.
inline constexpr std::size_t kMaxKeys = std::size_t{1} << 15U;
/// Bytes that the calls listed in a report may take; more are counted.
inline constexpr std::size_t kMaxListed = std::size_t{2} << 20U;

/// What the Lines of one session are held against.
struct SessionState {
  PublicKey key;
  std::string key_id;      // hex
  bool is_paired = false;  // its emitter keeps the pairing rules
  bool has_gap = false;    // a Line is missing or cannot be read: it may have been any call's
  bool is_closed = false;
  Pairing calls;
};

class Walk {
 public:
  explicit Walk(std::optional<TrustSet> trust) : trust_(std::move(trust)) {}

  /// One Line without its '\n', and where in the file it begins.
  void take(std::string_view text, std::uint64_t offset);
  /// The same for a line that was found to be none without keeping it.
  void take_flaw(const LineFlaw& flaw, std::uint64_t offset);
  /// Something is broken: nothing that follows can change the verdict.
  [[nodiscard]] bool is_broken() const { return report_.broken.has_value(); }
  /// Nothing follows. Call it once.
  Report finish();

 private:
  struct Place {
    std::uint64_t session = 0;
    std::uint64_t seq = 0;
    std::uint64_t offset = 0;
  };
  struct Torn {
    Place at;
    std::string what;
  };

  // Those that answer bool say false when they found a break.
  bool begin_line(std::uint64_t offset);
  bool take_line(const Line& line);
  bool take_opaque(const OpaqueLine& line);
  bool begin_session(const Line& line);
  bool check_previous_session(const Line& line);
  bool check_place(const Line& line);
  bool check_signature(const Line& line);
  bool judge(const Line& line);
  bool judge_open();
  bool judge_intent(const Line& line);
  bool judge_outcome(const Line& line);
  bool judge_decision(const Line& line);
  bool judge_close();

  [[nodiscard]] bool must_pair() const;
  bool tampered(std::string reason, std::string expected = {}, std::string found = {});
  /// The first reason counts.
  void indeterminate(std::string reason);
  [[nodiscard]] std::string position() const;
  void end_session();
  void list_unpaired(Unpaired call);
  bool has_room_to_list(std::size_t bytes);

  std::optional<TrustSet> trust_;
  LineReader reader_;
  Report report_{};
  std::optional<SessionState> session_;
  std::uint64_t session_count_ = 0;
  std::uint64_t next_seq_ = 0;
  std::optional<LineHash> previous_;  // nothing before the first Line
  std::optional<Torn> torn_;          // it is torn if nothing follows it
  Place at_;                          // the Line being judged
  DigestSet decided_;                 // approval ids
  DigestSet keys_;
  std::size_t listed_bytes_ = 0;
  std::string signed_text_;
};

}  // namespace aegis::audit
