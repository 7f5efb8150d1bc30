// SPDX-License-Identifier: Apache-2.0 OR MIT
// The system calls by which a program names files, and what each does with the file that it names.
#pragma once

#include <cstdint>
#include <span>

namespace aegis::confine {

struct TracedCall {
  enum class Act : std::uint8_t {
    look,          // at metadata
    look_at_link,  // of the link itself
    access,        // `extra` is access(2)'s mode
    read,
    open,         // `extra` is open(2)'s flags
    open_how,     // `extra` is the address of openat2(2)'s struct open_how
    create,       // as creat(2)
    change,       // of a file that is there
    make,         // a name
    make_folder,  // likewise
    remove,       // a name
    run,
    map,  // as code; `path` is the descriptor's argument
  };
  int number;
  Act act;
  // Which arguments they are, from 0.
  std::int8_t path;
  std::int8_t folder = -1;  // a descriptor that the path is relative to
  std::int8_t extra = -1;
};

/// A call that names two files has two rows.
std::span<const TracedCall> traced_calls();

}  // namespace aegis::confine
