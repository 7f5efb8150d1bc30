// SPDX-License-Identifier: Apache-2.0 OR MIT
// aegis keygen: makes a signing key and prints its public half.
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

constexpr int kFailed = 1;
constexpr VerbText kText = {
    "keygen",
    "[--out PATH] [--force]",
    "Makes an Ed25519 seed, readable by its owner alone, and prints the public half: what\n"
    "`aegis verify --key` takes.",
    "  aegis keygen --out ./signing.key\n"
    "  aegis wrap --signing-key ./signing.key -- my-server"};

/// The default one's folder is made; the parents of a named file are not.
Result<std::string> place_for(const std::optional<std::string>& named) {
  if (named) return *named;
  std::string path = AEGIS_TRY(default_key_path());
  AEGIS_TRY(make_private_folder(folder_of(path)));
  return path;
}

Result<audit::SigningKey> make(const std::optional<std::string>& named, Existing existing) {
  const std::string path = AEGIS_TRY(place_for(named));
  Result<audit::SigningKey> made = make_key_file(path, existing);
  if (!made && made.error().code == EEXIST) {
    return confine::refusal(
        "make the signing key", path, "it exists; --force replaces it, and keeps no copy");
  }
  return made;
}

}  // namespace

int verb_keygen(const Arguments& arguments) {
  std::optional<std::string> out;
  bool is_forced = false;
  Flags flags(kText, {Operands::none, kFailed});
  flags.add_text({"--out", "PATH", "where it goes (default: ~/.config/aegis/signing.key)"}, out);
  flags.add_switch({"--force", nullptr, "replace the key that is there"}, is_forced);
  if (const std::optional<int> exit = flags.parse(arguments)) return *exit;

  const Result<audit::SigningKey> made = make(out, is_forced ? Existing::replace : Existing::keep);
  if (!made) {
    log(made.error());
    return kFailed;
  }
  return write_out(encode_public_half(made->public_key())) ? 0 : kFailed;
}

}  // namespace aegis::wrap
