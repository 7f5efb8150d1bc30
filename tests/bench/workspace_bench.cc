// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a safe read of a file costs beside a plain one, and what listing and copying cost.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <variant>

#include "confine/workspace.h"

namespace {

namespace fs = std::filesystem;
using aegis::confine::FolderList;
using aegis::confine::ReadFile;
using aegis::confine::Workspace;

/// A folder of some files of 1 KB, four levels deep, gone at the end.
class Tree {
 public:
  explicit Tree(std::int64_t files) : root_(fs::temp_directory_path() / "aegis-bench-XXXXXX") {
    std::string name = root_.string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    root_ = fs::canonical(name);
    fs::create_directories(root_ / kFolder);
    for (std::int64_t i = 0; i < files; ++i)
      std::ofstream(root_ / kFolder / std::to_string(i)) << std::string(1024, 'x');
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  [[nodiscard]] std::string root() const { return root_.string(); }
  [[nodiscard]] Workspace open() const { return Workspace::open(root()).value(); }

  static constexpr const char* kFolder = "a/b/c";
  static constexpr const char* kFile = "a/b/c/0";

 private:
  fs::path root_;
};

void read_one_kilobyte(benchmark::State& state) {
  const Tree tree(1);
  const Workspace workspace = tree.open();
  for ([[maybe_unused]] auto _ : state) {
    const auto read = workspace.read(Tree::kFile, 1U << 20U);
    if (!std::holds_alternative<ReadFile>(read)) state.SkipWithError("not read");
    benchmark::DoNotOptimize(read);
  }
}
BENCHMARK(read_one_kilobyte);

/// The floor: open, read, close, with no look at what it is.
void read_one_kilobyte_unsafely(benchmark::State& state) {
  const Tree tree(1);
  const std::string path = tree.root() + "/" + Tree::kFile;
  for ([[maybe_unused]] auto _ : state) {
    char bytes[4096];
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (::read(fd, bytes, sizeof bytes) != 1024) state.SkipWithError("not read");
    ::close(fd);
    benchmark::DoNotOptimize(bytes);
  }
}
BENCHMARK(read_one_kilobyte_unsafely);

void list_files(benchmark::State& state) {
  const Tree tree(state.range(0));
  const Workspace workspace = tree.open();
  for ([[maybe_unused]] auto _ : state) {
    const auto list = workspace.list("", {.max_depth = 20}, {});
    if (!std::holds_alternative<FolderList>(list)) state.SkipWithError("not listed");
    benchmark::DoNotOptimize(list);
  }
}
BENCHMARK(list_files)->Arg(10)->Arg(1000)->Unit(benchmark::kMicrosecond);

void copy_files(benchmark::State& state) {
  const Tree tree(state.range(0));
  const Workspace workspace = tree.open();
  for ([[maybe_unused]] auto _ : state) {
    const auto copy = workspace.snapshot({}, {});
    if (!copy) state.SkipWithError("not copied");
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(copy_files)->Arg(10)->Arg(1000)->Unit(benchmark::kMicrosecond);

}  // namespace
