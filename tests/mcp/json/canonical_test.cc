// SPDX-License-Identifier: Apache-2.0 OR MIT
// Canonical JSON: what the writer writes, what the reader takes, and how it names what it does not
// take.
#include "mcp/json/canonical.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/mcp/json/rewrite.h"

namespace aegis::mcp::json {
namespace {

using Kind = CanonicalFlaw::Kind;

std::string quoted(std::string_view text) {
  std::string out;
  append_string(text, out);
  return out;
}

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

/// The kind of the flaw, or nothing for a canonical text. Every view that the reader hands out is
/// looked at.
std::optional<CanonicalFlaw> flaw_of(std::string_view text) {
  CanonicalReader reader;
  return reader.read(text);
}

}  // namespace

TEST_CASE("strings escape quotes, backslashes and controls, and nothing else") {
  struct Row {
    const char* name;
    std::string text;
    std::string written;
  };
  const std::vector<Row> rows{
      {"empty", "", R"("")"},
      {"plain", "abc /~ \x7F", "\"abc /~ \x7F\""},
      {"quote and backslash", R"(a"b\c)", R"("a\"b\\c")"},
      {"short forms", "\b\t\n\f\r", R"("\b\t\n\f\r")"},
      {"other controls", std::string("\0\x01\x0B\x1F", 4), R"("\u0000\u0001\u000b\u001f")"},
      {"above ASCII", "é€\xF0\x9F\x98\x80", "\"é€\xF0\x9F\x98\x80\""},
      {"line separators stay", "\xE2\x80\xA8", "\"\xE2\x80\xA8\""},
      {"the sample of RFC 8785, section 3.2.2.2",
       "\xE2\x82\xAC$\x0F\nA'\x42\"\\\"/",
       R"("€$\u000f\nA'B\"\\\"/")"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(quoted(row.text) == row.written);
    CanonicalReader reader;
    REQUIRE_FALSE(reader.read(row.written));
    CHECK(reader.root().string == row.text);
  }
}

TEST_CASE("members are ordered by UTF-16 code units") {
  // The sorting sample of RFC 8785, section 3.2.3, in its order.
  const std::vector<std::string> ordered{
      "\r", "1", "\xC2\x80", "\xC3\xB6", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xEF\xAC\xB3"};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      CAPTURE(i);
      CAPTURE(j);
      CHECK(is_name_before(ordered[i], ordered[j]) == (i < j));
    }
  }
  CHECK(is_name_before("", "a"));
  CHECK(is_name_before("a", "aa"));
  CHECK_FALSE(is_name_before("aa", "a"));
  CHECK_FALSE(flaw_of("{\"\xF0\x9F\x98\x80\":1,\"\xEF\xAC\xB3\":2}"));
  CHECK(flaw_of("{\"\xEF\xAC\xB3\":2,\"\xF0\x9F\x98\x80\":1}")->kind == Kind::member_order);
}

TEST_CASE("the writer nests, separates and counts") {
  std::string text = "before ";
  CanonicalWriter out{text};
  out.begin_object();
  out.name("a");
  out.begin_array();
  out.integer(0);
  out.integer(kMaxInteger);
  out.begin_object();
  out.end_object();
  out.begin_array();
  out.end_array();
  out.string("x\ny");
  out.end_array();
  out.member("b", "text");
  out.member("c", std::uint64_t{7});
  out.end_object();
  CHECK(text == R"(before {"a":[0,9007199254740991,{},[],"x\ny"],"b":"text","c":7})");
}

TEST_CASE("a canonical text is read into a flat tree") {
  const std::string text =
      R"({"a":{"b":[true,false,{"c":"x\ty"}]},"d":9007199254740991,"e":"","f\n":[]})";
  CanonicalReader reader;
  REQUIRE_FALSE(reader.read(text));
  const CanonicalNode& root = reader.root();
  CHECK(root.raw == text);
  CHECK(root.span == 10);
  const CanonicalNode* a = find_member(root, "a");
  REQUIRE(a != nullptr);
  CHECK(a->member_at == 1);
  const CanonicalNode* b = find_member(*a, "b");
  REQUIRE(b != nullptr);
  CHECK(b->raw == R"([true,false,{"c":"x\ty"}])");
  CHECK(b->first()->boolean);
  CHECK_FALSE(b->first()->next()->boolean);
  CHECK(b->first()->next()->is(CanonicalNode::Type::boolean));
  CHECK(find_string(*b->first()->next()->next(), "c") == "x\ty");
  CHECK(find_integer(root, "d") == kMaxInteger);
  CHECK(find_string(root, "e") == "");
  CHECK(find_member(root, "f\n")->is(CanonicalNode::Type::array));
  CHECK(find_member(root, "f\n")->first() == find_member(root, "f\n")->end());

  CHECK(find_member(root, "c") == nullptr);  // a grandchild is no member
  CHECK(find_member(*b, "c") == nullptr);
  CHECK_FALSE(find_string(root, "d"));
  CHECK_FALSE(find_integer(root, "e"));
}

TEST_CASE("what is not canonical is named, with its place") {
  struct Row {
    const char* name;
    std::string text;
    Kind kind;
    std::size_t offset;
  };
  const std::vector<Row> rows{
      {"nothing", "", Kind::blank, 0},
      {"white space alone", " \t\r", Kind::blank, 0},
      {"cut in an object", R"({"a":1)", Kind::not_json, 6},
      {"cut in a name", R"({"a)", Kind::not_json, 3},
      {"cut after a colon", R"({"a":)", Kind::not_json, 5},
      {"cut in an escape", R"(["\u00)", Kind::not_json, 6},
      {"cut in a character", "[\"\xE2\x82", Kind::not_json, 4},
      {"cut and spaced too", R"({"a": 1, "b")", Kind::not_json, 12},
      {"cut and out of order too", R"({"b":1,"a":)", Kind::not_json, 11},
      {"two values", "{}{}", Kind::not_json, 2},
      {"a comma too many", "[1,]", Kind::not_json, 3},
      {"brackets crossed", "[{]}", Kind::not_json, 2},
      {"a raw control", "[\"a\nb\"]", Kind::not_json, 3},
      {"an unknown escape", R"(["\x"])", Kind::not_json, 3},
      {"a leading zero", "[01]", Kind::not_json, 2},
      {"a bare minus", "[-]", Kind::not_json, 2},
      {"a bare point", "[1.]", Kind::not_json, 3},
      {"a NUL", std::string("[1\0]", 4), Kind::not_json, 2},
      {"a word misspelt", "[tru]", Kind::not_json, 4},
      {"single quotes", "{'a':1}", Kind::not_json, 1},
      {"a byte of no sequence", "[\"\xFF\"]", Kind::not_utf8, 2},
      {"an overlong form", "[\"\xC0\x80\"]", Kind::not_utf8, 2},
      {"a surrogate in UTF-8", "[\"\xED\xA0\x80\"]", Kind::not_utf8, 3},
      {"above U+10FFFF", "[\"\xF4\x90\x80\x80\"]", Kind::not_utf8, 3},
      {"a byte-order mark", "\xEF\xBB\xBF{}", Kind::byte_order_mark, 0},
      {"a space in front", " {}", Kind::white_space, 0},
      {"a space after a comma", "[1, 2]", Kind::white_space, 3},
      {"a space before a colon", R"({"a" :1})", Kind::white_space, 4},
      {"a carriage return behind", "{}\r", Kind::white_space, 2},
      {"a newline in an empty array", "[\n]", Kind::white_space, 1},
      {"a solidus escaped", R"(["\/"])", Kind::escape_form, 2},
      {"a letter escaped", R"(["\u0041"])", Kind::escape_form, 2},
      {"a tab in long form", R"(["\u0009"])", Kind::escape_form, 2},
      {"upper-case digits", R"(["\u001F"])", Kind::escape_form, 2},
      {"a pair of surrogates", R"(["\ud83d\ude00"])", Kind::escape_form, 2},
      {"a high surrogate alone", R"(["\ud83d"])", Kind::lone_surrogate, 2},
      {"a low surrogate alone", R"(["\ude00"])", Kind::lone_surrogate, 2},
      {"two high surrogates", R"(["\ud83d\ud83d"])", Kind::lone_surrogate, 2},
      {"a fraction", "[1.0]", Kind::number, 2},
      {"an exponent", "[1e3]", Kind::number, 2},
      {"a negative number", "[-1]", Kind::number, 1},
      {"minus zero", "[-0]", Kind::number, 1},
      {"2^53", "[9007199254740992]", Kind::number, 16},
      {"a hundred digits", "[" + std::string(100, '9') + "]", Kind::number, 16},
      {"null", R"({"a":null})", Kind::null_value, 5},
      {"members out of order", R"({"b":1,"a":2})", Kind::member_order, 7},
      {"a member twice", R"({"a":1,"a":2})", Kind::repeated_member, 7},
      {"17 levels", nested(17), Kind::too_deep, 16},
      {"too long",
       "[\"" + std::string(kMaxCanonicalSize, 'a') + "\"]",
       Kind::too_long,
       kMaxCanonicalSize},
      {"too long and cut",
       "[\"" + std::string(kMaxCanonicalSize, 'a'),
       Kind::not_json,
       kMaxCanonicalSize + 2},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const auto flaw = flaw_of(row.text);
    REQUIRE(flaw);
    CHECK(describe(flaw->kind) == describe(row.kind));
    CHECK(flaw->offset == row.offset);
    CHECK(flaw->may_be_torn() == (row.kind == Kind::not_json || row.kind == Kind::not_utf8));
  }
}

TEST_CASE("the limits of size and depth are themselves allowed") {
  CHECK_FALSE(flaw_of(nested(16)));
  const std::string longest = "\"" + std::string(kMaxCanonicalSize - 2, 'a') + "\"";
  REQUIRE(longest.size() == kMaxCanonicalSize);
  CHECK_FALSE(flaw_of(longest));
  CHECK(flaw_of("\"" + longest)->may_be_torn());
}

TEST_CASE("every proper beginning of an object may be torn") {
  const std::string text = R"({"a":[1,true,{"b\u0001":"é\n"}],"c":{},"d":9007199254740991})";
  REQUIRE_FALSE(flaw_of(text));
  for (std::size_t size = 1; size < text.size(); ++size) {
    CAPTURE(size);
    const auto flaw = flaw_of(text.substr(0, size));
    REQUIRE(flaw);
    CHECK(flaw->may_be_torn());
  }
}

TEST_CASE("one changed bit is another canonical text or none") {
  const std::string text = R"({"a":[1,true,{"b\u0001":"é\n"}],"c":{},"d":9007199254740991})";
  CanonicalReader reader;
  std::size_t still_canonical = 0;
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
    if (!reader.read(other)) ++still_canonical;
  }
  CHECK(still_canonical > 0);  // a letter may become another letter
  CHECK(still_canonical < text.size() * 4);
  CHECK_FALSE(reader.read(text));
}

namespace {

/// Writes some object, another for each seed.
class Composer {
 public:
  explicit Composer(std::uint32_t seed) : random_(seed) {}

  std::string text() {
    writer_.begin_object();
    open_.push_back({'{', 0});
    for (std::size_t steps = pick(60); steps > 0; --steps) {
      if (open_.size() > 1 && pick(5) == 0) {
        close();
      } else {
        item();
      }
    }
    while (!open_.empty())
      close();
    return out_;
  }

 private:
  struct Level {
    char bracket;
    unsigned names;
  };

  void item() {
    Level& level = open_.back();
    if (level.bracket == '{') writer_.name("n" + std::to_string(1000 + level.names++));
    switch (pick(open_.size() < kMaxCanonicalDepth ? 4 : 2)) {
      case 0:
        writer_.string(string());
        break;
      case 1:
        writer_.integer((std::uint64_t{random_()} * random_()) & kMaxInteger);
        break;
      case 2:
        writer_.begin_object();
        open_.push_back({'{', 0});
        break;
      default:
        writer_.begin_array();
        open_.push_back({'[', 0});
        break;
    }
  }

  void close() {
    open_.back().bracket == '{' ? writer_.end_object() : writer_.end_array();
    open_.pop_back();
  }

  std::size_t pick(std::size_t below) { return random_() % below; }

  std::string string() {
    static const std::vector<std::string> pieces{"a",
                                                 "\"",
                                                 "\\",
                                                 "\n",
                                                 std::string("\0", 1),
                                                 "\x1F",
                                                 "é",
                                                 "\xF0\x9F\x98\x80",
                                                 "\xEF\xBF\xBF",
                                                 "/"};
    std::string out;
    for (std::size_t count = pick(8); count > 0; --count)
      out += pieces[pick(pieces.size())];
    return out;
  }

  std::mt19937 random_;
  std::string out_;
  CanonicalWriter writer_{out_};
  std::vector<Level> open_;
};

}  // namespace

TEST_CASE(
    "what the writer writes, one reader takes, text after text, and it can be written again") {
  CanonicalReader reader;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    const std::string text = Composer{seed}.text();
    CAPTURE(text);
    REQUIRE_FALSE(reader.read(text));
    CHECK(rewritten(reader.root()) == text);
  }
}

}  // namespace aegis::mcp::json
