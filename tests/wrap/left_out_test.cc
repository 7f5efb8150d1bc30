// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is said of a frame that does not reach the client.
#include "wrap/left_out.h"

#include <string>

#include <doctest/doctest.h>

using aegis::wrap::kShownBytes;
using aegis::wrap::left_out_sentence;
using aegis::wrap::LeftOut;

TEST_CASE("a short line is shown whole, with why and its size") {
  CHECK(left_out_sentence("a banner\n", LeftOut::no_json) ==
        "a line of the server's stdout is kept from the client: it is no JSON; 8 bytes: a banner");
  CHECK(left_out_sentence("x", LeftOut::no_json).ends_with("; 1 byte: x"));
  for (const LeftOut why : {LeftOut::unclear,
                            LeftOut::unclear_list,
                            LeftOut::unasked,
                            LeftOut::progress,
                            LeftOut::batch})
    CHECK(left_out_sentence("{}\n", why).find("client: ;") == std::string::npos);
}

TEST_CASE("of a long one only the beginning is shown, not cut amid a character") {
  const std::string full(kShownBytes, 'x');
  CHECK(left_out_sentence(full + "\n", LeftOut::unasked).ends_with("; 200 bytes: " + full));
  CHECK(left_out_sentence(full + "y\n", LeftOut::unasked)
            .ends_with("; 201 bytes: " + full + " [...]"));
  const std::string almost(kShownBytes - 1, 'x');
  CHECK(left_out_sentence(almost + "\u00e9\n", LeftOut::unasked)
            .ends_with("; 201 bytes: " + almost + " [...]"));
  const std::string huge(1'000'000, '\x80');
  CHECK(left_out_sentence(huge, LeftOut::unasked).size() < kShownBytes + 200);
}
