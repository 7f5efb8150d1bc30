// SPDX-License-Identifier: Apache-2.0 OR MIT
// Answers are written out, not built from a tree: their shape is fixed, nothing here can fail, and
// what a program printed is copied as few times as can be.
#include "mcp/broker_answer.h"

#include "mcp/answer_text.h"
#include "mcp/json/canonical.h"
#include "mcp/json/lossy.h"

namespace aegis::mcp {
namespace {

/// Writes one flat object's members, in the order in which they are given.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }

  void name(std::string_view member) {
    if (has_any_) out_ += ',';
    has_any_ = true;
    out_ += '"';
    out_ += member;
    out_ += "\":";
  }
  void text(std::string_view member, std::string_view utf8) {
    name(member);
    json::append_string(utf8, out_);
  }
  /// Any bytes. Remembers whether some had to be replaced.
  void bytes(std::string_view member, std::string_view value) {
    name(member);
    if (json::append_any_string(value, out_) == json::Fidelity::lossy) is_lossy_ = true;
  }
  void number(std::string_view member, std::uint64_t value) {
    name(member);
    out_ += std::to_string(value);
  }
  void truth(std::string_view member, bool value) {
    name(member);
    out_ += value ? "true" : "false";
  }
  void end() { out_ += is_lossy_ ? R"(,"lossy":true})" : "}"; }

 private:
  std::string& out_;
  bool has_any_ = false;
  bool is_lossy_ = false;
};

std::string_view to_string(RunEnd::Status status) {
  switch (status) {
    case RunEnd::Status::completed:
      return "completed";
    case RunEnd::Status::timeout:
      return "timeout";
    case RunEnd::Status::output_limit:
      return "output_limit";
    case RunEnd::Status::cancelled:
      return "cancelled";
  }
  return "completed";
}

std::string_view to_string(ListedEntry::Type type) {
  switch (type) {
    case ListedEntry::Type::file:
      return "file";
    case ListedEntry::Type::folder:
      return "folder";
    case ListedEntry::Type::link:
      return "link";
    case ListedEntry::Type::other:
      return "other";
  }
  return "other";
}

void append_entry(const ListedEntry& entry, std::string& out) {
  Members members{out};
  members.bytes("path", entry.path);
  members.text("type", to_string(entry.type));
  if (entry.type == ListedEntry::Type::file) members.number("size", entry.size);
  members.end();
}

struct AppendStructured {
  std::string& out;

  void operator()(const Refused& refused) const {
    Members members{out};
    members.text("status", "refused");
    members.text("code", to_string(refused.code));
    members.bytes("reason", refused.reason);
    if (!refused.member.empty()) members.bytes("member", refused.member);
    members.end();
  }

  void operator()(const FileText& file) const {
    Members members{out};
    members.text("status", "completed");
    members.bytes("path", file.path);
    members.bytes("text", file.text);
    members.truth("truncated", file.is_truncated);
    members.end();
  }

  void operator()(const Listing& listing) const {
    Members members{out};
    members.text("status", "completed");
    members.bytes("path", listing.path);
    members.name("entries");
    char separator = '[';
    for (const ListedEntry& entry : listing.entries) {
      out += separator;
      append_entry(entry, out);
      separator = ',';
    }
    if (listing.entries.empty()) out += '[';
    out += ']';
    members.truth("truncated", listing.is_truncated);
    members.number("left_out", listing.left_out);
    members.end();
  }

  void operator()(const RunEnd& run) const {
    Members members{out};
    members.text("status", to_string(run.status));
    if (const auto code = code_of(run)) members.text("code", to_string(*code));
    if (run.exit_code) {
      members.name("exit_code");
      out += std::to_string(*run.exit_code);
    }
    if (run.signal) {
      members.name("signal");
      out += std::to_string(*run.signal);
    }
    members.bytes("stdout", run.out);
    members.bytes("stderr", run.err);
    members.number("duration_ms", run.duration_ms);
    members.truth("truncated", run.is_truncated);
    if (run.snapshot_left_out != 0) members.number("snapshot_left_out", run.snapshot_left_out);
    if (run.memory_kills != 0) members.number("memory_kills", run.memory_kills);
    members.end();
  }
};

void append_structured(const BrokerAnswer& answer, std::string& out) {
  std::visit(AppendStructured{out}, answer);
}

void append_block(std::string_view text, std::string& out) {
  out += R"({"type":"text","text":)";
  json::append_any_string(text, out);
  out += '}';
}

/// Indents JSON that has no white space between its tokens.
class Indenter {
 public:
  explicit Indenter(std::string& out) : out_(out) {}

  void put(char byte) {
    if (is_in_string_) {
      put_in_string(byte);
    } else if (byte == '}' || byte == ']') {
      --depth_;
      if (!is_empty_) break_line();
      is_empty_ = false;
      out_ += byte;
    } else {
      put_token(byte);
    }
  }

 private:
  void put_in_string(char byte) {
    out_ += byte;
    if (byte == '"' && !is_escaped_) is_in_string_ = false;
    is_escaped_ = byte == '\\' && !is_escaped_;
  }
  void put_token(char byte) {
    if (is_empty_) break_line();
    is_empty_ = byte == '{' || byte == '[';
    if (is_empty_) ++depth_;
    is_in_string_ = byte == '"';
    out_ += byte;
    if (byte == ':') out_ += ' ';
    if (byte == ',') break_line();
  }
  void break_line() {
    out_ += '\n';
    out_.append(depth_ * 2, ' ');
  }

  std::string& out_;
  std::size_t depth_ = 0;
  bool is_empty_ = false;  // the container just opened holds nothing yet
  bool is_in_string_ = false;
  bool is_escaped_ = false;
};

}  // namespace

bool is_error(const BrokerAnswer& answer) {
  if (const auto* run = std::get_if<RunEnd>(&answer)) {
    return run->status != RunEnd::Status::completed;
  }
  return std::holds_alternative<Refused>(answer);
}

std::string encode_structured(const BrokerAnswer& answer) {
  std::string out;
  append_structured(answer, out);
  return out;
}

std::string encode_readable(const BrokerAnswer& answer) {
  const std::string compact = encode_structured(answer);
  std::string out;
  out.reserve(compact.size() + compact.size() / 4);
  Indenter indenter{out};
  for (const char byte : compact)
    indenter.put(byte);
  return out;
}

std::string encode_tool_response(const Id& id, const BrokerAnswer& answer) {
  const AnswerText text = describe_answer(answer);
  std::string out;
  out.reserve(text.text.size() * 2 + 512);
  out += R"({"jsonrpc":"2.0","id":)";
  out += id.lexeme;
  out += R"(,"result":{"content":[)";
  append_block(text.text, out);
  if (!text.note.empty()) {
    out += ',';
    append_block(text.note, out);
  }
  out += R"(],"structuredContent":)";
  append_structured(answer, out);
  out += is_error(answer) ? R"(,"isError":true)" : R"(,"isError":false)";
  out += R"(,"resultType":"complete"}})";
  out += '\n';
  return out;
}

std::string encode_progress(const Progress& progress) {
  std::string out = R"({"jsonrpc":"2.0","method":"notifications/progress","params":{)";
  out += R"("progressToken":)";
  out += progress.token;
  out += R"(,"progress":)" + std::to_string(progress.done);
  out += R"(,"total":)" + std::to_string(progress.total);
  out += "}}\n";
  return out;
}

}  // namespace aegis::mcp
