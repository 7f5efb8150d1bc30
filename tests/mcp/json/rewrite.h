// SPDX-License-Identifier: Apache-2.0 OR MIT
// Writes again what the canonical reader has read.
#pragma once

#include <string>
#include <vector>

#include "mcp/json/canonical.h"

namespace aegis::mcp::json {

inline void close(const CanonicalNode& node, CanonicalWriter& writer) {
  node.is(CanonicalNode::Type::object) ? writer.end_object() : writer.end_array();
}

/// False for one whose children come next.
inline bool write_leaf(const CanonicalNode& node, CanonicalWriter& writer) {
  switch (node.type) {
    case CanonicalNode::Type::string:
      writer.string(node.string);
      return true;
    case CanonicalNode::Type::integer:
      writer.integer(node.integer);
      return true;
    case CanonicalNode::Type::object:
      writer.begin_object();
      return false;
    case CanonicalNode::Type::array:
      writer.begin_array();
      return false;
    case CanonicalNode::Type::boolean:
      break;
  }
  return true;
}

/// Of a text without booleans, which the writer has not.
inline std::string rewritten(const CanonicalNode& root) {
  std::string out;
  CanonicalWriter writer{out};
  std::vector<const CanonicalNode*> open;
  for (const CanonicalNode* node = &root; node != root.end(); ++node) {
    for (; !open.empty() && open.back()->end() == node; open.pop_back())
      close(*open.back(), writer);
    if (!open.empty() && open.back()->is(CanonicalNode::Type::object)) writer.name(node->name);
    if (!write_leaf(*node, writer)) open.push_back(node);
  }
  for (; !open.empty(); open.pop_back())
    close(*open.back(), writer);
  return out;
}

}  // namespace aegis::mcp::json
