// SPDX-License-Identifier: Apache-2.0 OR MIT
// JSON-RPC's kinds of message, told by which members stand.
#include "mcp/draft.h"

#include <cstring>

namespace aegis::mcp {
namespace {

using json::Rules;
using json::Type;

/// `name` is as long as the literal.
template <std::size_t Size>
bool is(std::string_view name, const char (&literal)[Size]) {
  return std::memcmp(name.data(), literal, Size - 1) == 0;
}

bool is_answerable(const json::Value& id) {
  return id.type == Type::number || id.type == Type::string;
}

/// What a strict reader asks of a message beyond what makes it one.
bool has_strict_form(const Draft& draft) {
  if (draft.has_method) {
    return !draft.has_result && !draft.has_error && (draft.ids == 0 || is_answerable(draft.id));
  }
  // An error may answer what could not be read, and so have no id to name.
  if (draft.ids == 0) return draft.has_error;
  return is_answerable(draft.id) || draft.id.type == Type::null;
}

}  // namespace

Member identify_member(std::string_view name) {
  switch (name.size()) {
    case 2:
      return is(name, "id") ? Member::id : Member::other;
    case 4:
      return is(name, "name") ? Member::name : Member::other;
    case 5:
      return is(name, "error") ? Member::error : Member::other;
    case 6:
      if (is(name, "method")) return Member::method;
      if (is(name, "params")) return Member::params;
      return is(name, "result") ? Member::result : Member::other;
    case 9:
      return is(name, "requestId") ? Member::request_id : Member::other;
    default:
      return Member::other;
  }
}

Form judge_form(const Draft& draft, Rules rules) {
  if (rules == Rules::strict && !has_strict_form(draft)) return Form::none;
  if (draft.has_method) {
    if (draft.method.type != Type::string) return Form::none;
    return draft.ids == 0 ? Form::notification : Form::request;
  }
  return draft.has_result || draft.has_error ? Form::response : Form::none;
}

Id make_id(const json::Value& value) {
  switch (value.type) {
    case Type::number:
      return {Id::Type::number, value.lexeme};
    case Type::string:
      return {Id::Type::string, value.lexeme};
    case Type::null:
      return {Id::Type::null, value.lexeme};
    case Type::object:
    case Type::array:
    case Type::boolean:
      break;
  }
  return {Id::Type::other, value.lexeme};
}

}  // namespace aegis::mcp
