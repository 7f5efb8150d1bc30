// SPDX-License-Identifier: Apache-2.0 OR MIT
// A workspace whose names change while they are looked at: nothing of outside ever comes out, and
// nothing waits.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "confine/beneath.h"
#include "confine/workspace.h"
#include "tests/confine/workspace_site.h"

namespace aegis::confine {
namespace {

namespace fs = std::filesystem;

/// Tries, and how long they may take on a slow machine.
constexpr int kTries = 100'000;
constexpr std::chrono::seconds kTime{5};

/// How often each outcome came.
using Outcomes = std::map<std::string, int>;

void exchange(const std::string& one, const std::string& other) {
  ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
}

/// Calls `attempt` until it was tried `tries` times or time is up.
template <class Attempt>
Outcomes try_often(int tries, std::chrono::milliseconds time, const Attempt& attempt) {
  Outcomes outcomes;
  const auto end = std::chrono::steady_clock::now() + time;
  for (int i = 0; i < tries && std::chrono::steady_clock::now() < end; ++i)
    ++outcomes[attempt()];
  return outcomes;
}

using Words = std::vector<std::string>;

/// Nothing came but what may, and all that is `expected` did: the race took place. `possible` is
/// what comes seldom.
void check_outcomes(const Outcomes& outcomes, const Words& expected, const Words& possible = {}) {
  const auto is_among = [](const Words& words, const std::string& text) {
    return std::find(words.begin(), words.end(), text) != words.end();
  };
  for (const auto& outcome : outcomes) {
    const std::string& text = outcome.first;
    const int count = outcome.second;
    CAPTURE(text);
    CAPTURE(count);
    CHECK((is_among(expected, text) || is_among(possible, text)));
  }
  for (const std::string& each : expected) {
    CAPTURE(each);
    CHECK(outcomes.count(each) == 1);
  }
}

}  // namespace

TEST_CASE("a folder, a file and a link to outside trade places while they are read") {
  const Site site;
  site.write("ws/d/secret", "inside");
  site.write("ws/f", "inside");
  fs::create_directory_symlink(site.path("outside"), site.path("ws/folder_link"));
  fs::create_symlink(site.path("outside/secret"), site.path("ws/file_link"));
  REQUIRE(::mkfifo(site.path("ws/fifo").c_str(), 0600) == 0);
  const Workspace workspace = site.open();
  const Meanwhile racer([folder = site.path("ws/d"),
                         file = site.path("ws/f"),
                         folder_link = site.path("ws/folder_link"),
                         file_link = site.path("ws/file_link"),
                         fifo = site.path("ws/fifo")] {
    exchange(folder, folder_link);
    exchange(file, file_link);
    exchange(folder, folder_link);
    exchange(file, fifo);
    exchange(file, file_link);
    exchange(file, fifo);
  });
  int turn = 0;
  const Outcomes outcomes = try_often(kTries, kTime, [&] {
    return outcome(workspace.read(++turn % 2 == 0 ? "d/secret" : "f", kPlenty));
  });
  check_outcomes(outcomes, {"text:inside", "linked", "not_regular"});
}

TEST_CASE("a hard link to outside that comes and goes is never taken for a file's only name") {
  const Site site;
  site.write("ws/x", "inside");
  site.write("ws/y", "inside");
  const Workspace workspace = site.open();
  const Meanwhile racer([secret = site.path("outside/secret"), name = site.path("ws/x")] {
    static_cast<void>(::link(secret.c_str(), name.c_str()));
    ::unlink(name.c_str());
  });
  const Outcomes outcomes = try_often(kTries / 2, kTime, [&] {
    const std::string got = outcome(workspace.read("x", kPlenty));
    return got == "not_readable" || got == "text:inside" ? "not_found" : got;
  });
  check_outcomes(outcomes, {"many_links", "not_found"});
}

TEST_CASE("a file that is replaced all the time is read whole, old or new") {
  const Site site;
  site.write("ws/f", "inside");
  const Workspace workspace = site.open();
  const Meanwhile racer([&site, file = site.path("ws/f"), fresh = site.path("ws/fresh")] {
    site.write("ws/fresh", "inside");
    static_cast<void>(::rename(fresh.c_str(), file.c_str()));
  });
  check_outcomes(
      try_often(kTries / 10, kTime, [&] { return outcome(workspace.read("f", kPlenty)); }),
      {"text:inside"});
}

TEST_CASE("a file that is written to all the time can be read") {
  const Site site;
  site.write("ws/log", "");
  const Workspace workspace = site.open();
  const Fd log(::open(site.path("ws/log").c_str(), O_WRONLY | O_CLOEXEC));
  const Meanwhile racer([&log] { static_cast<void>(::pwrite(log.get(), "inside", 6, 0)); });
  check_outcomes(
      try_often(kTries / 10, kTime, [&] { return outcome(workspace.read("log", kPlenty)); }),
      {"text:inside"},
      {"text:"});
}

TEST_CASE("lists, copies and what may be written stay inside while folders are swapped") {
  const Site site;
  site.write("ws/a/d/inside", "inside");
  site.write("outside/d/secret", kSecret);
  fs::create_directory_symlink(site.path("outside"), site.path("ws/link"));
  struct stat outside {};
  REQUIRE(::stat(site.path("outside/d").c_str(), &outside) == 0);
  const Workspace workspace = site.open();
  const Meanwhile racer(
      [folder = site.path("ws/a"), link = site.path("ws/link")] { exchange(folder, link); });
  const auto resolved = [&] {
    const auto grant = workspace.resolve("a/d");
    if (std::holds_alternative<PathFault>(grant)) return outcome(grant);
    return std::string(std::get<PathGrant>(grant).id == id_of(outside) ? "outside" : "inside");
  };
  check_outcomes(try_often(kTries / 10, kTime / 3, resolved), {"inside", "linked"});
  check_outcomes(try_often(kTries / 10,
                           kTime / 3,
                           [&] { return outcome(workspace.list("a", {.max_depth = 9}, {})); }),
                 {"d/ d/inside", "linked"},
                 {"", "d/"});
  check_outcomes(
      try_often(
          kTries / 10, kTime / 3, [&] { return outcome(workspace.snapshot({}, {}).value()); }),
      {"a/ a/d/ a/d/inside", "link/ link/d/ link/d/inside"},
      {"", "a/", "a/ a/d/", "link/", "link/ link/d/"});
}

TEST_CASE("a root that is replaced by a link to outside and removed stays this folder") {
  const Site site;
  site.write("ws/secret", "inside");
  fs::create_directory_symlink(site.path("outside"), site.path("link"));
  const Workspace workspace = site.open();
  const Meanwhile racer(
      [root = site.path("ws"), link = site.path("link")] { exchange(root, link); });
  check_outcomes(
      try_often(kTries / 10, kTime / 3, [&] { return outcome(workspace.read("secret", kPlenty)); }),
      {"text:inside"});
}

TEST_CASE("a folder that is removed while it is listed and copied is passed over") {
  const Site site;
  const Workspace workspace = site.open();
  const Meanwhile racer([&site] {
    site.write("ws/d/e/f", "inside");
    fs::remove_all(site.path("ws/d"));
  });
  const auto start_of = [](std::string text) {
    for (const std::string_view whole : {"", "d/", "d/ d/e/", "d/ d/e/ d/e/f"})
      if (text == whole) return std::string("as expected");
    return text;
  };
  check_outcomes(
      try_often(kTries / 10,
                kTime / 3,
                [&] { return start_of(outcome(workspace.list("", {.max_depth = 9}, {}))); }),
      {"as expected"});
  check_outcomes(try_often(kTries / 10,
                           kTime / 3,
                           [&] { return start_of(outcome(workspace.snapshot({}, {}).value())); }),
                 {"as expected"});
}

}  // namespace aegis::confine
