// SPDX-License-Identifier: Apache-2.0 OR MIT
// From a request and a command to what a confined start needs. Nothing is started.
#include "wrap/confine_plan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tests/wrap/scratch.h"

namespace {

namespace fs = std::filesystem;
using aegis::confine::describe;
using aegis::confine::Network;
using aegis::confine::Rights;
using aegis::confine::Tier;
using aegis::test::Scratch;
using aegis::wrap::ConfinePlan;
using aegis::wrap::ConfineRequest;
using aegis::wrap::plan_confinement;
using aegis::wrap::shown_profile;

using Words = std::vector<std::string>;
constexpr Rights kWrite{.may_write = true, .may_execute = false};

/// HOME for as long as it lives.
struct Home : Scratch {
  Home() {
    const char* before = std::getenv("HOME");
    if (before != nullptr) before_ = before;
    ::setenv("HOME", folder().c_str(), 1);
  }
  ~Home() {
    if (before_.empty()) {
      ::unsetenv("HOME");
    } else {
      ::setenv("HOME", before_.c_str(), 1);
    }
  }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  std::string program(const std::string& name, std::string_view text) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::string at = write(name, text);
    REQUIRE(::chmod(at.c_str(), 0755) == 0);
    return at;
  }

 private:
  std::string before_;
};

const Words& environment() {
  static const Words all = {
      "PATH=/usr/bin:/bin", "HOME=/somewhere", "SECRET=1", "TMPDIR=/var/tmp", "EXTRA=2"};
  return all;
}

ConfinePlan planned(const ConfineRequest& request, const Words& argv) {
  auto plan = plan_confinement(request, argv, environment());
  REQUIRE_MESSAGE(plan.is_ok(), describe(plan.error()));
  return std::move(plan).value();
}

std::string refused(const ConfineRequest& request, const Words& argv = {"true"}) {
  const auto plan = plan_confinement(request, argv, environment());
  REQUIRE_FALSE(plan.is_ok());
  return describe(plan.error());
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_granted(const ConfinePlan& plan, std::string_view path) {
  return plan.spec.paths.find(path) != nullptr;
}

bool has_variable(const ConfinePlan& plan, std::string_view variable) {
  const Words& all = plan.spec.environment;
  return std::find(all.begin(), all.end(), variable) != all.end();
}

TEST_CASE("the bare form: program, profile, home, and nothing of the user's") {
  const Home home;
  const ConfinePlan plan = planned({}, {"true", "--x"});
  CHECK(plan.spec.tier == Tier::full);
  CHECK(plan.spec.argv == Words{"true", "--x"});
  CHECK(has(plan.spec.program, "/bin/true"));
  CHECK(plan.spec.program.front() == '/');
  CHECK(plan.spec.home == home.folder());
  CHECK(plan.spec.working_directory == fs::current_path().string());
  CHECK(plan.spec.network == Network::none);
  CHECK(plan.profile.name == "system");
  CHECK(plan.workspace.empty());
  CHECK(is_granted(plan, "/usr/bin/true"));
  CHECK_FALSE(is_granted(plan, home.path("x")));
  CHECK_FALSE(is_granted(plan, "/etc/passwd"));
  CHECK(plan.spec.environment == Words{"HOME=/somewhere", "PATH=/usr/bin:/bin", "TMPDIR=/tmp"});
}

TEST_CASE("a program that is not to be had keeps find_program's code") {
  const auto missing = plan_confinement({}, {"no-such-program"}, environment());
  REQUIRE_FALSE(missing.is_ok());
  CHECK(missing.error().code == ENOENT);
  const Scratch scratch;
  const auto denied = plan_confinement({}, {scratch.write("x", "")}, environment());
  REQUIRE_FALSE(denied.is_ok());
  CHECK(denied.error().code == EACCES);
}

TEST_CASE("grants are what was asked for, on top of the profile's") {
  const Home home;
  fs::create_directories(home.path("a/b"));
  home.write("file", "");
  ConfineRequest request;
  request.read = {home.path("a")};
  request.write = {home.path("a/b")};
  request.execute = {home.path("file")};
  const ConfinePlan plan = planned(request, {"true"});
  REQUIRE(is_granted(plan, home.path("a/x")));
  CHECK(plan.spec.paths.find(home.path("a/x"))->rights == Rights{});
  CHECK(plan.spec.paths.find(home.path("a/b/x"))->rights == kWrite);
  CHECK(plan.spec.paths.find(home.path("file"))->rights.may_execute);
  CHECK_FALSE(is_granted(plan, home.path("other")));
}

TEST_CASE("a grant that cannot be is said with its flag") {
  const Home home;
  ConfineRequest request;
  request.read = {home.path("none")};
  CHECK(has(refused(request), "--allow-read " + home.path("none") + ": grant: "));
  CHECK(has(refused(request), "No such file or directory"));
  request = {};
  request.write = {"/proc"};
  CHECK(has(refused(request), "--allow-write /proc: "));
  request = {};
  request.execute = {"/dev/null"};
  CHECK(has(refused(request), "--allow-exec /dev/null: "));
  request = {};
  request.workspace = home.path("none");
  CHECK(has(refused(request), "--workspace " + home.path("none") + ": "));
  request.workspace = home.write("file", "");
  CHECK(has(refused(request), "it is no folder"));
  request = {};
  request.profile = home.path("none.profile");
  CHECK(has(refused(request), "read the profile: " + home.path("none.profile")));
  request.profile = home.write("bad.profile", "allow /x\n");
  CHECK(has(refused(request), "bad.profile:1: expected"));
  request.profile = home.write("missing.profile", "read /no/such/thing\n");
  CHECK(has(refused(request), "missing.profile:1: grant: "));
}

TEST_CASE("the workspace can be written, is where the program starts, and holds its script") {
  const Home home;
  home.program("bin/node", "");
  fs::create_directories(home.path("real"));
  home.write("real/s.js", "");
  home.write("real/package.json", "{}");
  fs::create_symlink("real", home.path("link"));
  ConfineRequest request;
  request.workspace = home.path("link");
  const ConfinePlan plan = planned(request, {home.path("bin/node"), "s.js"});
  CHECK(plan.spec.working_directory == home.path("real"));
  CHECK(plan.workspace == home.path("real"));
  REQUIRE(is_granted(plan, home.path("real/s.js")));
  CHECK(plan.spec.paths.find(home.path("real/s.js"))->rights.may_write);
  CHECK(plan.spec.paths.find(home.path("real/s.js"))->rights.may_execute);
  CHECK(plan.profile.name == "node");
  const auto& links = plan.spec.paths.links;
  CHECK(std::any_of(links.begin(), links.end(), [&](const auto& each) {
    return each.path == home.path("link") && each.target == "real";
  }));
}

TEST_CASE("what an earlier run may have left in a writable folder widens nothing") {
  const Home home;
  home.program("bin/node", "");
  fs::create_directories(home.path("ws"));
  fs::create_directories(home.path(".ssh"));
  home.write("ws/s.js", "");
  fs::create_symlink(home.path(".ssh"), home.path("ws/node_modules"));
  ConfineRequest request;
  request.workspace = home.path("ws");
  const ConfinePlan plan = planned(request, {home.path("bin/node"), "s.js"});
  CHECK_FALSE(is_granted(plan, home.path(".ssh")));
  REQUIRE(plan.left_out.size() == 1);
  CHECK(has(plan.left_out[0], home.path(".ssh") + " is not granted"));
  CHECK(has(plan.left_out[0], "--allow-exec " + home.path(".ssh")));

  const std::string link = home.path("ws/node_modules");
  for (auto flag : {&ConfineRequest::read, &ConfineRequest::write, &ConfineRequest::execute}) {
    ConfineRequest asked = request;
    (asked.*flag).push_back(link);
    std::string words = " ";
    words.append(link).append(": ").append(home.path(".ssh")).append(" is not granted: ");
    CHECK(has(refused(asked), words.append(link)));
    // The same by its own name is the user's word, and then the link may lead there.
    (asked.*flag).insert((asked.*flag).begin(), home.path(".ssh"));
    CHECK(is_granted(planned(asked, {"true"}), home.path(".ssh/x")));
  }
}

TEST_CASE("a workspace that was replaced by a link in a writable folder is refused") {
  const Home home;
  fs::create_directories(home.path("all"));
  fs::create_directories(home.path(".ssh"));
  fs::create_symlink(home.path(".ssh"), home.path("all/ws"));
  ConfineRequest request;
  request.workspace = home.path("all/ws");
  request.write = {home.path("all")};
  CHECK(has(refused(request), "--workspace " + home.path("all/ws") + ": " + home.path(".ssh")));
}

TEST_CASE("what a profile of the user's lets be written counts as writable") {
  const Home home;
  fs::create_directories(home.path("data"));
  fs::create_directories(home.path(".ssh"));
  fs::create_symlink(home.path(".ssh"), home.path("data/link"));
  ConfineRequest request;
  request.profile = home.write("own.profile", "exec? /usr\nexec? /bin\nwrite ~/data\n");
  request.read = {home.path("data/link")};
  CHECK(has(refused(request), home.path(".ssh") + " is not granted"));
}

TEST_CASE("git is told of other files where it would be refused its own") {
  const Home home;
  constexpr std::string_view kVariable = "GIT_CONFIG_GLOBAL=/dev/null";
  ConfineRequest request;
  CHECK_FALSE(has_variable(planned(request, {"true"}), kVariable));
  request.tier = Tier::landlock;
  CHECK(has_variable(planned(request, {"true"}), kVariable));
  request.variables = {{"GIT_CONFIG_GLOBAL", "/mine"}};
  CHECK(has_variable(planned(request, {"true"}), "GIT_CONFIG_GLOBAL=/mine"));
  request.variables.clear();
  request.read = {home.write(".gitconfig", "")};
  CHECK_FALSE(has_variable(planned(request, {"true"}), kVariable));
}

TEST_CASE("variables: asked for, set, and those that a tier decides") {
  ConfineRequest request;
  request.variables = {{"EXTRA"}, {"UNSET"}, {"PATH", "/only"}, {"NEW", "x=y"}, {"TMPDIR", "/t"}};
  ConfinePlan plan = planned(request, {"true"});
  CHECK(plan.spec.environment ==
        Words{"EXTRA=2", "HOME=/somewhere", "NEW=x=y", "PATH=/only", "TMPDIR=/t"});
  request = {};
  request.tier = Tier::landlock;
  CHECK(has_variable(planned(request, {"true"}), "TMPDIR=/var/tmp"));
}

TEST_CASE("the host's users and names are seen where nothing is made up for them") {
  ConfineRequest request;
  request.tier = Tier::landlock;
  CHECK(is_granted(planned(request, {"true"}), "/etc/passwd"));
  CHECK_FALSE(is_granted(planned(request, {"true"}), "/etc/shadow"));
  request.network = Network::granted;
  CHECK(has(refused(request), "a network grant needs tier full"));
  request = {};
  request.network = Network::unconfined;
  CHECK_FALSE(is_granted(planned(request, {"true"}), "/etc/passwd"));
  if (::access("/etc/hosts", F_OK) != 0) {  // a fresh chroot has none
    MESSAGE("skipped: 1: there is no /etc/hosts to be granted");
    return;
  }
  CHECK(is_granted(planned(request, {"true"}), "/etc/hosts"));
}

TEST_CASE("the profile is the one that was named, and its file may be the user's") {
  const Home home;
  ConfineRequest request;
  request.profile = "minimal";
  ConfinePlan plan = planned(request, {"true"});
  CHECK(plan.profile.name == "minimal");
  CHECK_FALSE(is_granted(plan, "/usr/bin/env"));
  request.exec_support = ConfineRequest::ExecSupport::system;
  plan = planned(request, {"true"});
  CHECK(plan.profile.name == "minimal");
  CHECK(is_granted(plan, "/usr/bin/env"));
  request.profile = home.write("own.profile", "exec {program}\nenv SECRET\n");
  plan = planned(request, {"true"});
  CHECK(plan.profile.text == "exec {program}\nenv SECRET\n");
  CHECK(has_variable(plan, "SECRET=1"));
}

TEST_CASE("a home behind a link is named as it really is, and its link is repeated") {
  const Home home;
  fs::create_directory(home.path("real"));
  fs::create_symlink("real", home.path("link"));
  ::setenv("HOME", (home.path("link") + "/").c_str(), 1);
  const ConfinePlan plan = planned({}, {"true"});
  CHECK(plan.spec.home == home.path("real"));
  const auto& links = plan.spec.paths.links;
  CHECK(std::any_of(links.begin(), links.end(), [&](const auto& each) {
    return each.path == home.path("link");
  }));
}

TEST_CASE("a working directory that is the host's own is not where a program starts") {
  const fs::path before = fs::current_path();
  fs::current_path("/proc/self");
  const ConfinePlan plan = planned({}, {"true"});
  fs::current_path(before);
  CHECK(plan.spec.working_directory == "/");
}

TEST_CASE("the profile that is shown is the named one, or the command's") {
  const Home home;
  ConfineRequest request;
  const auto own = shown_profile(request, {"true"}, environment());
  REQUIRE(own.is_ok());
  CHECK(has(*own, "exec? /usr\n"));
  CHECK_FALSE(shown_profile(request, {}, environment()).is_ok());
  request.profile = "python";
  const auto named = shown_profile(request, {}, environment());
  REQUIRE(named.is_ok());
  CHECK(*named == *aegis::confine::builtin_profile_text("python"));
  request.profile = home.write("own.profile", "# mine\n");
  CHECK(*shown_profile(request, {}, environment()) == "# mine\n");
}

}  // namespace
