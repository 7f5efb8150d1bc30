#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The order of what aegis asks of the kernel: an intent is written, and in mode
`call` synced, before its frame goes on."""

import re
import subprocess
import unittest

import harness
from harness import call, request

FRAME = r'write\(\d+, "\{\\"jsonrpc\\":.*tools/call'
INTENT = r'(write|writev|pwrite64)\(\d+, .*\\"line_type\\":\\"intent\\"'
OUTCOME = r'\\"line_type\\":\\"outcome\\"'
SYNC = r"(fdatasync|fsync)\("


@harness.needs_strace
class Order(harness.SessionCase):
    patience = 60

    def env(self, **more):
        return super().env(ASAN_OPTIONS="detect_leaks=0", **more)  # the leak finder cannot work under a tracer

    def trace(self, mode, *writes, frames):
        """What aegis did in a session whose client makes these writes, each after the answers to the one before."""
        log = self.path("trace")
        words = ["strace", "-qq", "-s", "100000", "-o", log, "-e", "trace=write,writev,pwrite64,fsync,fdatasync",
                 harness.AEGIS, "wrap", "--audit", self.audit, "--durability", mode, "--",
                 harness.SCRIPT_SERVER, "serve"]
        process = subprocess.Popen(words, env=self.env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, bufsize=0)
        out = harness.Stream(process.stdout.fileno())
        for data, count in zip(writes, frames):
            process.stdin.write(data)
            for _ in range(count):
                self.assertTrue(out.frame())
        process.stdin.close()
        self.assertEqual(process.wait(), 0)
        process.stdout.close()
        return harness.read_text(log).splitlines()

    def kinds(self, lines):
        """A letter a step: s a sync, i a write with intents, f a frame to the server, o a write with outcomes."""
        text = ""
        for line in lines:
            for letter, pattern in (("s", SYNC), ("i", INTENT), ("f", FRAME), ("o", OUTCOME)):
                if re.search(pattern, line):
                    text += letter
        return text

    def session(self, mode):
        return self.kinds(self.trace(mode, request(0, "initialize"), call(1), call(2), call(3), frames=[1, 1, 1, 1]))

    def test_call_syncs_each_intent_before_its_frame(self):
        self.assertRegex(self.session("call"), "^s*(o?is+f[os]*){3}o?s+$")

    def test_session_writes_each_intent_before_its_frame_and_syncs_the_first_and_the_end(self):
        self.assertRegex(self.session("session"), "^s*is+f[os]*(is*f[os]*){2}o?s+$")

    def test_off_syncs_nothing_but_the_opening(self):
        self.assertRegex(self.session("off"), "^s*is*f(o?if){2}o?$")

    def test_calls_of_one_read_share_one_sync(self):
        calls = b"".join(call(id) for id in range(1, 33))
        steps = self.kinds(self.trace("call", request(0, "initialize"), calls, frames=[1, 32]))
        self.assertRegex(steps, "i+s+f")
        self.assertLessEqual(steps[steps.index("i"):steps.index("f")].count("s"), 2)  # the file's and its folder's


if __name__ == "__main__":
    harness.main()
