// SPDX-License-Identifier: Apache-2.0 OR MIT
// The tree itself; policy/document_builder.cc makes it.
#include "policy/document.h"

#include "policy/text.h"

namespace aegis::policy {

Document::Node Document::root() const {
  return {*this, 0};
}

std::string_view Document::Node::text() const {
  return std::string_view(document_->texts_).substr(record().text_at, record().text_size);
}

std::vector<Document::Node> Document::Node::items() const {
  std::vector<Node> found;
  for (std::uint32_t child = index_ + 1; child < record().end;
       child = document_->records_[child].end) {
    found.push_back(Node(*document_, child));
  }
  return found;
}

std::vector<Document::Member> Document::Node::members() const {
  std::vector<Member> found;
  for (std::uint32_t name = index_ + 1; name < record().end;) {
    const std::uint32_t value = document_->records_[name].end;
    found.push_back({Node(*document_, name), Node(*document_, value)});
    name = document_->records_[value].end;
  }
  return found;
}

std::string Document::path_to(Node node) const {
  const std::uint32_t wanted = node.index_;
  std::string path;
  std::uint32_t level = 0;
  while (level != wanted) {
    std::uint32_t child = level + 1;
    std::size_t position = 0;
    std::uint32_t name = child;  // of a map: the member's name that came last
    while (wanted >= records_[child].end) {
      name = child;
      child = records_[child].end;
      ++position;
    }
    if (records_[level].kind == Kind::list) {
      path += '[' + std::to_string(position) + ']';
    } else {
      if (position % 2 == 0) name = child;
      if (!path.empty()) path += '.';
      const std::string shown = quoted(Node(*this, name).text());
      path.append(shown, 1, shown.size() - 2);
    }
    level = child;
  }
  return path;
}

}  // namespace aegis::policy
