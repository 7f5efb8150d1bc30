// SPDX-License-Identifier: Apache-2.0 OR MIT
// The strict reader against nlohmann/json, which knows nothing of it: what is certain must be the
// same to both, and what any careless reader could take for a call must be known as a possible one.
// A failed promise aborts.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/json/case_fold.h"
#include "mcp/json/text.h"
#include "mcp/json/utf8.h"
#include "mcp/message.h"
#include "mcp/refusal.h"

namespace {

using namespace aegis::mcp;
using Tree = nlohmann::json;

/// nlohmann's number for a float that no double holds: RFC 8259 allows it, so the scanner does.
constexpr int kNumberOverflow = 406;

void promise(bool is_kept, const char* what) {
  if (is_kept) return;
  static_cast<void>(std::fprintf(stderr, "broken promise: %s\n", what));
  std::abort();
}

std::string folded(const std::string& name) {
  std::string out;
  for (std::string_view rest{name}; !rest.empty();) {
    const std::size_t size = std::max<std::size_t>(json::utf8_sequence_size(rest), 1);
    if (size > 1 || static_cast<unsigned char>(rest[0]) < 0x80)
      json::append_folded(rest.substr(0, size), out);
    rest.remove_prefix(size);
  }
  return out;
}

enum class Container : std::uint8_t { object, array };

/// Walks a text as nlohmann reads it and notes what readers differ on: repeated names, and any
/// `method` of a message that says tools/call, however its name is capitalised and whichever of
/// several it is.
class Witness : public nlohmann::json_sax<Tree> {
 public:
  bool has_repeat = false;
  bool has_call = false;
  bool has_error = false;
  bool has_overflow = false;

  bool null() override { return end_value(); }
  bool boolean(bool) override { return end_value(); }
  bool number_integer(std::int64_t) override { return end_value(); }
  bool number_unsigned(std::uint64_t) override { return end_value(); }
  bool number_float(double, const std::string&) override { return end_value(); }
  bool binary(Tree::binary_t&) override { return end_value(); }
  bool string(std::string& text) override {
    const bool is_message_level =
        levels_.size() == 1 || (levels_.size() == 2 && levels_[0].kind == Container::array);
    if (is_message_level && levels_.back().kind == Container::object && name_ == "method" &&
        text == kToolsCall)
      has_call = true;
    return end_value();
  }
  bool key(std::string& name) override {
    if (!levels_.back().names.insert(name).second) has_repeat = true;
    name_ = folded(name);
    return true;
  }
  bool start_object(std::size_t) override { return open(Container::object); }
  bool start_array(std::size_t) override { return open(Container::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t,
                   const std::string&,
                   const nlohmann::detail::exception& error) override {
    has_error = true;
    has_overflow = error.id == kNumberOverflow;
    return false;
  }

 private:
  struct Level {
    Container kind;
    std::set<std::string> names;
  };
  bool open(Container kind) {
    levels_.push_back({kind, {}});
    name_.clear();
    return true;
  }
  bool close() {
    levels_.pop_back();
    return end_value();
  }
  bool end_value() {
    name_.clear();
    return true;
  }

  std::vector<Level> levels_;
  std::string name_;
};

Witness watch(std::string_view text) {
  Witness witness;
  Tree::sax_parse(text, &witness);
  return witness;
}

std::string_view without_line_end(std::string_view frame) {
  if (frame.ends_with('\n')) frame.remove_suffix(1);
  if (frame.ends_with('\r')) frame.remove_suffix(1);
  return frame;
}

bool agrees(const Id& id, const Tree& message) {
  const auto found = message.find("id");
  if (found == message.end()) return id.type == Id::Type::absent;
  if (found->is_null()) return id.type == Id::Type::null;
  if (found->is_number()) return id.type == Id::Type::number;
  if (!found->is_string() || id.type != Id::Type::string) return false;
  std::string decoded;
  json::append_decoded(id.lexeme.substr(1, id.lexeme.size() - 2), decoded);
  return decoded == found->get_ref<const std::string&>();
}

bool agrees(const std::optional<std::string_view>& tool, const Tree& message) {
  const auto params = message.find("params");
  if (params == message.end() || !params->is_object()) return !tool;
  const auto name = params->find("name");
  if (name == params->end() || !name->is_string()) return !tool;
  return tool && *tool == name->get_ref<const std::string&>();
}

/// A certain message says to nlohmann what it says to us.
bool agrees(const Message& message, const Tree& tree) {
  if (!tree.is_object()) return false;
  const bool has_method = tree.contains("method");
  if (const auto* response = std::get_if<Response>(&message)) {
    return !has_method && (tree.contains("result") || tree.contains("error")) &&
           agrees(response->id, tree);
  }
  if (!has_method || !tree["method"].is_string() || tree.contains("result") ||
      tree.contains("error"))
    return false;
  const auto& method = tree["method"].get_ref<const std::string&>();
  if (const auto* request = std::get_if<Request>(&message)) {
    return request->method == method && request->id.is_answerable() && agrees(request->id, tree) &&
           agrees(request->tool, tree);
  }
  const auto* note = std::get_if<Notification>(&message);
  return note != nullptr && note->method == method && !tree.contains("id") &&
         agrees(note->tool, tree);
}

bool is_call(const Message& message) {
  if (const auto* request = std::get_if<Request>(&message)) return request->method == kToolsCall;
  const auto* note = std::get_if<Notification>(&message);
  return note != nullptr && note->method == kToolsCall;
}

void check_certain(const Reading& reading, std::string_view text) {
  Tree tree;
  try {
    tree = Tree::parse(text);
  } catch (const Tree::exception& error) {
    promise(error.id == kNumberOverflow, "nlohmann reads what is certain");
    return;
  }
  promise(reading.is_batch == tree.is_array(), "both see a batch");
  promise(reading.messages.size() == (reading.is_batch ? tree.size() : 1),
          "both see as many messages");
  for (std::size_t index = 0; index < reading.messages.size(); ++index) {
    promise(agrees(reading.messages[index], reading.is_batch ? tree[index] : tree),
            "both see one message");
  }
  promise(
      reading.may_be_call == std::any_of(reading.messages.begin(), reading.messages.end(), is_call),
      "a certain frame may be a call when it is one");
}

void check_witnesses(const Reading& reading, std::string_view text) {
  const Witness witness = watch(text);
  if (!reading.defect) promise(!witness.has_repeat, "no repeated name is certain");
  if (reading.defect && reading.defect->kind == json::Defect::Kind::repeated_member) {
    promise(witness.has_repeat || witness.has_overflow, "a repeated name is one to both");
  }
  if (witness.has_call) promise(reading.may_be_call, "what one reader calls a call may be one");
  for (std::string_view rest = text; !rest.empty();) {  // readers in text mode
    const std::size_t size = std::min(rest.find('\r'), rest.size() - 1) + 1;
    if (watch(rest.substr(0, size)).has_call)
      promise(reading.may_be_call, "a line of it may be a call");
    rest.remove_prefix(size);
  }
}

void check_id(const Id& id) {
  std::string key;
  append_id_key(id, key);
  promise(key.size() <= id.lexeme.size() + 24, "a key is no longer than its id");
  if (id.type == Id::Type::absent) return;
  promise(id.is_answerable(), "a refusal names an id that can be answered");
  const std::string frame =
      encode_refusal({id, RefusalCode::malformed_frame, "text"}, RefuseAs::result);
  const Witness witness = watch(frame);
  promise(!witness.has_error || witness.has_overflow, "a refusal with it is JSON");
}

std::string show(const Message& message) {
  std::string text = std::to_string(message.index());
  if (const auto* request = std::get_if<Request>(&message)) {
    text += std::string{request->method} + ' ' + std::string{request->id.lexeme};
  } else if (const auto* note = std::get_if<Notification>(&message)) {
    text += note->method;
  } else if (const auto* response = std::get_if<Response>(&message)) {
    text += response->id.lexeme;
  }
  return text;
}

std::vector<std::string> show(const Reading& reading) {
  std::vector<std::string> texts;
  for (const Message& message : reading.messages)
    texts.push_back(show(message));
  return texts;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static MessageReader reader;  // what one frame leaves behind must not show in the next
  const std::string_view frame{reinterpret_cast<const char*>(data), size};
  const std::string_view text = without_line_end(frame);

  const Reading reading = reader.read_client(frame);
  const std::vector<std::string> shown = show(reading);
  if (reading.defect) {
    promise(reading.defect->offset <= size, "a defect stands in its frame");
    promise(!describe(*reading.defect).empty(), "a defect has words");
  } else {
    check_certain(reading, text);
  }
  if (!text.empty()) check_witnesses(reading, text);
  check_id(reading.sole_id);

  MessageReader fresh;
  const Reading again = fresh.read_client(frame);
  promise(again.defect.has_value() == reading.defect.has_value() && show(again) == shown,
          "readers have no memory");
  const Reading served = fresh.read_server(frame);
  if (!reading.defect)
    promise(!served.defect && show(served) == shown, "a server's reading is no other");
  return 0;
}
