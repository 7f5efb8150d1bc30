// SPDX-License-Identifier: Apache-2.0 OR MIT
// Runs in the broker's sandbox from start to end: what comes out, what bounds them, what is left of
// them. What a hostile program tries is in tests/sessions/broker_*_test.py.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "confine/sandbox.h"
#include "tests/confine/sandbox.h"

namespace aegis::confine {
namespace {

using How = SandboxEnd::How;
using std::chrono::milliseconds;

constexpr const char* kPython = "/usr/bin/python3";

/// A workspace and an order that holds it.
class Site {
 public:
  Site() : workspace_(open(scratch.path(""))) {
    scratch.write("a.txt", "hello\n");
    scratch.write("data/kept.txt", "kept\n");
    scratch.write("data/.env", "PLANTED\n");
    scratch.write(".env", "PLANTED\n");
  }

  [[nodiscard]] SandboxOrder order(std::vector<std::string> argv) const {
    SandboxOrder order;
    order.argv = std::move(argv);
    ResolvedPath program = granted(order.argv.front(), {});
    order.program = program.grant.path;
    order.binaries.push_back(std::move(program));
    order.workspace = &workspace_;
    order.is_left_out = [](std::string_view path) { return path.ends_with(".env"); };
    return order;
  }
  [[nodiscard]] SandboxOrder python(const std::string& code) const {
    return order({kPython, "-I", "-c", code});
  }

  Scratch scratch;

 private:
  static Workspace open(const std::string& root) {
    auto opened = Workspace::open(root);
    if (!opened) FAIL(describe(opened.error()));
    return std::move(opened).value();
  }
  Workspace workspace_;
};

SandboxRun started(const SandboxOrder& order) {
  auto run = SandboxRun::start(order);
  if (!run) FAIL(describe(run.error()));
  return std::move(run).value();
}

SandboxEnd run(const SandboxOrder& order) {
  return started(order).wait();
}

/// Says once when not, and why. Asks confine's tier, not what is tested here: a sandbox that breaks
/// must not look like one that cannot be had.
bool can_run() {
  static const bool can = [] {
    const bool has_python = ::access(kPython, X_OK) == 0;
    if (!has_python) std::printf("skipped: no %s\n", kPython);
    return has_python && has_tier(Tier::full);
  }();
  return can;
}

bool succeeded(const SandboxEnd& end) {
  return end.how == How::ended && end.wait_status == 0;
}

/// Of a file of /proc; what there is of it when its process ends meanwhile (ESRCH, which an
/// iterator over the stream would throw).
std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Whether a process on this machine has `mark` in its command line.
bool has_process(const std::string& mark) {
  std::error_code ignored;
  for (const auto& each : std::filesystem::directory_iterator("/proc", ignored)) {
    if (text_of(each.path() / "cmdline").find(mark) != std::string::npos &&
        each.path() != "/proc/self" && each.path().filename() != std::to_string(::getpid()))
      return true;
  }
  return false;
}

bool await(bool expected, const std::string& mark) {
  for (int i = 0; i < 500; ++i) {
    if (has_process(mark) == expected) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return false;
}

/// Forks into the background, closes everything and sleeps, under a name that can be seen.
std::string daemon_code(const std::string& mark) {
  return "import os,sys,time\n"
         "if os.fork()==0:\n"
         "  os.setsid()\n"
         "  if os.fork(): os._exit(0)\n"
         "  os.closerange(0,99)\n"
         "  os.execv(sys.executable,[sys.executable,'-I','-c','import time;time.sleep(600)','" +
         mark + "'])\n";
}

std::string mark_of(const char* name) {
  return std::string("aegis-") + name + "-" + std::to_string(::getpid());
}

/// The folders of a process's own cgroups, version 1: what remains when nobody is left to tidy up.
std::vector<std::string> cgroups_of(const std::string& mark) {
  std::vector<std::string> folders;
  for (const auto& each : std::filesystem::directory_iterator("/proc")) {
    if (text_of(each.path() / "cmdline").find(mark) == std::string::npos) continue;
    std::ifstream file(each.path() / "cgroup");  // "4:memory:/path"
    for (std::string line; std::getline(file, line);) {
      const std::size_t name = line.find(':');
      const std::size_t path = line.find(':', name + 1);
      if (path == std::string::npos || line.find("/aegis-", path) == std::string::npos) continue;
      const std::string controller = line.substr(name + 1, path - name - 1);
      folders.push_back("/sys/fs/cgroup/" + controller + line.substr(path + 1));
    }
  }
  return folders;
}

/// Of this process's children and their children.
bool kill_child_named(const std::string& name) {
  const auto children_of = [](pid_t pid) {
    const std::string of = std::to_string(pid);
    std::ifstream file("/proc/" + of + "/task/" + of + "/children");
    return std::vector<pid_t>(std::istream_iterator<pid_t>(file), {});
  };
  std::vector<pid_t> found = children_of(::getpid());
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::ifstream file("/proc/" + std::to_string(found[i]) + "/comm");
    std::string comm;
    std::getline(file, comm);
    if (comm == name) return ::kill(found[i], SIGKILL) == 0;
    for (const pid_t each : children_of(found[i]))
      found.push_back(each);
  }
  return false;
}

std::size_t count_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("python runs on a copy of the workspace") {
  if (!can_run()) return;
  const Site site;
  const SandboxEnd end = run(site.python(
      "import os,sys; print(open('a.txt').read(), os.getcwd(), sorted(os.listdir()), "
      "sorted(os.listdir('data'))); print(sorted(os.environ)); print('oh',file=sys.stderr); "
      "sys.exit(3)"));
  CHECK(end.why == "");
  CHECK(end.how == How::ended);
  CHECK(end.out ==
        "hello\n /workspace ['a.txt', 'data'] ['kept.txt']\n['HOME', 'LANG', 'PATH', 'TMPDIR']\n");
  CHECK(end.err == "oh\n");
  CHECK_FALSE(end.is_truncated);
  REQUIRE(end.wait_status);
  CHECK(WEXITSTATUS(*end.wait_status) == 3);
}

TEST_CASE("a signal that ends the program is told") {
  if (!can_run()) return;
  const Site site;
  const SandboxEnd end = run(site.python("import os; os.kill(os.getpid(), 9)"));
  CHECK(end.how == How::ended);
  REQUIRE(end.wait_status);
  CHECK(WIFSIGNALED(*end.wait_status));
}

TEST_CASE("the copy cannot be written, nor anything else but /tmp") {
  if (!can_run()) return;
  const Site site;
  const SandboxEnd end = run(site.python(
      "import os,errno\n"
      "for path in ['a.txt','new','data/new','/new','/etc/passwd','/usr/lib/new','/dev/new']:\n"
      "  try: open(path,'w'); print('wrote',path)\n"
      "  except OSError as e: assert e.errno in (errno.EROFS,errno.EACCES), e\n"
      "open('/tmp/new','w').write('x'); open('/dev/shm/new','w').write('x'); print('done')"));
  CHECK(end.out == "done\n");
  CHECK(end.err == "");
  CHECK(site.scratch.read("a.txt") == "hello\n");
}

TEST_CASE("what may be written is the real one, without what is hidden in it") {
  if (!can_run()) return;
  const Site site;
  SandboxOrder order = site.python(
      "import os\n"
      "open('data/new','w').write('made'); open('a.txt','w').write('changed')\n"
      "print(repr(open('data/.env').read()))\n"
      "for act in [lambda: os.unlink('data/.env'), lambda: os.rename('data/.env','data/x'),\n"
      "            lambda: open('data/.env','w'), lambda: os.link('data/.env','data/y'),\n"
      "            lambda: open('data2','w')]:\n"
      "  try: act(); print('done')\n"
      "  except OSError as e: pass");
  order.writable = {"data", "./a.txt"};
  const SandboxEnd end = run(order);
  CHECK(end.out == "''\n");
  CHECK(end.err == "");
  CHECK(site.scratch.read("data/new") == "made");
  CHECK(site.scratch.read("a.txt") == "changed");
  CHECK(site.scratch.read("data/.env") == "PLANTED\n");
}

TEST_CASE("all of the workspace may be writable, once or twice") {
  if (!can_run()) return;
  const Site site;
  SandboxOrder order = site.python(
      "import os; print(sorted(os.listdir())); open('data/new','w').write('made'); "
      "print(repr(open('.env').read()+open('data/.env').read()))");
  order.writable = {".", "data", "data/"};
  const SandboxEnd end = run(order);
  CHECK(end.out == "['.env', 'a.txt', 'data']\n''\n");
  CHECK(end.err == "");
  CHECK(site.scratch.read("data/new") == "made");
}

TEST_CASE("what some program of the user's runs later cannot be written") {
  if (!can_run()) return;
  const Site site;
  site.scratch.write(".git/HEAD", "ref: refs/heads/main\n");
  site.scratch.write(".git/config", "kept");
  site.scratch.write(".mcp.json", "kept");
  Scratch quarantine;
  SandboxOrder order = site.python(
      "import os,time\n"
      "for p in ['.git/config','.git/hooks/pre-commit','.mcp.json']:\n"
      "  try: open(p,'w').write('evil'); print('wrote',p)\n"
      "  except OSError as e: pass\n"
      "try: os.rename('.git','x'); print('moved')\n"
      "except OSError: pass\n"
      "open('.git/index','w'); open('.bashrc','w').write('evil'); os.mkdir('.vscode'); "
      "print('end')");
  order.writable = {"."};
  order.quarantine = quarantine.path("q");
  const SandboxEnd end = run(order);
  CHECK(end.why == "");
  CHECK(end.err == "");
  CHECK(end.out == "end\n");
  CHECK(site.scratch.read(".git/config") == "kept");
  CHECK(site.scratch.read(".mcp.json") == "kept");
  CHECK(std::filesystem::exists(site.scratch.path(".git/index")));
  CHECK_FALSE(std::filesystem::exists(site.scratch.path(".bashrc")));
  CHECK_FALSE(std::filesystem::exists(site.scratch.path(".vscode")));
  CHECK_FALSE(std::filesystem::exists(site.scratch.path(".git/commondir")));
  CHECK(end.notes.size() == 2);
}

TEST_CASE("a path that is to be written and is none is told, and nothing runs") {
  if (!can_run()) return;
  const Site site;
  std::filesystem::create_symlink("data", site.scratch.path("link"));
  for (const auto& [path, fault] :
       {std::pair{"nothing", PathFault::not_found}, std::pair{"link", PathFault::linked}}) {
    SandboxOrder order = site.python("print(1)");
    order.writable = {path};
    const SandboxEnd end = run(order);
    CHECK(end.how == How::unbuilt);
    REQUIRE(end.writable_fault);
    CHECK(*end.writable_fault == fault);
    CHECK(end.out == "");
  }
}

TEST_CASE("input is what the program reads, of any length") {
  if (!can_run()) return;
  const Site site;
  SandboxOrder order =
      site.python("import sys; data=sys.stdin.read(); print(len(data), set(data))");
  order.input = std::string(300'000, 'x');
  CHECK(run(order).out == "300000 {'x'}\n");
  order = site.python("print(1)");  // does not read it
  order.input = std::string(300'000, 'x');
  CHECK(run(order).out == "1\n");
  CHECK(run(site.python("import sys; print(repr(sys.stdin.read()))")).out == "''\n");
}

TEST_CASE("each bound ends a run, and the end says which") {
  if (!can_run()) return;
  const Site site;
  SandboxOrder order = site.python("import time; print('up',flush=True); time.sleep(600)");
  order.bounds.time = milliseconds(700);
  SandboxEnd end = run(order);
  CHECK(end.how == How::timeout);
  CHECK_FALSE(end.wait_status);
  CHECK(end.out == "up\n");
  CHECK(end.duration >= milliseconds(700));

  order = site.python(
      "import sys,os\n"
      "while True: sys.stdout.write('o'*700); sys.stderr.write('e'*300)");
  order.bounds.output = 5000;
  end = run(order);
  CHECK(end.how == How::output);
  CHECK(end.is_truncated);
  CHECK(end.out.size() + end.err.size() == 5000);

  order = site.python("print('x'*5000)");  // it has ended before anybody looks
  order.bounds.output = 5000;
  end = run(order);
  CHECK(end.how == How::output);
  CHECK(end.out.size() == 5000);
  order.bounds.output = 5001;
  end = run(order);
  CHECK(succeeded(end));
  CHECK_FALSE(end.is_truncated);

  order = site.python("x=bytearray(300<<20); print(len(x))");
  order.bounds.memory = 128ULL << 20U;
  end = run(order);
  CHECK_FALSE(succeeded(end));
  CHECK(end.out == "");
}

TEST_CASE("memory that is shared, and a file in memory, are memory too") {
  if (!can_run()) return;
  const Site site;
  SandboxOrder order = site.python(
      "import mmap\n"
      "held=[mmap.mmap(-1,64<<20) for _ in range(8)]\n"
      "for each in held:\n"
      "  for at in range(0,64<<20,4096): each[at]=1\n"
      "print('has it')");
  order.bounds.memory = 128ULL << 20U;
  SandboxEnd end = run(order);
  CHECK_FALSE(succeeded(end));
  CHECK(end.out == "");
  order = site.python("open('/tmp/big','wb').write(bytes(100<<20))");
  order.bounds.memory = 128ULL << 20U;
  end = run(order);
  CHECK(end.err.find("No space left on device") != std::string::npos);
}

TEST_CASE("a fork bomb stays within its number, and ends with its time") {
  if (!can_run()) return;
  const Site site;
  const std::string mark = mark_of("bomb");
  const std::string code =
      "import os\n"
      "while True:\n"
      "  try: os.fork()\n"
      "  except OSError: pass";
  SandboxOrder order = site.order({kPython, "-I", "-c", code, mark});
  order.bounds.time = milliseconds(1500);
  order.bounds.processes = 20;
  const SandboxEnd end = run(order);
  CHECK(end.how == How::timeout);
  CHECK_FALSE(has_process(mark));
}

TEST_CASE("nothing of a run outlives it: not its end by itself") {
  if (!can_run()) return;
  const Site site;
  const std::string mark = mark_of("left");
  SandboxOrder order = site.python(daemon_code(mark) + "time.sleep(1); print('done')");
  SandboxRun going = started(order);
  CHECK(await(true, mark));
  const SandboxEnd end = going.wait();
  CHECK(end.out == "done\n");
  CHECK_FALSE(has_process(mark));
}

TEST_CASE("nothing of a run outlives its cancelling, nor its owner's object") {
  if (!can_run()) return;
  const Site site;
  const std::string mark = mark_of("cancelled");
  const SandboxOrder order = site.python(daemon_code(mark) + "time.sleep(600)");
  {
    SandboxRun going = started(order);
    CHECK(await(true, mark));
    CHECK_FALSE(going.on_ready());
    going.cancel();
    const SandboxEnd end = going.wait();
    CHECK(end.how == How::cancelled);
    CHECK_FALSE(end.wait_status);
    CHECK_FALSE(has_process(mark));
  }
  {
    SandboxRun going = started(order);
    CHECK(await(true, mark));
  }
  CHECK_FALSE(has_process(mark));
}

TEST_CASE("a run that is cancelled before it has begun ends as cancelled") {
  if (!can_run()) return;
  const Site site;
  for (int i = 0; i < 20; ++i) {
    SandboxRun going = started(site.python("import time; time.sleep(600)"));
    std::this_thread::sleep_for(std::chrono::microseconds(300 * i));
    going.cancel();
    CHECK(going.wait().how == How::cancelled);
  }
}

TEST_CASE("a run ends with its owner, whatever ends that") {
  if (!can_run()) return;
  const Site site;
  const std::string mark = mark_of("orphan");
  const SandboxOrder order = site.python(daemon_code(mark) + "time.sleep(600)");
  const pid_t owner = ::fork();
  if (owner == 0) {
    auto going = SandboxRun::start(order);
    ::pause();
    ::_exit(going ? 0 : 1);
  }
  CHECK(await(true, mark));
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  CHECK(await(false, mark));
}

TEST_CASE("what was killed from outside is never told as not run, nor as done") {
  if (!can_run()) return;
  const Site site;
  for (const char* killed : {"aegis-run", "aegis-init"}) {
    CAPTURE(killed);
    const std::string mark = mark_of("killed");
    SandboxRun going = started(site.order(
        {kPython, "-I", "-c", "import time; print(1, flush=True); time.sleep(600)", mark}));
    CHECK(await(true, mark));
    const std::vector<std::string> cgroups = cgroups_of(mark);
    CHECK(kill_child_named(killed));
    const SandboxEnd end = going.wait();
    CHECK(end.how == How::cancelled);
    CHECK_FALSE(end.wait_status);
    CHECK(end.why.find("was killed") != std::string::npos);
    CHECK(await(false, mark));
    for (const std::string& each : cgroups)
      ::rmdir(each.c_str());
  }
}

TEST_CASE("only what is listed runs, wherever it lies") {
  if (!can_run()) return;
  Site site;
  std::filesystem::copy_file("/usr/bin/env", site.scratch.path("data/tool"));
  SandboxOrder order = site.python(
      "import subprocess,os,shutil\n"
      "shutil.copy('data/tool','/tmp/tool'); shutil.copy('data/tool','data/other')\n"
      "shutil.copy('data/tool','/dev/shm/tool')\n"
      "for p in ['/tmp/tool','/dev/shm/tool','data/tool','data/other']: os.chmod(p,0o755)\n"
      "for p in ['/usr/bin/env','/bin/sh','/tmp/tool','/dev/shm/tool','/workspace/data/tool',\n"
      "          '/workspace/data/other','/proc/self/exe']:\n"
      "  try: print(p, subprocess.run([p]).returncode)\n"
      "  except OSError as e: print(e.strerror)");
  order.writable = {"data"};
  const SandboxEnd end = run(order);
  CHECK(end.err == "");
  const std::string absent = "No such file or directory\n";
  const std::string denied = "Permission denied\n";
  CHECK(end.out == absent + absent + denied + denied + denied + denied + "/proc/self/exe 0\n");

  // Nor by way of a loader, which maps: there Landlock says nothing, but the mounts do.
  order = site.python(
      "import mmap,os,shutil\n"
      "for p in ['/tmp/tool','/dev/shm/tool','data/other']: shutil.copy('data/tool',p)\n"
      "for p in ['/tmp/tool','/dev/shm/tool','data/other','data/tool','a.txt']:\n"
      "  try:\n"
      "    mmap.mmap(os.open(p,os.O_RDONLY),6,mmap.MAP_PRIVATE,mmap.PROT_READ|mmap.PROT_EXEC)\n"
      "    print('mapped',p)\n"
      "  except PermissionError: pass\n"
      "print('end')");
  order.writable = {"data"};
  const SandboxEnd mapped = run(order);
  CHECK(mapped.err == "");
  CHECK(mapped.out == "end\n");

  order = site.python("import subprocess; print(subprocess.run(['/usr/bin/env']).returncode)");
  order.binaries.push_back(granted("/usr/bin/env", {}));
  CHECK(run(order).out.ends_with("\n0\n"));
}

TEST_CASE("a program that is not there any more is no run") {
  if (!can_run()) return;
  Site site;
  std::filesystem::copy_file("/usr/bin/env", site.scratch.path("tool"));
  const SandboxOrder order = site.order({site.scratch.path("tool")});
  CHECK(run(order).how == How::ended);
  std::filesystem::remove(site.scratch.path("tool"));
  const SandboxEnd end = run(order);
  CHECK(end.how == How::unbuilt);
  CHECK(end.why.find("tool: No such file or directory") != std::string::npos);
}

TEST_CASE("the program holds no descriptor of its owner's") {
  if (!can_run()) return;
  const Site site;
  const int leaked =
      ::open("/dev/null", O_RDONLY);  // NOLINT(android-cloexec-open): so that it would
  REQUIRE(leaked > 2);
  const SandboxEnd end = run(site.python("import os; print(os.listdir('/proc/self/fd'))"));
  ::close(leaked);
  CHECK(end.out == "['0', '1', '2', '3']\n");  // 3: of listdir itself
}

TEST_CASE("runs leave no descriptor and no child behind, and can be under way together") {
  if (!can_run()) return;
  const Site site;
  const SandboxOrder order = site.order({"/usr/bin/env"});
  CHECK(succeeded(run(order)));
  const std::size_t before = count_descriptors();
  for (int i = 0; i < 10; ++i) {
    SandboxRun one = started(order);
    SandboxRun other = started(site.python("print(2)"));
    SandboxRun moved = std::move(one);
    CHECK(other.wait().out == "2\n");
    CHECK(succeeded(moved.wait()));
  }
  CHECK(count_descriptors() == before);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

}  // namespace aegis::confine
