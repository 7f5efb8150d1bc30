// SPDX-License-Identifier: Apache-2.0 OR MIT
// Paths taken apart, and folders made below a home.
#include "wrap/places.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include <doctest/doctest.h>

#include "tests/wrap/scratch.h"

namespace {

using aegis::confine::describe;
using aegis::test::mode_of;
using aegis::test::Scratch;
using aegis::wrap::base_name_of;
using aegis::wrap::folder_of;
using aegis::wrap::make_private_folder;

TEST_CASE("a path's folder and name") {
  struct Row {
    std::string path, folder, name;
  };
  const Row rows[] = {{"a", ".", "a"},
                      {"/a", "/", "a"},
                      {"a/b", "a", "b"},
                      {"/a/b/c", "/a/b", "c"},
                      {"./a", ".", "a"}};
  for (const Row& row : rows) {
    CAPTURE(row.path);
    CHECK(folder_of(row.path) == row.folder);
    CHECK(base_name_of(row.path) == row.name);
  }
}

TEST_CASE("missing folders are made private, those that are there stay as they are") {
  const Scratch scratch;
  REQUIRE(::mkdir(scratch.path("there").c_str(), 0755) == 0);
  REQUIRE(::chmod(scratch.path("there").c_str(), 0755) == 0);
  const ::mode_t before = ::umask(0);
  CHECK(make_private_folder(scratch.path("there/a/b")));
  CHECK(make_private_folder(scratch.path("there/a/b")));
  ::umask(before);
  CHECK(mode_of(scratch.path("there")) == 0755);
  CHECK(mode_of(scratch.path("there/a")) == 0700);
  CHECK(mode_of(scratch.path("there/a/b")) == 0700);
}

TEST_CASE("a file in a folder's place is an error that names it") {
  const Scratch scratch;
  const std::string file = scratch.write("file", "");
  const auto made = make_private_folder(file + "/a");
  REQUIRE_FALSE(made);
  CHECK(describe(made.error()).rfind("make a folder: " + file + "/a: Not a directory; ", 0) == 0);
  CHECK(describe(made.error()).find("set that to a folder of yours") != std::string::npos);
}

}  // namespace
