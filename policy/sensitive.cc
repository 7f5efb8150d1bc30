// SPDX-License-Identifier: Apache-2.0 OR MIT
// One table, for the broker and for what --explain hides.
#include "policy/sensitive.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "policy/folded.h"

namespace aegis::policy {
namespace {

enum class Match : std::uint8_t { whole, begin, end };
struct Pattern {
  std::string_view text;  // folded
  Match match;
};
constexpr Pattern kPatterns[] = {
    {".ssh", Match::whole},  // ssh(1)
    {".aws", Match::whole},  // the command lines of the large clouds
    {".azure", Match::whole},
    {".gnupg", Match::whole},   // gpg(1)
    {".kube", Match::whole},    // kubectl
    {".docker", Match::whole},  // docker login
    {".netrc", Match::whole},   // ftp(1), curl(1)
    {".npmrc", Match::whole},   // tokens of package registries
    {".pypirc", Match::whole},
    {".git-credentials", Match::whole},  // git-credential-store(1)
    {".env", Match::whole},              // what programs take as their environment
    {".env.", Match::begin},
    {"id_rsa", Match::begin},  // ssh-keygen(1), wherever they were copied to
    {"id_ed25519", Match::begin},
    {".pem", Match::end},  // private keys and what holds them
    {".key", Match::end},
    {".pfx", Match::end},
    {".p12", Match::end},
    {".kdbx", Match::end},  // KeePass
    {"credentials", Match::whole},
    {"shadow", Match::whole},  // shadow(5), and what passwd(1) leaves beside it
    {"shadow-", Match::whole},
    {"gshadow", Match::whole},
    {"gshadow-", Match::whole},
};

bool does_match(std::string_view name, const Pattern& pattern) {
  switch (pattern.match) {
    case Match::whole:
      return name == pattern.text;
    case Match::begin:
      return name.starts_with(pattern.text);
    case Match::end:
      return name.ends_with(pattern.text);
  }
  return false;
}

}  // namespace

bool is_folded_name_sensitive(std::string_view name) {
  return std::any_of(std::begin(kPatterns), std::end(kPatterns), [name](const Pattern& each) {
    return does_match(name, each);
  });
}

bool is_sensitive_name(std::string_view name) {
  return is_folded_name_sensitive(folded(name));
}

bool is_sensitive(std::string_view path) {
  const std::string whole = folded(path);  // a slash folds to itself, and nothing else to a slash
  std::string_view rest = whole;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    if (is_folded_name_sensitive(rest.substr(0, end))) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace aegis::policy
