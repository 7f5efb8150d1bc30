// SPDX-License-Identifier: Apache-2.0 OR MIT
// The words of a command as the paths that they may be. Which words a program takes for paths is
// known to the program alone, so each is held to what it would be as one, with the usual ways to
// put a path into a word (`--file=PATH`, `-fPATH`, `a:b`, `@PATH`, `file://PATH`). What a program
// does with a word that is none of these is the sandbox's to bound.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "mcp/broker_answer.h"
#include "policy/broker_judge.h"
#include "policy/shell.h"

namespace aegis::policy {

/// Judges the words behind the first of one command, in their order.
class WordJudge {
 public:
  explicit WordJudge(const Judging& judging) : judging_(judging) {}

  /// Why not; nothing when the program may have `word`.
  std::optional<mcp::Refused> judge(std::string_view word);
  std::optional<mcp::Refused> judge(const SimpleCommand::Redirection& redirection);

 private:
  /// Whether a text is a path for certain or may be a plain word as well.
  enum class Sort : std::uint8_t { path, perhaps };
  struct Reason {
    mcp::BrokerCode code;
    std::string why;
  };
  [[nodiscard]] std::optional<Reason> judge_text(std::string_view text, Sort sort) const;
  [[nodiscard]] std::optional<Reason> judge_place(const std::string& path) const;
  [[nodiscard]] std::optional<Reason> judge_hidden(std::string_view path) const;
  [[nodiscard]] std::optional<Reason> judge_option(std::string_view word) const;
  [[nodiscard]] std::optional<Reason> judge_letters(std::string_view word) const;
  [[nodiscard]] std::optional<Reason> judge_written(std::string_view target) const;
  std::optional<Reason> judge_pieces(std::string_view word);

  const Judging& judging_;
  std::size_t pieces_ = 0;
  bool has_options_ended_ = false;  // by a word "--"
};

}  // namespace aegis::policy
