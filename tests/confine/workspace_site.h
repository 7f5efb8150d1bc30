// SPDX-License-Identifier: Apache-2.0 OR MIT
// A workspace for tests, with a secret beside it, and its outcomes in words.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "confine/workspace.h"
#include "tests/confine/sandbox.h"

namespace aegis::confine {

inline constexpr std::size_t kPlenty = 1U << 20U;
inline constexpr std::string_view kSecret = "the secret of outside";

struct Site : Scratch {
  Site() {
    write("outside/secret", kSecret);
    std::filesystem::create_directory(path("ws"));
  }
  [[nodiscard]] Workspace open() const {
    Result<Workspace> opened = Workspace::open(path("ws"));
    if (!opened) FAIL(describe(opened.error()));
    return std::move(opened).value();
  }
};

inline std::string word(PathFault fault) {
  constexpr std::string_view kWords[] = {
      "not_found", "linked", "not_regular", "not_a_folder", "many_links", "not_readable"};
  return std::string(kWords[static_cast<std::size_t>(fault)]);
}

/// "text:" or "cut:" and what was read, or the fault's name.
inline std::string outcome(const std::variant<ReadFile, PathFault>& read) {
  if (const auto* fault = std::get_if<PathFault>(&read)) return word(*fault);
  const auto& file = std::get<ReadFile>(read);
  return (file.is_cut ? "cut:" : "text:") + file.bytes;
}
inline std::string outcome(const std::variant<PathGrant, PathFault>& resolved) {
  if (const auto* fault = std::get_if<PathFault>(&resolved)) return word(*fault);
  return std::get<PathGrant>(resolved).path;
}
/// Each entry's path, with '/' behind a folder, '@' behind a link, '?' behind what is neither; then
/// "+hidden" and "cut" as they apply. One blank between them.
inline std::string outcome(const std::variant<FolderList, PathFault>& list) {
  if (const auto* fault = std::get_if<PathFault>(&list)) return word(*fault);
  const auto& folder = std::get<FolderList>(list);
  std::string text;
  for (const WorkspaceEntry& each : folder.entries) {
    constexpr std::string_view kMarks[] = {"", "/", "@", "?"};
    text.append(each.path).append(kMarks[static_cast<std::size_t>(each.type)]).append(" ");
  }
  if (folder.hidden > 0) text.append("+" + std::to_string(folder.hidden) + " ");
  if (folder.is_cut) text.append("cut ");
  if (!text.empty()) text.pop_back();
  return text;
}
/// Likewise, '*' behind what can be executed; then "-left_out".
inline std::string outcome(const Snapshot& snapshot) {
  std::string text;
  for (const Snapshot::Entry& each : snapshot.entries)
    text.append(each.path).append(each.is_folder ? "/ " : each.is_executable ? "* " : " ");
  if (snapshot.left_out > 0) text.append("-" + std::to_string(snapshot.left_out) + " ");
  if (!text.empty()) text.pop_back();
  return text;
}

/// A loop in a process of its own, ended with this.
class Meanwhile {
 public:
  explicit Meanwhile(const std::function<void()>& step) : pid_(::fork()) {
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    for (;;)
      step();
  }
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;
  ~Meanwhile() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

inline constexpr int kNotPossible = 97;

/// What `test` returns in a process of its own: 0 means fine, kNotPossible that it could not be
/// tried.
inline int run_forked(const std::function<int()>& test) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) ::_exit(test());
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/// The number of the first pair that differs, from 1, told on stderr too; 0 when none does. For
/// run_forked(), where doctest cannot tell.
inline int first_wrong(const std::vector<std::pair<std::string, std::string>>& pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].first == pairs[i].second) continue;
    std::cerr << "is \"" << pairs[i].first << "\", not \"" << pairs[i].second << "\"\n";
    return static_cast<int>(i) + 1;
  }
  return 0;
}

}  // namespace aegis::confine
