// SPDX-License-Identifier: Apache-2.0 OR MIT
// Names under which secrets usually lie. A list of names is a guess: a secret under another name is
// not found.
#pragma once

#include <string_view>

namespace aegis::policy {

/// Of one component of a path, under Unicode simple case folding (folded.h): ".ssh", "ID_RSA.old",
/// "server.pem", ".env.local".
bool is_sensitive_name(std::string_view name);
/// The same of a name that folded() made.
bool is_folded_name_sensitive(std::string_view name);
/// Whether any component of `path` is.
bool is_sensitive(std::string_view path);

}  // namespace aegis::policy
