// SPDX-License-Identifier: Apache-2.0 OR MIT
// Lines on a real file: in order, whole, after a torn tail, and what a failure means.
#include "wrap/audit_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/wrap/record_text.h"
#include "tests/wrap/scratch.h"

namespace {

using aegis::audit::Standing;
using aegis::audit::TornDigest;
using aegis::confine::describe;
using aegis::confine::Fd;
using aegis::confine::Result;
using aegis::test::append_session;
using aegis::test::last_line_hash;
using aegis::test::mode_of;
using aegis::test::read_whole;
using aegis::test::Scratch;
using aegis::test::sealed_record;
using aegis::test::verify;
using aegis::wrap::AuditFile;

using Committed = AuditFile::Committed;
using Force = AuditFile::Force;

std::unique_ptr<AuditFile> open(const std::string& path) {
  Result<std::unique_ptr<AuditFile>> opened = AuditFile::open({path, "server", 0, 1});
  REQUIRE(opened);
  return std::move(opened).value();
}

/// A whole session, as the program writes one.
void run_session(AuditFile& file) {
  append_session(file, file.previous_tail(), file.recovered());
  REQUIRE(file.commit(Force::synced) == Committed::ok);
}

/// Swaps what the record's descriptor stands for, and back: the way to a disk that fails.
class Swapped {
 public:
  Swapped(const std::string& path, const Fd& with) : number_(find(path, with)) {
    kept_ = Fd(::fcntl(number_, F_DUPFD_CLOEXEC, 100));
    REQUIRE(kept_.is_open());
    REQUIRE(::dup3(with.get(), number_, O_CLOEXEC) == number_);
  }
  ~Swapped() { ::dup3(kept_.get(), number_, O_CLOEXEC); }
  Swapped(const Swapped&) = delete;
  Swapped& operator=(const Swapped&) = delete;

 private:
  static int find(const std::string& path, const Fd& but) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;  // the iterator's own
      if (std::filesystem::read_symlink(entry.path(), gone) != path) continue;
      const int number = std::stoi(entry.path().filename().string());
      if (number != but.get()) return number;
    }
    FAIL("the record is not open");
    return -1;
  }
  int number_;
  Fd kept_;
};

TEST_CASE("Lines are queued until a commit and written in order") {
  const Scratch scratch;
  const std::string path = scratch.path("a.aarl");
  const auto file = open(path);
  CHECK_FALSE(file->has_queued());
  CHECK_FALSE(file->has_unsynced());
  file->append("one\n");
  file->append("two\n");
  CHECK(file->has_queued());
  CHECK(read_whole(path).empty());
  CHECK(file->commit(Force::written) == Committed::ok);
  CHECK(read_whole(path) == "one\ntwo\n");
  CHECK_FALSE(file->has_queued());
  CHECK(file->has_unsynced());
  CHECK(file->commit(Force::synced) == Committed::ok);
  CHECK_FALSE(file->has_unsynced());
  CHECK(file->commit(Force::synced) == Committed::ok);
  CHECK(read_whole(path) == "one\ntwo\n");
}

TEST_CASE("session after session in one file is one record") {
  const Scratch scratch;
  const std::string path = scratch.path("a.aarl");
  for (int i = 0; i < 3; ++i)
    run_session(*open(path));
  const auto report = verify(read_whole(path));
  CHECK(report.standing == Standing::verified);
  CHECK(report.calls == 3);
}

TEST_CASE("a last Line without its newline gets it before the next one") {
  const Scratch scratch;
  std::string record = sealed_record();
  record.pop_back();
  const std::string path = scratch.write("a.aarl", record);
  {
    const auto file = open(path);
    CHECK((file->previous_tail() == last_line_hash(record)));
    CHECK_FALSE(file->recovered());
    CHECK(read_whole(path) == record);
    run_session(*file);
  }
  CHECK(verify(read_whole(path)).standing == Standing::verified);
}

TEST_CASE("a torn tail is moved aside whole and named, whatever was cut") {
  const std::string record = sealed_record();
  for (const std::size_t cut : {record.size() - 2, record.size() - 400, record.find('\n') - 3}) {
    CAPTURE(cut);
    const Scratch scratch;
    const std::string bytes = record.substr(0, cut);
    const std::string torn = bytes.substr(bytes.rfind('\n') + 1);
    const std::string path = scratch.write("a.aarl", bytes);
    {
      const auto file = open(path);
      const auto facts = file->recovered();
      REQUIRE(facts);
      CHECK(facts->bytes == torn.size());
      CHECK((facts->digest == TornDigest::of(torn)));
      CHECK(facts->file == "a.aarl.torn-1");
      CHECK(read_whole(path) == bytes);  // nothing happens before the first commit
      CHECK(scratch.list().size() == 1);
      run_session(*file);
      CHECK(file->recovered()->bytes == torn.size());
    }
    CHECK(read_whole(scratch.path("a.aarl.torn-1")) == torn);
    CHECK(mode_of(scratch.path("a.aarl.torn-1")) == 0600);
    const std::string whole = read_whole(path);
    CHECK(whole.substr(0, bytes.size() - torn.size()) ==
          bytes.substr(0, bytes.size() - torn.size()));
    // The cut sessions stay without their close; only what was all torn leaves no gap behind.
    const bool is_all_torn = torn.size() == bytes.size();
    CHECK(verify(whole).standing == (is_all_torn ? Standing::verified : Standing::indeterminate));
    CHECK(whole.find("\"recovered\":{\"bytes\":" + std::to_string(torn.size())) !=
          std::string::npos);
  }
}

TEST_CASE("a second torn tail gets the next number and the first one stays") {
  const Scratch scratch;
  const std::string path = scratch.path("a.aarl");
  scratch.write("a.aarl.torn-1", "earlier");
  for (int i = 2; i <= 3; ++i) {
    scratch.write("a.aarl", sealed_record() + "{\"torn\":" + std::to_string(i));
    run_session(*open(path));
  }
  CHECK(read_whole(scratch.path("a.aarl.torn-1")) == "earlier");
  CHECK(read_whole(scratch.path("a.aarl.torn-2")) == "{\"torn\":2");
  CHECK(read_whole(scratch.path("a.aarl.torn-3")) == "{\"torn\":3");
}

TEST_CASE("a torn tail whose place was taken meanwhile is a final failure that touches nothing") {
  const Scratch scratch;
  const std::string bytes = sealed_record() + "{\"torn";
  const std::string path = scratch.write("a.aarl", bytes);
  const auto file = open(path);
  scratch.write("a.aarl.torn-1", "somebody's");
  file->append("line\n");
  CHECK(file->commit(Force::synced) == Committed::failed);
  CHECK(read_whole(path) == bytes);
  CHECK(read_whole(scratch.path("a.aarl.torn-1")) == "somebody's");
}

TEST_CASE("a write that fails for another reason than room is final") {
  const Scratch scratch;
  const std::string path = scratch.path("a.aarl");
  const auto file = open(path);
  file->append("one\n");
  REQUIRE(file->commit(Force::synced) == Committed::ok);
  file->append("two\n");
  {
    const Swapped swapped(path, Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
    CHECK(file->commit(Force::written) == Committed::failed);
    CHECK(describe(file->error()).find("write the record: " + path + ": ") == 0);
  }
  file->append("three\n");
  CHECK_FALSE(file->has_queued());
  CHECK_FALSE(file->has_unsynced());
  CHECK(file->commit(Force::synced) == Committed::failed);
  CHECK(read_whole(path) == "one\n");
}

TEST_CASE("a failed sync is final, even when the disk is well again") {
  const Scratch scratch;
  const std::string path = scratch.path("a.aarl");
  const auto file = open(path);
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const Fd reader(ends[0]);
  file->append("one\n");
  {
    const Swapped swapped(path, Fd(ends[1]));  // takes writes and cannot be synced
    CHECK(file->commit(Force::written) == Committed::ok);
    CHECK(file->commit(Force::synced) == Committed::failed);
    CHECK(describe(file->error()).find("sync the record") == 0);
  }
  file->append("two\n");
  CHECK(file->commit(Force::written) == Committed::failed);
  CHECK(file->commit(Force::synced) == Committed::failed);
  CHECK(read_whole(path).empty());
}

TEST_CASE("the lock lasts as long as the file object") {
  const Scratch scratch;
  const std::string path = scratch.path("a.aarl");
  {
    const auto file = open(path);
    CHECK_FALSE(AuditFile::open({path, "server", 0, 1}));
  }
  CHECK(AuditFile::open({path, "server", 0, 1}));
}

}  // namespace
