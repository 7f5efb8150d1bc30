// SPDX-License-Identifier: Apache-2.0 OR MIT
// Listing a workspace and copying it: what is in, in which order, and where each ends.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "confine/workspace.h"
#include "tests/confine/workspace_site.h"

namespace aegis::confine {
namespace {

namespace fs = std::filesystem;

using Options = Workspace::ListOptions;
constexpr auto kShown = Options::Dotted::shown;

/// A name of which one component is "hush".
bool is_hush(std::string_view path) {
  return ("/" + std::string(path) + "/").find("/hush/") != std::string::npos;
}

struct Tree : Site {
  Tree() {
    write("ws/b/2", "22");
    write("ws/b/hush/x", "x");
    write("ws/b/c/3", "333");
    write("ws/b.txt", "4444");
    write("ws/hush", "x");
    write("ws/.dot/5", "5");
    write("ws/run", "#!");
    fs::permissions(path("ws/run"), fs::perms::owner_all);
    fs::create_directory(path("ws/a"));
    fs::create_directory_symlink("b", path("ws/link"));
    REQUIRE(::mkfifo(path("ws/fifo").c_str(), 0600) == 0);
    fs::create_hard_link(path("outside/secret"), path("ws/hard"));
  }
};

std::string copied(const Workspace& workspace, const Workspace::SnapshotBounds& bounds) {
  const Result<Snapshot> copy = workspace.snapshot(bounds, is_hush);
  return copy ? outcome(*copy) : describe(copy.error());
}

void make_deep(const Site& site, int levels) {
  std::string path = "ws";
  for (int level = 0; level < levels; ++level)
    path += "/d";
  site.write(path + "/end", "deep");
}

}  // namespace

TEST_CASE("a list has what is there by type, without what is hidden, and follows nothing") {
  const Tree tree;
  const Workspace workspace = tree.open();
  struct Row {
    std::string_view what;
    std::string path;
    Options options;
    std::string_view outcome;
  };
  const Row rows[] = {
      {"the root's own", "", {}, "a/ b/ b.txt fifo? hard link@ run +1"},
      {"its spellings", "./", {}, "a/ b/ b.txt fifo? hard link@ run +1"},
      {"dotted too", "", {.dotted = kShown}, ".dot/ a/ b/ b.txt fifo? hard link@ run +1"},
      {"one level more", "", {.max_depth = 1}, "a/ b/ b.txt b/2 b/c/ fifo? hard link@ run +2"},
      {"all",
       "",
       {.max_depth = 20, .dotted = kShown},
       ".dot/ .dot/5 a/ b/ b.txt b/2 b/c/ b/c/3 fifo? hard link@ run +2"},
      {"a folder's, told from there", "b", {.max_depth = 20}, "2 c/ c/3 +1"},
      {"an empty one's", "a", {}, ""},
      {"the upper levels first",
       "",
       {.max_depth = 20, .max_entries = 8},
       "a/ b/ b.txt b/2 fifo? hard link@ run +1 cut"},
      {"the first names first", "", {.max_entries = 2}, "a/ b/ cut"},
      {"as many as there are is not cut", "a", {.max_entries = 0}, ""},
      {"none", "", {.max_entries = 0}, "cut"},
      {"a file", "b.txt", {}, "not_a_folder"},
      {"nothing", "none", {}, "not_found"},
      {"below a file", "b.txt/x", {}, "not_found"},
      {"a way out", "..", {}, "linked"},
      {"a way out and back", "../ws", {}, "linked"},
      {"absolute", "/", {}, "linked"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    CHECK(outcome(workspace.list(row.path, row.options, is_hush)) == row.outcome);
  }
}

TEST_CASE(
    "a list tells sizes of files alone, counts second names, and asks about paths from the root") {
  const Tree tree;
  std::vector<std::string> asked;
  const auto list = tree.open().list("b", {.max_depth = 1}, [&asked](std::string_view path) {
    asked.emplace_back(path);
    return path == "b/hush";
  });
  REQUIRE(std::holds_alternative<FolderList>(list));
  CHECK(std::get<FolderList>(list).many_links == 0);
  std::vector<std::uint64_t> sizes;
  for (const WorkspaceEntry& each : std::get<FolderList>(list).entries)
    sizes.push_back(each.size);
  CHECK(sizes == std::vector<std::uint64_t>{2, 0, 3});
  fs::create_hard_link(tree.path("ws/b/2"), tree.path("outside/2"));
  CHECK(std::get<FolderList>(tree.open().list("b", {}, {})).many_links == 1);
  CHECK(asked == std::vector<std::string>{"b/2", "b/c", "b/hush", "b/c/3"});
}

TEST_CASE("of a great folder the first names are listed and copied") {
  const Site site;
  constexpr int kNames = 2000;
  for (int i = 0; i < kNames; ++i) {
    const std::string name = "ws/" + std::to_string(10'000 + i);
    REQUIRE(::mknod(site.path(name).c_str(), S_IFREG | 0600, 0) == 0);
  }
  const auto list = site.open().list("", {.max_entries = 1000}, {});
  REQUIRE(std::holds_alternative<FolderList>(list));
  const auto& folder = std::get<FolderList>(list);
  CHECK(folder.is_cut);
  REQUIRE(folder.entries.size() == 1000);
  CHECK(folder.entries.front().path == "10000");
  CHECK(folder.entries.back().path == "10999");
  const Result<Snapshot> copy = site.open().snapshot({.max_files = 500}, {});
  REQUIRE(copy.is_ok());
  REQUIRE(copy->entries.size() == 500);
  CHECK(copy->entries.back().path == "10499");
  CHECK(copy->left_out == kNames - 500);
}

TEST_CASE("depth costs neither stack nor descriptors, and ends where it must") {
  const Site site;
  constexpr int kLevels = 300;
  make_deep(site, kLevels);
  const Workspace workspace = site.open();
  std::string path;
  for (int level = 0; level < kLevels; ++level)
    path += "d/";
  CHECK(outcome(workspace.read(path + "end", kPlenty)) == "text:deep");
  CHECK(outcome(workspace.list(path, {}, {})) == "end");
  CHECK(run_forked([&workspace] {
          const rlimit few{24, 24};
          if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return kNotPossible;
          const auto list = workspace.list("", {.max_depth = 1000}, {});
          if (std::get<FolderList>(list).entries.size() != kLevels + 1) return 1;
          const Result<Snapshot> whole = workspace.snapshot({.max_depth = kLevels}, {});
          if (!whole || whole->entries.size() != kLevels + 1 || whole->left_out != 0) return 2;
          const Result<Snapshot> bounded = workspace.snapshot({}, {});
          return bounded && bounded->entries.size() == 64 && bounded->left_out == 1 ? 0 : 3;
        }) == 0);
}

TEST_CASE("a path too long for the kernel is neither entered nor copied") {
  const Site site;
  const std::string name(255, 'n');
  const Workspace workspace = site.open();
  CHECK(run_forked([&site, &name] {
          // Beyond PATH_MAX one gets only step by step.
          if (::chdir(site.path("ws").c_str()) != 0) return 1;
          for (int level = 0; level < 20; ++level)
            if (::mkdir(name.c_str(), 0700) != 0 || ::chdir(name.c_str()) != 0) return 2;
          return 0;
        }) == 0);
  const auto list = workspace.list("", {.max_depth = 30}, {});
  CHECK(std::get<FolderList>(list).entries.size() == 17);  // 15 × 256 + 255 = 4095 can be opened
  CHECK(std::get<FolderList>(list).is_cut);
  const Result<Snapshot> copy = workspace.snapshot({}, {});
  REQUIRE(copy.is_ok());
  CHECK(copy->entries.size() == 15);
  CHECK(copy->left_out == 1);
}

TEST_CASE("a copy holds plain files and folders with their bytes, parents first") {
  const Tree tree;
  const Result<Snapshot> copy = tree.open().snapshot({}, is_hush);
  REQUIRE(copy.is_ok());
  CHECK(outcome(*copy) == ".dot/ .dot/5 a/ b/ b.txt b/2 b/c/ b/c/3 run*");
  CHECK(copy->bytes == 12);
  for (const Snapshot::Entry& each : copy->entries) {
    CAPTURE(each.path);
    CHECK(each.bytes == (each.is_folder ? "" : tree.read("ws/" + each.path)));
  }
}

TEST_CASE("what has no room in a copy is left out and counted, the deepest first") {
  const Tree tree;
  const Workspace workspace = tree.open();
  struct Row {
    std::string_view what;
    Workspace::SnapshotBounds bounds;
    std::string_view outcome;
  };
  const Row rows[] = {
      {"files", {.max_files = 3}, ".dot/ .dot/5 a/ b/ b.txt run* -2"},
      {"a file's bytes", {.max_file = 2}, ".dot/ .dot/5 a/ b/ b/2 b/c/ run* -2"},
      {"all bytes, which a smaller file may still have",
       {.max_bytes = 7},
       ".dot/ .dot/5 a/ b/ b.txt b/c/ run* -2"},
      {"all bytes exactly", {.max_bytes = 12}, ".dot/ .dot/5 a/ b/ b.txt b/2 b/c/ b/c/3 run*"},
      {"depth", {.max_depth = 0}, "b.txt run* -3"},
      {"a level", {.max_depth = 1}, ".dot/ .dot/5 a/ b/ b.txt b/2 run* -1"},
      {"nothing", {.max_files = 0}, "-6"},
      {"time", {.max_time = std::chrono::milliseconds(-1)}, "-6"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    CHECK(copied(workspace, row.bounds) == row.outcome);
  }
}

TEST_CASE("a sparse terabyte is left out of a copy, unread") {
  const Site site;
  site.write("ws/sparse", "x");
  site.write("ws/small", "x");
  constexpr off_t kTerabyte = off_t{1} << 40U;
  if (::truncate(site.path("ws/sparse").c_str(), kTerabyte) != 0) {
    MESSAGE("skipped: the file system has no such files");
    return;
  }
  CHECK(outcome(site.open().snapshot({}, {}).value()) == "small -1");
}

TEST_CASE("a name is listed and copied byte for byte") {
  const Site site;
  const std::string names[] = {"\x1B[2J", "a\nb", "\xFF\xFE"};
  for (const std::string& name : names)
    site.write("ws/" + name, "x");
  const std::string expected = names[0] + " " + names[1] + " " + names[2];
  CHECK(outcome(site.open().list("", {}, {})) == expected);
  CHECK(outcome(site.open().snapshot({}, {}).value()) == expected);
}

}  // namespace aegis::confine
