// SPDX-License-Identifier: Apache-2.0 OR MIT
// The strict scanner: one pass over one JSON text, saying whether every reader must read it the same way,
// and where its top-level members stand. It never throws, never recurses, and keeps its scratch memory
// between texts, so that a text of ordinary size costs no allocation. It knows no MCP word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace aegis::mcp::json {

/// Why a text does not have exactly one certain reading. The first one found counts.
struct Defect {
  enum class Kind : std::uint8_t {
    empty,              // nothing but white space
    syntax,             // not JSON (RFC 8259)
    trailing,           // something after the one value
    not_utf8,           // RFC 3629
    byte_order_mark,    // U+FEFF first
    nul,                // byte 0, anywhere
    control_character,  // a raw control inside a string, or '\r' anywhere but as the frame's last byte
    lone_surrogate,     // \ud800 without its other half
    too_deep,           // more than kMaxDepth levels
    repeated_member,    // one object holds one member twice, escapes decoded
    folded_member,      // two names of one object equal under simple case folding, or one folds to a deciding name
    nested_batch,       // an array inside a batch array
    not_a_message,      // JSON, but no JSON-RPC request, notification or response
    content_length,     // an LSP header line instead of a frame
  };
  Kind kind;
  std::size_t offset;  // bytes from the frame's first byte
};

/// Levels of arrays and objects that a frame may nest (wrap.md).
inline constexpr std::size_t kMaxDepth = 512;

/// A sentence for people, without a final stop: "the member \"name\" stands twice, at byte 41".
std::string describe(const Defect& defect);

}  // namespace aegis::mcp::json
