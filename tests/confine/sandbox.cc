// SPDX-License-Identifier: Apache-2.0 OR MIT
// See sandbox.h.
#include "tests/confine/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <doctest/doctest.h>

namespace aegis::confine {
namespace {

struct Pipe {
  Fd read_end;
  Fd write_end;
};

Pipe make_pipe() {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

/// Both to their ends at once, so that neither fills while the other is read.
void drain(const Fd& output, const Fd& errors, Ran& ran) {
  pollfd watched[] = {{output.get(), POLLIN, 0}, {errors.get(), POLLIN, 0}};
  std::string* const into[] = {&ran.output, &ran.errors};
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    REQUIRE(::poll(watched, 2, 20'000) > 0);
    for (int i = 0; i < 2; ++i) {
      if (watched[i].fd < 0 || watched[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t size = ::read(watched[i].fd, buffer, sizeof buffer);
      if (size > 0) {
        into[i]->append(buffer, static_cast<std::size_t>(size));
      } else {
        watched[i].fd = -1;
      }
    }
  }
}

}  // namespace

bool has_tier(Tier tier) {
  Spec spec = shell_spec(tier, "true");
  const Ran ran = run_confined(std::move(spec));
  if (ran.status) return true;
  std::printf("skipped: tier %s: %s\n", std::string(to_string(tier)).c_str(), ran.failure.c_str());
  return false;
}

Scratch::Scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "aegis-test-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  root_ = std::filesystem::canonical(name).string();
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

std::string Scratch::path(std::string_view name) const {
  return name.empty() ? root_ : root_ + "/" + std::string(name);
}

void Scratch::write(std::string_view name, std::string_view text) const {
  std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
  std::ofstream(path(name)) << text;
}

std::string Scratch::read(std::string_view name) const {
  std::ostringstream text;
  text << std::ifstream(path(name)).rdbuf();
  return text.str();
}

ResolvedPath granted(const std::string& path, Rights rights) {
  auto resolved = resolve_grant(path, rights);
  if (!resolved) FAIL(confine::describe(resolved.error()));
  return std::move(resolved).value();
}

Spec shell_spec(Tier tier, std::string script) {
  Spec spec;
  spec.tier = tier;
  spec.argv = {"sh", "-c", std::move(script)};
  spec.program = "/bin/sh";
  spec.environment = {"PATH=/usr/bin:/bin"};
  for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib64"}) {
    if (auto resolved = resolve_grant(path, {.may_execute = true}))
      spec.paths.add(std::move(resolved).value());
  }
  if (auto cache = resolve_grant("/etc/ld.so.cache", {})) spec.paths.add(std::move(cache).value());
  return spec;
}

Ran run_confined(Spec spec) {
  Ran ran;
  auto prepared = Prepared::make(std::move(spec));
  if (!prepared) {
    ran.failure = confine::describe(prepared.error());
    return ran;
  }
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe output = make_pipe();
  Pipe errors = make_pipe();
  auto child = Child::start(
      *prepared, {null.get(), output.write_end.get(), errors.write_end.get()}, ran.failed);
  output.write_end.reset();
  errors.write_end.reset();
  if (!child) {
    ran.failure = describe_failure(ran.failed, prepared->spec());
    return ran;
  }
  drain(output.read_end, errors.read_end, ran);
  ran.status = child->wait();
  return ran;
}

Running::Running(Spec spec) {
  auto prepared = Prepared::make(std::move(spec));
  REQUIRE(prepared.is_ok());
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  Pipe output = make_pipe();
  SetUp failed;
  auto started = Child::start(*prepared, {null.get(), output.write_end.get(), null.get()}, failed);
  REQUIRE(started);
  child.emplace(std::move(*started));
  output_ = std::move(output.read_end);
}

void Running::await_output() const {
  pollfd watched{output_.get(), POLLIN, 0};
  REQUIRE(::poll(&watched, 1, 10'000) == 1);
}

}  // namespace aegis::confine
