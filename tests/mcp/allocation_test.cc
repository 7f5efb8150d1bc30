// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reading ordinary frames allocates nothing once a reader has read a few: counted at operator new.
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "mcp/message.h"

namespace {

std::size_t allocations = 0;

}  // namespace

// Replacing the global operators is how the language lets a program count them. Not inlined: g++ 12
// then takes malloc and free for a mismatch of new and delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

TEST_CASE("frames of ordinary size are read without allocating") {
  using namespace std::string_view_literals;
  const std::string long_text(100'000, 'x');
  const std::string frames[] = {
      R"({"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"a"}}})",
      R"({"jsonrpc":"2.0","id":"\u0041","method":"tools\/call","params":{"name":"write\u005ffile_of_a_long_name"}})",
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"x"}}})",
      R"([{"id":1,"method":"a"},{"id":2,"method":"b"}])",
      R"({"id":1,"method":"a","method":"tools/call"})",
      R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":")" + long_text +
          R"("}]}})",
      "not JSON",
  };
  aegis::mcp::MessageReader reader;
  const auto read_all = [&] {
    std::size_t messages = 0;
    for (const std::string& frame : frames) {
      messages += reader.read_client(frame).messages.size();
      messages += reader.read_server(frame).messages.size();
    }
    return messages;
  };
  read_all();
  const std::size_t before = allocations;
  const std::size_t messages = read_all();
  CHECK(allocations - before == 0);
  CHECK(messages == 14);
  const std::size_t counted = allocations;
  ::operator delete(::operator new(1));  // unlike new and delete expressions, never optimised away
  CHECK(allocations == counted + 1);     // the counter counts
}
