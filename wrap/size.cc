// SPDX-License-Identifier: Apache-2.0 OR MIT
// See size.h.
#include "wrap/size.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace aegis::wrap {
namespace {

struct Suffix {
  std::string_view text;
  unsigned shift;
};
constexpr Suffix kSuffixes[] = {{"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"", 0}};

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text, SizeRange range) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest == text.data()) return std::nullopt;
  const std::string_view behind(rest, static_cast<std::size_t>(end - rest));
  const auto* const suffix =
      std::find_if(std::begin(kSuffixes), std::end(kSuffixes), [behind](const Suffix& each) {
        return each.text == behind;
      });
  if (suffix == std::end(kSuffixes) || number > (range.most >> suffix->shift)) return std::nullopt;
  const std::uint64_t size = number << suffix->shift;
  if (size < range.least) return std::nullopt;
  return size;
}

std::string format_size(std::uint64_t size) {
  const auto* const suffix =
      std::find_if(std::begin(kSuffixes), std::end(kSuffixes), [size](const Suffix& each) {
        return size >> each.shift << each.shift == size;
      });
  return std::to_string(size >> suffix->shift).append(suffix->text);
}

}  // namespace aegis::wrap
