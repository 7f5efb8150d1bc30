// SPDX-License-Identifier: Apache-2.0 OR MIT
// The strict scanner says where things stand; what is kept is copied as it stands. What a reader
// that folds case, or takes the first of two members, would read differently is not amended at all.
#include "mcp/amend.h"

#include <algorithm>
#include <array>
#include <string>

#include "mcp/json/case_fold.h"
#include "mcp/json/scan.h"

namespace aegis::mcp {
namespace {

using json::DecidingNames;
using json::Rules;
using json::Scanner;
using json::Type;
using json::Value;

constexpr std::array<std::string_view, 5> kMessageNames{
    "jsonrpc", "id", "method", "result", "error"};
constexpr std::array<std::string_view, 1> kListNames{"tools"};
constexpr std::array<std::string_view, 1> kToolNames{"name"};
constexpr std::array<std::string_view, 1> kResultNames{"capabilities"};
constexpr std::array<std::string_view, 1> kCapabilityNames{"tools"};
constexpr std::string_view kNextCursor = "nextCursor";
constexpr std::string_view kNextCursorFolded = "nextcursor";

/// The '\n' that ends a frame and one '\r' before it are framing.
std::string_view strip_line_end(std::string_view frame) {
  if (frame.ends_with('\n')) frame.remove_suffix(1);
  if (frame.ends_with('\r')) frame.remove_suffix(1);
  return frame;
}

void decode(const json::Text& text, std::string& out) {
  out.clear();
  json::append_decoded(text.raw, out);
}

/// Bytes of the frame.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};
struct ListedTool {
  Span span;
  std::string name = {};  // decoded; empty when it has none
};

/// Walks a response down to the object `result`.
class ResultWalk {
 public:
  explicit ResultWalk(std::string_view frame) {
    scanner_.start(strip_line_end(frame), Rules::strict);
  }

  /// Calls `read_result` with the scanner before the result's object. False unless the frame is one
  /// response with such a result, whatever reader looks at it.
  template <typename ReadResult>
  bool read(ReadResult read_result) {
    if (!enter(kMessageNames)) return false;
    bool has_result = false;
    bool has_other = false;
    while (next()) {
      has_other = has_other || name_ == "error" || name_ == "method";
      if (name_ == "result" && scanner_.peek() == Type::object) {
        has_result = true;
        read_result();
      } else {
        skip();
      }
    }
    return scanner_.finish() && has_result && !has_other;
  }

  bool enter(DecidingNames deciding) {
    return scanner_.peek() == Type::object && scanner_.enter_object(deciding);
  }
  bool next() {
    if (!scanner_.next_member()) return false;
    decode(scanner_.name(), name_);
    return true;
  }
  void skip() {
    Value ignored;
    scanner_.take(ignored);
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  Scanner& scanner() { return scanner_; }

 private:
  Scanner scanner_;
  std::string name_;
};

/// Where a page of tools has what.
class ToolsPage {
 public:
  bool read(std::string_view frame) {
    ResultWalk walk{frame};
    const bool is_response = walk.read([this, &walk] { read_result(walk); });
    return is_response && has_tools_ && !is_ambiguous_;
  }

  [[nodiscard]] std::size_t begin() const { return begin_; }
  [[nodiscard]] const std::vector<ListedTool>& tools() const { return tools_; }
  [[nodiscard]] bool is_last() const { return is_last_; }

 private:
  void read_result(ResultWalk& walk) {
    walk.enter(kListNames);
    while (walk.next()) {
      if (walk.name() == "tools" && walk.scanner().peek() == Type::array) {
        read_tools(walk);
      } else if (walk.name() == kNextCursor) {
        Value cursor;
        walk.scanner().take(cursor);
        is_last_ = cursor.type != Type::string || cursor.lexeme.size() == 2;
      } else {
        is_ambiguous_ = is_ambiguous_ || folds_to_cursor(walk.name());
        walk.skip();
      }
    }
  }

  /// To a reader that folds case this page would not be the last.
  static bool folds_to_cursor(const std::string& name) {
    std::string folded;
    json::append_folded(name, folded);
    return folded == kNextCursorFolded;
  }

  void read_tools(ResultWalk& walk) {
    has_tools_ = true;
    Scanner& scanner = walk.scanner();
    scanner.enter_array();
    begin_ = scanner.offset();
    while (scanner.next_element()) {
      const auto type = scanner.peek();  // steps over white space
      ListedTool tool{{scanner.offset(), 0}};
      if (type == Type::object) {
        read_tool(walk, tool.name);
      } else {
        walk.skip();
      }
      tool.span.end = scanner.offset();
      tools_.push_back(std::move(tool));
    }
  }

  static void read_tool(ResultWalk& walk, std::string& name) {
    walk.enter(kToolNames);
    while (walk.next()) {
      Value value;
      const bool is_name = walk.name() == "name";
      if (walk.scanner().take(value) && is_name && value.type == Type::string)
        decode(value.text(), name);
    }
  }

  std::size_t begin_ = 0;  // behind the '['
  std::vector<ListedTool> tools_;
  bool has_tools_ = false;
  bool is_last_ = true;
  bool is_ambiguous_ = false;
};

/// Copies what is kept, each with the bytes that parted it from what stood before it.
class PageWriter {
 public:
  PageWriter(std::string_view frame, const ToolsPage& page, const ToolsAmendment& amendment)
      : frame_(frame), page_(page), amendment_(amendment) {}

  AmendedTools write() {
    const std::vector<ListedTool>& tools = page_.tools();
    const std::size_t first = tools.empty() ? page_.begin() : tools.front().span.begin;
    const std::size_t last = tools.empty() ? page_.begin() : tools.back().span.end;
    const bool adds = page_.is_last() && !amendment_.added.empty();
    amended_.frame.reserve(frame_.size() + amendment_.added.size() + 1);
    amended_.frame.append(frame_.substr(0, first));
    std::size_t parted_from = 0;
    for (const ListedTool& tool : tools) {
      put(tool, parted_from);
      parted_from = tool.span.end;
    }
    if (adds && has_kept_) amended_.frame += ',';
    if (adds) amended_.frame.append(amendment_.added);
    amended_.frame.append(frame_.substr(last));
    return std::move(amended_);
  }

 private:
  void put(const ListedTool& tool, std::size_t parted_from) {
    const auto& hidden = amendment_.hidden;
    if (!tool.name.empty() && std::find(hidden.begin(), hidden.end(), tool.name) != hidden.end()) {
      amended_.hidden.push_back(tool.name);
      return;
    }
    const std::size_t begin = has_kept_ ? parted_from : tool.span.begin;
    amended_.frame.append(frame_.substr(begin, tool.span.end - begin));
    has_kept_ = true;
  }

  std::string_view frame_;
  const ToolsPage& page_;
  const ToolsAmendment& amendment_;
  AmendedTools amended_;
  bool has_kept_ = false;
};

/// Where `capabilities` has room for a member.
struct CapabilitiesPlace {
  std::size_t begin = 0;  // behind the '{'
  bool is_there = false;
  bool is_empty = true;
  bool has_tools = false;
};

void read_capabilities(ResultWalk& walk, CapabilitiesPlace& place) {
  walk.enter(kCapabilityNames);
  place.is_there = true;
  place.begin = walk.scanner().offset();
  while (walk.next()) {
    place.is_empty = false;
    place.has_tools = place.has_tools || walk.name() == "tools";
    walk.skip();
  }
}

}  // namespace

std::optional<AmendedTools> amend_tools_list(std::string_view frame,
                                             const ToolsAmendment& amendment) {
  ToolsPage page;
  if (!page.read(frame)) return std::nullopt;
  return PageWriter{frame, page, amendment}.write();
}

std::optional<AmendedCapabilities> amend_capabilities(std::string_view frame) {
  ResultWalk walk{frame};
  CapabilitiesPlace place;
  const bool is_response = walk.read([&walk, &place] {
    walk.enter(kResultNames);
    while (walk.next()) {
      if (walk.name() == "capabilities" && walk.scanner().peek() == Type::object) {
        read_capabilities(walk, place);
      } else {
        walk.skip();
      }
    }
  });
  if (!is_response || !place.is_there || place.has_tools) return std::nullopt;
  std::string amended{frame.substr(0, place.begin)};
  amended += place.is_empty ? R"("tools":{})" : R"("tools":{},)";
  amended += frame.substr(place.begin);
  return AmendedCapabilities{std::move(amended)};
}

std::string encode_tools_list(const Id& id, std::string_view tools) {
  std::string frame = R"({"jsonrpc":"2.0","id":)";
  frame += id.lexeme;
  frame += R"(,"result":{"tools":[)";
  frame += tools;
  // Revision 2026-07-28 wants a result's type, and of a list how long it may be kept: not at all.
  frame += R"(],"resultType":"complete","ttlMs":0,"cacheScope":"private"}})";
  frame += '\n';
  return frame;
}

}  // namespace aegis::mcp
