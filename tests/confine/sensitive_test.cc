// SPDX-License-Identifier: Apache-2.0 OR MIT
// Finding what bears the name of a secret, whichever names those are.
#include "confine/sensitive.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tests/confine/sandbox.h"

namespace aegis::confine {

namespace {

bool is_secret(std::string_view name) {
  return name == ".ssh" || name == ".aws" || name.ends_with(".pem");
}

}  // namespace

TEST_CASE("each component of a path is asked about by itself") {
  for (const char* path : {".ssh", "/home/u/.aws/config", "a.pem", "/.ssh", "x//.aws/"}) {
    CAPTURE(path);
    CHECK(is_any_sensitive(path, is_secret));
  }
  for (const char* path : {"", "/", "/home/u/.awsome/config", "a.pem.txt", "x/ssh"}) {
    CAPTURE(path);
    CHECK_FALSE(is_any_sensitive(path, is_secret));
  }
}

TEST_CASE("the search goes four folders deep, follows no link, and names only the outermost") {
  Scratch scratch;
  scratch.write(".ssh/id_rsa", "x");
  scratch.write("a/b/c/d/deep.pem", "x");
  scratch.write("a/b/c/d/e/deeper.pem", "x");
  scratch.write("plain", "x");
  std::filesystem::create_symlink("plain", scratch.path("link.pem"));
  std::filesystem::create_directory_symlink("a", scratch.path(".aws"));
  const auto found = find_sensitive({scratch.path("")}, is_secret);
  REQUIRE(found);
  CHECK(found->is_whole);
  CHECK(found->paths ==
        std::vector<std::string>{scratch.path(".ssh"), scratch.path("a/b/c/d/deep.pem")});
  CHECK(find_sensitive({scratch.path("not there")}, is_secret)->paths.empty());
}

TEST_CASE("more than can be hidden is an error, not an omission") {
  Scratch scratch;
  for (std::size_t i = 0; i <= kMaxSensitive; ++i)
    scratch.write(std::to_string(i) + ".pem", "");
  CHECK_FALSE(find_sensitive({scratch.path("")}, is_secret));
}

}  // namespace aegis::confine
