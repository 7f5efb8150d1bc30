// SPDX-License-Identifier: Apache-2.0 OR MIT
// The broker at work: a request goes in, is judged (policy/broker_judge.h), done or begun
// (confine/workspace.h, confine/sandbox.h), and an answer comes out, at once or later. It knows no
// JSON-RPC and writes no record; what it tells for the record is in Done.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/digest.h"
#include "confine/grants.h"
#include "confine/result.h"
#include "mcp/broker_answer.h"
#include "mcp/broker_request.h"
#include "mcp/catalogue.h"

namespace aegis::wrap {

struct BrokerOptions {
  std::string policy;                      // a file
  std::vector<std::string> revealed = {};  // --reveal: names taken off the list of sensitive ones
};

/// What an operation ran under, for the record: paths are relative to the label "workspace", never
/// the host's. Empty for one that was refused.
struct BrokerGrant {
  std::vector<std::string> read_paths = {};  // writable ones too
  std::vector<std::string> write_paths = {};
  std::uint64_t max_memory_bytes = 0;  // 0: no ceiling was set
  std::uint64_t max_wall_ms = 0;
  std::uint64_t max_output_bytes = 0;
};

class Broker {
 public:
  /// Names one request for its owner, who chooses it.
  using Ticket = std::uint64_t;

  struct Done {
    Ticket ticket = 0;
    mcp::BrokerAnswer answer;
    BrokerGrant grant = {};
    /// The one path that it was about, as "workspace/…"; not when it was refused for its path.
    std::optional<std::string> path = {};
    std::chrono::milliseconds taken{0};
    /// Of a run that was cancelled by nobody who asked for it: why aegis ended it.
    std::string ended_why = {};
  };

  /// Reads and checks the policy, opens the workspace, finds the binaries, and says on stderr what
  /// is worth knowing. An error says what to do. `doing` is the verb's name, for messages.
  static confine::Result<Broker> make(const BrokerOptions& options, std::string_view doing);
  Broker(Broker&&) noexcept;
  Broker& operator=(Broker&&) = delete;
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  /// Ends every run.
  ~Broker();

  /// The operations that a client is shown, and that are taken from a server: what the policy
  /// allows and needs no approval for.
  [[nodiscard]] std::span<const mcp::Operation> offered() const;
  [[nodiscard]] const mcp::CatalogueBounds& bounds() const;
  [[nodiscard]] const audit::PolicySetHash& policy_hash() const;
  [[nodiscard]] std::span<const std::string> revealed() const;
  /// The most that its operations can reach: the workspace, read-only, and what a run_command may
  /// be given as `writable`. For wrap/exposure.h.
  [[nodiscard]] const confine::PathGrants& reach() const;
  /// Every file that its runs execute, and the links by which they were found. For the same.
  [[nodiscard]] std::vector<std::string> programs() const;
  /// "policy NAME, workspace PATH, 3 operations", for the line that says what is on.
  [[nodiscard]] std::string describe() const;

  /// Only judges: what `aegis check` answers. Nothing when it may be done.
  [[nodiscard]] std::optional<mcp::Refused> judge(const mcp::BrokerRequest& request) const;

  /// Reads and lists are done when this returns; of runs at most kMaxRuns are under way, the others
  /// wait their turn in the order in which they came. Its Done is handed out once, whatever
  /// happens.
  void begin(Ticket ticket, const mcp::BrokerRequest& request);
  /// Of one that is not done yet: ends it. Its Done comes as cancelled.
  void cancel(Ticket ticket);
  /// When no answer will be wanted any more.
  void cancel_all();
  [[nodiscard]] std::size_t under_way() const;

  /// To be polled for reading; changes with begin() and on_ready().
  [[nodiscard]] std::span<const int> descriptors() const;
  void on_ready(int descriptor);
  /// What is done since the last call, in the order in which it was.
  std::vector<Done> take_done();

 private:
  struct State;
  explicit Broker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Runs at once; each may use the policy's memory.
inline constexpr std::size_t kMaxRuns = 4;
/// Requests that may wait besides; one more is refused.
inline constexpr std::size_t kMaxWaiting = 64;

}  // namespace aegis::wrap
