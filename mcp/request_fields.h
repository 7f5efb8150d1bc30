// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reads one object's members, each of one type and within its bounds, and remembers the first that
// is not. It knows no operation. Internal to broker_request.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/broker_request.h"
#include "mcp/json/scan.h"

namespace aegis::mcp {

struct NumberRule {
  std::uint64_t least;
  std::uint64_t most;
};
/// A string without NUL: what it goes to ends there.
struct TextRule {
  std::size_t least;  // bytes, escapes decoded
  std::size_t most;
  std::string_view what;  // "a path"
};
struct ListRule {
  std::size_t least;  // items
  std::size_t most;
  TextRule item;
};

/// Every take_x steps over the member's value. After a fault nothing is read any more.
class Fields {
 public:
  /// `text` is one JSON object without line breaks, and must outlive this. Faults name their
  /// members behind `prefix`, a literal.
  Fields(std::string_view text, std::string_view prefix);

  /// To the next member. False behind the last one, and after a fault.
  bool next();
  /// Of the member come to, decoded; until the next step.
  [[nodiscard]] std::string_view name() const { return name_; }

  void take_number(const NumberRule& rule, std::optional<std::uint64_t>& number);
  void take_truth(bool& truth);
  void take_text(const TextRule& rule, std::optional<std::string>& text);
  void take_texts(const ListRule& rule, std::optional<std::vector<std::string>>& texts);
  /// Whatever it holds: its bytes, which view the text.
  void take_object(std::optional<std::string_view>& object);

  /// The member come to is none. `known` names those that are: "path, max_bytes".
  void refuse_unknown(std::string_view known);
  /// What is missing or does not go together; `member` is the member's own name.
  void refuse(std::string_view member, std::string_view message);

  /// To be called behind the last member, before what is required is asked for.
  void finish();
  [[nodiscard]] const std::optional<RequestFault>& fault() const { return fault_; }

 private:
  bool take(json::Value& value);
  bool take_item(const TextRule& rule, std::vector<std::string>& texts);
  bool decode(const json::Value& value, const TextRule& rule, std::string& text);
  void refuse_here(std::string message);
  void refuse_defect(const json::Defect& defect);

  std::string_view text_;
  std::string_view prefix_;
  json::Scanner scanner_;
  std::string name_;
  std::optional<RequestFault> fault_;
};

}  // namespace aegis::mcp
