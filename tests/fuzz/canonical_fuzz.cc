// SPDX-License-Identifier: Apache-2.0 OR MIT
// The canonical reader against another JSON library and against its own writer: what it takes is
// written again byte for byte, and what it says of other texts (JSON or not) the library says too.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/json/canonical.h"
#include "mcp/json/canonical_shape.h"
#include "tests/fuzz/require.h"
#include "tests/mcp/json/rewrite.h"

namespace {

using aegis::fuzz::require;
using namespace aegis::mcp::json;
using Kind = CanonicalFlaw::Kind;

/// The writer has no booleans, and its names no escapes: such texts are compared by the library
/// alone.
bool is_writable(const CanonicalNode& root) {
  for (const CanonicalNode* node = &root; node != root.end(); ++node) {
    std::string name;
    append_string(node->name, name);
    if (node->is(CanonicalNode::Type::boolean) || name.size() != node->name.size() + 2)
      return false;
  }
  return true;
}

void check_canonical(std::string_view text, const CanonicalNode& root) {
  require(root.raw == text && root.end() > &root);
  if (is_writable(root)) require(rewritten(root) == text);
  // The library sorts members by bytes; that is another order from U+E000 on.
  bool is_low = true;
  for (const char c : text)
    is_low = is_low && static_cast<std::uint8_t>(c) < 0xEE;
  if (is_low) require(nlohmann::json::parse(text).dump() == text);
}

void check_flaw(std::string_view text, const CanonicalFlaw& flaw) {
  require(flaw.offset <= text.size());
  if (text.find('\0') != std::string_view::npos) return;  // to the library it is the text's end
  const bool is_json = nlohmann::json::accept(text);
  if (flaw.kind == Kind::blank || flaw.may_be_torn()) {
    require(!is_json);
  } else {
    // JSON all the same: numbers beyond a double, and lone surrogates.
    const bool may_differ = text.find_first_of("eE") != std::string_view::npos ||
                            text.size() > 300 || text.find("\\u") != std::string_view::npos;
    require(is_json || may_differ);
  }
}

void check_pieces(std::string_view text) {
  JsonShape whole;
  whole.feed(text);
  JsonShape pieces;
  for (std::size_t at = 0; at < text.size(); at += 7)
    pieces.feed(text.substr(at, 7));
  require(whole.verdict() == pieces.verdict() && whole.offset() == pieces.offset());
}

void check_string(std::string_view text) {
  if (!is_encodable(text)) return;
  std::string written;
  append_string(text, written);
  CanonicalReader reader;
  if (written.size() > kMaxCanonicalSize) return;
  require(!reader.read(written) && reader.root().string == text);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer looks for this name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  static CanonicalReader
      reader;  // re-used on purpose: nothing may stay behind from the text before
  if (const auto flaw = reader.read(text)) {
    check_flaw(text, *flaw);
  } else {
    check_canonical(text, reader.root());
  }
  check_pieces(text);
  check_string(text);
  return 0;
}
