// SPDX-License-Identifier: Apache-2.0 OR MIT
// See starter.h. What stands here is tried by tests/sessions/broker_init_test.py.
#include "wrap/starter.h"

namespace aegis::wrap {
namespace {

constexpr std::string_view kBrokerPolicyText =
    R"(# What aegis may do for an agent, by itself and in its own sandbox.
# Used by: aegis mcp, aegis wrap --broker, aegis run, aegis check.
# What is not allowed here is refused. Unknown or misspelt members are errors, never ignored.
version: "1.0"
policy_id: starter
name: Starter
description: Reads and lists one folder, and runs Python and a few programs on a copy of it.

# The one folder that everything happens in. Relative to this file's folder; "~" is not expanded.
workspace_root: workspace

# All four there are. Take one out, and no agent is offered it.
allowed_operations: [read_text, list_dir, run_python, run_command]

path_rules:
  # Only these folders and files of the workspace; left out: all of it.
  # allowed_subpaths: [notes, data]
  # Kept from every operation, besides names that usually hold secrets (.env, .ssh, *.pem, ...),
  # which are always kept.
  denied_patterns: ["private", "*.sqlite"]
  # Bytes of one read; at most 52428800.
  max_file_read_bytes: 1048576

execution_rules:
  # Seconds; at most 300.
  max_timeout_seconds: 15
  # Bytes of stdout and stderr together; at most 10485760.
  max_output_bytes: 65536
  # Of one program, in MiB; at most 4096.
  max_memory_mb: 256
  # There is no network in the sandbox; nothing else can be said here.
  allow_network: false
  # What run_command may run: names, looked for in the system's folders, or absolute paths. An
  # interpreter or a launcher (sh, env, find, git) runs whatever it is told: list it only if that
  # is meant.
  allowed_binaries: [ls, cat, head, tail, wc, grep, cut, uniq]
  # Where the paths among run_command's words may lie, and what it may be given to write.
  allowed_paths: [notes, data]

# Named here, an operation waits for somebody to approve it, and is refused as long as nobody can.
require_approval_for: []
)";

constexpr std::string_view kPolicyText =
    R"(# Rules for the tools of a server behind `aegis wrap --policy`. Check it after a change with
#   aegis recheck --policy policy.yaml
version: 1
# What no rule names is relayed, and recorded. With "deny" only what a rule allows is.
default: allow
rules:
  - id: no-deleting
    action: deny
    tool: delete_file
    reason: "files are kept here; ask a person to delete it"
  - id: writing-slowly
    action: rate_limit
    tool: write_file
    rate: { max: 20, per_seconds: 60 }
    reason: "wait a minute before you write again"
)";

constexpr StarterFile kFiles[] = {
    {kStarterBrokerPolicy, kBrokerPolicyText},
    {kStarterPolicy, kPolicyText},
    {"workspace/notes/welcome.txt",
     "This file lies in the workspace, so the broker may read it.\n"
     "Nothing outside of the workspace can be read, listed or run on.\n"},
    {"workspace/data/numbers.csv", "name,amount\napples,3\npears,5\nplums,8\n"},
    {"workspace/private/diary.txt", "The policy keeps this from every operation.\n"},
    {"requests/valid_read.json", R"({
  "schema_version": "1.0",
  "request_id": "valid-read",
  "operation": "read_text",
  "parameters": { "path": "notes/welcome.txt" }
}
)"},
    {"requests/valid_list.json", R"({
  "schema_version": "1.0",
  "request_id": "valid-list",
  "operation": "list_dir",
  "parameters": { "path": ".", "max_depth": 2 }
}
)"},
    {"requests/valid_python.json", R"({
  "schema_version": "1.0",
  "request_id": "valid-python",
  "operation": "run_python",
  "parameters": {
    "code": "import csv\nwith open('data/numbers.csv') as file:\n    print(sum(int(row['amount']) for row in csv.DictReader(file)))\n"
  }
}
)"},
    {"requests/valid_command.json", R"({
  "schema_version": "1.0",
  "request_id": "valid-command",
  "operation": "run_command",
  "parameters": { "argv": ["wc", "-l", "data/numbers.csv"] }
}
)"},
    {"requests/attack_traversal.json", R"({
  "schema_version": "1.0",
  "request_id": "attack-traversal",
  "operation": "read_text",
  "parameters": { "path": "notes/../../broker-policy.yaml" }
}
)"},
    {"requests/attack_sensitive.json", R"({
  "schema_version": "1.0",
  "request_id": "attack-sensitive",
  "operation": "read_text",
  "parameters": { "path": ".ssh/id_rsa" }
}
)"},
    {"requests/attack_shell.json", R"({
  "schema_version": "1.0",
  "request_id": "attack-shell",
  "operation": "run_command",
  "parameters": { "argv": ["sh", "-c", "cat /etc/passwd"] }
}
)"},
    {"requests/check_shell.json", R"({
  "schema_version": "1.0",
  "request_id": "check-shell",
  "operation": "run_command",
  "parameters": { "command": "ls ./data | wc -l" }
}
)"},
    {"requests/check_shell_denied.json", R"({
  "schema_version": "1.0",
  "request_id": "check-shell-denied",
  "operation": "run_command",
  "parameters": { "command": "cat data/numbers.csv > /tmp/$USER" }
}
)"},
};

constexpr std::string_view kFolders[] = {
    kStarterWorkspace, "workspace/notes", "workspace/data", "workspace/private", "requests"};

}  // namespace

std::span<const std::string_view> starter_folders() {
  return kFolders;
}

std::span<const StarterFile> starter_files() {
  return kFiles;
}

}  // namespace aegis::wrap
