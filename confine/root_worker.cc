// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a worker of the broker's finds in its working directory: a copy of the workspace in the
// private root's own tmpfs, which is read-only to it, and over some places of that what it may
// write. Nothing after the plan allocates.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "confine/mounts.h"
#include "confine/root.h"

namespace aegis::confine {
namespace {

constexpr std::uint16_t kNoEntry = 0xffff;
constexpr mode_t kFolderMode = 0755;
constexpr mode_t kFileMode = 0644;

std::uint16_t index_of(std::size_t entry) noexcept {
  return static_cast<std::uint16_t>(entry < kNoEntry ? entry : kNoEntry);
}

int write_file(int folder, const Snapshot::Entry& entry) noexcept {
  const Fd file(::openat(folder,
                         entry.path.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                         entry.is_executable ? kFolderMode : kFileMode));
  if (!file.is_open()) return errno;
  for (std::size_t done = 0; done < entry.bytes.size();) {
    const ssize_t size = ::write(file.get(), entry.bytes.data() + done, entry.bytes.size() - done);
    if (size < 0) return errno;
    done += static_cast<std::size_t>(size);
  }
  return 0;
}

int make_entry(int folder, const Snapshot::Entry& entry) noexcept {
  if (!entry.is_folder) return write_file(folder, entry);
  return ::mkdirat(folder, entry.path.c_str(), kFolderMode) == 0 ? 0 : errno;
}

}  // namespace

std::uint64_t size_of_copy(const Snapshot& copy) {
  constexpr std::uint64_t kPage = 4096;
  std::uint64_t size = 0;
  for (const Snapshot::Entry& each : copy.entries)
    size += (each.bytes.size() + kPage - 1) / kPage * kPage;
  return size;
}

std::uint64_t RootPlan::own_attributes() const noexcept {
  return spec_.worker ? MOUNT_ATTR_NOEXEC : 0;
}

void RootPlan::plan_worker() {
  if (!spec_.worker) return;
  for (const WorkerFiles::Bind& each : spec_.worker->binds) {
    constexpr std::uint64_t kWritable = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
    binds_.push_back({each.source.path.c_str(),
                      each.place.c_str(),
                      kWritable,
                      each.source.is_directory,
                      true,
                      each.source.id,
                      static_cast<std::uint16_t>(binds_.size())});
  }
}

SetUp RootPlan::copy_workspace(int root) const noexcept {
  const char* const place = spec_.working_directory.c_str() + 1;
  if (::mkdirat(root, place, kFolderMode) != 0) return failed_at(Stage::copy, errno, kNoEntry);
  const Fd folder(::openat(root, place, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!folder.is_open()) return failed_at(Stage::copy, errno, kNoEntry);
  std::size_t number = 0;
  for (const Snapshot::Entry& entry : spec_.worker->copy.entries) {
    if (const int code = make_entry(folder.get(), entry))
      return failed_at(Stage::copy, code, index_of(number));
    ++number;
  }
  return {};
}

SetUp RootPlan::bind_writable(int root) const noexcept {
  for (const Mount& mount : binds_) {
    if (const int code = mount_grant(root, mount)) return failed_at(Stage::bind, code, mount.which);
  }
  return {};
}

int RootPlan::allow_copy(const Ruleset& ruleset) const noexcept {
  const Fd folder(open_exactly(AT_FDCWD, spec_.working_directory.c_str()));
  if (!folder.is_open()) return errno;
  return ruleset.allow_fd(folder.get(), {}, Ruleset::Kind::directory);
}

}  // namespace aegis::confine
