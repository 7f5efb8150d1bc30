// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the loop does with a descriptor that is ready, and when the record is written and synced.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "wrap/clock.h"
#include "wrap/limits.h"
#include "wrap/log.h"
#include "wrap/loop.h"

namespace aegis::wrap {

bool Loop::wants_client() const {
  return to_server_.queued() < kQueueLimit && to_client_.queued_own() < kReplyLimit &&
         tasks_.empty();
}

bool Loop::wants_server() const {
  return to_client_.queued() < kQueueLimit;
}

void Loop::read_client() {
  const Transfer got = client_in_.read(to_server_.room());
  switch (got.kind) {
    case Transfer::Kind::later:
      return;
    case Transfer::Kind::moved:
      to_server_.filled(got.count);
      judge_client_frames();
      return;
    case Transfer::Kind::failed:
      say(std::string("reading from the client: ") + std::strerror(got.code));
      has_client_failed_ = true;
      [[fallthrough]];
    case Transfer::Kind::closed:
      if (const auto frame = to_server_.last_frame()) {
        to_server_.judge(session_.client_frame(*frame, now_));
        settle_client_frames();
      }
      client_closed(Ending::client_closed);
      return;
  }
}

void Loop::judge_client_frames() {
  // A disk that was full may have room again; only then may intents be appended.
  if (is_record_failing_) commit(AuditFile::Force::written);
  while (const auto frame = to_server_.next_frame())
    to_server_.judge(session_.client_frame(*frame, now_));
  settle_client_frames();
  if (!to_server_.is_oversize()) return;
  say("reading from the client: a frame is longer than " + std::to_string(options_.max_frame) +
      " bytes, so nothing more is taken from it; --max-frame raises the limit");
  has_client_failed_ = true;
  client_closed(Ending::client_oversize);
}

/// One commit for all the intents that one read brought.
void Loop::settle_client_frames() {
  if (session_.needs_record()) {
    const bool is_synced = options_.durability == Durability::call || !is_open_synced_;
    if (commit(is_synced ? AuditFile::Force::synced : AuditFile::Force::written)) {
      is_open_synced_ = true;
      session_.recorded();
      to_server_.settle(Recorded::yes);
    } else {
      session_.unrecorded(now_);
      to_server_.settle(Recorded::no);
    }
  }
  to_client_.insert(session_.take_replies());
  begin_tasks();
}

void Loop::read_server() {
  const Transfer got = server_out_.read(to_client_.room());
  is_output_drained_ = got.kind != Transfer::Kind::moved;
  switch (got.kind) {
    case Transfer::Kind::later:
      return;
    case Transfer::Kind::moved:
      if (!is_within_output(got.count)) return;
      to_client_.filled(got.count);
      judge_server_frames();
      return;
    case Transfer::Kind::failed:
      say(std::string("reading from the server: ") + std::strerror(got.code));
      [[fallthrough]];
    case Transfer::Kind::closed:
      if (const auto frame = to_client_.last_frame()) judge_server_frame(*frame);
      server_out_.close();
      return;
  }
}

void Loop::judge_server_frames() {
  while (const auto frame = to_client_.next_frame())
    judge_server_frame(*frame);
  if (!to_client_.is_oversize()) return;
  say("reading from the server: a frame is longer than " + std::to_string(options_.max_frame) +
      " bytes, so nothing more is relayed to the client; --max-frame raises the limit");
  server_out_.close();
  client_closed(Ending::server_oversize);
}

void Loop::judge_server_frame(std::string_view frame) {
  const bool is_relayed = client_out_.is_open();
  const bool is_strict = options_.strict_stdout == StrictStdout::yes;
  const std::uint64_t delivered_at = to_client_.queued_total() + frame.size();
  std::optional<audit::FrameDigest> digest;
  if (is_relayed && !is_strict && frame.size() >= kForwardFirst && session_.in_flight() > 0 &&
      session_.may_forward_first()) {
    digest = forward_and_digest(frame);
  }
  const auto judge = is_strict ? Session::JudgeJson::yes : Session::JudgeJson::no;
  Session::ServerFrame seen = session_.server_frame({frame, delivered_at, digest}, judge, now_);
  if (seen.is_work && phase_ == Phase::draining)
    arm_deadline();  // the grace bounds silence, not work
  if (is_strict && !seen.is_json && seen.relayed.how == Relayed::How::as_it_is)
    seen.relayed = {.how = Relayed::How::nothing, .left_out = LeftOut::no_json};
  relay_server_frame(frame, std::move(seen));
}

/// A line that is no message at all is meant for people, like the server's stderr. Where that is
/// not read the server need not wait for it, for it did not mean to write there.
void Loop::tell_left_out(std::string_view frame, LeftOut why) {
  if (why == LeftOut::no) return;
  const bool has_room =
      errors_.size() < kQueueLimit && frame.size() <= kQueueLimit - errors_.size();
  if (why == LeftOut::no_json && has_room) {
    errors_ += frame;
  } else {
    say(left_out_sentence(frame, why));
  }
}

void Loop::relay_server_frame(std::string_view frame, Session::ServerFrame seen) {
  for (const std::string& note : seen.notes)
    say(note);
  tell_left_out(frame, seen.relayed.left_out);
  const bool is_relayed = client_out_.is_open();
  Fate fate = Fate::drop;
  switch (seen.relayed.how) {
    case Relayed::How::as_it_is:
      if (is_relayed) fate = Fate::pass;
      break;
    case Relayed::How::replaced:
      if (is_relayed) to_client_.insert(std::move(seen.relayed.frame));
      break;
    case Relayed::How::nothing:
      break;
  }
  to_client_.judge(fate);
}

/// Nothing of an answer is judged before it goes on, so the client may read it while we digest it.
audit::FrameDigest Loop::forward_and_digest(std::string_view frame) {
  to_client_.forward();
  audit::Sha256Stream stream;
  for (std::string_view rest = mcp::frame_content(frame); !rest.empty();) {
    write_client();
    const std::string_view piece = rest.substr(0, kDigestPiece);
    stream.update(piece);
    rest.remove_prefix(piece.size());
  }
  return {stream.finish()};
}

void Loop::write_client() {
  if (!client_out_.is_open()) return;
  for (std::string_view bytes = to_client_.front(); !bytes.empty(); bytes = to_client_.front()) {
    const Transfer put = client_out_.write(bytes);
    switch (put.kind) {
      case Transfer::Kind::moved:
        to_client_.wrote(put.count);
        break;
      case Transfer::Kind::later:
        return;
      case Transfer::Kind::failed:
        say(std::string("writing to the client: ") + std::strerror(put.code));
        has_client_failed_ = true;
        [[fallthrough]];
      case Transfer::Kind::closed:
        client_gone();
        return;
    }
  }
  // After its last word the server's end of output is the client's.
  if (!server_out_.is_open() && to_client_.queued() == 0 && !awaits_broker()) client_out_.close();
}

void Loop::write_server() {
  if (!server_in_.is_open()) return;
  for (std::string_view bytes = to_server_.front(); !bytes.empty(); bytes = to_server_.front()) {
    const Transfer put = server_in_.write(bytes);
    switch (put.kind) {
      case Transfer::Kind::moved:
        to_server_.wrote(put.count);
        if (phase_ == Phase::draining) arm_deadline();  // who reads is not silent
        break;
      case Transfer::Kind::later:
        return;
      case Transfer::Kind::failed:
        say(std::string("writing to the server: ") + std::strerror(put.code));
        [[fallthrough]];
      case Transfer::Kind::closed:
        // The client learns it as it would without us: its own writes fail.
        to_server_.discard();
        server_in_.close();
        client_in_.close();
        return;
    }
  }
  if (!client_in_.is_open() && to_server_.queued() == 0) server_in_.close();
}

void Loop::read_errors() {
  std::array<char, kReadSize> piece;
  const Transfer got = server_errors_.read(piece);
  switch (got.kind) {
    case Transfer::Kind::later:
      return;
    case Transfer::Kind::moved:
      if (!is_within_output(got.count)) return;
      copy_errors({piece.data(), got.count});
      errors_.append(piece.data(), got.count);
      if (options_.on_errors) options_.on_errors({piece.data(), got.count});
      return;
    case Transfer::Kind::closed:
    case Transfer::Kind::failed:
      server_errors_.close();
      return;
  }
}

/// Into --stderr-log.
void Loop::copy_errors(std::string_view bytes) {
  while (options_.stderr_log.is_open() && !bytes.empty()) {
    const ssize_t put = ::write(options_.stderr_log.get(), bytes.data(), bytes.size());
    if (put < 0) {
      say(std::string("copying the server's stderr to --stderr-log: ") + std::strerror(errno) +
          "; the copy ends here");
      options_.stderr_log.reset();
    } else {
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
  }
}

void Loop::write_errors() {
  while (errors_out_.is_open() && !errors_.empty()) {
    const Transfer put = errors_out_.write(errors_);
    if (put.kind == Transfer::Kind::later) return;
    if (put.kind == Transfer::Kind::moved) {
      errors_.erase(0, put.count);
      errors_deadline_ns_.reset();  // who reads is not silent
    } else {
      errors_out_.close();
    }
  }
  if (!errors_out_.is_open())
    errors_.clear();  // nobody reads it; the server must not wait for that
}

/// Who reads no stderr holds up the server, as it would without us, but not its end: after the
/// grace nobody is taken to read it.
void Loop::bound_errors() {
  if (errors_.empty() || phase_ == Phase::relaying) {
    errors_deadline_ns_.reset();
  } else if (!errors_deadline_ns_) {
    errors_deadline_ns_ = now_.mono_ns + nanoseconds(options_.grace);
  } else if (now_.mono_ns >= *errors_deadline_ns_) {
    errors_deadline_ns_.reset();
    errors_out_.close();
    errors_.clear();
  }
}

/// Writes what is queued. Says what became of it once, when it changes.
bool Loop::commit(AuditFile::Force force) {
  const AuditFile::Committed committed = record_.commit(force);
  const bool is_good = committed == AuditFile::Committed::ok;
  if (is_good && force == AuditFile::Force::synced) sync_deadline_ns_.reset();
  if (is_good == is_record_failing_) {
    if (is_good) {
      say("recording: the record can be written again; calls go through again");
    } else {
      say("recording: " + confine::describe(record_.error()) + "; calls are refused" +
          (committed == AuditFile::Committed::failed ? " until aegis is started again"
                                                     : " until it can be written"));
    }
  }
  is_record_failing_ = !is_good;
  session_.set_record_available(is_good);
  return is_good;
}

/// After all bytes are on their way: outcomes, the writes and syncs that are due, and the seal once
/// nothing is open.
void Loop::update_record() {
  if (session_.is_sealed()) return;
  session_.delivered(to_client_.written_total(), now_);
  if (phase_ == Phase::draining && !client_in_.is_open() && session_.is_quiet()) {
    seal({*cause_, *cause_});
    return;
  }
  if (record_.has_queued() && !is_record_failing_) {
    // The client has its answer: now is the time for what the next call's sync need not do.
    const bool is_sync_next = options_.durability == Durability::call;
    commit(is_sync_next ? AuditFile::Force::started : AuditFile::Force::written);
  }
  const bool is_sync_wanted = options_.durability != Durability::off && !is_record_failing_;
  if (!is_sync_wanted || !record_.has_unsynced()) {
    sync_deadline_ns_.reset();
  } else if (!sync_deadline_ns_) {
    sync_deadline_ns_ = now_.mono_ns + nanoseconds(kSyncDelay);
  } else if (now_.mono_ns >= *sync_deadline_ns_) {
    commit(AuditFile::Force::synced);
  }
}

}  // namespace aegis::wrap
