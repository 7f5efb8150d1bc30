// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which file a session gets, what is refused untouched, and who has to wait for whom.
#include "wrap/record_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "tests/wrap/child.h"
#include "tests/wrap/record_text.h"
#include "tests/wrap/scratch.h"

namespace {

using aegis::confine::describe;
using aegis::confine::Fd;
using aegis::confine::Result;
using aegis::test::mode_of;
using aegis::test::read_whole;
using aegis::test::run_in_child;
using aegis::test::Scratch;
using aegis::test::sealed_record;
using aegis::wrap::open_record;
using aegis::wrap::OpenedRecord;
using aegis::wrap::RecordPlace;
using aegis::wrap::session_file_name;

constexpr std::int64_t kSeconds = 1'796'029'200;  // 2026-11-30T09:00:00Z
constexpr int kNoWait = 1;

RecordPlace place(std::string path) {
  return {std::move(path), "server", kSeconds, kNoWait};
}

/// The message; empty when it was opened.
std::string refused(const std::string& path) {
  const Result<OpenedRecord> opened = open_record(place(path));
  return opened ? std::string() : describe(opened.error());
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a named file is made for its owner alone, and found again") {
  const Scratch scratch;
  const std::string path = scratch.path("a.aarl");
  const ::mode_t before = ::umask(0);
  {
    const Result<OpenedRecord> opened = open_record(place(path));
    ::umask(before);
    REQUIRE(opened);
    CHECK(opened->path == path);
    CHECK(mode_of(path) == 0600);
    CHECK((::fcntl(opened->file.get(), F_GETFL) & (O_APPEND | O_ACCMODE)) == (O_APPEND | O_RDWR));
    CHECK((::fcntl(opened->file.get(), F_GETFL) & O_NONBLOCK) == 0);
    CHECK_FALSE(opened->tail.last);
  }
  scratch.write("a.aarl", sealed_record());
  const Result<OpenedRecord> again = open_record(place(path));
  REQUIRE(again);
  CHECK(again->tail.last);
}

TEST_CASE("a path without a slash is a file of the working folder") {
  const Scratch scratch;
  const auto ended = run_in_child([&] {
    if (::chdir(scratch.folder().c_str()) != 0) return 9;
    return open_record(place("plain.aarl")) ? 0 : 1;
  });
  CHECK(ended.exit == 0);
  CHECK(scratch.list() == std::vector<std::string>{"plain.aarl"});
}

TEST_CASE("a folder takes one file a session, named or ending in a slash") {
  const Scratch scratch;
  REQUIRE(::symlink(scratch.folder().c_str(), (scratch.folder() + ".link").c_str()) == 0);
  const std::string name = "server-20261130T090000Z-" + std::to_string(::getpid());
  std::string end = ".aarl";  // three sessions of one second and one pid
  for (const std::string& folder :
       {scratch.folder(), scratch.folder() + "/", scratch.folder() + ".link"}) {
    CAPTURE(folder);
    const Result<OpenedRecord> opened = open_record(place(folder));
    REQUIRE(opened);
    CHECK(std::filesystem::path(opened->path).filename().string() == name + end);
    CHECK(mode_of(opened->path) == 0600);
    end = "-" + std::to_string(scratch.list().size() + 1) + ".aarl";
  }
  CHECK(scratch.list().size() == 3);
  std::filesystem::remove(scratch.folder() + ".link");
}

TEST_CASE("without a name the default folder is made, private, with what is missing above it") {
  const Scratch scratch;
  const auto ended = run_in_child([&] {
    ::setenv("HOME", scratch.folder().c_str(), 1);
    ::umask(0);
    return open_record({{}, "server", kSeconds, kNoWait}) ? 0 : 1;
  });
  CHECK(ended.exit == 0);
  for (const char* made :
       {".local", ".local/state", ".local/state/aegis", ".local/state/aegis/records"}) {
    CAPTURE(made);
    CHECK(mode_of(scratch.path(made)) == 0700);
  }
}

TEST_CASE("a session file's name is plain, whatever the program is called") {
  struct Row {
    std::string_view name;
    std::string program;
    std::string begin;
  };
  const Row rows[] = {
      {"plain", "npx", "npx-2026"},
      {"none", "", "server-2026"},
      {"hidden", ".sh", "_sh-2026"},
      {"a flag", "-x", "_x-2026"},
      {"slash, blank, newline and quote", "a/b \n'", "a_b___-2026"},
      {"beyond ASCII", "\xc3\xa4", "__-2026"},
      {"long", std::string(300, 'n'), std::string(64, 'n') + "-2026"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const std::string name = session_file_name({{}, row.program, kSeconds, kNoWait}, 1);
    CHECK(name.substr(0, row.begin.size()) == row.begin);
    CHECK(name.size() < 255);
  }
  const RecordPlace npx{{}, "npx", kSeconds, kNoWait};
  const std::string pid = std::to_string(::getpid());
  CHECK(session_file_name(npx, 1) == "npx-20261130T090000Z-" + pid + ".aarl");
  CHECK(session_file_name(npx, 2) == "npx-20261130T090000Z-" + pid + "-2.aarl");
}

TEST_CASE("what is no regular file is refused at once, with its kind") {
  const Scratch scratch;
  const std::string real = scratch.write("real.aarl", "");
  REQUIRE(::mkfifo(scratch.path("fifo").c_str(), 0600) == 0);
  REQUIRE(::symlink(real.c_str(), scratch.path("link").c_str()) == 0);
  REQUIRE(::symlink("nowhere", scratch.path("dangling").c_str()) == 0);
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, scratch.path("socket").c_str(), sizeof address.sun_path - 1);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);

  struct Row {
    std::string path;
    std::string_view says;
  };
  const Row rows[] = {
      {scratch.path("fifo"), "it is a FIFO"},
      {scratch.path("link"), "it is a symbolic link"},
      {scratch.path("dangling"), "it is a symbolic link"},
      {scratch.path("socket"), "it is a socket"},
      {"/dev/full", "it is a device"},
      {"/dev/null", "it is a device"},
      {scratch.path("missing/a.aarl"), "No such file or directory"},
      {scratch.path("missing/"), "No such file or directory"},
      {scratch.path("real.aarl/"), "Not a directory"},
      {"", "the path is empty"},
  };
  const std::vector<std::string> before = scratch.list();
  for (const Row& row : rows) {
    CAPTURE(row.path);
    const std::string said = refused(row.path);
    CAPTURE(said);
    CHECK(has(said, row.says));
    CHECK(has(said, row.path));
  }
  CHECK(has(refused(scratch.path("real.aarl/a.aarl")), "Not a directory"));
  CHECK(scratch.list() == before);
}

TEST_CASE("what is not a record is left as it is, to the byte and the second") {
  const Scratch scratch;
  const std::string notes = "Buy milk.\nCall mum.\n";
  const std::string path = scratch.write("notes.txt", notes);
  const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), long_ago, 0) == 0);
  CHECK(has(refused(path), "not a record"));
  CHECK(read_whole(path) == notes);
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK(status.st_mtim.tv_sec == 1000);
  CHECK(scratch.list() == std::vector<std::string>{"notes.txt"});
}

TEST_CASE("a second session of one file is refused while the first one lasts") {
  const Scratch scratch;
  const std::string path = scratch.path("a.aarl");
  {
    const Result<OpenedRecord> first = open_record(place(path));
    REQUIRE(first);
    const std::string said = refused(path);
    CHECK(has(said, "another session is writing it"));
    CHECK(has(said, "folder"));
  }
  CHECK(refused(path).empty());
}

TEST_CASE("a second session waits for the first one, and goes on when it ends") {
  const Scratch scratch;
  const std::string path = scratch.write("a.aarl", sealed_record());
  int ready[2];
  REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
  const Fd reader(ready[0]);
  Fd writer(ready[1]);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const Fd held(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (::flock(held.get(), LOCK_EX) != 0) ::_exit(9);
    writer.reset();
    ::usleep(200'000);
    ::_exit(0);
  }
  writer.reset();
  char byte = 0;
  REQUIRE(::read(reader.get(), &byte, 1) == 0);  // the lock is held

  sigset_t mask;
  REQUIRE(::sigprocmask(SIG_BLOCK, nullptr, &mask) == 0);
  const auto begin = std::chrono::steady_clock::now();
  const Result<OpenedRecord> opened = open_record({path, "server", kSeconds, 20'000});
  const auto waited = std::chrono::steady_clock::now() - begin;
  REQUIRE(opened);
  CHECK(waited > std::chrono::milliseconds(50));
  CHECK(waited < std::chrono::seconds(15));

  struct sigaction action {};
  REQUIRE(::sigaction(SIGALRM, nullptr, &action) == 0);
  const bool is_default = action.sa_handler == SIG_DFL;
  CHECK(is_default);
  CHECK(::alarm(0) == 0);
}

TEST_CASE("the wait has an end, also where SIGALRM is blocked") {
  const Scratch scratch;
  const std::string path = scratch.path("a.aarl");
  const Result<OpenedRecord> first = open_record(place(path));
  REQUIRE(first);
  sigset_t alarm;
  sigset_t before;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  REQUIRE(::sigprocmask(SIG_BLOCK, &alarm, &before) == 0);
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(open_record({path, "server", kSeconds, 150}));
  const auto waited = std::chrono::steady_clock::now() - begin;
  CHECK(waited >= std::chrono::milliseconds(150));
  CHECK(waited < std::chrono::seconds(10));
  sigset_t after;
  REQUIRE(::sigprocmask(SIG_SETMASK, &before, &after) == 0);
  CHECK(sigismember(&after, SIGALRM) == 1);
}

TEST_CASE("a file that was moved away while it was waited for is not written") {
  const Scratch scratch;
  const std::string path = scratch.write("a.aarl", sealed_record());
  const pid_t holder = ::fork();
  if (holder == 0) {
    const Fd held(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (::flock(held.get(), LOCK_EX) != 0) ::_exit(9);
    (void)scratch.write("held", "");
    ::usleep(200'000);
    ::_exit(::rename(path.c_str(), scratch.path("b.aarl").c_str()) == 0 ? 0 : 8);
  }
  while (!std::filesystem::exists(scratch.path("held")))
    ::usleep(1000);
  const Result<OpenedRecord> opened = open_record({path, "server", kSeconds, 20'000});
  REQUIRE_FALSE(opened);
  CHECK(has(describe(opened.error()), "it was moved meanwhile"));
}

TEST_CASE("a folder that cannot be written is refused with its reason") {
  const Scratch scratch;
  if (::geteuid() == 0) {
    // Root may write anywhere but where the file system itself says no.
    CHECK(has(refused("/proc/a.aarl"), "make the record: /proc/a.aarl: "));
    return;
  }
  REQUIRE(::chmod(scratch.folder().c_str(), 0500) == 0);
  CHECK(has(refused(scratch.path("a.aarl")), "Permission denied"));
  REQUIRE(::chmod(scratch.folder().c_str(), 0700) == 0);
}

}  // namespace
