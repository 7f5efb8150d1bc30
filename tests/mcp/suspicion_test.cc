// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the most careless reader might take for a call, and what nobody does.
#include "mcp/suspicion.h"

#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace std::string_view_literals;
using aegis::mcp::Extent;
using aegis::mcp::may_hold_call;

}  // namespace

TEST_CASE("the word is found however it is spelled") {
  constexpr std::string_view kTexts[] = {
      "tools/call"sv,
      "{\"method\":\"tools/call\"}"sv,
      "TOOLS/CALL"sv,
      "Tools/Call"sv,
      "tools\\/call"sv,
      "\\u0074ools/call"sv,
      "\\U0074ools/call"sv,
      "\\u0054ools/call"sv,
      "tools\\u002fcall"sv,
      "tools\\u002Fcal\\u006c"sv,
      "\\x74ools/call"sv,
      "to\\ols/call"sv,
      "tools\\\\u002fcall"sv,
      "ttools/call"sv,
      "tools/ttools/call"sv,
      "tootools/call"sv,
      "tools\0/call"sv,
      "t\0o\0o\0l\0s\0/\0c\0a\0l\0l\0"sv,
      "to\xFFols/call"sv,
      "tools/\xE9"
      "call"sv,
      "to\rols/call"sv,
      "to\tols/\x01"
      "call"sv,
      "\xC1\xB4ools/call"sv,
      "tools\xC0\xAF"
      "call"sv,
      "\xE0\x81\xB4ools/call"sv,
      "\xF0\x80\x81\xB4ools/call"sv,
      "to\xE9\x8D\xB5ols/call"sv,
      "to\\u0000ols/call"sv,
      "to\\ud800ols/call"sv,
  };
  for (const std::string_view text : kTexts) {
    CAPTURE(text);
    CHECK(may_hold_call(text, Extent::whole));
    CHECK(may_hold_call(text, Extent::piece));
  }
}

TEST_CASE("other words are not the word") {
  constexpr std::string_view kTexts[] = {
      ""sv,
      "tools/list"sv,
      "{\"method\":\"ping\"}"sv,
      "tools call"sv,
      "tools//call"sv,
      "tool/call"sv,
      "toolscall"sv,
      "tools/cal"sv,
      "tools\\u002ecall"sv,
      "tools/c\\u00e1ll"sv,

      "tools/ca\"ll"sv,
  };
  for (const std::string_view text : kTexts) {
    CAPTURE(text);
    CHECK_FALSE(may_hold_call(text, Extent::whole));
  }
}

TEST_CASE("a piece may hold any part of the word at its edges, a whole text may not") {
  constexpr std::string_view kParts[] = {
      "{\"method\":\"t"sv,
      "{\"method\":\"tools/cal"sv,
      "{\"method\":\"too\\u006c"sv,
      "call\",\"params\":{}}"sv,
      "l\",\"params\":{}}"sv,
      "ools/call\"}"sv,
      "s/ca"sv,
      "/"sv,
      "LS/C"sv,
  };
  for (const std::string_view text : kParts) {
    CAPTURE(text);
    CHECK(may_hold_call(text, Extent::piece));
    CHECK_FALSE(may_hold_call(text, Extent::whole));
  }
  for (const std::string_view text :
       {"{\"method\":\"ping\""sv, "\"params\":{}}"sv, "hello"sv, "# remark"sv, ""sv}) {
    CAPTURE(text);
    CHECK_FALSE(may_hold_call(text, Extent::piece));
  }
}

TEST_CASE("escapes and long sequences cut off at the end are read within bounds") {
  for (const std::string_view text : {"\\"sv,
                                      "\\u"sv,
                                      "\\u0"sv,
                                      "\\u007"sv,
                                      "\\x"sv,
                                      "\\x7"sv,
                                      "\xC1"sv,
                                      "\xE0\x81"sv,
                                      "\xF0\x80\x81"sv,
                                      "\xF7"sv}) {
    const std::vector<char> exact{text.begin(),
                                  text.end()};  // where a sanitizer sees a read too far
    CHECK_FALSE(may_hold_call({exact.data(), exact.size()}, Extent::whole));
  }
}
