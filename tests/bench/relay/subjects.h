// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is measured: the ways to reach the server, how each is started, and whether it did its work.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tests/bench/relay/client.h"
#include "tests/bench/relay/session.h"

namespace aegis::relay_bench {

enum class Subject : std::uint8_t {
  direct,     // the server itself
  bare,       // through the bare relay
  recording,  // through one that syncs as many bytes as aegis before it forwards
  off,        // aegis wrap --durability off
  policy,     // the same with a policy of 200 rules
  call,       // aegis wrap: --durability call, the default
};
inline constexpr std::size_t kSubjects = 6;
using SubjectNames = std::array<const char*, kSubjects>;
inline constexpr SubjectNames kSubjectNames{"direct", "bare", "recording", "off", "policy", "call"};

struct Setup {
  std::string self;    // this program
  std::string aegis;   // empty: a second bare relay stands in for it, which shows the noise
  std::string folder;  // HOME of all, on the disk that is measured
  int client_core;
  int other_core;
  int rounds;
};

/// Writes what the programs need into the folder.
void prepare(const Setup& setup);

Program program_of(const Setup& setup, Subject subject);
/// As it stands in a client's config: `aegis wrap -- <server>`, record and key at their default
/// places.
Program plain_wrap(const Setup& setup);
Program floor_program(const Setup& setup);

/// Fails when the policy's `deny` rule is not in force: an aegis that judges nothing is not what is
/// measured.
void check_denies(Client& client);
/// Fails when the record of this subject's ended session holds fewer Lines than its calls need.
void check_record(const Setup& setup, Subject subject, std::uint64_t calls);

}  // namespace aegis::relay_bench
