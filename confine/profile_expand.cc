// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a profile's lines mean for one command: placeholders become paths, and what of the
// environment crosses. The trees that are granted by guess are held narrow here: never the home
// folder, nor one above it, nor one that all users write to.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include "confine/fd.h"
#include "confine/profile.h"

namespace aegis::confine {
namespace {

/// What of an interpreter's prefix is its own: a prefix may be ~/.local, which holds much else.
constexpr std::string_view kPrefixParts[] = {"bin", "lib", "lib64", "libexec", "ssl"};
/// Where a version of python ("python3.11") has more: Debian's sitecustomize, the user's packages.
constexpr std::string_view kPythonFolders[] = {"/etc/", "~/.local/lib/"};
/// What makes a folder the top of a project.
constexpr std::string_view kProjectMarks[] = {
    "package.json", "pyproject.toml", "setup.py", "requirements.txt", ".git", "pyvenv.cfg"};
/// Never granted by guess, like "/", the home folder, and what is above that.
constexpr std::string_view kWideFolders[] = {
    "/etc", "/home", "/media", "/mnt", "/run", "/srv", "/var"};
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

/// Empty when `path` needs a home and there is none.
std::string expand_home(std::string_view path, const std::string& home) {
  if (path.empty() || path.front() != '~') return std::string(path);
  return home.empty() ? std::string() : home + std::string(path.substr(1));
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
      ::open((venv + "/pyvenv.cfg").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
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
void add_prefix(const std::string& bin, std::vector<std::string>& paths) {
  if (name_of(bin) != "bin" || bin == "/usr/bin" || bin == "/bin") return;
  for (const std::string_view part : kPrefixParts) {
    std::string path = join(parent_of(bin), part);
    if (is_there(path)) paths.push_back(std::move(path));
  }
}

/// A program's place can be more than its folder: a virtual environment, or the shims of a version
/// manager (pyenv, nodenv), which are scripts that look for the real one beside them.
void add_around_place(const std::string& place,
                      const Context& context,
                      std::vector<std::string>& paths) {
  const std::string folder = parent_of(place);
  const std::string above = parent_of(folder);
  const bool is_venv = is_there(join(above, "pyvenv.cfg"));
  const bool is_shim = name_of(folder) == "shims" && is_there(join(above, "libexec"));
  if (!(is_venv || is_shim) || is_shared(above, context)) return;
  paths.push_back(above);
  if (is_venv) add_prefix(base_of_venv(above), paths);
}

void add_executed(const Executed& executed,
                  const Context& context,
                  std::vector<std::string>& paths) {
  const std::string& program = executed.resolved.grant.path;
  add_around_place(executed.found, context, paths);
  for (const LinkOnTheWay& link : executed.resolved.links)
    add_around_place(link.path, context, paths);
  add_around_place(program, context, paths);

  const std::string_view name = name_of(program);
  const Runtime runtime = runtime_of(name);
  if (runtime == Runtime::node || runtime == Runtime::python) add_prefix(parent_of(program), paths);
  if (runtime != Runtime::python) return;
  for (const std::string_view folder : kPythonFolders) {
    const std::string base = expand_home(folder, context.invocation.home);
    if (!base.empty() && is_there(base + std::string(name)))
      paths.push_back(base + std::string(name));
  }
}

std::vector<std::string> program_paths(const Context& context) {
  std::vector<std::string> paths;
  for (const Executed& each : context.command.executed)
    add_executed(each, context, paths);
  return paths;
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

/// The nearest project that `folder` is in, else itself.
std::string project_of(const std::string& folder, const Context& context) {
  for (std::string each = folder; !is_shared(each, context); each = parent_of(each)) {
    if (is_top_of_project(each)) return each;
  }
  return folder;
}

std::vector<std::string> script_paths(const Context& context) {
  if (!context.command.script) return {};
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

std::vector<std::string> cache_paths(const Context& context,
                                     const std::vector<std::string>& environment) {
  std::vector<std::string> paths;
  for (const CacheFolder& each : kCaches) {
    if (each.runtime != context.command.runtime) continue;
    std::optional<std::string_view> set = find_variable(environment, each.variable);
    if (!set && each.runtime == Runtime::npx) set = find_variable(environment, "NPM_CONFIG_CACHE");
    std::string path = set && !set->empty() && set->front() == '/'
                           ? std::string(*set)
                           : expand_home(each.path, context.invocation.home);
    if (!path.empty()) paths.push_back(std::move(path));
  }
  return paths;
}

// ----------------------------------------------------------------------------------------------

bool is_let_through(std::string_view pattern, std::string_view name) {
  if (pattern.back() != '*') return name == pattern;
  pattern.remove_suffix(1);
  return name.substr(0, pattern.size()) == pattern;
}

std::vector<std::string> expand_environment(const Profile& profile, const Invocation& invocation) {
  std::map<std::string, std::string, std::less<>> variables;
  for (const std::string& each : invocation.environment) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos) continue;
    const std::string_view name = std::string_view(each).substr(0, equals);
    const bool crosses = std::any_of(profile.environment.begin(),
                                     profile.environment.end(),
                                     [name](const Profile::EnvironmentLine& line) {
                                       return !line.value && is_let_through(line.name, name);
                                     });
    if (crosses) variables.emplace(name, each.substr(equals + 1));  // of several the first
  }
  for (const Profile::EnvironmentLine& line : profile.environment) {
    const bool is_meant = line.when == Profile::When::always || invocation.network == Network::none;
    if (line.value && is_meant) variables.insert_or_assign(line.name, *line.value);
  }
  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables)
    environment.push_back(std::string(name).append("=").append(value));
  return environment;
}

/// Not there, or where this user cannot go: either way the program cannot reach it.
bool is_absence(const Error& error) {
  return error.code == ENOENT || error.code == ENOTDIR || error.code == EACCES;
}

/// What a placeholder stands for and is resolved already: the programs, or the script, of which the
/// tree that holds it takes the place but not the links on its way.
std::vector<ResolvedPath> resolved_for(const Profile::PathLine& line, const Command& command) {
  std::vector<ResolvedPath> resolved;
  if (line.path == "{program}") {
    for (const Executed& each : command.executed)
      resolved.push_back(each.resolved);
  }
  const bool is_script = line.path == "{script}" && command.script;
  if (is_script && !command.script->resolved.grant.is_directory)
    resolved.push_back(command.script->resolved);
  for (ResolvedPath& each : resolved)
    each.grant.rights = line.rights;
  return resolved;
}

std::vector<std::string> paths_of(const Profile::PathLine& line,
                                  const Context& context,
                                  const std::vector<std::string>& environment) {
  if (line.path == "{program}") return program_paths(context);
  if (line.path == "{script}") return script_paths(context);
  if (line.path == "{cache}") return cache_paths(context, environment);
  return {expand_home(line.path, context.invocation.home)};
}

Result<void> add_path(const std::string& path, const Profile::PathLine& line, PathGrants& paths) {
  if (path.empty()) {
    if (line.may_be_absent) return {};
    return refusal(line.path, "no home folder is known", "set HOME");
  }
  auto resolved = resolve_grant(path, line.rights);
  if (resolved) {
    paths.add(std::move(resolved).value());
    return {};
  }
  if (line.may_be_absent && is_absence(resolved.error())) return {};
  return resolved.error();
}

}  // namespace

Result<Expanded> expand(const Profile& profile,
                        const Invocation& invocation,
                        const Command& command) {
  const Context context{invocation, command};
  Expanded expanded;
  expanded.environment = expand_environment(profile, invocation);
  for (const Profile::PathLine& line : profile.paths) {
    for (ResolvedPath& each : resolved_for(line, command))
      expanded.paths.add(std::move(each));
    for (const std::string& path : paths_of(line, context, expanded.environment)) {
      const auto added = add_path(path, line, expanded.paths);
      if (added) continue;
      std::string where = "profile " + profile.name + ":" + std::to_string(line.line);
      return Error{where.append(": ").append(added.error().doing), added.error().code};
    }
  }
  return expanded;
}

}  // namespace aegis::confine
