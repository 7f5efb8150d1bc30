// SPDX-License-Identifier: Apache-2.0 OR MIT
// The member names of the objects that a scan has open, and whether one object holds one twice.
// Eight bytes a name: an object of a million members costs less memory than its text, and n·log n
// time whatever the names are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/json/text.h"

namespace aegis::mcp::json {

/// When two names are one name.
enum class NameRule : std::uint8_t {
  exact,   // equal once their escapes are read
  folded,  // equal under simple case folding as well
};

class NameTable {
 public:
  /// Forgets everything. `text` is what offsets count in; it must outlive the scan and be under 1
  /// TiB.
  void start(std::string_view text);

  /// How many names stand: an object notes this when it opens, and drops back to it when it closes.
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  void drop_to(std::size_t size) { names_.resize(size); }

  /// `name` views the text that start() got.
  void add(const Text& name);

  // The same for an object whose names are compared under folding.
  /// Adds a name that is its own fold at a glance: ASCII without capitals or escapes. False for
  /// others.
  bool add_own_fold(const Text& name);
  struct Spelling {  // valid until the next call
    std::string_view decoded;
    std::string_view folded;
  };
  Spelling add_folded(const Text& name);

  struct Repeat {
    std::size_t offset;  // of the second name's first character in the text
    bool is_exact;       // equal without folding
  };
  /// The first repeat found among the names from `first` on.
  std::optional<Repeat> find_repeat(std::size_t first, NameRule rule);

 private:
  std::optional<Repeat> find_among_few(std::size_t first, std::size_t last, NameRule rule);
  std::optional<Repeat> find_in_run(std::size_t first, std::size_t last, NameRule rule);
  std::optional<Repeat> find_among_many(std::size_t first, NameRule rule);
  [[nodiscard]] std::string_view raw_name(std::uint64_t entry) const;
  std::string_view spelled(std::uint64_t entry, NameRule rule, std::string& scratch);
  void add_entry(const Text& name, std::uint64_t hash);
  Repeat make_repeat(std::uint64_t one, std::uint64_t other);
  int compare(std::uint64_t one, std::uint64_t other, NameRule rule);

  std::string_view text_;
  std::vector<std::uint64_t> names_;  // hash in the upper 24 bits, offset in the lower 40
  std::string one_;                   // scratch for names with escapes or folds
  std::string other_;
  std::string decoded_;
};

}  // namespace aegis::mcp::json
