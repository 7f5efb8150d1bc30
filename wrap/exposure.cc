// SPDX-License-Identifier: Apache-2.0 OR MIT
// See exposure.h.
#include "wrap/exposure.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "wrap/places.h"

namespace aegis::wrap {
namespace {

using confine::FileId;
using confine::PathGrant;
using confine::PathGrants;
using confine::Result;

enum class Harm { read, written };

/// A path by which a kept file is reached.
struct Place {
  std::string path;  // its last component may still have to be made
  Harm harm;         // what the program must not be able to do there
};

struct KeptFile {
  std::optional<std::string> path;
  std::string_view noun;
  Harm harm;
  std::string_view remedy;
};

/// The file itself, and each link on its way: who may write where a link is can put another in its
/// place. None when it cannot be found out, by aegis itself neither.
std::vector<Place> places_of(const std::string& path, Harm harm) {
  std::string there = path;
  std::string to_be_made;
  for (;;) {
    auto resolved = confine::resolve_path(there, {});
    if (resolved) {
      std::vector<Place> places = {{resolved->grant.path + to_be_made, harm}};
      for (confine::LinkOnTheWay& link : resolved->links)
        places.push_back({std::move(link.path), Harm::written});
      return places;
    }
    if (resolved.error().code != ENOENT || there == "/") return {};
    to_be_made.insert(0, "/" + base_name_of(there));
    there = folder_of(there);
  }
}

bool does(const PathGrant& grant, Harm harm) {
  return harm == Harm::read || grant.rights.may_write;
}

/// The grant that lets the program at `place`, or null.
const PathGrant* find_exposing(const PathGrants& grants, const Place& place) {
  const PathGrant* decides = grants.find(place.path);
  if (decides != nullptr && does(*decides, place.harm)) return decides;
  for (std::string path = place.path;; path = folder_of(path)) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) == 0) {
      const FileId id{status.st_dev, status.st_ino};
      const auto same =
          std::find_if(grants.paths.begin(), grants.paths.end(), [&](const PathGrant& each) {
            return each.id == id && does(each, place.harm);
          });
      if (same != grants.paths.end()) return &*same;
    }
    if (path == "/") return nullptr;
  }
}

std::string_view describe(const Place& place, const KeptFile& file) {
  if (place.harm != file.harm) return "put another in the place of ";
  return file.harm == Harm::read ? "read " : "write ";
}

Result<void> check_file(const PathGrants& grants, const KeptFile& file) {
  if (!file.path) return {};
  for (const Place& place : places_of(*file.path, file.harm)) {
    const PathGrant* grant = find_exposing(grants, place);
    if (grant == nullptr) continue;
    return confine::refusal("the grant of " + grant->path,
                            {},
                            std::string("with it the program could ")
                                .append(describe(place, file))
                                .append(file.noun)
                                .append(" (")
                                .append(*file.path)
                                .append("); ")
                                .append(file.remedy));
  }
  return {};
}

}  // namespace

Result<void> check_exposure(const PathGrants& grants, const Kept& kept) {
  const KeptFile files[] = {
      {kept.key,
       "the signing key",
       Harm::read,
       "grant a narrower folder, or, where the verb has it, name a key elsewhere with "
       "--signing-key"},
      {kept.record,
       "the record",
       Harm::written,
       "grant a narrower folder, or put the record elsewhere with --audit"},
      {kept.policy,
       "the policy",
       Harm::written,
       "grant a narrower folder, or keep the policy elsewhere"},
      {kept.profile,
       "its own profile",
       Harm::written,
       "grant a narrower folder, or keep the file of --profile elsewhere"},
      {kept.stderr_log,
       "the log of its errors",
       Harm::written,
       "grant a narrower folder, or put the file of --stderr-log elsewhere"},
      {kept.quarantine,
       "the quarantine of its own files",
       Harm::written,
       "grant a narrower folder"},
      {kept.broker_policy,
       "the broker's policy",
       Harm::written,
       "grant a narrower folder, or keep the broker's policy elsewhere"},
  };
  for (const KeptFile& file : files) {
    if (auto safe = check_file(grants, file); !safe) return safe;
  }
  for (const std::string& program : kept.broker_programs) {
    constexpr std::string_view kRemedy =
        "grant a narrower folder, or list a program that lies elsewhere";
    if (auto safe =
            check_file(grants, {program, "a program of the broker's", Harm::written, kRemedy});
        !safe)
      return safe;
  }
  return {};
}

}  // namespace aegis::wrap
