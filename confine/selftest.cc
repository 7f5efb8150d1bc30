// SPDX-License-Identifier: Apache-2.0 OR MIT
// See selftest.h. What an attempt says of itself is believed when it says that it succeeded, or
// when it says one of the errnos that a refusal has; and whatever it says, the baits are looked at.
#include "confine/selftest.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "confine/escapes.h"
#include "confine/fd.h"

namespace aegis::confine {
namespace {

constexpr std::string_view kDoing = "test the confinement";
constexpr mode_t kFileMode = 0600;
constexpr std::chrono::seconds kPatience{10};
using Outcome = EscapeResult::Outcome;

/// The byte that the escape "memory" is after, in the process that is the bait.
volatile char secret_byte = 1;

/// Lays the baits out and takes them away again.
class Baits {
 public:
  explicit Baits(const PathGrants& grants) : grants_(grants) {}
  Baits(const Baits&) = delete;
  Baits& operator=(const Baits&) = delete;
  ~Baits();

  Result<void> lay_out();
  [[nodiscard]] const Bait& bait() const { return bait_; }
  /// Whether it can be seen that an escape with this trace has succeeded.
  [[nodiscard]] bool has_trace(Escape::Trace trace);

 private:
  [[nodiscard]] Result<std::string> find_folder() const;
  Result<void> make_files();
  Result<void> start_process();
  Result<void> listen_tcp();
  Result<void> listen_abstract();
  static bool is_called(const Fd& listener);

  const PathGrants& grants_;
  Bait bait_;
  Fd file_;
  Fd tcp_;
  Fd abstract_;
  bool has_ended_ = false;
};

Result<void> Baits::lay_out() {
  AEGIS_TRY(make_files());
  AEGIS_TRY(listen_tcp());
  AEGIS_TRY(listen_abstract());
  return start_process();
}

/// Outside of all that is granted: the program's own folder may be anywhere.
Result<std::string> Baits::find_folder() const {
  std::error_code error;
  for (const std::filesystem::path& folder : {std::filesystem::temp_directory_path(error),
                                              std::filesystem::path("/var/tmp"),
                                              std::filesystem::path("/dev/shm")}) {
    std::string name = std::filesystem::canonical(folder, error).string();
    if (error || grants_.find(name) != nullptr) continue;
    name += "/aegis-self-test-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) return name;
  }
  return refusal(kDoing, "a folder for baits", "neither TMPDIR, /var/tmp nor /dev/shm will do");
}

Result<void> Baits::make_files() {
  bait_.folder = AEGIS_TRY(find_folder());
  file_ = Fd(::open(bait_.file().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
  if (!file_.is_open()) return errno_error(kDoing, bait_.folder);
  // One that a program could inherit, and a number that nothing else has there.
  constexpr int kLowest = 100;
  bait_.descriptor = ::fcntl(file_.get(), F_DUPFD, kLowest);
  if (bait_.descriptor < 0) return errno_error(kDoing, bait_.folder);
  return {};
}

/// Ends at SIGUSR1, or with this process.
[[noreturn]] void be_bait(pid_t owner) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != owner) ::_exit(1);
  // Where it could not be traced anyway, that it was not would prove nothing.
  ::prctl(PR_SET_DUMPABLE, 1);
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGUSR1);
  int signal = 0;
  while (::sigwait(&awaited, &signal) != 0) {
  }
  ::_exit(secret_byte);
}

Result<void> Baits::start_process() {
  // The sandbox numbers its processes from 1: a bait with such a number would be mistaken for one
  // of them.
  constexpr pid_t kHighestInside = 100;
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);  // or it could come before it is awaited
  const pid_t owner = ::getpid();
  pid_t pid = -1;
  do {
    if (pid > 0) ::waitpid(pid, nullptr, 0);
    pid = ::fork();
    if (pid == 0 && ::getpid() > kHighestInside) be_bait(owner);
    if (pid == 0) ::_exit(0);
  } while (pid > 0 && pid <= kHighestInside);
  const int code = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return code_error(kDoing, "fork", code);
  bait_.process = pid;
  bait_.secret = reinterpret_cast<std::uintptr_t>(&secret_byte);
  return {};
}

Result<void> Baits::listen_tcp() {
  tcp_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(tcp_.get(), any, size) != 0 || ::listen(tcp_.get(), 1) != 0 ||
      ::getsockname(tcp_.get(), any, &size) != 0)
    return errno_error(kDoing, "listen on the loopback");
  bait_.port = ntohs(address.sin_port);
  return {};
}

Result<void> Baits::listen_abstract() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    return errno_error(kDoing, "getrandom");
  bait_.abstract_name = "aegis-self-test-" + std::to_string(number);
  abstract_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size =
      bait_.abstract_name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  if (::bind(abstract_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(abstract_.get(), 1) != 0)
    return errno_error(kDoing, "listen on a unix socket");
  return {};
}

bool Baits::is_called(const Fd& listener) {
  return Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)).is_open();
}

bool Baits::has_trace(Escape::Trace trace) {
  struct stat status {};
  constexpr mode_t kBits = 07777;
  switch (trace) {
    case Escape::Trace::none:
      return false;
    case Escape::Trace::made_file:
      return ::lstat(bait_.made().c_str(), &status) == 0;
    case Escape::Trace::mode:
      return ::fstat(file_.get(), &status) != 0 || (status.st_mode & kBits) != kFileMode;
    case Escape::Trace::process_end:
      has_ended_ = has_ended_ || ::waitpid(bait_.process, nullptr, WNOHANG) != 0;
      return has_ended_;
    case Escape::Trace::connection:
      return is_called(tcp_);
    case Escape::Trace::abstract:
      return is_called(abstract_);
  }
  return true;
}

Baits::~Baits() {
  if (bait_.descriptor >= 0) ::close(bait_.descriptor);
  if (bait_.process > 0 && !has_ended_) {
    ::kill(bait_.process, SIGKILL);
    ::waitpid(bait_.process, nullptr, 0);
  }
  if (bait_.folder.empty()) return;
  ::unlink(bait_.file().c_str());
  ::unlink(bait_.made().c_str());
  ::rmdir(bait_.folder.c_str());
}

/// All that comes out of a pipe until its end, or until patience ends.
std::string read_answers(int fd) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::string text;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd one{fd, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&one, 1, static_cast<int>(left.count())) == 0) return text;
    std::array<char, 4096> piece{};
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

/// "<name> <code>" lines. What is not one, or comes twice, is left out: it is then unclear.
std::map<std::string, int, std::less<>> parse_answers(std::string_view text) {
  std::map<std::string, int, std::less<>> answers;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::size_t blank = std::min(line.find(' '), line.size() - 1);
    int code = 0;
    const char* const stop = line.data() + line.size();
    const auto parsed = std::from_chars(line.data() + blank + 1, stop, code);
    if (parsed.ec == std::errc() && parsed.ptr == stop)
      answers.emplace(line.substr(0, blank), code);
  }
  return answers;
}

std::string name_of_code(int code) {
  const char* const name = code < 0 ? ::sigabbrev_np(-code) : ::strerrorname_np(code);
  if (name == nullptr) return std::to_string(code);
  return code < 0 ? std::string("SIG") + name : name;
}

EscapeResult judge(const Escape& escape, const int* answer, bool has_trace) {
  EscapeResult result{escape.name, escape.tried};
  if (has_trace) {
    result.outcome = Outcome::succeeded;
    result.how = "seen from outside";
  } else if (answer == nullptr) {
    result.how = "no answer";
  } else if (*answer == 0) {
    result.outcome = Outcome::succeeded;
    result.how = "done";
  } else {
    result.how = name_of_code(*answer);
    const bool is_refusal =
        std::find(escape.refusals.begin(), escape.refusals.end(), *answer) != escape.refusals.end();
    if (is_refusal) result.outcome = Outcome::refused;
  }
  return result;
}

/// What the program says inside, whole.
Result<std::string> run_inside(Spec spec) {
  const Prepared prepared = AEGIS_TRY(Prepared::make(std::move(spec)));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(kDoing, "make a pipe");
  const Fd answers(ends[0]);
  Fd theirs(ends[1]);
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.is_open()) return errno_error(kDoing, "/dev/null");
  SetUp failed;
  std::optional<Child> child =
      Child::start(prepared, {null.get(), theirs.get(), null.get()}, failed);
  theirs.reset();
  if (!child) return Error{describe_failure(failed, prepared.spec())};
  return read_answers(answers.get());  // the child's end is its owner's
}

}  // namespace

Result<std::vector<EscapeResult>> run_self_test(Spec spec) {
  const PathGrants grants = spec.paths;
  Baits baits(grants);
  AEGIS_TRY(baits.lay_out());
  for (std::string& word : encode_bait(baits.bait()))
    spec.argv.push_back(std::move(word));
  const Tier tier = spec.tier;
  const std::string text = AEGIS_TRY(run_inside(std::move(spec)));
  const auto answers = parse_answers(text);
  std::vector<EscapeResult> results;
  for (const Escape& escape : all_escapes()) {
    if (tier != Tier::full && escape.reach == Escape::Reach::full_only) continue;
    const auto answer = answers.find(escape.name);
    results.push_back(judge(escape,
                            answer == answers.end() ? nullptr : &answer->second,
                            baits.has_trace(escape.trace)));
  }
  return results;
}

int try_escapes(const std::vector<std::string>& words) {
  const std::optional<Bait> bait = decode_bait(words);
  if (!bait) return 1;
  for (const Escape& escape : all_escapes()) {
    constexpr unsigned kSeconds = 2;
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(kSeconds);
      ::_exit(escape.attempt(*bait));
    }
    int status = 0;
    if (pid < 0 || ::waitpid(pid, &status, 0) != pid) continue;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    const std::string line = std::string(escape.name) + " " + std::to_string(code) + "\n";
    if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      return 1;
  }
  return 0;
}

}  // namespace aegis::confine
