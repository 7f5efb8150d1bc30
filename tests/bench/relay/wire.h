// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the benchmark's client and its server say to each other. Every request has its parts at
// fixed offsets, so that the server parses nothing: its time would be in every figure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace aegis::relay_bench {

inline constexpr std::string_view kIdPrefix = R"({"jsonrpc":"2.0","id":)";
inline constexpr std::size_t kIdDigits = 9;
/// Ids count up from here, so all have the same number of digits and none starts with 0.
inline constexpr std::uint64_t kFirstId = 100'000'000;
inline constexpr std::size_t kIdEnd = kIdPrefix.size() + kIdDigits;

inline constexpr std::string_view kPing = R"(,"method":"ping"})"
                                          "\n";
inline constexpr std::string_view kCallHead =
    R"(,"method":"tools/call","params":{"name":"echo","arguments":{"answer_bytes":")";
inline constexpr std::size_t kAnswerDigits = 8;
inline constexpr std::size_t kAnswerDigitsAt = kIdEnd + kCallHead.size();
/// Tells a ping from a call.
inline constexpr std::size_t kMethodAt = kIdEnd + std::string_view(R"(,"method":")").size();

inline constexpr std::string_view kEmptyResult = R"(,"result":{}})"
                                                 "\n";
inline constexpr std::string_view kTextHead = R"(,"result":{"content":[{"type":"text","text":")";
inline constexpr std::string_view kTextTail = R"("}]}})"
                                              "\n";

/// A large text is made of this many bytes again and again (ends of line in it are escaped, as JSON
/// has them).
inline constexpr std::size_t kTextUnit = 64;

/// A request whose id is written in place, once for every send.
class RequestText {
 public:
  static RequestText ping();
  /// A tools/call of about 300 bytes. `answer_bytes` of text come back: a multiple of kTextUnit, or
  /// 0 for "ok".
  static RequestText call(std::size_t answer_bytes);

  /// The frame, its '\n' included, with this id. Valid until the next call.
  std::string_view with_id(std::uint64_t id);

 private:
  explicit RequestText(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// Bytes of the whole answer to such a call, its '\n' included.
constexpr std::size_t answer_size(std::size_t answer_bytes) {
  return kIdEnd + kTextHead.size() + answer_bytes + kTextTail.size();
}

}  // namespace aegis::relay_bench
