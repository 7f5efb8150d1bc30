// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "wrap/scratch_folder.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include <doctest/doctest.h>

namespace {

namespace fs = std::filesystem;
using aegis::wrap::ScratchFolder;

ScratchFolder made() {
  auto folder = ScratchFolder::make();
  REQUIRE(folder.is_ok());
  return std::move(folder).value();
}

TEST_CASE("the folder is this user's alone, and gone at the end with all that is in it") {
  std::string path;
  {
    const ScratchFolder folder = made();
    path = folder.path();
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK(S_ISDIR(status.st_mode));
    CHECK((status.st_mode & 07777U) == 0700);
    fs::create_directories(path + "/a/b");
    std::ofstream(path + "/a/b/file") << "text";
    fs::create_symlink("/", path + "/root");
  }
  CHECK_FALSE(fs::exists(path));
  CHECK(fs::exists("/usr"));  // the link was removed, not what it leads to
}

TEST_CASE("one that was moved from leaves the folder to the other") {
  std::optional<ScratchFolder> first(made());
  const std::string path = first->path();
  {
    const ScratchFolder second = std::move(*first);
    first.reset();
    CHECK(second.path() == path);
    CHECK(fs::exists(path));
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a fork's copy removes nothing") {
  std::optional<ScratchFolder> folder(made());
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    folder.reset();
    ::_exit(0);
  }
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(fs::exists(folder->path()));
}

}  // namespace
