// SPDX-License-Identifier: Apache-2.0 OR MIT
// The Landlock ruleset, by its three system calls: glibc wraps none of them. What to allow is the
// grants' matter, what exists the root's.
#include "confine/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "confine/mounts.h"

// What came after the linux/landlock.h of Debian 12, which ends at REFER. Documented in
// Documentation/userspace-api/landlock.rst, by ABI version.
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)  // ABI 3, Linux 6.2
#endif
#ifndef LANDLOCK_ACCESS_NET_BIND_TCP
#define LANDLOCK_ACCESS_NET_BIND_TCP (1ULL << 0)     // ABI 4, Linux 6.7
#define LANDLOCK_ACCESS_NET_CONNECT_TCP (1ULL << 1)  // ABI 4, Linux 6.7
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)  // ABI 5, Linux 6.10
#endif
#ifndef LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)  // ABI 6, Linux 6.12
#define LANDLOCK_SCOPE_SIGNAL (1ULL << 1)                // ABI 6, Linux 6.12
#endif
#ifndef LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF
#define LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF (1U << 2)  // ABI 7, Linux 6.15
#endif

namespace aegis::confine {
namespace {

/// struct landlock_ruleset_attr as of ABI 6. The kernel takes the shorter ones of its predecessors
/// too, and refuses a longer one than it knows unless what it does not know is zero (E2BIG).
struct RulesetAttribute {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;  // ABI 4
  std::uint64_t scoped = 0;              // ABI 6
};
static_assert(sizeof(RulesetAttribute) == 24);

constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
// No device nodes, which need a capability that nobody has here.
constexpr std::uint64_t kWrite = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |
                                 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                 LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER;
/// Those that the kernel takes for what is no directory: others are EINVAL there (ACCESS_FILE in
/// security/landlock/fs.c).
constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                   LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |
                                   LANDLOCK_ACCESS_FS_IOCTL_DEV;

/// All that an ABI can refuse about files.
constexpr std::uint64_t file_rights(int abi) {
  std::uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1U) - 1;  // ABI 1, Linux 5.13
  if (abi >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;                // Linux 5.19
  if (abi >= 3) rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
  if (abi >= 5) rights |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
  return rights;
}
static_assert((kRead | kWrite | kOfFiles | LANDLOCK_ACCESS_FS_MAKE_CHAR |
               LANDLOCK_ACCESS_FS_MAKE_BLOCK) == file_rights(5));

RulesetAttribute attribute_for(const Ruleset::Options& options) {
  RulesetAttribute attribute;
  attribute.handled_access_fs = file_rights(options.abi);
  if (options.files == Ruleset::Files::mounted)
    attribute.handled_access_fs &= LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_WRITE_FILE;
  if (options.abi >= 4 && options.network != Network::unconfined) {
    attribute.handled_access_net = LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP;
  }
  if (options.abi >= 6) {
    attribute.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL;
  }
  return attribute;
}

/// How much of the attribute an ABI knows.
std::size_t size_for(int abi) {
  if (abi >= 6) return sizeof(RulesetAttribute);
  if (abi >= 4) return offsetof(RulesetAttribute, scoped);
  return offsetof(RulesetAttribute, handled_access_net);
}

/// Not every device: one that is granted for reading is not for giving it orders.
Ruleset::Kind kind_of(const struct stat& status, Rights rights) {
  if (S_ISDIR(status.st_mode)) return Ruleset::Kind::directory;
  const bool is_device = S_ISCHR(status.st_mode) && rights.may_write;
  return is_device ? Ruleset::Kind::device : Ruleset::Kind::file;
}

}  // namespace

int landlock_abi() noexcept {
  const long abi =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

Result<Ruleset> Ruleset::make(const Options& options) {
  if (options.abi < 1) {
    return refusal("make a Landlock ruleset", "this kernel has none", "run `aegis doctor`");
  }
  const RulesetAttribute attribute = attribute_for(options);
  Ruleset made;
  made.fd_ = Fd(static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &attribute, size_for(options.abi), 0)));
  if (!made.fd_.is_open()) return errno_error("landlock_create_ruleset");
  made.handled_ = attribute.handled_access_fs;
  // A program that makes rulesets of its own must not fill the host's audit log with them.
  if (options.abi >= 7) made.restrict_flags_ = LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF;
  return made;
}

Result<void> Ruleset::allow(const std::vector<PathGrant>& grants) {
  for (const PathGrant& grant : grants) {
    const Fd path(open_exactly(AT_FDCWD, grant.path.c_str()));
    if (!path.is_open()) return errno_error("open to grant", grant.path);
    struct stat status = {};
    if (::fstat(path.get(), &status) < 0) return errno_error("fstat", grant.path);
    if (FileId{status.st_dev, status.st_ino} != grant.id) {
      return refusal("grant", grant.path, "another file has taken its place; start again");
    }
    const int code = allow_fd(path.get(), grant.rights, kind_of(status, grant.rights));
    if (code != 0) return code_error("landlock_add_rule", grant.path, code);
  }
  return {};
}

int Ruleset::allow_fd(int path_fd, Rights rights, Kind kind) const noexcept {
  std::uint64_t access = kRead;
  if (rights.may_write) access |= kWrite;
  if (rights.may_execute) access |= LANDLOCK_ACCESS_FS_EXECUTE;
  if (kind == Kind::device) access |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
  if (kind != Kind::directory) access &= kOfFiles;
  return add(path_fd, access);
}

int Ruleset::allow_moves(int path_fd) const noexcept {
  return add(path_fd, LANDLOCK_ACCESS_FS_REFER);
}

int Ruleset::add(int path_fd, std::uint64_t access) const noexcept {
  landlock_path_beneath_attr rule = {};
  rule.allowed_access = access & handled_;  // of the others the kernel says EINVAL
  if (rule.allowed_access == 0) return 0;   // all is allowed already; the kernel says ENOMSG
  rule.parent_fd = path_fd;
  const long added =
      ::syscall(SYS_landlock_add_rule, fd_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  return added == 0 ? 0 : errno;
}

int Ruleset::enforce() const noexcept {
  const long enforced = ::syscall(SYS_landlock_restrict_self, fd_.get(), restrict_flags_);
  return enforced == 0 ? 0 : errno;
}

}  // namespace aegis::confine
