// SPDX-License-Identifier: Apache-2.0 OR MIT
// See path.h.
#include "policy/path.h"

#include <algorithm>
#include <cstddef>

#include "mcp/broker_request.h"
#include "policy/text.h"

namespace aegis::policy {
namespace {

constexpr std::size_t kMostListed = 12;

bool is_control(char byte) {
  return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F;
}

}  // namespace

std::string_view describe(PathFlaw flaw) {
  switch (flaw) {
    case PathFlaw::empty:
      return "it is empty; \".\" is the workspace itself";
    case PathFlaw::too_long:
      return "it is longer than 4096 bytes";
    case PathFlaw::control:
      return "it has a control character in it";
    case PathFlaw::absolute:
      return "it is absolute; write it relative to the workspace, which \".\" names";
    case PathFlaw::parent:
      return "\"..\" is never followed; write the path from the workspace on";
  }
  return "";
}

std::variant<std::string, PathFlaw> normalise(std::string_view written) {
  if (written.empty()) return PathFlaw::empty;
  if (written.size() > mcp::kMaxPath) return PathFlaw::too_long;
  if (std::any_of(written.begin(), written.end(), is_control)) return PathFlaw::control;
  if (written.front() == '/') return PathFlaw::absolute;
  auto path = join_components(written);
  if (!path) return PathFlaw::parent;
  return *std::move(path);
}

std::optional<std::string> join_components(std::string_view text) {
  std::string path;
  path.reserve(text.size());
  while (!text.empty()) {
    const std::string_view component = take_component(text);
    if (component == "..") return std::nullopt;
    if (component.empty() || component == ".") continue;
    if (!path.empty()) path += '/';
    path += component;
  }
  return path;
}

std::string_view take_component(std::string_view& path) {
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view component = path.substr(0, end);
  path.remove_prefix(std::min(end + 1, path.size()));
  return component;
}

std::string list_quoted(std::span<const std::string> texts) {
  std::string out;
  const std::size_t shown = std::min(texts.size(), kMostListed);
  for (std::size_t at = 0; at < shown; ++at) {
    if (at != 0) out += at + 1 == texts.size() ? " and " : ", ";
    out += quoted(texts[at].empty() ? "." : std::string_view(texts[at]));
  }
  if (texts.size() > shown)
    out.append(" and ").append(std::to_string(texts.size() - shown)).append(" more");
  return out;
}

}  // namespace aegis::policy
