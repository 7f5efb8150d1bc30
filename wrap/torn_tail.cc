// SPDX-License-Identifier: Apache-2.0 OR MIT
// Copy, sync, sync the name, cut, sync: each step only after the one before is on the disk.
#include "wrap/torn_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace aegis::wrap {
namespace {

using confine::errno_error;
using confine::Error;
using confine::Result;

constexpr int kMaxTornFiles = 10000;
constexpr std::string_view kCopying = "move a torn tail aside";

/// A failed sync must not be tried again (the kernel may have dropped the bytes and call the next
/// one good), so its error carries no code that stands for "try again".
Error final_error(std::string_view doing, std::string_view what) {
  return Error{confine::describe(errno_error(doing, what)), 0};
}

Result<void> sync(const confine::Fd& fd, const std::string& what) {
  while (::fsync(fd.get()) != 0) {
    if (errno != EINTR) return final_error("fsync", what);
  }
  return {};
}

}  // namespace

TornTail::TornTail(Source source, std::string name)
    : source_(std::move(source)),
      name_(std::move(name)),
      digest_(audit::TornDigest::of(source_.bytes)),
      size_(source_.bytes.size()) {}

Result<TornTail> TornTail::make(Source source, const confine::Fd& folder) {
  for (int number = 1; number <= kMaxTornFiles; ++number) {
    std::string name = source.record + ".torn-" + std::to_string(number);
    struct stat status {};
    if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) continue;
    if (errno != ENOENT) return errno_error(kCopying, name);
    return TornTail(std::move(source), std::move(name));
  }
  return confine::refusal(kCopying, source.record, "too many .torn files; move some elsewhere");
}

Result<void> TornTail::move_aside(const confine::Fd& record, const confine::Fd& folder) {
  AEGIS_TRY(copy_into(folder));
  AEGIS_TRY(sync(copy_, name_));
  AEGIS_TRY(sync(folder, "the folder of " + name_));
  if (::ftruncate(record.get(), static_cast<off_t>(source_.at)) != 0) {
    return final_error("cut a torn tail off", source_.record);
  }
  AEGIS_TRY(sync(record, source_.record));
  copy_.reset();
  source_.bytes = {};
  is_moved_ = true;
  return {};
}

Result<void> TornTail::copy_into(const confine::Fd& folder) {
  if (!copy_.is_open()) {
    copy_ = confine::Fd(::openat(
        folder.get(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!copy_.is_open()) return errno_error(kCopying, name_);
  }
  while (copied_ < source_.bytes.size()) {
    const ssize_t count =
        ::write(copy_.get(), source_.bytes.data() + copied_, source_.bytes.size() - copied_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(kCopying, name_);
    copied_ += static_cast<std::size_t>(count);
  }
  return {};
}

audit::Recovered TornTail::facts() const {
  return {size_, digest_, name_};
}

}  // namespace aegis::wrap
