// SPDX-License-Identifier: Apache-2.0 OR MIT
// Names of secrets in every spelling that a case-insensitive look takes for one, and names that
// only look like them.
#include "policy/sensitive.h"

#include <string>

#include <doctest/doctest.h>

#include "policy/folded.h"

namespace aegis::policy {

TEST_CASE("each name of the list is sensitive, whatever its case") {
  for (const char* name : {".ssh",
                           ".SSH",
                           ".aws",
                           ".Azure",
                           ".gnupg",
                           ".kube",
                           ".docker",
                           ".netrc",
                           ".npmrc",
                           ".pypirc",
                           ".git-credentials",
                           ".env",
                           ".ENV",
                           ".env.local",
                           ".Env.",
                           "id_rsa",
                           "id_rsa.old",
                           "ID_RSA.pub",
                           "id_ed25519",
                           "ID_ed25519.pub",
                           "id_ed25519_sk",
                           "a.pem",
                           ".pem",
                           "A.PEM",
                           ".key",
                           "tls.Key",
                           "x.pfx",
                           "x.p12",
                           "x.KdbX",
                           "credentials",
                           "Credentials",
                           "shadow",
                           "SHADOW-",
                           "gshadow",
                           "gshadow-"}) {
    CAPTURE(name);
    CHECK(is_sensitive_name(name));
  }
}

TEST_CASE("what only looks like a name of the list is not sensitive") {
  for (const char* name : {"",
                           ".environment",
                           "env",
                           "ssh",
                           ".ssh2",
                           "my_id_rsa",
                           "pem",
                           "a.pem.txt",
                           "shadows",
                           "credentials.md",
                           "a.keys",
                           "monkey",
                           ".git",
                           "a/.ssh",
                           ".envrc",
                           "key",
                           "shadow~",
                           "id_ecdsa.txt",
                           ".s\xC5sh"}) {
    CAPTURE(name);
    CHECK_FALSE(is_sensitive_name(name));
  }
}

TEST_CASE("letters that fold to ASCII hide nothing") {
  struct Row {
    const char* what;
    std::string name;
  };
  const Row rows[] = {
      {"long s", ".\xC5\xBFsh"},
      {"both of them", ".\xC5\xBF\xC5\xBFh"},
      {"long s in the middle",
       "id_r\xC5\xBF"
       "a"},
      {"Kelvin sign", ".\xE2\x84\xAAube"},
      {"Kelvin sign at the end of a suffix",
       "server.\xE2\x84\xAA"
       "ey"},
      {"long s first", "\xC5\xBFhadow"},
      {"behind bytes that are no UTF-8", "\xFF\xFE.pem"},
      {"behind half a sequence", "\xE2\x84.pem"},
      {"behind other letters", "\xC3\x84\xC3\x96.PEM"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    CHECK(is_sensitive_name(row.name));
  }
}

TEST_CASE("any component makes a path sensitive") {
  for (const char* path :
       {"/home/u/.aws/config", "credentials", "a/.env", ".SSH/", "//x//id_rsa/b"}) {
    CAPTURE(path);
    CHECK(is_sensitive(path));
  }
  for (const char* path : {"", "/", "/home/u/awsome/config", "a/b.pem.txt", ".e/nv"}) {
    CAPTURE(path);
    CHECK_FALSE(is_sensitive(path));
  }
}

TEST_CASE("folding keeps bytes that are no UTF-8 as they are") {
  CHECK(folded("A\xFF"
               "B\xC3") ==
        "a\xFF"
        "b\xC3");
  CHECK(folded("\xC3\x84/\xE2\x84\xAA") == "\xC3\xA4/k");
  CHECK(folded(std::string("\0A", 2)) == std::string("\0a", 2));
  CHECK(folded("").empty());
}

}  // namespace aegis::policy
