// SPDX-License-Identifier: Apache-2.0 OR MIT
// aegis key: prints the public half of a key file. Makes none.
#include <cerrno>
#include <optional>
#include <string>

#include "wrap/key_file.h"
#include "wrap/log.h"
#include "wrap/out.h"
#include "wrap/places.h"
#include "wrap/verbs.h"

namespace aegis::wrap {
namespace {

using confine::Result;

constexpr int kFailed = 2;
constexpr VerbText kText = {
    "key",
    "[--signing-key PATH]",
    "Prints the public half of a signing key: what `aegis verify --key` takes, and the key_id\n"
    "that records name.",
    "  aegis key\n"
    "  aegis key --signing-key ./signing.key"};

Result<audit::SigningKey> read(const std::optional<std::string>& named) {
  if (named) return read_named_key(*named);
  const std::string path = AEGIS_TRY(default_key_path());
  Result<audit::SigningKey> found = read_key_file(path);
  if (found || found.error().code != ENOENT) return found;
  return confine::refusal("read the signing key", path, "there is none yet; aegis keygen makes it");
}

}  // namespace

int verb_key(const Arguments& arguments) {
  std::optional<std::string> path;
  Flags flags(kText, {Operands::none, kFailed});
  flags.add_text({"--signing-key", "PATH", "the key file (default: ~/.config/aegis/signing.key)"},
                 path);
  if (const std::optional<int> exit = flags.parse(arguments)) return *exit;

  const Result<audit::SigningKey> key = read(path);
  if (!key) {
    log(key.error());
    return kFailed;
  }
  return write_out(encode_public_half(key->public_key())) ? 0 : kFailed;
}

}  // namespace aegis::wrap
