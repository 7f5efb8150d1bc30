// SPDX-License-Identifier: Apache-2.0 OR MIT
// See left_out.h.
#include "wrap/left_out.h"

#include "mcp/frame.h"

namespace aegis::wrap {
namespace {

std::string_view to_words(LeftOut why) {
  switch (why) {
    case LeftOut::no:
      break;
    case LeftOut::no_json:
      return "it is no JSON";
    case LeftOut::unclear:
      return "it does not read the same for every parser";
    case LeftOut::unclear_list:
      return "it does not read the same for every parser, so the broker's tools cannot be put into "
             "this answer to tools/list";
    case LeftOut::unasked:
      return "it answers what was not asked, and could be taken for an answer of the broker's";
    case LeftOut::progress:
      return "it tells of the progress of a call of the broker's";
    case LeftOut::batch:
      return "one of its answers is to what was not asked, and could be taken for an answer of the "
             "broker's";
  }
  return {};
}

/// Its first bytes, not cut amid a character of UTF-8.
std::string_view shown_of(std::string_view content) {
  if (content.size() <= kShownBytes) return content;
  std::size_t size = kShownBytes;
  const auto is_amid = [&] { return (static_cast<unsigned char>(content[size]) & 0xC0U) == 0x80U; };
  while (size > kShownBytes - 3 && is_amid())
    --size;
  return content.substr(0, size);
}

}  // namespace

std::string left_out_sentence(std::string_view frame, LeftOut why) {
  const std::string_view content = mcp::frame_content(frame);
  const std::string_view shown = shown_of(content);
  std::string text = "a line of the server's stdout is kept from the client: ";
  text.append(to_words(why)).append("; ");
  text += std::to_string(content.size()) + (content.size() == 1 ? " byte: " : " bytes: ");
  text += shown;
  if (shown.size() < content.size()) text += " [...]";
  return text;
}

}  // namespace aegis::wrap
