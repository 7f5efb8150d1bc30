// SPDX-License-Identifier: Apache-2.0 OR MIT
// See command.h.
#include "confine/command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include "confine/fd.h"

namespace aegis::confine {
namespace {

constexpr Rights kRun{.may_write = false, .may_execute = true};
/// execve(2) reads as much of a #! line (BINPRM_BUF_SIZE, Linux 5.1) and follows as many of them.
constexpr std::size_t kMaxFirstLine = 256;
constexpr std::size_t kMaxInterpreters = 5;

struct RuntimeName {
  std::string_view name;
  Runtime runtime;
};
constexpr RuntimeName kRuntimeNames[] = {
    {"node", Runtime::node},
    {"nodejs", Runtime::node},
    {"npx", Runtime::npx},
    {"npm", Runtime::npx},
    {"npx-cli.js", Runtime::npx},  // what npm's links point to
    {"npm-cli.js", Runtime::npx},
    {"python", Runtime::python},
    {"uv", Runtime::uv},
    {"uvx", Runtime::uv},
};

/// Flags whose value is a word of its own, so that it is not taken for the script: node(1) and
/// `node --help` of version 20, python3(1).
constexpr std::string_view kNodeValueFlags[] = {"-r",
                                                "--require",
                                                "--import",
                                                "-C",
                                                "--conditions",
                                                "--loader",
                                                "--experimental-loader",
                                                "--env-file",
                                                "--icu-data-dir",
                                                "--inspect-port",
                                                "--title"};
/// Flags after which there is no script.
constexpr std::string_view kNodeNoScript[] = {"-e",
                                              "--eval",
                                              "-p",
                                              "--print",
                                              "-pe",
                                              "-v",
                                              "--version",
                                              "-h",
                                              "--help",
                                              "-i",
                                              "--interactive"};

template <std::size_t Size>
bool is_one_of(std::string_view word, const std::string_view (&words)[Size]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

/// The index of node's script in `argv`, or nothing.
std::optional<std::size_t> node_script(const std::vector<std::string>& argv) {
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (word == "--") return i + 1 < argv.size() ? std::optional(i + 1) : std::nullopt;
    if (word.empty() || word.front() != '-') return i;
    if (word == "-" || is_one_of(word, kNodeNoScript)) return std::nullopt;
    if (is_one_of(word, kNodeValueFlags)) ++i;
  }
  return std::nullopt;
}

enum class PythonFlag : std::uint8_t { alone, takes_next, ends_flags };

/// Letters may stand together ("-uc"), and the first that takes a value ends them.
PythonFlag judge_python_flag(std::string_view word) {
  if (word == "-") return PythonFlag::ends_flags;
  if (word == "--check-hash-based-pycs") return PythonFlag::takes_next;
  if (word.substr(0, 2) == "--") return PythonFlag::alone;
  const std::size_t letter = word.find_first_of("cmWX", 1);
  if (letter == std::string_view::npos) return PythonFlag::alone;
  if (word[letter] == 'c' || word[letter] == 'm') return PythonFlag::ends_flags;
  return letter + 1 == word.size() ? PythonFlag::takes_next : PythonFlag::alone;
}

/// The same for python.
std::optional<std::size_t> python_script(const std::vector<std::string>& argv) {
  for (std::size_t i = 1; i < argv.size(); ++i) {
    if (argv[i].empty() || argv[i].front() != '-') return i;
    const PythonFlag flag = judge_python_flag(argv[i]);
    if (flag == PythonFlag::ends_flags) return std::nullopt;
    if (flag == PythonFlag::takes_next) ++i;
  }
  return std::nullopt;
}

/// Empty when the file cannot be read or does not begin with "#!".
std::string read_first_line(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::array<char, kMaxFirstLine> bytes{};
  const ssize_t size = file.is_open() ? ::read(file.get(), bytes.data(), bytes.size()) : 0;
  if (size < 2 || bytes[0] != '#' || bytes[1] != '!') return {};
  const std::string_view line(bytes.data() + 2, static_cast<std::size_t>(size) - 2);
  return std::string(line.substr(0, line.find('\n')));
}

std::vector<std::string> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string> words;
  while (!line.empty()) {
    const std::size_t begin = std::min(line.find_first_not_of(kBlank), line.size());
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(kBlank), line.size());
    if (end > 0) words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

bool is_runnable(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

/// Empty when it is in none of the folders. Relative folders are not searched: what they mean
/// depends on who looks.
std::string find_in_path(const std::string& name, std::string_view path) {
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    std::string candidate(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
    if (candidate.empty() || candidate.front() != '/') continue;
    candidate.append("/").append(name);
    if (is_runnable(candidate)) return candidate;
  }
  return {};
}

/// The programs that a #! line starts: one, or env(1) and the one that it looks for.
std::vector<std::string> interpreters_of(const std::string& line, const Invocation& invocation) {
  const std::vector<std::string> words = words_of(line);
  if (words.empty() || words.front().front() != '/') return {};
  std::vector<std::string> found = {words.front()};
  if (name_of(words.front()) != "env") return found;
  const auto name = std::find_if(words.begin() + 1, words.end(), [](const std::string& word) {
    return word.front() != '-' && word.find('=') == std::string::npos;
  });
  if (name == words.end()) return found;
  std::string program =
      name->find('/') != std::string::npos
          ? *name
          : find_in_path(*name,
                         find_variable(invocation.environment, "PATH").value_or("/bin:/usr/bin"));
  if (!program.empty()) found.push_back(std::move(program));
  return found;
}

Result<Executed> resolve_executed(const std::string& path, const Writable& writable) {
  ResolvedPath resolved = AEGIS_TRY(resolve_grant(path, kRun));
  std::vector<std::string> planted = writable.links_of(resolved);
  return Executed{path, std::move(resolved), std::move(planted)};
}

/// What `line`, the first of `script`, names. Whoever wrote the script chose it.
std::vector<Executed> resolve_interpreters(const Executed& script,
                                           const std::string& line,
                                           const Invocation& invocation) {
  std::vector<std::string> authors = script.planted;
  if (invocation.writable.find(script.resolved.grant.path))
    authors.push_back(script.resolved.grant.path);
  std::vector<Executed> found;
  for (const std::string& each : interpreters_of(line, invocation)) {
    auto interpreter = resolve_executed(each, invocation.writable);
    if (!interpreter) continue;
    std::vector<std::string>& planted = interpreter->planted;
    planted.insert(planted.begin(), authors.begin(), authors.end());
    found.push_back(std::move(interpreter).value());
  }
  return found;
}

Result<std::vector<Executed>> follow_interpreters(const Invocation& invocation) {
  std::vector<Executed> executed;
  executed.push_back(AEGIS_TRY(resolve_executed(invocation.program, invocation.writable)));
  while (executed.size() <= kMaxInterpreters) {
    const std::string line = read_first_line(executed.back().resolved.grant.path);
    std::vector<Executed> more = resolve_interpreters(executed.back(), line, invocation);
    if (more.empty()) break;
    executed.insert(
        executed.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return executed;
}

/// By the name of the file that it leads to.
Runtime trusted_runtime(const Executed& executed) {
  const Runtime runtime = runtime_of(name_of(executed.resolved.grant.path));
  if (executed.planted.empty()) return runtime;
  if (runtime == Runtime::npx) return Runtime::node;
  return runtime == Runtime::uv ? Runtime::python : runtime;
}

/// The command's own name counts first: npx is a script of node's, and a shim of a version manager
/// is a script of the shell's.
Runtime find_runtime(const Invocation& invocation, const std::vector<Executed>& executed) {
  std::vector<Runtime> runtimes = {runtime_of(name_of(invocation.argv.front())),
                                   runtime_of(name_of(invocation.program))};
  for (const Executed& each : executed)
    runtimes.push_back(trusted_runtime(each));
  const auto first = std::find_if(
      runtimes.begin(), runtimes.end(), [](Runtime each) { return each != Runtime::other; });
  return first == runtimes.end() ? Runtime::other : *first;
}

/// As node finds it: `node server` may mean server.js.
std::optional<Executed> resolve_script(const Invocation& invocation, const std::string& word) {
  const std::string path = word.front() == '/' ? word : invocation.working_directory + "/" + word;
  for (const std::string_view ending : {"", ".js"}) {
    auto resolved = resolve_executed(path + std::string(ending), invocation.writable);
    if (resolved) return std::move(resolved).value();
  }
  return std::nullopt;  // the interpreter says so, better than we could
}

std::optional<Executed> find_script(const Invocation& invocation, const Command& command) {
  const Executed& last = command.executed.back();
  const bool is_started_by_line = command.executed.size() > 1 &&
                                  runtime_of(name_of(last.resolved.grant.path)) != Runtime::other;
  if (is_started_by_line) return command.executed.front();
  std::optional<std::size_t> index;
  if (command.runtime == Runtime::node) index = node_script(invocation.argv);
  if (command.runtime == Runtime::python) index = python_script(invocation.argv);
  if (!index || invocation.argv[*index].empty()) return std::nullopt;
  return resolve_script(invocation, invocation.argv[*index]);
}

}  // namespace

std::optional<std::string_view> find_variable(const std::vector<std::string>& environment,
                                              std::string_view name) {
  for (const std::string& each : environment) {
    const std::string_view variable = each;
    if (variable.size() > name.size() && variable[name.size()] == '=' &&
        variable.substr(0, name.size()) == name) {
      return variable.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

Runtime runtime_of(std::string_view program_name) {
  // "python3", "python3.11", "python3.13t"
  constexpr std::string_view kPython = "python";
  if (program_name.substr(0, kPython.size()) == kPython) {
    const std::string_view version = program_name.substr(kPython.size());
    if (version.find_first_not_of("0123456789.t") == std::string_view::npos) return Runtime::python;
  }
  for (const RuntimeName& each : kRuntimeNames) {
    if (each.name == program_name) return each.runtime;
  }
  return Runtime::other;
}

Result<Command> inspect_command(const Invocation& invocation) {
  Command command;
  command.executed = AEGIS_TRY(follow_interpreters(invocation));
  command.runtime = find_runtime(invocation, command.executed);
  command.script = find_script(invocation, command);
  if (command.runtime == Runtime::node && command.script &&
      trusted_runtime(*command.script) == Runtime::npx) {
    command.runtime = Runtime::npx;  // `node …/npx-cli.js`
  }
  return command;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace aegis::confine
