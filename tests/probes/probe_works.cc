// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a confined program must still be able to do, close to the kernel: `reached` is what is
// wanted here. Runtimes have their own list (works/).
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "tests/probes/probe.h"

namespace probe {
namespace {

constexpr std::string_view kText = "as it should be";

std::string scratch(const char* name) {
  const char* folder = std::getenv("TMPDIR");
  return std::string(folder == nullptr ? "/tmp" : folder) + "/" + name;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}
int create(const std::string& path) {
  return open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

Answer run_in_threads() {
  pthread_t threads[8] = {};
  int counter = 0;
  const auto add = [](void* where) -> void* {
    __atomic_add_fetch(static_cast<int*>(where), 1, __ATOMIC_SEQ_CST);
    return nullptr;
  };
  for (pthread_t& thread : threads) {
    const int code = pthread_create(&thread, nullptr, add, &counter);
    if (code != 0) return refused_by(code, "pthread_create");
  }
  for (const pthread_t thread : threads)
    pthread_join(thread, nullptr);
  return counter == 8 ? reached("8 threads") : broken("threads were lost");
}

Answer fork_and_exec() {
  const int status = run("/bin/true", {});
  if (status == -1) return refused("posix_spawn /bin/true");
  return status == 0 ? reached("/bin/true") : broken("/bin/true failed");
}
Answer run_in_shell() {
  const int status = run("/bin/sh", {"-c", "echo x | cat | grep -q x && test \"$(echo y)\" = y"});
  return status == 0 ? reached("a pipeline") : broken("sh: " + std::to_string(status));
}
Answer run_script_in_scratch() {
  const std::string path = scratch("script");
  const int fd = create(path);
  if (fd < 0) return refused("open " + path);
  if (!write_all(fd, "#!/bin/sh\nexit 7\n") || fchmod(fd, 0755) != 0) return refused("fchmod");
  close(fd);
  const int status = run(path, {});
  if (status == -1) return refused("exec " + path);
  return status == 7 ? reached(path) : broken("its status was lost");
}

Answer pipe_big_line() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return refused("pipe2");
  const std::string line = std::string(1 << 20, 'x') + "\n";
  const pid_t child = fork();
  if (child < 0) return refused("fork");
  if (child == 0) _exit(write_all(ends[1], line) ? 0 : 1);
  close(ends[1]);
  std::string held;
  char buffer[65536];
  ssize_t n = 0;
  while ((n = read(ends[0], buffer, sizeof buffer)) > 0)
    held.append(buffer, static_cast<std::size_t>(n));
  waitpid(child, nullptr, 0);
  return held == line ? reached("1 MiB in one line") : broken("the line was changed");
}

Answer wait_on_epoll() {
  const int queue = epoll_create1(EPOLL_CLOEXEC);
  const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event wanted = {};
  wanted.events = EPOLLIN;
  if (queue < 0 || event < 0 || epoll_ctl(queue, EPOLL_CTL_ADD, event, &wanted) != 0)
    return refused("epoll");
  if (eventfd_write(event, 1) != 0) return refused("eventfd");
  epoll_event got = {};
  return by_result(epoll_wait(queue, &got, 1, 2000) == 1 ? 0 : -1, "epoll and eventfd");
}
Answer wait_on_timer() {
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  const itimerspec soon = {{0, 0}, {0, 1000000}};
  std::uint64_t count = 0;
  if (timer < 0 || timerfd_settime(timer, 0, &soon, nullptr) != 0) return refused("timerfd");
  return by_result(read(timer, &count, sizeof count), "timerfd");
}
Answer wait_on_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const int fd = signalfd(-1, &set, SFD_CLOEXEC);
  if (fd < 0 || raise(SIGUSR1) != 0) return refused("signalfd");
  signalfd_siginfo got = {};
  return by_result(read(fd, &got, sizeof got), "signalfd");
}
Answer interval_timer() {
  timer_t timer = nullptr;
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR2;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const itimerspec soon = {{0, 0}, {0, 1000000}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
      timer_settime(timer, 0, &soon, nullptr) != 0)
    return refused("timer_create");
  const timespec patience = {2, 0};
  return by_result(sigtimedwait(&set, nullptr, &patience), "timer_create");
}

Answer share_memory() {
  const std::string name = "/aegis-works-" + std::to_string(getpid());
  const int fd = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (fd < 0) return refused("shm_open");
  shm_unlink(name.c_str());
  if (ftruncate(fd, 4096) != 0) return refused("ftruncate");
  auto* page =
      static_cast<volatile char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  if (page == MAP_FAILED) return refused("mmap");
  const pid_t child = fork();
  if (child == 0) {
    page[0] = 'x';
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  return page[0] == 'x' ? reached("shm_open") : broken("it is not shared");
}
Answer named_semaphore() {
  const std::string name = "/aegis-works-" + std::to_string(getpid());
  sem_t* semaphore = sem_open(name.c_str(), O_CREAT | O_EXCL, 0600, 1);
  if (semaphore == SEM_FAILED) return refused("sem_open");
  sem_unlink(name.c_str());
  return by_result(sem_wait(semaphore), "sem_open");
}
Answer nameless_memory() {
  const int fd = memfd_create("works", MFD_CLOEXEC);
  return fd < 0 ? refused("memfd_create") : by_result(ftruncate(fd, 4096), "memfd_create");
}
Answer lock_file() {
  const int fd = create(own("lock"));
  if (fd < 0) return refused("open");
  struct flock range = {};
  range.l_type = F_WRLCK;
  if (flock(fd, LOCK_EX) != 0) return refused("flock");
  return by_result(fcntl(fd, F_SETLK, &range), "flock and fcntl locks");
}

Answer open_terminal() {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0) return refused("posix_openpt");
  if (grantpt(master) != 0 || unlockpt(master) != 0) return refused("unlockpt");
  const char* name = ptsname(master);
  if (name == nullptr) return refused("ptsname");
  const int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) return refused("open the pty");
  termios settings = {};
  return by_result(tcgetattr(slave, &settings), "a pty");
}

#ifdef __x86_64__
// mov eax, 42; ret
constexpr unsigned char kCode[] = {0xb8, 42, 0, 0, 0, 0xc3};
Answer calls(void* page) {
  std::memcpy(page, kCode, sizeof kCode);
  if (mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0) return refused("mprotect PROT_EXEC");
  int (*made)() = nullptr;
  std::memcpy(&made, &page, sizeof made);
  return made() == 42 ? reached("ran what it made") : broken("it ran wrong");
}
Answer run_made_code() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? refused("mmap") : calls(page);
}
Answer run_writable_code() {
  constexpr int kAll = PROT_READ | PROT_WRITE | PROT_EXEC;
  void* page = mmap(nullptr, 4096, kAll, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? refused("mmap PROT_WRITE|PROT_EXEC") : calls(page);
}
#endif

Answer pass_descriptor() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return refused("socketpair");
  char byte = 'x';
  iovec part = {&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int given = create(own("given"));
  std::memcpy(CMSG_DATA(header), &given, sizeof given);
  if (sendmsg(ends[0], &message, 0) != 1) return refused("sendmsg");
  return by_result(recvmsg(ends[1], &message, MSG_CMSG_CLOEXEC), "a descriptor over a socketpair");
}
Answer serve_unix_socket() {
  const std::string path = scratch("socket");
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return refused("socket");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (bind(listener, generic, sizeof address) != 0) return refused("bind");
  if (listen(listener, 1) != 0) return refused("listen");
  const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Answer answer = by_result(connect(client, generic, sizeof address), "a unix socket");
  unlink(path.c_str());
  return answer;
}

Answer watch_own_folder() {
  const int queue = inotify_init1(IN_CLOEXEC);
  if (queue < 0 || inotify_add_watch(queue, param("own").c_str(), IN_CREATE) < 0)
    return refused("inotify");
  unlink(own("watched").c_str());
  close(create(own("watched")));
  char events[4096];
  return by_result(read(queue, events, sizeof events), "inotify");
}
Answer write_aside_and_rename() {
  const int fd = create(own("aside"));
  if (fd < 0) return refused("open");
  if (!write_all(fd, kText) || fsync(fd) != 0) return refused("fsync");
  return by_result(rename(own("aside").c_str(), own("kept").c_str()), "rename");
}
Answer make_links() {
  close(create(own("original")));
  unlink(own("hard").c_str());
  unlink(own("soft").c_str());
  if (link(own("original").c_str(), own("hard").c_str()) != 0) return refused("link");
  return by_result(symlink("original", own("soft").c_str()), "links");
}
Answer make_and_remove_folders() {
  if (mkdir(own("a").c_str(), 0755) != 0 || mkdir(own("a/b").c_str(), 0755) != 0)
    return refused("mkdir");
  if (rename(own("a/b").c_str(), own("c").c_str()) != 0) return refused("rename across folders");
  if (rmdir(own("c").c_str()) != 0) return refused("rmdir");
  return by_result(rmdir(own("a").c_str()), "folders");
}
Answer change_own_metadata() {
  const int fd = create(own("meta"));
  if (fd < 0) return refused("open");
  const timespec times[2] = {{1, 0}, {1, 0}};
  if (fchmod(fd, 0600) != 0) return refused("fchmod");
  if (ftruncate(fd, 10) != 0) return refused("ftruncate");
  return by_result(futimens(fd, times), "mode, size, times");
}
Answer map_own_file() {
  const int fd = create(own("mapped"));
  if (fd < 0 || ftruncate(fd, 4096) != 0) return refused("open");
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return refused("mmap");
  std::memcpy(page, kText.data(), kText.size());
  return by_result(msync(page, 4096, MS_SYNC), "a shared mapping");
}
Answer copy_in_kernel() {
  const int from = create(own("from"));
  const int to = create(own("to"));
  if (from < 0 || to < 0 || !write_all(from, kText)) return refused("open");
  off_t at = 0;
  if (sendfile(to, from, &at, kText.size()) < 0) return refused("sendfile");
  loff_t start = 0;
  return by_result(copy_file_range(from, &start, to, nullptr, kText.size(), 0), "copy_file_range");
}

Answer get_randomness() {
  char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return refused("getrandom");
  const int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return refused("open /dev/urandom");
  return by_result(read(fd, bytes, sizeof bytes), "getrandom and /dev/urandom");
}
Answer use_null() {
  const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd < 0) return refused("open /dev/null");
  const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  char byte = 1;
  if (zero < 0 || read(zero, &byte, 1) != 1 || byte != 0) return refused("/dev/zero");
  return by_result(write(fd, "x", 1), "/dev/null and /dev/zero");
}
Answer read_own_proc() {
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  char held[4096];
  if (fd < 0) return refused("open /proc/self/status");
  if (readlink("/proc/self/exe", held, sizeof held) < 0) return refused("readlink /proc/self/exe");
  return by_result(read(fd, held, sizeof held), "/proc/self");
}
Answer end_own_child() {
  const pid_t child = fork();
  if (child < 0) return refused("fork");
  if (child == 0) {
    setpgid(0, 0);
    while (true)
      pause();
  }
  const auto process = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (process < 0) return refused("pidfd_open");
  if (kill(child, 0) != 0) return refused("kill 0");
  if (kill(child, SIGKILL) != 0) return refused("kill");
  siginfo_t how = {};
  constexpr auto kPidfd = static_cast<idtype_t>(3);  // P_PIDFD, Linux 5.4
  return by_result(waitid(kPidfd, static_cast<id_t>(process), &how, WEXITED), "kill and waitid");
}
Answer tend_itself() {
  rlimit limits = {};
  if (getrlimit(RLIMIT_NOFILE, &limits) != 0 || setrlimit(RLIMIT_NOFILE, &limits) != 0)
    return refused("setrlimit");
  constexpr int kLast = 19;  // whoever starts the tests may be nice himself
  if (setpriority(PRIO_PROCESS, 0, kLast) != 0) return refused("setpriority");
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0 || sched_setaffinity(0, sizeof set, &set) != 0)
    return refused("sched_setaffinity");
  return by_result(personality(0xffffffff), "its own limits, priority and processors");
}

constexpr Attempt kAttempts[] = {
    {"run_in_threads", run_in_threads},
    {"fork_and_exec", fork_and_exec},
    {"run_in_shell", run_in_shell},
    {"run_script_in_scratch", run_script_in_scratch},
    {"pipe_big_line", pipe_big_line},
    {"wait_on_epoll", wait_on_epoll},
    {"wait_on_timer", wait_on_timer},
    {"wait_on_signal", wait_on_signal},
    {"interval_timer", interval_timer},
    {"share_memory", share_memory},
    {"named_semaphore", named_semaphore},
    {"nameless_memory", nameless_memory},
    {"lock_file", lock_file},
    {"open_terminal", open_terminal},
#ifdef __x86_64__
    {"run_made_code", run_made_code},
    {"run_writable_code", run_writable_code},
#endif
    {"pass_descriptor", pass_descriptor},
    {"serve_unix_socket", serve_unix_socket},
    {"watch_own_folder", watch_own_folder},
    {"write_aside_and_rename", write_aside_and_rename},
    {"make_links", make_links},
    {"make_and_remove_folders", make_and_remove_folders},
    {"change_own_metadata", change_own_metadata},
    {"map_own_file", map_own_file},
    {"copy_in_kernel", copy_in_kernel},
    {"get_randomness", get_randomness},
    {"use_null", use_null},
    {"read_own_proc", read_own_proc},
    {"end_own_child", end_own_child},
    {"tend_itself", tend_itself},
};

}  // namespace

const std::span<const Attempt> kWorks = kAttempts;

}  // namespace probe
