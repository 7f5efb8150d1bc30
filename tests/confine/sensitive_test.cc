// SPDX-License-Identifier: Apache-2.0 OR MIT
// Names of secrets, and finding them.
#include "confine/sensitive.h"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/confine/sandbox.h"

namespace aegis::confine {

TEST_CASE("names of secrets, whatever their case") {
  for (const char* name : {".ssh",
                           ".SSH",
                           ".env",
                           ".env.local",
                           "id_rsa",
                           "id_rsa.old",
                           "ID_ed25519.pub",
                           "a.pem",
                           ".key",
                           "x.KdbX",
                           "credentials",
                           "shadow"}) {
    CAPTURE(name);
    CHECK(is_sensitive_name(name));
  }
  for (const char* name : {"", ".environment", "ssh", "my_id_rsa", "pem", "a.pem.txt", "shadows"}) {
    CAPTURE(name);
    CHECK_FALSE(is_sensitive_name(name));
  }
  CHECK(is_sensitive("/home/u/.aws/config"));
  CHECK(is_sensitive("credentials"));
  CHECK_FALSE(is_sensitive("/home/u/awsome/config"));
}

TEST_CASE("the search goes four folders deep, follows no link, and names only the outermost") {
  Scratch scratch;
  scratch.write(".ssh/id_rsa", "x");
  scratch.write("a/b/c/d/deep.pem", "x");
  scratch.write("a/b/c/d/e/deeper.pem", "x");
  scratch.write("plain", "x");
  std::filesystem::create_symlink("plain", scratch.path("link.pem"));
  std::filesystem::create_directory_symlink("a", scratch.path(".aws"));
  const auto found = find_sensitive({scratch.path("")});
  REQUIRE(found);
  CHECK(found->is_whole);
  CHECK(found->paths ==
        std::vector<std::string>{scratch.path(".ssh"), scratch.path("a/b/c/d/deep.pem")});
  CHECK(find_sensitive({scratch.path("not there")})->paths.empty());
}

TEST_CASE("more than can be hidden is an error, not an omission") {
  Scratch scratch;
  for (std::size_t i = 0; i <= kMaxSensitive; ++i)
    scratch.write(std::to_string(i) + ".pem", "");
  CHECK_FALSE(find_sensitive({scratch.path("")}));
}

}  // namespace aegis::confine
