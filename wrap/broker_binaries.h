// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which files the names in allowed_binaries stand for on this machine. Asked once, at load: what a
// name would lead to later changes nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "confine/grants.h"
#include "policy/broker_judge.h"

namespace aegis::wrap {

/// Where a plain name is looked for, in this order. PATH is not asked: whoever sets it would choose
/// the program.
inline constexpr std::string_view kProgramFolders[] = {
    "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"};

/// The executable regular file that an absolute path, or a plain name in kProgramFolders, leads to.
std::optional<confine::ResolvedPath> find_binary(const std::string& name);

class FoundBinaries final : public policy::Binaries {
 public:
  /// `listed` is the policy's allowed_binaries, which this keeps a copy of.
  explicit FoundBinaries(std::vector<std::string> listed);

  [[nodiscard]] std::optional<std::size_t> find(std::string_view word) const override;

  /// As the policy writes it. That is what the program gets as its argv[0], whatever the request
  /// called it: a file with many programs in it (busybox) goes by that word.
  [[nodiscard]] const std::string& name(std::size_t index) const { return listed_[index]; }
  /// Nothing when there is no such program here.
  [[nodiscard]] const std::optional<confine::ResolvedPath>& file(std::size_t index) const {
    return files_[index];
  }
  /// Of a script, the interpreter that its first line names, when that is not among the files: it
  /// cannot be run then. Empty for all others.
  [[nodiscard]] const std::string& lacking(std::size_t index) const { return lacking_[index]; }
  /// All that were found.
  [[nodiscard]] std::vector<confine::ResolvedPath> files() const;
  /// The names of the same, as the policy writes them.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Names that stand for nothing here, and are never matched.
  [[nodiscard]] std::vector<std::string> missing() const;

 private:
  [[nodiscard]] std::optional<std::size_t> find_file(const std::string& path) const;

  std::vector<std::string> listed_;
  std::vector<std::optional<confine::ResolvedPath>> files_;  // by index in listed_
  std::vector<std::string> lacking_;                         // the same
};

}  // namespace aegis::wrap
