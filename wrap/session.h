// SPDX-License-Identifier: Apache-2.0 OR MIT
// The protocol's whole logic, with no I/O: frames of both sides in; their fates, our answers to the
// client and Lines for the record out. Time and randomness arrive as arguments. `loop` moves the
// bytes.
//
// The order for the client's frames that one read brought: client_frame for each; when
// needs_record() says so the owner commits the sink and reports recorded() or unrecorded(); only
// then may frames that wait for it go on. For the server's: server_frame for each, the bytes go to
// the client, then delivered() writes the outcomes.
//
// With a broker in it: after recorded() the owner hands take_tasks() to the broker and tells it of
// take_cancelled(); what it is done with comes back through broker_done().
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audit/chain.h"
#include "mcp/message.h"
#include "mcp/refusal.h"
#include "policy/policy.h"
#include "policy/rate.h"
#include "wrap/broker.h"
#include "wrap/broker_calls.h"
#include "wrap/broker_offer.h"
#include "wrap/calls.h"
#include "wrap/relay.h"
#include "wrap/tool_lists.h"

namespace aegis::wrap {

struct Moment {
  std::uint64_t mono_ns;   // CLOCK_MONOTONIC
  audit::UnixMicros wall;  // CLOCK_REALTIME
};

/// 128 bits for a fresh approval id; a test gives what it likes.
class Randomness {
 public:
  Randomness() = default;
  Randomness(const Randomness&) = delete;
  Randomness& operator=(const Randomness&) = delete;
  virtual ~Randomness() = default;
  /// 32 lower-case hex digits.
  virtual std::string hex128() = 0;
};

/// Why a session ends: what calls without an answer are closed with, and the `close` Line's reason.
enum class Ending : std::uint8_t {
  client_closed,    // the client's end of input, nothing in flight
  grace_ran_out,    // ... and the server was silent past the grace
  server_ended,     // its process or its output
  server_trapped,   // SIGSYS: killed by a seccomp filter
  client_oversize,  // a frame over --max-frame
  server_oversize,
  not_started,      // the server's program could not be run
  stopped,          // a signal told aegis to stop
  output_exceeded,  // a confined server's --max-output
  disk_floor,       // the workspace's file system is nearly full
  guard_lost,       // configuration files of the workspace can no longer be kept from it
};

class Session {
 public:
  struct Options {
    mcp::RefuseAs refuse_as = mcp::RefuseAs::error;
    std::optional<std::string> role = {};
    const audit::Grant* grant = nullptr;  // of a confined server; outlives the session
  };

  /// `chain` (its `open` Line appended) and `randomness` must outlive the session. Without a policy
  /// every frame passes.
  Session(Options options, audit::Chain& chain, Randomness& randomness);

  /// From the next frame on. The rate windows go on.
  void use_policy(policy::Policy policy);
  /// Once, before the first frame. From then on the client's frames are held to the strict reading,
  /// calls that name an offered operation never go to the server, and its lists of tools are
  /// amended.
  void use_broker(BrokerOffer offer);

  Fate client_frame(std::string_view frame, Moment now);
  /// Some frames that were judged wait for the record.
  [[nodiscard]] bool needs_record() const { return !awaiting_.empty(); }
  void recorded();
  /// Their calls are refused instead: the waiting frames must be dropped.
  void unrecorded(Moment now);
  /// Whether the record takes Lines at all. While it does not, whatever may be a call is refused.
  void set_record_available(bool is_available) { is_record_available_ = is_available; }

  struct ServerFrame {
    bool is_json = true;   // only judged when `judge_json` was asked for or a call is in flight
    bool is_work = false;  // an answer or a progress notification
    Relayed relayed = {};  // only with a broker other than as it is
    std::vector<std::string> notes = {};  // for stderr, each once for all frames
  };
  enum class JudgeJson : std::uint8_t { no, yes };
  struct FromServer {
    std::string_view frame;
    /// The value of the to-client relay's written_total once this frame has been written.
    std::uint64_t delivered_at;
    std::optional<audit::FrameDigest> digest = {};  // when its owner has taken it already
  };
  ServerFrame server_frame(const FromServer& from, JudgeJson judge, Moment now);
  /// Whether a server's frame may be on its way before server_frame has seen it: with a broker it
  /// may be one that is amended, or that must not be relayed.
  [[nodiscard]] bool may_forward_first() const { return !broker_; }
  /// So many bytes have been written to the client in all: outcomes of what was answered with them,
  /// and of what was refused, go to the chain.
  void delivered(std::uint64_t written_total, Moment now);
  /// The confinement refused the server something, or undid it: goes on the record of every call in
  /// flight.
  void note_refusal(std::string_view sentence);
  /// Nothing more can be delivered: later outcomes have no response_digest.
  void client_gone() { is_client_gone_ = true; }
  /// Calls that have no answer yet.
  [[nodiscard]] std::size_t in_flight() const {
    return calls_.size() + awaiting_.size() + brokered();
  }
  /// Those of them that the broker is at.
  [[nodiscard]] std::size_t brokered() const { return broker_ ? broker_->calls.size() : 0; }

  /// What the broker is to begin, in order, and which of what it has begun it is to end.
  std::vector<BrokerTask> take_tasks();
  std::vector<std::uint64_t> take_cancelled();
  /// One of them is done. Its answer is among our frames; `queued_total` is that of the to-client
  /// relay, into which they go next.
  void broker_done(Broker::Done done, std::uint64_t queued_total);
  /// What is cancelled from now on is cancelled for this, not by the client.
  void end_broker(Ending ending);
  /// When report_progress has something to say.
  [[nodiscard]] std::optional<std::uint64_t> next_progress_ns() const;
  void report_progress(Moment now);

  /// No call is open, and every outcome is in the chain.
  [[nodiscard]] bool is_quiet() const { return in_flight() == 0 && ended_.empty(); }

  /// Our frames for the client since the last call.
  std::string take_replies() { return std::exchange(replies_, {}); }

  struct Seal {
    Ending calls;    // why no answer can come any more
    Ending session;  // what began the end: the `close` Line's reason
  };
  /// Closes every call and appends `close`. Nothing is recorded after it; a second call does
  /// nothing.
  void seal(const Seal& seal, Moment now);
  [[nodiscard]] bool is_sealed() const { return is_sealed_; }

 private:
  struct Judgement {                               // of one call
    std::optional<mcp::RefusalCode> refused = {};  // empty: it may run
    std::string reason = {};                       // for the record
    std::string message = {};                      // for the client's user and model
    std::string approval_id = {};
    std::optional<std::string> matched_rule = {};
    bool is_by_broker = false;  // no rule was asked
  };
  struct ForBroker {
    mcp::BrokerRequest request;
    std::string progress_token;
    std::string loose_key;
  };
  struct Awaiting {  // its intent is appended and not committed
    CallInFlight call;
    mcp::Id::Type id_type;
    std::string id_lexeme;
    bool is_in_batch;
    std::optional<ForBroker> for_broker = {};
  };
  static constexpr std::string_view kNotExecuted = "not executed";
  static constexpr std::string_view kNoAnswerPossible = "no id: no answer can come";
  enum class How : std::uint8_t { success, host_denied, trap, resource_exceeded };
  struct Ended {  // an outcome that waits until its answer is on its way
    CallInFlight call;
    Judgement judgement = {};
    How how = How::success;
    std::string reason = {};  // unless success
    std::uint64_t delivered_at = 0;
    std::optional<audit::FrameDigest> response_digest = {};
    std::uint64_t response_bytes = 0;
    std::uint64_t ended_ns = 0;
    std::optional<Broker::Done> done =
        {};  // of the broker's; then `how` and `judgement` are unused
  };
  struct Brokered {  // what there is with a broker only
    explicit Brokered(BrokerOffer offered) : offer(std::move(offered)) {}

    BrokerOffer offer;
    ToolLists lists;
    BrokerCalls calls;
    std::vector<BrokerTask> tasks;
    std::vector<std::uint64_t> cancelled;
    std::vector<std::string> hidden;    // names of tools of the server's that were taken out
    std::vector<std::string> unsaid;    // those of them that no outcome has told of
    std::optional<Ending> ending = {};  // why aegis cancels
  };
  struct Frame {  // of the client, being judged
    std::string_view content;
    const mcp::Reading& reading;
    Moment now;
  };

  Fate judge_frame(const Frame& frame);
  enum class CallOf : std::uint8_t { nobody, server, broker };
  CallOf cancel(const mcp::Id& id);
  Fate refuse_unreadable(const Frame& frame);
  Fate relay_unread(const Frame& frame);
  Fate refuse_frame(const Frame& frame);
  void judge_calls(const Frame& frame);
  Judgement judge_call(std::optional<std::string_view> tool, Moment now);
  CallInFlight begin_call(const Frame& frame,
                          const mcp::Message* message,
                          const Judgement& judgement);
  void begin_calls(const Frame& frame);
  [[nodiscard]] std::string encode_batch_reply(const Frame& frame) const;
  void reply(const mcp::Id& id, const Judgement& judgement);

  [[nodiscard]] policy::Verdict decide(std::string_view tool) const;
  [[nodiscard]] const BrokerOffer::Tool* find_offered(std::optional<std::string_view> tool) const;
  [[nodiscard]] std::string listed_tools() const;
  [[nodiscard]] bool concerns_broker(const mcp::Message& message) const;
  std::optional<Fate> judge_for_broker(const Frame& frame);
  Fate refuse_broker_batch(const Frame& frame);
  [[nodiscard]] bool is_id_of_operation(const mcp::Id& id) const;
  std::optional<Fate> refuse_unaskable(const Frame& frame);
  Fate refuse_requests(const Frame& frame, const Judgement& judgement);
  void note_asked(const Frame& frame);
  Fate judge_operation(const Frame& frame, mcp::Operation operation);
  void begin_operation(Awaiting awaiting);
  void end_operation(BrokerCall call, Broker::Done done, std::uint64_t queued_total);
  void close_operations(Ending ending, Moment now);
  void note_hidden(CallInFlight& call);
  [[nodiscard]] bool tells_of_operation(const mcp::ServerPeek& peek) const;
  Relayed relay_beside(std::string_view frame, const mcp::Reading& reading);
  void relay_amended(const FromServer& from, const mcp::Reading& reading, ServerFrame& seen);
  void end_left_out(const Relayed& relayed);
  void append_done(const Ended& ended, audit::Outcome& line, Moment now);

  void end_answered(const FromServer& from, const mcp::Reading& reading, Moment now);
  void end_refused(CallInFlight call, Judgement judgement, Moment now);
  void append_outcome(const Ended& ended, Moment now);
  static How how_of(Ending ending);
  void close_calls(Ending ending, Moment now);

  Options options_;
  audit::Chain& chain_;
  Randomness& randomness_;
  mcp::MessageReader client_reader_;
  mcp::MessageReader server_reader_;
  std::optional<policy::Policy> policy_;
  audit::PolicySetHash policy_set_hash_;
  policy::RateWindows windows_;

  std::optional<Brokered> broker_;

  CallTable calls_;
  std::vector<Awaiting> awaiting_;
  std::string unrecorded_batches_;  // what answers the awaiting batches if the record fails
  std::vector<Judgement>
      judgements_;  // of the messages of the frame in hand; unused for what is no call
  std::deque<Ended> ended_;
  std::string replies_;
  std::uint64_t call_count_ = 0;
  std::uint64_t unread_count_ = 0;
  bool is_record_available_ = true;
  bool is_client_gone_ = false;
  bool is_sealed_ = false;
};

}  // namespace aegis::wrap
