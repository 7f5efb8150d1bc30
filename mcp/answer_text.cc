// SPDX-License-Identifier: Apache-2.0 OR MIT
// Models read plain text best: a file is its text, a listing one line an entry, a run what it
// printed. What aegis itself adds to a program's output stands in brackets on lines of its own.
#include "mcp/answer_text.h"

#include <variant>

#include "mcp/json/printable.h"

namespace aegis::mcp {
namespace {

/// Starts a line.
void begin_line(std::string& out) {
  if (!out.empty() && out.back() != '\n') out += '\n';
}

void add_line(std::string_view line, std::string& out) {
  begin_line(out);
  out += line;
}

std::string seconds(std::uint64_t milliseconds) {
  std::string text = std::to_string(milliseconds / 1000);
  text += '.';
  text += static_cast<char>('0' + milliseconds % 1000 / 100);
  return text + " s";
}

void add_entry(const ListedEntry& entry, std::string& out) {
  // A name may hold a newline: it must not look like two entries.
  json::append_printable(entry.path, json::Backslash::twice, out);
  switch (entry.type) {
    case ListedEntry::Type::file:
      out += " (" + std::to_string(entry.size) + (entry.size == 1 ? " byte)\n" : " bytes)\n");
      return;
    case ListedEntry::Type::folder:
      out += "/\n";
      return;
    case ListedEntry::Type::link:
      out += " (symbolic link, not followed)\n";
      return;
    case ListedEntry::Type::other:
      out += " (neither file nor folder)\n";
      return;
  }
}

std::string_view describe_status(RunEnd::Status status) {
  switch (status) {
    case RunEnd::Status::completed:
      return {};
    case RunEnd::Status::timeout:
      return "TIMEOUT_LIMIT_EXCEEDED: it ran out of time and was stopped";
    case RunEnd::Status::output_limit:
      return "OUTPUT_LIMIT_EXCEEDED: it printed more than the policy allows and was stopped; what "
             "it printed up to there is above";
    case RunEnd::Status::cancelled:
      return "cancelled: it was stopped";
  }
  return {};
}

/// How it ended, unless it just succeeded.
std::string describe_end(const RunEnd& run) {
  if (const std::string_view status = describe_status(run.status); !status.empty()) {
    return std::string{status} + " (after " + seconds(run.duration_ms) + ")";
  }
  if (run.signal) return "ended by signal " + std::to_string(*run.signal);
  if (run.exit_code.value_or(0) != 0) return "exit code " + std::to_string(*run.exit_code);
  return {};
}

struct Describe {
  AnswerText operator()(const Refused& refused) const {
    std::string text{to_string(refused.code)};
    text += ": ";
    if (!refused.member.empty()) text += refused.member + ": ";
    return {text + refused.reason};
  }

  AnswerText operator()(const FileText& file) const {
    if (!file.is_truncated) return {file.text};
    const std::string size = std::to_string(file.text.size());
    return {file.text, "[cut: the file goes on behind these " + size + " bytes]"};
  }

  AnswerText operator()(const Listing& listing) const {
    std::string text;
    for (const ListedEntry& entry : listing.entries)
      add_entry(entry, text);
    if (listing.entries.empty()) text = "[no entries]\n";
    if (listing.left_out != 0) {
      text += "[entries that are not shown: " + std::to_string(listing.left_out) + "]\n";
    }
    if (listing.is_truncated) {
      text += "[cut: there are more entries; list one folder of it, or with a smaller max_depth]\n";
    }
    text.pop_back();
    return {text};
  }

  AnswerText operator()(const RunEnd& run) const {
    std::string text = run.out;
    if (!run.err.empty()) {
      add_line("[stderr]\n", text);
      text += run.err;
    }
    const std::string end = describe_end(run);
    if (text.empty() && end.empty()) text = "[no output]";
    if (!end.empty()) add_line("[" + end + "]", text);
    if (run.memory_kills != 0) {
      add_line("[the system ended a process of it: it wanted more memory than the policy allows]",
               text);
    }
    if (run.is_truncated) add_line("[the output is cut]", text);
    if (run.snapshot_left_out != 0) {
      add_line("[files of the workspace that were not there, over the bounds of its copy: " +
                   std::to_string(run.snapshot_left_out) + "]",
               text);
    }
    return {text};
  }
};

struct CodeOf {
  std::optional<BrokerCode> operator()(const Refused& refused) const { return refused.code; }
  std::optional<BrokerCode> operator()(const FileText&) const { return std::nullopt; }
  std::optional<BrokerCode> operator()(const Listing&) const { return std::nullopt; }
  std::optional<BrokerCode> operator()(const RunEnd& run) const {
    switch (run.status) {
      case RunEnd::Status::timeout:
        return BrokerCode::timeout_limit_exceeded;
      case RunEnd::Status::output_limit:
        return BrokerCode::output_limit_exceeded;
      case RunEnd::Status::completed:
      case RunEnd::Status::cancelled:
        break;
    }
    return std::nullopt;
  }
};

}  // namespace

AnswerText describe_answer(const BrokerAnswer& answer) {
  return std::visit(Describe{}, answer);
}

std::optional<BrokerCode> code_of(const BrokerAnswer& answer) {
  return std::visit(CodeOf{}, answer);
}

}  // namespace aegis::mcp
