// SPDX-License-Identifier: Apache-2.0 OR MIT
// Cuts a record's bytes into Lines, whatever pieces they come in, and keeps no more of it than one
// Line.
#include "audit/verify.h"

#include <utility>

#include "audit/walk.h"
#include "mcp/json/canonical_shape.h"

namespace aegis::audit {
namespace {

using mcp::json::JsonShape;
using mcp::json::kMaxCanonicalSize;

/// A line that is too long to be one is not kept. Its end still matters: a torn one is not JSON.
LineFlaw judge_long(const JsonShape& shape) {
  switch (shape.verdict()) {
    case JsonShape::Verdict::not_json:
      return {true, "not one complete JSON value"};
    case JsonShape::Verdict::not_utf8:
      return {true, "not UTF-8"};
    case JsonShape::Verdict::blank:
    case JsonShape::Verdict::complete:
    case JsonShape::Verdict::too_deep:  // whole or not, nobody knows; no writer leaves such an end
      break;
  }
  return {false, "longer than 64 KiB"};
}

}  // namespace

struct Verifier::State {
  explicit State(std::optional<TrustSet> trust) : walk(std::move(trust)) {}

  /// The rest of a line, its '\n' left out.
  void end_line(std::string_view rest);
  /// A part of a line whose '\n' has not come yet.
  void keep(std::string_view part);

  Walk walk;
  std::uint64_t line_at = 0;       // where the line being read begins
  std::string begun;               // what came of it in earlier pieces
  std::optional<JsonShape> long_;  // in its place once that is more than a Line can be
  std::uint64_t long_size = 0;
};

void Verifier::State::end_line(std::string_view rest) {
  std::uint64_t size = rest.size();
  if (begun.empty() && !long_ && size <= kMaxCanonicalSize) {  // the common case: nothing is copied
    walk.take(rest, line_at);
  } else {
    keep(rest);
    size = long_ ? long_size : begun.size();
    if (long_) {
      walk.take_flaw(judge_long(*long_), line_at);
    } else {
      walk.take(begun, line_at);
    }
  }
  begun.clear();
  long_.reset();
  line_at += size + 1;
}

void Verifier::State::keep(std::string_view part) {
  if (!long_ && begun.size() + part.size() <= kMaxCanonicalSize) {
    begun += part;
    return;
  }
  if (!long_) {
    long_.emplace();
    long_->feed(begun);
    long_size = begun.size();
  }
  long_->feed(part);
  long_size += part.size();
}

Verifier::Verifier(std::optional<TrustSet> trust)
    : state_(std::make_unique<State>(std::move(trust))) {}
Verifier::~Verifier() = default;

void Verifier::feed(std::string_view bytes) {
  while (!bytes.empty() && !state_->walk.is_broken()) {
    const std::size_t newline = bytes.find('\n');
    if (newline == std::string_view::npos) {
      state_->keep(bytes);
      return;
    }
    state_->end_line(bytes.substr(0, newline));
    bytes.remove_prefix(newline + 1);
  }
}

Report Verifier::finish() {
  if (!state_->begun.empty() || state_->long_) state_->end_line({});
  return state_->walk.finish();
}

}  // namespace aegis::audit
