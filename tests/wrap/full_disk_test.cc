// SPDX-License-Identifier: Apache-2.0 OR MIT
// No room for the record: a real small file system that fills up in the middle of a Line, and a
// limit on the size of files. In children, because both change the process.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include "tests/wrap/child.h"
#include "tests/wrap/record_text.h"
#include "tests/wrap/scratch.h"
#include "wrap/audit_file.h"

namespace {

using aegis::confine::Result;
using aegis::test::run_in_child;
using aegis::test::Scratch;
using aegis::wrap::AuditFile;
using aegis::wrap::kMaxQueuedLines;

using Committed = AuditFile::Committed;
using Force = AuditFile::Force;

constexpr int kCannotMount = 77;
constexpr rlim_t kSizeLimit = 10'000;  // no multiple of a Line, nor of a block

/// In a child. Says which expectation failed; the exit code is the number of those.
class Expect {
 public:
  void that(bool is_true, std::string_view what) {
    if (is_true) return;
    ++failed_;
    const std::string line = std::string(what) + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  }
  [[nodiscard]] int failed() const { return failed_; }

 private:
  int failed_ = 0;
};

bool write_file(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return file.flush().good();
}

/// A tmpfs of `size` at `folder` that nobody else sees and that goes with the child.
bool mount_small(const std::string& folder, const std::string& size) {
  const std::string user = std::to_string(::geteuid());
  const std::string group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  write_file("/proc/self/setgroups", "deny");
  if (!write_file("/proc/self/uid_map", "0 " + user + " 1")) return false;
  if (!write_file("/proc/self/gid_map", "0 " + group + " 1")) return false;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  return ::mount("none", folder.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
}

void on_small_disk(const std::function<void(Expect&, const std::string& folder)>& body) {
  const Scratch scratch;
  const auto ended = run_in_child([&] {
    if (!mount_small(scratch.folder(), "32k")) return kCannotMount;
    Expect expect;
    body(expect, scratch.folder());
    return expect.failed();
  });
  if (ended.exit == kCannotMount) {
    MESSAGE("skipped: 1: no user and mount namespace can be had here");
    return;
  }
  CHECK(ended.err == "");
  CHECK(ended.exit == 0);
}

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Takes all the room but `left` bytes.
void fill_disk(const std::string& path, std::size_t left) {
  std::ofstream file(path, std::ios::binary);
  const std::string page(4096, 'x');
  while (file.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
  }
  file.close();
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  [[maybe_unused]] const int cut =
      ::truncate(path.c_str(), status.st_size - static_cast<off_t>(left));
}

std::unique_ptr<AuditFile> open(const std::string& path) {
  Result<std::unique_ptr<AuditFile>> opened = AuditFile::open({path, "server", 0, 1});
  return opened ? std::move(opened).value() : nullptr;
}

std::string numbered_line(int number) {
  return std::to_string(number) + std::string(700, '.') + "\n";
}

TEST_CASE("a disk that fills up in the middle of a Line is waited out and no byte is lost") {
  on_small_disk([](Expect& expect, const std::string& folder) {
    const std::string path = folder + "/a.aarl";
    const auto file = open(path);
    fill_disk(folder + "/filler", 8192);
    std::string all;
    Committed committed = Committed::ok;
    for (int i = 0; i < 30; ++i) {
      file->append(numbered_line(i));
      all += numbered_line(i);
      committed = file->commit(Force::written);
    }
    expect.that(committed == Committed::retry_later, "a full disk is waited out");
    expect.that(file->error().code == ENOSPC, "the reason is ENOSPC");
    expect.that(file->has_queued() && file->has_unsynced(), "the rest waits");
    const std::string partial = read_all(path);
    expect.that(partial.size() == 8192, "all the room was used: the last write was short");
    expect.that(partial == all.substr(0, partial.size()), "what is there is the beginning");

    ::unlink((folder + "/filler").c_str());
    expect.that(file->commit(Force::synced) == Committed::ok, "with room again it goes on");
    expect.that(read_all(path) == all, "every byte is there once and in order");
    expect.that(!file->has_queued() && !file->has_unsynced(), "nothing waits any more");
  });
}

TEST_CASE("a full disk that nobody clears ends in a final failure, in bounded memory") {
  on_small_disk([](Expect& expect, const std::string& folder) {
    const auto file = open(folder + "/a.aarl");
    fill_disk(folder + "/filler", 0);
    Committed committed = Committed::ok;
    std::size_t appended = 0;
    while (committed != Committed::failed && appended < 2 * kMaxQueuedLines) {
      file->append(numbered_line(0));
      appended += numbered_line(0).size();
      committed = file->commit(Force::synced);
    }
    expect.that(committed == Committed::failed, "it ends");
    expect.that(appended > kMaxQueuedLines, "not before the bound");
    expect.that(!file->has_queued(), "nothing is kept");
    ::unlink((folder + "/filler").c_str());
    expect.that(file->commit(Force::synced) == Committed::failed, "it stays final");
    expect.that(read_all(folder + "/a.aarl").empty(), "nothing was written");
  });
}

TEST_CASE("a torn tail on a full disk lets the session start, and is moved when there is room") {
  const std::string record = aegis::test::sealed_record();
  const std::string torn = "{\"torn\":\"" + std::string(5000, 't');
  on_small_disk([&](Expect& expect, const std::string& folder) {
    const std::string path = folder + "/a.aarl";
    expect.that(write_file(path.c_str(), record + torn), "the record is there");
    const auto file = open(path);
    expect.that(file != nullptr, "it opens");
    if (!file) return;
    fill_disk(folder + "/filler", 4096);
    file->append("line\n");
    expect.that(file->commit(Force::synced) == Committed::retry_later, "there is no room");
    expect.that(read_all(path) == record + torn, "the record is as it was");
    ::unlink((folder + "/filler").c_str());
    expect.that(file->commit(Force::synced) == Committed::ok, "with room again it goes on");
    expect.that(read_all(path) == record + "line\n", "the tail is cut off");
    expect.that(read_all(path + ".torn-1") == torn, "and is whole in its own file");
  });
}

TEST_CASE("a limit on the size of files is waited out like a full disk") {
  const Scratch scratch;
  const std::string path = scratch.path("a.aarl");
  const auto ended = run_in_child([&] {
    Expect expect;
    static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
    const rlimit limit{kSizeLimit, RLIM_INFINITY};
    expect.that(::setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
    const auto file = open(path);
    std::string all;
    for (int i = 0; i < 20; ++i) {
      file->append(numbered_line(i));
      all += numbered_line(i);
    }
    expect.that(file->commit(Force::synced) == Committed::retry_later, "it is waited out");
    expect.that(file->error().code == EFBIG, "the reason is EFBIG");
    expect.that(read_all(path) == all.substr(0, kSizeLimit), "the write was short");
    const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
    expect.that(::setrlimit(RLIMIT_FSIZE, &none) == 0, "setrlimit");
    expect.that(file->commit(Force::synced) == Committed::ok, "it goes on");
    expect.that(read_all(path) == all, "every byte is there once and in order");
    return expect.failed();
  });
  CHECK(ended.err == "");
  CHECK(ended.exit == 0);
}

}  // namespace
