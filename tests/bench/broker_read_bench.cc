// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a small read costs inside the broker: judged, opened, read and taken out as an answer. The
// bar is 100 us for 1 KB.
#include <benchmark/benchmark.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "wrap/broker.h"

namespace aegis::wrap {
namespace {

/// A workspace with one file, gone at the end.
class Home {
 public:
  explicit Home(std::size_t size) {
    std::string name = (std::filesystem::temp_directory_path() / "aegis-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
    std::filesystem::create_directories(folder_ + "/ws/data");
    std::ofstream(folder_ + "/ws/data/file.txt") << std::string(size, 'x');
    std::ofstream(policy()) << "version: \"1.0\"\npolicy_id: b\nname: Bench\nworkspace_root: ws\n"
                               "allowed_operations: [read_text]\n";
  }
  ~Home() { std::filesystem::remove_all(folder_); }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  [[nodiscard]] std::string policy() const { return folder_ + "/broker.yaml"; }

 private:
  std::string folder_;
};

void broker_read(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const Home home(size);
  auto broker = Broker::make({home.policy()}, "bench");
  if (!broker) return state.SkipWithError("no broker");
  const mcp::BrokerRequest request{mcp::Operation::read_text, mcp::ReadText{"data/file.txt"}};
  for ([[maybe_unused]] auto _ : state) {
    broker->begin(1, request);
    const auto done = broker->take_done();
    const auto* text = std::get_if<mcp::FileText>(&done.front().answer);
    if (text == nullptr || text->text.size() != size) return state.SkipWithError("not read");
  }
}
BENCHMARK(broker_read)->Arg(1 << 10)->Arg(1 << 20);

}  // namespace
}  // namespace aegis::wrap
