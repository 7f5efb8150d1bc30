// SPDX-License-Identifier: Apache-2.0 OR MIT
// aegis check: judges a broker request, or a shell string, by its words. Runs nothing, opens no
// file that the request names, records nothing.
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "wrap/broker.h"
#include "wrap/log.h"
#include "wrap/one_shot.h"
#include "wrap/out.h"
#include "wrap/verbs.h"

namespace aegis::wrap {
namespace {

using confine::Result;

constexpr std::string_view kDoing = "check";
constexpr VerbText kText = {
    "check",
    "REQUEST.json|- [--policy FILE] [--reveal NAME]... [--json]",
    "Judges a request by the broker's policy and runs nothing. Also judges a shell string\n"
    "(run_command with the parameter `command`), word by word.\n"
    "What really lies under a path is not looked at: only `aegis run` can tell.\n"
    "Exit: 0 allowed, 2 denied, 1 a usage error, or a request or policy that cannot be used.",
    "  aegis check requests/attack_traversal.json --policy broker-policy.yaml"};

int fail(const confine::Error& error) {
  log(std::string(kDoing) + ": " + confine::describe(error));
  return OneShot::kUsage;
}

int check(const OneShot& one_shot, const std::string& path) {
  const Result<std::string> text = OneShot::read_request(path);
  if (!text) return fail(text.error());
  const Result<Broker> broker = Broker::make({*one_shot.policy, one_shot.revealed}, kDoing);
  if (!broker) return fail(broker.error());

  const mcp::ParsedRequest parsed = mcp::parse_broker_request(*text);
  const OneShot::Head head = OneShot::head_of(parsed);
  if (const auto* fault = std::get_if<mcp::RequestFault>(&parsed)) {
    const mcp::Refused refused = OneShot::refuse_unread(*fault, path, kDoing);
    static_cast<void>(write_out(one_shot.encode(head, refused)));
    return OneShot::kUsage;
  }
  auto refused = broker->judge(std::get<mcp::BrokerRequest>(parsed));
  const bool is_said =
      write_out(refused ? one_shot.encode(head, *refused) : one_shot.encode_allowed(head));
  if (!is_said) return OneShot::kUsage;
  return refused ? OneShot::kDenied : OneShot::kDone;
}

}  // namespace

int verb_check(const Arguments& arguments) {
  OneShot one_shot;
  Flags flags(kText, {Operands::words, OneShot::kUsage});
  one_shot.add_flags(flags);
  if (const auto exit_code = flags.parse(arguments)) return *exit_code;
  if (const auto exit_code = one_shot.settle(flags)) return *exit_code;
  return check(one_shot, flags.operands().front());
}

}  // namespace aegis::wrap
