// SPDX-License-Identifier: Apache-2.0 OR MIT
// One message while it is read: its members as values of the frame, and what kind of message they
// make. Internal to the reader (message.cc); it decodes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mcp/json/scan.h"
#include "mcp/message.h"

namespace aegis::mcp {

/// The members that say what a message is; `name` and `request_id` inside params, the others at the
/// top.
enum class Member : std::uint8_t { other, id, method, params, result, error, name, request_id };

/// `name` is decoded.
Member identify_member(std::string_view name);

/// The last of each member counts. Values are taken where they stay: copying one that was just
/// written costs more than reading it.
struct Draft {
  std::size_t offset = 0;  // of the message in its frame
  std::size_t ids = 0;     // how often `id` stood
  bool has_method = false;
  bool has_result = false;
  bool has_error = false;
  bool has_tool = false;  // a string
  bool has_cancelled = false;
  json::Value id;
  json::Value method;
  json::Value tool;
  json::Value cancelled;
  json::Value ignored;  // where all others go
};

enum class Form : std::uint8_t { none, request, notification, response };

/// strict: what every reader must take for the same kind of message. lenient: what some reader may.
Form judge_form(const Draft& draft, json::Rules rules);

Id make_id(const json::Value& value);

}  // namespace aegis::mcp
