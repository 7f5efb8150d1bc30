// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where cgroups are found, and that one bounds all processes in it together and leaves nothing
// behind. What this machine cannot have is a skip with its reason.
#include "confine/cgroup.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "confine/cgroup_place.h"
#include "confine/process.h"

namespace aegis::confine {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20U;

std::string file_text(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// The wait status of a process that enters `cgroups` and does `work`.
template <class Group>
int run_inside(const Group& group, const std::function<int()>& work) {
  const pid_t pid = clone_process(0, group.birthplace());
  REQUIRE(pid >= 0);
  if (pid == 0) {
    if (group.enter() != 0) ::_exit(90);
    ::_exit(work());
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return status;
}

/// Takes so much memory that it is there, and keeps it.
char* hold_memory(std::uint64_t bytes) {
  auto* const block = static_cast<char*>(std::malloc(bytes));
  if (block == nullptr) ::_exit(91);
  std::memset(block, 1, bytes);
  return block;
}

/// The only one there is, or nothing and a counted skip.
std::optional<Cgroups> made(const Bounds& bounds) {
  Cgroups cgroups = Cgroups::make(bounds);
  if (cgroups.missing().empty()) return cgroups;
  std::printf("skipped: cgroup: %s\n", describe(cgroups.missing().front()).c_str());
  return std::nullopt;
}

}  // namespace

TEST_CASE("our cgroups are found in what the kernel says") {
  constexpr std::string_view kMixed =
      "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:7 master:1 - cgroup cgroup rw,memory\n"
      "36 31 0:33 /docker/7 /sys/fs/cgroup/cpu\\040pids rw - cgroup cgroup rw,cpu,pids\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  constexpr std::string_view kOurs =
      "12:cpu,pids:/docker/7/x\n4:memory:/a/b:c\n1:name=systemd:/s\n0::/user.slice/u.scope\n";
  using Place = CgroupPlace;
  CHECK(find_cgroup_v2(kOurs, kMixed) == Place{CgroupVersion::v2,
                                               "/sys/fs/cgroup/unified",
                                               "/sys/fs/cgroup/unified/user.slice/u.scope"});
  CHECK(find_cgroup_v1("memory", kOurs, kMixed) ==
        Place{CgroupVersion::v1, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/a/b:c"});
  CHECK(find_cgroup_v1("pids", kOurs, kMixed) ==
        Place{CgroupVersion::v1, "/sys/fs/cgroup/cpu pids", "/sys/fs/cgroup/cpu pids/x"});
  CHECK_FALSE(find_cgroup_v1("io", kOurs, kMixed));
  CHECK_FALSE(find_cgroup_v1("memor", kOurs, kMixed));
  // At the root, outside of what is mounted, and where the kernel says nothing.
  CHECK(find_cgroup_v2("0::/\n", kMixed)->folder == "/sys/fs/cgroup/unified");
  CHECK_FALSE(find_cgroup_v1("pids", "2:pids:/docker/77\n", kMixed));
  CHECK_FALSE(find_cgroup_v2("0::/../x\n", kMixed));
  CHECK_FALSE(find_cgroup_v2("", kMixed));
  CHECK_FALSE(find_cgroup_v2(kOurs, "garbage\n\n1 2 3 - cgroup2\n"));
}

TEST_CASE("nothing is made when nothing is asked for") {
  const Cgroups cgroups = Cgroups::make(Bounds{});
  CHECK(cgroups.missing().empty());
  CHECK(cgroups.memory() == MemoryBound::per_process);
  CHECK_FALSE(cgroups.has_processes());
  CHECK(cgroups.enter() == 0);
}

/// Three that want more together than there is. Nobody but the kernel ends one of them.
int be_greedy() {
  pid_t pids[3] = {};
  for (pid_t& pid : pids) {
    pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      hold_memory(28 * kMiB);
      for (;;)
        ::pause();
    }
  }
  // Nobody but the kernel ends one of them.
  int status = 0;
  const pid_t ended = ::wait(&status);
  for (const pid_t pid : pids) {
    if (pid != ended) ::kill(pid, SIGKILL);
  }
  while (::wait(nullptr) > 0) {
  }
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : 92;
}

TEST_CASE("processes that want more memory together than there is are killed by the kernel") {
  Bounds bounds;
  bounds.memory = 64 * kMiB;
  bounds.is_memory_asked_for = true;
  std::optional<Cgroups> cgroups = made(bounds);
  if (!cgroups) return;
  CHECK(cgroups->memory() != MemoryBound::per_process);
  CHECK_FALSE(cgroups->has_processes());
  // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): its process ends with it
  const int modest = run_inside(*cgroups, [] { return *hold_memory(16 * kMiB) - 1; });
  CHECK(modest == 0);
  CHECK(cgroups->memory_kills() == 0);
  // No one of the three by itself asks for too much.
  const int greedy = run_inside(*cgroups, be_greedy);
  // Or all of them at once.
  CHECK((greedy == 0 || WIFSIGNALED(greedy)));
  CHECK(cgroups->memory_kills() > 0);
  CHECK(cgroups->remove());
}

TEST_CASE("no more processes run at a time than are asked for") {
  Bounds bounds;
  bounds.processes = 5;
  bounds.is_processes_asked_for = true;
  std::optional<Cgroups> cgroups = made(bounds);
  if (!cgroups) return;
  CHECK(cgroups->has_processes());
  CHECK(cgroups->memory() == MemoryBound::per_process);
  const int status = run_inside(*cgroups, [] {
    int count = 0;
    pid_t pids[20] = {};
    while (count < 20 && (pids[count] = ::fork()) > 0)
      ++count;
    if (count < 20 && pids[count] == 0) {
      ::pause();
      ::_exit(0);
    }
    for (int i = 0; i < count; ++i)
      ::kill(pids[i], SIGKILL);
    while (::wait(nullptr) > 0) {
    }
    return count;
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 5);  // beside the first one
  CHECK(cgroups->remove());
}

TEST_CASE("a cgroup of each version takes a process in and is gone afterwards") {
  const std::string cgroups = file_text("/proc/self/cgroup");
  const std::string mounts = file_text("/proc/self/mountinfo");
  for (const auto& place :
       {find_cgroup_v2(cgroups, mounts), find_cgroup_v1("memory", cgroups, mounts)}) {
    if (!place) continue;
    Result<Cgroup> group = Cgroup::make(place->version, place->folder, {});
    if (!group) {
      std::printf("skipped: cgroup: %s\n", describe(group.error()).c_str());
      continue;
    }
    const std::string path = group->path();
    const std::string name = std::filesystem::path(path).filename().string();
    CHECK(std::filesystem::is_directory(path));
    const int status = run_inside(*group, [&name] {
      return file_text("/proc/self/cgroup").find(name) == std::string::npos ? 1 : 0;
    });
    CHECK(status == 0);
    CHECK(group->count("cgroup.procs", "none") == 0);
    CHECK(group->remove());
    CHECK_FALSE(std::filesystem::exists(path));
  }
}

TEST_CASE("what is still in a cgroup of v2 ends with it, in v1 the cgroup stays and that is told") {
  const std::string cgroups = file_text("/proc/self/cgroup");
  const std::string mounts = file_text("/proc/self/mountinfo");
  for (const auto& place :
       {find_cgroup_v2(cgroups, mounts), find_cgroup_v1("memory", cgroups, mounts)}) {
    if (!place) continue;
    Result<Cgroup> group = Cgroup::make(place->version, place->folder, {});
    if (!group) continue;  // told above
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const pid_t pid = clone_process(0, group->birthplace());
    REQUIRE(pid >= 0);
    if (pid == 0) {
      const char code = static_cast<char>(group->enter());
      if (::write(ends[1], &code, 1) != 1) ::_exit(1);
      for (;;)
        ::pause();
    }
    char code = 1;
    REQUIRE(::read(ends[0], &code, 1) == 1);
    CHECK(code == 0);
    const bool is_v2 = place->version == CgroupVersion::v2;
    CHECK(group->remove() == is_v2);
    if (!is_v2) ::kill(pid, SIGKILL);
    int status = 0;
    CHECK(::waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status));
    CHECK(group->remove());
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

/// What a process that made a cgroup and was killed has left: the folder, and a process that was
/// about to enter it.
struct Left {
  std::string path;
  pid_t heir = -1;
};

Left leave_one(const CgroupPlace& place) {
  int told[2];
  REQUIRE(::pipe2(told, O_CLOEXEC) == 0);
  const pid_t maker = ::fork();
  REQUIRE(maker >= 0);
  if (maker == 0) {
    const Result<Cgroup> made = Cgroup::make(place.version, place.folder, {});
    const pid_t heir = made ? ::fork() : -1;
    if (heir == 0) {
      for (;;)
        ::pause();
    }
    const std::string words = std::to_string(heir) + " " + (made ? made->path() : "");
    static_cast<void>(::write(told[1], words.data(), words.size()) > 0);
    ::kill(::getpid(), SIGKILL);
  }
  char text[4096] = {};
  REQUIRE(::read(told[0], text, sizeof text - 1) > 0);
  REQUIRE(::waitpid(maker, nullptr, 0) == maker);
  ::close(told[0]);
  ::close(told[1]);
  Left left;
  std::istringstream words(text);
  words >> left.heir >> left.path;
  REQUIRE(left.heir > 0);
  return left;
}

void kill_and_await(pid_t pid) {
  const Fd watched(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  REQUIRE(::kill(pid, SIGKILL) == 0);
  pollfd ended{watched.get(), POLLIN, 0};
  REQUIRE(::poll(&ended, 1, -1) == 1);
}

TEST_CASE("what was left by a maker that was killed as a whole is taken away, and nothing else") {
  const std::string cgroups = file_text("/proc/self/cgroup");
  const std::string mounts = file_text("/proc/self/mountinfo");
  for (const auto& place :
       {find_cgroup_v2(cgroups, mounts), find_cgroup_v1("memory", cgroups, mounts)}) {
    if (!place) continue;
    const auto make = [&place] { return Cgroup::make(place->version, place->folder, {}); };
    const Result<Cgroup> in_use = make();
    if (!in_use) continue;  // told above
    // Not by a name of ours: its last digit is none.
    const std::string others = place->folder + "/aegis-0123456789abcdeg";
    REQUIRE(::mkdir(others.c_str(), 0755) == 0);
    const Left left = leave_one(*place);
    CHECK(make());
    CHECK(std::filesystem::is_directory(left.path));  // it may enter yet
    kill_and_await(left.heir);
    CHECK(make());
    CHECK_FALSE(std::filesystem::exists(left.path));
    CHECK(std::filesystem::is_directory(in_use->path()));
    CHECK(::rmdir(others.c_str()) == 0);
  }
}

TEST_CASE("a setting that the kernel does not take is an error, and leaves no cgroup") {
  const std::string mounts = file_text("/proc/self/mountinfo");
  const auto place = find_cgroup_v1("pids", file_text("/proc/self/cgroup"), mounts);
  if (!place) return;
  using Setting = Cgroup::Setting;
  // In one of its own: others come and go beside it.
  const Result<Cgroup> around = Cgroup::make(place->version, place->folder, {});
  if (!around) return;  // told above
  const std::string& folder = around->path();
  const auto count = [&folder] {
    const auto all = std::filesystem::directory_iterator(folder);
    return std::count_if(
        begin(all), end(all), [](const auto& each) { return each.is_directory(); });
  };
  CHECK_FALSE(Cgroup::make(place->version, folder, {{"pids.max", "many"}}));
  CHECK_FALSE(Cgroup::make(place->version, folder, {{"no.such", "1"}}));
  CHECK(count() == 0);
  const Result<Cgroup> fine =
      Cgroup::make(place->version, folder, {{"no.such", "1", Setting::Need::optional}});
  CHECK(fine);
  CHECK(count() == 1);
}

}  // namespace aegis::confine
