// SPDX-License-Identifier: Apache-2.0 OR MIT
// aegis init: lays down the starter files and the signing key, and prints what a client's
// configuration needs. Whatever is there already stays as it is.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <climits>

#include "mcp/json/canonical.h"
#include "wrap/key_file.h"
#include "wrap/log.h"
#include "wrap/out.h"
#include "wrap/places.h"
#include "wrap/starter.h"
#include "wrap/verbs.h"

namespace aegis::wrap {
namespace {

using confine::errno_error;
using confine::Fd;
using confine::Result;

constexpr int kMade = 0;
constexpr int kFailed = 1;
constexpr VerbText kText = {
    "init",
    "[--dir DIR]",
    "Lays down a broker's policy, rules for wrapped servers, a small workspace and requests to "
    "try,\n"
    "makes the signing key when there is none, and prints what to paste into an MCP client's\n"
    "configuration. What is there already is left as it is.",
    "  aegis init --dir broker\n"
    "  cd broker && aegis run requests/valid_read.json"};

constexpr std::string_view kMaking = "make the starter files";

/// Of a new file or folder, before the umask.
constexpr mode_t kFolderMode = 0777;
constexpr mode_t kFileMode = 0666;

/// The folder that all goes into.
struct Target {
  std::string path;  // as it was named, for messages
  Fd folder;

  [[nodiscard]] std::string at(std::string_view name) const {
    return path + "/" + std::string(name);
  }
};

/// Made when only it is missing.
Result<Target> open_target(const std::string& path) {
  if (::mkdir(path.c_str(), kFolderMode) != 0 && errno != EEXIST && errno != EROFS &&
      errno != EACCES) {
    return errno_error(kMaking, path);
  }
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return errno_error(kMaking, path);
  return Target{path, std::move(folder)};
}

/// The one of that name: never by a link, which may lead anywhere.
Result<void> make_folder(const Target& target, std::string_view name) {
  const std::string relative(name);
  const std::string path = target.at(name);
  if (::mkdirat(target.folder.get(), relative.c_str(), kFolderMode) == 0) return {};
  if (errno != EEXIST) return errno_error(kMaking, path);
  const Fd there(::openat(
      target.folder.get(), relative.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (there.is_open()) return {};
  return confine::refusal(
      kMaking, path, "something that is no folder has that name; move it, or use another --dir");
}

Result<void> write_all(const Fd& file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t count = ::write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(kMaking, path);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> make_file(const Target& target, const StarterFile& what) {
  const std::string relative(what.path);
  const std::string path = target.at(what.path);
  const Fd file(::openat(target.folder.get(),
                         relative.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         kFileMode));
  if (!file.is_open()) {
    if (errno != EEXIST) return errno_error(kMaking, path);
    log("init: " + path + ": it is there already, and left as it is");
    return {};
  }
  auto written = write_all(file, what.text, path);
  // Half a file would be taken for a whole one by the next start.
  if (!written) ::unlinkat(target.folder.get(), relative.c_str(), 0);
  return written;
}

Result<void> make_files(const Target& target) {
  for (const std::string_view folder : starter_folders())
    AEGIS_TRY(make_folder(target, folder));
  for (const StarterFile& file : starter_files())
    AEGIS_TRY(make_file(target, file));
  return {};
}

Result<void> make_key() {
  const OpenedKey key = AEGIS_TRY(open_key(std::nullopt));
  const std::string public_half = ": public_key " + audit::to_hex(key.key.public_key());
  log("init: " + key.path +
      (key.is_new ? ": made this signing key" : ": the signing key that is there is used") +
      public_half);
  return {};
}

/// Where a link in /proc of this process leads.
Result<std::string> read_own_link(const std::string& link) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  if (size < 0) return errno_error("read the link", link);
  return std::string(target.data(), static_cast<std::size_t>(size));
}

/// In quotes, escaped.
Result<std::string> quote(const std::string& text) {
  if (!mcp::json::is_encodable(text)) {
    return confine::refusal(
        "print the client's configuration", text, "the path is no UTF-8, which JSON needs");
  }
  std::string quoted;
  mcp::json::append_string(text, quoted);
  return quoted;
}

/// By the form that most clients share. "@..." stands for a path in quotes.
constexpr std::string_view kSnippet = R"({
  "mcpServers": {
    "aegis": {
      "command": @program,
      "args": ["mcp", "--policy", @broker]
    },
    "filesystem": {
      "command": @program,
      "args": ["wrap", "--policy", @rules, "--broker", @broker, "--",
               "npx", "-y", "@modelcontextprotocol/server-filesystem", @workspace]
    }
  }
}
)";

struct Place {
  std::string_view name;
  std::string path;
};

/// In one pass: a path may hold anything, a name of a place too.
Result<std::string> fill(std::string_view text, std::span<const Place> places) {
  std::string filled;
  while (!text.empty()) {
    const auto place = std::find_if(places.begin(), places.end(), [text](const Place& each) {
      return text.starts_with(each.name);
    });
    if (place != places.end()) filled += AEGIS_TRY(quote(place->path));
    const std::size_t passed = place != places.end() ? place->name.size() : 1;
    if (place == places.end()) filled += text.front();
    text.remove_prefix(passed);
  }
  return filled;
}

Result<std::string> encode_snippet(const Target& target) {
  const std::string program = AEGIS_TRY(read_own_link("/proc/self/exe"));
  const std::string folder =
      AEGIS_TRY(read_own_link("/proc/self/fd/" + std::to_string(target.folder.get()))) + "/";
  const Place places[] = {{"@program", program},
                          {"@broker", folder + std::string(kStarterBrokerPolicy)},
                          {"@rules", folder + std::string(kStarterPolicy)},
                          {"@workspace", folder + std::string(kStarterWorkspace)}};
  return fill(kSnippet, places);
}

Result<std::string> init(const std::string& path) {
  const Target target = AEGIS_TRY(open_target(path));
  AEGIS_TRY(make_files(target));
  AEGIS_TRY(make_key());
  return encode_snippet(target);
}

}  // namespace

int verb_init(const Arguments& arguments) {
  std::optional<std::string> dir;
  Flags flags(kText, {Operands::none, kFailed});
  flags.add_text({"--dir",
                  "DIR",
                  "where the files go (default: the working directory); made when only it is "
                  "missing"},
                 dir);
  if (const auto exit_code = flags.parse(arguments)) return *exit_code;

  const Result<std::string> snippet = init(dir.value_or("."));
  if (!snippet) {
    log("init: " + confine::describe(snippet.error()));
    return kFailed;
  }
  log("init: the files are in " + dir.value_or(".") +
      "; to paste into your client's configuration (either server, or both):");
  return write_out(*snippet) ? kMade : kFailed;
}

}  // namespace aegis::wrap
