// SPDX-License-Identifier: Apache-2.0 OR MIT
// A server's answers are hostile text: what is amended must be to nlohmann/json what it was, but
// for the tools put in and taken out, and byte for byte where nothing was taken out.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "mcp/amend.h"

namespace {

using namespace aegis::mcp;
using Tree = nlohmann::json;

/// nlohmann's number for a float that no double holds: RFC 8259 allows it, so the scanner does.
constexpr int kNumberOverflow = 406;
constexpr std::string_view kHidden[] = {"x", "read_text"};
constexpr std::string_view kAdded = R"({"name":"x","new":true},{"name":"z"})";

void promise(bool is_kept, const char* what) {
  if (is_kept) return;
  static_cast<void>(std::fprintf(stderr, "broken promise: %s\n", what));
  std::abort();
}

std::optional<Tree> read_tree(std::string_view text) {
  try {
    return Tree::parse(text);
  } catch (const Tree::exception& error) {
    promise(error.id == kNumberOverflow, "nlohmann reads what is amended");
    return std::nullopt;
  }
}

/// `after` is `before` with something put in at one place.
bool is_insertion(std::string_view before, std::string_view after) {
  if (after.size() < before.size()) return false;
  const auto [left, ignored] = std::mismatch(before.begin(), before.end(), after.begin());
  const auto [right, also] = std::mismatch(before.rbegin(), before.rend(), after.rbegin());
  return (left - before.begin()) + (right - before.rbegin()) >=
         static_cast<std::ptrdiff_t>(before.size());
}

bool is_hidden(const Tree& tool) {
  if (!tool.is_object() || !tool.contains("name") || !tool.at("name").is_string()) return false;
  const auto& name = tool.at("name").get_ref<const std::string&>();
  return std::find(std::begin(kHidden), std::end(kHidden), name) != std::end(kHidden);
}

bool is_last_page(const Tree& result) {
  const auto cursor = result.find("nextCursor");
  return cursor == result.end() || !cursor->is_string() || *cursor == "";
}

/// What the amended frame must be, by another way.
Tree expect_list(Tree tree) {
  Tree tools = Tree::array();
  for (const Tree& tool : tree["result"]["tools"]) {
    if (!is_hidden(tool)) tools.push_back(tool);
  }
  if (is_last_page(tree["result"])) {
    for (const Tree& tool : Tree::parse("[" + std::string{kAdded} + "]"))
      tools.push_back(tool);
  }
  tree["result"]["tools"] = tools;
  return tree;
}

void check_list(std::string_view frame) {
  const auto amended = amend_tools_list(frame, {kHidden, kAdded});
  if (!amended) return;
  if (amended->hidden.empty())
    promise(is_insertion(frame, amended->frame), "nothing but the tools is new");
  for (const std::string& name : amended->hidden)
    promise(std::find(std::begin(kHidden), std::end(kHidden), name) != std::end(kHidden),
            "what is hidden was to be");
  const auto before = read_tree(frame);
  const auto after = read_tree(amended->frame);
  if (before && after) promise(*after == expect_list(*before), "all else is as it was");

  const auto untouched = amend_tools_list(frame, {{}, {}});
  promise(untouched && untouched->frame == frame, "no amendment changes nothing");
}

void check_capabilities(std::string_view frame) {
  const auto amended = amend_capabilities(frame);
  if (!amended) return;
  promise(is_insertion(frame, amended->frame), "nothing but the capability is new");
  promise(!amend_capabilities(amended->frame), "it is put in once");
  auto before = read_tree(frame);
  const auto after = read_tree(amended->frame);
  if (!before || !after) return;
  promise(!before->at("result").at("capabilities").contains("tools"), "there was none");
  (*before)["result"]["capabilities"]["tools"] = Tree::object();
  promise(*after == *before, "all else is as it was");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view frame{reinterpret_cast<const char*>(data), size};
  check_list(frame);
  check_capabilities(frame);
  return 0;
}
