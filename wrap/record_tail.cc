// SPDX-License-Identifier: Apache-2.0 OR MIT
// Looks at a record from its end backwards: one torn line perhaps, then the last Line.
#include "wrap/record_tail.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "mcp/json/canonical.h"

namespace aegis::wrap {
namespace {

using confine::errno_error;
using confine::refusal;
using confine::Result;

constexpr std::string_view kDoing = "open the record";
constexpr std::string_view kNotOurs =
    "it is not a record of aegis, and is left as it is; name another file, or a folder";
constexpr std::string_view kBadEnd =
    "its end is no Line of a record, and is left as it is; see what `aegis verify` says, and name "
    "another file, or a folder";
/// One Line, its '\n' and the '\n' before it.
constexpr std::size_t kLineRoom = mcp::json::kMaxCanonicalSize + 2;

enum class Kind : std::uint8_t { open_line, other_line, torn, foreign };

/// What one line is, its '\n' left out. No signature and no link is looked at: that is `verify`'s.
Kind judge(std::string_view line) {
  mcp::json::CanonicalReader reader;
  // What `verify` takes for torn at the end, and no more: a blank line is none, which no write that
  // was cut off leaves behind. Moved aside it would make a record good that `verify` calls
  // tampered.
  if (const auto flaw = reader.read(line)) return flaw->may_be_torn() ? Kind::torn : Kind::foreign;
  const mcp::json::CanonicalNode& root = reader.root();
  const auto type = mcp::json::find_string(root, "line_type");
  const auto previous = mcp::json::find_string(root, "prev_hash");
  const bool is_line = type && mcp::json::find_integer(root, "schema_version") == 2 &&
                       mcp::json::find_integer(root, "seq") && previous &&
                       audit::parse_hex(*previous);
  if (!is_line) return Kind::foreign;
  return *type == "open" ? Kind::open_line : Kind::other_line;
}

struct Range {
  std::uint64_t begin;
  std::uint64_t end;
};

Result<std::string> read_range(const confine::Fd& file, const std::string& path, Range range) {
  std::string bytes(range.end - range.begin, '\0');
  for (std::size_t have = 0; have < bytes.size();) {
    const ssize_t count = ::pread(file.get(),
                                  bytes.data() + have,
                                  bytes.size() - have,
                                  static_cast<off_t>(range.begin + have));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error("read the record", path);
    if (count == 0) return refusal("read the record", path, "it was shortened meanwhile");
    have += static_cast<std::size_t>(count);
  }
  return bytes;
}

/// The end of the file, read backwards as far as it is asked for.
class Ending {
 public:
  Ending(const confine::Fd& file, const std::string& path, std::uint64_t size)
      : file_(file), path_(path), begin_(size) {}

  /// Where the line that ends before `end` begins; the '\n' at its own end is part of it.
  Result<std::uint64_t> line_begin(std::uint64_t end) {
    std::uint64_t searched = end - 1;  // all from here on is known to hold no '\n' of another line
    for (;;) {
      if (begin_ < searched) {
        const std::string_view unseen = std::string_view(bytes_).substr(0, searched - begin_);
        const std::size_t newline = unseen.rfind('\n');
        if (newline != std::string_view::npos) return begin_ + newline + 1;
        searched = begin_;
      }
      if (begin_ == 0) return std::uint64_t{0};
      if (bytes_.size() > kMaxTorn) return refusal(kDoing, path_, kBadEnd);
      AEGIS_TRY(read_before());
    }
  }

  [[nodiscard]] std::string_view bytes(Range range) const {
    return std::string_view(bytes_).substr(range.begin - begin_, range.end - range.begin);
  }

 private:
  /// As much again as there is, so that a long torn end is not copied over and over.
  Result<void> read_before() {
    const std::uint64_t want = std::max<std::uint64_t>(kLineRoom, bytes_.size());
    const std::uint64_t begin = begin_ - std::min(begin_, want);
    bytes_ = AEGIS_TRY(read_range(file_, path_, {begin, begin_})) + bytes_;
    begin_ = begin;
    return {};
  }

  const confine::Fd& file_;
  const std::string& path_;
  std::uint64_t begin_;  // bytes_ is the file from here on
  std::string bytes_;
};

std::string_view without_newline(std::string_view line) {
  if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  return line;
}

struct JudgedLine {
  Range range;
  Kind kind;
};

Result<JudgedLine> line_before(Ending& ending, std::uint64_t end) {
  const std::uint64_t begin = AEGIS_TRY(ending.line_begin(end));
  const Range range{begin, end};
  return JudgedLine{range, judge(without_newline(ending.bytes(range)))};
}

/// The last line that is not torn, or the only one. Only the last line may be torn, as for
/// `verify`: a write that was cut off leaves one. Were more moved aside, a record that somebody
/// damaged would be made good by the next start.
Result<JudgedLine> last_line(Ending& ending, std::uint64_t size) {
  const JudgedLine last = AEGIS_TRY(line_before(ending, size));
  if (last.kind != Kind::torn || last.range.begin == 0) return last;
  JudgedLine before = AEGIS_TRY(line_before(ending, last.range.begin));
  if (before.kind == Kind::torn) before.kind = Kind::foreign;
  return before;
}

/// The file's first line must be an `open`. It is not the last one, which has been judged.
Result<void> check_first_line(const confine::Fd& file, const std::string& path, std::uint64_t end) {
  const std::string start =
      AEGIS_TRY(read_range(file, path, {0, std::min(end, std::uint64_t{kLineRoom})}));
  const std::size_t newline = start.find('\n');
  const bool is_open = newline != std::string::npos &&
                       judge(std::string_view(start).substr(0, newline)) == Kind::open_line;
  if (!is_open) return refusal(kDoing, path, kNotOurs);
  return {};
}

/// A file without any Line is ours only when it is one torn `{…`: nothing else can be the start of
/// a first Line that was not written to its end.
Result<RecordTail> only_torn(const std::string& path, std::string_view whole) {
  const bool is_cut_line = whole.front() == '{' && whole.find('\n') == std::string_view::npos;
  if (!is_cut_line) return refusal(kDoing, path, kNotOurs);
  RecordTail tail;
  tail.torn = std::string(whole);
  return tail;
}

}  // namespace

Result<RecordTail> read_record_tail(const confine::Fd& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return errno_error(kDoing, path);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size == 0) return RecordTail{};

  Ending ending(file, path, size);
  const auto [line, kind] = AEGIS_TRY(last_line(ending, size));
  if (kind == Kind::torn) return only_torn(path, ending.bytes(line));
  const bool is_sole = line.begin == 0;
  if (is_sole && kind != Kind::open_line) return refusal(kDoing, path, kNotOurs);
  if (!is_sole) AEGIS_TRY(check_first_line(file, path, line.end));
  if (kind == Kind::foreign) return refusal(kDoing, path, kBadEnd);

  const std::string_view text = ending.bytes(line);
  RecordTail tail;
  tail.end = line.end;
  tail.last = audit::LineHash::of(without_newline(text));
  tail.lacks_newline = text.back() != '\n';
  tail.torn = std::string(ending.bytes({line.end, size}));
  return tail;
}

}  // namespace aegis::wrap
