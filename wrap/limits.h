// SPDX-License-Identifier: Apache-2.0 OR MIT
// Every bound that the interposer keeps, in one place. Reaching one is a verdict that the client or
// the record is told of, never a crash.
#pragma once

#include <chrono>
#include <cstddef>

namespace aegis::wrap {

/// Bytes a frame may have, its '\n' not counted, unless --max-frame says otherwise.
inline constexpr std::size_t kDefaultMaxFrame = std::size_t{64} << 20;
/// What --max-frame takes at most: a frame is held whole, and its size is recorded as a 53-bit
/// number.
inline constexpr std::size_t kLargestMaxFrame = std::size_t{4} << 30;

/// Bytes asked of one read(2). A default pipe holds as much (pipe(7)).
inline constexpr std::size_t kReadSize = std::size_t{64} << 10;
/// A direction is not read while this many of its bytes wait to be written.
inline constexpr std::size_t kQueueLimit = std::size_t{256} << 10;
/// The client is not read while this many bytes of refusals wait for it: one that never reads must
/// not make aegis grow.
inline constexpr std::size_t kReplyLimit = std::size_t{256} << 10;
/// A buffer that a large frame has grown is given back when it is empty and larger than this.
inline constexpr std::size_t kKeptBuffer = std::size_t{4} << 20;

/// A server's frame from this size on is on its way before it is looked at, and digested between
/// the writes in pieces: the client reads while we do. Worth a third of the throughput of 1 MiB
/// answers; below this nothing.
inline constexpr std::size_t kForwardFirst = kReadSize;
/// About 20 us of digesting.
inline constexpr std::size_t kDigestPiece = std::size_t{32} << 10;

/// Calls that may wait for an answer at once: no more than a verifier can follow, whose memory is
/// bounded (audit/pairing.h), even with tool names of 1 KiB.
inline constexpr std::size_t kMaxInFlight = 4096;
/// Requests of the client's that a server beside a broker has not answered, and the bytes of their
/// ids: one beyond is refused. They must be remembered, for only their answers are relayed.
inline constexpr std::size_t kMaxAsked = 2 * kMaxInFlight;
inline constexpr std::size_t kMaxAskedBytes = std::size_t{1} << 20;
/// How often a client that asked for it is told that an operation of the broker's is under way.
inline constexpr std::chrono::seconds kProgressPeriod{1};
/// How long a session's end waits for the ends of the broker's runs, which are killed: some
/// milliseconds each.
inline constexpr std::chrono::milliseconds kBrokerWait{500};
/// (rule, tool) pairs whose rate is counted at once.
inline constexpr std::size_t kMaxRateWindows = 4096;

/// How long written Lines may stay unsynced (record.md, durability).
inline constexpr std::chrono::milliseconds kSyncDelay{50};
/// Between SIGTERM and SIGKILL to the server.
inline constexpr std::chrono::milliseconds kKillDelay{1000};
/// What --grace is when it is not given.
inline constexpr std::chrono::milliseconds kDefaultGrace{5000};
/// How long the end waits for the keeper to have ended every descendant. It goes on without us
/// after that.
inline constexpr std::chrono::milliseconds kKeeperWait{2000};

}  // namespace aegis::wrap
