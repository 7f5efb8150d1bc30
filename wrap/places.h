// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where things go when nobody names a place: below the user's home. XDG_* are not read: MCP clients
// drop them, and one user must have one key and one place for records.
#pragma once

#include <cstdint>
#include <string>

#include "confine/fd.h"
#include "confine/result.h"

namespace aegis::wrap {

/// HOME when it is an absolute path, else what the user database says (getpwuid).
confine::Result<std::string> home_folder();
/// ~/.local/state/aegis/records
confine::Result<std::string> default_record_folder();
/// Where the guard of configuration files moves what appears (confine/guard_watch.h).
std::string quarantine_folder(const std::string& home);
/// A folder in it for one run of a program: "<UTC time>-<pid>", and from the second `run` of a
/// process on its number.
std::string quarantine_of_run(const std::string& home, std::uint64_t run = 1);
/// ~/.config/aegis/signing.key
confine::Result<std::string> default_key_path();

/// Makes `folder`, an absolute path, and what is missing above it, each 0700 and fsynced into its
/// parent. One that is there is left as it is.
confine::Result<void> make_private_folder(const std::string& folder);

/// "." for a path without a slash; "/" for what lies in the root.
std::string folder_of(const std::string& path);
/// What follows the last slash.
std::string base_name_of(const std::string& path);

/// For openat(2) and fsync(2). `path` names a folder, or a symbolic link to one.
confine::Result<confine::Fd> open_folder(const std::string& path);

}  // namespace aegis::wrap
