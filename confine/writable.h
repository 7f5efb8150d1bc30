// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where a confined program may write, or one before it could: what is found there is a program's
// word and not the user's. It says where something lies; what follows from it is admission.h's.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "confine/grants.h"

namespace aegis::confine {

class Writable {
 public:
  void add(const PathGrant& grant);

  /// The number of the tree that `place` lies in, or nothing; of several the outermost. `place` is
  /// absolute and its components but the last are no links; the last is not followed. Compared by
  /// identity too: a tree may be mounted under another name.
  [[nodiscard]] std::optional<std::size_t> find(const std::string& place) const;

  /// The places by which whoever writes here could have made `resolved` another: links on its way.
  [[nodiscard]] std::vector<std::string> links_of(const ResolvedPath& resolved) const;
  /// Those by which he could have made it say something else: the links, and the file itself.
  [[nodiscard]] std::vector<std::string> authors_of(const ResolvedPath& resolved) const;

 private:
  struct Tree {
    std::string path;
    FileId id;
  };
  std::vector<Tree> trees_;
};

}  // namespace aegis::confine
