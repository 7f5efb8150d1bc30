// SPDX-License-Identifier: Apache-2.0 OR MIT
// Walks a frame's top level, or each batch element's, and says what it is. One walk serves all
// three readings: the strict one, the careless one of a frame with a defect, and the shallow one of
// a server's frame.
#include "mcp/message.h"

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "mcp/draft.h"
#include "mcp/suspicion.h"

namespace aegis::mcp {
namespace {

using json::Defect;
using json::Rules;
using json::Type;
using json::Value;

/// Names that decide what a frame is and whom it calls.
constexpr std::array<std::string_view, 8> kDeciding{
    "jsonrpc", "id", "method", "params", "name", "arguments", "_meta", "task"};

/// Scratch that one huge frame needed is not kept for the next.
constexpr std::size_t kKeptMessages = 1024;

/// How a frame is read.
struct Manner {
  Rules rules;
  bool reads_params;
};
constexpr Manner kStrict{Rules::strict, true};
constexpr Manner kCareless{Rules::lenient, true};
constexpr Manner kShallow{Rules::lenient, false};

/// A reader whose strings end at a NUL would see another method, or another tool, than this one
/// does.
bool holds_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

bool is_call(const Message& message) {
  if (const auto* request = std::get_if<Request>(&message)) return request->method == kToolsCall;
  if (const auto* notification = std::get_if<Notification>(&message)) {
    return notification->method == kToolsCall;
  }
  return false;
}

/// The '\n' that ends a frame and one '\r' before it are framing, not content to judge.
std::string_view strip_line_end(std::string_view frame) {
  if (frame.ends_with('\n')) frame.remove_suffix(1);
  if (frame.ends_with('\r')) frame.remove_suffix(1);
  return frame;
}

bool is_space(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

bool is_header_line(std::string_view text) {
  std::string start{text.substr(0, 15)};
  for (char& letter : start) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + 0x20);
  }
  return start.starts_with("content-length:") || start.starts_with("content-type:");
}

/// Lines that are no attempt at a message: blank ones, and the framing of LSP, which some clients
/// try.
std::optional<Defect::Kind> find_line_defect(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), is_space)) return Defect::Kind::empty;
  if ((text[0] == 'C' || text[0] == 'c') && is_header_line(text))
    return Defect::Kind::content_length;
  return std::nullopt;
}

}  // namespace

struct MessageReader::State {
  json::Scanner scanner;
  Manner manner = kStrict;
  std::vector<Message> messages;
  std::optional<Defect> defect;
  bool is_batch = false;
  Id sole_id;
  std::deque<std::string> texts;  // decoded strings; views into them must stay, as a deque's do
  std::size_t texts_used = 0;
  std::string scratch;

  void read(std::string_view frame, Manner how);
  void read_batch();
  void read_element();
  void read_message(Draft& draft);
  void read_params(Draft& draft);
  void take_member(Draft& draft);
  void add_message(const Draft& draft);
  void add_malformed(Defect::Kind kind, std::size_t offset);
  Member identify(const json::Text& name);
  std::string_view keep(const Value& string);
  void keep_certain_id();
  void forget();
};

void MessageReader::State::forget() {
  messages.clear();
  if (messages.capacity() > kKeptMessages) messages.shrink_to_fit();
  if (texts.size() > kKeptMessages) texts.clear();
  texts_used = 0;
  defect.reset();
  is_batch = false;
  sole_id = {};
}

void MessageReader::State::read(std::string_view frame, Manner how) {
  forget();
  manner = how;
  scanner.start(frame, how.rules);
  const std::optional<Type> type = scanner.peek();
  if (type == Type::object) {
    Draft draft;
    read_message(draft);
    const Id id = make_id(draft.id);
    if (draft.ids == 1 && id.is_answerable()) sole_id = id;
  } else if (type == Type::array) {
    is_batch = true;
    read_batch();
  } else if (Value ignored; type && scanner.take(ignored)) {
    add_malformed(Defect::Kind::not_a_message, 0);
  }
  scanner.finish();
  if (!defect) defect = scanner.defect();
  if (!scanner.defect()) return;
  messages.clear();
  sole_id = {};
}

void MessageReader::State::read_batch() {
  scanner.enter_array();
  while (!defect && scanner.next_element())
    read_element();
  if (!defect && messages.empty()) add_malformed(Defect::Kind::not_a_message, 0);
}

void MessageReader::State::read_element() {
  const std::optional<Type> type = scanner.peek();
  const std::size_t offset = scanner.offset();
  const bool has_room = messages.size() < kMaxBatch;
  if (type == Type::object && has_room) {
    Draft draft;
    read_message(draft);
  } else if (Value ignored; scanner.take(ignored)) {
    const bool is_nested = type == Type::array;
    const auto kind = is_nested ? Defect::Kind::nested_batch : Defect::Kind::not_a_message;
    add_malformed(has_room ? kind : Defect::Kind::batch_too_long, offset);
  }
}

void MessageReader::State::read_message(Draft& draft) {
  draft.offset = scanner.offset();
  scanner.enter_object(kDeciding);
  while (scanner.next_member())
    take_member(draft);
  if (!scanner.defect()) add_message(draft);
}

/// Steps over the member's value, and keeps it when it decides something.
void MessageReader::State::take_member(Draft& draft) {
  switch (identify(scanner.name())) {
    case Member::id:
      ++draft.ids;
      scanner.take(draft.id);
      return;
    case Member::method:
      draft.has_method = true;
      scanner.take(draft.method);
      return;
    case Member::params:
      read_params(draft);
      return;
    case Member::result:
      draft.has_result = true;
      break;
    case Member::error:
      draft.has_error = true;
      break;
    case Member::name:
    case Member::request_id:
    case Member::other:
      break;
  }
  scanner.take(draft.ignored);
}

void MessageReader::State::read_params(Draft& draft) {
  draft.has_tool = draft.has_cancelled = false;
  if (!manner.reads_params || scanner.peek() != Type::object) {
    scanner.take(draft.ignored);
    return;
  }
  scanner.enter_object(kDeciding);
  while (scanner.next_member()) {
    const Member member = identify(scanner.name());
    if (member == Member::name) {
      draft.has_tool = scanner.take(draft.tool) && draft.tool.type == Type::string;
    } else if (member == Member::request_id) {
      draft.has_cancelled = scanner.take(draft.cancelled);
    } else {
      scanner.take(draft.ignored);
    }
  }
}

/// Appends what the draft says.
void MessageReader::State::add_message(const Draft& draft) {
  switch (judge_form(draft, manner.rules)) {
    case Form::none:
      add_malformed(Defect::Kind::not_a_message, draft.offset);
      return;
    case Form::response:
      messages.emplace_back(Response{draft.ids == 0 ? Id{} : make_id(draft.id)});
      return;
    case Form::request:
    case Form::notification:
      break;
  }
  const std::string_view method = keep(draft.method);
  std::optional<std::string_view> tool;
  if (draft.has_tool) tool = keep(draft.tool);
  const bool has_nul = (draft.method.has_escapes && holds_nul(method)) ||
                       (tool && draft.tool.has_escapes && holds_nul(*tool));
  if (has_nul && manner.rules == Rules::strict) {
    add_malformed(Defect::Kind::nul, draft.offset);
  } else if (draft.ids == 0) {
    const Id cancelled = draft.has_cancelled ? make_id(draft.cancelled) : Id{};
    messages.emplace_back(Notification{method, tool, cancelled});
  } else {
    messages.emplace_back(Request{make_id(draft.id), method, tool});
  }
}

/// An id with raw control characters or bad UTF-8 would make our answer as bad as the frame.
void MessageReader::State::keep_certain_id() {
  if (sole_id.type == Id::Type::absent) return;
  Value ignored;
  scanner.start(sole_id.lexeme, Rules::strict);
  if (!scanner.take(ignored)) sole_id = {};
}

/// Under the strict rules one bad message is the whole frame's defect.
void MessageReader::State::add_malformed(Defect::Kind kind, std::size_t offset) {
  if (manner.rules == Rules::strict) {
    defect = Defect{kind, offset};
  } else if (messages.size() < kMaxBatch) {
    messages.push_back(Malformed{{kind, offset}});
  }
}

Member MessageReader::State::identify(const json::Text& name) {
  if (!name.has_escapes) return identify_member(name.raw);
  scratch.clear();
  json::append_decoded(name.raw, scratch);
  return identify_member(scratch);
}

/// What `string` says: in the frame when it has no escapes, else in `texts`.
std::string_view MessageReader::State::keep(const Value& string) {
  const json::Text text = string.text();
  if (!text.has_escapes) return text.raw;
  if (texts_used == texts.size()) texts.emplace_back();
  std::string& kept = texts[texts_used++];
  kept.clear();
  json::append_decoded(text.raw, kept);
  return kept;
}

MessageReader::MessageReader() : state_(std::make_unique<State>()) {}
MessageReader::~MessageReader() = default;
MessageReader::MessageReader(MessageReader&&) noexcept = default;
MessageReader& MessageReader::operator=(MessageReader&&) noexcept = default;

Reading MessageReader::read_client(std::string_view frame) {
  State& state = *state_;
  const std::string_view text = strip_line_end(frame);
  if (const auto kind = find_line_defect(text)) {
    state.forget();
    const bool may_be_call = *kind != Defect::Kind::empty && may_hold_call(text, Extent::piece);
    return {Defect{*kind, 0}, false, {}, {}, may_be_call};
  }
  state.read(text, kStrict);
  if (!state.defect) {
    const bool has_call = std::any_of(state.messages.begin(), state.messages.end(), is_call);
    return {std::nullopt, state.is_batch, state.messages, state.sole_id, has_call};
  }
  const Defect defect = *state.defect;
  state.read(text, kCareless);
  const Extent extent = state.defect ? Extent::piece : Extent::whole;
  state.keep_certain_id();
  return {defect, state.is_batch, state.messages, state.sole_id, may_hold_call(text, extent)};
}

Reading MessageReader::read_server(std::string_view frame) {
  State& state = *state_;
  const std::string_view text = strip_line_end(frame);
  state.read(text, kShallow);
  return {state.defect, state.is_batch, state.messages, {}, false};
}

}  // namespace aegis::mcp
