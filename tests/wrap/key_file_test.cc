// SPDX-License-Identifier: Apache-2.0 OR MIT
// Signing keys on disk: what is refused and how it is said, and that a first start makes one key.
#include "wrap/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tests/wrap/child.h"
#include "tests/wrap/record_text.h"
#include "tests/wrap/scratch.h"
#include "wrap/places.h"

namespace {

using aegis::audit::SigningKey;
using aegis::confine::describe;
using aegis::confine::Fd;
using aegis::confine::Result;
using aegis::test::known_key;
using aegis::test::mode_of;
using aegis::test::read_whole;
using aegis::test::run_in_child;
using aegis::test::Scratch;
using aegis::wrap::encode_public_half;
using aegis::wrap::Existing;
using aegis::wrap::make_key_file;
using aegis::wrap::open_key;
using aegis::wrap::OpenedKey;
using aegis::wrap::read_key_file;
using aegis::wrap::read_named_key;

/// Of known_key().
std::string seed_text() {
  std::string text;
  for (int i = 0; i < 32; ++i) {
    text += "07";
  }
  return text + "\n";
}

std::string refused(const std::string& path) {
  const Result<SigningKey> key = read_named_key(path);
  return key ? std::string() : describe(key.error());
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a key file is read, with or without its newline") {
  const Scratch scratch;
  for (const std::string& text : {seed_text(), seed_text().substr(0, 64)}) {
    const Result<SigningKey> key = read_key_file(scratch.write("key", text));
    REQUIRE(key);
    CHECK((key->public_key() == known_key().public_key()));
  }
  // A key may be kept elsewhere and linked to.
  REQUIRE(::symlink(scratch.path("key").c_str(), scratch.path("link").c_str()) == 0);
  CHECK(read_key_file(scratch.path("link")));
}

TEST_CASE("a key that others can use is refused with what to do") {
  const Scratch scratch;
  const std::string path = scratch.write("key", seed_text());
  struct Row {
    mode_t mode;
    std::string_view shown;
  };
  for (const Row& row : {Row{0640, "0640"},
                         Row{0604, "0604"},
                         Row{0620, "0620"},
                         Row{0666, "0666"},
                         Row{0601, "0601"}}) {
    CAPTURE(row.shown);
    REQUIRE(::chmod(path.c_str(), row.mode) == 0);
    const std::string said = refused(path);
    CHECK(has(said, row.shown));
    CHECK(has(said, "chmod 600 " + path));
  }
  REQUIRE(::chmod(path.c_str(), 0400) == 0);
  CHECK(refused(path).empty());
}

TEST_CASE("each thing that is no key has its own message") {
  const Scratch scratch;
  REQUIRE(::mkfifo(scratch.path("fifo").c_str(), 0600) == 0);
  REQUIRE(::mkdir(scratch.path("folder").c_str(), 0700) == 0);
  std::string upper = seed_text();
  upper[0] = 'A';
  struct Row {
    std::string_view name;
    std::string path;
    std::string_view says;
  };
  const Row rows[] = {
      {"missing", scratch.path("none"), "aegis keygen --out"},
      {"FIFO", scratch.path("fifo"), "it is not a regular file"},
      {"folder", scratch.path("folder"), "Is a directory"},
      {"device", "/dev/null", "it is not a regular file"},
      {"empty", scratch.write("empty", ""), "it is no key"},
      {"short", scratch.write("short", seed_text().substr(1)), "it is no key"},
      {"long", scratch.write("long", "0" + seed_text()), "it is no key"},
      {"two newlines", scratch.write("two", seed_text() + "\n"), "it is no key"},
      {"very long", scratch.write("very_long", std::string(1 << 20, '0')), "it is no key"},
      {"upper case", scratch.write("upper", upper), "it is no key"},
      {"not hex", scratch.write("not_hex", "x" + seed_text().substr(1)), "it is no key"},
      {"carriage return",
       scratch.write("crlf", seed_text().substr(0, 64) + "\r\n"),
       "it is no key"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const std::string said = refused(row.path);
    CHECK(has(said, row.says));
    CHECK(has(said, "read the signing key: " + row.path + ": "));
  }
}

TEST_CASE("a made key is private, fresh, and what is read back") {
  const Scratch scratch;
  const ::mode_t before = ::umask(0);
  std::set<std::string> keys;
  for (const char* name : {"a", "b"}) {
    const Result<SigningKey> made = make_key_file(scratch.path(name), Existing::keep);
    REQUIRE(made);
    CHECK(mode_of(scratch.path(name)) == 0600);
    const Result<SigningKey> read = read_key_file(scratch.path(name));
    REQUIRE(read);
    CHECK((read->public_key() == made->public_key()));
    keys.insert(read_whole(scratch.path(name)));
  }
  ::umask(before);
  CHECK(keys.size() == 2);
  CHECK(scratch.list() == std::vector<std::string>{"a", "b"});  // nothing is left aside
}

TEST_CASE("making a key never touches one that is there, unless told to") {
  const Scratch scratch;
  const std::string path = scratch.write("key", seed_text());
  const Result<SigningKey> kept = make_key_file(path, Existing::keep);
  REQUIRE_FALSE(kept);
  CHECK(kept.error().code == EEXIST);
  CHECK(read_whole(path) == seed_text());
  const Result<SigningKey> replaced = make_key_file(path, Existing::replace);
  REQUIRE(replaced);
  CHECK(read_whole(path) != seed_text());
  CHECK(scratch.list() == std::vector<std::string>{"key"});
}

TEST_CASE("only a key is ever replaced: no notes, no pipe, no device, no link") {
  const Scratch scratch;
  const std::string notes = scratch.write("notes", "dear diary\n");
  const std::string pipe = scratch.path("pipe");
  const std::string link = scratch.path("link");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  REQUIRE(::symlink("notes", link.c_str()) == 0);
  for (const std::string& path : {notes, pipe, link}) {
    CAPTURE(path);
    const Result<SigningKey> made = make_key_file(path, Existing::replace);
    REQUIRE_FALSE(made);
    CHECK(describe(made.error()).find("only a key is replaced") != std::string::npos);
  }
  CHECK(read_whole(notes) == "dear diary\n");
  CHECK(scratch.list() == std::vector<std::string>{"link", "notes", "pipe"});
}

TEST_CASE("a key that cannot be put in its place leaves nothing behind") {
  const Scratch scratch;
  REQUIRE(::mkdir(scratch.path("key").c_str(), 0700) == 0);
  for (const Existing existing : {Existing::keep, Existing::replace}) {
    CHECK_FALSE(make_key_file(scratch.path("key"), existing));
  }
  CHECK_FALSE(make_key_file(scratch.path("missing/key"), Existing::keep));
  CHECK(scratch.list() == std::vector<std::string>{"key"});
}

TEST_CASE("of several first starts one makes the default key and all use it") {
  constexpr int kStarts = 8;
  const Scratch scratch;
  std::array<int, 2> gate{};
  REQUIRE(::pipe2(gate.data(), O_CLOEXEC) == 0);
  const Fd closed_when_all_are_there(gate[0]);
  Fd holds_the_gate(gate[1]);
  std::vector<pid_t> children;
  for (int i = 0; i < kStarts; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::setenv("HOME", scratch.folder().c_str(), 1);
      holds_the_gate.reset();
      char byte = 0;
      [[maybe_unused]] const ssize_t opened = ::read(closed_when_all_are_there.get(), &byte, 1);
      const Result<OpenedKey> key = open_key(std::nullopt);
      if (!key) ::_exit(1);
      std::ofstream(scratch.path("seen-" + std::to_string(i)))
          << (key->is_new ? "new " : "old ") << encode_public_half(key->key.public_key());
      ::_exit(0);
    }
    children.push_back(child);
  }
  holds_the_gate.reset();  // all start at once
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  int makers = 0;
  std::set<std::string> halves;
  for (int i = 0; i < kStarts; ++i) {
    const std::string seen = read_whole(scratch.path("seen-" + std::to_string(i)));
    if (has(seen.substr(0, 4), "new ")) ++makers;
    halves.insert(seen.substr(4));
  }
  CHECK(makers == 1);
  CHECK(halves.size() == 1);
  CHECK(mode_of(scratch.path(".config/aegis")) == 0700);
  CHECK(mode_of(scratch.path(".config/aegis/signing.key")) == 0600);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(scratch.path(".config/aegis"))) {
    ++files;
  }
  CHECK(files == 1);
}

TEST_CASE("a named key is never made, a bad default one never replaced") {
  const Scratch scratch;
  CHECK_FALSE(open_key(scratch.path("none")));
  CHECK(scratch.list().empty());
  const auto ended = run_in_child([&] {
    ::setenv("HOME", scratch.folder().c_str(), 1);
    std::filesystem::create_directories(scratch.path(".config/aegis"));
    std::ofstream(scratch.path(".config/aegis/signing.key")) << "not a key";
    ::chmod(scratch.path(".config/aegis/signing.key").c_str(), 0600);
    return open_key(std::nullopt) ? 1 : 0;
  });
  CHECK(ended.exit == 0);
  CHECK(read_whole(scratch.path(".config/aegis/signing.key")) == "not a key");
}

TEST_CASE("home is HOME when that is a path, and else the user database's") {
  for (const char* home : {"/somewhere", "", "relative", static_cast<const char*>(nullptr)}) {
    const auto ended = run_in_child([home] {
      ::unsetenv("HOME");
      if (home != nullptr) ::setenv("HOME", home, 1);
      const Result<std::string> path = aegis::wrap::default_key_path();
      if (!path) return 1;
      [[maybe_unused]] const ssize_t out = ::write(STDOUT_FILENO, path->data(), path->size());
      return 0;
    });
    CHECK(ended.exit == 0);
    CHECK(ended.out.front() == '/');
    const bool is_from_home = has(ended.out, "/somewhere/.config/aegis/signing.key");
    CHECK(is_from_home == (home != nullptr && home[0] == '/'));
    CHECK(has(ended.out, "/.config/aegis/signing.key"));
  }
}

TEST_CASE("XDG_* moves neither keys nor records") {
  const auto ended = run_in_child([] {
    ::setenv("HOME", "/home/somebody/", 1);
    ::setenv("XDG_CONFIG_HOME", "/elsewhere", 1);
    ::setenv("XDG_STATE_HOME", "/elsewhere", 1);
    const bool is_home =
        *aegis::wrap::default_key_path() == "/home/somebody/.config/aegis/signing.key" &&
        *aegis::wrap::default_record_folder() == "/home/somebody/.local/state/aegis/records";
    return is_home ? 0 : 1;
  });
  CHECK(ended.exit == 0);
}

}  // namespace
