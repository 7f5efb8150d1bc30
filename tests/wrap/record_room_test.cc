// SPDX-License-Identifier: Apache-2.0 OR MIT
// Room ahead of a record: there while a session runs, gone after it, and never a byte to be seen.
#include "wrap/record_room.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "tests/wrap/child.h"
#include "tests/wrap/scratch.h"
#include "wrap/audit_file.h"

namespace {

using aegis::confine::Fd;
using aegis::confine::Result;
using aegis::test::read_whole;
using aegis::test::run_in_child;
using aegis::test::Scratch;
using aegis::wrap::AuditFile;
using aegis::wrap::kLeastRoom;
using aegis::wrap::kMostRoom;
using aegis::wrap::RecordRoom;

using Committed = AuditFile::Committed;
using Force = AuditFile::Force;

constexpr std::uint64_t kUnit = 512;    // of st_blocks (stat(2))
constexpr std::uint64_t kSlack = 8192;  // the last block, and one for a list of extents

std::unique_ptr<AuditFile> open(const std::string& path) {
  Result<std::unique_ptr<AuditFile>> opened = AuditFile::open({path, "server", 0, 1});
  REQUIRE(opened);
  return std::move(opened).value();
}

std::uint64_t bytes_on_disk(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return static_cast<std::uint64_t>(status.st_blocks) * kUnit;
}

bool is_ext4(const std::string& folder) {
  struct statfs status {};
  return ::statfs(folder.c_str(), &status) == 0 && status.f_type == EXT4_SUPER_MAGIC;
}

/// Whether room is made there; says so when it is not.
bool has_room(const Scratch& scratch) {
  if (is_ext4(scratch.folder())) return true;
  MESSAGE("skipped: 1: the temporary folder is not on ext4");
  return false;
}

std::string line(int number) {
  return std::to_string(number) + std::string(700, '.') + "\n";
}

/// Some Lines as a session writes them: intents synced, outcomes started. Returns all of them.
std::string write_lines(AuditFile& file, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) {
    file.append(line(i));
    all += line(i);
    if (file.commit(i % 2 == 0 ? Force::synced : Force::started) != Committed::ok) return {};
  }
  return all;
}

TEST_CASE("room lies ahead while a session runs and is given back when it ends") {
  const Scratch scratch;
  if (!has_room(scratch)) return;
  const std::string path = scratch.path("a.aarl");
  std::string all;
  {
    const auto file = open(path);
    all = write_lines(*file, 20);
    CHECK(bytes_on_disk(path) >= kLeastRoom);
    CHECK(bytes_on_disk(path) <= all.size() + kLeastRoom + kSlack);
    CHECK(read_whole(path) == all);
  }
  CHECK(bytes_on_disk(path) <= all.size() + kSlack);
  CHECK(read_whole(path) == all);
}

TEST_CASE("the room grows with the record, to a bound") {
  const Scratch scratch;
  if (!has_room(scratch)) return;
  const std::string path = scratch.path("a.aarl");
  const auto file = open(path);
  for (const std::uint64_t size : {std::uint64_t{1} << 20, 2 * kMostRoom}) {
    std::uint64_t have = read_whole(path).size();
    for (; have < size; have += kLeastRoom / 4) {
      file->append(std::string(kLeastRoom / 4 - 1, '.') + "\n");
      REQUIRE(file->commit(Force::started) == Committed::ok);
    }
    CAPTURE(size);
    CHECK(bytes_on_disk(path) > have + 2 * kLeastRoom);
    CHECK(bytes_on_disk(path) <= have + std::min(have, kMostRoom) + kSlack);
  }
}

TEST_CASE("a session without a call, and one that is never synced, reserve nothing") {
  const Scratch scratch;
  const std::string path = scratch.path("a.aarl");
  const auto file = open(path);
  for (int i = 0; i < 4; ++i) {
    file->append(line(i));
    REQUIRE(file->commit(Force::written) == Committed::ok);
  }
  REQUIRE(file->commit(Force::synced) == Committed::ok);
  CHECK(bytes_on_disk(path) <= read_whole(path).size() + kSlack);
}

TEST_CASE("a killed session leaves exactly its Lines, and the next one gives the room back") {
  const Scratch scratch;
  if (!has_room(scratch)) return;
  const std::string path = scratch.path("a.aarl");
  std::string all;
  for (int i = 0; i < 7; ++i)
    all += line(i);
  const auto ended = run_in_child([&] {
    const auto opened = AuditFile::open({path, "server", 0, 1});
    if (!opened || write_lines(**opened, 7).empty()) return 1;
    return ::kill(::getpid(), SIGKILL);
  });
  REQUIRE(ended.signal == SIGKILL);
  CHECK(read_whole(path) == all);
  CHECK(bytes_on_disk(path) >= kLeastRoom);

  const Fd file(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  RecordRoom room(file, all.size());
  REQUIRE(room.prepare(file, path, all.size()));
  room.give_back(file);
  CHECK(bytes_on_disk(path) <= all.size() + kSlack);
  CHECK(read_whole(path) == all);
}

TEST_CASE("in memory nothing is reserved") {
  const Fd file(::memfd_create("record", MFD_CLOEXEC));
  REQUIRE(file.is_open());
  REQUIRE(::write(file.get(), "line\n", 5) == 5);
  RecordRoom room(file, 0);
  CHECK(room.prepare(file, "record", 5));
  room.give_back(file);
  struct stat status {};
  REQUIRE(::fstat(file.get(), &status) == 0);
  CHECK(status.st_size == 5);
  CHECK(static_cast<std::uint64_t>(status.st_blocks) * kUnit <= kSlack);
}

TEST_CASE("what can neither be reserved nor started is recorded all the same") {
  const Scratch scratch;
  if (!has_room(scratch)) return;
  const Fd file(::open(scratch.write("a", "").c_str(), O_RDWR | O_CLOEXEC));
  RecordRoom room(file, 0);
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const Fd reader(ends[0]);
  const Fd pipe(ends[1]);  // ESPIPE to both
  CHECK(room.prepare(pipe, "a", 5000));
  room.give_back(pipe);
}

TEST_CASE(
    "a limit on the size of files keeps no room from being reserved, nor a Line from its place") {
  const Scratch scratch;
  if (!has_room(scratch)) return;
  const std::string path = scratch.path("a.aarl");
  const auto ended = run_in_child([&] {
    constexpr rlim_t kLimit = 10'000;
    static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
    const rlimit limit{kLimit, kLimit};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const auto opened = AuditFile::open({path, "server", 0, 1});
    if (!opened) return 2;
    for (int i = 0; i < 20; ++i)
      (*opened)->append(line(i));
    if ((*opened)->commit(Force::started) != Committed::retry_later) return 3;
    return (*opened)->error().code == EFBIG ? 0 : 4;
  });
  CHECK(ended.exit == 0);
  CHECK(read_whole(path).size() == 10'000);
}

}  // namespace
