// SPDX-License-Identifier: Apache-2.0 OR MIT
// aegis verify: judges records. What a record is and when it holds is audit's; here are files,
// folders, the keys that the caller trusts, and the exit code.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "audit/verify.h"
#include "mcp/json/canonical.h"
#include "wrap/log.h"
#include "wrap/out.h"
#include "wrap/read_file.h"
#include "wrap/verbs.h"

namespace aegis::wrap {
namespace {

using confine::errno_error;
using confine::Fd;
using confine::Result;

constexpr int kVerified = 0;
constexpr int kTamperedOrUsage = 1;
constexpr int kUnreadable = 2;
constexpr int kIndeterminate = 3;

constexpr std::string_view kReading = "read the record";
constexpr std::string_view kSuffix = ".aarl";
constexpr std::size_t kPiece = std::size_t{128} << 10;
constexpr std::size_t kMaxTrustStore = std::size_t{1} << 20;

constexpr VerbText kText = {
    "verify",
    "[--key HEX]... [--trust-store FILE] [--json] FILE|DIR...",
    "Judges records, offline: Verified, Tampered or Indeterminate, with the reason. A folder "
    "means\n"
    "every .aarl in it. Without a key a record is only found consistent in itself: whoever wrote\n"
    "it may have signed with any key.\n"
    "Exit: 0 Verified, 1 Tampered (or a usage error), 2 unreadable, 3 Indeterminate; of several\n"
    "records the worst, in the order 1, 2, 3, 0.",
    "  aegis verify --key \"$(aegis key | sed -n 's/^public_key //p')\" "
    "~/.local/state/aegis/records"};

struct Options {
  std::vector<std::string> keys;
  std::optional<std::string> trust_store;
  bool is_json = false;
};

/// An answer, or the exit code of what has been said on stderr.
template <class T>
struct OrExit {
  std::optional<T> value;
  int exit = 0;
};

OrExit<audit::TrustSet> read_trust_store(const std::string& path) {
  constexpr std::string_view kDoing = "read the trust store";
  Result<Fd> file = open_regular(kDoing, path);
  Result<std::string> text = file ? read_up_to(*file, {kDoing, path, kMaxTrustStore + 1})
                                  : Result<std::string>(file.error());
  if (!text) {
    log(text.error());
    return {std::nullopt, kUnreadable};
  }
  if (text->size() > kMaxTrustStore) {
    log(confine::refusal(kDoing, path, "it is larger than 1 MiB"));
    return {std::nullopt, kTamperedOrUsage};
  }
  audit::TrustStore store = audit::parse_trust_store(*text);
  if (store.malformed_line != 0) {
    log(confine::refusal(kDoing,
                         path + ":" + std::to_string(store.malformed_line),
                         "expected one public key, 64 lower-case hex digits, or a # comment"));
    return {std::nullopt, kTamperedOrUsage};
  }
  return {std::move(store.keys)};
}

/// All keys that are given; nothing is a pin too, when it was asked for.
OrExit<audit::TrustSet> read_trust(const Options& options, const Flags& flags) {
  OrExit<audit::TrustSet> trust{audit::TrustSet()};
  if (options.trust_store) trust = read_trust_store(*options.trust_store);
  if (!trust.value) return trust;
  for (const std::string& text : options.keys) {
    const std::optional<audit::PublicKey> key = audit::parse_public_key(text);
    if (!key) {
      return {std::nullopt,
              flags.usage_error("--key: " + text +
                                ": expected a public key, 64 lower-case hex digits")};
    }
    trust.value->push_back(*key);
  }
  return trust;
}

/// The records of a folder, in the order of their names' bytes.
Result<std::vector<std::string>> list_folder(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::string path = entry->path().string();
    if (path.size() > kSuffix.size() && path.ends_with(kSuffix)) paths.push_back(std::move(path));
  }
  if (error) return confine::code_error("read the folder", folder, error.value());
  if (paths.empty()) return confine::refusal("read the folder", folder, "there is no .aarl in it");
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<audit::Report> verify_file(const std::string& path, std::optional<audit::TrustSet> trust) {
  const Fd file = AEGIS_TRY(open_regular(kReading, path));
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);  // advice: its failure costs speed only
  audit::Verifier verifier(std::move(trust));
  std::vector<char> piece(kPiece);
  for (;;) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(kReading, path);
    if (count == 0) return verifier.finish();
    verifier.feed({piece.data(), static_cast<std::size_t>(count)});
  }
}

int exit_of(audit::Standing standing) {
  switch (standing) {
    case audit::Standing::verified:
      return kVerified;
    case audit::Standing::indeterminate:
      return kIndeterminate;
    case audit::Standing::tampered:
      return kTamperedOrUsage;
  }
  return kTamperedOrUsage;
}

int worse_of(int left, int right) {
  for (const int exit : {kTamperedOrUsage, kUnreadable, kIndeterminate}) {
    if (left == exit || right == exit) return exit;
  }
  return kVerified;
}

/// Judges one record after another and prints each report when it is there.
class Run {
 public:
  Run(const Options& options, std::optional<audit::TrustSet> trust)
      : options_(options), trust_(std::move(trust)) {}

  int over(const std::vector<std::string>& paths) {
    is_several_ = paths.size() > 1;
    if (options_.is_json && is_several_) say("{\"records\":[");
    for (const std::string& path : paths)
      judge(path);
    if (options_.is_json && is_several_) say("]}\n");
    return is_said_ ? exit_ : worse_of(exit_, kUnreadable);
  }
  void failed(const confine::Error& error) {
    log(error);
    exit_ = worse_of(exit_, kUnreadable);
  }

 private:
  void judge(const std::string& path) {
    const Result<audit::Report> report = verify_file(path, trust_);
    if (!report) return failed(report.error());
    exit_ = worse_of(exit_, exit_of(report->standing));
    if (options_.is_json) {
      say_json(path, *report);
    } else {
      say((is_several_ ? escape_controls(path) + "\n" : std::string()) +
          audit::encode_text(*report));
    }
    hint(*report);
  }

  void say_json(const std::string& path, const audit::Report& report) {
    if (!is_several_) return say(audit::encode_json(report) + "\n");
    std::string text = is_first_ ? "{\"path\":" : ",{\"path\":";
    mcp::json::append_string(escape_controls(path), text);
    say(text + ",\"report\":" + audit::encode_json(report) + "}");
    is_first_ = false;
  }

  /// A record names its key_id, a pin needs the key itself: an easy mistake.
  void hint(const audit::Report& report) const {
    for (const std::string& key : options_.keys) {
      for (const audit::KeyId& id : report.key_ids) {
        if (audit::to_hex(id.bytes) != key) continue;
        log("--key: " + key + ": that is the record's key_id; --key takes the public key, which " +
            "`aegis key` prints");
        return;
      }
    }
  }

  void say(std::string_view text) { is_said_ = is_said_ && write_out(text); }

  const Options& options_;
  std::optional<audit::TrustSet> trust_;
  bool is_several_ = false;
  bool is_first_ = true;
  bool is_said_ = true;
  int exit_ = kVerified;
};

int verify_all(const std::vector<std::string>& operands, Run& run) {
  std::vector<std::string> paths;
  for (const std::string& operand : operands) {
    std::error_code error;  // of what is no folder, opening it as a record will tell
    if (!std::filesystem::is_directory(operand, error)) {
      paths.push_back(operand);
    } else if (Result<std::vector<std::string>> listed = list_folder(operand); listed) {
      paths.insert(paths.end(), listed->begin(), listed->end());
    } else {
      run.failed(listed.error());
    }
  }
  return run.over(paths);
}

}  // namespace

int verb_verify(const Arguments& arguments) {
  Options options;
  Flags flags(kText, {Operands::words, kTamperedOrUsage});
  flags.add_texts({"--key", "HEX", "a public key to trust; may be given several times"},
                  options.keys);
  flags.add_text({"--trust-store", "FILE", "trust the keys in it, one a line; # starts a comment"},
                 options.trust_store);
  flags.add_switch({"--json", nullptr, "the same facts as one JSON object"}, options.is_json);
  if (const std::optional<int> exit = flags.parse(arguments)) return *exit;
  if (flags.operands().empty())
    return flags.usage_error("no record is named; expected FILE or DIR");

  OrExit<audit::TrustSet> trust = read_trust(options, flags);
  if (!trust.value) return trust.exit;
  const bool is_pinned = options.trust_store || !options.keys.empty();
  Run run(options, is_pinned ? std::move(trust.value) : std::nullopt);
  return verify_all(flags.operands(), run);
}

}  // namespace aegis::wrap
