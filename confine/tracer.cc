// SPDX-License-Identifier: Apache-2.0 OR MIT
// See tracer.h. A path is read once, when the call is made; a program that changes it meanwhile
// deceives only its own user's list.
#include "confine/tracer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <climits>

#include "confine/command.h"
#include "confine/fd.h"

namespace aegis::confine {
namespace {

using Act = TracedCall::Act;
using Need = Wish::Need;
using Kind = Wish::Kind;

constexpr int kEventShift = 16;               // ptrace(2): status >> 8 == (SIGTRAP | event << 8)
constexpr int kSyscallStop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD

/// What `task` has at `address`, up to `size` bytes and no further than the page; as much as can be
/// read.
std::size_t read_memory(pid_t task, std::uint64_t address, char* into, std::size_t size) {
  constexpr std::uint64_t kPage = 4096;  // the least of any architecture
  const std::uint64_t to_end = kPage - address % kPage;
  iovec local{into, std::min<std::size_t>(size, to_end)};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
  iovec remote{reinterpret_cast<void*>(address), local.iov_len};
  const ssize_t got = ::process_vm_readv(task, &local, 1, &remote, 1, 0);
  if (got > 0) return static_cast<std::size_t>(got);
  // A container's filter may refuse that call and not this one, which reads one word.
  errno = 0;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): as above
  const long word = ::ptrace(PTRACE_PEEKDATA, task, reinterpret_cast<void*>(address), nullptr);
  if (errno != 0) return 0;
  const std::size_t read = std::min(local.iov_len, sizeof word);
  std::memcpy(into, &word, read);
  return read;
}

std::string read_text(pid_t task, std::uint64_t address) {
  std::array<char, PATH_MAX> text;
  std::size_t size = 0;
  while (size < text.size()) {
    const std::size_t got =
        read_memory(task, address + size, text.data() + size, text.size() - size);
    const char* const begin = text.data() + size;
    const char* const end = std::find(begin, begin + got, '\0');
    if (end != begin + got) return std::string(static_cast<const char*>(text.data()), end);
    if (got == 0) return {};
    size += got;
  }
  return {};
}

std::string read_link(const std::string& link) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : std::string();
}

std::string of_task(pid_t task, std::string_view what) {
  return "/proc/" + std::to_string(task) + "/" + std::string(what);
}

/// Without empty components and "."; ".." stays, since what is before it may be a link.
std::string tidy(std::string_view path) {
  std::string tidied;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    if (!name.empty() && name != ".") tidied.append("/").append(name);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return tidied.empty() ? "/" : tidied;
}

struct Found {
  std::string path;  // without links
  Kind kind = Kind::other;
};
enum class LastLink : std::uint8_t { followed, itself };

/// This process has the program's root and rights, so what it finds is what the program found.
std::optional<Found> find(const std::string& path, LastLink last) {
  const int flags = O_PATH | O_CLOEXEC | (last == LastLink::itself ? O_NOFOLLOW : 0);
  const Fd fd(::open(path.c_str(), flags));
  struct stat status {};
  if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) return std::nullopt;
  Found found{read_link("/proc/self/fd/" + std::to_string(fd.get()))};
  if (found.path.substr(0, 1) != "/") return std::nullopt;
  if (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) found.kind = Kind::file;
  if (S_ISDIR(status.st_mode)) found.kind = Kind::folder;
  return found;
}

/// Of what is not there itself; empty when its folder is not there either.
std::string path_of_absent(const std::string& path) {
  const auto folder = find(parent_of(path), LastLink::followed);
  if (!folder || folder->kind != Kind::folder) return {};
  const std::string above = folder->path == "/" ? "" : folder->path;
  return above + "/" + std::string(name_of(path));
}

/// The first symbolic link on the way to `path`, into `wish`.
void find_link(const std::string& path, Wish& wish) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string prefix = path.substr(0, end);
    struct stat status {};
    if (::lstat(prefix.c_str(), &status) != 0) return;
    if (S_ISLNK(status.st_mode)) {
      const auto target = find(prefix, LastLink::followed);
      if (!target) return;
      wish.link = prefix;
      wish.link_target = target->path;
      return;
    }
    if (end == std::string::npos) return;
  }
}

using Arguments = std::array<std::uint64_t, 6>;

std::uint64_t argument(const Arguments& arguments, std::int8_t index) {
  return index < 0 ? 0 : arguments.at(static_cast<unsigned char>(index));
}

/// The first number of a structure, such as the flags of openat2(2)'s; 0 when it cannot be read.
std::uint64_t read_number(pid_t task, std::uint64_t address) {
  std::array<char, sizeof(std::uint64_t)> bytes{};
  if (read_memory(task, address, bytes.data(), bytes.size()) != bytes.size()) return 0;
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), bytes.size());
  return number;
}

/// What a descriptor of the task is open on.
std::string path_of_descriptor(pid_t task, std::uint64_t number) {
  const int fd = static_cast<int>(number);
  return read_link(of_task(task, fd == AT_FDCWD ? "cwd" : "fd/" + std::to_string(fd)));
}

/// The file that a call names, absolute; empty when it names none: a descriptor (AT_EMPTY_PATH), a
/// pipe, a folder that is gone.
std::string path_of(pid_t task, const TracedCall& call, const Arguments& arguments) {
  std::string path;
  if (call.act == Act::map) {
    path = path_of_descriptor(task, argument(arguments, call.path));
  } else {
    path = read_text(task, argument(arguments, call.path));
    if (path.empty()) return path;
    if (path.front() != '/') {
      const std::uint64_t cwd = static_cast<std::uint64_t>(AT_FDCWD);
      const std::uint64_t folder = call.folder < 0 ? cwd : argument(arguments, call.folder);
      path.insert(0, path_of_descriptor(task, folder) + "/");
    }
  }
  return path.substr(0, 1) == "/" ? tidy(path) : std::string();
}

bool is_of_name(Act act) {
  return act == Act::make || act == Act::make_folder || act == Act::remove;
}

}  // namespace

Tracer::Tracer(const Spec& spec, int wishes) : spec_(spec), wishes_(wishes) {
  for (const TracedCall& each : traced_calls())
    calls_[each.number].push_back(each);
  if (spec.host_view) hidden_.insert(spec.host_view->hidden.begin(), spec.host_view->hidden.end());
}

int Tracer::seize(pid_t program) noexcept {
  constexpr unsigned long kOptions = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD |
                                     PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                                     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  return ::ptrace(PTRACE_SEIZE, program, nullptr, kOptions) == 0 ? 0 : errno;
}

void Tracer::on_stop(pid_t task, int status) {
  int signal = 0;
  const int event = status >> kEventShift;
  if (event == PTRACE_EVENT_SECCOMP) {
    on_call(task);
  } else if (event == PTRACE_EVENT_EXEC) {
    on_exec(task);
  } else if (event == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP) {
    // Stopped as a whole process, by the terminal or by its like: it waits for SIGCONT as it would.
    ::ptrace(PTRACE_LISTEN, task, nullptr, nullptr);
    return;
  } else if (event == 0 && WSTOPSIG(status) == kSyscallStop) {
    on_return(task);
  } else if (event == 0) {
    signal = WSTOPSIG(status);
  }
  const auto request = pending_.count(task) != 0 ? PTRACE_SYSCALL : PTRACE_CONT;
  // Killed meanwhile: the next status says so.
  static_cast<void>(::ptrace(request, task, nullptr, static_cast<unsigned long>(signal)));
}

void Tracer::on_call(pid_t task) {
  __ptrace_syscall_info info{};
  if (::ptrace(PTRACE_GET_SYSCALL_INFO, task, sizeof info, &info) <= 0) return;
  if (info.op != PTRACE_SYSCALL_INFO_SECCOMP) return;
  const auto calls = calls_.find(static_cast<int>(info.seccomp.nr));
  if (calls == calls_.end()) return;
  std::vector<Named> named;
  Arguments arguments{};
  std::copy(std::begin(info.seccomp.args), std::end(info.seccomp.args), arguments.begin());
  for (const TracedCall& call : calls->second) {
    std::string path = path_of(task, call, arguments);
    if (path.empty() || is_own(path)) continue;
    const bool is_how = call.act == Act::open_how;
    const std::uint64_t extra = argument(arguments, call.extra);
    named.push_back({is_how ? Act::open : call.act,
                     std::move(path),
                     is_how ? read_number(task, extra) : extra});
  }
  if (!named.empty()) pending_[task] = std::move(named);
}

void Tracer::on_return(pid_t task) {
  const auto pending = pending_.find(task);
  if (pending == pending_.end()) return;
  const std::vector<Named> named = std::move(pending->second);
  pending_.erase(pending);
  __ptrace_syscall_info info{};
  if (::ptrace(PTRACE_GET_SYSCALL_INFO, task, sizeof info, &info) <= 0) return;
  if (info.op != PTRACE_SYSCALL_INFO_EXIT) return;
  const int code = info.exit.is_error != 0 ? static_cast<int>(-info.exit.rval) : 0;
  for (const Named& each : named)
    judge(each, code);
}

/// What is executed, and by which loader: an interpreter that a first line names has come to be it.
/// A thread that executes takes its process's number.
void Tracer::on_exec(pid_t task) {
  unsigned long former = 0;
  ::ptrace(PTRACE_GETEVENTMSG, task, nullptr, &former);
  const auto pending = pending_.find(static_cast<pid_t>(former));
  if (pending != pending_.end()) {
    for (const Named& each : pending->second)
      judge(each, 0);
    pending_.erase(pending);
  }
  pending_.erase(task);
  const Fd maps(::open(of_task(task, "maps").c_str(), O_RDONLY | O_CLOEXEC));
  if (!maps.is_open()) return append_cut();  // a program that its user may run and not read
  std::array<char, 16384> text;              // a fresh program has a dozen lines
  const ssize_t size = ::read(maps.get(), text.data(), text.size());
  std::string_view rest(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t path = line.find('/');
    if (path == std::string_view::npos || line.find(" r-xp ") == std::string_view::npos) continue;
    const Named named{Act::map, std::string(line.substr(path))};
    if (!is_own(named.path)) record(Need::execute, named);
  }
}

void Tracer::judge(const Named& named, int code) {
  switch (named.act) {
    case Act::open:
    case Act::open_how:
    case Act::create:
      return judge_open(named, code);
    case Act::look:
    case Act::look_at_link:
    case Act::access:
      if (code == 0) return record(Need::look, named);
      break;
    case Act::read:
      if (code == 0) return record(Need::read, named);
      break;
    case Act::run:
    case Act::map:
      if (code == 0) return record(Need::execute, named);
      if (is_hidden(named.path)) record_hidden(named);
      return;
    case Act::change:
    case Act::make:
    case Act::make_folder:
    case Act::remove:
      break;
  }
  if (code == EROFS) record(Need::write, named);
}

void Tracer::judge_open(const Named& named, int code) {
  const auto flags = static_cast<unsigned>(named.extra);
  const bool writes = named.act == Act::create || (flags & O_ACCMODE) != O_RDONLY;
  if (code == EROFS) return record(Need::write, named);
  if (code != 0) {
    if (is_hidden(named.path)) record_hidden(named);
  } else if (!writes) {
    record((flags & O_PATH) != 0 ? Need::look : Need::read, named);
  }
}

void Tracer::record(Need need, const Named& named) {
  const Act act = is_of_name(named.act) ? named.act : Act::look;
  std::string key = named.path;
  key += static_cast<char>(need);
  key += static_cast<char>(act);
  if (is_full_ || !seen_.insert(std::move(key)).second) return;
  if (const auto wish = make_wish(need, named)) append(*wish);
}

std::optional<Wish> Tracer::make_wish(Need need, const Named& named) const {
  const bool is_name = is_of_name(named.act);
  const bool is_link = is_name || named.act == Act::look_at_link;
  Wish wish{need, Kind::file, {}, named.path};
  if (auto found = find(named.path, is_link ? LastLink::itself : LastLink::followed)) {
    wish.path = std::move(found->path);
    // To take a name away or to put another in its place is to write the folder that it is in.
    wish.kind = is_name && found->kind == Kind::folder ? Kind::file : found->kind;
  } else {
    wish.path = path_of_absent(named.path);
    wish.kind = named.act == Act::make_folder ? Kind::absent_folder : Kind::absent_file;
  }
  if (wish.path.empty() || is_own(wish.path)) return std::nullopt;
  // What ".." leads out of is not known from the text.
  if (wish.written.find("/..") != std::string::npos) wish.written = wish.path;
  if (wish.written != wish.path) find_link(wish.written, wish);
  return wish;
}

/// It was looked for where the program finds nothing.
void Tracer::record_hidden(const Named& named) {
  if (is_full_ || !seen_.insert(named.path).second) return;
  append({Need::read, Kind::file, named.path, named.path});
}

void Tracer::append(const Wish& wish) {
  is_full_ = seen_.size() >= kMaxWishes || written_ >= kMaxWishBytes;
  if (is_full_) return append_cut();
  std::string bytes;
  encode_wish(wish, bytes);
  written_ += bytes.size();
  static_cast<void>(!::write(wishes_, bytes.data(), bytes.size()));
}

void Tracer::append_cut() {
  if (std::exchange(is_cut_, true)) return;
  std::string bytes;
  encode_cut(bytes);
  static_cast<void>(!::write(wishes_, bytes.data(), bytes.size()));
}

/// Of the sandbox alone: nothing that could be granted.
bool Tracer::is_own(const std::string& path) const {
  if (is_within(path, "/proc") || is_within(path, "/dev")) return true;
  return is_within(path, "/tmp") && spec_.paths.find(path) == nullptr;
}

bool Tracer::is_hidden(std::string path) const {
  for (; path != "/"; path = parent_of(path)) {
    if (hidden_.count(path) != 0) return true;
  }
  return false;
}

}  // namespace aegis::confine
