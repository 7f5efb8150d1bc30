// SPDX-License-Identifier: Apache-2.0 OR MIT
// The file that holds a signing key's seed: reading it, and making it so that no crash and no race
// leaves half a key, a second key, or one that others can read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "audit/key.h"
#include "confine/result.h"

namespace aegis::wrap {

/// Refuses a file that group or others can use, that is not regular, or whose text is no seed, each
/// in words that say what to do.
confine::Result<audit::SigningKey> read_key_file(const std::string& path);

/// The same for a path that a user named: a missing one's error says how to make it. It is never
/// made here: a slip in a client's config would sign with a key that nobody knows.
confine::Result<audit::SigningKey> read_named_key(const std::string& path);

enum class Existing : std::uint8_t { keep, replace };
/// Makes a key from fresh randomness and puts it at `path`, mode 0600, synced. With Existing::keep
/// a file of that name is never touched: the error then has code EEXIST; with Existing::replace
/// only a regular file that holds a key is replaced. Makes no folder.
confine::Result<audit::SigningKey> make_key_file(const std::string& path, Existing existing);

/// "public_key <hex>" and "key_id     <hex>", each with its newline.
std::string encode_public_half(const audit::PublicKey& key);

struct OpenedKey {
  audit::SigningKey key;
  std::string path;
  bool is_new = false;  // made by this call: its public key is worth telling
};
/// The key at `path`, which must be there; or, when none is named, the one at the default path,
/// which is made when missing: of several first starts one makes it and all use it.
confine::Result<OpenedKey> open_key(const std::optional<std::string>& path);

}  // namespace aegis::wrap
