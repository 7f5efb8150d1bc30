// SPDX-License-Identifier: Apache-2.0 OR MIT
// aegis_relay_bench: what standing between client and server costs, against the bars that the
// project sets itself (tests/bench/README.md). This file reads the command line and cleans up; a
// missed bar is no failure.
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>

#include "tests/bench/relay/fail.h"
#include "tests/bench/relay/measure.h"
#include "tests/bench/relay/modes.h"
#include "tests/bench/relay/report.h"

namespace aegis::relay_bench {
namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 50;
constexpr int kQuickRounds = 16;

constexpr const char* kUsage =
    "usage: aegis_relay_bench [--aegis PATH] [--rounds N | --quick] [--json] [--self-check]\n"
    "  --aegis PATH   the program to measure (default: aegis, beside this one or one folder up)\n"
    "  --rounds N     how often every subject takes its turn (default 50: about a minute)\n"
    "  --quick        16 rounds: about 20 seconds\n"
    "  --json         one JSON object instead of the table\n"
    "  --self-check   measure a second bare relay instead of aegis: the noise of this machine\n"
    "Example: aegis_relay_bench --aegis build/aegis --quick\n";

struct Options {
  std::string aegis;
  int rounds = kRounds;
  bool is_json = false;
  bool is_self_check = false;
};

[[noreturn]] void usage(int status) {
  (status == 0 ? std::cout : std::cerr) << kUsage << std::flush;
  std::exit(status);
}

Options parse_options(int argc, char** argv) {
  const std::array<option, 7> known{{{"aegis", required_argument, nullptr, 'a'},
                                     {"rounds", required_argument, nullptr, 'r'},
                                     {"quick", no_argument, nullptr, 'q'},
                                     {"json", no_argument, nullptr, 'j'},
                                     {"self-check", no_argument, nullptr, 's'},
                                     {"help", no_argument, nullptr, 'h'},
                                     {nullptr, 0, nullptr, 0}}};
  Options options;
  for (int flag; (flag = ::getopt_long(argc, argv, "", known.data(), nullptr)) != -1;) {
    if (flag == 'a')
      options.aegis = optarg;
    else if (flag == 'r')
      options.rounds = std::atoi(optarg);
    else if (flag == 'q')
      options.rounds = kQuickRounds;
    else if (flag == 'j')
      options.is_json = true;
    else if (flag == 's')
      options.is_self_check = true;
    else
      usage(flag == 'h' ? 0 : 1);
  }
  if (optind != argc || options.rounds < 1) usage(1);
  return options;
}

std::string find_aegis(const Options& options, const fs::path& self) {
  if (options.is_self_check) return {};
  const fs::path beside = self.parent_path() / "aegis";
  const fs::path above = self.parent_path().parent_path() / "aegis";
  const fs::path found = !options.aegis.empty()                ? fs::path(options.aegis)
                         : ::access(beside.c_str(), X_OK) == 0 ? beside
                                                               : above;
  if (::access(found.c_str(), X_OK) != 0)
    fail("run " + found.string() + " (--aegis names another)");
  return fs::absolute(found);
}

/// The first two cores that we may use; the same one twice when there is only one.
void choose_cores(Setup& setup) {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) fail("sched_getaffinity");
  std::array<int, 2> cores{-1, -1};
  std::size_t found = 0;
  for (int core = 0; core < CPU_SETSIZE && found < cores.size(); ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores[found++] = core;
  }
  if (found < cores.size()) {
    std::cerr << "aegis_relay_bench: only one core: client and server take turns on it, no bar "
                 "means much\n";
    cores[1] = cores[0];
  }
  setup.client_core = cores[0];
  setup.other_core = cores[1];
}

[[noreturn]] void run(const Options& options, const Setup& setup) {
  const Figures figures = measure(setup);
  (options.is_json ? print_json : print_table)(std::cout, setup, figures);
  std::cout.flush();
  ::_exit(std::cout ? 0 : 1);
}

volatile sig_atomic_t measuring = 0;
void stop_measuring(int signal) {
  ::kill(measuring, signal);
}

/// Waits for it and for all that it left: their files are removed after them.
int wait_for_all(pid_t main_child) {
  int result = 1;
  for (;;) {
    int status = 0;
    const pid_t ended = ::wait(&status);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) return result;
    if (ended != main_child) continue;
    if (WIFEXITED(status))
      result = WEXITSTATUS(status);
    else
      std::cerr << "aegis_relay_bench: ended by signal " << WTERMSIG(status) << '\n';
  }
}

/// Measures in a child, so that the temporary folder goes away however that ends.
int supervise(const Options& options) {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  Setup setup{self,
              find_aegis(options, self),
              self.parent_path() / "relay-bench-XXXXXX",
              0,
              0,
              options.rounds};
  choose_cores(setup);
  if (::mkdtemp(setup.folder.data()) == nullptr) fail("make the folder " + setup.folder);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t child = ::fork();
  if (child < 0) fail("fork");
  if (child == 0) run(options, setup);
  measuring = child;
  struct sigaction action {};
  action.sa_handler = stop_measuring;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    ::sigaction(signal, &action, nullptr);
  const int result = wait_for_all(child);
  fs::remove_all(setup.folder);
  return result;
}

}  // namespace
}  // namespace aegis::relay_bench

int main(int argc, char** argv) {
  namespace bench = aegis::relay_bench;
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == bench::kServeMode) return bench::serve();
  if (mode == bench::kBareRelayMode && argc > 2) return bench::relay_bare(argv + 2);
  if (mode == bench::kRecordingRelayMode && argc > 3)
    return bench::relay_recording(argv[2], argv + 3);
  if (mode == bench::kFloorMode && argc > 2) return bench::measure_floors(argv[2]);
  return bench::supervise(bench::parse_options(argc, argv));
}
