// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which names in a writable folder make some program of the host's run what they hold, without
// anybody asking for it: by opening the folder in an editor, by a shell's start, by `git status`.
// Not here: what runs because a project is built or tested (Makefile, package.json), what its tool
// asks about first (direnv's .envrc, mise.toml), and projects nested in this one.
#pragma once

#include <cstdint>
#include <string_view>

namespace aegis::confine {

/// What a guarded name is relative to.
enum class GuardBase : std::uint8_t {
  folder,          // the writable folder
  home,            // the home folder, when it is the writable folder or lies in it
  git_folder,      // a folder that git takes for its own: .git, what a .git file names, a bare one
  linked_worktree  // each folder in worktrees/ of a git_folder
};

/// What is done at start when there is nothing of that name.
enum class WhenMissing : std::uint8_t {
  watch,          // what appears is moved away
  create_folder,  // an empty one, to be made read-only
  create_file     // likewise; a commondir holds "."
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of the table
struct GuardedName {
  std::string_view name;
  GuardBase base = GuardBase::folder;
  std::string_view run_by;
  WhenMissing when_missing = WhenMissing::watch;
};

constexpr GuardedName kGuardedNames[] = {
    // git: gitrepository-layout(5), git-config(1), githooks(5). The rows of GuardBase::git_folder
    // are what makes it run something; that folder itself may change in all other ways.
    {".git", GuardBase::folder, "git: any command, by core.fsmonitor of a repository that appears"},
    {"HEAD",
     GuardBase::folder,
     "git: with objects/ and refs/ beside it the folder itself is a repository, with its config; "
     "also for who damages .git first (setup.c: is_git_directory asks for HEAD)"},
    {"config", GuardBase::git_folder, "git: core.fsmonitor, core.hooksPath, aliases, filters"},
    {"hooks", GuardBase::git_folder, "git: commit, checkout, push", WhenMissing::create_folder},
    {"commondir",
     GuardBase::git_folder,
     "git: takes config and hooks from the folder that it names",
     WhenMissing::create_file},
    {"config.worktree", GuardBase::git_folder, "git: as config, with extensions.worktreeConfig"},
    {"commondir", GuardBase::linked_worktree, "git in a worktree that may lie anywhere: as above"},
    {"config.worktree", GuardBase::linked_worktree, "git in a worktree that may lie anywhere"},
    {".husky", GuardBase::folder, "git: husky's hooks, which core.hooksPath leads to"},

    // Agents and their MCP servers: a server's command line is data to them.
    {".mcp.json", GuardBase::folder, "Claude Code: starts the servers that it names"},
    {".claude", GuardBase::folder, "Claude Code: hooks and permissions in settings.json"},
    {".cursor", GuardBase::folder, "Cursor: mcp.json, hooks.json"},
    {".gemini", GuardBase::folder, "Gemini CLI: mcpServers in settings.json"},
    {".codex", GuardBase::folder, "Codex: mcp_servers in config.toml"},
    {".roo", GuardBase::folder, "Roo Code: mcp.json"},
    {".kiro", GuardBase::folder, "Kiro: settings/mcp.json, hooks"},
    {".amazonq", GuardBase::folder, "Amazon Q Developer: mcp.json"},
    {".continue", GuardBase::folder, "Continue: mcpServers/"},

    // Editors.
    {".vscode", GuardBase::folder, "VS Code and its kin: tasks.json, settings.json, mcp.json"},
    {".devcontainer", GuardBase::folder, "VS Code: initializeCommand, on the host"},
    {".devcontainer.json", GuardBase::folder, "VS Code: initializeCommand, on the host"},
    {".idea", GuardBase::folder, "JetBrains: run configurations, start-up tasks, watchers"},
    {".zed", GuardBase::folder, "Zed: language and context servers in settings.json, tasks"},
    {".exrc", GuardBase::folder, "vim and neovim with 'exrc'"},
    {".vimrc", GuardBase::folder, "vim with 'exrc'; at home always"},
    {".nvim.lua", GuardBase::folder, "neovim with 'exrc'"},

    // Shells: bash(1), zsh(1), fish(1), ksh(1), tcsh(1).
    {".bashrc", GuardBase::folder, "bash"},
    {".bash_profile", GuardBase::folder, "bash"},
    {".bash_login", GuardBase::folder, "bash"},
    {".bash_logout", GuardBase::folder, "bash"},
    {".bash_aliases", GuardBase::folder, "bash, by the .bashrc of Debian"},
    {".profile", GuardBase::folder, "sh, bash, ksh, the desktop's session"},
    {".zshrc", GuardBase::folder, "zsh"},
    {".zshenv", GuardBase::folder, "zsh"},
    {".zprofile", GuardBase::folder, "zsh"},
    {".zlogin", GuardBase::folder, "zsh"},
    {".zlogout", GuardBase::folder, "zsh"},
    {".kshrc", GuardBase::folder, "ksh"},
    {".cshrc", GuardBase::folder, "csh, tcsh"},
    {".tcshrc", GuardBase::folder, "tcsh"},
    {".login", GuardBase::folder, "csh, tcsh"},
    {".config/fish", GuardBase::folder, "fish: config.fish, conf.d/, functions/"},

    // What only a home folder's owner runs.
    {".gitconfig", GuardBase::home, "git"},
    {".config/git", GuardBase::home, "git"},
    {".claude.json", GuardBase::home, "Claude Code: starts the servers that it names"},
    {".ssh", GuardBase::home, "ssh: ProxyCommand in config, authorized_keys, rc"},
    {".vim", GuardBase::home, "vim"},
    {".config/nvim", GuardBase::home, "neovim"},
    {".emacs", GuardBase::home, "emacs"},
    {".emacs.d", GuardBase::home, "emacs"},
    {".config/emacs", GuardBase::home, "emacs"},
    {".config/autostart", GuardBase::home, "the desktop's session"},
    {".config/systemd", GuardBase::home, "systemd --user"},
    {".config/environment.d", GuardBase::home, "systemd --user: the session's environment"},
    {".pam_environment", GuardBase::home, "PAM: the session's environment"},
    {".xprofile", GuardBase::home, "the desktop's session"},
    {".xsession", GuardBase::home, "the desktop's session"},
    {".xsessionrc", GuardBase::home, "the desktop's session"},
    {".xinitrc", GuardBase::home, "startx"},
    {".local/bin", GuardBase::home, "whoever finds programs by PATH"},
};

}  // namespace aegis::confine
