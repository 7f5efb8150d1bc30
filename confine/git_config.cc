// SPDX-License-Identifier: Apache-2.0 OR MIT
// See git_config.h. After git's own reader (config.c: git_parse_source, parse_value).
#include "confine/git_config.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace aegis::confine {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
}
char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
  }

  GitConfig read() {
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '[') {
        read_section();
      } else if (c == '#' || c == ';') {
        skip_line();
      } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
        read_variable();
      } else {
        rest_.remove_prefix(1);
      }
    }
    return std::move(config_);
  }

 private:
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  void skip_line() { rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size())); }

  /// "[core]", "[includeIf "gitdir:x"]" and the old "[include.sub]": the first word is what counts.
  void read_section() {
    take();
    section_.clear();
    while (!rest_.empty() && is_name(rest_.front()))
      section_ += lower(take());
    section_.resize(std::min(section_.find('.'), section_.size()));
    bool is_quoted = false;
    while (!rest_.empty() && rest_.front() != '\n') {
      const char c = take();
      if (c == '\\' && !rest_.empty()) take();
      if (c == '"') is_quoted = !is_quoted;
      if (c == ']' && !is_quoted) return;  // a variable may follow on the line
    }
  }

  void read_variable() {
    std::string name;
    while (!rest_.empty() && is_name(rest_.front()))
      name += lower(take());
    while (!rest_.empty() && is_blank(rest_.front()))
      take();
    std::string value;
    if (!rest_.empty() && rest_.front() == '=') {
      take();
      value = read_value();
    }
    if (section_ == "core" && name == "hookspath") config_.hook_folders.push_back(value);
    if (section_ == "core" && name == "worktree") config_.work_trees.push_back(value);
    if ((section_ == "include" || section_ == "includeif") && name == "path")
      config_.includes.push_back(value);
    if (section_ == "extensions" && name == "worktreeconfig") config_.has_worktree_config = true;
  }

  std::string read_value() {
    std::string value;
    std::string blanks;  // kept only when something follows
    bool is_quoted = false;
    while (!rest_.empty() && rest_.front() != '\n') {
      char c = take();
      const bool is_plain = !is_quoted;
      if (c == '"') {
        is_quoted = !is_quoted;
      } else if (is_plain && is_blank(c)) {
        if (!value.empty()) blanks += c;
      } else if (is_plain && (c == '#' || c == ';')) {
        skip_line();
      } else if (c != '\\' || read_escape(c)) {
        value += std::exchange(blanks, {});
        value += c;
      }
    }
    return value;
  }

  /// Behind a backslash. False when the line goes on and there is no character.
  bool read_escape(char& c) {
    if (rest_.starts_with("\r\n")) take();
    if (rest_.empty()) return false;
    c = take();
    if (c == '\n') return false;
    if (c == 't') c = '\t';
    if (c == 'n') c = '\n';
    if (c == 'b') c = '\b';
    return true;
  }

  std::string_view rest_;
  std::string section_;
  GitConfig config_;
};

}  // namespace

GitConfig parse_git_config(std::string_view text) {
  return Reader(text).read();
}

}  // namespace aegis::confine
