// SPDX-License-Identifier: Apache-2.0 OR MIT
// How a process of a sandbox begins, and what it does to itself before exec. Async-signal-safe,
// nothing allocates.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace aegis::confine {

/// fork(2) with clone(2)'s flags, for a caller with one thread: nothing of glibc's is told. The
/// child is in the cgroup `birthplace` from its first moment (CLONE_INTO_CGROUP, Linux 5.7), or in
/// the caller's. -1 with errno.
pid_t clone_process(std::uint64_t flags, std::optional<int> birthplace) noexcept;

/// What a program expects at its start: every signal at its default, none blocked.
void reset_signals() noexcept;

/// Closes every descriptor but these; negative numbers stand for nothing (close_range(2), Linux
/// 5.9, or one by one where the kernel has it not).
void close_all_but(std::span<const int> kept) noexcept;

/// Marks the calling process as one that has not executed its program yet: no program's own name
/// can be this one, since it holds a slash.
void mark_unexecuted() noexcept;
/// Of a child that marked itself and is on its way into execve(2) or to its death: waits until one
/// of them is certain. True when exec has happened, even if it is dead by now. /proc must tell of
/// this pid namespace (has_own_proc()); the child must not have been reaped.
[[nodiscard]] bool has_executed(int pid) noexcept;
/// Whether /proc tells of the calling process's pid namespace. After `unshare --pid` without
/// --mount-proc it tells of another one, where the same numbers are others' (pid_namespaces(7)).
[[nodiscard]] bool has_own_proc() noexcept;

/// Blanks the calling process's command line as others see it (/proc/<pid>/cmdline, proc(5)): the
/// words that aegis was started with are nobody's business in a sandbox, and no mode and no ptrace
/// check keeps a process from reading them. /proc must be there. 0 or an errno.
[[nodiscard]] int forget_command_line() noexcept;

/// Writes to a file of the calling process in /proc, for which it is made dumpable as long as that
/// takes. 0 or an errno.
int write_proc(const char* path, std::string_view text) noexcept;
/// The sandbox's processes are the first that the kernel ends when the host runs short of memory
/// (proc(5), oom_score_adj: 1000 is "first"; children inherit it).
void be_first_out_of_memory() noexcept;

}  // namespace aegis::confine
