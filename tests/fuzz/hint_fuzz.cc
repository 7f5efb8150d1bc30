// SPDX-License-Identifier: Apache-2.0 OR MIT
// A confined server's stderr is hostile text that ends on the user's terminal: whatever it holds,
// a few short lines come of it, without a control character, and none twice. The first two bytes
// choose the exit status and the setting.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "confine/hint.h"
#include "confine/hint_text.h"
#include "tests/fuzz/require.h"

namespace {

using aegis::confine::EarlyDeath;
using aegis::confine::PathGrants;
using aegis::fuzz::require;

bool is_control(char each) {
  const auto byte = static_cast<unsigned char>(each);
  return byte < 0x20 || byte == 0x7f;
}

PathGrants some_grants() {
  PathGrants grants;
  grants.add({{"/usr", {.may_write = false, .may_execute = true}, true, {}}, {}});
  grants.add({{"/home/u/data", {}, true, {}}, {}});
  return grants;
}

void require_words(std::string_view text) {
  for (std::size_t size = 0; size <= std::min<std::size_t>(text.size(), 64); ++size) {
    const std::string word = aegis::confine::shell_word(text.substr(0, size));
    require(!word.empty());
    require(std::none_of(word.begin(), word.end(), is_control));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  static const PathGrants grants = some_grants();
  const unsigned setting = data[1];
  const EarlyDeath death{
      .errors = text,
      .wait_status = data[0],
      .grants = grants,
      .tier = (setting & 1U) != 0 ? aegis::confine::Tier::landlock : aegis::confine::Tier::full,
      .network =
          (setting & 2U) != 0 ? aegis::confine::Network::unconfined : aegis::confine::Network::none,
      .home = "/home/u",
      .is_on_host = [setting](const std::string& path) {
        return path.size() % 8 != (setting >> 2U) % 8;
      }};
  const std::vector<std::string> hints = aegis::confine::explain_death(death);
  require(hints.size() <= aegis::confine::kMaxHints);
  for (std::size_t i = 0; i < hints.size(); ++i) {
    require(!hints[i].empty());
    require(std::none_of(hints[i].begin(), hints[i].end(), is_control));
    require(std::count(hints.begin(), hints.end(), hints[i]) == 1);
  }
  require_words(text);
  return 0;
}
