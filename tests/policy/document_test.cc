// SPDX-License-Identifier: Apache-2.0 OR MIT
// Texts that are refused for their characters or their YAML, whatever they say; and what the tree
// tells of a good one.
#include "policy/document.h"

#include <string>

#include <doctest/doctest.h>

#include "policy/prescan.h"
#include "tests/policy/refusals.h"

namespace aegis::policy {
namespace {

using namespace std::string_literals;

const std::string rule_head = "version: 1\nrules:\n  - id: a\n    action: deny\n";

std::string repeat(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t count = 0; count < times; ++count)
    out += text;
  return out;
}

TEST_CASE(
    "a text with characters that readers take differently is refused where the first stands") {
  const RefusalRow rows[] = {
      {"byte-order mark",
       "\xEF\xBB\xBFversion: 1\nrules: []\n",
       {"1:1:: a byte-order mark (U+FEFF) stands here; a policy is UTF-8 without one"}},
      {"a byte-order mark further on, which libyaml skips at a line's start",
       "version: 1\n\xEF\xBB\xBFrules: []\n",
       {"2:1:: a byte-order mark (U+FEFF) stands here; a policy is UTF-8 without one"}},
      {"UTF-16, little end first",
       "\xFF\xFEv\0"s,
       {"0:0:: the text is UTF-16; a policy is UTF-8 without a byte-order mark"}},
      {"UTF-16, big end first",
       "\xFE\xFF\0v"s,
       {"0:0:: the text is UTF-16; a policy is UTF-8 without a byte-order mark"}},
      {"UTF-16 without a mark", "v\0e\0"s, {"1:2:: a NUL stands here; a policy holds none"}},
      {"not UTF-8, columns told in code points",
       "version: 1 # \xC3\xA9\xC3\xA9\xFF\n",
       {"1:16:: the text is not valid UTF-8 from here on"}},
      {"an overlong form", "# \xC0\xAF\n", {"1:3:: the text is not valid UTF-8 from here on"}},
      {"a surrogate", "# \xED\xA0\x80\n", {"1:3:: the text is not valid UTF-8 from here on"}},
      {"a sequence that the end cuts short",
       "version: 1\nrules: []\n# \xE2\x80",
       {"3:3:: the text is not valid UTF-8 from here on"}},
      {"U+0085 at the end of a comment",
       "version: 1 # x\xC2\x85rules: []\n",
       {"1:15:: U+0085 stands here: some readers end a line at it and some do not; use a newline"}},
      {"U+2028",
       "version: 1\nrules: [] #\xE2\x80\xA8\n",
       {"2:12:: U+2028 stands here: some readers end a line at it and some do not; use a newline"}},
      {"U+2029",
       "version: 1\nrules: [] #\xE2\x80\xA9\n",
       {"2:12:: U+2029 stands here: some readers end a line at it and some do not; use a newline"}},
      {"a lone carriage return",
       "version: 1 # x\rrules: []\n",
       {"1:15:: a carriage return without a newline stands here; end lines with a newline"}},
      {"a carriage return at the end",
       "version: 1\nrules: []\r",
       {"2:10:: a carriage return without a newline stands here; end lines with a newline"}},
      {"NUL", "version: 1\n\0rules: []\n"s, {"2:1:: a NUL stands here; a policy holds none"}},
      {"an escape character in a comment",
       "# \x1B[0m\n",
       {"1:3:: the control character U+001B stands here; a policy holds none"}},
      {"DEL", "# \x7F\n", {"1:3:: the control character U+007F stands here; a policy holds none"}},
      {"a C1 control",
       "# \xC2\x9B\n",
       {"1:3:: the control character U+009B stands here; a policy holds none"}},
      {"U+FFFF",
       "# \xEF\xBF\xBF\n",
       {"1:3:: the control character U+FFFF stands here; a policy holds none"}},
      {"%YAML",
       "%YAML 1.1\n---\nversion: 1\nrules: []\n",
       {"1:1:: a line begins with '%': YAML directives are not used in a policy"}},
      {"%TAG after a comment",
       "# policy\n%TAG ! tag:x,2000:\n---\nversion: 1\nrules: []\n",
       {"2:1:: a line begins with '%': YAML directives are not used in a policy"}},
  };
  for (const RefusalRow& row : rows)
    check_refused(row);
}

TEST_CASE("what may look like a forbidden character and is none is taken") {
  const Loaded loaded = parse_policy(
      "version: 1 # 100 % \xC2\xA0 \xE2\x80\xA6\r\nrules:\n  - id: a\n    action: deny\n"
      "    reason: \"50% \\N\\u2028\\t\"\n    tool: \xF0\x9F\x98\x80\n",
      Purpose::wrap);
  REQUIRE(loaded.policy.has_value());
  CHECK(loaded.policy->rules()[0].reason == "50% \xC2\x85\xE2\x80\xA8\t");
  CHECK(loaded.policy->rules()[0].tool == "\xF0\x9F\x98\x80");
}

TEST_CASE("a policy of 1 MiB is read and one of a byte more is refused") {
  std::string text = "version: 1\nrules: []\n# ";
  text.resize(kMaxPolicyBytes - 1, 'x');
  text += '\n';
  CHECK(parse_policy(text, Purpose::wrap).policy.has_value());
  check_refused({"1 MiB and a byte",
                 text + "\n",
                 {"0:0:: the text has more than 1048576 bytes, the most that a policy may have"}});
}

TEST_CASE(
    "a text that is no YAML, or YAML that a policy does not use, is refused with what to do") {
  const RefusalRow rows[] = {
      {"nothing", "", {"0:0:: the text is empty; a policy names at least its version"}},
      {"only a comment",
       "# later\n",
       {"0:0:: the text is empty; a policy names at least its version"}},
      {"an empty document",
       "---\n...\n",
       {"2:1:: expected a map of version, default and rules, found nothing"}},
      {"a tab as indentation of a list",
       "version: 1\nrules:\n\t- id: a\n",
       {"3:1:rules: a tab stands where the indentation is; indent with spaces"}},
      {"a tab as indentation of a member",
       rule_head + "\ttool: b\n",
       {"5:1:rules[0].action: a tab stands where the indentation is; indent with spaces"}},
      {"a tab after spaces",
       rule_head + "    \ttool: b\n",
       {"5:5:rules[0].action: a tab stands where the indentation is; indent with spaces"}},
      {"an asterisk without quotes",
       rule_head + "    tool: *\n",
       {"5:11:rules[0].tool: a '*' without quotes begins a YAML alias; write \"*\" in quotes for "
        "\"matches anything\""}},
      {"an ampersand without quotes",
       rule_head + "    tool: & b\n",
       {"5:11:rules[0].tool: a '&' without quotes begins a YAML anchor; put the text in quotes"}},
      {"an anchor",
       "version: 1\nrules: &all []\n",
       {"2:8:rules: a YAML anchor stands here; a policy has none"}},
      {"an anchor and its alias",
       rule_head + "    tool: &t b\n    role: *t\n",
       {"5:11:rules[0].tool: a YAML anchor stands here; a policy has none",
        "6:11:rules[0].role: a YAML alias stands here; a policy has none: write the text out, or "
        "in quotes"}},
      {"an alias as a name",
       "version: 1\nrules: []\n*x : 1\n",
       {"3:1:: a YAML alias stands here; a policy has none: write the text out, or in quotes"}},
      {"an anchor before the tag that hides it",
       "version: 1\nrules: !!seq &r []\n",
       {"2:8:rules: a YAML anchor stands here; a policy has none"}},
      {"a tag",
       rule_head + "    tool: !!str b\n",
       {"5:11:rules[0].tool: a YAML tag stands here; a policy has none"}},
      {"a tag that makes a number a text",
       "version: ! 1\nrules: []\n",
       {"1:10:version: a YAML tag stands here; a policy has none"}},
      {"a tag on a quoted text",
       rule_head + "    tool: ! \"b\"\n",
       {"5:11:rules[0].tool: a YAML tag stands here; a policy has none"}},
      {"a tag on a list",
       "version: 1\nrules: ! []\n",
       {"2:8:rules: a YAML tag stands here; a policy has none"}},
      {"a tag on a name",
       "version: 1\nrules: []\n! x: 1\n",
       {"3:1:x: a YAML tag stands here; a policy has none"}},
      {"a merge",
       rule_head + "    <<: { tool: b }\n",
       {"5:5:rules[0].<<: unknown field; expected one of id, action, tool, role, capability, "
        "priority, reason, rate, limits"}},
      {"a second document",
       "version: 1\nrules: []\n---\nversion: 1\n",
       {"3:1:: a second YAML document begins; a policy is one document"}},
      {"a second document that is empty",
       "version: 1\nrules: []\n---\n",
       {"3:1:: a second YAML document begins; a policy is one document"}},
      {"something after the document's end",
       "version: 1\nrules: []\n...\nx: 1\n",
       {"4:1:: this is not YAML: did not find expected <document start>"}},
      {"an escape of JSON that YAML does not know",
       rule_head + "    tool: \"\\ud83d\\ude00\"\n",
       {"5:14:rules[0].tool: this escape in a double-quoted text names no character; write the "
        "character itself"}},
      {"an unknown escape",
       rule_head + "    tool: \"\\d\"\n",
       {"5:12:rules[0].tool: this escape in a double-quoted text is none of YAML's; write the "
        "character itself"}},
      {"a colon in a text",
       rule_head + "    reason: no: never\n",
       {"5:15:: a ':' stands where no member can begin; check the indentation, and put a text that "
        "holds ': ' in quotes"}},
      {"a quote that never ends",
       rule_head + "    reason: \"never\n",
       {"6:1:rules[0].reason: this is not YAML: found unexpected end of stream while scanning a "
        "quoted scalar"}},
      {"a flow list that never ends",
       "version: 1\nrules: [\n",
       {"3:1:: this is not YAML: did not find expected node content while parsing a flow node"}},
  };
  for (const RefusalRow& row : rows)
    check_refused(row);
}

TEST_CASE("nesting is taken to a depth of 64 and no further, however deep the text goes") {
  const std::string open = repeat("[", kMaxPolicyDepth);
  const std::string close = repeat("]", kMaxPolicyDepth);
  CHECK(parse_document(open + close).document.has_value());
  CHECK(parse_document("{a: " + repeat("[", kMaxPolicyDepth - 1) +
                       repeat("]", kMaxPolicyDepth - 1) + "}")
            .document.has_value());
  const RefusalRow rows[] = {
      {"65 lists",
       "[" + open + close + "]",
       {"1:65:: lists and maps are nested more than 64 deep"}},
      {"65 maps",
       repeat("{a: ", 65) + repeat("}", 65),
       {"1:257:: lists and maps are nested more than 64 deep"}},
      {"100,000 [", repeat("[", 100'000), {"1:65:: lists and maps are nested more than 64 deep"}},
      {"100,000 {", repeat("{", 100'000), {"1:65:: lists and maps are nested more than 64 deep"}},
      {"100,000 list entries on one line",
       repeat("- ", 100'000),
       {"1:129:: lists and maps are nested more than 64 deep"}},
      {"100,000 names of maps on one line",
       repeat("? ", 100'000),
       {"1:129:: lists and maps are nested more than 64 deep"}},
  };
  for (const RefusalRow& row : rows)
    check_refused(row);
}

TEST_CASE("a node's path is told as the members and items that lead to it") {
  const ParsedDocument parsed =
      parse_document("version: 1\nrules:\n  - id: a\n  - { id: b, rate: { max: 7 } }\n");
  REQUIRE(parsed.document.has_value());
  const Document& document = *parsed.document;
  const auto members = document.root().members();
  REQUIRE(members.size() == 2);
  CHECK(document.path_to(document.root()).empty());
  CHECK(document.path_to(members[0].name) == "version");
  CHECK(document.path_to(members[0].value) == "version");
  const auto rules = members[1].value.items();
  REQUIRE(rules.size() == 2);
  CHECK(document.path_to(rules[1]) == "rules[1]");
  const auto rate = rules[1].members()[1].value;
  CHECK(document.path_to(rate.members()[0].value) == "rules[1].rate.max");
  CHECK(rate.members()[0].value.at().line == 4);
  CHECK(rate.members()[0].value.at().column == 27);
}

TEST_CASE("columns count code points, lines count line ends of either kind") {
  const ParsedDocument parsed = parse_document("version: 1\r\n\"\xC3\xA9\xF0\x9F\x98\x80\": x\r\n");
  REQUIRE(parsed.document.has_value());
  const auto members = parsed.document->root().members();
  REQUIRE(members.size() == 2);
  CHECK(members[1].value.at().line == 2);
  CHECK(members[1].value.at().column == 7);
}

TEST_CASE("a scalar's text is what it says, and whether it stands in quotes is known") {
  const ParsedDocument parsed = parse_document(
      "- plain text\n- 'it''s'\n- \"a\\tb\\u00e9\"\n- |\n  two\n  lines\n- >\n  folded\n  "
      "text\n-\n");
  REQUIRE(parsed.document.has_value());
  const auto items = parsed.document->root().items();
  REQUIRE(items.size() == 6);
  struct Row {
    std::string_view text;
    bool is_plain;
  };
  const Row rows[] = {{"plain text", true},
                      {"it's", false},
                      {"a\tb\xC3\xA9", false},
                      {"two\nlines\n", false},
                      {"folded text\n", false},
                      {"", true}};
  for (std::size_t at = 0; at < items.size(); ++at) {
    CAPTURE(at);
    CHECK(items[at].text() == rows[at].text);
    CHECK(items[at].is_plain() == rows[at].is_plain);
  }
}

}  // namespace
}  // namespace aegis::policy
