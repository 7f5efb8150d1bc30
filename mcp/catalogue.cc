// SPDX-License-Identifier: Apache-2.0 OR MIT
// The tools as text with gaps for the bounds. The schemas hold no $schema: without one it is JSON
// Schema 2020-12 (MCP 2025-11-25, "JSON Schema Usage"), and validators of an older draft, which
// many clients have, stumble over a dialect that they do not know. No keyword here is newer than
// draft-07.
#include "mcp/catalogue.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "mcp/broker_request.h"
#include "mcp/json/canonical.h"
#include "mcp/json/printable.h"

namespace aegis::mcp {
namespace {

/// What a model decides by. Gaps stand between '$'.
struct ToolText {
  std::string_view title;
  std::string_view description;
  std::string_view parameters;   // members of inputSchema's `properties`
  std::string_view required;     // elements of inputSchema's `required`
  std::string_view results;      // members of outputSchema's `properties`, besides kCommonResults
  std::string_view annotations;  // members
};

constexpr std::string_view kReads =
    R"("readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false)";
constexpr std::string_view kWrites =
    R"("readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false)";

constexpr std::string_view kCommonResults =
    R"("code":{"type":"string","description":"why it was refused or stopped"},)"
    R"("reason":{"type":"string","description":"of a refusal: why, and what to do instead"},)"
    R"("member":{"type":"string","description":"of a refusal: the parameter that is wrong"},)"
    R"("lossy":{"type":"boolean","description":"bytes that are no UTF-8 became U+FFFD"})";

constexpr std::string_view kRunResults =
    R"("status":{"type":"string","enum":["completed","timeout","output_limit","cancelled","refused"]},)"
    R"("exit_code":{"type":"integer"},)"
    R"("signal":{"type":"integer","description":"the signal that ended it"},)"
    R"("stdout":{"type":"string"},"stderr":{"type":"string"},)"
    R"("duration_ms":{"type":"integer","minimum":0},)"
    R"("truncated":{"type":"boolean","description":"the output is cut"},)"
    R"("snapshot_left_out":{"type":"integer","minimum":0,)"
    R"("description":"files of the workspace that it did not see"},)"
    R"("memory_kills":{"type":"integer","minimum":0,)"
    R"("description":"of its processes, ended for the memory that they wanted"})";

constexpr std::string_view kReadTextResults =
    R"("status":{"type":"string","enum":["completed","refused"]},)"
    R"("path":{"type":"string"},"text":{"type":"string"},)"
    R"("truncated":{"type":"boolean","description":"the file goes on"})";

constexpr std::string_view kListDirResults =
    R"("status":{"type":"string","enum":["completed","refused"]},)"
    R"("path":{"type":"string"},)"
    R"("entries":{"type":"array","items":{"type":"object","properties":{)"
    R"("path":{"type":"string","description":"relative to the listed folder"},)"
    R"("type":{"type":"string","enum":["file","folder","link","other"]},)"
    R"("size":{"type":"integer","minimum":0,"description":"bytes, of a file"},)"
    R"("lossy":{"type":"boolean"}},"required":["path","type"],"additionalProperties":false}},)"
    R"("truncated":{"type":"boolean","description":"there are more entries"},)"
    R"("left_out":{"type":"integer","minimum":0,"description":"entries that are not shown"})";

constexpr ToolText kReadText{
    "Read a text file",
    "Read one UTF-8 text file of the workspace. The path is relative to the workspace: absolute "
    "paths, '..' and symbolic links are refused, and so are files that usually hold secrets (.env, "
    ".ssh, *.pem, *.key, credentials and the like). At most $read$ bytes are returned; a longer "
    "file is cut there.",
    R"("path":{"type":"string","minLength":1,"maxLength":$path$,)"
    R"("description":"relative to the workspace, for example docs/notes.txt"},)"
    R"("max_bytes":{"type":"integer","minimum":1,"maximum":$read$,)"
    R"("description":"read no more than this; left out: $read$"})",
    R"("path")",
    kReadTextResults,
    kReads};

constexpr ToolText kListDir{
    "List a folder",
    "List a folder of the workspace, and with max_depth what is below it: paths relative to the "
    "folder, with type and size. Symbolic links are named and not followed. Names that begin with "
    "a dot need include_hidden; files that usually hold secrets are never shown. At most 10000 "
    "entries; a longer listing is cut, and says so.",
    R"("path":{"type":"string","minLength":1,"maxLength":$path$,)"
    R"("description":"relative to the workspace; . is the workspace itself"},)"
    R"("max_depth":{"type":"integer","minimum":0,"maximum":$depth$,)"
    R"("description":"levels below the folder's own entries; left out: 0"},)"
    R"("include_hidden":{"type":"boolean","description":"left out: false"})",
    R"("path")",
    kListDirResults,
    kReads};

constexpr ToolText kRunPython{
    "Run Python",
    "Run Python 3 in a sandbox, either code or a script of the workspace (one of the two). The "
    "working directory is /workspace, a read-only copy of the workspace without the files that "
    "usually hold secrets; /tmp is private and empty. There is no network, and nothing that it "
    "writes is kept: print what is wanted. For modules of the workspace put /workspace on sys.path "
    "first. Bounds: $timeout$ seconds, $memory$ MiB of memory, $output$ bytes of output (stdout "
    "and stderr together); what passes one is stopped, and the answer says which.",
    R"("code":{"type":"string","description":"Python source"},)"
    R"("script_path":{"type":"string","minLength":1,"maxLength":$path$,)"
    R"("description":"a script, relative to the workspace"},)"
    R"("args":{"type":"array","items":{"type":"string"},"maxItems":$args$,)"
    R"("description":"sys.argv[1:]"},)"
    R"("timeout_seconds":{"type":"integer","minimum":1,"maximum":$timeout$,)"
    R"("description":"left out: $timeout$"})",
    "",
    kRunResults,
    kReads};

constexpr ToolText kRunCommand{
    "Run a command",
    "Run one program in a sandbox. argv is a list of words, the program first: there is no shell, "
    "so no pipe, wildcard, variable or redirection. Programs: $binaries$. The working directory is "
    "/workspace, a read-only copy of the workspace without the files that usually hold secrets; "
    "/tmp is private and empty; there is no network. Paths among the words are relative to the "
    "workspace. Whatever the program is to change must be named in writable and lie where the "
    "policy lets programs write. Bounds: $timeout$ seconds, $memory$ MiB of memory, $output$ bytes "
    "of output (stdout and stderr together); what passes one is stopped, and the answer says "
    "which.",
    R"("argv":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":$words$,)"
    R"("description":"the program and its arguments, each a word of its own"},)"
    R"("timeout_seconds":{"type":"integer","minimum":1,"maximum":$timeout$,)"
    R"("description":"left out: $timeout$"},)"
    R"("writable":{"type":"array","items":{"type":"string","minLength":1,"maxLength":$path$},)"
    R"("maxItems":$writable$,)"
    R"("description":"files and folders that it may change, relative to the workspace"})",
    R"("argv")",
    kRunResults,
    kWrites};

const ToolText& text_of(Operation operation) {
  switch (operation) {
    case Operation::read_text:
      return kReadText;
    case Operation::list_dir:
      return kListDir;
    case Operation::run_python:
      return kRunPython;
    case Operation::run_command:
      return kRunCommand;
  }
  return kReadText;
}

/// What a model is told of the programs, fit for a JSON string.
std::string describe_binaries(const std::vector<std::string>& binaries) {
  constexpr std::size_t kShown = 64;
  if (binaries.empty()) return "none";
  std::string names;
  const std::size_t shown = std::min(binaries.size(), kShown);
  for (std::size_t index = 0; index < shown; ++index) {
    if (index != 0) names += ", ";
    json::append_printable(binaries[index], json::Backslash::twice, names);
  }
  if (shown < binaries.size()) names += ", " + std::to_string(binaries.size() - shown) + " more";
  std::string quoted;
  json::append_string(names, quoted);
  return quoted.substr(1, quoted.size() - 2);
}

struct Gap {
  std::string_view name;
  std::string value;
};
using Gaps = std::array<Gap, 10>;

Gaps make_gaps(const CatalogueBounds& bounds) {
  return {{{"read", std::to_string(bounds.max_read_bytes)},
           {"timeout", std::to_string(bounds.max_timeout_seconds)},
           {"output", std::to_string(bounds.max_output_bytes)},
           {"memory", std::to_string(bounds.max_memory_mb)},
           {"path", std::to_string(kMaxPath)},
           {"depth", std::to_string(kMaxListDepth)},
           {"args", std::to_string(kMaxArguments)},
           {"words", std::to_string(kMaxWords)},
           {"writable", std::to_string(kMaxWritable)},
           {"binaries", describe_binaries(bounds.binaries)}}};
}

/// Appends `text` with its gaps filled.
void append_filled(std::string_view text, const Gaps& gaps, std::string& out) {
  for (;;) {
    const std::size_t begin = text.find('$');
    out.append(text.substr(0, begin));
    if (begin == std::string_view::npos) return;
    const std::size_t end = text.find('$', begin + 1);
    const std::string_view name = text.substr(begin + 1, end - begin - 1);
    for (const Gap& gap : gaps) {
      if (gap.name == name) out.append(gap.value);
    }
    text.remove_prefix(end + 1);
  }
}

void append_tool(Operation operation, const Gaps& gaps, std::string& out) {
  const ToolText& tool = text_of(operation);
  out += R"({"name":")";
  out += to_string(operation);
  out += R"(","title":")";
  out += tool.title;
  out += R"(","description":")";
  append_filled(tool.description, gaps, out);
  out += R"(","inputSchema":{"type":"object","properties":{)";
  append_filled(tool.parameters, gaps, out);
  out += '}';
  if (!tool.required.empty()) {
    out += R"(,"required":[)";
    out += tool.required;
    out += ']';
  }
  out += R"(,"additionalProperties":false},"outputSchema":{"type":"object","properties":{)";
  out += tool.results;
  out += ',';
  out += kCommonResults;
  out += R"(},"required":["status"],"additionalProperties":false},"annotations":{"title":")";
  out += tool.title;
  out += R"(",)";
  out += tool.annotations;
  out += "}}";
}

}  // namespace

std::string encode_tool(Operation operation, const CatalogueBounds& bounds) {
  return encode_tools({&operation, 1}, bounds);
}

std::string encode_tools(std::span<const Operation> operations, const CatalogueBounds& bounds) {
  const Gaps gaps = make_gaps(bounds);
  std::string tools;
  for (const Operation operation : operations) {
    if (!tools.empty()) tools += ',';
    append_tool(operation, gaps, tools);
  }
  return tools;
}

}  // namespace aegis::mcp
