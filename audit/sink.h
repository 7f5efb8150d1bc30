// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where a chain's Lines go. `wrap/audit_file` is the file; tests have a memory and a faulty one.
#pragma once

#include <string_view>

namespace aegis::audit {

class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  /// Takes one Line with its '\n'. Only queues: that it is written, or durable, is known after the
  /// owner's commit.
  virtual void append(std::string_view line) = 0;
};

}  // namespace aegis::audit
