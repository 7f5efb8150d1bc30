// SPDX-License-Identifier: Apache-2.0 OR MIT
// See sandbox_answer.h.
#include "confine/sandbox_answer.h"

#include <algorithm>
#include <cstring>

namespace aegis::confine {
namespace {

constexpr std::int32_t kNone =
    -1;  // of what is optional; wait statuses and faults are not negative

/// What has a size of its own; then `out`, `err`, `why` and the notes follow.
struct Head {
  std::uint64_t out = 0;
  std::uint64_t err = 0;
  std::uint64_t why = 0;
  std::uint64_t notes = 0;  // each with a '\n' behind it
  std::uint64_t left_out = 0;
  std::uint64_t memory_kills = 0;
  std::int64_t duration = 0;  // milliseconds
  std::int32_t wait_status = kNone;
  std::int32_t writable_fault = kNone;
  std::int32_t how = 0;
  std::int32_t is_truncated = 0;
};

}  // namespace

std::string encode_end(const SandboxEnd& end) {
  Head head;
  head.out = end.out.size();
  head.err = end.err.size();
  head.why = end.why.size();
  std::string notes;
  for (const std::string& each : end.notes)
    notes.append(each).push_back('\n');
  head.notes = notes.size();
  head.left_out = end.snapshot_left_out;
  head.memory_kills = end.memory_kills;
  head.duration = end.duration.count();
  head.wait_status = end.wait_status.value_or(kNone);
  if (end.writable_fault) head.writable_fault = static_cast<std::int32_t>(*end.writable_fault);
  head.how = static_cast<std::int32_t>(end.how);
  head.is_truncated = end.is_truncated ? 1 : 0;
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes.append(end.out).append(end.err).append(end.why).append(notes);
}

std::optional<SandboxEnd> decode_end(std::string_view bytes) {
  Head head;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  bytes.remove_prefix(sizeof head);
  if (bytes.size() != head.out + head.err + head.why + head.notes) return std::nullopt;
  const auto take = [&bytes](std::uint64_t size) {
    const std::string_view taken = bytes.substr(0, size);
    bytes.remove_prefix(taken.size());
    return std::string(taken);
  };
  SandboxEnd end;
  end.out = take(head.out);
  end.err = take(head.err);
  end.why = take(head.why);
  for (std::string_view notes = bytes; !notes.empty();) {
    const std::size_t length = std::min(notes.find('\n'), notes.size());
    end.notes.emplace_back(notes.substr(0, length));
    notes.remove_prefix(std::min(length + 1, notes.size()));
  }
  end.snapshot_left_out = head.left_out;
  end.memory_kills = head.memory_kills;
  end.duration = std::chrono::milliseconds(head.duration);
  if (head.wait_status != kNone) end.wait_status = head.wait_status;
  if (head.writable_fault != kNone)
    end.writable_fault = static_cast<PathFault>(head.writable_fault);
  end.how = static_cast<SandboxEnd::How>(head.how);
  end.is_truncated = head.is_truncated != 0;
  return end;
}

}  // namespace aegis::confine
