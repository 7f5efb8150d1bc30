// SPDX-License-Identifier: Apache-2.0 OR MIT
// See broker_binaries.h. A name is compared with names, a path by the identity of its file.
#include "wrap/broker_binaries.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "wrap/read_file.h"

namespace aegis::wrap {
namespace {

using confine::ResolvedPath;

std::optional<ResolvedPath> resolve_program(const std::string& path) {
  // X_OK as the real user, which is who the sandbox runs it as (access(2)).
  if (::access(path.c_str(), X_OK) != 0) return std::nullopt;
  auto resolved = confine::resolve_grant(path, {.may_execute = true});
  if (!resolved || resolved->grant.is_directory) return std::nullopt;
  return std::move(resolved).value();
}

/// The path behind a script's "#!", or nothing: for what is no script, and what cannot be read, of
/// which the run itself will tell.
std::string interpreter_of(const std::string& path) {
  constexpr std::size_t kMost = 256;  // BINPRM_BUF_SIZE, what the kernel reads (Linux 5.1)
  const auto file = open_regular("look at a program", path);
  if (!file) return {};
  const auto text = read_up_to(*file, {"look at a program", path, kMost});
  if (!text || !text->starts_with("#!")) return {};
  constexpr std::string_view kBlanks = " \t";
  const std::string_view line = std::string_view(*text).substr(2, text->find('\n') - 2);
  const std::size_t begin = std::min(line.find_first_not_of(kBlanks), line.size());
  return std::string(line.substr(begin, line.find_first_of(kBlanks, begin) - begin));
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::optional<ResolvedPath> find_binary(const std::string& name) {
  if (name.starts_with('/')) return resolve_program(name);
  if (name.empty() || name.find('/') != std::string::npos) return std::nullopt;
  for (const std::string_view folder : kProgramFolders) {
    if (auto found = resolve_program(std::string(folder) + "/" + name)) return found;
  }
  return std::nullopt;
}

FoundBinaries::FoundBinaries(std::vector<std::string> listed) : listed_(std::move(listed)) {
  files_.reserve(listed_.size());
  for (const std::string& name : listed_)
    files_.push_back(find_binary(name));
  lacking_.resize(files_.size());
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!files_[i]) continue;
    std::string interpreter = interpreter_of(files_[i]->grant.path);
    if (!interpreter.empty() && !find(interpreter)) lacking_[i] = std::move(interpreter);
  }
}

std::optional<std::size_t> FoundBinaries::find_file(const std::string& path) const {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  const confine::FileId id{status.st_dev, status.st_ino};
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i] && files_[i]->grant.id == id) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> FoundBinaries::find(std::string_view word) const {
  if (word.find('\0') != std::string_view::npos) return std::nullopt;  // stat(2) would end there
  if (word.starts_with('/')) return find_file(std::string(word));
  if (word.empty() || word.find('/') != std::string_view::npos) return std::nullopt;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i] && base_name(listed_[i]) == word) return i;
  }
  return std::nullopt;
}

std::vector<ResolvedPath> FoundBinaries::files() const {
  std::vector<ResolvedPath> found;
  for (const auto& file : files_) {
    if (file) found.push_back(*file);
  }
  return found;
}

std::vector<std::string> FoundBinaries::names() const {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i]) found.push_back(listed_[i]);
  }
  return found;
}

std::vector<std::string> FoundBinaries::missing() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!files_[i]) names.push_back(listed_[i]);
  }
  return names;
}

}  // namespace aegis::wrap
