// SPDX-License-Identifier: Apache-2.0 OR MIT
// The paths that a watched program names are hostile text: whatever they are, no grant is suggested
// for the home folder, for one above it, for a hidden thing or for what holds one; nothing is
// suggested twice, and wishes survive their encoding.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "confine/explain.h"
#include "confine/sensitive.h"
#include "policy/sensitive.h"
#include "tests/fuzz/require.h"

namespace {

using aegis::confine::Explanation;
using aegis::confine::is_within;
using aegis::confine::PathGrants;
using aegis::confine::Wish;
using aegis::confine::Wishes;
using aegis::fuzz::require;

PathGrants some_grants() {
  PathGrants grants;
  grants.add({{"/usr", {.may_execute = true}, true, {}}, {{"/bin", "usr/bin"}}});
  grants.add({{"/home/u/data", {.may_write = true}, true, {}}, {}});
  return grants;
}

/// A path as the kernel gives it: absolute, without empty components, "." and "..".
bool is_plain(const std::string& path) {
  const std::string closed = path + "/";
  return path.size() > 1 && closed.find("//") == std::string::npos &&
         closed.find("/./") == std::string::npos && closed.find("/../") == std::string::npos;
}

void require_round_trip(const Wishes& wishes) {
  std::string bytes;
  for (const Wish& each : wishes.all)
    encode_wish(each, bytes);
  require(aegis::confine::decode_wishes(bytes).all == wishes.all);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const PathGrants grants = some_grants();
  static const std::vector<std::string> hidden{"/home/u/.ssh", "/srv/a/b/key"};
  constexpr std::string_view kHome = "/home/u";
  Wishes wishes = aegis::confine::decode_wishes({reinterpret_cast<const char*>(data), size});
  require_round_trip(wishes);
  const auto is_odd = [](const Wish& each) {
    return !is_plain(each.path) || !is_plain(each.written) ||
           (!each.link.empty() && (!is_plain(each.link) || !is_plain(each.link_target) ||
                                   !is_within(each.written, each.link)));
  };
  wishes.all.erase(std::remove_if(wishes.all.begin(), wishes.all.end(), is_odd), wishes.all.end());

  const Explanation explanation = aegis::confine::explain(
      {grants, kHome, hidden, wishes.all, aegis::policy::is_sensitive_name});
  for (const Explanation::Grant& each : explanation.grants) {
    require(!each.path.empty() && each.path.front() == '/');
    const auto& all = explanation.grants;
    require(std::count(all.begin(), all.end(), each) == 1);
    // A name that the program itself used is its user's to judge; a folder of ours is not.
    const auto is_written = [&each](const Wish& wish) {
      return wish.written == each.path || wish.link == each.path;
    };
    if (std::any_of(wishes.all.begin(), wishes.all.end(), is_written)) continue;
    require(!is_within(kHome, each.path));
    for (const std::string& secret : hidden)
      require(!is_within(secret, each.path) && !is_within(each.path, secret));
    require(!aegis::confine::is_any_sensitive(each.path, aegis::policy::is_sensitive_name));
  }
  return 0;
}
