// SPDX-License-Identifier: Apache-2.0 OR MIT
// See writable.h.
#include "confine/writable.h"

#include <sys/stat.h>

namespace aegis::confine {

void Writable::add(const PathGrant& grant) {
  trees_.push_back({grant.path, grant.id});
}

std::optional<std::size_t> Writable::find(const std::string& place) const {
  std::optional<std::size_t> outermost;
  for (std::string each = trees_.empty() ? std::string() : place; !each.empty();
       each.resize(each.rfind('/'))) {
    struct stat status = {};
    const bool is_there = ::lstat(each.c_str(), &status) == 0;
    const FileId id{status.st_dev, status.st_ino};
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      if (trees_[i].path == each || (is_there && trees_[i].id == id)) outermost = i;
    }
  }
  return outermost;
}

std::vector<std::string> Writable::links_of(const ResolvedPath& resolved) const {
  std::vector<std::string> places;
  for (const LinkOnTheWay& link : resolved.links) {
    if (find(link.path)) places.push_back(link.path);
  }
  return places;
}

std::vector<std::string> Writable::authors_of(const ResolvedPath& resolved) const {
  std::vector<std::string> places = links_of(resolved);
  if (find(resolved.grant.path)) places.push_back(resolved.grant.path);
  return places;
}

}  // namespace aegis::confine
