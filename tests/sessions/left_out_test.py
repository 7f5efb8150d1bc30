#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What does not reach the client is told of on stderr, in bounds; and a stderr that nobody reads stops nothing."""

import os
import time

import brokered
import harness
from harness import answer

class Unread(brokered.BrokerCase):
    """Nobody reads stderr, a pipe that holds 64 KiB."""

    def begin(self, *flags, **options):
        return self.puppet("--grace", "1", *flags, collects=False, **options)

    def end(self, wrap, server):
        """The session ends soon, and its record verifies."""
        began = time.monotonic()
        server.exit(0)
        wrap.close_stdin()
        self.assertEqual(wrap.out.rest(), b"")
        wrap.process.wait(15)
        self.assertLess(time.monotonic() - began, 10)
        return self.check_record()

    def test_what_the_server_wrote_to_stderr_holds_no_end_and_is_in_the_log(self):
        log = self.path("log")
        wrap, server = self.begin("--stderr-log", log)
        words = b"0123456789abcde\n" * 7500  # more than a pipe holds, less than two
        server.complain(words)
        server.send(answer(1))
        self.assertEqual(wrap.recv(), answer(1))
        self.end(wrap, server)
        self.assertSame(harness.read_bytes(log), words)

    def test_who_reads_slowly_reads_all(self):
        wrap, server = self.begin()
        words = b"0123456789abcde\n" * 7500  # more than a pipe holds, less than two
        server.complain(words)
        server.exit(0)
        wrap.close_stdin()
        got = b""
        while True:
            time.sleep(0.3)  # what aegis holds at the end takes longer than the grace
            piece = os.read(wrap.process.stderr.fileno(), 10000)
            if not piece:
                break
            got += piece
        self.assertEqual(wrap.wait(), 0)
        self.assertSame(got[-len(words):], words)


if __name__ == "__main__":
    harness.main()
