// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which grants count when the program could have had a say in them.
#include "confine/admission.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/wrap/mounted.h"
#include "tests/wrap/scratch.h"

namespace {

namespace fs = std::filesystem;
using aegis::confine::admit;
using aegis::confine::Admitted;
using aegis::confine::Candidate;
using aegis::confine::describe;
using aegis::confine::resolve_grant;
using aegis::confine::Rights;
using aegis::confine::Writable;
using aegis::test::Scratch;

using Words = std::vector<std::string>;
constexpr Rights kRead{};
constexpr Rights kWrite{.may_write = true, .may_execute = false};
constexpr Rights kExec{.may_write = false, .may_execute = true};
constexpr Rights kBoth{.may_write = true, .may_execute = true};

struct Folders : Scratch {
  std::vector<Candidate> candidates = {};
  Writable writable = {};

  Folders() {
    for (const char* name : {"ws/sub", "ws/.git", "other/in", "secret"})
      fs::create_directories(path(name));
  }
  void link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, path(name));
  }
  void ask(const std::string& name, Rights rights) {
    auto resolved = resolve_grant(path(name), rights);
    REQUIRE_MESSAGE(resolved.is_ok(), describe(resolved.error()));
    if (rights.may_write) writable.add(resolved->grant);
    candidates.push_back({std::move(resolved).value(), "--flag " + name, "--flag"});
  }
  void guess(const std::string& name, Rights rights, Words planted = {}) {
    ask(name, rights);
    candidates.back().kind = Candidate::Kind::guessed;
    candidates.back().otherwise = Candidate::Otherwise::leave_out;
    candidates.back().planted = std::move(planted);
  }
  [[nodiscard]] Admitted admitted() const {
    auto result = admit(candidates, writable);
    REQUIRE_MESSAGE(result.is_ok(), describe(result.error()));
    return std::move(result).value();
  }
  [[nodiscard]] std::string refused() const {
    const auto result = admit(candidates, writable);
    REQUIRE_FALSE(result.is_ok());
    return describe(result.error());
  }
  [[nodiscard]] bool is_granted(std::string_view name) const {
    return admitted().paths.find(path(name)) != nullptr;
  }
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE_FIXTURE(Folders, "a link out of a writable folder grants nothing, and says what did") {
  link("../secret", "ws/link");
  ask("ws", kWrite);
  ask("ws/link", kRead);
  CHECK(refused() ==
        "--flag ws/link: " + path("secret") + " is not granted: " + path("ws/link") +
            ", which leads there, can be written by the program, so an earlier run "
            "may have put it there; if it is meant, grant it by its own name: --flag " +
            path("secret"));
}

TEST_CASE_FIXTURE(Folders, "whatever the order, and whatever the right") {
  link("../secret", "ws/link");
  for (const Rights rights : {kRead, kExec, kWrite, kBoth}) {
    candidates.clear();
    writable = {};
    ask("ws/link", rights);
    ask("ws", kWrite);
    CHECK(has(refused(), path("secret") + " is not granted"));
  }
}

TEST_CASE_FIXTURE(Folders, "a link out of a folder that is only read is the user's") {
  link("../secret", "other/link");
  ask("ws", kWrite);
  ask("other/link", kRead);
  CHECK(is_granted("secret"));
}

TEST_CASE_FIXTURE(Folders, "a link counts when it grants no more than there is") {
  link("../other/in", "ws/link");
  ask("ws", kWrite);
  ask("ws/link", kRead);
  ask("other", kRead);
  CHECK(admitted().paths.find(path("other/in"))->path == path("other"));
  ask("ws/link", kExec);
  CHECK(has(refused(), path("other/in") + " is not granted"));
}

TEST_CASE_FIXTURE(Folders, "a link that stays in its folder counts, but not for writing") {
  link("sub", "ws/link");
  ask("ws", kWrite);
  ask("ws/link", kExec);
  CHECK(admitted().paths.find(path("ws/sub"))->rights == kBoth);
  CHECK(admitted().paths.find(path("ws"))->rights == kWrite);
}

TEST_CASE_FIXTURE(Folders, "a workspace by a link in itself could be another one the next time") {
  link("../ws", "ws/self");
  ask("ws/self", kWrite);
  CHECK(has(refused(), path("ws/self") + ", which leads there"));
  ask("ws", kWrite);  // it is the same anyway
  CHECK(is_granted("ws"));
}

TEST_CASE_FIXTURE(Folders, "two links cannot vouch for each other") {
  link("../other", "ws/link");
  link("../ws", "other/link");
  ask("ws/link", kWrite);
  ask("other/link", kWrite);
  CHECK(has(refused(), " is not granted"));
}

TEST_CASE_FIXTURE(Folders, "a writable folder in another that was replaced by a link is refused") {
  ask("ws", kWrite);
  ask("ws/sub", kWrite);
  CHECK(is_granted("ws/sub"));
  candidates.clear();
  writable = {};
  fs::rename(path("ws/sub"), path("ws/gone"));
  link(path("secret"), "ws/sub");
  ask("ws", kWrite);
  ask("ws/sub", kWrite);
  CHECK(has(refused(), path("secret")));
}

TEST_CASE_FIXTURE(Folders, "a component on the way counts as well as the last") {
  link("..", "ws/up");
  ask("ws", kWrite);
  ask("ws/up/secret", kRead);
  CHECK(has(refused(), path("ws/up") + ", which leads there"));
}

TEST_CASE_FIXTURE(Folders, "what a planted file names is left out, and said once") {
  ask("ws", kWrite);
  guess("secret", kExec, {path("ws/file")});
  guess("secret", kExec, {path("ws/file")});
  CHECK_FALSE(is_granted("secret"));
  REQUIRE(admitted().left_out.size() == 1);
  CHECK(has(admitted().left_out[0], path("ws/file") + ", which leads there"));
}

TEST_CASE_FIXTURE(Folders,
                  "a guess in a writable folder gives that the right, a request does not") {
  ask("ws", kWrite);
  guess("ws/sub", kExec);
  CHECK(admitted().paths.paths.size() == 1);
  CHECK(admitted().paths.find(path("ws"))->rights == kBoth);
  candidates.back().kind = Candidate::Kind::asked;
  CHECK(admitted().paths.find(path("ws"))->rights == kWrite);
  CHECK(admitted().paths.find(path("ws/sub"))->rights == kBoth);
}

TEST_CASE_FIXTURE(Folders, "a writable folder under another mount's name is that folder") {
  fs::create_directory(path("alias"));
  link(path("secret"), "ws/sub/link");
  aegis::test::check_where_bound({path("ws"), path("alias")}, [&] {
    Writable tree;
    tree.add(resolve_grant(path("ws"), kWrite)->grant);
    auto asked = resolve_grant(path("alias/sub/link"), kRead);
    if (!asked) return false;
    return !admit({{std::move(asked).value(), "--flag", "--flag"}}, tree).is_ok();
  });
}

}  // namespace
