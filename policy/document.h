// SPDX-License-Identifier: Apache-2.0 OR MIT
// A YAML text as a small immutable tree, each node with the place where it begins. Only what every
// YAML reader takes the same way gets through: no anchor, alias, tag, directive or second document.
// It knows no policy word; scalars stay text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/diagnostic.h"

namespace aegis::policy {

/// Levels of lists and maps that a text may nest.
inline constexpr std::size_t kMaxPolicyDepth = 64;

struct Position {
  std::size_t line;    // from 1
  std::size_t column;  // from 1, in code points
};

class Document {
 public:
  enum class Kind : std::uint8_t { scalar, list, map };
  class Node;
  struct Member;

  [[nodiscard]] Node root() const;
  /// "rules[2].rate.max": the members and items that lead to `node`, a member's name being told as
  /// its value is. Empty for the root.
  [[nodiscard]] std::string path_to(Node node) const;

 private:
  friend class DocumentBuilder;
  struct Record {  // in the order of the text: a collection, then all that it holds
    Kind kind;
    bool is_plain;
    std::uint32_t end;  // index after the last record that this one holds
    std::uint32_t line;
    std::uint32_t column;
    std::uint32_t text_at;
    std::uint32_t text_size;
  };
  std::vector<Record> records_;
  std::string texts_;  // of all scalars
};

/// A place in a document, which it must not outlive (nor a move of it).
class Document::Node {
 public:
  [[nodiscard]] Kind kind() const { return record().kind; }
  [[nodiscard]] Position at() const { return {record().line, record().column}; }
  /// Of a scalar: its characters, escapes and folded lines resolved.
  [[nodiscard]] std::string_view text() const;
  /// Of a scalar: it stands there without quotes and is no block ("|", ">").
  [[nodiscard]] bool is_plain() const { return record().is_plain; }
  /// Of a list.
  [[nodiscard]] std::vector<Node> items() const;
  /// Of a map, in the order of the text. A name may come twice and need not be a scalar.
  [[nodiscard]] std::vector<Member> members() const;

 private:
  friend class Document;
  friend class DocumentBuilder;
  Node(const Document& document, std::uint32_t index) : document_(&document), index_(index) {}
  [[nodiscard]] const Record& record() const { return document_->records_[index_]; }

  const Document* document_;
  std::uint32_t index_;
};

struct Document::Member {
  Node name;
  Node value;
};

/// Either a document or at least one error.
struct ParsedDocument {
  std::optional<Document> document;
  std::vector<Diagnostic> errors;
};

/// `text` is a whole file, of any bytes. Never throws on input, uses no recursion.
ParsedDocument parse_document(std::string_view text);

}  // namespace aegis::policy
