// SPDX-License-Identifier: Apache-2.0 OR MIT
// A server that does what its argv says, step by step, and never more: the other end of every
// session test. `puppet=SOCKET` lends its stdin, stdout and stderr to the test, which then is the
// server (tests/sessions/harness.py). It speaks no MCP but an answer to each frame with an id.

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

int log_fd = -1;    // every byte read from stdin goes here before anything is done about it
std::string input;  // read and not yet cut into frames
std::string birth;  // as main found the process: a line of descriptors, then /proc/self/status

[[noreturn]] void fail(std::string_view what) {
  static_cast<void>(std::fprintf(stderr,
                                 "script_server: %.*s: %s\n",
                                 static_cast<int>(what.size()),
                                 what.data(),
                                 std::strerror(errno)));
  std::exit(99);
}

using Handler = void (*)(int);
void set_signal(int sig, Handler handler) {
  if (signal(sig, handler) == SIG_ERR) fail("signal");
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// False at the end of input.
bool read_more() {
  char buffer[65536];
  ssize_t n = 0;
  do
    n = read(STDIN_FILENO, buffer, sizeof buffer);
  while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  const std::string_view bytes(buffer, static_cast<std::size_t>(n));
  if (log_fd >= 0 && !write_all(log_fd, bytes)) fail("log");
  input += bytes;
  return true;
}

void echo() {
  do {
    if (!write_all(STDOUT_FILENO, input)) return;
    input.clear();
  } while (read_more());
}

void drain() {
  do
    input.clear();
  while (read_more());
}

// The first `"id":` counts: enough for frames that the tests themselves write.
std::string answer(std::string_view frame) {
  const std::size_t at = frame.find("\"id\":");
  if (at == std::string_view::npos || frame.find("\"method\"") == std::string_view::npos) return {};
  const std::string_view rest = frame.substr(at + 5);
  const bool is_string = !rest.empty() && rest[0] == '"';
  const std::size_t end = is_string ? rest.find('"', 1) + 1 : rest.find_first_of(",}");
  return "{\"jsonrpc\":\"2.0\",\"id\":" + std::string(rest.substr(0, end)) +
         ",\"result\":{\"content\":[]}}\n";
}

void serve() {
  while (true) {
    std::size_t end = 0;
    while ((end = input.find('\n')) != std::string::npos) {
      const std::string reply = answer(std::string_view(input).substr(0, end));
      input.erase(0, end + 1);
      if (!write_all(STDOUT_FILENO, reply)) return;
    }
    if (!read_more()) return;
  }
}

[[noreturn]] void wait_forever() {
  while (true)
    pause();
}

void go_deaf() {
  for (const int sig : {SIGTERM, SIGHUP, SIGINT})
    set_signal(sig, SIG_IGN);
}

// Leaves its session and parent, holds no descriptor, and hears no polite signal.
[[noreturn]] void be_daemon(int ready) {
  setsid();
  if (fork() != 0) _exit(0);
  go_deaf();
  for (int fd = 0; fd < 64; ++fd) {
    if (fd != ready) close(fd);
  }
  if (write(ready, "r", 1) != 1) _exit(1);
  close(ready);
  wait_forever();
}

// Returns when all are deaf.
void start_daemons(int count) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) fail("pipe");
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) be_daemon(ready[1]);
    waitpid(child, nullptr, 0);
  }
  close(ready[1]);
  char byte = 0;
  for (int i = 0; i < count; ++i) {
    if (read(ready[0], &byte, 1) != 1) fail("a daemon did not start");
  }
  close(ready[0]);
}

// One frame of exactly `size` bytes, its '\n' included, that answers the id 1.
void write_frame(std::size_t size) {
  std::string frame = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"";
  const std::string_view tail = "\"}}\n";
  if (size > frame.size() + tail.size()) frame.append(size - frame.size() - tail.size(), 'x');
  frame += tail;
  write_all(STDOUT_FILENO, frame);
}

void flood() {
  const std::string block(65536, 'x');
  while (write_all(STDOUT_FILENO, block))
    continue;
}

void open_log(const std::string& path) {
  log_fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_fd < 0) fail(path);
}

int to_number(std::string_view text) {
  return std::atoi(std::string(text).c_str());
}

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 1 < text.size();
    out += is_escape ? (text[++i] == 'n' ? '\n' : text[i]) : text[i];
  }
  return out;
}

void note_birth() {
  DIR* dir = opendir("/proc/self/fd");
  if (dir == nullptr) fail("/proc/self/fd");
  while (const dirent* entry = readdir(dir)) {
    if (entry->d_name[0] != '.' && to_number(entry->d_name) != dirfd(dir)) {
      birth += std::string(entry->d_name) + " ";
    }
  }
  closedir(dir);
  const int status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  char text[4096];
  const ssize_t n = read(status, text, sizeof text);
  if (n < 0) fail("/proc/self/status");
  close(status);
  birth += "\n" + std::string(text, static_cast<std::size_t>(n));
}

void send_stdio(int socket_fd) {
  const int fds[3] = {0, 1, 2};
  iovec bytes = {birth.data(), birth.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fds);
  std::memcpy(CMSG_DATA(header), fds, sizeof fds);
  if (sendmsg(socket_fd, &message, 0) < 0) fail("sendmsg");
}

void die_by(int sig) {
  if (sig != SIGKILL) set_signal(sig, SIG_DFL);
  if (raise(sig) != 0) fail("raise");
}

struct Step {
  std::string_view name;
  void (*run)(std::string_view value);
};

constexpr Step kSteps[] = {
    {"echo", [](std::string_view) { echo(); }},
    {"serve", [](std::string_view) { serve(); }},
    {"drain", [](std::string_view) { drain(); }},
    {"print", [](std::string_view text) { write_all(STDOUT_FILENO, unescape(text)); }},
    {"complain", [](std::string_view text) { write_all(STDERR_FILENO, unescape(text)); }},
    {"frame", [](std::string_view n) { write_frame(static_cast<std::size_t>(to_number(n))); }},
    {"flood", [](std::string_view) { flood(); }},
    {"pause", [](std::string_view) { wait_forever(); }},
    {"deaf", [](std::string_view) { go_deaf(); }},
    {"daemons", [](std::string_view n) { start_daemons(to_number(n)); }},
    {"close", [](std::string_view fd) { close(to_number(fd)); }},
    {"exit", [](std::string_view n) { std::_Exit(to_number(n)); }},
    {"die", [](std::string_view n) { die_by(to_number(n)); }},
    {"log", [](std::string_view path) { open_log(std::string(path)); }},
};

void run_step(std::string_view step) {
  const std::size_t cut = step.find('=');
  for (const Step& known : kSteps) {
    if (known.name != step.substr(0, cut)) continue;
    return known.run(cut == std::string_view::npos ? "" : step.substr(cut + 1));
  }
  errno = EINVAL;
  fail(step);
}

// Lends stdio to the test and then does one step for each packet that it sends. SOCK_SEQPACKET: a
// packet is a step.
void be_puppet(std::string_view path) {
  const int socket_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const void* erased = &address;
  if (connect(socket_fd, static_cast<const sockaddr*>(erased), sizeof address) != 0)
    fail("connect");
  send_stdio(socket_fd);
  char step[4096];
  while (true) {
    const ssize_t n = read(socket_fd, step, sizeof step);
    if (n <= 0) break;
    run_step(std::string_view(step, static_cast<std::size_t>(n)));
    if (!write_all(socket_fd, "done")) break;
  }
  close(socket_fd);
}

}  // namespace

int main(int argc, char** argv) {
  note_birth();
  set_signal(SIGPIPE, SIG_IGN);
  constexpr std::string_view kPuppet = "puppet=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view step = argv[i];
    if (step.substr(0, kPuppet.size()) == kPuppet) {
      be_puppet(step.substr(kPuppet.size()));
    } else {
      run_step(step);
    }
  }
  return 0;
}
