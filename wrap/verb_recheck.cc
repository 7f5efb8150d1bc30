// SPDX-License-Identifier: Apache-2.0 OR MIT
// aegis recheck: checks a policy, and tells what it would have decided about the calls of a
// record. Reads the two files that are named and nothing else.
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audit/digest.h"
#include "policy/diagnostic.h"
#include "policy/policy.h"
#include "policy/recheck.h"
#include "wrap/log.h"
#include "wrap/out.h"
#include "wrap/policy_file.h"
#include "wrap/read_file.h"
#include "wrap/verbs.h"

namespace aegis::wrap {
namespace {

using confine::errno_error;
using confine::Fd;
using confine::Result;

constexpr int kUnchanged = 0;
constexpr int kDiffersOrUsage = 1;
constexpr int kUnreadable = 2;
constexpr int kIncomplete = 3;

constexpr std::string_view kReading = "read the record";
constexpr std::size_t kPiece = std::size_t{128} << 10;

constexpr VerbText kText = {
    "recheck",
    "--policy YAML [--json] [FILE]",
    "Without FILE the policy is checked. With a record it tells of each recorded call what these\n"
    "rules would have decided; nothing is executed, no signature is checked.\n"
    "Exit: 0 all unchanged (or a good policy), 1 some call differs (or a usage error),\n"
    "2 unreadable (or a bad policy), 3 some call cannot be answered for.",
    "  aegis recheck --policy stricter.yaml session.aarl"};

enum class Form : std::uint8_t { text, json };

/// Nothing when there is no good policy; what is wrong or worth knowing has then been said.
std::optional<policy::Policy> load(const std::string& path) {
  Result<policy::Loaded> loaded = load_policy_file(path, policy::Purpose::recheck);
  if (!loaded) {
    log(loaded.error());
    return std::nullopt;
  }
  for (const policy::Diagnostic& diagnostic : loaded->diagnostics) {
    log("read the policy: " + policy::describe(diagnostic, path));
  }
  return std::move(loaded->policy);
}

int report_policy(const policy::Policy& policy, Form form) {
  const std::string hash = audit::to_hex(audit::PolicySetHash::of(policy.canonical_form()).bytes);
  const std::string rules = std::to_string(policy.rules().size());
  const bool is_said =
      form == Form::json
          ? write_out("{\"policy_set_hash\":\"" + hash + "\",\"rules\":" + rules + "}\n")
          : write_out("policy_set_hash " + hash + "\nrules " + rules + "\n");
  return is_said ? kUnchanged : kUnreadable;
}

int exit_of(const policy::RecheckReport& report) {
  if (report.is_incomplete()) return kIncomplete;
  return report.differing != 0 ? kDiffersOrUsage : kUnchanged;
}

/// The whole file. As text each piece's calls are printed before the next is read, so that memory
/// stays constant; false when that failed.
Result<bool> feed(const std::string& path, policy::Rechecker& rechecker, Form form) {
  const Fd file = AEGIS_TRY(open_regular(kReading, path));
  std::vector<char> piece(kPiece);
  for (;;) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(kReading, path);
    if (count == 0) return true;
    rechecker.feed({piece.data(), static_cast<std::size_t>(count)});
    if (form == Form::text && !write_out(policy::encode_text(rechecker.take()))) return false;
  }
}

int recheck(const policy::Policy& policy, const std::string& path, Form form) {
  policy::Rechecker rechecker(policy);
  const Result<bool> fed = feed(path, rechecker, form);
  if (!fed) {
    log(fed.error());
    return kUnreadable;
  }
  if (!*fed) return kUnreadable;
  const policy::RecheckReport report = rechecker.finish();
  for (const std::string& note : report.notes) {
    log(confine::refusal("recheck", path, note));
  }
  if (report.unchanged + report.differing + report.unanswered + report.unread_lines == 0) {
    log(confine::refusal(
        "recheck", path, "it holds no outcome of a call, so there was none to judge"));
  }
  const bool is_said = write_out(form == Form::json ? policy::encode_json(report)
                                                    : policy::encode_text(report.calls));
  return is_said ? exit_of(report) : kUnreadable;
}

}  // namespace

int verb_recheck(const Arguments& arguments) {
  std::optional<std::string> policy_path;
  bool is_json = false;
  Flags flags(kText, {Operands::words, kDiffersOrUsage});
  flags.add_text({"--policy", "YAML", "the rules to judge by"}, policy_path);
  flags.add_switch({"--json", nullptr, "the same facts as one JSON object"}, is_json);
  if (const std::optional<int> exit = flags.parse(arguments)) return *exit;
  if (!policy_path) return flags.usage_error("--policy: it is missing");
  if (flags.operands().size() > 1) {
    return flags.usage_error(flags.operands()[1] + ": one record at a time");
  }

  const std::optional<policy::Policy> policy = load(*policy_path);
  if (!policy) return kUnreadable;
  const Form form = is_json ? Form::json : Form::text;
  if (flags.operands().empty()) return report_policy(*policy, form);
  return recheck(*policy, flags.operands().front(), form);
}

}  // namespace aegis::wrap
