// SPDX-License-Identifier: Apache-2.0 OR MIT
// What people are shown of texts that nobody has judged.
#include "mcp/json/printable.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace aegis::mcp::json {
namespace {

TEST_CASE("a text is shown so that it cannot move a cursor, hide or turn around") {
  struct Row {
    std::string_view name;
    std::string_view text;
    std::string_view shown;
  };
  const Row rows[] = {
      {"plain words", "search files", "search files"},
      {"letters of any script",
       "d\xC3\xA9j\xC3\xA0 \xE6\x97\xA5 \xF0\x9F\x98\x80",
       "d\xC3\xA9j\xC3\xA0 \xE6\x97\xA5 \xF0\x9F\x98\x80"},
      {"an escape sequence", "\x1B[2Jx", "\\u001b[2Jx"},
      {"a newline", "a\nb", "a\\u000ab"},
      {"NUL", {"a\0b", 3}, "a\\u0000b"},
      {"DEL and C1", "\x7F\xC2\x9B", "\\u007f\\u009b"},
      {"a backslash, so that no text can pose as an escape", "\\u001b", "\\\\u001b"},
      {"soft hyphen", "\xC2\xAD", "\\u00ad"},
      {"right-to-left override", "\xE2\x80\xAE", "\\u202e"},
      {"just behind it", "\xE2\x80\xAF", "\xE2\x80\xAF"},
      {"zero-width space", "a\xE2\x80\x8B", "a\\u200b"},
      {"a byte-order mark in the middle", "a\xEF\xBB\xBF", "a\\ufeff"},
      {"a tag above U+FFFF", "\xF3\xA0\x81\x81", "\\udb40\\udc41"},
      {"a byte that is no UTF-8",
       "a\xFF"
       "b",
       "a\\xffb"},
      {"a sequence cut short", "\xE2\x80", "\\xe2\\x80"},
      {"an overlong form", "\xC0\xAF", "\\xc0\\xaf"},
      {"a surrogate", "\xED\xA0\x80", "\\xed\\xa0\\x80"},
      {"above U+10FFFF", "\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(printable(row.text) == row.shown);
  }
}

TEST_CASE("in a text that is JSON a backslash stays one") {
  CHECK(printable("\"\\n\xC2\x9B\"", Backslash::keep) == "\"\\n\\u009b\"");
}

TEST_CASE("the front of a text is one character, or one byte that starts none") {
  std::string out;
  CHECK(append_printable_front("\xC3\xA9x", Backslash::twice, out) == 2);
  CHECK(append_printable_front("\xE2\x80", Backslash::twice, out) == 1);
  CHECK(append_printable_front("\xF3\xA0\x81\x81x", Backslash::twice, out) == 4);
  CHECK(out == "\xC3\xA9\\xe2\\udb40\\udc41");
}

}  // namespace
}  // namespace aegis::mcp::json
