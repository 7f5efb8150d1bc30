// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reads the text from its end: what a program says last is what it died of. Every rule is a row of
// a table; what the rows cannot know (what is granted, what the host has) is asked.
#include "confine/hint.h"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <iterator>
#include <utility>

#include "confine/command.h"
#include "confine/hint_text.h"

namespace aegis::confine {
namespace {

/// What a refusal looks like in words: errno's names (node), strerror(3)'s texts, and those of the
/// runtimes (python's and java's exceptions). In lower case.
enum class Refusal : std::uint8_t { none, absent, denied, read_only };
struct Phrase {
  std::string_view words;
  Refusal refusal;
};
constexpr Phrase kPhrases[] = {
    {"erofs", Refusal::read_only},
    {"read-only file system", Refusal::read_only},
    {"eacces", Refusal::denied},
    {"permission denied", Refusal::denied},
    {"permissionerror", Refusal::denied},
    {"accessdeniedexception", Refusal::denied},
    {"eperm", Refusal::denied},
    {"operation not permitted", Refusal::denied},
    {"enoent", Refusal::absent},
    {"no such file or directory", Refusal::absent},
    {"cannot find module", Refusal::absent},
    {"can't open file", Refusal::absent},
    {"nosuchfileexception", Refusal::absent},
};
/// Calls and words by which a line speaks of writing, or of running.
constexpr std::string_view kWriting[] = {"mkdir ",
                                         "unlink ",
                                         "rename ",
                                         "rmdir ",
                                         "copyfile ",
                                         "symlink ",
                                         "chmod ",
                                         "utime ",
                                         "mkstemp",
                                         "create ",
                                         "creating ",
                                         "write ",
                                         "writing"};
constexpr std::string_view kRunning[] = {"spawn ", "exec ", "execve", "execvp"};
enum class Need : std::uint8_t { read, write, run };

constexpr std::string_view kNetwork[] = {"enotfound",
                                         "eai_again",
                                         "could not resolve host",
                                         "name resolution",
                                         "name or service not known",
                                         "no such host",
                                         "eafnosupport",
                                         "address family not supported",
                                         "enetunreach",
                                         "network is unreachable"};
/// What stands before a host's name: node, curl and git, requests, Go, any URL.
constexpr std::string_view kHostMarks[] = {
    "ENOTFOUND ", "EAI_AGAIN ", "resolve host: ", "host='", "lookup ", "https://", "http://"};
/// npx's and uv's, when what they need is not in their cache.
constexpr std::string_view kNotCached[] = {
    "enotcached", "only-if-cached", "network was disabled", "network connectivity is disabled"};
constexpr std::string_view kMissingVariable[] = {"environment variable",
                                                 "env var",
                                                 "keyerror",
                                                 "not set",
                                                 "must be set",
                                                 "please set",
                                                 "is required",
                                                 "missing"};

/// What needs nothing but its own words.
struct Plain {
  std::string_view words;
  std::string_view hint;
};
constexpr std::string_view kSyscall =
    "the filter refused a system call (SIGSYS): no flag grants it; programs for another "
    "architecture do not run";
constexpr std::string_view kMemory = "it ran out of memory: --max-memory takes more";
constexpr std::string_view kThreads = "it ran out of processes and threads: --max-pids takes more";
constexpr std::string_view kRoom =
    "its private /tmp is full: --allow-write a folder and --allow-env TMPDIR=<it>, or a larger "
    "--max-new-files where one was given";
constexpr std::string_view kPackage =
    "a package is not in what is granted: --allow-read with the folder that holds it";
constexpr Plain kPlain[] = {
    {"bad system call", kSyscall},
    {"heap out of memory", kMemory},
    {"cannot allocate memory", kMemory},
    {"enomem", kMemory},
    {"memoryerror", kMemory},
    {"bad_alloc", kMemory},
    {"can't start new thread", kThreads},
    {"resource temporarily unavailable", kThreads},
    {"emfile", "it ran out of descriptors: --max-open-files takes more"},
    {"too many open files", "it ran out of descriptors: --max-open-files takes more"},
    {"efbig", "a file of its grew too large: --max-file-size takes more"},
    {"file too large", "a file of its grew too large: --max-file-size takes more"},
    {"enospc", kRoom},
    {"no space left on device", kRoom},
    {"error while loading shared libraries",
     "a library is not in what is granted: --allow-exec with the folder that holds it"},
    {"no module named", kPackage},
    {"cannot find package", kPackage},
};

/// Names under which secrets lie: a program that is refused them may say so to be granted them.
constexpr std::string_view kSecretNames[] = {".ssh",
                                             ".aws",
                                             ".azure",
                                             ".gnupg",
                                             ".kube",
                                             ".docker",
                                             ".netrc",
                                             ".env",
                                             ".npmrc",
                                             ".pypirc",
                                             ".git-credentials",
                                             "credentials",
                                             "shadow",
                                             ".password-store",
                                             ".mozilla"};
/// Never somebody's to grant.
constexpr std::string_view kPrivate[] = {"/proc", "/dev", "/sys"};

template <std::size_t Size>
bool says_any(std::string_view line, const std::string_view (&parts)[Size]) {
  return std::any_of(std::begin(parts), std::end(parts), [line](std::string_view part) {
    return says(line, part);
  });
}

Refusal refusal_in(std::string_view line) {
  const auto* const phrase =
      std::find_if(std::begin(kPhrases), std::end(kPhrases), [line](const Phrase& each) {
        return says(line, each.words);
      });
  return phrase == std::end(kPhrases) ? Refusal::none : phrase->refusal;
}

Need need_in(std::string_view line, Refusal refusal) {
  if (says_any(line, kRunning)) return Need::run;
  if (refusal == Refusal::read_only || says_any(line, kWriting)) return Need::write;
  return Need::read;
}

std::string_view flag_for(Need need) {
  switch (need) {
    case Need::read:
      break;
    case Need::write:
      return "--allow-write";
    case Need::run:
      return "--allow-exec";
  }
  return "--allow-read";
}

bool may_hold_secrets(std::string_view path) {
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    if (std::find(std::begin(kSecretNames), std::end(kSecretNames), name) != std::end(kSecretNames))
      return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

class Explainer {
 public:
  explicit Explainer(const EarlyDeath& death) : death_(death) {}

  std::vector<std::string> explain() {
    explain_signal();
    std::string_view text = death_.errors;
    if (text.size() > kMaxHintText) text.remove_prefix(text.size() - kMaxHintText);
    while (!text.empty() && hints_.size() < kMaxHints) {
      const std::size_t newline = text.rfind('\n');
      const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
      explain_line(text.substr(begin));
      text = text.substr(0, begin == 0 ? 0 : begin - 1);
    }
    return std::move(hints_);
  }

 private:
  void add(std::string hint) {
    const bool is_new = std::find(hints_.begin(), hints_.end(), hint) == hints_.end();
    if (is_new && hints_.size() < kMaxHints) hints_.push_back(std::move(hint));
  }

  void explain_signal() {
    if (!WIFSIGNALED(death_.wait_status)) return;
    if (WTERMSIG(death_.wait_status) == SIGSYS) add(std::string(kSyscall));
    if (WTERMSIG(death_.wait_status) == SIGXCPU)
      add("it used up its processor time: --max-cpu-seconds takes more");
  }

  void explain_line(std::string_view line) {
    if (explain_network(line)) return;
    const Refusal refusal = refusal_in(line);
    if (refusal != Refusal::none) {
      for (const std::string& path : paths_in(line))
        explain_path(path, refusal, line);
    }
    explain_variable(line);
    for (const Plain& each : kPlain) {
      if (says(line, each.words)) add(std::string(each.hint));
    }
  }

  /// Whether the line speaks of the network.
  bool explain_network(std::string_view line) {
    if (death_.network == Network::unconfined) return false;
    const bool is_cache = says_any(line, kNotCached);
    if (!is_cache && !says_any(line, kNetwork)) return false;
    std::string host;
    for (const std::string_view mark : kHostMarks) {
      if (host.empty()) host = host_behind(line, mark);
    }
    std::string hint(is_cache ? "a package is not in its cache, and no network is granted: run it "
                                "once without confinement, or "
                              : "it looked for the network: ");
    if (death_.tier == Tier::landlock) hint.append("--tier full and ");
    hint.append("--allow-net ");
    hint.append(host.empty() ? "HOST:PORT" : host).append(host.empty() ? "" : ":443");
    // Of several lines about one thing the one that names the host says more.
    bool& is_said = is_cache ? is_cache_said_ : is_network_said_;
    if (host.empty() && is_said) return true;
    is_said = true;
    add(std::move(hint));
    return true;
  }

  void explain_variable(std::string_view line) {
    if (!says_any(line, kMissingVariable)) return;
    for (const std::string& name : variables_in(line)) {
      constexpr std::string_view kErrorCode = "ERR_";  // node's: ERR_MODULE_NOT_FOUND
      if (name.compare(0, kErrorCode.size(), kErrorCode) == 0) continue;
      std::string hint = "the variable ";
      add(std::move(hint.append(name).append(" did not cross: --allow-env ").append(name)));
    }
  }

  void explain_path(const std::string& path, Refusal refusal, std::string_view line) {
    const bool is_private =
        std::any_of(std::begin(kPrivate), std::end(kPrivate), [&path](std::string_view folder) {
          return is_within(path, folder);
        });
    if (is_private || path.find("/../") != std::string::npos) return;
    const Need need = need_in(line, refusal);
    const PathGrant* grant = death_.grants.find(path);
    if (grant == nullptr) {
      explain_ungranted(path, need);
    } else if (refusal == Refusal::absent) {
      return;  // it is granted and not there, which is no matter of ours
    } else if (need == Need::run && !grant->rights.may_execute) {
      suggest(path, "may not be run", Need::run);
    } else if (need != Need::run && !grant->rights.may_write) {
      suggest(is_there(path) ? path : nearest_there(path), "may only be read", Need::write);
    }
  }

  void explain_ungranted(const std::string& path, Need need) {
    if (is_there(path)) {
      suggest(path, "is not granted", need);
      return;
    }
    if (need != Need::write) return;  // the host has it as little as the program
    const std::string above = nearest_there(path);
    if (!is_wide(above)) {
      suggest(above, "is not granted", Need::write);
      return;
    }
    const std::size_t end = path.find('/', above == "/" ? 1 : above.size() + 1);
    const std::string top = shell_word(path.substr(0, end));
    add(top + " is not there: mkdir -p " + top + ", then --allow-write " + top);
  }

  void suggest(const std::string& path, std::string_view what, Need need) {
    const std::string word = shell_word(path);
    std::string hint = word;
    hint.append(" ").append(what);
    if (may_hold_secrets(path)) hint.append(", and may hold secrets (think twice)");
    add(hint.append(": ").append(flag_for(need)).append(" ").append(word));
  }

  [[nodiscard]] bool is_there(const std::string& path) const {
    return death_.is_on_host && death_.is_on_host(path);
  }
  [[nodiscard]] std::string nearest_there(const std::string& path) const {
    std::string above = parent_of(path);
    while (above != "/" && !is_there(above))
      above = parent_of(above);
    return above;
  }
  /// Too much to be granted for the sake of one file in it.
  [[nodiscard]] bool is_wide(const std::string& folder) const {
    return folder == "/" || (!death_.home.empty() && is_within(death_.home, folder));
  }

  const EarlyDeath& death_;
  std::vector<std::string> hints_;
  bool is_network_said_ = false;
  bool is_cache_said_ = false;
};

}  // namespace

std::vector<std::string> explain_death(const EarlyDeath& death) {
  return Explainer(death).explain();
}

}  // namespace aegis::confine
