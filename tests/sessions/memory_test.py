#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a session may keep in memory: two frames and a constant, whoever sends and whoever does not read.

The peak is the kernel's own (VmHWM), so no moment is missed.
"""

import hashlib
import os
import select
import subprocess
import threading
import unittest

import harness
import record
from harness import answer, call

MIB = 1 << 20
CONSTANT_KIB = 16 * 1024  # the idle process is within it too
FLOOD_FRAME = '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"' + "x" * 900 + '"}}'


@harness.not_sanitized
class Memory(harness.SessionCase):
    patience = 60

    def check_peak(self, wrap, frames, frame_bytes):
        peak = wrap.peak_kib()
        print(f"{self.id().rpartition('.')[2]}: peak {peak} KiB")
        self.assertLessEqual(peak, frames * frame_bytes // 1024 + CONSTANT_KIB)

    def test_idle(self):
        wrap, server = self.puppet()
        wrap.send(call(1))
        server.recv()
        server.send(answer(1))
        wrap.recv()
        print(f"idle: {harness.status_kib(wrap.pid, 'VmRSS')} KiB")
        self.assertLessEqual(harness.status_kib(wrap.pid, "VmRSS"), 10 * 1024)

    def test_a_48_mib_answer_to_a_slow_reader(self):
        wrap, server = self.puppet()
        wrap.send(call(1))
        server.recv()
        server.start(f"frame={48 * MIB}")
        digest, size = hashlib.sha256(), 0
        while size < 48 * MIB:
            piece = os.read(wrap.out.fd, 8192)
            digest.update(piece[:-1] if piece.endswith(b"\n") else piece)
            size += len(piece)
        self.assertEqual(server.finish(), b"done")
        self.check_peak(wrap, 2, 48 * MIB)
        outcome = harness.record.outcomes(self.finish(wrap, server))[0]
        self.assertEqual(outcome["response_digest"], digest.hexdigest())

    def test_48_mib_answers_one_after_another_to_a_client_that_reads_none(self):
        wrap, server = self.puppet()
        for _ in range(3):
            server.socket.send(f"frame={48 * MIB}".encode())
        self.quiet(server)
        self.check_peak(wrap, 2, 48 * MIB)

    def test_a_48_mib_call(self):
        wrap, server = self.puppet("--policy", self.deny_evil())
        asked = call(1, text="x" * (48 * MIB))
        sender = threading.Thread(target=wrap.send, args=(asked,))
        sender.start()
        self.assertEqual(hashlib.sha256(server.recv()).digest(), hashlib.sha256(asked).digest())
        sender.join()
        self.check_peak(wrap, 2, 48 * MIB)

    def quiet(self, server):
        """Until the server has been unable to write, or to read, for a moment."""
        while select.select([], [server.fds[1]], [], 0.5)[1]:
            select.select([], [], [], 0.01)

    def test_a_server_that_floods_a_client_that_reads_nothing(self):
        wrap, server = self.puppet()
        flood = subprocess.Popen(["/usr/bin/yes", FLOOD_FRAME], stdout=server.fds[1])
        self.quiet(server)
        self.check_peak(wrap, 0, 0)
        flood.kill()
        flood.wait()

    def test_a_client_that_floods_a_server_that_reads_nothing(self):
        wrap, server = self.puppet()
        flood = subprocess.Popen(["/usr/bin/yes", FLOOD_FRAME], stdout=wrap.process.stdin)
        while select.select([], [wrap.process.stdin], [], 0.5)[1]:
            select.select([], [], [], 0.01)
        self.check_peak(wrap, 0, 0)
        flood.kill()
        flood.wait()

    def test_a_client_that_floods_calls_and_reads_no_refusal(self):
        wrap, server = self.puppet("--policy", self.deny_evil(), "--durability", "off")
        flood = subprocess.Popen(["/usr/bin/yes", call(1, "evil")[:-1].decode()], stdout=wrap.process.stdin)
        while select.select([], [wrap.process.stdin], [], 0.5)[1]:
            select.select([], [], [], 0.01)
        self.check_peak(wrap, 0, 0)
        flood.kill()
        flood.wait()

    def test_a_server_that_floods_stderr_that_nobody_reads(self):
        wrap, server = self.puppet(collects=False)
        flood = subprocess.Popen(["/usr/bin/yes", FLOOD_FRAME], stdout=server.fds[2])
        while select.select([], [server.fds[2]], [], 0.5)[1]:
            select.select([], [], [], 0.01)
        self.check_peak(wrap, 0, 0)
        flood.kill()
        flood.wait()


class Oversize(harness.SessionCase):
    patience = 60

    def limit(self, wrap, bytes):
        if not harness.IS_SANITIZED:
            self.assertLessEqual(wrap.peak_kib(), 2 * bytes // 1024 + CONSTANT_KIB)

    def test_a_frame_of_exactly_the_limit_crosses_both_ways(self):
        limit = 100000
        asked = call(1, text="x" * (limit + 1 - len(call(1, text=""))))
        self.assertEqual(len(asked), limit + 1)
        wrap, server = self.puppet("--max-frame", str(limit))
        wrap.send(asked)
        self.assertSame(server.recv(), asked)
        server.start(f"frame={limit + 1}")
        self.assertEqual(len(wrap.recv()), limit + 1)

    def check_end(self, wrap):
        """A clear error, no half frame for either side, and a sealed record that says why."""
        self.assertIn("max-frame", wrap.own_words())
        self.assertIn("frame", self.check_record()[-1]["reason"])

    def test_a_servers_longer_frame_ends_its_direction(self):
        wrap, server = self.puppet("--max-frame", "100000", "--grace", "1")
        server.send(answer(1))
        self.assertEqual(wrap.recv(), answer(1))
        server.start("frame=100002")
        self.assertEqual(wrap.out.rest(), b"")
        wrap.close_stdin()
        wrap.wait()
        self.check_end(wrap)

    def test_a_servers_longer_frame_is_on_the_record_of_the_calls_in_flight(self):
        for after_client, before_end in ((False, False), (True, False), (True, True)):
            with self.subTest(after_client=after_client, before_end=before_end):
                path = self.path(f"{after_client}-{before_end}.aarl")
                wrap, server = self.puppet("--max-frame", "100000", "--grace", "1", audit=path)
                wrap.send(call(1))
                self.assertEqual(server.recv(), call(1))
                if after_client:
                    wrap.close_stdin()
                    self.assertEqual(server.input.rest(), b"")
                server.start("frame=100002")
                self.assertEqual(wrap.out.rest() if not after_client else b"", b"")
                if not after_client:
                    wrap.close_stdin()
                elif before_end:
                    server.exit(0)
                wrap.wait()
                outcome = record.outcome_of(self.check_record(path), call(1))
                self.assertEqual(outcome["execution"],
                                 {"reason": "server frame over --max-frame", "status": "host_denied"})

    def test_a_clients_longer_frame_ends_its_direction(self):
        wrap, server = self.puppet("--max-frame", "100000", "--grace", "1")
        wrap.send(call(1))
        self.assertEqual(server.recv(), call(1))
        sender = subprocess.Popen(["/bin/cat", self.write("big", call(2, text="x" * 100000) + call(3))],
                                  stdout=wrap.process.stdin, stderr=subprocess.DEVNULL)
        wrap.close_stdin()
        self.assertEqual(server.input.rest(), b"")
        server.exit(0)
        wrap.wait()
        sender.wait()
        self.check_end(wrap)

    def endless(self, limit, *flags):
        """A server that writes one line for ever."""
        wrap = self.wrap(*flags, server=[harness.SCRIPT_SERVER, "flood", "drain"])
        with wrap.collector.news:
            wrap.collector.news.wait_for(lambda: b"max-frame" in wrap.collector.bytes or wrap.collector.is_over)
        if wrap.is_running():
            self.limit(wrap, limit)
        self.assertEqual(wrap.out.rest(), b"")
        wrap.close_stdin()
        wrap.wait()
        self.check_end(wrap)

    def test_an_endless_line_ends_at_the_default_limit(self):
        self.endless(64 * MIB)

    def test_an_endless_line_ends_at_a_small_limit(self):
        self.endless(MIB, "--max-frame", str(MIB))

    def test_an_endless_line_of_the_client_ends(self):
        wrap, server = self.puppet("--max-frame", str(MIB), "--grace", "1")
        sender = subprocess.Popen("exec tr '\\0' x </dev/zero", shell=True, stdout=wrap.process.stdin,
                                  stderr=subprocess.DEVNULL)
        self.assertEqual(server.input.rest(), b"")
        self.limit(wrap, MIB)
        server.exit(0)
        wrap.wait()
        wrap.close_stdin()
        sender.kill()
        sender.wait()
        self.check_end(wrap)


if __name__ == "__main__":
    harness.main()
