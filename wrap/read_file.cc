// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reading regular files, and saying what else was found under the name.
#include "wrap/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace aegis::wrap {
namespace {

using confine::errno_error;
using confine::Fd;
using confine::Result;

constexpr std::size_t kPiece = std::size_t{64} << 10;

Result<void> check_regular(std::string_view doing, const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode)) return confine::code_error(doing, path, EISDIR);
  return confine::refusal(doing, path, "it is not a regular file");
}

}  // namespace

Result<Fd> open_regular(std::string_view doing, const std::string& path) {
  // Looked at first, because opening some devices does something; and again when it is open.
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno_error(doing, path);
  AEGIS_TRY(check_regular(doing, path, status.st_mode));
  Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.is_open()) return errno_error(doing, path);
  if (::fstat(file.get(), &status) != 0) return errno_error(doing, path);
  AEGIS_TRY(check_regular(doing, path, status.st_mode));
  return file;
}

Result<std::string> read_up_to(const Fd& file, const ReadWhat& what) {
  std::string bytes;
  while (bytes.size() < what.max_bytes) {
    const std::size_t have = bytes.size();
    bytes.resize(have + std::min(kPiece, what.max_bytes - have));
    const ssize_t count = ::read(file.get(), bytes.data() + have, bytes.size() - have);
    if (count < 0 && errno != EINTR) return errno_error(what.doing, what.path);
    bytes.resize(have + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) break;
  }
  return bytes;
}

}  // namespace aegis::wrap
