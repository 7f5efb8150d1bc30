// SPDX-License-Identifier: Apache-2.0 OR MIT
// What it costs to read a frame: client frames by the strict rules, server frames only as far as
// they answer.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mcp/frame.h"
#include "mcp/message.h"

namespace {

using aegis::mcp::FrameCutter;
using aegis::mcp::MessageReader;

constexpr std::size_t kMiB = std::size_t{1} << 20U;

/// `pattern` over and over, `size` bytes of it at least.
std::string repeat(std::string_view pattern, std::size_t size) {
  std::string text;
  text.reserve(size + pattern.size());
  while (text.size() < size)
    text += pattern;
  return text;
}

std::string call_with(std::string_view content) {
  std::string frame =
      R"({"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"write_file",)"
      R"("arguments":{"path":"/srv/notes/today.md","content":")";
  frame += content;
  frame += R"("},"_meta":{"progressToken":17}}})"
           "\n";
  return frame;
}

std::string answer_with(std::string_view text) {
  std::string frame = R"({"result":{"content":[{"type":"text","text":")";
  frame += text;
  frame += R"("}]},"jsonrpc":"2.0","id":17})"
           "\n";
  return frame;
}

constexpr std::string_view kProse =
    R"(The quick brown fox jumps over the lazy dog and then rests for a while.\n)";
constexpr std::string_view kEscaped = R"({\"id\":17,\"name\":\"fox\",\"tags\":[\"a\",\"b\"]},)";
constexpr std::string_view kChinese = "敏捷的棕色狐狸跳过了那只懒狗，";
constexpr std::string_view kGerman =
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. ";

void read_client(benchmark::State& state, const std::string& frame) {
  MessageReader reader;
  while (state.KeepRunning())
    benchmark::DoNotOptimize(reader.read_client(frame));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(frame.size()));
}

void read_server(benchmark::State& state, const std::string& frame) {
  MessageReader reader;
  while (state.KeepRunning())
    benchmark::DoNotOptimize(reader.read_server(frame));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(frame.size()));
}

/// Arguments that are structure rather than text.
std::string structured_call() {
  std::string frame = R"({"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"plot",)"
                      R"("arguments":{"rows":[)";
  frame += repeat(R"({"x":1.25,"y":-17,"label":"point","hidden":false},)", kMiB);
  frame.back() = ']';
  return frame + "}}}\n";
}

std::string many_members() {
  std::string frame = R"({"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"set",)"
                      R"("arguments":{)";
  for (int index = 0; index < 1'000'000; ++index) {
    frame += "\"key" + std::to_string(index) + "\":0,";
  }
  frame.back() = '}';
  return frame + "}}\n";
}

void frame_cut_20_kib(benchmark::State& state) {
  const std::string stream = repeat(answer_with(repeat(kProse, 20'000)), kMiB);
  while (state.KeepRunning()) {
    FrameCutter cutter{kMiB};
    std::string_view pending{stream};
    for (FrameCutter::Cut cut = cutter.next(pending); cut.outcome == FrameCutter::Outcome::frame;
         cut = cutter.next(pending)) {
      pending.remove_prefix(cut.size);
    }
    benchmark::DoNotOptimize(pending);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(stream.size()));
}
BENCHMARK(frame_cut_20_kib);

void scan_client_call_300_bytes(benchmark::State& state) {
  read_client(state, call_with(repeat(kProse, 110)));
}
void scan_client_1_mib_prose(benchmark::State& state) {
  read_client(state, call_with(repeat(kProse, kMiB)));
}
void scan_client_1_mib_escaped_json(benchmark::State& state) {
  read_client(state, call_with(repeat(kEscaped, kMiB)));
}
void scan_client_1_mib_german(benchmark::State& state) {
  read_client(state, call_with(repeat(kGerman, kMiB)));
}
void scan_client_1_mib_chinese(benchmark::State& state) {
  read_client(state, call_with(repeat(kChinese, kMiB)));
}
void scan_client_1_mib_structure(benchmark::State& state) {
  read_client(state, structured_call());
}
void scan_client_million_members(benchmark::State& state) {
  read_client(state, many_members());
}
BENCHMARK(scan_client_call_300_bytes);
BENCHMARK(scan_client_1_mib_prose);
BENCHMARK(scan_client_1_mib_escaped_json);
BENCHMARK(scan_client_1_mib_german);
BENCHMARK(scan_client_1_mib_chinese);
BENCHMARK(scan_client_1_mib_structure);
BENCHMARK(scan_client_million_members);

void scan_server_answer_300_bytes(benchmark::State& state) {
  read_server(state, answer_with(repeat(kProse, 220)));
}
void scan_server_1_mib_prose(benchmark::State& state) {
  read_server(state, answer_with(repeat(kProse, kMiB)));
}
void scan_server_1_mib_escaped_json(benchmark::State& state) {
  read_server(state, answer_with(repeat(kEscaped, kMiB)));
}
void scan_server_1_mib_structure(benchmark::State& state) {
  read_server(state, structured_call());
}
void scan_server_48_mib_base64(benchmark::State& state) {
  read_server(state, answer_with(repeat("iVBORw0KGgoAAAANSUhEUgAA", 48 * kMiB)));
}
BENCHMARK(scan_server_answer_300_bytes);
BENCHMARK(scan_server_1_mib_prose);
BENCHMARK(scan_server_1_mib_escaped_json);
BENCHMARK(scan_server_1_mib_structure);
BENCHMARK(scan_server_48_mib_base64);

}  // namespace
