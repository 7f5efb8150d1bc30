// SPDX-License-Identifier: Apache-2.0 OR MIT
// The JSON library's event interface: it does not recurse, builds nothing and tells each of
// repeated members, and all members that stand before a flaw.
#include "policy/loose_line.h"

#include <cstddef>
#include <exception>

#include <nlohmann/json.hpp>

#include "mcp/json/canonical.h"

namespace aegis::policy {
namespace {

using Json = nlohmann::json;

/// The library's names and types.
class LooseReader {
 public:
  explicit LooseReader(LooseLine& line) : line_(line) {}

  bool null() { return true; }
  bool boolean(bool /*value*/) { return true; }
  bool number_integer(Json::number_integer_t /*value*/) { return other_number(); }
  bool number_unsigned(Json::number_unsigned_t value) {
    if (is_member("seq") && value <= mcp::json::kMaxInteger) line_.seq = value;
    return value == 2 || other_number();
  }
  bool number_float(Json::number_float_t /*value*/, const std::string& /*text*/) {
    return other_number();
  }
  bool binary(Json::binary_t& /*value*/) { return true; }
  bool string(std::string& value) {
    if (is_member("call_id")) line_.call_id = value;
    if (is_member("line_type")) {
      has_type_ = true;
      says_outcome_ = says_outcome_ || value == "outcome";
      line_.is_open = line_.is_open || value == "open";
    }
    if (is_member("phase")) phase_says_outcome_ = phase_says_outcome_ || value == "outcome";
    return true;
  }
  bool start_object(std::size_t /*size*/) { return enter(); }
  bool end_object() { return leave(); }
  bool start_array(std::size_t /*size*/) { return enter(); }
  bool end_array() { return leave(); }
  bool key(std::string& name) {
    if (depth_ == 1) name_ = name;
    return true;
  }
  bool parse_error(std::size_t /*at*/,
                   const std::string& /*token*/,
                   const std::exception& /*why*/) {
    return false;
  }

  [[nodiscard]] bool is_outcome() const { return has_type_ ? says_outcome_ : phase_says_outcome_; }

 private:
  [[nodiscard]] bool is_member(std::string_view name) const { return depth_ == 1 && name_ == name; }
  bool other_number() {
    if (is_member("schema_version")) line_.is_other_schema = true;
    return true;
  }
  bool enter() {
    ++depth_;
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }

  LooseLine& line_;
  std::string name_;  // of the member of the outermost object whose value comes next
  std::size_t depth_ = 0;
  bool has_type_ = false;
  bool says_outcome_ = false;
  bool phase_says_outcome_ = false;
};

}  // namespace

LooseLine read_loosely(std::string_view line) {
  LooseLine found;
  LooseReader reader(found);
  found.is_json = Json::sax_parse(line.begin(), line.end(), &reader);
  found.is_outcome = reader.is_outcome();
  return found;
}

}  // namespace aegis::policy
