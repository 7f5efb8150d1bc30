// SPDX-License-Identifier: Apache-2.0 OR MIT
// See one_shot.h.
#include "wrap/one_shot.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <variant>

#include "mcp/json/canonical.h"
#include "wrap/log.h"
#include "wrap/read_file.h"

namespace aegis::wrap {
namespace {

using confine::Result;

constexpr std::string_view kReading = "read the request";
constexpr const char* kOwnPolicy = "broker-policy.yaml";
constexpr std::size_t kMaxRead = mcp::kMaxRequest + 1;

/// Until the end or `kMaxRead` bytes; a terminal or a pipe is waited for.
Result<std::string> read_stdin() {
  constexpr std::size_t kPiece = std::size_t{64} << 10;
  std::string text;
  while (text.size() < kMaxRead) {
    const std::size_t have = text.size();
    text.resize(std::min(have + kPiece, kMaxRead));
    const ssize_t count = ::read(STDIN_FILENO, text.data() + have, text.size() - have);
    const int code = errno;
    text.resize(have + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) break;
    if (count > 0 || code == EINTR) continue;
    if (code != EAGAIN) return confine::code_error(kReading, "stdin", code);
    pollfd ready{STDIN_FILENO, POLLIN, 0};  // somebody who shares it made it non-blocking
    ::poll(&ready, 1, -1);
  }
  return text;
}

/// The head's members, each with what parts it from the next.
std::string encode_head(const OneShot::Head& head, std::string_view gap, std::string_view colon) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    text.append("\"").append(name).append("\"").append(colon);
    mcp::json::append_string(value, text);
    text.append(",").append(gap);
  };
  add("request_id", head.request_id);
  add("operation", head.operation);
  return text;
}

/// `object` is not empty, and as mcp/broker_answer.h writes it.
std::string put_in_front(const OneShot::Head& head, bool is_json, std::string object) {
  constexpr std::string_view kGap = "\n  ";
  const std::string_view gap = is_json ? std::string_view() : kGap;
  object.insert(1 + gap.size(), encode_head(head, gap, is_json ? ":" : ": "));
  return object += '\n';
}

}  // namespace

void OneShot::add_flags(Flags& flags) {
  flags.add_text({"--policy",
                  "FILE",
                  "the broker's policy (default: broker-policy.yaml in the working directory)"},
                 policy);
  flags.add_texts({"--reveal",
                   "NAME",
                   "take this name off the list of sensitive ones; may be given several times"},
                  revealed);
  flags.add_switch({"--json", nullptr, "the answer on one line"}, is_json);
}

std::optional<int> OneShot::settle(const Flags& flags) {
  if (flags.operands().empty())
    return flags.usage_error("no request is named; expected REQUEST.json, or - for stdin");
  if (flags.operands().size() > 1)
    return flags.usage_error(flags.operands()[1] + ": one request at a time");
  if (policy) return std::nullopt;
  if (::access(kOwnPolicy, F_OK) != 0) {
    return flags.usage_error(
        "--policy: it is missing, and there is no broker-policy.yaml in the working directory "
        "(`aegis init` makes one)");
  }
  policy = kOwnPolicy;
  return std::nullopt;
}

Result<std::string> OneShot::read_request(const std::string& path) {
  if (path == "-") return read_stdin();
  const confine::Fd file = AEGIS_TRY(open_regular(kReading, path));
  return read_up_to(file, {kReading, path, kMaxRead});
}

mcp::Refused OneShot::refuse_unread(const mcp::RequestFault& fault,
                                    const std::string& path,
                                    std::string_view doing) {
  const std::string where = fault.member.empty() ? std::string() : fault.member + ": ";
  log(std::string(doing) + ": " + std::string(kReading) + ": " + path + ": " + where +
      fault.message);
  return {mcp::BrokerCode::schema_validation_failure, fault.message, fault.member};
}

OneShot::Head OneShot::head_of(const mcp::ParsedRequest& parsed) {
  const auto* request = std::get_if<mcp::BrokerRequest>(&parsed);
  if (request == nullptr) return {};
  return {request->request_id, mcp::to_string(request->operation)};
}

std::string OneShot::encode(const Head& head, const mcp::BrokerAnswer& answer) const {
  return put_in_front(
      head, is_json, is_json ? mcp::encode_structured(answer) : mcp::encode_readable(answer));
}

std::string OneShot::encode_allowed(const Head& head) const {
  return put_in_front(
      head, is_json, is_json ? R"({"status":"allowed"})" : "{\n  \"status\": \"allowed\"\n}");
}

}  // namespace aegis::wrap
