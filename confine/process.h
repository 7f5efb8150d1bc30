// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a process does to itself between fork and exec. Async-signal-safe, nothing allocates.
#pragma once

#include <span>
#include <string_view>

namespace aegis::confine {

/// What a program expects at its start: every signal at its default, none blocked.
void reset_signals() noexcept;

/// Closes every descriptor but these; negative numbers stand for nothing (close_range(2), Linux
/// 5.9, or one by one where the kernel has it not).
void close_all_but(std::span<const int> kept) noexcept;

/// Writes to a file of the calling process in /proc, for which it is made dumpable as long as that
/// takes. 0 or an errno.
int write_proc(const char* path, std::string_view text) noexcept;

}  // namespace aegis::confine
