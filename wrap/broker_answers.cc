// SPDX-License-Identifier: Apache-2.0 OR MIT
// See broker_answers.h.
#include "wrap/broker_answers.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "mcp/json/canonical.h"

namespace aegis::wrap {
namespace {

using confine::PathFault;
using confine::SandboxEnd;
using confine::WorkspaceEntry;
using mcp::BrokerCode;
using mcp::Refused;

struct WantedWords {
  Wanted wanted;
  std::string_view subject;  // "the path", at the head of a sentence
  std::string_view kind;     // what it should have been
};
constexpr WantedWords kWanted[] = {
    {Wanted::text, "the path", "a regular file"},
    {Wanted::folder, "the path", "a folder"},
    {Wanted::script, "script_path", "a regular file"},
    {Wanted::writable, "one of the writable paths", "a regular file or a folder"},
};

struct FaultWords {
  PathFault fault;
  BrokerCode code;
  std::string_view why;  // behind the subject; "%" is the kind
};
constexpr FaultWords kFaults[] = {
    {PathFault::not_found,
     BrokerCode::operation_not_permitted,
     "does not lead to anything in the workspace; list_dir tells what is there"},
    {PathFault::linked,
     BrokerCode::path_boundary_violation,
     "has a symbolic link on it, or leads out of the workspace; links are not followed, so name "
     "the place itself"},
    {PathFault::not_regular,
     BrokerCode::path_boundary_violation,
     "leads to a device, a FIFO or a socket; % is expected"},
    {PathFault::not_a_folder,
     BrokerCode::operation_not_permitted,
     "leads to, or through, something that is no folder; % is expected, and read_text reads files"},
    {PathFault::many_links,
     BrokerCode::path_boundary_violation,
     "leads to a file that has a second name (a hard link), which may lie outside of the "
     "workspace; "
     "a copy of it can be used"},
    {PathFault::not_readable,
     BrokerCode::operation_not_permitted,
     "leads to what the system does not let aegis open"},
};

std::string fill(std::string_view text, std::string_view kind) {
  const std::size_t at = text.find('%');
  if (at == std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, at)).append(kind).append(text.substr(at + 1));
}

/// Bytes of the character that `lead` begins, by RFC 3629; 1 for what begins none.
std::size_t length_of(unsigned char lead) {
  if (lead >= 0xF0U) return 4;
  if (lead >= 0xE0U) return 3;
  return lead >= 0xC0U ? 2 : 1;
}

/// Takes off the first bytes of a character whose others were cut off.
void trim_cut(std::string& text) {
  constexpr std::size_t kLongest = 4;
  for (std::size_t back = 1; back < kLongest && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80U) continue;
    if (length_of(byte) > back) text.resize(text.size() - back);
    return;
  }
}

mcp::ListedEntry::Type type_of(WorkspaceEntry::Type type) {
  switch (type) {
    case WorkspaceEntry::Type::file:
      return mcp::ListedEntry::Type::file;
    case WorkspaceEntry::Type::folder:
      return mcp::ListedEntry::Type::folder;
    case WorkspaceEntry::Type::link:
      return mcp::ListedEntry::Type::link;
    case WorkspaceEntry::Type::other:
      return mcp::ListedEntry::Type::other;
  }
  return mcp::ListedEntry::Type::other;
}

mcp::RunEnd::Status status_of(SandboxEnd::How how) {
  switch (how) {
    case SandboxEnd::How::timeout:
      return mcp::RunEnd::Status::timeout;
    case SandboxEnd::How::output:
      return mcp::RunEnd::Status::output_limit;
    case SandboxEnd::How::cancelled:
      return mcp::RunEnd::Status::cancelled;
    case SandboxEnd::How::ended:
    case SandboxEnd::How::unbuilt:  // told as a refusal
      break;
  }
  return mcp::RunEnd::Status::completed;
}

}  // namespace

Refused refuse_path(PathFault fault, Wanted wanted) {
  const auto* words = std::find_if(std::begin(kWanted),
                                   std::end(kWanted),
                                   [wanted](const auto& row) { return row.wanted == wanted; });
  const auto* row = std::find_if(std::begin(kFaults), std::end(kFaults), [fault](const auto& each) {
    return each.fault == fault;
  });
  std::string reason(words->subject);
  return {row->code, reason.append(" ").append(fill(row->why, words->kind))};
}

Refused refuse_folder() {
  return {BrokerCode::operation_not_permitted, "the path leads to a folder; list_dir lists it"};
}

mcp::BrokerAnswer answer_text(std::string path, confine::ReadFile file) {
  if (file.is_cut) trim_cut(file.bytes);
  if (!mcp::json::is_encodable(file.bytes)) {
    return Refused{BrokerCode::operation_not_permitted,
                   "the file is not UTF-8 text, and only text is read; run_python, where it is "
                   "allowed, can look at other files"};
  }
  return mcp::FileText{std::move(path), std::move(file.bytes), file.is_cut};
}

mcp::BrokerAnswer answer_list(std::string path, confine::FolderList list) {
  mcp::Listing listing{
      .path = std::move(path), .entries = {}, .is_truncated = list.is_cut, .left_out = list.hidden};
  listing.entries.reserve(list.entries.size());
  for (WorkspaceEntry& entry : list.entries)
    listing.entries.push_back({std::move(entry.path), type_of(entry.type), entry.size});
  return listing;
}

mcp::BrokerAnswer answer_end(SandboxEnd end) {
  if (end.writable_fault) return refuse_path(*end.writable_fault, Wanted::writable);
  if (end.how == SandboxEnd::How::unbuilt) return refuse_unbuilt(std::move(end.why));
  mcp::RunEnd told;
  told.status = status_of(end.how);
  if (end.wait_status && WIFEXITED(*end.wait_status))
    told.exit_code = WEXITSTATUS(*end.wait_status);
  if (end.wait_status && WIFSIGNALED(*end.wait_status)) told.signal = WTERMSIG(*end.wait_status);
  told.out = std::move(end.out);
  told.err = std::move(end.err);
  told.duration_ms = static_cast<std::uint64_t>(end.duration.count());
  told.is_truncated = end.is_truncated;
  told.snapshot_left_out = end.snapshot_left_out;
  told.memory_kills = end.memory_kills;
  if (end.how == SandboxEnd::How::cancelled && !end.why.empty()) {
    if (!told.err.empty() && told.err.back() != '\n') told.err += '\n';
    told.err += "aegis ended it: " + end.why + "\n";
  }
  return told;
}

Refused refuse_unbuilt(std::string why) {
  return {BrokerCode::sandbox_unavailable,
          "the sandbox cannot be had here, so nothing was run: " + std::move(why)};
}

}  // namespace aegis::wrap
