// SPDX-License-Identifier: Apache-2.0 OR MIT
// Attempts to poison what other programs of the user's run out of the folder that the attacker may
// write (param own): git's hooks and configuration, an editor's tasks, an agent's servers.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "tests/probes/probe.h"

namespace probe {
namespace {

constexpr std::string_view kPoison = "# poison\n";

Answer writes(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0755);
  if (fd < 0) return refused("open " + path);
  Answer answer = by_result(write(fd, kPoison.data(), kPoison.size()), "write to " + path);
  close(fd);
  return answer;
}
constexpr int kCreate = O_WRONLY | O_CREAT | O_TRUNC;
constexpr int kAppend = O_WRONLY | O_APPEND;

Answer renames(const std::string& from, const std::string& to, unsigned flags = 0) {
  return by_result(renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags), "rename");
}
// A poisoned file beside, to be put in the place of another.
std::string prepared() {
  writes(own("poison"), kCreate);
  return own("poison");
}
Answer moves_and_makes(const char* folder, const char* within) {
  const std::string path = own(folder);
  Answer moved = renames(path, path + "-moved");
  if (moved.verdict != Verdict::reached) return moved;
  mkdir(path.c_str(), 0755);
  return writes(path + "/" + within, kCreate);
}

Answer guard_new_hook() {
  return writes(own(".git/hooks/pre-commit"), kCreate);
}
Answer guard_old_hook() {
  return writes(own(".git/hooks/post-checkout"), kAppend);
}
Answer guard_chmod_hook() {
  return by_result(chmod(own(".git/hooks/post-checkout").c_str(), 0777), "chmod");
}
Answer guard_hooks_folder() {
  return moves_and_makes(".git/hooks", "pre-commit");
}
Answer guard_remove_hook() {
  return by_result(unlink(own(".git/hooks/post-checkout").c_str()), "unlink");
}
Answer guard_config() {
  return writes(own(".git/config"), kAppend);
}
Answer guard_config_through_proc() {
  return writes("/proc/self/cwd/.git/config", kAppend);
}
Answer guard_replace_config() {
  return renames(prepared(), own(".git/config"));
}
Answer guard_exchange_config() {
  return renames(prepared(), own(".git/config"), RENAME_EXCHANGE);
}
Answer guard_remove_config() {
  return by_result(unlink(own(".git/config").c_str()), "unlink");
}
Answer guard_truncate_config() {
  return by_result(truncate(own(".git/config").c_str(), 0), "truncate");
}
Answer guard_link_config() {
  const std::string alias = own("alias");
  if (link(own(".git/config").c_str(), alias.c_str()) != 0) return refused("link");
  return writes(alias, kAppend);
}
Answer guard_move_git() {
  return moves_and_makes(".git", "config");
}
Answer guard_exchange_git() {
  mkdir(own("other").c_str(), 0755);
  return renames(own("other"), own(".git"), RENAME_EXCHANGE);
}
Answer guard_remove_git() {
  const int status = run("/bin/rm", {"-rf", own(".git")});
  if (status == -1) return broken("rm could not be run");
  return access(own(".git/config").c_str(), F_OK) != 0 ? reached("removed .git")
                                                       : refused_by(EBUSY, "rm -rf .git");
}
Answer guard_common_dir() {
  mkdir(own("theirs").c_str(), 0755);
  return writes(own(".git/commondir"), kCreate);
}
Answer guard_replace_common_dir() {
  return renames(prepared(), own(".git/commondir"));
}
Answer guard_servers() {
  return writes(own(".mcp.json"), kAppend);
}
Answer guard_replace_servers() {
  return renames(prepared(), own(".mcp.json"));
}
Answer guard_tasks() {
  return writes(own(".vscode/tasks.json"), kCreate);
}
Answer guard_new_task_file() {
  return writes(own(".vscode/launch.json"), kCreate);
}
Answer guard_move_tasks() {
  return moves_and_makes(".vscode", "tasks.json");
}
Answer guard_unmount_config() {
  return by_result(umount2(own(".git/config").c_str(), MNT_DETACH), "umount2");
}

// Names that are not there: what is left of them at the end is for others to see.
Answer appears(const char* name) {
  const Answer answer = writes(own(name), kCreate);
  return answer.verdict == Verdict::reached ? tried(answer.words) : answer;
}
Answer new_shell_start() {
  return appears(".bashrc");
}
Answer new_editor_folder() {
  mkdir(own(".cursor").c_str(), 0755);
  return appears(".cursor/mcp.json");
}
Answer new_agent_by_rename() {
  mkdir(own("held").c_str(), 0755);
  writes(own("held/settings.json"), kCreate);
  const Answer answer = renames(own("held"), own(".claude"));
  return answer.verdict == Verdict::reached ? tried(answer.words) : answer;
}
Answer new_link_to_folder() {
  mkdir(own("held-too").c_str(), 0755);
  return symlink("held-too", own(".idea").c_str()) == 0 ? tried("symlink") : refused("symlink");
}
Answer new_locked_folder() {
  mkdir(own(".zed").c_str(), 0755);
  const Answer answer = writes(own(".zed/settings.json"), kCreate);
  chmod(own(".zed").c_str(), 0);
  return answer.verdict == Verdict::reached ? tried(answer.words) : answer;
}

constexpr Attempt kAttempts[] = {
    {"guard_new_hook", guard_new_hook},
    {"guard_old_hook", guard_old_hook},
    {"guard_chmod_hook", guard_chmod_hook},
    {"guard_hooks_folder", guard_hooks_folder},
    {"guard_remove_hook", guard_remove_hook},
    {"guard_config", guard_config},
    {"guard_config_through_proc", guard_config_through_proc},
    {"guard_replace_config", guard_replace_config},
    {"guard_exchange_config", guard_exchange_config},
    {"guard_remove_config", guard_remove_config},
    {"guard_truncate_config", guard_truncate_config},
    {"guard_link_config", guard_link_config},
    {"guard_move_git", guard_move_git},
    {"guard_exchange_git", guard_exchange_git},
    {"guard_remove_git", guard_remove_git},
    {"guard_common_dir", guard_common_dir},
    {"guard_replace_common_dir", guard_replace_common_dir},
    {"guard_servers", guard_servers},
    {"guard_replace_servers", guard_replace_servers},
    {"guard_tasks", guard_tasks},
    {"guard_new_task_file", guard_new_task_file},
    {"guard_move_tasks", guard_move_tasks},
    {"guard_unmount_config", guard_unmount_config},
    {"new_shell_start", new_shell_start},
    {"new_editor_folder", new_editor_folder},
    {"new_agent_by_rename", new_agent_by_rename},
    {"new_link_to_folder", new_link_to_folder},
    {"new_locked_folder", new_locked_folder},
};

}  // namespace

const std::span<const Attempt> kWorkspaceAttempts = kAttempts;

}  // namespace probe
