// SPDX-License-Identifier: Apache-2.0 OR MIT
// Seeds on disk. A new one is written aside under a name of its own and linked into place: link(2)
// fails when the name is taken, so the first of several makers wins, and nobody sees half a file.
#include "wrap/key_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <span>
#include <utility>

#include "wrap/places.h"
#include "wrap/read_file.h"

namespace aegis::wrap {
namespace {

using confine::errno_error;
using confine::Fd;
using confine::refusal;
using confine::Result;

constexpr std::string_view kReading = "read the signing key";
constexpr std::string_view kMaking = "make the signing key";
constexpr std::size_t kMaxKeyText = 66;  // 64 digits, a newline, and one too many

Result<void> fill_random(std::span<std::uint8_t> bytes) {
  // At most 256 bytes come whole or not at all (getrandom(2)); only a signal before the kernel's
  // pool is ready interrupts.
  for (;;) {
    const ssize_t count = ::getrandom(bytes.data(), bytes.size(), 0);
    if (count == static_cast<ssize_t>(bytes.size())) return {};
    if (count >= 0 || errno != EINTR) return errno_error("get random bytes");
  }
}

Result<void> write_all(const Fd& file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(kMaking, path);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

/// A file under a name that nobody else uses, gone again when this ends.
class Aside {
 public:
  static Result<Aside> make(const std::string& path) {
    std::array<std::uint8_t, 8> random{};
    AEGIS_TRY(fill_random(random));
    std::string name = path + ".";
    for (const std::uint8_t byte : random) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      name += kDigits[byte >> 4];
      name += kDigits[byte & 0x0F];
    }
    Fd file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open()) return errno_error(kMaking, path);
    return Aside(std::move(name), std::move(file));
  }
  Aside(Aside&& other) noexcept
      : name_(std::exchange(other.name_, {})), file_(std::move(other.file_)) {}
  Aside& operator=(Aside&&) = delete;
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  ~Aside() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  [[nodiscard]] const Fd& file() const { return file_; }

  Result<void> put_at(const std::string& path, Existing existing) {
    if (existing == Existing::keep) {
      if (::link(name_.c_str(), path.c_str()) != 0) return errno_error(kMaking, path);
      return {};
    }
    if (::rename(name_.c_str(), path.c_str()) != 0) return errno_error(kMaking, path);
    name_.clear();
    return {};
  }

 private:
  Aside(std::string name, Fd file) : name_(std::move(name)), file_(std::move(file)) {}

  std::string name_;  // empty once it is somewhere else
  Fd file_;
};

Result<void> write_seed(const Fd& file, const audit::Seed& seed, const std::string& path) {
  std::string text = audit::encode_seed(seed);
  Result<void> written = write_all(file, text, path);
  audit::wipe(text);
  if (!written) return written;
  if (::fsync(file.get()) != 0) return errno_error(kMaking, path);
  return {};
}

Result<void> store_seed(const audit::Seed& seed, const std::string& path, Existing existing) {
  Aside aside = AEGIS_TRY(Aside::make(path));
  AEGIS_TRY(write_seed(aside.file(), seed, path));
  const Fd folder = AEGIS_TRY(open_folder(folder_of(path)));
  AEGIS_TRY(aside.put_at(path, existing));
  if (::fsync(folder.get()) != 0) return errno_error("fsync the folder of", path);
  return {};
}

/// The permissions as chmod(1) takes them.
std::string octal(mode_t mode) {
  std::array<char, 8> text{};
  const int size = std::snprintf(text.data(), text.size(), "%04o", mode & 07777U);
  return std::string(text.data(), static_cast<std::size_t>(size));
}

/// What --force may replace: a key, nothing else. As root a slip would cost /dev/null.
Result<void> check_replaceable(const std::string& path) {
  constexpr std::string_view kOnlyKeys =
      "; only a key is replaced: remove it yourself, or name another path";
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return errno_error(kMaking, path);
  }
  if (!S_ISREG(status.st_mode)) {
    return refusal(kMaking, path, "it is no regular file" + std::string(kOnlyKeys));
  }
  const Fd file = AEGIS_TRY(open_regular(kMaking, path));
  std::string text = AEGIS_TRY(read_up_to(file, {kMaking, path, kMaxKeyText}));
  const bool is_key = audit::parse_seed(text).has_value();
  audit::wipe(text);
  if (!is_key) return refusal(kMaking, path, "it holds no key" + std::string(kOnlyKeys));
  return {};
}

Result<OpenedKey> open_default_key() {
  std::string path = AEGIS_TRY(default_key_path());
  Result<audit::SigningKey> found = read_key_file(path);
  if (found) return OpenedKey{std::move(found).value(), std::move(path)};
  if (found.error().code != ENOENT) return std::move(found).error();

  AEGIS_TRY(make_private_folder(folder_of(path)));
  Result<audit::SigningKey> made = make_key_file(path, Existing::keep);
  if (made) return OpenedKey{std::move(made).value(), std::move(path), /*is_new=*/true};
  if (made.error().code != EEXIST) return std::move(made).error();
  audit::SigningKey winner = AEGIS_TRY(read_key_file(path));
  return OpenedKey{std::move(winner), std::move(path)};
}

}  // namespace

Result<audit::SigningKey> read_key_file(const std::string& path) {
  const Fd file = AEGIS_TRY(open_regular(kReading, path));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return errno_error(kReading, path);
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return refusal(kReading,
                   path,
                   "group or others can use it (mode " + octal(status.st_mode) +
                       "); if nobody else has seen it, run: chmod 600 " + path);
  }
  std::string text = AEGIS_TRY(read_up_to(file, {kReading, path, kMaxKeyText}));
  std::optional<audit::Seed> seed = audit::parse_seed(text);
  audit::wipe(text);
  if (!seed) {
    return refusal(kReading,
                   path,
                   "it is no key: expected 64 lower-case hex digits and a newline; make one with: "
                   "aegis keygen --out PATH");
  }
  audit::SigningKey key(*seed);
  audit::wipe(*seed);
  return key;
}

Result<audit::SigningKey> make_key_file(const std::string& path, Existing existing) {
  if (existing == Existing::replace) AEGIS_TRY(check_replaceable(path));
  audit::Seed seed{};
  AEGIS_TRY(fill_random(seed));
  if (Result<void> stored = store_seed(seed, path, existing); !stored) {
    audit::wipe(seed);
    return std::move(stored).error();
  }
  audit::SigningKey key(seed);
  audit::wipe(seed);
  return key;
}

Result<audit::SigningKey> read_named_key(const std::string& path) {
  Result<audit::SigningKey> found = read_key_file(path);
  if (found || found.error().code != ENOENT) return found;
  return refusal(
      kReading, path, "No such file or directory; make it with: aegis keygen --out " + path);
}

std::string encode_public_half(const audit::PublicKey& key) {
  return "public_key " + audit::to_hex(key) + "\nkey_id     " + audit::to_hex(key.id().bytes) +
         "\n";
}

Result<OpenedKey> open_key(const std::optional<std::string>& path) {
  if (!path) return open_default_key();
  audit::SigningKey key = AEGIS_TRY(read_named_key(*path));
  return OpenedKey{std::move(key), *path};
}

}  // namespace aegis::wrap
