// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which grants would give the key, the record or the policy away.
#include "wrap/exposure.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "tests/wrap/mounted.h"
#include "tests/wrap/scratch.h"

namespace {

namespace fs = std::filesystem;
using aegis::confine::describe;
using aegis::confine::PathGrants;
using aegis::confine::resolve_grant;
using aegis::confine::Rights;
using aegis::test::Scratch;
using aegis::wrap::check_exposure;
using aegis::wrap::Kept;

constexpr Rights kRead{};
constexpr Rights kWrite{.may_write = true, .may_execute = false};

struct Home : Scratch {
  Home() {
    fs::create_directories(path(".config/aegis"));
    fs::create_directories(path(".state/records"));
    fs::create_directories(path("project"));
    write(".config/aegis/signing.key", "seed");
  }
  [[nodiscard]] Kept kept() const {
    return {path(".config/aegis/signing.key"), path(".state/records/x.aarl"), path("policy.yaml")};
  }
  /// What is wrong with granting `name`, empty when nothing is.
  [[nodiscard]] std::string fault(const std::string& name, Rights rights, const Kept& what) const {
    auto resolved = resolve_grant(path(name), rights);
    REQUIRE_MESSAGE(resolved.is_ok(), describe(resolved.error()));
    PathGrants grants;
    grants.add(std::move(resolved).value());
    const auto checked = check_exposure(grants, what);
    return checked ? std::string() : describe(checked.error());
  }
  [[nodiscard]] std::string fault(const std::string& name, Rights rights) const {
    return fault(name, rights, kept());
  }
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("grants beside the kept files are harmless") {
  const Home home;
  home.write(".config/aegis/other", "");
  CHECK(home.fault("project", kWrite).empty());
  CHECK(home.fault(".config/aegis/other", kWrite).empty());
  CHECK(home.fault(".state", kRead).empty());
  CHECK(home.fault(".", kWrite, Kept{}).empty());
}

TEST_CASE("the key must not be read by whatever folder or name") {
  const Home home;
  for (const char* name : {".config/aegis/signing.key", ".config/aegis", ".config", "."}) {
    CAPTURE(name);
    const std::string said = home.fault(name, kRead);
    CHECK(has(said, "could read the signing key (" + home.path(".config/aegis/signing.key") + ")"));
    CHECK(has(said, "--signing-key"));
  }
  CHECK(home.fault(".config", kRead).rfind("the grant of " + home.path(".config"), 0) == 0);
}

TEST_CASE("a key that is still to be made counts as well") {
  const Home home;
  const Kept kept{home.path("project/new/folder/key"), {}, {}};
  CHECK(has(home.fault("project", kRead, kept), "could read the signing key"));
  CHECK(home.fault(".config", kRead, kept).empty());
}

TEST_CASE("the record must not be written, though it may be read") {
  const Home home;
  for (const char* name : {".state/records", ".state"}) {
    CAPTURE(name);
    CHECK(home.fault(name, kRead).empty());
    CHECK(has(home.fault(name, kWrite), "could write the record"));
  }
  const Kept folder{{}, home.path(".state/records"), {}};
  CHECK(has(home.fault(".state", kWrite, folder), "--audit"));
  CHECK(has(home.fault(".state/records", kWrite, folder), "could write the record"));
  home.write(".state/records/x.aarl", "");
  CHECK(has(home.fault(".state/records/x.aarl", kWrite), "could write the record"));
}

TEST_CASE("the policy must not be written") {
  const Home home;
  home.write("project/policy.yaml", "");
  const Kept kept{{}, {}, home.path("project/policy.yaml")};
  CHECK(has(home.fault("project", kWrite, kept), "could write the policy"));
  CHECK(home.fault("project", kRead, kept).empty());
}

TEST_CASE("neither the profile nor the log of errors may be written") {
  const Home home;
  home.write("project/own.profile", "");
  Kept kept;
  kept.profile = home.path("project/own.profile");
  CHECK(has(home.fault("project", kWrite, kept), "could write its own profile"));
  CHECK(has(home.fault("project/own.profile", kWrite, kept), "--profile"));
  CHECK(home.fault("project", kRead, kept).empty());
  fs::create_symlink(home.write(".state/own.profile", ""), home.path("project/link"));
  kept.profile = home.path("project/link");
  CHECK(has(home.fault("project", kWrite, kept), "could write its own profile"));
  kept = {};
  kept.stderr_log = home.path("project/logs/new");
  CHECK(has(home.fault("project", kWrite, kept), "could write the log of its errors"));
  CHECK(has(home.fault("project", kWrite, kept), "--stderr-log"));
  CHECK(home.fault(".state", kWrite, kept).empty());
}

TEST_CASE("links: what they point to counts, and where they are") {
  const Home home;
  fs::create_symlink(home.path(".config"), home.path("elsewhere"));
  const Kept through{home.path("elsewhere/aegis/signing.key"), {}, {}};
  CHECK(has(home.fault(".config", kRead, through), "could read the signing key"));

  fs::create_symlink("../.config/aegis/signing.key", home.path("project/key"));
  const Kept link{home.path("project/key"), {}, {}};
  CHECK(home.fault("project", kRead, link).empty());
  CHECK(has(home.fault("project", kWrite, link), "put another in the place of the signing key"));

  fs::create_symlink(".config", home.path("granted"));
  CHECK(has(home.fault("granted", kRead), "could read the signing key"));
}

TEST_CASE("a granted file that is the key by another name is the key") {
  const Home home;
  REQUIRE(::link(home.path(".config/aegis/signing.key").c_str(),
                 home.path("project/harmless").c_str()) == 0);
  CHECK(has(home.fault("project/harmless", kRead), "could read the signing key"));
}

TEST_CASE("a folder above the key that is mounted under another name is that folder") {
  const Home home;
  fs::create_directory(home.path("project/bound"));
  CHECK(home.fault("project/bound", kRead).empty());
  for (const char* from : {".config", ".config/aegis"}) {
    CAPTURE(from);
    aegis::test::check_where_bound({home.path(from), home.path("project/bound")}, [&] {
      const auto bound = resolve_grant(home.path("project/bound"), kRead);
      if (!bound) return false;
      PathGrants grants;
      grants.add(*bound);
      const auto checked = check_exposure(grants, home.kept());
      return !checked && has(describe(checked.error()), "could read the signing key");
    });
  }
}

TEST_CASE("relative paths start at the working directory") {
  const Home home;
  const fs::path before = fs::current_path();
  fs::current_path(home.path(".state"));
  CHECK(has(home.fault(".state", kWrite, Kept{{}, "records/x", {}}), "could write the record"));
  CHECK(has(home.fault(".state", kWrite, Kept{{}, "x", {}}), "could write the record"));
  fs::current_path(before);
}

}  // namespace
