// SPDX-License-Identifier: Apache-2.0 OR MIT
// A file as the broker reads one: regular, with a single name, that name below a folder and reached
// without a link. Found first (O_PATH, which opens nothing), judged, and only then opened. For
// workspace.h's parts.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <variant>

#include "confine/fd.h"
#include "confine/workspace.h"

namespace aegis::confine {

/// What an errno of open_beneath() means to the asker.
PathFault fault_of(int code) noexcept;

/// A relative path without "." and empty components: what is_hidden is asked about and what a mount
/// is made on. A path that begins with '/' or has ".." in it leads out; one with a NUL byte is
/// nobody's name.
std::variant<std::string, PathFault> normalize(const std::string& path);

struct PlainFile {
  Fd fd;  // O_PATH
  struct stat status = {};
};
/// `name` is relative, as in open_beneath(); the folder that holds it can be read. At one moment of
/// this call the file had one name and that was this one, as the file's change time proves: it is
/// the same before and after the name was looked up once more, and each name that is made or
/// removed changes it. So does each write: of a file that is written to without a pause, sixteen
/// such looks on end are believed, each of which found one name, this one, and a write as the last
/// that was done to it. A name that is a new file at each of 64 tries, some 40 ms in all, is
/// not_readable.
///
/// Change times are exact from Linux 6.13 on (multigrain timestamps); before it they are as coarse
/// as the timer's tick, and who removes and makes a hard link, again and again within one tick, may
/// be believed. Whoever can do that can read the file himself.
std::variant<PlainFile, PathFault> find_plain_file(int folder, const std::string& name);

/// Opens what `file` holds, whatever its name means by now, and reads up to `most` bytes. Someone
/// who writes meanwhile may be seen in part.
std::variant<ReadFile, PathFault> read_plain_file(const PlainFile& file, std::size_t most);

/// Whether files in there tell about processes instead of keeping what somebody wrote: procfs,
/// which may be mounted anywhere.
bool is_on_procfs(int fd) noexcept;

}  // namespace aegis::confine
