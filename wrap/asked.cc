// SPDX-License-Identifier: Apache-2.0 OR MIT
// See asked.h.
#include "wrap/asked.h"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <utility>

#include "wrap/limits.h"

namespace aegis::wrap {

std::string loose_id_key(const mcp::Id& id) {
  std::string key;
  if (id.type == mcp::Id::Type::string) {
    const std::string_view text = id.lexeme.substr(1, id.lexeme.size() - 2);
    const bool is_number =
        !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    if (is_number) {
      mcp::append_id_key({mcp::Id::Type::number, text}, key);
      return key;
    }
  }
  mcp::append_id_key(id, key);
  return key;
}

void AskedTable::Load::add(const mcp::Id& id) {
  ++count;
  bytes += loose_id_key(id).size();
}

bool AskedTable::make_room(const Load& load) {
  if (load.count > kMaxAsked || load.bytes > kMaxAskedBytes) return false;
  const auto fits = [&] {
    return asked_.size() <= kMaxAsked - load.count && key_bytes_ <= kMaxAskedBytes - load.bytes;
  };
  while (!fits() && !cancelled_.empty())
    erase(cancelled_.begin()->second);
  return fits();
}

void AskedTable::add(const mcp::Id& id, Wanted wanted) {
  std::string key = loose_id_key(id);
  assert(asked_.size() < kMaxAsked && key.size() <= kMaxAskedBytes - key_bytes_);
  key_bytes_ += key.size();
  if (wanted == Wanted::tools) ++tools_awaited_;
  asked_.emplace(std::move(key), Asked{wanted, id.type});
}

void AskedTable::erase(Table::iterator entry) {
  key_bytes_ -= entry->first.size();
  if (entry->second.wanted == Wanted::tools) --tools_awaited_;
  if (entry->second.cancelled_as != 0) cancelled_.erase(entry->second.cancelled_as);
  asked_.erase(entry);
}

std::optional<AskedTable::Wanted> AskedTable::take(const mcp::Id& id) {
  const auto [first, last] = asked_.equal_range(loose_id_key(id));
  if (first == last) return std::nullopt;
  const auto same =
      std::find_if(first, last, [&](const auto& entry) { return entry.second.type == id.type; });
  const auto found = same == last ? first : same;
  const Wanted wanted = found->second.wanted;
  erase(found);
  return wanted;
}

void AskedTable::cancel(const mcp::Id& id) {
  const auto [first, last] = asked_.equal_range(loose_id_key(id));
  const auto found =
      std::find_if(first, last, [](const auto& entry) { return entry.second.cancelled_as == 0; });
  if (found == last) return;
  found->second.cancelled_as = ++cancellations_;
  cancelled_.emplace(cancellations_, found);
}

void AskedTable::forget_cancelled(const mcp::Id& id) {
  auto [entry, last] = asked_.equal_range(loose_id_key(id));
  while (entry != last) {
    const auto next = std::next(entry);
    if (entry->second.cancelled_as != 0) erase(entry);
    entry = next;
  }
}

bool AskedTable::awaits(const mcp::Id& id) const {
  const auto [first, last] = asked_.equal_range(loose_id_key(id));
  return std::any_of(first, last, [](const auto& entry) { return entry.second.cancelled_as == 0; });
}

}  // namespace aegis::wrap
