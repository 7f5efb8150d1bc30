// SPDX-License-Identifier: Apache-2.0 OR MIT
// Any bytes as a path, under any one pattern (the first line): a path that is allowed, joined below
// a root, stays there whatever "." and ".." do, names no secret, and judged again is itself. A word
// that a command may have is no path to elsewhere. Patterns agree with fnmatch(3) where both mean
// the same.
#include <fnmatch.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "policy/broker_judge.h"
#include "policy/folded.h"
#include "policy/glob.h"
#include "policy/sensitive.h"
#include "tests/fuzz/require.h"

namespace {

using aegis::fuzz::require;
using aegis::policy::BrokerPolicy;
using aegis::policy::Judging;

class OneBinary : public aegis::policy::Binaries {
 public:
  [[nodiscard]] std::optional<std::size_t> find(std::string_view /*word*/) const override {
    return 0;
  }
};

/// By the standard library's rules, which know nothing of ours.
void require_below(const std::string& path) {
  const std::filesystem::path root = "/srv/workspace";
  const std::string whole = (root / path).lexically_normal().string();
  require(whole.starts_with("/srv/workspace"));
  require(whole == (path.empty() ? "/srv/workspace/" : "/srv/workspace/" + path));
}

void look_at_path(std::string_view written, const Judging& judging) {
  const auto judged = aegis::policy::judge_path(written, judging);
  const auto* path = std::get_if<std::string>(&judged);
  if (path == nullptr) {
    require(!std::get<aegis::mcp::Refused>(judged).reason.empty());
    return;
  }
  require_below(*path);
  require(!aegis::policy::is_sensitive(*path));
  require(!aegis::policy::is_hidden(*path, judging));
  require(aegis::policy::place_of(*path, judging.policy.paths.allowed_subpaths) ==
          aegis::policy::Place::inside);
  const auto again =
      aegis::policy::judge_path(path->empty() ? "." : std::string_view(*path), judging);
  require(std::holds_alternative<std::string>(again) && std::get<std::string>(again) == *path);
}

bool has_parent(std::string_view path) {
  return ("/" + std::string(path) + "/").find("/../") != std::string::npos;
}

bool may_have(const Judging& judging, std::vector<std::string> argv) {
  aegis::mcp::BrokerRequest request;
  request.operation = aegis::mcp::Operation::run_command;
  request.parameters = aegis::mcp::RunCommand{std::move(argv)};
  const auto judged = aegis::policy::judge_broker(request, judging);
  return std::holds_alternative<aegis::policy::Permit>(judged);
}

void look_at_word(std::string_view word, const Judging& judging) {
  const bool is_operand = may_have(judging, {"program", "--", std::string(word)});
  const bool is_any = may_have(judging, {"program", std::string(word)});
  require(is_operand == is_any || word.starts_with('-'));
  if (!is_operand || word.size() > 4096) return;
  require(!has_parent(word) && !aegis::policy::is_sensitive(word));
  if (!word.starts_with('/')) return;
  const std::string place = std::filesystem::path(word).lexically_normal().string();
  require(place.starts_with("/workspace") || place.starts_with("//workspace") ||
          place.starts_with("/tmp") || place.starts_with("/dev/"));
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char byte) {
    return byte > 0x20 && byte < 0x7F && byte != '/';
  });
}

void look_at_pattern(const std::string& pattern, std::string_view path) {
  const std::string name = aegis::policy::folded(path);
  const bool is_covered = aegis::policy::does_glob_cover(pattern, name);
  if (is_covered && !name.empty())
    require(aegis::policy::does_glob_cover(pattern, name + "/below"));
  const bool is_simple = pattern.find('[') == std::string::npos && is_plain(pattern);
  if (!is_simple || name.empty() || !is_plain(name)) return;
  const std::string folded_pattern = aegis::policy::folded(pattern);
  require(is_covered == (::fnmatch(folded_pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string pattern(text.substr(0, line));
  const std::string_view path = text.substr(std::min(line + 1, text.size()));
  BrokerPolicy policy;
  policy.allowed.fill(true);
  const OneBinary binaries;
  const Judging open{policy, binaries};
  look_at_path(path, open);
  look_at_word(path, open);
  if (aegis::policy::find_glob_flaw(pattern)) return 0;
  look_at_pattern(pattern, path);
  policy.paths.denied_patterns = {pattern};
  policy.paths.allowed_subpaths = {"data", "a/b"};
  look_at_path(path, open);
  look_at_word(path, open);
  return 0;
}
