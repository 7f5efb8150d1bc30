#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What does not reach the client is told of on stderr, in bounds; and a stderr that nobody reads stops nothing."""

import os
import signal
import time

import brokered
import harness
import record
from harness import answer, call, frame, request
from processes import Collector

MiB = 1 << 20


class Told(brokered.BrokerCase):
    """By aegis's own lines."""

    def told(self, wrap):
        return [line for line in wrap.own_words().splitlines() if "kept from the client" in line]

    def test_how_it_began_how_long_it_was_and_why(self):
        wrap, server = self.puppet("--broker", self.broker_policy())
        long = answer(1, x="\u001b[31m" + "y" * MiB)
        server.send(long, b"\x1b[2Jbanner\n", answer(2), request(3, "ping"))
        self.assertEqual(wrap.recv(), request(3, "ping"))
        self.finish(wrap, server)
        first, second, third = self.told(wrap)
        self.assertIn(f"it answers what was not asked, and could be taken for an answer of the broker's; {len(long) - 1} "
                      "bytes: " + long[:200].decode() + " [...]", first)
        self.assertIn("it does not read the same for every parser; 10 bytes: \\x1b[2Jbanner", second)
        self.assertTrue(third.endswith(answer(2).decode().strip()))
        self.assertLess(len(wrap.stderr()), 2000)

    def test_a_copy_of_the_servers_stderr_holds_what_the_server_wrote_there(self):
        log = self.path("log")
        wrap, server = self.puppet("--strict-stdout", "--stderr-log", log)
        server.complain(b"one\n")
        server.send(b"no json\n", answer(1))
        self.assertEqual(wrap.recv(), answer(1))
        server.complain(b"\xfftwo")
        self.finish(wrap, server)
        self.assertEqual(harness.read_bytes(log), b"one\n\xfftwo")
        self.assertIn(b"\xfftwo", wrap.stderr())
        self.assertIn(b"no json\n", wrap.stderr())


    def test_a_line_too_long_for_stderr_is_told_of(self):
        wrap, server = self.puppet("--strict-stdout")
        server.send(b"x" * MiB + b"\n", answer(1))
        self.assertEqual(wrap.recv(), answer(1))
        self.finish(wrap, server)
        self.assertRegex(self.told(wrap)[0], rf"it is no JSON; {MiB} bytes: x{{200}} \[\.\.\.\]$")
        self.assertLess(len(wrap.stderr()), 2000)


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

    def test_lines_that_are_no_json_stop_no_answer_and_no_end(self):
        wrap, server = self.begin("--strict-stdout")
        for id in range(5):
            server.send(b"x" * MiB + b"\n", answer(id))
            self.assertEqual(wrap.recv(), answer(id))
        self.end(wrap, server)

    def test_answers_that_nobody_asked_for_stop_no_answer_and_no_end(self):
        wrap, server = self.begin("--broker", self.broker_policy())
        for id in range(5):
            wrap.send(call(id, "x"))
            server.recv()
            server.send(answer(99, x="y" * MiB), *[answer(98)] * 500, answer(id))
            self.assertEqual(wrap.recv(), answer(id))
        self.assertEqual(len(record.outcomes(self.end(wrap, server))), 5)

    def test_what_the_server_wrote_to_stderr_holds_no_end_and_is_in_the_log(self):
        log = self.path("log")
        wrap, server = self.begin("--stderr-log", log)
        words = b"0123456789abcde\n" * 7500  # more than a pipe holds, less than two
        server.complain(words)
        server.send(answer(1))
        self.assertEqual(wrap.recv(), answer(1))
        self.end(wrap, server)
        self.assertSame(harness.read_bytes(log), words)

    def test_what_aegis_says_meanwhile_is_read_later(self):
        """A reader that is only slow loses none of it."""
        wrap, server = self.begin("--policy", self.policy())
        words = b"0123456789abcde\n" * 7500  # more than a pipe holds, less than two
        server.complain(words)
        for id in range(30):
            wrap.send(request(id, "ping"))
            self.assertEqual(server.recv(), request(id, "ping"))
            if id >= 9:  # stderr is full by now, and aegis has a line to say
                wrap.signal(signal.SIGHUP)
        collector = Collector(wrap.process.stderr.fileno())
        self.end(wrap, server)
        collector.join()
        line = f"aegis: policy: {self.path('policy.json')}: read again and in force\n".encode() * 21
        first, said, rest = collector.bytes.partition(line)
        self.assertEqual(said, line)
        self.assertHolds(first + rest, words)

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


class Once(brokered.BrokerCase):
    """Each request is answered once."""

    def test_a_batch_with_a_stale_answer_is_answered_by_an_error(self):
        wrap, server = self.puppet("--broker", self.broker_policy())
        wrap.send(call(1, "x"))
        server.recv()
        server.send(b"[" + answer(1).strip() + b"," + answer(7).strip() + b"]\n", answer(1), request(9, "ping"))
        self.assertEqual(wrap.recv_json()["error"]["code"], -32042)
        self.assertEqual(wrap.recv(), request(9, "ping"))
        outcome = record.outcomes(self.finish(wrap, server))[0]
        self.assertIn("its batch held", outcome["execution"]["reason"])

    def test_an_id_that_waits_for_the_server_is_not_the_brokers(self):
        wrap, server = self.puppet("--broker", self.broker_policy())
        wrap.send(call(1, "x"))
        server.recv()
        got = self.operate(wrap, "1", "read_text", path="data/a.txt")
        self.assertEqual(got["structuredContent"]["code"], "OPERATION_NOT_PERMITTED")
        server.send(answer(1))
        self.assertEqual(wrap.recv(), answer(1))
        self.assertIn("hello", self.operate(wrap, 1, "read_text", path="data/a.txt")["content"][0]["text"])
        self.finish(wrap, server)

    def test_the_server_does_not_tell_of_the_brokers_progress(self):
        self.need_sandbox()
        wrap, server = self.puppet("--broker", self.broker_policy())
        wrap.send(request(1, "tools/call", name="run_python", arguments={"code": "import time; time.sleep(2)"},
                          _meta={"progressToken": 1}), request(2, "ping"))
        server.recv()
        progress = lambda token: frame({"jsonrpc": "2.0", "method": "notifications/progress",
                                        "params": {"progressToken": token, "progress": 50, "message": "FORGED"}})
        server.send(progress(1), progress("1"), progress(2), answer(2))
        self.assertEqual(wrap.recv(), progress(2))
        self.assertEqual(wrap.recv(), answer(2))
        got = wrap.recv_json()
        while got.get("method") == "notifications/progress":
            self.assertNotIn("message", got["params"])
            got = wrap.recv_json()
        self.assertEqual(got["id"], 1)
        self.finish(wrap, server)

    def test_more_requests_than_are_remembered_are_refused(self):
        wrap, server = self.puppet("--broker", self.broker_policy())
        most = 8192
        for first in range(0, most, 512):
            wrap.send(*(request(id, "ping") for id in range(first, first + 512)))
            for id in range(first, first + 512):
                self.assertEqual(server.recv(), request(id, "ping"))
        got = self.ask(wrap, request(most, "ping"))
        self.assertEqual((got["id"], got["error"]["data"]["aegis"]["code"]), (most, "RECORD_UNAVAILABLE"))
        for first in range(0, most, 512):
            server.send(*(answer(id) for id in range(first, first + 512)))
            for id in range(first, first + 512):
                self.assertEqual(wrap.recv(), answer(id))
        self.finish(wrap, server)


if __name__ == "__main__":
    harness.main()
