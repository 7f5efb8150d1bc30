// SPDX-License-Identifier: Apache-2.0 OR MIT
// How each subject is started, and the proof that aegis judged and recorded while it was measured.
#include "tests/bench/relay/subjects.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string_view>

#include "tests/bench/relay/fail.h"
#include "tests/bench/relay/modes.h"

namespace aegis::relay_bench {
namespace {

constexpr int kRules = 200;

const char* name_of(Subject subject) {
  return kSubjectNames[static_cast<std::size_t>(subject)];
}

std::string policy_path(const Setup& setup) {
  return setup.folder + "/policy.yaml";
}

std::string record_path(const Setup& setup, Subject subject) {
  return setup.folder + "/" + name_of(subject) + ".aarl";
}

/// One rule that denies, one for the tool that is called, and many for others, of every action.
std::string make_policy() {
  std::string text =
      "version: 1\ndefault: deny\nrules:\n"
      "  - { id: forbid, action: deny, tool: forbidden, reason: \"never\" }\n"
      "  - { id: echo, action: allow, tool: echo }\n";
  for (int i = 2; i < kRules; ++i) {
    const std::string number = std::to_string(i);
    text.append("  - { id: rule-")
        .append(number)
        .append(", tool: tool-")
        .append(number)
        .append(", action: ");
    text += i % 3 == 0   ? "deny"
            : i % 3 == 1 ? "allow"
                         : "rate_limit, rate: { max: 100, per_seconds: 60 }";
    text += " }\n";
  }
  return text;
}

Program make_program(const Setup& setup, std::string name, std::vector<std::string> argv) {
  return {std::move(name), std::move(argv), setup.folder, setup.other_core};
}

/// `aegis wrap <flags> -- <server>`, or what stands in for it.
Program wrapped(const Setup& setup, std::string name, std::vector<std::string> flags) {
  std::vector<std::string> argv{setup.self, kBareRelayMode};
  if (!setup.aegis.empty()) {
    argv = {setup.aegis, "wrap"};
    argv.insert(argv.end(), flags.begin(), flags.end());
    argv.emplace_back("--");
  }
  argv.push_back(setup.self);
  argv.emplace_back(kServeMode);
  return make_program(setup, std::move(name), std::move(argv));
}

}  // namespace

void prepare(const Setup& setup) {
  std::ofstream out(policy_path(setup));
  out << make_policy();
  if (!out.flush()) fail("write " + policy_path(setup));
}

Program program_of(const Setup& setup, Subject subject) {
  const std::string name = name_of(subject);
  const std::string record = record_path(setup, subject);
  switch (subject) {
    case Subject::direct:
      return make_program(setup, name, {setup.self, kServeMode});
    case Subject::bare:
      return make_program(setup, name, {setup.self, kBareRelayMode, setup.self, kServeMode});
    case Subject::recording:
      return make_program(
          setup, name, {setup.self, kRecordingRelayMode, record, setup.self, kServeMode});
    case Subject::off:
      return wrapped(setup, name, {"--audit", record, "--durability", "off"});
    case Subject::policy:
      return wrapped(
          setup, name, {"--audit", record, "--durability", "off", "--policy", policy_path(setup)});
    case Subject::call:
      break;
  }
  return wrapped(setup, name, {"--audit", record, "--durability", "call"});
}

Program plain_wrap(const Setup& setup) {
  return wrapped(setup, "plain", {});
}

Program floor_program(const Setup& setup) {
  return make_program(setup, "floor", {setup.self, kFloorMode, setup.folder + "/floor"});
}

void check_denies(Client& client) {
  client.session().write(
      R"({"jsonrpc":"2.0","id":100000000,"method":"tools/call","params":{"name":"forbidden","arguments":{}}})"
      "\n");
  constexpr std::size_t kPlenty = 4096;
  std::string answer;
  while (answer.empty() || answer.back() != '\n')
    answer += client.session().read(kPlenty);
  if (answer.find("-32042") != std::string::npos) return;
  errno = 0;
  fail("the policy does not deny: " + answer);
}

void check_record(const Setup& setup, Subject subject, std::uint64_t calls) {
  std::ifstream in(record_path(setup, subject));
  const auto lines = std::count(std::istreambuf_iterator<char>(in), {}, '\n');
  // `open`, an intent and an outcome for each call, `close`.
  if (static_cast<std::uint64_t>(lines) >= 2 + 2 * calls) return;
  errno = 0;
  fail("the record " + record_path(setup, subject) + " has " + std::to_string(lines) +
       " lines for " + std::to_string(calls) + " calls");
}

}  // namespace aegis::relay_bench
