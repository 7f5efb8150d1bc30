// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the hostile programs share: an attempt by name, what it was told of its victims, and how it
// says whether it got what it wanted. It judges nothing: probes_test.py knows what must be refused.
#pragma once

#include <cerrno>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace probe {

/// What victims hold, and no program may see that was not granted it.
constexpr std::string_view kSecret = "only-for-the-host";

enum class Verdict : unsigned char {
  reached,  // the attacker got what it wanted, or to the kernel's own code
  refused,  // by an errno, or by a signal
  tried,    // it cannot know itself: what became of the victim decides
  broken,   // the attempt could not be made
};

struct Answer {
  Verdict verdict = Verdict::broken;
  int code = 0;  // errno of a refusal
  std::string words;
};

Answer reached(std::string words);
Answer tried(std::string words);
Answer broken(std::string words);
/// Takes errno: the first thing after the failed call.
Answer refused(std::string_view doing);
Answer refused_by(int code, std::string_view doing);

/// For a system call: reached unless it failed. Takes errno.
Answer by_result(long result, std::string_view doing);
/// For a call made with arguments that cannot succeed, so that it harms nobody even where nothing
/// confines it: reached when the answer is one of `own`, which only the kernel's code behind the
/// filter and behind the check of privilege gives. Takes errno.
Answer by_kernels_own(long result, std::string_view doing, std::initializer_list<int> own);
/// Whether a file can be opened for reading and holds the secret.
Answer reads_secret(const std::string& path);
/// Runs a program to its end: its exit status, 128 and more for a signal, or -1 with the errno of
/// an exec that failed.
int run(const std::string& path, std::initializer_list<std::string> arguments);

/// What stood as NAME=VALUE on the command line. One that is missing ends the attempt as broken.
const std::string& param(const std::string& name);
bool has_param(const std::string& name);
long number(const std::string& name);
/// A path beside the victims: their folder's, and one in the folder that the attacker was given.
std::string victim(std::string_view name);
std::string own(std::string_view name);
/// Descriptors beyond 2 that the program was born with.
std::span<const int> born_with();

struct Attempt {
  std::string_view name;
  Answer (*run)();
};

extern const std::span<const Attempt> kFileAttempts;
extern const std::span<const Attempt> kInheritedAttempts;
extern const std::span<const Attempt> kProcessAttempts;
extern const std::span<const Attempt> kIpcAttempts;
extern const std::span<const Attempt> kKernelAttempts;
extern const std::span<const Attempt> kMountAttempts;
extern const std::span<const Attempt> kNetworkAttempts;
extern const std::span<const Attempt> kWorkspaceAttempts;
extern const std::span<const Attempt> kBombs;
extern const std::span<const Attempt> kWorks;

}  // namespace probe
