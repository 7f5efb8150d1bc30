// SPDX-License-Identifier: Apache-2.0 OR MIT
// See cgroup.h. Files and their meaning: Documentation/admin-guide/cgroup-v2.rst and
// cgroup-v1/{memory,pids}.rst.
#include "confine/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

namespace aegis::confine {
namespace {

constexpr std::string_view kDoing = "make a cgroup";
using Setting = Cgroup::Setting;

/// All of a file in /proc or a cgroup; empty when it cannot be read. They have no size.
std::string read_all(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> piece{};
  constexpr std::size_t kLimit = std::size_t{1} << 24;  // mountinfo may be long
  while (file.is_open() && text.size() < kLimit) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  return text;
}

Result<void> write_setting(const std::string& folder, const Setting& setting) {
  const std::string path = folder + "/" + setting.file;
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT && setting.need == Setting::Need::optional) return {};
  if (!file.is_open()) return errno_error("open", path);
  const auto size = static_cast<ssize_t>(setting.value.size());
  if (::write(file.get(), setting.value.data(), setting.value.size()) != size)
    return errno_error("write", path);
  return {};
}

constexpr std::string_view kPrefix = "aegis-";
constexpr std::size_t kDigits = 16;

std::optional<std::string> random_name() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) return std::nullopt;
  std::array<char, kDigits + 1> digits{};
  static_cast<void>(std::snprintf(
      digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(number)));
  return std::string(kPrefix) + digits.data();
}

/// One that random_name() could have given.
bool is_name_of_ours(std::string_view name) {
  return name.starts_with(kPrefix) && name.size() == kPrefix.size() + kDigits &&
         name.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string_view::npos;
}

/// What whoever makes a cgroup, enters it or is to remove it has open, or shares. So a lock on it
/// (flock(2): it is the open file's, not the process's) is there as long as one of them lives.
Fd open_entrance(CgroupVersion version, const std::string& folder) {
  // Not cgroup.procs, which moves whole processes: the kernel waits until no process of the system
  // is being made or ended, 5 to 20 ms (cgroup_attach_lock in kernel/cgroup/cgroup.c).
  return version == CgroupVersion::v1
             ? Fd(::open((folder + "/tasks").c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW))
             : Fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

/// 0 or an errno: EWOULDBLOCK when another has it.
int lock(const Fd& entrance) {
  return ::flock(entrance.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
}

/// An aegis that was killed with all its processes has left its cgroups: the user's, empty, and
/// with a lock that nobody holds. What cannot be removed stays.
void remove_abandoned(CgroupVersion version, const std::string& parent) {
  const std::unique_ptr<DIR, int (*)(DIR*)> names(::opendir(parent.c_str()), &::closedir);
  while (const dirent* const entry = names ? ::readdir(names.get()) : nullptr) {
    if (!is_name_of_ours(entry->d_name)) continue;
    const std::string folder = parent + "/" + entry->d_name;
    struct stat status {};
    if (::lstat(folder.c_str(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    const Fd entrance = open_entrance(version, folder);
    // Empty is what rmdir asks of it: no process, and no cgroup in it.
    if (entrance.is_open() && lock(entrance) == 0) static_cast<void>(::rmdir(folder.c_str()));
  }
}

void pause_shortly() {
  constexpr long kPause = 5'000'000;  // nanoseconds
  const timespec pause{0, kPause};
  static_cast<void>(::nanosleep(&pause, nullptr));
}

/// The bounds that are wanted, as each version has them.
struct Wanted {
  std::string_view controller;
  std::vector<Setting> v1;
  std::vector<Setting> v2;
};

Wanted wanted_memory(std::uint64_t bytes) {
  const std::string most = std::to_string(bytes);
  // Swap beside it would be memory, too. Not there: no swap, or not counted (swapaccount=0).
  return {"memory",
          {{"memory.limit_in_bytes", most},
           {"memory.memsw.limit_in_bytes", most, Setting::Need::optional}},
          {{"memory.max", most}, {"memory.swap.max", "0", Setting::Need::optional}}};
}

Wanted wanted_processes(std::uint64_t processes) {
  // One more: the sandbox's own first process.
  const std::string most = std::to_string(processes + 1);
  return {"pids", {{"pids.max", most}}, {{"pids.max", most}}};
}

/// The nearest cgroup, from our own upwards, in which a new one gets the controllers. Ours never
/// does while we are in it (cgroup-v2.rst: no internal process constraint), but where a service
/// manager has delegated a part of the tree, the one above does.
std::optional<std::string> parent_for(const CgroupPlace& place, const std::vector<Wanted>& wanted) {
  std::string folder = place.folder;
  for (;;) {
    std::string given = read_all(folder + "/cgroup.subtree_control");
    if (given.ends_with('\n')) given.pop_back();
    bool has_all = true;
    for (const Wanted& each : wanted)
      has_all = has_all && has_word(given, each.controller, ' ');
    // Who moves a process must be allowed to at the nearest cgroup above both places.
    if (has_all && ::access(folder.c_str(), W_OK) == 0 &&
        ::access((folder + "/cgroup.procs").c_str(), W_OK) == 0)
      return folder;
    if (folder == place.mount_point) return std::nullopt;
    folder.resize(folder.rfind('/'));
  }
}

Result<Cgroup> make_v2(const std::vector<Wanted>& wanted,
                       std::string_view cgroups,
                       std::string_view mounts) {
  const std::optional<CgroupPlace> place = find_cgroup_v2(cgroups, mounts);
  if (!place) return refusal(kDoing, "v2", "there is none that this process is in");
  const std::optional<std::string> parent = parent_for(*place, wanted);
  if (!parent) {
    return refusal(
        kDoing,
        place->folder,
        "no part of the tree with its controllers is delegated to this user; start aegis "
        "with `systemd-run --user --scope`, or as root");
  }
  std::vector<Setting> settings;
  for (const Wanted& each : wanted)
    settings.insert(settings.end(), each.v2.begin(), each.v2.end());
  return Cgroup::make(CgroupVersion::v2, *parent, settings);
}

Result<Cgroup> make_v1(const Wanted& wanted, std::string_view cgroups, std::string_view mounts) {
  const std::optional<CgroupPlace> place = find_cgroup_v1(wanted.controller, cgroups, mounts);
  if (!place) return refusal(kDoing, wanted.controller, "there is no such controller");
  return Cgroup::make(CgroupVersion::v1, place->folder, wanted.v1);
}

}  // namespace

Result<Cgroup> Cgroup::make_empty(CgroupVersion version, const std::string& parent) {
  constexpr int kAttempts = 16;
  for (int i = 0; i < kAttempts; ++i) {
    const std::optional<std::string> name = random_name();
    if (!name) return errno_error(kDoing, parent);
    std::string path = parent + "/" + *name;
    constexpr mode_t kMode = 0755;
    if (::mkdir(path.c_str(), kMode) != 0) return errno_error(kDoing, parent);
    Cgroup made(version, std::move(path));
    made.entrance_ = open_entrance(version, made.path_);
    const int code = made.entrance_.is_open() ? lock(made.entrance_) : errno;
    // Until it is locked another aegis can take it for abandoned; from then on none does.
    const bool is_taken = code == ENOENT || code == ENODEV || code == EWOULDBLOCK;
    if (is_taken || ::access(made.path_.c_str(), F_OK) != 0) continue;
    if (!made.entrance_.is_open()) return code_error(kDoing, made.path_, code);
    return made;
  }
  return refusal(kDoing, parent, "each one that was made was removed by another process at once");
}

Result<Cgroup> Cgroup::make(CgroupVersion version,
                            const std::string& parent,
                            const std::vector<Setting>& settings) {
  remove_abandoned(version, parent);
  Cgroup made = AEGIS_TRY(make_empty(version, parent));
  for (const Setting& setting : settings)
    AEGIS_TRY(write_setting(made.path_, setting));
  return made;
}

Cgroup::Cgroup(Cgroup&& other) noexcept
    : version_(other.version_),
      path_(std::exchange(other.path_, {})),
      entrance_(std::move(other.entrance_)) {}

Cgroup& Cgroup::operator=(Cgroup&& other) noexcept {
  std::swap(version_, other.version_);
  std::swap(path_, other.path_);
  std::swap(entrance_, other.entrance_);
  return *this;
}

Cgroup::~Cgroup() {
  remove();
}

std::optional<int> Cgroup::birthplace() const noexcept {
  if (version_ != CgroupVersion::v2) return std::nullopt;
  return entrance_.get();
}

int Cgroup::enter() const noexcept {
  if (version_ == CgroupVersion::v2) return 0;
  // "0" is who writes.
  return ::write(entrance_.get(), "0", 1) == 1 ? 0 : errno;
}

std::uint64_t Cgroup::count(const char* file, std::string_view key) const {
  const std::string text = read_all(path_ + "/" + file);
  const std::string wanted = std::string(key) + " ";
  std::size_t at = text.starts_with(wanted) ? 0 : text.find("\n" + wanted);
  if (at == std::string::npos) return 0;
  if (text[at] == '\n') ++at;
  std::uint64_t number = 0;
  std::from_chars(text.data() + at + wanted.size(), text.data() + text.size(), number);
  return number;
}

bool Cgroup::remove() {
  if (path_.empty()) return true;
  entrance_.reset();
  constexpr int kAttempts = 100;
  for (int i = 0; i < kAttempts; ++i) {
    if (::rmdir(path_.c_str()) == 0 || errno == ENOENT) {
      path_.clear();
      return true;
    }
    if (errno != EBUSY) return false;
    // Linux 5.14. v1 has nothing that kills a process without the risk of another with its number.
    if (version_ == CgroupVersion::v2 && i == 0)
      static_cast<void>(write_setting(path_, {"cgroup.kill", "1", Setting::Need::optional}));
    pause_shortly();
  }
  return false;
}

Cgroups Cgroups::make(const Bounds& bounds) {
  Cgroups made;
  std::vector<Wanted> wanted;
  if (bounds.is_memory_asked_for)
    wanted.push_back(wanted_memory(bounds.memory + bounds.memory_beside));
  if (bounds.is_processes_asked_for) wanted.push_back(wanted_processes(bounds.processes));
  if (wanted.empty()) return made;
  const std::string cgroups = read_all("/proc/self/cgroup");
  const std::string mounts = read_all("/proc/self/mountinfo");
  // Together where that is possible, else each where it can be had.
  if (Result<Cgroup> both = make_v2(wanted, cgroups, mounts)) {
    for (const Wanted& each : wanted)
      made.note(each.controller, CgroupVersion::v2);
    made.all_.push_back(std::move(both).value());
    return made;
  }
  for (const Wanted& each : wanted) {
    const bool is_v1 = find_cgroup_v1(each.controller, cgroups, mounts).has_value();
    Result<Cgroup> one = is_v1 ? make_v1(each, cgroups, mounts) : make_v2({each}, cgroups, mounts);
    if (!one) {
      made.missing_.push_back(one.error());
      continue;
    }
    made.note(each.controller, one->version());
    made.all_.push_back(std::move(one).value());
  }
  return made;
}

void Cgroups::note(std::string_view controller, CgroupVersion version) {
  if (controller == "pids") has_processes_ = true;
  if (controller != "memory") return;
  memory_ = version == CgroupVersion::v2 ? MemoryBound::cgroup_v2 : MemoryBound::cgroup_v1;
}

std::optional<int> Cgroups::birthplace() const noexcept {
  for (const Cgroup& each : all_) {
    if (const std::optional<int> one = each.birthplace()) return one;
  }
  return std::nullopt;
}

int Cgroups::enter() const noexcept {
  for (const Cgroup& each : all_) {
    if (const int code = each.enter()) return code;
  }
  return 0;
}

std::vector<int> Cgroups::descriptors() const {
  std::vector<int> numbers;
  for (const Cgroup& each : all_)
    numbers.push_back(each.descriptor());
  return numbers;
}

std::uint64_t Cgroups::memory_kills() const {
  std::uint64_t kills = 0;
  for (const Cgroup& each : all_) {
    // The one without the controller has no such file. v1 counts since Linux 4.13.
    const bool is_v2 = each.version() == CgroupVersion::v2;
    kills += each.count(is_v2 ? "memory.events" : "memory.oom_control", "oom_kill");
  }
  return kills;
}

Result<void> Cgroups::remove() {
  for (Cgroup& each : all_) {
    if (!each.remove())
      return refusal(
          "remove the cgroup", each.path(), "processes are still in it; remove it by rmdir");
  }
  all_.clear();
  return {};
}

}  // namespace aegis::confine
