// SPDX-License-Identifier: Apache-2.0 OR MIT
// One walk over the code points, before any YAML is read.
#include "policy/prescan.h"

#include <string>

#include "mcp/json/utf8.h"

namespace aegis::policy {
namespace {

Diagnostic refuse(std::size_t line, std::size_t column, std::string message) {
  return {Diagnostic::Severity::error, line, column, "", std::move(message)};
}

/// Names no line: a text in another encoding has none that a reader would find again.
std::optional<Diagnostic> find_wrong_whole(std::string_view text) {
  if (text.size() > kMaxPolicyBytes) {
    return refuse(0,
                  0,
                  "the text has more than " + std::to_string(kMaxPolicyBytes) +
                      " bytes, the most that a policy may have");
  }
  const std::string_view start = text.substr(0, 2);
  if (start == "\xFF\xFE" || start == "\xFE\xFF") {
    return refuse(0, 0, "the text is UTF-16; a policy is UTF-8 without a byte-order mark");
  }
  return std::nullopt;
}

std::string code_name(char32_t value) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out = "U+";
  for (int shift = value > 0xFFFF ? 20 : 12; shift >= 0; shift -= 4) {
    out += kDigits[(value >> shift) & 0xF];
  }
  return out;
}

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0xFFFE || code == 0xFFFF;
}

/// What is wrong with this character, which `rest` follows; empty when nothing is.
std::string refusal_of(char32_t code, std::string_view rest, std::size_t column) {
  switch (code) {
    case U'\t':
    case U'\n':
      return "";
    case U'\r':
      // The same trap as U+0085: an editor shows one line where YAML reads two.
      if (rest.starts_with('\n')) return "";
      return "a carriage return without a newline stands here; end lines with a newline";
    case U'%':
      if (column != 1) return "";
      return "a line begins with '%': YAML directives are not used in a policy";
    case U'\0':
      return "a NUL stands here; a policy holds none";
    case 0xFEFF:
      return "a byte-order mark (U+FEFF) stands here; a policy is UTF-8 without one";
    case 0x85:
    case 0x2028:
    case 0x2029:
      // YAML 1.1 ends a line here, YAML 1.2 and most editors do not: a comment would hide what
      // follows it.
      return code_name(code) +
             " stands here: some readers end a line at it and some do not; use a newline";
    default:
      break;
  }
  if (!is_control(code)) return "";
  return "the control character " + code_name(code) + " stands here; a policy holds none";
}

}  // namespace

std::optional<Diagnostic> find_forbidden(std::string_view text) {
  if (auto wrong = find_wrong_whole(text)) return wrong;
  std::size_t line = 1;
  std::size_t column = 1;
  while (!text.empty()) {
    const std::size_t size = mcp::json::utf8_sequence_size(text);
    if (size == 0) return refuse(line, column, "the text is not valid UTF-8 from here on");
    const char32_t code = mcp::json::decode_utf8(text).code;
    text.remove_prefix(size);
    if (std::string why = refusal_of(code, text, column); !why.empty()) {
      return refuse(line, column, std::move(why));
    }
    column = code == U'\n' ? 1 : column + 1;
    line += code == U'\n' ? 1 : 0;
  }
  return std::nullopt;
}

}  // namespace aegis::policy
