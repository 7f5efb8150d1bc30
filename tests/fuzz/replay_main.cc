// SPDX-License-Identifier: Apache-2.0 OR MIT
// Stands in for libFuzzer where it is not linked: gives every file of the named folders to the fuzz
// target once, so that what fuzzing found once is tried in each `make test`. It makes up no input
// of its own.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void replay(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw fs::filesystem_error("open", file, std::make_error_code(std::errc::io_error));
  const std::string bytes((std::istreambuf_iterator<char>(stream)),
                          std::istreambuf_iterator<char>());
  // A copy of exactly the input's size: a read past the end is then one that AddressSanitizer sees.
  const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
  // The last line before a crash names its input.
  static_cast<void>(std::fprintf(stderr, "replay %s\n", file.c_str()));
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

int replay_all(const std::vector<std::string>& folders) {
  std::size_t count = 0;
  for (const std::string& folder : folders) {
    for (const fs::path& file : files_below(folder)) {
      replay(file);
      ++count;
    }
  }
  std::printf("%zu inputs replayed\n", count);
  return count == 0 ? 1 : 0;  // an empty corpus tests nothing, which must not look like a pass
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return replay_all({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    static_cast<void>(std::fprintf(stderr, "replay: %s\n", error.what()));
    return 1;
  }
}
