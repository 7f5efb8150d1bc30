// SPDX-License-Identifier: Apache-2.0 OR MIT
// The user's home, and folders below it.
#include "wrap/places.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace aegis::wrap {
namespace {

using confine::code_error;
using confine::describe;
using confine::errno_error;
using confine::Error;
using confine::Fd;
using confine::refusal;
using confine::Result;

/// Only for the default key and record are folders made.
constexpr const char* kElsewhere =
    "; aegis keeps its key and records below HOME: set that to a folder of yours, or name other "
    "places (--signing-key, --audit; for keygen --out)";
constexpr std::size_t kMaxUserEntry = std::size_t{1} << 20;

confine::Result<std::string> home_of_user() {
  std::vector<char> buffer(1024);
  for (;;) {
    passwd entry{};
    passwd* found = nullptr;
    const int code = ::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found);
    if (code == EINTR) continue;
    if (code == ERANGE && buffer.size() < kMaxUserEntry) {
      buffer.resize(buffer.size() * 2);
      continue;
    }
    const std::string user = "user " + std::to_string(::getuid());
    if (code != 0) return code_error("find the home folder", user, code);
    if (found == nullptr || found->pw_dir == nullptr || found->pw_dir[0] != '/') {
      return refusal("find the home folder", user, "the user database names none; set HOME");
    }
    return std::string(found->pw_dir);
  }
}

Result<std::string> below_home(const char* relative) {
  std::string path = AEGIS_TRY(home_folder());
  while (!path.empty() && path.back() == '/')
    path.pop_back();
  return path + relative;
}

/// Nothing to do when it is there; whether it is a folder shows when it is used.
Result<void> make_one_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0) {
    const int code = errno;
    if (code == EEXIST) return {};
    return Error{describe(code_error("make a folder", folder, code)) + kElsewhere};
  }
  const Fd parent = AEGIS_TRY(open_folder(folder_of(folder)));
  if (::fsync(parent.get()) != 0) return errno_error("fsync the folder of", folder);
  return {};
}

}  // namespace

Result<std::string> home_folder() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, and nobody here sets the environment
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home);
  return home_of_user();
}

Result<std::string> default_record_folder() {
  return below_home("/.local/state/aegis/records");
}

std::string quarantine_folder(const std::string& home) {
  return home + "/.local/state/aegis/quarantine";
}

std::string quarantine_of_run(const std::string& home, std::uint64_t run) {
  const std::time_t now = ::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &utc);
  std::string path = quarantine_folder(home) + "/";
  path.append(text.data(), size).append("-").append(std::to_string(::getpid()));
  if (run > 1) path.append("-").append(std::to_string(run));
  return path;
}

Result<std::string> default_key_path() {
  return below_home("/.config/aegis/signing.key");
}

Result<void> make_private_folder(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return {};
  for (std::size_t slash = folder.find('/', 1); slash != std::string::npos;
       slash = folder.find('/', slash + 1)) {
    const std::string above = folder.substr(0, slash);
    // A parent that is there may lie on a read-only or foreign file system, where mkdir says EROFS
    // or EACCES before EEXIST.
    if (::stat(above.c_str(), &status) == 0) continue;
    AEGIS_TRY(make_one_folder(above));
  }
  return make_one_folder(folder);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string base_name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

Result<Fd> open_folder(const std::string& path) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return errno_error("open the folder", path);
  return folder;
}

}  // namespace aegis::wrap
