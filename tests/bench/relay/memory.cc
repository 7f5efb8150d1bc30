// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reads /proc; a process that ends meanwhile counts as nothing.
#include "tests/bench/relay/memory.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/relay/fail.h"

namespace aegis::relay_bench {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(pid_t pid) {
  return "/proc/" + std::to_string(pid);
}

/// "<name>: <number> kB" in such a file; 0 when it is not there.
std::size_t kib_of(const fs::path& file, std::string_view name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(name, 0) == 0 && line[name.size()] == ':')
      return std::stoul(line.substr(name.size() + 1));
  }
  return 0;
}

/// The children of all its threads.
std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  std::error_code gone;
  for (const fs::directory_entry& thread : fs::directory_iterator(folder_of(pid) / "task", gone)) {
    std::ifstream in(thread.path() / "children");
    for (pid_t child = 0; in >> child;)
      children.push_back(child);
  }
  return children;
}

}  // namespace

Memory memory_of(pid_t pid) {
  std::error_code failed;
  const fs::path program = fs::read_symlink(folder_of(pid) / "exe", failed);
  if (failed) {
    errno = failed.value();
    fail("read /proc of a session");
  }
  Memory memory;
  std::vector<pid_t> left{pid};
  while (!left.empty()) {
    const pid_t one = left.back();
    left.pop_back();
    const std::vector<pid_t> children = children_of(one);
    left.insert(left.end(), children.begin(), children.end());
    if (fs::read_symlink(folder_of(one) / "exe", failed) != program) continue;
    memory.rss_kib += kib_of(folder_of(one) / "status", "VmRSS");
    memory.pss_kib += kib_of(folder_of(one) / "smaps_rollup", "Pss");
    memory.peak_kib = std::max(memory.peak_kib, kib_of(folder_of(one) / "status", "VmHWM"));
    ++memory.processes;
  }
  return memory;
}

}  // namespace aegis::relay_bench
