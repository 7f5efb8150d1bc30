// SPDX-License-Identifier: Apache-2.0 OR MIT
// See guard_watch.h.
#include "confine/guard_watch.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "confine/beneath.h"
#include "confine/guard_book.h"

namespace aegis::confine {
namespace {

/// Everything that can put a name into a folder or take one away. IN_ONLYDIR: nothing else is
/// watched by mistake.
constexpr std::uint32_t kEvents =
    IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_ONLYDIR;

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// Gives the owner all rights to a folder. The program may have taken them, to hide what it does
/// there until it gives them back itself. False when that was not it, or when it is not ours to do;
/// then it was not the program's either.
bool open_up(int path_fd) {
  struct stat status {};
  constexpr mode_t kAll = 0700;
  constexpr mode_t kBits = 07777;
  if (::fstat(path_fd, &status) != 0 || (status.st_mode & kAll) == kAll) return false;
  return ::chmod(path_of_fd(path_fd).c_str(), (status.st_mode & kBits) | kAll) == 0;
}

/// What stands under `name` in `parent`. False: nothing.
bool look_at(int parent, const std::string& name, struct stat& status) {
  const auto look = [&] {
    return ::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  };
  return look() || (errno == EACCES && open_up(parent) && look());
}

}  // namespace

std::string describe(const GuardFinding& finding) {
  switch (finding.kind) {
    case GuardFinding::Kind::moved:
      return "guard: " + finding.path + " appeared and was moved to " + finding.moved_to;
    case GuardFinding::Kind::stuck:
      return "guard: " + finding.path +
             " appeared and cannot be moved away: " + std::strerror(finding.code) +
             "; look at it before another program does";
    case GuardFinding::Kind::blind:
      return "guard: " + finding.path + " cannot be watched: " + std::strerror(finding.code);
    case GuardFinding::Kind::replaced:
      return "guard: " + finding.path +
             " was replaced or removed outside of the sandbox, and its protection with it";
  }
  return {};
}

GuardWatch::GuardWatch(GuardPlan plan, std::string quarantine)
    : plan_(std::move(plan)), quarantine_(std::move(quarantine)) {
  std::vector<std::string> names{""};
  const auto add = [&names](const std::string& name) {
    for (std::string each = folder_of(name); !each.empty(); each = folder_of(each))
      if (!has(names, each)) names.push_back(each);
  };
  for (const std::string& name : plan_.absent)
    add(name);
  for (const GuardPlan::Held& held : plan_.read_only)
    add(held.name);
  for (const GuardPlan::Held& held : plan_.self_bound)
    add(held.name);
  std::sort(names.begin(), names.end());  // a folder before what is in it
  for (std::string& name : names)
    folders_.push_back({std::move(name)});
}

Result<GuardWatch> GuardWatch::start(GuardPlan plan, std::string quarantine) {
  constexpr std::string_view kDoing = "watch";
  GuardWatch watch(std::move(plan), std::move(quarantine));
  watch.inotify_ = Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!watch.inotify_.is_open()) {
    if (errno == EMFILE) {
      return refusal(
          kDoing,
          watch.plan_.folder,
          "too many inotify instances of this user; raise fs.inotify.max_user_instances");
    }
    return errno_error(kDoing, watch.plan_.folder);
  }
  for (Folder& folder : watch.folders_) {
    if (const int code = watch.arm_folder(folder))
      return code_error(kDoing, join(watch.plan_.folder, folder.name), code);
  }
  return watch;
}

/// Again and again: a folder of that name may be another one by now.
void GuardWatch::arm(std::vector<GuardFinding>& findings) {
  for (Folder& folder : folders_) {
    if (const int code = arm_folder(folder))
      tell_once({GuardFinding::Kind::blind, join(plan_.folder, folder.name), {}, code}, findings);
  }
}

/// 0 or an errno; a folder that is not there is none.
int GuardWatch::arm_folder(Folder& folder) const {
  const Fd fd = open_beneath(plan_.root.get(), folder.name, O_PATH | O_DIRECTORY);
  int watch = -1;
  int code = 0;
  if (fd.is_open()) {
    const std::string path = path_of_fd(fd.get());
    const auto add = [&] { return ::inotify_add_watch(inotify_.get(), path.c_str(), kEvents); };
    watch = add();  // the same number for the same folder
    if (watch < 0 && errno == EACCES && open_up(fd.get())) watch = add();
    code = watch < 0 ? errno : 0;
  }
  // What once had this name must not use up the user's share of watches.
  if (folder.watch >= 0 && folder.watch != watch)
    static_cast<void>(::inotify_rm_watch(inotify_.get(), folder.watch));
  folder.watch = watch;
  return code;
}

void GuardWatch::drain() const {
  constexpr std::size_t kPiece = 16384;
  std::array<char, kPiece> events;
  // Bounded: a program that makes events as fast as they are read must not keep us here.
  constexpr int kPieces = 64;
  for (int i = 0; i < kPieces; ++i) {
    if (::read(inotify_.get(), events.data(), events.size()) <= 0) return;
  }
}

std::vector<GuardFinding> GuardWatch::on_event() {
  drain();
  std::vector<GuardFinding> findings;
  // Until there is nothing more, but not for ever: what comes later rings again.
  constexpr int kLooks = 4;
  for (int i = 0; i < kLooks; ++i) {
    arm(findings);  // first: what appears from here on rings
    std::vector<GuardFinding> more = look();
    if (more.empty()) break;
    std::move(more.begin(), more.end(), std::back_inserter(findings));
  }
  return findings;
}

std::vector<GuardFinding> GuardWatch::look() {
  std::vector<GuardFinding> findings;
  for (const std::string& name : plan_.absent)
    look_for(name, findings);
  for (const GuardPlan::Held& held : plan_.self_bound)
    compare(held, findings);
  for (const GuardPlan::Held& held : plan_.read_only)
    compare(held, findings);
  return findings;
}

/// Goes to the name by folders only. A link on the way was not there at start (those that were are
/// held, and names behind them are booked by where they lead): it goes itself.
void GuardWatch::look_for(const std::string& name, std::vector<GuardFinding>& findings) {
  const std::vector<std::string> parts = split_path(name);
  Fd parent = open_beneath(plan_.root.get(), "", O_PATH | O_DIRECTORY);
  for (std::size_t i = 0; parent.is_open() && i < parts.size(); ++i) {
    struct stat status {};
    if (!look_at(parent.get(), parts[i], status)) return;
    const bool is_last = i + 1 == parts.size();
    if (!is_last && S_ISDIR(status.st_mode)) {
      parent = Fd(
          ::openat(parent.get(), parts[i].c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      continue;
    }
    if (!is_last && !S_ISLNK(status.st_mode)) return;
    std::string path = plan_.folder;
    for (std::size_t j = 0; j <= i; ++j)
      path = join(path, parts[j]);
    move_away({plan_.root.get(), plan_.folder, parent.get(), parts[i]}, path, findings);
    return;
  }
}

void GuardWatch::move_away(const Quarantine::Source& source,
                           const std::string& path,
                           std::vector<GuardFinding>& findings) {
  Quarantine::Outcome outcome = quarantine_.move(source);
  if (outcome.code == ENOENT) return;  // it has gone by itself
  if (outcome.code != 0)
    return tell_once({GuardFinding::Kind::stuck, path, {}, outcome.code}, findings);
  ++moved_;
  findings.push_back({GuardFinding::Kind::moved, path, std::move(outcome.moved_to)});
}

void GuardWatch::tell_once(GuardFinding finding, std::vector<GuardFinding>& findings) {
  if (has(told_, finding.path)) return;
  told_.push_back(finding.path);
  findings.push_back(std::move(finding));
}

void GuardWatch::compare(const GuardPlan::Held& held, std::vector<GuardFinding>& findings) {
  const std::optional<struct stat> status = look_beneath(plan_.root.get(), held.name);
  if (status && id_of(*status) == held.id) return;
  tell_once({GuardFinding::Kind::replaced, join(plan_.folder, held.name)}, findings);
}

std::vector<GuardFinding> GuardWatch::finish() {
  std::vector<GuardFinding> findings = look();
  plan_.common_dirs.clear();
  return findings;
}

}  // namespace aegis::confine
