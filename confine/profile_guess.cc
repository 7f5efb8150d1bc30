// SPDX-License-Identifier: Apache-2.0 OR MIT
// See profile_guess.h.
#include "confine/profile_guess.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "confine/fd.h"

namespace aegis::confine {
namespace {

/// What of an interpreter's prefix is its own: a prefix may be ~/.local, which holds much else.
constexpr std::string_view kPrefixParts[] = {"bin", "lib", "lib64", "libexec", "ssl"};
/// Where a version of python ("python3.11") has more: Debian's sitecustomize, the user's packages.
struct PythonFolder {
  std::string_view path;
  bool is_systems;
};
constexpr PythonFolder kPythonFolders[] = {{"/etc/", true}, {"~/.local/lib/", false}};
/// What makes a folder the top of a project.
constexpr std::string_view kProjectMarks[] = {
    "package.json", "pyproject.toml", "setup.py", "requirements.txt", ".git", "pyvenv.cfg"};
/// Never granted by guess, like "/", the home folder, and what is above that.
constexpr std::string_view kWideFolders[] = {
    "/etc", "/home", "/media", "/mnt", "/run", "/srv", "/var"};
constexpr std::string_view kVenvMark = "pyvenv.cfg";
constexpr std::string_view kNodeModules = "node_modules";
constexpr std::size_t kMaxVenvFile = 4096;

struct CacheFolder {
  Runtime runtime;
  std::string_view variable;  // names the folder when it is set; it must be let through to count
  std::string_view path;
};
constexpr CacheFolder kCaches[] = {
    {Runtime::npx, "npm_config_cache", "~/.npm"},
    {Runtime::uv, "UV_CACHE_DIR", "~/.cache/uv"},
    {Runtime::uv, {}, "~/.local/share/uv"},
};

bool is_there(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0;
}

std::string join(const std::string& folder, std::string_view name) {
  std::string path;
  if (folder != "/") path = folder;
  return path.append("/").append(name);
}

/// Everything that the expansion of one profile looks at.
struct Context {
  const Invocation& invocation;
  const Command& command;
};

/// Too wide to be granted by guess.
bool is_shared(const std::string& folder, const Context& context) {
  const auto holds = [&folder](const std::string& home) {
    return !home.empty() && is_within(home, folder);
  };
  if (folder == "/" || holds(context.invocation.home) || holds(context.invocation.real_home))
    return true;
  if (std::find(std::begin(kWideFolders), std::end(kWideFolders), folder) != std::end(kWideFolders))
    return true;
  struct stat status = {};
  if (::stat(folder.c_str(), &status) != 0) return true;
  return (status.st_mode & S_ISVTX) != 0 && (status.st_mode & S_IWOTH) != 0;  // as /tmp is
}

// --- {program} --------------------------------------------------------------------------------

/// The folder that a virtual environment's python came from: the `home` line of pyvenv.cfg.
std::string base_of_venv(const std::string& venv) {
  const Fd file(
      ::open(join(venv, kVenvMark).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::array<char, kMaxVenvFile> bytes{};
  const ssize_t size = file.is_open() ? ::read(file.get(), bytes.data(), bytes.size()) : 0;
  std::string_view text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    constexpr std::string_view kHome = "home";
    const std::size_t slash = line.find('/');
    if (line.substr(0, kHome.size()) != kHome || slash == std::string_view::npos) continue;
    if (line.substr(kHome.size(), slash - kHome.size()).find_first_not_of(" \t=") !=
        std::string_view::npos) {
      continue;
    }
    const std::string_view folder = line.substr(slash);
    return std::string(folder.substr(0, folder.find_last_not_of(" \t\r/") + 1));
  }
  return {};
}

/// The system's own prefix is for lines of its own.
void add_prefix(const std::string& bin,
                const std::vector<std::string>& planted,
                const Context& context,
                Guesses& guesses) {
  if (name_of(bin) != "bin" || bin == "/usr/bin" || bin == "/bin") return;
  const std::string prefix = parent_of(bin);
  const Invocation& user = context.invocation;
  if (is_shared(prefix, context) && prefix != user.home && prefix != user.real_home) return;
  for (const std::string_view part : kPrefixParts) {
    std::string path = join(prefix, part);
    if (is_there(path)) guesses.push_back({std::move(path), planted});
  }
}

/// The places by which pyvenv.cfg could have been written, and those of `planted`.
std::vector<std::string> authors_of_venv(const std::string& venv,
                                         const std::vector<std::string>& planted,
                                         const Writable& writable) {
  const std::string path = join(venv, kVenvMark);
  const auto file = resolve_grant(path, {});
  std::vector<std::string> authors =
      file ? writable.authors_of(*file) : std::vector<std::string>{path};
  authors.insert(authors.end(), planted.begin(), planted.end());
  return authors;
}

/// A program's place can be more than its folder: a virtual environment, or the shims of a version
/// manager (pyenv, nodenv), which are scripts that look for the real one beside them.
void add_around_place(const std::string& place,
                      const std::vector<std::string>& planted,
                      const Context& context,
                      Guesses& guesses) {
  const std::string folder = parent_of(place);
  const std::string above = parent_of(folder);
  const bool is_venv = is_there(join(above, kVenvMark));
  const bool is_shim = name_of(folder) == "shims" && is_there(join(above, "libexec"));
  if (!(is_venv || is_shim) || is_shared(above, context)) return;
  guesses.push_back({above, planted});
  if (!is_venv) return;
  add_prefix(base_of_venv(above),
             authors_of_venv(above, planted, context.invocation.writable),
             context,
             guesses);
}

/// What its version of python has elsewhere. Not the user's packages when a file that the program
/// may write named that version; a virtual environment does not look there anyway (PEP 405).
void add_python_folders(const Executed& executed, const Context& context, Guesses& guesses) {
  const std::string name(name_of(executed.resolved.grant.path));
  for (const PythonFolder& each : kPythonFolders) {
    if (!each.is_systems && !executed.planted.empty()) continue;
    const std::string base = expand_home(each.path, context.invocation.home);
    if (!base.empty() && is_there(base + name)) guesses.push_back({base + name, {}});
  }
}

void add_executed(const Executed& executed, const Context& context, Guesses& guesses) {
  const std::string& program = executed.resolved.grant.path;
  const std::vector<std::string>& planted = executed.planted;
  add_around_place(executed.found, planted, context, guesses);
  for (const LinkOnTheWay& link : executed.resolved.links)
    add_around_place(link.path, planted, context, guesses);
  add_around_place(program, planted, context, guesses);

  const Runtime runtime = runtime_of(name_of(program));
  if (runtime == Runtime::node || runtime == Runtime::python)
    add_prefix(parent_of(program), planted, context, guesses);
  if (runtime == Runtime::python) add_python_folders(executed, context, guesses);
}

// --- {script} ---------------------------------------------------------------------------------

/// The outermost node_modules that `path` is in, and the package.json beside it. Nothing outside
/// them belongs to an installed package.
std::vector<std::string> installed_package_paths(const std::string& path) {
  const std::string part = "/" + std::string(kNodeModules) + "/";
  const std::size_t at = path.find(part);
  if (at == std::string::npos) return {};
  std::vector<std::string> paths = {path.substr(0, at + part.size() - 1)};
  std::string manifest = path.substr(0, at) + "/package.json";
  if (is_there(manifest)) paths.push_back(std::move(manifest));
  return paths;
}

/// A virtual environment counts: what it holds is its own, whatever project it lies in.
bool is_top_of_project(const std::string& folder) {
  return std::any_of(std::begin(kProjectMarks),
                     std::end(kProjectMarks),
                     [&folder](std::string_view mark) { return is_there(join(folder, mark)); });
}

/// The nearest project that `folder` is in, else itself. Who may write `folder` can take the marks
/// of his project away; the one around it is then not his.
std::string project_of(const std::string& folder, const Context& context) {
  const Writable& writable = context.invocation.writable;
  const auto tree = writable.find(folder);
  for (std::string each = folder; !is_shared(each, context); each = parent_of(each)) {
    if (writable.find(each) != tree) break;
    if (is_top_of_project(each)) return each;
  }
  return folder;
}

std::vector<std::string> script_paths(const Context& context) {
  const PathGrant& script = context.command.script->resolved.grant;
  std::vector<std::string> paths = installed_package_paths(script.path);
  if (!paths.empty()) return paths;
  const std::string own = script.is_directory ? script.path : parent_of(script.path);
  if (!is_shared(own, context)) paths.push_back(project_of(own, context));
  // Node looks for packages in every folder above, too: a workspace keeps them at its top.
  for (std::string folder = own; folder != "/"; folder = parent_of(folder)) {
    std::string modules = join(folder, kNodeModules);
    if (is_there(modules)) paths.push_back(std::move(modules));
  }
  return paths;
}

// --- {cache} ----------------------------------------------------------------------------------

/// Empty when there is no home to keep it in.
std::string path_of_cache(const CacheFolder& cache,
                          const std::vector<std::string>& environment,
                          const std::string& home) {
  std::optional<std::string_view> set = find_variable(environment, cache.variable);
  if (!set && cache.runtime == Runtime::npx) set = find_variable(environment, "NPM_CONFIG_CACHE");
  const bool is_set = set && !set->empty() && set->front() == '/';
  return is_set ? std::string(*set) : expand_home(cache.path, home);
}

}  // namespace

std::string expand_home(std::string_view path, const std::string& home) {
  if (path.empty() || path.front() != '~') return std::string(path);
  return home.empty() ? std::string() : home + std::string(path.substr(1));
}

Guesses guess_program_trees(const Invocation& invocation, const Command& command) {
  const Context context{invocation, command};
  Guesses guesses;
  for (const Executed& each : command.executed)
    add_executed(each, context, guesses);
  return guesses;
}

Guesses guess_script_trees(const Invocation& invocation, const Command& command) {
  Guesses guesses;
  if (!command.script) return guesses;
  for (std::string& each : script_paths({invocation, command}))
    guesses.push_back({std::move(each), command.script->planted});
  return guesses;
}

std::vector<std::string> cache_paths(const Invocation& invocation,
                                     Runtime runtime,
                                     const std::vector<std::string>& environment) {
  std::vector<std::string> paths;
  for (const CacheFolder& each : kCaches) {
    if (each.runtime != runtime) continue;
    std::string path = path_of_cache(each, environment, invocation.home);
    if (!path.empty()) paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace aegis::confine
