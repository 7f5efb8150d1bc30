// SPDX-License-Identifier: Apache-2.0 OR MIT
// See root.h. The part between fork and exec allocates nothing: it walks what the plan holds.
#include "confine/root.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "confine/command.h"
#include "confine/mounts.h"

namespace aegis::confine {
namespace {

constexpr std::uint64_t kNoGain = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr mode_t kFolderMode = 0755;
constexpr mode_t kFileMode = 0644;
constexpr std::string_view kScratch = "/tmp";
constexpr std::uint64_t kShmShare = 8;  // /dev/shm has this part of what /tmp has
constexpr std::uint64_t kRootSize = 16ULL << 20U;

constexpr SetUp kDone{};

struct FixedLink {
  const char* path;
  const char* target;
};
constexpr std::array<FixedLink, 6> kFixedLinks{{{"dev/fd", "/proc/self/fd"},
                                                {"dev/stdin", "/proc/self/fd/0"},
                                                {"dev/stdout", "/proc/self/fd/1"},
                                                {"dev/stderr", "/proc/self/fd/2"},
                                                {"dev/ptmx", "pts/ptmx"},
                                                {"var/tmp", "/tmp"}}};

constexpr std::array<const char*, 8> kFixedFolders{
    "dev", "proc", "tmp", "etc", "run", "var", "dev/pts", "dev/shm"};

/// The whole of the host's files, read-only.
int copy_host(Fd& host) noexcept {
  const Fd whole(open_exactly(AT_FDCWD, "/"));
  return whole.is_open() ? copy_tree(whole.get(), kNoGain | MOUNT_ATTR_RDONLY, host) : errno;
}

/// `top` becomes `/`, and nothing leads back (pivot_root(2)).
int pivot_to(int top) noexcept {
  const bool is_done = ::fchdir(top) == 0 && ::syscall(SYS_pivot_root, ".", ".") == 0 &&
                       ::umount2(".", MNT_DETACH) == 0 && ::chdir("/") == 0;
  return is_done ? 0 : errno;
}

/// The relative form of an absolute path, for the *at calls.
const char* below(const std::string& path) noexcept {
  return path.c_str() + 1;
}

}  // namespace

RootPlan::RootPlan(const Spec& spec, User user) : spec_(spec) {
  plan_mounts();
  plan_folders();
  plan_files(user);
  plan_worker();
  scratch_options_[0] = std::to_string(spec.bounds.scratch);
  scratch_options_[1] = std::to_string(spec.bounds.new_files.value_or(0) + places_in_scratch());
  shm_size_ = std::to_string(spec.bounds.scratch / kShmShare);
  root_size_ = std::to_string(kRootSize + (spec.worker ? size_of_copy(spec.worker->copy) : 0));
}

/// What a tmpfs counts before the program makes its first file there: its root, and the way to each
/// grant in it.
std::uint64_t RootPlan::places_in_scratch() const {
  constexpr std::string_view kScratchFolder = "tmp/";
  std::uint64_t count = 1;
  for (const std::string& folder : folders_)
    count += std::string_view(folder).substr(0, kScratchFolder.size()) == kScratchFolder ? 1U : 0U;
  for (const Mount& mount : mounts_) {
    const bool is_own = !mount.is_directory && !mount.is_inside_mount;
    count += is_own && is_within(mount.path, "/tmp") ? 1U : 0U;
  }
  return count;
}

/// Grants add up: what lies in a granted tree has that tree's rights too.
void RootPlan::plan_mounts() {
  const std::vector<PathGrant>& grants = spec_.paths.paths;
  std::vector<Rights> effective(grants.size());
  for (std::size_t i = 0; i < grants.size(); ++i) {
    effective[i] = grants[i].rights;
    // All but the private /tmp is there already.
    bool is_inside = spec_.host_view && !is_within(grants[i].path, kScratch);
    bool adds_nothing = false;
    for (std::size_t j = 0; j < i; ++j) {
      if (!is_within(grants[i].path, grants[j].path)) continue;
      is_inside = true;
      effective[i].may_write |= effective[j].may_write;
      effective[i].may_execute |= effective[j].may_execute;
      // Of several around it the last is the nearest, and its rights hold all the others'.
      adds_nothing = effective[i] == effective[j];
    }
    if (adds_nothing) continue;
    std::uint64_t attributes = kNoGain;
    if (!effective[i].may_write) attributes |= MOUNT_ATTR_RDONLY;
    const bool may_execute = effective[i].may_execute || spec_.host_view;
    if (!may_execute) attributes |= MOUNT_ATTR_NOEXEC;
    mounts_.push_back({grants[i].path.c_str(),
                       grants[i].path.c_str(),
                       attributes,
                       grants[i].is_directory,
                       is_inside,
                       grants[i].id,
                       static_cast<std::uint16_t>(i)});
  }
}

/// `path` and all above it, once each.
void RootPlan::plan_folder(const std::string& path) {
  if (spec_.host_view && !is_within(path, kScratch)) return;
  std::vector<std::string> missing;
  for (std::string each = path; each != "/"; each = parent_of(each)) {
    if (spec_.paths.find(each) != nullptr && spec_.paths.find(each)->path != each) continue;
    missing.push_back(each.substr(1));
  }
  for (auto each = missing.rbegin(); each != missing.rend(); ++each) {
    if (std::find(folders_.begin(), folders_.end(), *each) == folders_.end())
      folders_.push_back(std::move(*each));
  }
}

void RootPlan::plan_folders() {
  for (const Mount& mount : mounts_) {
    if (mount.is_inside_mount) continue;
    plan_folder(mount.is_directory ? mount.path : parent_of(mount.path));
  }
  for (const LinkOnTheWay& link : spec_.paths.links) {
    if (spec_.paths.find(link.path) == nullptr) plan_folder(parent_of(link.path));
  }
  if (!spec_.home.empty() && spec_.paths.find(spec_.home) == nullptr) {
    plan_folder(spec_.home);
    is_home_made_ = !spec_.host_view;
  }
  if (spec_.paths.find(spec_.working_directory) == nullptr) plan_folder(spec_.working_directory);
}

/// One user is all that there is: itself, root, and the one that stands for every id of the host
/// that is not mapped.
void RootPlan::plan_files(User user) {
  const std::string home = spec_.home.empty() ? "/" : spec_.home;
  const std::string ids = std::to_string(user.uid) + ":" + std::to_string(user.gid);
  std::string passwd =
      "root:x:0:0:root:" + (user.uid == 0 ? home : std::string("/root")) + ":/bin/sh\n";
  std::string group = "root:x:0:\n";
  if (user.uid != 0) passwd += "user:x:" + ids + "::" + home + ":/bin/sh\n";
  if (user.gid != 0) group += "user:x:" + std::to_string(user.gid) + ":\n";
  constexpr uid_t kOverflow = 65534;  // /proc/sys/kernel/overflowuid
  if (user.uid != kOverflow) passwd += "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n";
  if (user.gid != kOverflow) group += "nogroup:x:65534:\n";
  files_.push_back({"etc/passwd", std::move(passwd)});
  files_.push_back({"etc/group", std::move(group)});
  files_.push_back({"etc/hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost\n"});
  files_.push_back({"etc/hostname", "sandbox\n"});
  // The resolver of egress.h, when there is one.
  files_.push_back(
      {"etc/resolv.conf",
       spec_.network == Network::granted ? "nameserver 127.0.0.1\noptions timeout:5\n" : ""});
  files_.push_back({"etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"});
  if (spec_.host_view || spec_.worker) files_.push_back({"etc/empty", {}});
  // One that was granted by a link, as systemd's resolv.conf is, comes with that link.
  const auto is_linked = [this](const File& file) {
    const auto& links = spec_.paths.links;
    return std::any_of(links.begin(), links.end(), [&file](const LinkOnTheWay& link) {
      return std::string_view(link.path).substr(1) == file.path;
    });
  };
  files_.erase(std::remove_if(files_.begin(), files_.end(), is_linked), files_.end());
}

/// On top of what is private: a grant may lie in /tmp.
SetUp RootPlan::make_places(int root) const noexcept {
  for (const std::string& folder : folders_) {
    if (::mkdirat(root, folder.c_str(), kFolderMode) != 0 && errno != EEXIST)
      return failed_at(Stage::new_root, errno);
  }
  for (const LinkOnTheWay& link : spec_.paths.links) {
    if (spec_.paths.find(link.path) != nullptr) continue;  // it comes with its tree
    if (::symlinkat(link.target.c_str(), root, below(link.path)) != 0 && errno != EEXIST)
      return failed_at(Stage::new_root, errno);
  }
  return kDone;
}

SetUp RootPlan::make_skeleton(int root) const noexcept {
  for (const char* folder : kFixedFolders) {
    if (::mkdirat(root, folder, kFolderMode) != 0) return failed_at(Stage::new_root, errno);
  }
  for (const FixedLink& link : kFixedLinks) {
    // /var/tmp is a folder when something in the host's is granted.
    if (std::find(folders_.begin(), folders_.end(), link.path) != folders_.end()) continue;
    if (::symlinkat(link.target, root, link.path) != 0) return failed_at(Stage::devices, errno);
  }
  for (const File& file : files_) {
    const Fd made(
        ::openat(root, file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kFileMode));
    if (!made.is_open()) return failed_at(Stage::new_root, errno);
    const auto size = static_cast<ssize_t>(file.text.size());
    if (::write(made.get(), file.text.data(), file.text.size()) != size)
      return failed_at(Stage::new_root, errno);
  }
  return kDone;
}

int RootPlan::mount_grant(int root, const Mount& mount) noexcept {
  const Fd source(open_exactly(AT_FDCWD, mount.path));
  if (!source.is_open()) return errno;
  struct stat status {};
  if (::fstat(source.get(), &status) != 0) return errno;
  // Another file under that name than the one that was resolved and checked.
  if (!(FileId{status.st_dev, status.st_ino} == mount.id)) return ESTALE;
  Fd tree;
  if (const int code = copy_tree(source.get(), mount.attributes, tree)) return code;
  if (!mount.is_directory && !mount.is_inside_mount) {
    const Fd point(
        ::openat(root, mount.place + 1, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode));
    if (!point.is_open()) return errno;
  }
  return attach_at(tree.get(), root, mount.place);
}

SetUp RootPlan::mount_grants(int root) const noexcept {
  for (const Mount& mount : mounts_) {
    if (const int code = mount_grant(root, mount))
      return failed_at(Stage::grant, code, mount.which);
  }
  return kDone;
}

/// A mount point can be neither renamed nor removed, and a read-only one not written: so first the
/// folders on the way, then what is in them.
SetUp RootPlan::mount_guards(int root) const noexcept {
  const auto remount = [root](const std::string& path, std::uint64_t attributes) noexcept {
    const Fd place(open_exactly(root, path.c_str()));
    if (!place.is_open()) return errno;
    Fd tree;
    if (const int code = copy_tree(place.get(), attributes, tree)) return code;
    return attach(tree.get(), place.get());
  };
  std::uint16_t which = 0;
  for (const std::string& path : spec_.self_bound) {
    if (const int code = remount(path, 0)) return failed_at(Stage::self_bind, code, which);
    ++which;
  }
  which = 0;
  for (const std::string& path : spec_.read_only) {
    if (const int code = remount(path, MOUNT_ATTR_RDONLY))
      return failed_at(Stage::read_only, code, which);
    ++which;
  }
  return kDone;
}

SetUp RootPlan::fill(int root, int top) const noexcept {
  SetUp done = make_skeleton(root);
  if (done.code == 0) done = mount_scratch(root);
  if (done.code == 0 && spec_.host_view) done = show_host(root, top);
  if (done.code == 0 && spec_.worker) done = copy_workspace(root);
  if (done.code == 0) done = make_places(top);
  if (done.code == 0) done = mount_grants(top);
  if (done.code == 0 && spec_.worker) done = bind_writable(root);
  if (done.code == 0 && spec_.host_view) done = hide(root, top, spec_.host_view->hidden);
  if (done.code == 0 && spec_.worker) done = hide(root, top, spec_.worker->hidden);
  if (done.code == 0) done = mount_guards(top);
  return done;
}

SetUp RootPlan::build() const noexcept {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return failed_at(Stage::private_mounts, errno);
  ::umask(0);
  Fd host;
  if (spec_.host_view) {
    if (const int code = copy_host(host)) return failed_at(Stage::host_view, code);
  }
  Fd root;
  const std::array<Option, 2> options{{{"mode", "0755"}, {"size", root_size_.c_str()}}};
  if (const int code = make_mount("tmpfs", options, kNoGain | own_attributes(), root))
    return failed_at(Stage::new_root, code);
  // On top of the old root: absolute names still lead into the old one, until the pivot.
  if (::move_mount(root.get(), "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return failed_at(Stage::new_root, errno);
  const int top = spec_.host_view ? host.get() : root.get();
  const SetUp filled = fill(root.get(), top);
  if (filled.code != 0) return filled;
  if (const int code = add_attributes(root.get(), MOUNT_ATTR_RDONLY))
    return failed_at(Stage::new_root, code);
  if (const int code = pivot_to(top)) return failed_at(Stage::pivot, code);
  constexpr mode_t kUsual = 022;
  ::umask(kUsual);
  return kDone;
}

SetUp RootPlan::seal_proc() noexcept {
  const Fd proc(open_exactly(AT_FDCWD, "/proc"));
  if (!proc.is_open()) return failed_at(Stage::proc, errno);
  if (const int code = add_attributes(proc.get(), MOUNT_ATTR_RDONLY))
    return failed_at(Stage::proc, code);
  return kDone;
}

int RootPlan::allow_home(const Ruleset& ruleset) const noexcept {
  if (!is_home_made_) return 0;
  const Fd home(open_exactly(AT_FDCWD, spec_.home.c_str()));
  return home.is_open() ? ruleset.allow_fd(home.get(), {}, Ruleset::Kind::directory) : errno;
}

}  // namespace aegis::confine
