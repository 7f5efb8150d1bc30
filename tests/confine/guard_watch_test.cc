// SPDX-License-Identifier: Apache-2.0 OR MIT
// Names that appear in a guarded folder, by fair means and foul, and where they are afterwards.
#include "confine/guard_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "confine/guarded_names.h"
#include "confine/space.h"
#include "tests/confine/sandbox.h"

namespace aegis::confine {
namespace {

namespace fs = std::filesystem;
using Kind = GuardFinding::Kind;
using Findings = std::vector<GuardFinding>;

/// A workspace, its watch, and a quarantine beside it.
struct Watched {
  explicit Watched(const std::function<void(const Scratch&)>& fill = {}) {
    fs::create_directory(all.path("ws"));
    if (fill) fill(all);
    all_names_before = names_in("ws");
    Result<GuardPlan> plan = plan_guard({all.path("ws")});
    if (!plan) FAIL(describe(plan.error()));
    Result<GuardWatch> started = GuardWatch::start(std::move(plan).value(), all.path("q/1"));
    if (!started) FAIL(describe(started.error()));
    watch.emplace(std::move(started).value());
  }
  [[nodiscard]] bool is_ringing() const {
    pollfd one{watch->fd(), POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
  }
  [[nodiscard]] std::vector<std::string> names_in(std::string_view folder) const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(all.path(folder)))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  Scratch all;
  std::vector<std::string> all_names_before;
  std::optional<GuardWatch> watch;
};

bool is_there(const std::string& path) {
  return fs::symlink_status(path).type() != fs::file_type::not_found;
}

/// In a process of its own, ended with this.
class Hostile {
 public:
  explicit Hostile(const std::function<void()>& loop) : pid_(::fork()) {
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    for (;;)
      loop();
  }
  Hostile(const Hostile&) = delete;
  Hostile& operator=(const Hostile&) = delete;
  ~Hostile() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

/// What `test` returns in a process of its own that is not root: there, modes of files mean
/// something. 0: fine.
int run_as_ordinary_user(const std::function<int()>& test) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    constexpr uid_t kNobody = 65534;
    if (::getuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(99);
    ::_exit(test());
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

void poll_for(GuardWatch& watch, std::chrono::milliseconds time, Findings& findings) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    pollfd one{watch.fd(), POLLIN, 0};
    if (::poll(&one, 1, 20) != 1) continue;
    Findings more = watch.on_event();
    std::move(more.begin(), more.end(), std::back_inserter(findings));
  }
}

}  // namespace

TEST_CASE("every guarded name that appears is moved away whole, told once, and rings the bell") {
  for (const GuardedName& row : kGuardedNames) {
    if (row.base != GuardBase::folder) continue;
    CAPTURE(row.name);
    const std::string name(row.name);
    Watched watched;
    CHECK(watched.watch->on_event().empty());
    watched.all.write("ws/" + name, "poison");
    CHECK(watched.is_ringing());
    const Findings findings = watched.watch->on_event();
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].kind == Kind::moved);
    CHECK(findings[0].path == watched.all.path("ws/" + name));
    CHECK_FALSE(is_there(watched.all.path("ws/" + name)));
    CHECK(findings[0].moved_to.starts_with(watched.all.path("q/1/1-")));
    CHECK(watched.all.read(findings[0].moved_to.substr(watched.all.path("").size() + 1)) ==
          "poison");
    CHECK(watched.watch->finish().empty());
    CHECK_FALSE(watched.watch->is_overrun());
  }
}

TEST_CASE("whatever it is and however it came, it is moved and not followed") {
  struct Row {
    const char* what;
    std::function<void(const Scratch&)> make;
  };
  const Row rows[] = {
      {"a folder of folders",
       [](const Scratch& all) {
         std::string deep = "ws/.vscode";
         for (int i = 0; i < 500; ++i)
           deep += "/d";
         all.write(deep + "/f", "");
       }},
      {"a link to a file outside",
       [](const Scratch& all) { fs::create_symlink("../victim/f", all.path("ws/.mcp.json")); }},
      {"a link to a folder outside",
       [](const Scratch& all) {
         fs::create_directory_symlink(all.path("victim"), all.path("ws/.vscode"));
       }},
      {"a link that leads nowhere",
       [](const Scratch& all) { fs::create_symlink("/nowhere", all.path("ws/.bashrc")); }},
      {"a FIFO",
       [](const Scratch& all) { CHECK(::mkfifo(all.path("ws/.bashrc").c_str(), 0600) == 0); }},
      {"a hard link",
       [](const Scratch& all) {
         all.write("ws/f", "x");
         fs::create_hard_link(all.path("ws/f"), all.path("ws/.bashrc"));
       }},
      {"renamed within",
       [](const Scratch& all) {
         all.write("ws/f", "x");
         fs::rename(all.path("ws/f"), all.path("ws/.bashrc"));
       }},
      {"a folder renamed in with its content",
       [](const Scratch& all) {
         all.write("ws/d/fish/config.fish", "x");
         fs::rename(all.path("ws/d"), all.path("ws/.config"));
       }},
      {"below a folder made before",
       [](const Scratch& all) {
         fs::create_directory(all.path("ws/.config"));
         all.write("ws/.config/fish/config.fish", "x");
       }},
      {"behind a link to a folder inside",
       [](const Scratch& all) {
         all.write("ws/d/fish/config.fish", "x");
         fs::create_directory_symlink("d", all.path("ws/.config"));
       }},
      {"behind a link to a folder outside",
       [](const Scratch& all) {
         all.write("victim/fish/config.fish", "x");
         fs::create_directory_symlink("../victim", all.path("ws/.config"));
       }},
      {"a repository", [](const Scratch& all) { all.write("ws/.git/config", "x"); }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Watched watched([](const Scratch& all) { all.write("victim/f", "untouched"); });
    row.make(watched.all);
    const auto victim = watched.names_in("victim");
    CHECK(watched.is_ringing());
    const Findings findings = watched.watch->on_event();
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].kind == Kind::moved);
    CHECK(is_there(findings[0].moved_to));
    CHECK_FALSE(is_there(findings[0].path));
    CHECK(watched.all.read("victim/f") == "untouched");
    CHECK(watched.names_in("victim") == victim);
    CHECK(watched.watch->finish().empty());
  }
}

TEST_CASE("a folder that comes back under a watched name is watched again") {
  Watched watched;
  for (int i = 0; i < 3; ++i) {
    fs::create_directory(watched.all.path("ws/.config"));
    CHECK(watched.watch->on_event().empty());
    fs::create_directory(watched.all.path("ws/.config/fish"));
    CHECK(watched.is_ringing());
    CHECK(watched.watch->on_event().size() == 1);
    fs::rename(watched.all.path("ws/.config"), watched.all.path("ws/x" + std::to_string(i)));
    CHECK(watched.watch->on_event().empty());
    CHECK(watched.watch->on_event().empty());  // the end of a watch rings, too
    // The one that has gone rings no more.
    fs::create_directory(watched.all.path("ws/x" + std::to_string(i) + "/fish"));
    CHECK_FALSE(watched.is_ringing());
  }
}

TEST_CASE("other names ring at most, and stay") {
  Watched watched;
  watched.all.write("ws/README.md", "x");
  watched.all.write("ws/sub/.vscode/x", "x");
  watched.all.write("ws/.config/other", "x");
  CHECK(watched.watch->on_event().empty());
  CHECK(watched.watch->finish().empty());
  CHECK(watched.names_in("ws") == std::vector<std::string>{".config", "README.md", "sub"});
  CHECK_FALSE(is_there(watched.all.path("q")));
}

TEST_CASE("the last look finds what no bell has told") {
  Watched watched;
  watched.all.write("ws/.mcp.json", "x");
  const Findings findings = watched.watch->finish();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == Kind::moved);
  CHECK(describe(findings[0]).find("appeared and was moved to") != std::string::npos);
}

TEST_CASE("rights taken from folders keep nothing in its place") {
  // Under /tmp a folder for everybody, so that who is not root can work in it.
  const Scratch all;
  fs::permissions(all.path(""), fs::perms::all);
  const std::string base = all.path("u");
  enum Step : int { fine, no_plan, no_watch, not_moved, still_there };
  const auto test = [&base](const std::function<void(const std::string&)>& make) -> int {
    fs::create_directories(base + "/ws");
    Result<GuardPlan> plan = plan_guard({base + "/ws"});
    if (!plan) return no_plan;
    Result<GuardWatch> watch = GuardWatch::start(std::move(plan).value(), base + "/q");
    if (!watch) return no_watch;
    make(base + "/ws");
    const Findings findings = watch->on_event();
    if (findings.size() != 1 || findings[0].kind != Kind::moved) return not_moved;
    const bool is_left = is_there(findings[0].path);
    fs::remove_all(base);
    return is_left ? still_there : fine;
  };
  CHECK(run_as_ordinary_user([&] {
          return test([](const std::string& ws) {
            fs::create_directory(ws + "/.vscode");
            ::chmod((ws + "/.vscode").c_str(), 0);
          });
        }) == fine);
  CHECK(run_as_ordinary_user([&] {
          return test([](const std::string& ws) {
            fs::create_directory(ws + "/.vscode");
            ::chmod(ws.c_str(), 0);
          });
        }) == fine);
  CHECK(run_as_ordinary_user([&] {
          return test([](const std::string& ws) {
            fs::create_directories(ws + "/.config/fish");
            ::chmod((ws + "/.config").c_str(), 0);
          });
        }) == fine);
}

TEST_CASE("where no rename leads to the quarantine, a folder of a random name inside will do") {
  const Scratch near;
  Scratch far;
  const std::string shm = "/dev/shm/aegis-test-" + std::to_string(::getpid());
  struct stat here {};
  struct stat there {};
  REQUIRE(::stat(near.path("").c_str(), &here) == 0);
  if (::mkdir(shm.c_str(), 0700) != 0 || ::stat(shm.c_str(), &there) != 0 ||
      here.st_dev == there.st_dev) {
    ::rmdir(shm.c_str());
    std::printf("skipped: guard: /dev/shm is no file system of its own\n");
    return;
  }
  fs::create_directory(near.path("ws"));
  Result<GuardWatch> watch =
      GuardWatch::start(plan_guard({near.path("ws")}).value(), shm + "/quarantine");
  REQUIRE(watch);
  for (const char* name : {"ws/.mcp.json", "ws/.bashrc"}) {
    near.write(name, "poison");
    const Findings findings = watch->on_event();
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].kind == Kind::moved);
    CHECK(findings[0].moved_to.starts_with(near.path("ws/.aegis-quarantine-")));
    CHECK(is_there(findings[0].moved_to));
    // The program takes the folder away: then there is another one.
    fs::remove_all(fs::path(findings[0].moved_to).parent_path());
  }
  CHECK(fs::is_empty(shm));
  fs::remove_all(shm);
}

TEST_CASE("what the host replaces or takes away is told once, for its guard went with it") {
  Watched watched([](const Scratch& all) {
    all.write("ws/.git/config", "a");
    all.write("ws/.mcp.json", "a");
  });
  CHECK(watched.watch->on_event().empty());
  watched.all.write("ws/.git/config.lock", "b");
  fs::rename(watched.all.path("ws/.git/config.lock"), watched.all.path("ws/.git/config"));
  CHECK(watched.is_ringing());
  Findings findings = watched.watch->on_event();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == Kind::replaced);
  CHECK(findings[0].is_guard_lost());
  CHECK(findings[0].path == watched.all.path("ws/.git/config"));
  CHECK(watched.all.read("ws/.git/config") == "b");
  CHECK(watched.watch->on_event().empty());
  fs::remove(watched.all.path("ws/.mcp.json"));
  findings = watched.watch->on_event();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == Kind::replaced);
}

TEST_CASE("a mount goes with the name that the host replaces: why that ends the sandbox") {
  if (!has_tier(Tier::full)) return;
  Watched watched([](const Scratch& all) { all.write("ws/.mcp.json", "a"); });
  Spec spec =
      shell_spec(Tier::full,
                 "until [ -e go ]; do :; done; if echo evil > .mcp.json; then echo w > out; "
                 "else echo r > out; fi; mv out done");
  spec.paths.add(granted(watched.all.path("ws"), {.may_write = true}));
  spec.working_directory = watched.all.path("ws");
  const GuardPlan plan = plan_guard({watched.all.path("ws")}).value();
  spec.self_bound = plan.self_bound_paths();
  spec.read_only = plan.read_only_paths();
  const Running running(std::move(spec));
  watched.all.write("ws/new", "b");
  fs::rename(watched.all.path("ws/new"), watched.all.path("ws/.mcp.json"));
  watched.all.write("ws/go", "");
  for (int i = 0; i < 500 && !is_there(watched.all.path("ws/done")); ++i)
    ::usleep(10'000);
  // "r" would be a kernel that keeps the mount: then the rule could go.
  CHECK(watched.all.read("ws/done") == "w\n");
  const Findings findings = watched.watch->on_event();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == Kind::replaced);
}

TEST_CASE("the commondir that was made goes with the last session that has it") {
  const Scratch folder;
  folder.write("ws/.git/config", "");
  const auto start = [&folder] {
    return GuardWatch::start(plan_guard({folder.path("ws")}).value(), folder.path("q"));
  };
  Result<GuardWatch> first = start();
  Result<GuardWatch> second = start();
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->finish().empty());
  CHECK(is_there(folder.path("ws/.git/commondir")));
  CHECK(second->on_event().empty());
  CHECK(second->finish().empty());
  CHECK_FALSE(is_there(folder.path("ws/.git/commondir")));
  CHECK(is_there(folder.path("ws/.git/hooks")));

  // Whoever has planned but cannot start leaves nothing either.
  {
    const Result<GuardPlan> unused = plan_guard({folder.path("ws")});
    CHECK(is_there(folder.path("ws/.git/commondir")));
  }
  CHECK_FALSE(is_there(folder.path("ws/.git/commondir")));
  // One that was left by a session that was killed goes with the next.
  folder.write("ws/.git/commondir", ".\n");
  CHECK(start()->finish().empty());
  CHECK_FALSE(is_there(folder.path("ws/.git/commondir")));

  folder.write("ws/.git/commondir", "../common\n");
  CHECK(start()->finish().empty());
  CHECK(folder.read("ws/.git/commondir") == "../common\n");
}

TEST_CASE("a program that makes names as fast as it can has none left when it is gone") {
  Watched watched([](const Scratch& all) { all.write("victim/fish/config.fish", "untouched"); });
  const std::string ws = watched.all.path("ws");
  Findings findings;
  {
    const Hostile files([&ws] {
      const int fd = ::open((ws + "/.mcp.json").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
      if (fd >= 0) ::close(fd);
      ::mkdir((ws + "/.vscode").c_str(), 0700);
      static_cast<void>(::rename((ws + "/.vscode").c_str(), (ws + "/.idea").c_str()));
    });
    // A folder and a link to the outside, one in the other's place.
    const Hostile links([&ws] {
      ::mkdir((ws + "/.config").c_str(), 0700);
      ::mkdir((ws + "/.config/fish").c_str(), 0700);
      static_cast<void>(::rename((ws + "/.config").c_str(), (ws + "/away").c_str()));
      if (::symlink("../victim", (ws + "/.config").c_str()) == 0) ::usleep(50);
      ::unlink((ws + "/.config").c_str());
      static_cast<void>(::rename((ws + "/away").c_str(), (ws + "/.config").c_str()));
      ::rmdir((ws + "/.config/fish").c_str());
      ::rmdir((ws + "/.config").c_str());
    });
    poll_for(*watched.watch, std::chrono::milliseconds(500), findings);
  }
  CHECK_FALSE(findings.empty());
  for (const GuardFinding& finding : findings)
    CHECK_MESSAGE(finding.kind == Kind::moved, describe(finding));
  watched.watch->finish();
  for (const GuardedName& row : kGuardedNames) {
    if (row.base == GuardBase::folder) CHECK_FALSE(is_there(ws + "/" + std::string(row.name)));
  }
  CHECK(watched.all.read("victim/fish/config.fish") == "untouched");
  CHECK(watched.watch->is_overrun() == (findings.size() >= GuardWatch::kMaxMoved));
}

TEST_CASE("a file system is short of room below a floor, or a share of a small one") {
  constexpr std::uint64_t kMiB = 1ULL << 20U;
  CHECK_FALSE(is_below_floor(Space{}));  // nothing is counted there
  CHECK_FALSE(is_below_floor(Space{.size = 100'000 * kMiB, .available = 256 * kMiB}));
  CHECK(is_below_floor(Space{.size = 100'000 * kMiB, .available = 256 * kMiB - 1}));
  CHECK_FALSE(is_below_floor(Space{.size = 100 * kMiB, .available = 5 * kMiB}));
  CHECK(is_below_floor(Space{.size = 100 * kMiB, .available = 5 * kMiB - 1}));
  CHECK(is_below_floor(Space{
      .size = 100 * kMiB, .available = 90 * kMiB, .inodes = 1 << 20U, .available_inodes = 4095}));
  const Scratch folder;
  const Fd fd(::open(folder.path("").c_str(), O_PATH | O_CLOEXEC));
  CHECK_FALSE(is_below_floor(fd.get()));
}

}  // namespace aegis::confine
