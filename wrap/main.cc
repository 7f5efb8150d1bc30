// SPDX-License-Identifier: Apache-2.0 OR MIT
// The table of verbs, and what every one of them needs to have been done before.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <span>
#include <string>

#include "audit/key.h"
#include "wrap/cli.h"
#include "wrap/log.h"
#include "wrap/verbs.h"

namespace {

using aegis::wrap::Verb;

constexpr int kBroken = 125;  // aegis itself failed

constexpr Verb kVerbs[] = {
    {"wrap", "stand between an MCP client and its server", aegis::wrap::verb_wrap},
    {"mcp", "be an MCP server of bounded tools on one folder", aegis::wrap::verb_mcp},
    {"run", "do one request of the broker's", aegis::wrap::verb_run},
    {"check", "judge a request of the broker's", aegis::wrap::verb_check},
    {"init", "lay down a starter set for the broker", aegis::wrap::verb_init},
    {"confine", "run any command confined", aegis::wrap::verb_confine},
    {"doctor", "tell which layers of confinement hold here", aegis::wrap::verb_doctor},
    {"keygen", "make a signing key", aegis::wrap::verb_keygen},
    {"key", "print the public half of a signing key", aegis::wrap::verb_key},
    {"verify", "judge a record", aegis::wrap::verb_verify},
    {"recheck", "check a policy; tell what it would have decided", aegis::wrap::verb_recheck},
};

/// A descriptor below 3 that is not open would be the next file's, and what is meant for stdout
/// would go into a record or a key. Each gets what it would have been without anybody there: no
/// input, an answer that cannot be given, words that nobody reads.
bool fill_standard_descriptors() {
  constexpr int kFlags[] = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number is this one. Not CLOEXEC: the server shall have all three, too.
    if (::open("/dev/null", kFlags[fd]) != fd) return false;  // NOLINT(android-cloexec-open): above
  }
  return true;
}

int fail(std::string_view why) {
  aegis::wrap::log(why);
  return kBroken;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (!fill_standard_descriptors()) return fail("open: /dev/null: it is needed and not there");
    // A reader that is gone is an error of one write, with a message, not the end of the process.
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
    if (!aegis::audit::init_crypto()) return fail("start: libsodium cannot be initialised");
    return aegis::wrap::run_program(
        kVerbs, std::span<const char* const>(argv, static_cast<std::size_t>(argc)));
  } catch (const std::exception& error) {
    return fail(std::string("unexpected: ") + error.what());
  }
}
