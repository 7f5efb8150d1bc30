// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "wrap/size.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include <doctest/doctest.h>

namespace {

using aegis::wrap::format_size;
using aegis::wrap::parse_size;
using aegis::wrap::SizeRange;

TEST_CASE("sizes are digits and a suffix, within a range") {
  constexpr SizeRange kRange{10, std::uint64_t{4} << 30};
  struct Row {
    std::string_view text;
    std::optional<std::uint64_t> size;
  };
  const Row rows[] = {
      {"10", 10},
      {"1KiB", 1024},
      {"64MiB", 64U << 20U},
      {"4GiB", std::uint64_t{4} << 30},
      {"4194304KiB", std::uint64_t{4} << 30},
      {"9", {}},
      {"0", {}},
      {"0GiB", {}},
      {"5GiB", {}},
      {"4294967297", {}},
      {"17179869184GiB", {}},  // 2^64 bytes
      {"18446744073709551616", {}},
      {"64mib", {}},
      {"64 MiB", {}},
      {"64M", {}},
      {"64MiBs", {}},
      {"-1", {}},
      {"+10", {}},
      {" 10", {}},
      {"1.5GiB", {}},
      {"0x10", {}},
      {"MiB", {}},
      {"", {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(parse_size(row.text, kRange) == row.size);
  }
}

TEST_CASE("a size is written with the largest suffix that divides it") {
  CHECK(format_size(1) == "1");
  CHECK(format_size(1025) == "1025");
  CHECK(format_size(1536) == "1536");
  CHECK(format_size(3072) == "3KiB");
  CHECK(format_size(std::uint64_t{1} << 46) == "65536GiB");
}

}  // namespace
