// SPDX-License-Identifier: Apache-2.0 OR MIT
// A profile's text is a user's file: whatever it holds is either refused with its line, or becomes
// lines that written out again give the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "confine/profile.h"
#include "tests/fuzz/require.h"

namespace {

using aegis::confine::parse_profile;
using aegis::confine::Profile;
using aegis::fuzz::require;

std::string written(const Profile::PathLine& line) {
  std::string text = "read";
  if (line.rights.may_write) text = "write";
  if (line.rights.may_execute) text = "exec";
  if (line.may_be_absent) text += '?';
  return text.append(" ").append(line.path).append("\n");
}

std::string written(const Profile::EnvironmentLine& line) {
  std::string text = line.when == Profile::When::offline ? "offline " : "env ";
  text += line.name;
  if (line.value) text.append("=").append(*line.value);
  return text.append("\n");
}

void require_sound(const Profile& profile) {
  for (const auto& line : profile.paths) {
    require(!line.path.empty());
    require(line.path.find_first_of(std::string_view("\0\n\r\x1b", 4)) == std::string::npos);
    require(std::string_view("/~{").find(line.path.front()) != std::string_view::npos);
    require(!(line.rights.may_write && line.rights.may_execute));
  }
  for (const auto& line : profile.environment) {
    std::string name = line.name;
    if (!line.value && name.back() == '*') name.pop_back();
    require(aegis::confine::is_variable_name(name));
    require(line.value || line.when == Profile::When::always);
  }
}

void require_round_trip(const Profile& profile) {
  std::string text;
  for (const auto& line : profile.paths)
    text += written(line);
  for (const auto& line : profile.environment)
    text += written(line);
  const auto again = parse_profile("again", text);
  require(again.is_ok());
  require(again->paths.size() == profile.paths.size());
  require(again->environment.size() == profile.environment.size());
  for (std::size_t i = 0; i < profile.paths.size(); ++i) {
    require(again->paths[i].path == profile.paths[i].path);
    require(again->paths[i].rights == profile.paths[i].rights);
    require(again->paths[i].may_be_absent == profile.paths[i].may_be_absent);
  }
  for (std::size_t i = 0; i < profile.environment.size(); ++i) {
    require(again->environment[i].name == profile.environment[i].name);
    require(again->environment[i].value == profile.environment[i].value);
    require(again->environment[i].when == profile.environment[i].when);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto profile = parse_profile("p", text);
  if (!profile) {
    require(profile.error().code == 0);
    require(profile.error().doing.find("read the profile: p") == 0);
    return 0;
  }
  require(profile->text == text);
  require_sound(*profile);
  require_round_trip(*profile);
  return 0;
}
