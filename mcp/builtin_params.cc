// SPDX-License-Identifier: Apache-2.0 OR MIT
// One walk over the message; of _meta a second one.
#include "mcp/builtin_params.h"

namespace aegis::mcp {
namespace {

using json::Rules;
using json::Scanner;
using json::Type;
using json::Value;

void read_meta(Params& params) {
  Scanner scanner;
  scanner.start(params.meta->lexeme, Rules::strict);
  if (scanner.peek() != Type::object || !scanner.enter_object()) return;
  while (scanner.next_member()) {
    const std::string name = decode(scanner.name());
    Value value;
    scanner.take(value);
    if (name == kVersionKey) params.version = value;
    if (name == kCapabilitiesKey) params.capabilities = value;
  }
}

void take_param(Scanner& scanner, Params& params) {
  const std::string name = decode(scanner.name());
  Value value;
  scanner.take(value);
  if (name == "protocolVersion") params.asked_version = value;
  if (name == "cursor") params.cursor = value;
  if (name == "arguments") params.arguments = value;
  if (name == "_meta") params.meta = value;
}

}  // namespace

std::string decode(const json::Text& text) {
  std::string decoded;
  json::append_decoded(text.raw, decoded);
  return decoded;
}

Params read_params(std::string_view message) {
  Params params;
  Scanner scanner;
  scanner.start(message, Rules::strict);
  if (scanner.peek() != Type::object || !scanner.enter_object()) return params;
  Value ignored;
  while (scanner.next_member()) {
    if (decode(scanner.name()) != "params") {
      scanner.take(ignored);
      continue;
    }
    params.type = scanner.peek();
    if (params.type != Type::object) {
      scanner.take(ignored);
      continue;
    }
    scanner.enter_object();
    while (scanner.next_member())
      take_param(scanner, params);
  }
  if (params.meta) read_meta(params);
  return params;
}

}  // namespace aegis::mcp
