// SPDX-License-Identifier: Apache-2.0 OR MIT
// The table of differentials against the reader: under a rule that denies `evil` no form has a
// reading that would pass.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "mcp/message.h"
#include "smuggling_table.h"

namespace {

using namespace aegis::mcp;
using testing::SmugglingForm;

/// What the rule "deny evil" says of one message: a call passes only with a tool's name that is not
/// evil.
bool would_pass(const Message& message) {
  const auto judge = [](std::string_view method, const std::optional<std::string_view>& tool) {
    return method != kToolsCall || (tool && *tool != "evil");
  };
  if (const auto* request = std::get_if<Request>(&message))
    return judge(request->method, request->tool);
  if (const auto* note = std::get_if<Notification>(&message))
    return judge(note->method, note->tool);
  return std::holds_alternative<Response>(message);
}

bool would_pass(MessageReader& reader, std::string_view frame) {
  const Reading reading = reader.read_client(frame);
  return !reading.defect && std::all_of(reading.messages.begin(),
                                        reading.messages.end(),
                                        [](const Message& message) { return would_pass(message); });
}

/// One frame of several may be blank; the others must all be refused.
bool is_refused(MessageReader& reader, std::string_view bytes) {
  for (;;) {
    const std::size_t newline = bytes.find('\n');
    if (would_pass(reader, std::string{bytes.substr(0, newline)} + '\n')) return false;
    if (newline == std::string_view::npos) return true;
    bytes.remove_prefix(newline + 1);
  }
}

}  // namespace

TEST_CASE("no form of the smuggling table passes a rule that denies its tool") {
  MessageReader reader;
  std::set<std::string_view> names;
  for (const SmugglingForm& form : testing::all_smuggling_forms()) {
    CAPTURE(form.name);
    CHECK(names.insert(form.name).second);
    CHECK(is_refused(reader, form.frame));
  }
}

TEST_CASE("every harmless form passes the same rule") {
  MessageReader reader;
  for (const SmugglingForm& form : testing::kHarmlessForms) {
    CAPTURE(form.name);
    CHECK(would_pass(reader, form.frame));
    CHECK(would_pass(reader, std::string{form.frame} + '\n'));
  }
}

TEST_CASE("a form with a defect in which some reader sees the call is known as a possible call") {
  MessageReader reader;
  for (const SmugglingForm& form : testing::all_smuggling_forms()) {
    if (form.taken_by.empty()) continue;
    CAPTURE(form.name);
    std::string_view bytes = form.frame;
    bool may_be_call = false;
    while (!bytes.empty()) {
      const std::size_t size = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
      may_be_call |= reader.read_client(bytes.substr(0, size)).may_be_call;
      bytes.remove_prefix(size);
    }
    CHECK(may_be_call);
  }
}
