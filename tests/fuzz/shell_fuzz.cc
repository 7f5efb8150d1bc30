// SPDX-License-Identifier: Apache-2.0 OR MIT
// Any bytes as a shell string. What is refused is refused for a place and the word that stands
// there; what is read, written out again with everything quoted, is read the same, and holds
// nothing that a shell would expand.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/shell.h"
#include "tests/fuzz/require.h"

namespace {

using aegis::fuzz::require;
using aegis::policy::ShellFault;
using aegis::policy::ShellReading;
using aegis::policy::SimpleCommand;
using Commands = std::vector<SimpleCommand>;

std::string quoted(std::string_view word) {
  std::string out = " '";
  for (const char byte : word) {
    if (byte == '\'') {
      out += "'\\''";
    } else {
      out += byte;
    }
  }
  return out + "'";
}

std::string written(const Commands& commands) {
  std::string out;
  for (const SimpleCommand& command : commands) {
    for (const auto& each : command.redirections)
      out.append(each.is_written ? " >" : " <").append(quoted(each.target));
    for (const std::string& word : command.words)
      out += quoted(word);
    out += '\n';
  }
  return out;
}

bool is_same(const SimpleCommand& left, const SimpleCommand& right) {
  return left.words == right.words && std::equal(left.redirections.begin(),
                                                 left.redirections.end(),
                                                 right.redirections.begin(),
                                                 right.redirections.end(),
                                                 [](const auto& one, const auto& other) {
                                                   return one.target == other.target &&
                                                          one.is_written == other.is_written;
                                                 });
}

void require_same(const Commands& commands, std::string_view text) {
  const ShellReading reading = aegis::policy::read_shell(text);
  const auto* again = std::get_if<Commands>(&reading);
  require(again != nullptr);
  require(std::equal(commands.begin(), commands.end(), again->begin(), again->end(), is_same));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ShellReading reading = aegis::policy::read_shell(text);
  if (const auto* fault = std::get_if<ShellFault>(&reading)) {
    require(fault->offset <= size && !fault->why.empty());
    require(text.substr(fault->offset).starts_with(fault->word));
    return 0;
  }
  const auto& commands = std::get<Commands>(reading);
  require(!commands.empty());
  for (const SimpleCommand& command : commands) {
    require(!command.words.empty());
    for (const auto& each : command.redirections)
      require(!each.target.empty());
  }
  require_same(commands, written(commands));
  require_same(commands, "\n" + std::string(text) + "\n");
  // What shells expand is read only where something quotes it, or in a comment.
  const bool has_quotes = text.find_first_of("'\\#") != std::string_view::npos;
  const bool is_expanded = text.find_first_of("$`") != std::string_view::npos;
  require(has_quotes || !is_expanded);
  require(has_quotes || text.find('"') != std::string_view::npos ||
          (text.find_first_of("*?()") == std::string_view::npos));
  return 0;
}
