// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which paths a pattern covers, which patterns are none, and that no pair of them takes long.
#include "policy/glob.h"

#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "policy/folded.h"

namespace aegis::policy {
namespace {

bool covers(std::string_view pattern, std::string_view path) {
  CAPTURE(pattern);
  REQUIRE_FALSE(find_glob_flaw(pattern).has_value());
  return does_glob_cover(pattern, folded(path));
}

struct Row {
  std::string_view pattern;
  std::string_view path;
};

}  // namespace

TEST_CASE("a pattern covers these paths") {
  const Row rows[] = {
      // without a slash: a name anywhere, and what is in it
      {"secret", "secret"},
      {"secret", "a/b/secret"},
      {"secret", "a/secret/b/c"},
      {"*.bak", "a/x.bak"},
      {"*.bak", ".bak"},
      {"*", "a"},
      {"**", "a/b"},
      {"a*b*c", "x/aXbXbc"},
      {"a*b*c", "abc"},
      {"*a*a*b", "aaaaab"},
      {"?", "a/\xC3\xA4"},
      {"??", "ab"},
      {"x?z", "x\xFFz"},
      // letters whatever their case
      {"SECRET", "Secret"},
      {"secret", "SECRET"},
      {"\xC3\x84.txt", "\xC3\xA4.TXT"},
      {"\xC3\xA4.txt", "\xC3\x84.txt"},
      {"key*",
       "\xE2\x84\xAA"
       "eys"},
      {"[A-C]x", "bX"},
      {"[a-c]x", "BX"},
      {"[Z-a]x", "zx"},
      {"[\xC3\x80-\xC3\x96]", "\xC3\xA4"},
      {"[!a-c]x", "dx"},
      // sets
      {"[]]", "]"},
      {"[]-]x", "-x"},
      {"[a-]x", "-x"},
      {"[!]]", "a"},
      {"[[]x", "[x"},
      {"[*]", "*"},
      {"[?]", "?"},
      {"a[0-9][0-9]", "a42"},
      // with a slash: from the root on, and what is in it
      {"a/b", "a/b"},
      {"a/b", "a/b/c/d"},
      {"a/*", "a/x/y"},
      {"a/*/c", "a/b/c"},
      {"*/b", "a/b"},
      // any number of components
      {"a/**", "a"},
      {"a/**", "a/b"},
      {"a/**/**", "a"},
      {"**/b", "b"},
      {"**/b", "x/y/b/z"},
      {"a/**/z", "a/z"},
      {"a/**/z", "a/b/c/z"},
      {"a/**/y/**/z", "a/y/y/b/z"},
      {"**/a/b", "a/a/b"},
      {"**/*.log/x", "d/y.log/x"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.path);
    CHECK(covers(row.pattern, row.path));
  }
}

TEST_CASE("a pattern does not cover these paths") {
  const Row rows[] = {
      {"secret", ""},
      {"secret", "secrets"},
      {"secret", "a/my-secret"},
      {"*", ""},
      {"*.bak", "a/bak"},
      {"*.bak", "x.bak2"},
      {"?", "ab"},
      {"?", ""},
      {"a?b", "a/b"},
      {"a*b", "a/b"},
      {"a*b*c", "acb"},
      {"[!a-c]x", "Bx"},
      {"[!a]", "A"},
      {"[a-c]x", "dx"},
      {"[*]", "a"},
      {"a/b", "x/a/b"},
      {"a/b", "a"},
      {"a/b", "a/bc"},
      {"a/*", "a"},
      {"a/*/c", "a/b/d/c"},
      {"a/**/z", "a"},
      {"a/**/z", "b/z"},
      {"**/b", "bb"},
      {"**/a/b", "a/x/b"},
      {"[\xC3\xA4]", "a"},
      {"\xC3\xBF", "\xFF"},  // U+00FF is no byte
  };
  for (const Row& row : rows) {
    CAPTURE(row.path);
    CHECK_FALSE(covers(row.pattern, row.path));
  }
}

TEST_CASE("what is no pattern is told with what to write instead") {
  struct Flaw {
    std::string_view pattern;
    std::string_view part;  // of the message
  };
  const Flaw rows[] = {
      {"", "an empty name"},        {"/a", "an empty name"},
      {"a/", "an empty name"},      {"a//b", "an empty name"},
      {"/", "an empty name"},       {".", "name nothing here"},
      {"..", "name nothing here"},  {"a/../b", "name nothing here"},
      {"./a", "name nothing here"}, {"a\\*", "no escape"},
      {"[", "without its ']'"},     {"[]", "without its ']'"},
      {"[!]", "without its ']'"},   {"[a", "without its ']'"},
      {"[a/b]", "without its ']'"}, {"[a-", "without its ']'"},
      {"[^a]", "[!...]"},           {"[z-a]", "backwards"},
      {"x[a-Z]", "backwards"},      {"[[:alpha:]]", "not known"},
      {"[[=a=]]", "not known"},
  };
  for (const Flaw& row : rows) {
    CAPTURE(row.pattern);
    const auto flaw = find_glob_flaw(row.pattern);
    REQUIRE(flaw.has_value());
    CHECK(flaw->find(row.part) != std::string::npos);
  }
}

TEST_CASE("no pattern and path take long together") {
  std::string deep;
  for (int level = 0; level < 2048; ++level)
    deep += "a/";
  deep.pop_back();
  std::string stars;
  for (int star = 0; star < 128; ++star)
    stars += "*a";
  stars += "*b";
  std::string components = "**";
  for (int star = 0; star < 64; ++star)
    components += "/a/**";
  components += "/b";
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(covers(stars, std::string(4096, 'a')));
  CHECK_FALSE(covers(components, deep));
  CHECK_FALSE(covers("**/a/a/a/a/b", deep));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

}  // namespace aegis::policy
