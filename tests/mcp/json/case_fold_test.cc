// SPDX-License-Identifier: Apache-2.0 OR MIT
// The generated table against the data file it came from, code point by code point.
#include "mcp/json/case_fold.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "mcp/json/case_fold_table.h"

namespace {

using aegis::mcp::json::append_folded;
using aegis::mcp::json::fold_case;
using aegis::mcp::json::kCaseFoldRanges;
using aegis::mcp::json::kCaseFoldUnicode;

constexpr const char* kDataFile = "/usr/share/unicode/CaseFolding.txt";

/// Status C and S of the data file; empty when it is another version's or not there.
std::map<std::uint32_t, std::uint32_t> read_data_file() {
  std::map<std::uint32_t, std::uint32_t> folds;
  std::ifstream file{kDataFile};
  std::string line;
  std::getline(file, line);
  if (line.find("CaseFolding-" + std::string{kCaseFoldUnicode}) == std::string::npos) return folds;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t status = line.find("; ");
    const char kind = line.at(status + 2);
    if (kind != 'C' && kind != 'S') continue;
    folds[static_cast<std::uint32_t>(std::stoul(line, nullptr, 16))] =
        static_cast<std::uint32_t>(std::stoul(line.substr(status + 5), nullptr, 16));
  }
  return folds;
}

std::string folded(const std::string& text) {
  std::string out;
  append_folded(text, out);
  return out;
}

}  // namespace

TEST_CASE("every code point folds as Unicode's data file says") {
  const auto folds = read_data_file();
  if (folds.empty()) {
    MESSAGE("skipped: ",
            kDataFile,
            " of Unicode ",
            kCaseFoldUnicode,
            " is not here (Debian package unicode-data)");
    return;
  }
  CHECK(folds.size() > 1400);
  std::size_t wrong = 0;
  for (std::uint32_t code = 0; code <= 0x10FFFF; ++code) {
    const auto found = folds.find(code);
    const std::uint32_t expected = found == folds.end() ? code : found->second;
    if (fold_case(code) != expected) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("ranges ascend and do not overlap, as the search needs") {
  std::uint32_t last = 0;
  for (const auto& range : kCaseFoldRanges) {
    CHECK(range.first > last);
    CHECK(range.last >= range.first);
    CHECK((range.last - range.first) % range.step == 0);
    last = range.last;
  }
}

TEST_CASE("the traps fold as case-insensitive readers fold them") {
  struct Row {
    const char* name;
    const char* folds_to;
  };
  constexpr Row kRows[] = {
      {"METHOD", "method"},
      {"param\u017F", "params"},         // long s
      {"tas\u212A", "task"},             // Kelvin sign
      {"\u212B", "\u00E5"},              // Angstrom sign
      {"\u1E9E", "\u00DF"},              // capital sharp s: simple folding gives one letter
      {"\u00DF", "\u00DF"},              // and not "ss"
      {"\u0130", "\u0130"},              // dotted capital I folds only in Turkic
      {"\u0131", "\u0131"},              // dotless i
      {"\u03A3\u03C2", "\u03C3\u03C3"},  // both sigmas
      {"\uAB70", "\u13A0"},              // Cherokee folds to its capitals
      {"\U00010400", "\U00010428"},      // Deseret, beyond the BMP
      {"\uFF2D", "\uFF4D"},              // fullwidth M stays fullwidth: folding is no normalisation
      {"_meta-0 {}[]@`", "_meta-0 {}[]@`"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    CHECK(folded(row.name) == row.folds_to);
    CHECK(folded(row.folds_to) == row.folds_to);
  }
}
