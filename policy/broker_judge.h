// SPDX-License-Identifier: Apache-2.0 OR MIT
// Whether a broker request may be done, by its words alone: operation, paths as written, bounds,
// sensitive names, binaries, approval. What really lies under a path is confine/workspace.h's,
// which refuses for itself; this is the first of two looks. Pure: the same arguments, the same
// answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mcp/broker_answer.h"
#include "mcp/broker_request.h"
#include "policy/broker_policy.h"

namespace aegis::policy {

/// Which programs are meant by the policy's allowed_binaries on this machine; wrap knows the files.
class Binaries {
 public:
  Binaries() = default;
  Binaries(const Binaries&) = delete;
  Binaries& operator=(const Binaries&) = delete;
  virtual ~Binaries() = default;
  /// The index in allowed_binaries of the program that `word`, argv's first, means: by its name, or
  /// by the identity of the file that an absolute path leads to.
  [[nodiscard]] virtual std::optional<std::size_t> find(std::string_view word) const = 0;
};

/// What `--reveal` took off the list of sensitive names, and the rest of a judgement's world.
struct Judging {
  const BrokerPolicy& policy;
  const Binaries& binaries;
  std::span<const std::string> revealed = {};
};

/// Everything that doing it needs, bounds applied.
struct Permit {
  std::string path = {};              // normalised: no "." and no double slash; "" is the root
  std::uint64_t max_bytes = 0;        // of read_text
  std::uint64_t max_depth = 0;        // of list_dir
  std::uint64_t timeout_seconds = 0;  // of run_*
  std::size_t binary = 0;             // of run_command: index in allowed_binaries
  std::vector<std::string> writable = {};
};
using Judgement = std::variant<Permit, mcp::Refused>;

/// A ShellCommand is judged word by word (shell.h); each of its simple commands as an argv.
Judgement judge_broker(const mcp::BrokerRequest& request, const Judging& judging);

/// One path as written, by itself: for the judgement, for fuzzing, and for what lists or copies a
/// workspace. The normalised path, or why not.
std::variant<std::string, mcp::Refused> judge_path(std::string_view written,
                                                   const Judging& judging);
/// Whether a name or a normalised path found in the workspace is hidden from every operation:
/// sensitive or under a denied pattern. `allowed_subpaths` are not looked at.
bool is_hidden(std::string_view path, const Judging& judging);
/// Whether `path`, normalised, is one of `subpaths`, in one, or, for a folder to be walked through,
/// above one. No subpaths: everything.
enum class Place : std::uint8_t { outside, above, inside };
Place place_of(std::string_view path, std::span<const std::string> subpaths);

}  // namespace aegis::policy
