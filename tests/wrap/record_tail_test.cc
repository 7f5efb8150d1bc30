// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is taken for the end of a record, what for torn, and what is refused.
#include "wrap/record_tail.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "tests/wrap/record_text.h"
#include "tests/wrap/scratch.h"

namespace {

using aegis::audit::LineHash;
using aegis::confine::describe;
using aegis::confine::Fd;
using aegis::confine::Result;
using aegis::test::last_line_hash;
using aegis::test::Scratch;
using aegis::test::sealed_record;
using aegis::wrap::read_record_tail;
using aegis::wrap::RecordTail;

Result<RecordTail> tail_of_file(const std::string& path) {
  return read_record_tail(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path);
}

Result<RecordTail> tail_of(std::string_view bytes) {
  const Scratch scratch;
  return tail_of_file(scratch.write("record", bytes));
}

std::string line(std::string_view type, std::string_view more = "") {
  return "{\"line_type\":\"" + std::string(type) + "\",\"prev_hash\":\"" + std::string(64, '0') +
         "\",\"schema_version\":2,\"seq\":0" + std::string(more) + "}";
}

TEST_CASE("an empty file has no end to go on from") {
  const Result<RecordTail> tail = tail_of("");
  REQUIRE(tail);
  CHECK(tail->end == 0);
  CHECK_FALSE(tail->last);
  CHECK_FALSE(tail->lacks_newline);
  CHECK(tail->torn.empty());
}

TEST_CASE("a whole record ends with its last Line") {
  for (const int sessions : {1, 2}) {
    const std::string record = sealed_record(sessions);
    const Result<RecordTail> tail = tail_of(record);
    REQUIRE(tail);
    CHECK(tail->end == record.size());
    CHECK((tail->last == last_line_hash(record)));
    CHECK_FALSE(tail->lacks_newline);
    CHECK(tail->torn.empty());
  }
}

TEST_CASE("a cut at any byte leaves the whole Lines and a torn rest") {
  const std::string record = sealed_record();
  const std::size_t first_end = record.find('\n') + 1;
  const Scratch scratch;
  const std::string path = scratch.write("record", record);
  for (std::size_t size = record.size(); size > 0; --size) {
    CAPTURE(size);
    REQUIRE(::truncate(path.c_str(), static_cast<off_t>(size)) == 0);
    const std::string_view cut = std::string_view(record).substr(0, size);
    const Result<RecordTail> tail = tail_of_file(path);
    REQUIRE(tail);
    // A Line that lost its '\n' only is whole.
    const bool lacks_newline = cut.back() != '\n' && record[size] == '\n';
    const std::size_t end = lacks_newline ? size : cut.rfind('\n') + 1;
    CHECK(tail->lacks_newline == lacks_newline);
    CHECK(tail->end == end);
    CHECK(tail->torn == cut.substr(end));
    CHECK(tail->last.has_value() == (size + 1 >= first_end));
    if (tail->last) CHECK((*tail->last == last_line_hash(cut.substr(0, end))));
  }
}

TEST_CASE("a line that is no JSON or no UTF-8 behind the last Line is torn") {
  struct Row {
    std::string_view name;
    std::string torn;
  };
  const Row rows[] = {
      {"zeros of a lost block", std::string(5000, '\0')},
      {"more than one read brings", std::string(300'000, '\0')},
      {"with a newline at its end", "{\"line_type\":\n"},
      {"not UTF-8 in a whole object", "{\"a\":\"\xff\"}"},
      {"two values in one line", "{}{}\n"},
      {"text", "these are somebody's words\n"},
      {"a deep line without an end", std::string(5000, '[')},
      {"a long line without an end", "{\"a\":\"" + std::string(200'000, 'x')},
  };
  const std::string record = sealed_record();
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Result<RecordTail> tail = tail_of(record + row.torn);
    REQUIRE(tail);
    CHECK(tail->end == record.size());
    CHECK((tail->torn == row.torn));
    CHECK((tail->last == last_line_hash(record)));
    CHECK_FALSE(tail->lacks_newline);
  }
}

TEST_CASE("an end that is JSON but no Line is refused") {
  const std::string hash(64, '0');
  struct Row {
    std::string_view name;
    std::string end;
  };
  const Row rows[] = {
      {"a literal", "true"},
      {"a number that may be a torn one", "1"},
      {"an array", "[]\n"},
      {"an empty object", "{}\n"},
      {"an object of another kind", "{\"a\":1}\n"},
      {"another version",
       "{\"line_type\":\"close\",\"prev_hash\":\"" + hash + "\",\"schema_version\":3,\"seq\":0}\n"},
      {"no seq", "{\"line_type\":\"close\",\"prev_hash\":\"" + hash + "\",\"schema_version\":2}\n"},
      {"no hash", "{\"line_type\":\"close\",\"prev_hash\":\"0\",\"schema_version\":2,\"seq\":0}\n"},
      {"not canonical", line("close").insert(1, " ") + "\n"},
      {"carriage return", line("close") + "\r\n"},
      {"longer than a Line", line("close", ",\"z\":\"" + std::string(70'000, 'z') + "\"") + "\n"},
      {"deeper than any Line", std::string(5000, '[') + std::string(5000, ']') + "\n"},
      {"so deep that nobody can tell", std::string(70'000, '[') + std::string(70'000, ']')},
      {"torn behind what is no Line", "{}\n{\"a"},
      {"a blank line", "\n"},
      {"blanks", " \n \n"},
      {"spaces", "  "},
      {"a blank line behind a torn one", "{\"a\n\n"},
      {"torn behind a blank line", "\n{\"a"},
      {"two torn lines", "{\"a\":\n{\"b"},
      {"many torn lines", "{\"a\":\n{\"b\n\xff\n{\"c\":\n"},
      {"a Line cut short, and one behind it", line("close").substr(0, 100) + "\n{\"a"},
  };
  const std::string record = sealed_record();
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Result<RecordTail> tail = tail_of(record + row.end);
    REQUIRE_FALSE(tail);
    CHECK(describe(tail.error()).find("its end is no Line") != std::string::npos);
  }
}

TEST_CASE("a Line of another emitter, and the longest one, is a Line") {
  const std::string padded = line("outcome", ",\"z\":\"\"");
  const std::string longest =
      line("outcome", ",\"z\":\"" + std::string(65536 - padded.size(), 'z') + "\"");
  REQUIRE(longest.size() == 65536);
  for (const std::string& last : {line("unheard_of"), longest}) {
    const std::string record = line("open") + "\n" + last + "\n";
    const Result<RecordTail> tail = tail_of(record);
    REQUIRE(tail);
    CHECK((tail->last == LineHash::of(last)));
  }
}

TEST_CASE("what does not begin like a record is somebody else's and refused") {
  struct Row {
    std::string_view name;
    std::string content;
  };
  const Row rows[] = {
      {"notes", "Buy milk.\nCall mum.\n"},
      {"a word without a newline", "milk"},
      {"an empty first line", "\n"},
      {"pretty JSON", "{\n  \"a\": 1\n}\n"},
      {"a brace and a newline", "{\n"},
      {"compact JSON", "{\"a\":1}"},
      {"large compact JSON", "{\"a\":\"" + std::string(300'000, 'x') + "\"}"},
      {"a JSON array", "[1,2,3]\n"},
      {"another Line first", line("intent") + "\n"},
      {"another Line first, and a torn one", line("intent") + "\n{\"a"},
      {"notes and then a record", "Notes:\n" + sealed_record()},
      {"a first line without an end that fits, then a Line",
       "{\"" + std::string(100'000, 'x') + "\n" + line("close") + "\n"},
      {"zeros", std::string(100, '\0')},
      {"an open Line of another version",
       "{\"line_type\":\"open\",\"prev_hash\":\"" + std::string(64, '0') +
           "\",\"schema_version\":3,\"seq\":0}\n"},
      {"not UTF-8", "\xff\xfe{"},
      {"a byte-order mark", "\xef\xbb\xbf" + sealed_record()},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Result<RecordTail> tail = tail_of(row.content);
    REQUIRE_FALSE(tail);
    CHECK(describe(tail.error()).find("not a record") != std::string::npos);
  }
}

TEST_CASE("only the two ends are read, whatever lies between") {
  const Scratch scratch;
  const std::string first = line("open") + "\n";
  const std::string last = "\n" + line("close") + "\n";
  const std::string path = scratch.write("record", first);
  constexpr off_t kFar = off_t{1} << 40;  // a hole: reading it would take hours
  const Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::pwrite(file.get(), last.data(), last.size(), kFar) ==
          static_cast<ssize_t>(last.size()));
  const Result<RecordTail> tail = tail_of_file(path);
  REQUIRE(tail);
  CHECK((tail->last == LineHash::of(line("close"))));
  CHECK(tail->end == static_cast<std::uint64_t>(kFar) + last.size());
}

TEST_CASE("more than a lost write explains is refused, in bounded memory") {
  const Scratch scratch;
  const std::string path = scratch.write("record", sealed_record());
  REQUIRE(::truncate(path.c_str(), off_t{1} << 40) == 0);
  const Result<RecordTail> tail = tail_of_file(path);
  REQUIRE_FALSE(tail);
  CHECK(describe(tail.error()).find("its end is no Line") != std::string::npos);
}

}  // namespace
