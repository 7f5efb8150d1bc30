// SPDX-License-Identifier: Apache-2.0 OR MIT
// The programs that the benchmark starts around itself. They are modes of its own binary, so that
// all of them are built the same way and none has to be found.
#pragma once

namespace aegis::relay_bench {

inline constexpr const char* kServeMode = "--mode-serve";
inline constexpr const char* kBareRelayMode = "--mode-bare-relay";
inline constexpr const char* kRecordingRelayMode = "--mode-recording-relay";
inline constexpr const char* kFloorMode = "--mode-floor";

/// Answers the requests of wire.h from stdin on stdout until the input ends: the cheapest server
/// there can be.
int serve();

/// Starts `argv` (null-terminated) and moves bytes both ways, looking at none: what any process in
/// between costs.
int relay_bare(char** argv);
/// The same, but before it moves what the client wrote it appends 320 bytes to the file `path` and
/// waits for fdatasync, and after it moved an answer it appends 960: what any process in between
/// costs that lets nothing pass unrecorded and writes as much as aegis.
int relay_recording(const char* path, char** argv);

/// Times what no recorder can do without, when told so on stdin (floor.h): appends to the file
/// `path`, and signs.
int measure_floors(const char* path);

}  // namespace aegis::relay_bench
