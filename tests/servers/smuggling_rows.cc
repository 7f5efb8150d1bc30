// SPDX-License-Identifier: Apache-2.0 OR MIT
// Prints the tables of tests/mcp/smuggling_table.h as one JSON array, the frames in hex, so that
// tests/sessions can send each to a whole aegis.

#include <cstdio>
#include <string>
#include <string_view>

#include "tests/mcp/smuggling_table.h"

namespace {

using namespace aegis::mcp::testing;

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

std::string row(const SmugglingForm& form, std::string_view kind) {
  return "{\"name\":\"" + hex(form.name) + "\",\"frame\":\"" + hex(form.frame) + "\",\"kind\":\"" +
         std::string(kind) + "\"}";
}

}  // namespace

int main() {
  std::string array;
  for (const SmugglingForm& form : all_smuggling_forms())
    array += (array.empty() ? "[" : ",\n") + row(form, "evil");
  for (const SmugglingForm& form : kHarmlessForms)
    array += ",\n" + row(form, "harmless");
  return std::puts((array + "]").c_str()) < 0 ? 1 : 0;
}
