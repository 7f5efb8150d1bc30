// SPDX-License-Identifier: Apache-2.0 OR MIT
// See broker_words.h.
#include "policy/broker_words.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "mcp/broker_request.h"
#include "policy/path.h"
#include "policy/text.h"

namespace aegis::policy {
namespace {

using mcp::BrokerCode;
using mcp::Refused;

constexpr std::string_view kOutside =
    "as a path it leads out of the workspace; write paths relative to the workspace";

/// What begins another path within a word.
constexpr std::string_view kDelimiters = "=:,@";
/// Of all words of a request: what one look costs does not add up to seconds.
constexpr std::size_t kMostPieces = 4096;
/// Letters of options that may stand before a value in one word ("-xzf").
constexpr std::size_t kMostLetters = 8;

/// Where an absolute path leads, in the sandbox.
enum class Root : std::uint8_t { workspace, scratch, device, elsewhere };

/// Folders of the root of a Linux system (hier(7)): what begins with one is no regular part of
/// `-Isub/folder`.
constexpr std::string_view kTopFolders[] = {
    "bin", "boot", "dev",  "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt",
    "opt", "proc", "root", "run", "sbin", "srv", "sys",   "tmp",   "usr",    "var",   "workspace"};
/// Files of /dev that hold nothing of anybody's.
constexpr std::string_view kDevices[] = {
    "null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr"};

template <std::size_t Size>
bool is_one_of(std::string_view text, const std::string_view (&all)[Size]) {
  return std::find(std::begin(all), std::end(all), text) != std::end(all);
}

/// `path` is absolute; it is left behind the folder that is told.
Root take_root(std::string_view& path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::string_view folder = take_component(path);
  if (folder == "workspace") return Root::workspace;
  if (folder == "tmp") return Root::scratch;
  return folder == "dev" && is_one_of(path, kDevices) ? Root::device : Root::elsewhere;
}

bool is_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}
bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}
bool is_name_byte(char byte) {
  return is_letter(byte) || is_digit(byte) || byte == '_' || byte == '-' || byte == '.' ||
         byte == '+' || static_cast<unsigned char>(byte) >= 0x80;
}

/// "." and what has a slash; also "notes.txt" and ".config", but not "1.5", "a b.c" or "foo.*".
/// Any other word may be the name of a file too, one that only its being there tells.
bool does_look_like_path(std::string_view text) {
  if (text == "." || text.find('/') != std::string_view::npos) return true;
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == text.size() || !is_letter(text[dot + 1]))
    return false;
  return std::all_of(text.begin(), text.end(), is_name_byte);
}

/// Of what stands behind letters: it is no further part of "sub/folder".
bool does_lead_out(std::string_view value) {
  if (value == ".." || value.starts_with("../")) return true;
  if (!value.starts_with('/')) return false;
  value.remove_prefix(1);
  return is_one_of(take_component(value), kTopFolders);
}

}  // namespace

std::optional<Refused> WordJudge::judge(std::string_view word) {
  const auto refuse = [word](const Reason& reason) {
    return Refused{reason.code, "the word " + quoted(word) + " is refused: " + reason.why};
  };
  if (word.find('\0') != std::string_view::npos)
    return refuse({BrokerCode::path_boundary_violation, "it has a NUL in it"});
  const bool is_option = !has_options_ended_ && word.size() > 1 && word.front() == '-';
  if (is_option) {
    has_options_ended_ = word == "--";
    if (auto reason = judge_option(word)) return refuse(*reason);
  } else if (auto reason = judge_text(word, Sort::perhaps)) {
    return refuse(*reason);
  }
  // The first piece of an option is its letters and what stands behind them.
  const std::size_t first = is_option ? word.find_first_of(kDelimiters) : 0;
  if (first == std::string_view::npos) return std::nullopt;
  if (auto reason = judge_pieces(word.substr(first))) return refuse(*reason);
  return std::nullopt;
}

std::optional<Refused> WordJudge::judge(const SimpleCommand::Redirection& redirection) {
  auto reason = redirection.is_written ? judge_written(redirection.target)
                                       : judge_text(redirection.target, Sort::path);
  if (!reason) return std::nullopt;
  return Refused{reason->code,
                 "the redirection " + std::string(redirection.is_written ? "to " : "from ") +
                     quoted(redirection.target) + " is refused: " + reason->why};
}

std::optional<WordJudge::Reason> WordJudge::judge_text(std::string_view text, Sort sort) const {
  if (text.size() > mcp::kMaxPath) return std::nullopt;  // open(2) takes none that is longer
  Root root = Root::workspace;
  const bool is_absolute = text.starts_with('/');
  if (is_absolute) root = take_root(text);
  if (root == Root::device) return std::nullopt;
  const auto path = join_components(text);
  if (!path || root == Root::elsewhere)
    return Reason{BrokerCode::path_boundary_violation, std::string(kOutside)};
  if (auto reason = judge_hidden(*path)) return reason;
  const bool is_path = is_absolute || sort == Sort::path || does_look_like_path(text);
  return root == Root::scratch || !is_path ? std::nullopt : judge_place(*path);
}

std::optional<WordJudge::Reason> WordJudge::judge_hidden(std::string_view path) const {
  if (!is_hidden(path, judging_)) return std::nullopt;
  return Reason{BrokerCode::sensitive_target_denied,
                "as a path it has a name under which secrets lie, or that the policy denies"};
}

std::optional<WordJudge::Reason> WordJudge::judge_place(const std::string& path) const {
  for (const auto* allowed :
       {&judging_.policy.paths.allowed_subpaths, &judging_.policy.execution.allowed_paths}) {
    if (place_of(path, *allowed) == Place::inside) continue;
    return Reason{BrokerCode::path_boundary_violation,
                  "as a path it lies outside of what a command may be told of the workspace: " +
                      list_quoted(*allowed)};
  }
  return std::nullopt;
}

std::optional<WordJudge::Reason> WordJudge::judge_option(std::string_view word) const {
  if (word[1] == '-' || word.size() == 2) return std::nullopt;
  auto reason = judge_text(word.substr(2), Sort::perhaps);
  // What stands before a delimiter may be a path by itself.
  const std::string_view front = word.substr(0, word.find_first_of(kDelimiters, 2));
  if (!reason) reason = judge_text(front.substr(2), Sort::perhaps);
  if (!reason) reason = judge_letters(front);
  if (reason) reason->why += "; if it is an option with a value, write the value apart";
  return reason;
}

/// "-xzfVALUE": where the letters end and the value begins is the program's to know.
std::optional<WordJudge::Reason> WordJudge::judge_letters(std::string_view word) const {
  if (word.size() > mcp::kMaxPath) return std::nullopt;
  const auto* const end = std::find_if_not(
      word.begin() + 1, word.end(), [](char each) { return is_letter(each) || is_digit(each); });
  const auto letters = static_cast<std::size_t>(end - word.begin());
  if (does_lead_out(word.substr(letters))) return judge_text(word.substr(letters), Sort::path);
  for (std::size_t at = 3; at <= std::min(letters, 1 + kMostLetters) && at < word.size(); ++at) {
    const auto path = join_components(word.substr(at));
    if (!path) continue;
    if (auto reason = judge_hidden(*path)) return reason;
  }
  return std::nullopt;
}

std::optional<WordJudge::Reason> WordJudge::judge_pieces(std::string_view word) {
  while (word.find_first_of(kDelimiters) != std::string_view::npos) {
    if (++pieces_ > kMostPieces) {
      return Reason{BrokerCode::operation_not_permitted,
                    "the words have too many parts to judge; use fewer or shorter ones"};
    }
    const std::size_t end = word.find_first_of(kDelimiters);
    if (auto reason = judge_text(word.substr(0, end), Sort::perhaps)) return reason;
    word.remove_prefix(end + 1);
  }
  return judge_text(word, Sort::perhaps);
}

std::optional<WordJudge::Reason> WordJudge::judge_written(std::string_view target) const {
  std::string_view path = target;
  if (path.starts_with('/')) {
    const Root root = take_root(path);
    if (root == Root::device || root == Root::scratch) return judge_text(target, Sort::path);
  }
  if (auto reason = judge_text(target, Sort::path)) return reason;
  if (!judging_.policy.execution.allowed_paths.empty()) return std::nullopt;
  return Reason{
      BrokerCode::path_boundary_violation,
      "the policy names no place that a command may write (execution_rules.allowed_paths)"};
}

}  // namespace aegis::policy
