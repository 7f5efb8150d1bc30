// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where what must not be in a folder is moved to: never copied, never deleted, never looked into.
// It decides nothing about what that is.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "confine/fd.h"

namespace aegis::confine {

class Quarantine {
 public:
  /// `folder`: absolute, outside of the hostile one; it and the ones above are made (0700) by the
  /// first move.
  explicit Quarantine(std::string folder) : folder_(std::move(folder)) {}

  struct Source {
    int root = -1;          // the hostile folder
    std::string root_path;  // its absolute path, to tell where things went
    int parent = -1;        // O_PATH, below `root`
    std::string name;       // one component in `parent`, whatever it is
  };
  struct Outcome {
    int code = 0;          // errno; ENOENT: it was gone
    std::string moved_to;  // absolute
  };
  /// One rename(2): of the name itself, be it a link, a FIFO, a mountain of folders. Gives the
  /// owner the rights back that the rename needs. Over a file system's border a rename does not
  /// lead; then the quarantine is a folder of a random name in `root` itself, where nothing runs
  /// what is in it.
  Outcome move(const Source& source);

 private:
  struct Place {
    std::string path;
    Fd fd;
  };
  int move_outside(const Source& source, std::string& moved_to);
  static int make_outside(const std::string& path, Place& place);
  static int make_inside(const Source& source, Place& place);
  int move_to(const Source& source, const Place& place, std::string& moved_to);

  std::string folder_;
  Place outside_;
  bool is_outside_elsewhere_ = false;  // on another file system than the hostile folder
  Place inside_;
  std::size_t count_ = 0;
};

}  // namespace aegis::confine
