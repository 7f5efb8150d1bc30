// SPDX-License-Identifier: Apache-2.0 OR MIT
// aegis doctor: which layers of confinement there are here, what to do about each that is missing,
// and whether a confinement made of them holds. What that means is confine's; here is the telling.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "confine/selftest.h"
#include "confine/support.h"
#include "mcp/json/canonical.h"
#include "wrap/cli.h"
#include "wrap/confinement.h"
#include "wrap/log.h"
#include "wrap/out.h"
#include "wrap/verbs.h"

namespace aegis::wrap {
namespace {

using confine::EscapeResult;
using confine::Result;
using confine::Support;
using confine::Tier;

constexpr int kAllThere = 0;
constexpr int kSomeMissing = 1;

/// What the program is started with inside the sandbox, by itself; for nobody else.
constexpr std::string_view kInside = "--inside-the-sandbox";

constexpr VerbText kText = {
    "doctor",
    "[--json]",
    "Tells which layers of confinement this kernel and this user can have, by trying them, and "
    "what\n"
    "to do about each that is missing; then tries more than two dozen escapes inside a real\n"
    "confinement, each of which must be refused.\n"
    "Exit: 0 when tier full holds, 1 when something is missing or an escape was not refused.",
    "  aegis doctor\n"
    "  aegis doctor --json"};

struct SelfTest {
  Tier tier = Tier::full;
  std::vector<EscapeResult> escapes = {};
  std::vector<std::string> caveats = {};  // what the tier cannot do

  [[nodiscard]] std::size_t refused() const {
    return static_cast<std::size_t>(
        std::count_if(escapes.begin(), escapes.end(), [](const EscapeResult& each) {
          return each.outcome == EscapeResult::Outcome::refused;
        }));
  }
  [[nodiscard]] bool is_clean() const { return !escapes.empty() && refused() == escapes.size(); }
};

/// In the confinement that `aegis confine` would give this very program.
Result<SelfTest> test_tier(Tier tier) {
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) return confine::code_error("find this program", "/proc/self/exe", error.value());
  ConfineRequest request;
  request.tier = tier;
  const Confinement confinement = AEGIS_TRY(
      Confinement::prepare(std::move(request), {self, "doctor", std::string(kInside)}, Kept{}));
  SelfTest test{confinement.spec().tier};
  test.caveats = confinement.caveats();
  test.escapes = AEGIS_TRY(confine::run_self_test(confinement.spec()));
  return test;
}

std::string_view name_of(const std::optional<Tier>& tier) {
  return tier ? confine::to_string(*tier) : "none";
}

std::string encode_text(const Support& support, const std::optional<SelfTest>& test) {
  std::string text = "tier " + std::string(name_of(support.strongest)) + "\n";
  for (const confine::Layer& layer : support.layers) {
    text.append("layer ").append(layer.name).append(layer.is_there ? ": there" : ": missing");
    if (!layer.detail.empty()) text.append(": ").append(layer.detail);
    text += '\n';
    if (!layer.remedy.empty())
      text.append("remedy ").append(layer.name).append(": ").append(layer.remedy).append("\n");
  }
  if (!test) return text;
  for (const std::string& caveat : test->caveats)
    text.append("caveat ").append(caveat).append("\n");
  for (const EscapeResult& escape : test->escapes) {
    text.append("escape ").append(escape.name).append(": ").append(to_string(escape.outcome));
    text.append(": ").append(escape.how).append(" (").append(escape.tried).append(")\n");
  }
  return text + "self_test " + std::to_string(test->refused()) + " of " +
         std::to_string(test->escapes.size()) + " refused\n";
}

/// One JSON object, member by member.
class Object {
 public:
  explicit Object(std::string& out) : out_(out) { out_ += '{'; }
  void add(std::string_view name, std::string_view text) {
    key(name);
    mcp::json::append_string(text, out_);
  }
  void add(std::string_view name, std::size_t number) {
    key(name);
    out_ += std::to_string(number);
  }
  void add_flag(std::string_view name, std::string_view literal) {
    key(name);
    out_ += literal;
  }
  /// One element for each of `all`, written by `write`.
  template <class Elements, class Write>
  void add_array(std::string_view name, const Elements& all, Write write) {
    key(name);
    out_ += '[';
    for (const auto& each : all) {
      if (&each != &*all.begin()) out_ += ',';
      write(each);
    }
    out_ += ']';
  }
  void key(std::string_view name) {
    if (!std::exchange(is_first_, false)) out_ += ',';
    mcp::json::append_string(name, out_);
    out_ += ':';
  }
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool is_first_ = true;
};

constexpr std::string_view literal(bool is_true) {
  return is_true ? "true" : "false";
}

void append_self_test(const SelfTest& test, std::string& out) {
  Object object(out);
  object.add("tier", confine::to_string(test.tier));
  object.add("refused", test.refused());
  object.add_array("caveats", test.caveats, [&out](const std::string& caveat) {
    mcp::json::append_string(caveat, out);
  });
  object.add_array("escapes", test.escapes, [&out](const EscapeResult& each) {
    Object escape(out);
    escape.add("escape", each.name);
    escape.add("tried", each.tried);
    escape.add("outcome", to_string(each.outcome));
    escape.add("how", each.how);
    escape.end();
  });
  object.end();
}

std::string encode_json(const Support& support, const std::optional<SelfTest>& test) {
  std::string out;
  Object object(out);
  object.add("tier", name_of(support.strongest));
  object.add("landlock_abi", static_cast<std::size_t>(support.landlock_abi));
  object.add_array("layers", support.layers, [&out](const confine::Layer& each) {
    Object layer(out);
    layer.add("layer", each.name);
    layer.add_flag("there", literal(each.is_there));
    layer.add("detail", each.detail);
    layer.add("remedy", each.remedy);
    layer.end();
  });
  if (test) {
    object.key("self_test");
    append_self_test(*test, out);
  }
  object.end();
  return out + "\n";
}

/// Nothing, with the reason on stderr, when it cannot be had.
std::optional<SelfTest> test_strongest(const Support& support) {
  if (!support.strongest) return std::nullopt;
  Result<SelfTest> test = test_tier(*support.strongest);
  if (!test) {
    log("self-test: " + confine::describe(test.error()));
    return std::nullopt;
  }
  if (!test->is_clean())
    log("self-test: an escape was not refused: do not rely on confinement here");
  return std::move(test).value();
}

}  // namespace

int verb_doctor(const Arguments& arguments) {
  const std::vector<std::string>& words = arguments.words;
  if (!words.empty() && words.front() == kInside)
    return confine::try_escapes({words.begin() + 1, words.end()});

  bool is_json = false;
  Flags flags(kText, {Operands::none, kSomeMissing});
  flags.add_switch({"--json", nullptr, "the same facts as one JSON object"}, is_json);
  if (const std::optional<int> exit = flags.parse(arguments)) return *exit;

  const Support support = confine::probe_support();
  const std::optional<SelfTest> test = test_strongest(support);
  if (!write_out(is_json ? encode_json(support, test) : encode_text(support, test)))
    return kSomeMissing;
  const bool is_full = support.strongest == Tier::full && test && test->is_clean();
  return is_full ? kAllThere : kSomeMissing;
}

}  // namespace aegis::wrap
