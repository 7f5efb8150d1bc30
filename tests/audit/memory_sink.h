// SPDX-License-Identifier: Apache-2.0 OR MIT
// A sink that keeps a record in memory, for tests. It has no idea of durability: faulty_sink.h has.
#pragma once

#include <string>
#include <string_view>

#include "audit/sink.h"

namespace aegis::audit {

class MemorySink : public Sink {
 public:
  void append(std::string_view line) override { text += line; }

  std::string text;
};

}  // namespace aegis::audit
