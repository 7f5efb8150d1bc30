// SPDX-License-Identifier: Apache-2.0 OR MIT
// Moves the bytes: one thread, one poll(2) over client, server, its stderr, the keeper and signals.
// It knows no JSON; what a frame means and what goes on the record is the session's. It decides
// when to sync, and how a session ends.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "confine/fd.h"
#include "wrap/audit_file.h"
#include "wrap/broker.h"
#include "wrap/relay.h"
#include "wrap/server.h"
#include "wrap/session.h"
#include "wrap/stdio.h"
#include "wrap/watch.h"

namespace aegis::wrap {

/// When an intent counts as recorded (wrap.md).
enum class Durability : std::uint8_t {
  call,     // synced before its frame goes on
  session,  // written before, synced within kSyncDelay
  off,      // written before, only the `open` Line is ever synced
};
enum class StrictStdout : std::uint8_t { no, yes };

/// What the loop works on; all of it outlives the loop.
struct LoopParts {
  Session& session;
  AuditFile& record;
  Server& server;
};

struct LoopOptions {
  std::string_view verb = "wrap";  // for messages; a literal
  Durability durability = Durability::call;
  StrictStdout strict_stdout = StrictStdout::no;
  std::chrono::milliseconds grace{};
  std::size_t max_frame = 0;                     // bytes
  confine::Fd signals;                           // signalfd of SIGTERM, SIGINT and SIGHUP
  confine::Fd stderr_log;                        // open when the server's stderr is to be teed
  std::function<void()> reload_policy = {};      // on SIGHUP; may be empty
  std::optional<std::uint64_t> max_output = {};  // bytes of the server's stdout and stderr together
  std::vector<Watch> watches = {};
  std::function<void(std::string_view)> on_errors = {};  // the server's stderr; may be empty
  Broker* broker = nullptr;  // outlives the loop; null: the session has none
};

class Loop {
 public:
  Loop(LoopParts parts, LoopOptions options);
  /// Until the server is gone and all is delivered and sealed. Returns aegis's exit code.
  int run();
  /// After run(): how the server ended by itself, when it did and could tell.
  [[nodiscard]] std::optional<int> wait_status() const;
  /// After run(): the client could not be read or written, or sent a frame over max_frame.
  [[nodiscard]] bool has_client_failed() const { return has_client_failed_; }

 private:
  enum class Phase : std::uint8_t {
    relaying,
    draining,  // the client is gone or has ended its input; the deadline is the grace
    ending,    // the server was sent SIGTERM; the deadline is the kill
    killed,    // all descendants were sent SIGKILL; the deadline is when to go without them
  };
  struct Ready;

  Ready wait();
  void take_in(const Ready& ready);
  int end_server();
  [[nodiscard]] int timeout_ms() const;
  [[nodiscard]] bool is_done() const;

  void on_signals();
  void stop(int signal);
  void on_keeper();
  void on_deadline();
  void set_phase(Phase phase);
  void arm_deadline();
  void await_server(Ending cause);
  void client_closed(Ending ending);
  void client_gone();
  void enforce(Ending ending);
  [[nodiscard]] bool is_within_output(std::size_t bytes);
  void finish_server();
  void seal(Session::Seal seal);
  [[nodiscard]] Ending server_ending() const;

  // loop_broker.cc
  void begin_tasks();
  void cancel_task(Broker::Ticket ticket);
  void take_done();
  void on_broker(std::size_t first_watched);
  void report_progress();
  void end_broker(Ending why);
  [[nodiscard]] bool awaits_broker() const;

  void say(std::string_view what) const;
  void read_client();
  void judge_client_frames();
  void settle_client_frames();
  void read_server();
  void judge_server_frames();
  void judge_server_frame(std::string_view frame);
  void tell_left_out(std::string_view frame, LeftOut why);
  void relay_server_frame(std::string_view frame, Session::ServerFrame seen);
  audit::FrameDigest forward_and_digest(std::string_view frame);
  void read_errors();
  void copy_errors(std::string_view bytes);
  void write_server();
  void write_client();
  void write_errors();
  void bound_errors();

  bool commit(AuditFile::Force force);
  void update_record();
  [[nodiscard]] bool wants_client() const;
  [[nodiscard]] bool wants_server() const;

  Session& session_;
  AuditFile& record_;
  Server& server_;
  LoopOptions options_;

  Stream client_in_;
  Stream client_out_;
  Stream errors_out_;
  Stream server_in_;
  Stream server_out_;
  Stream server_errors_;
  Relay to_server_;
  Relay to_client_;
  std::string errors_;  // on its way to stderr: the server's words and ours

  Moment now_{};
  Phase phase_ = Phase::relaying;
  std::optional<Ending> cause_;                    // what began the end, once something has
  std::deque<BrokerTask> tasks_;                   // on the record, and not begun
  std::optional<std::uint64_t> deadline_ns_;       // of the phase
  std::optional<std::uint64_t> sync_deadline_ns_;  // of Lines not yet synced
  /// Until when the broker may go on after the client has ended its input.
  std::optional<std::uint64_t> broker_deadline_ns_;
  std::optional<std::uint64_t> errors_deadline_ns_;  // of stderr's reader, once the end has begun
  std::optional<Server::Ended> server_ended_;
  std::optional<int> stop_signal_;
  std::optional<Ending> enforced_;  // why aegis killed the server, when it did
  std::uint64_t output_ = 0;        // bytes of the server's stdout and stderr
  std::vector<pollfd> watched_;     // of wait()
  bool is_client_wanted_ = false;   // to be read, when last waited
  bool is_output_drained_ = false;  // nothing was left in the server's pipe when last read
  bool is_abandoned_ = false;       // some descendant outlived SIGKILL, or the keeper was killed
  bool is_open_synced_ = false;
  bool has_client_failed_ = false;
  bool is_record_failing_ = false;
};

}  // namespace aegis::wrap
