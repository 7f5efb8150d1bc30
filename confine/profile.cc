// SPDX-License-Identifier: Apache-2.0 OR MIT
// The text of a profile into its lines. What the lines mean for a command is profile_expand.cc's.
#include "confine/profile.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "confine/builtin_profiles.h"

namespace aegis::confine {
namespace {

constexpr std::string_view kBlank = " \t";
constexpr std::string_view kPlaceholders[] = {"{program}", "{script}", "{cache}"};

struct PathDirective {
  std::string_view word;
  Rights rights;
};
constexpr PathDirective kPathDirectives[] = {
    {"read", {}},
    {"write", {.may_write = true, .may_execute = false}},
    {"exec", {.may_write = false, .may_execute = true}},
};

std::string_view trim(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

/// A `#` inside a word is the word's: paths may hold one.
std::string_view without_comment(std::string_view line) {
  for (std::size_t hash = line.find('#'); hash != std::string_view::npos;
       hash = line.find('#', hash + 1)) {
    if (hash == 0 || kBlank.find(line[hash - 1]) != std::string_view::npos) {
      return line.substr(0, hash);
    }
  }
  return line;
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return (byte < 0x20 && each != '\t') || byte == 0x7f;
  });
}

/// What is wrong with the path of a line, or nothing.
std::string_view fault_of_path(std::string_view path) {
  if (path.empty()) return "a path is expected behind the word";
  const bool is_placeholder = std::find(std::begin(kPlaceholders), std::end(kPlaceholders), path) !=
                              std::end(kPlaceholders);
  if (is_placeholder) return {};
  if (path.front() == '{') return "expected {program}, {script} or {cache}, and nothing with it";
  if (path.front() == '/' || path == "~" || path.substr(0, 2) == "~/") return {};
  return "a path begins with '/' or '~/', or is {program}, {script} or {cache}";
}

/// What is wrong with the line, or nothing.
std::string_view take_environment(std::string_view rest, Profile::When when, Profile& profile) {
  const std::size_t equals = rest.find('=');
  std::string_view name = rest.substr(0, equals);
  Profile::EnvironmentLine line{std::string(name), {}, when};
  if (equals != std::string_view::npos) {
    line.value = rest.substr(equals + 1);
  } else if (when == Profile::When::offline) {
    return "NAME=VALUE is expected behind the word";
  } else if (!name.empty() && name.back() == '*') {
    name.remove_suffix(1);  // at least a letter stays: "*" alone would let every secret through
  }
  if (!is_variable_name(name)) return "a variable's name is expected: letters, digits and '_'";
  profile.environment.push_back(std::move(line));
  return {};
}

std::string_view take_line(std::string_view line, std::size_t number, Profile& profile) {
  if (has_control(line)) return "it holds a control character";
  std::string_view word = line.substr(0, line.find_first_of(kBlank));
  const std::string_view rest = trim(line.substr(word.size()));
  if (word == "env") return take_environment(rest, Profile::When::always, profile);
  if (word == "offline") return take_environment(rest, Profile::When::offline, profile);
  const bool may_be_absent = word.back() == '?';
  if (may_be_absent) word.remove_suffix(1);
  const auto* const directive = std::find_if(
      std::begin(kPathDirectives), std::end(kPathDirectives), [word](const PathDirective& each) {
        return each.word == word;
      });
  if (directive == std::end(kPathDirectives)) {
    return "expected read, write, exec, env or offline (read?, write? and exec? for what may be "
           "absent)";
  }
  const std::string_view fault = fault_of_path(rest);
  if (fault.empty())
    profile.paths.push_back({std::string(rest), directive->rights, may_be_absent, number});
  return fault;
}

}  // namespace

Result<Profile> parse_profile(std::string_view name, std::string_view text) {
  if (text.size() > kMaxProfileSize) {
    return refusal("read the profile", name, "it is longer than 64 KiB; is it a profile at all?");
  }
  Profile profile{std::string(name), std::string(text)};
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    line = trim(without_comment(line));
    if (line.empty()) continue;
    const std::string_view fault = take_line(line, number, profile);
    if (!fault.empty()) {
      return refusal(
          "read the profile", std::string(name).append(":").append(std::to_string(number)), fault);
    }
  }
  return profile;
}

std::vector<std::string_view> builtin_profiles() {
  std::vector<std::string_view> names;
  for (const BuiltinProfile& each : builtin_profile_table())
    names.push_back(each.name);
  return names;
}

std::optional<std::string_view> builtin_profile_text(std::string_view name) {
  for (const BuiltinProfile& each : builtin_profile_table()) {
    if (each.name == name) return each.text;
  }
  return std::nullopt;
}

std::string_view pick_profile(Runtime runtime) {
  switch (runtime) {
    case Runtime::node:
    case Runtime::npx:
      return "node";
    case Runtime::python:
    case Runtime::uv:
      return "python";
    case Runtime::other:
      break;
  }
  return "system";
}

bool is_variable_name(std::string_view name) {
  const auto is_fit = [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return each == '_' || (byte < 0x80 && std::isalnum(byte) != 0);
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_fit) &&
         std::isdigit(static_cast<unsigned char>(name.front())) == 0;
}

}  // namespace aegis::confine
