// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "confine/sandbox_answer.h"

#include <string>

#include <doctest/doctest.h>

namespace aegis::confine {

TEST_CASE("an end crosses the pipe whole, or not at all") {
  SandboxEnd end;
  end.how = SandboxEnd::How::output;
  end.wait_status = 256;
  end.out = std::string("out\0put", 7);
  end.err = "errors";
  end.is_truncated = true;
  end.memory_kills = 3;
  end.duration = std::chrono::milliseconds(1234);
  end.snapshot_left_out = 7;
  end.why = "why";
  end.notes = {"one", "two"};
  end.writable_fault = PathFault::many_links;
  const std::string bytes = encode_end(end);
  const auto decoded = decode_end(bytes);
  REQUIRE(decoded);
  CHECK(decoded->how == end.how);
  CHECK(decoded->wait_status == end.wait_status);
  CHECK(decoded->out == end.out);
  CHECK(decoded->err == end.err);
  CHECK(decoded->is_truncated);
  CHECK(decoded->memory_kills == 3);
  CHECK(decoded->duration == end.duration);
  CHECK(decoded->snapshot_left_out == 7);
  CHECK(decoded->why == "why");
  CHECK(decoded->notes == end.notes);
  CHECK(decoded->writable_fault == end.writable_fault);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(decode_end(bytes.substr(0, size)));
  CHECK_FALSE(decode_end(bytes + "x"));

  const auto empty = decode_end(encode_end({}));
  REQUIRE(empty);
  CHECK(empty->how == SandboxEnd::How::unbuilt);
  CHECK_FALSE(empty->wait_status);
  CHECK_FALSE(empty->writable_fault);
}

}  // namespace aegis::confine
