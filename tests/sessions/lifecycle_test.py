#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How a session ends: with whose status, within what time, and with the record sealed."""

import contextlib
import os
import select
import signal
import time
import unittest

import harness
import record
from harness import answer, call, frame

PROGRESS = frame({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}})


class LifeCase(harness.SessionCase):
    def wait_sealed(self, path=None):
        """Until the record's last Line is its close. That takes no grace (5 s); a loaded disk may take its time."""
        begin = time.monotonic()
        while b'"line_type":"close"' not in harness.read_bytes(path or self.audit):
            self.assertLess(time.monotonic() - begin, 4, "the record was not sealed in time")
            select.select([], [], [], 0.005)

    def wrap_deaf(self, *flags, **options):
        """Around a server that hears neither the end of its input nor SIGTERM. Its pipes are its own alone, so that
        they end when it is killed."""
        wrap, server = self.puppet(*flags, **options)
        server.do("deaf")
        server.let_go()
        return wrap, server


class Status(LifeCase):
    def test_aegis_ends_with_the_servers_status(self):
        rows = [(f"exit={n}", n) for n in (0, 1, 3, 42, 125, 255)]
        rows += [(f"die={n}", 128 + n) for n in (signal.SIGTERM, signal.SIGKILL, signal.SIGUSR1, signal.SIGHUP)]
        for step, code in rows:
            with self.subTest(step):
                path = self.path(step)
                wrap = self.wrap(server=[harness.SCRIPT_SERVER, step], audit=path)
                self.assertEqual(wrap.out.rest(), b"")
                self.assertEqual(wrap.wait(), code)
                self.assertEqual([line["line_type"] for line in self.check_record(path)], ["open", "close"])

    def test_what_the_server_said_last_still_arrives(self):
        for size in (100, 70000, 3000000):
            with self.subTest(size=size):
                wrap = self.wrap(server=[harness.SCRIPT_SERVER, f"frame={size}", "print=tail", "exit=3"])
                got = wrap.out.rest()
                self.assertEqual((len(got), got[-4:]), (size + 4, b"tail"))
                self.assertEqual(wrap.wait(), 3)

    def test_a_server_that_ends_does_not_wait_for_the_client(self):
        wrap, server = self.puppet()
        server.exit(9)
        self.assertEqual(wrap.wait(), 9)

    def test_a_child_of_the_server_that_holds_its_output_does_not_hold_the_session(self):
        wrap = self.wrap(server=["/bin/sh", "-c", "(trap '' TERM HUP; exec sleep 1000) & exit 4"])
        begin = time.monotonic()
        self.assertEqual(wrap.wait(), 4)
        self.assertLess(time.monotonic() - begin, 5)
        self.check_record()

    def test_a_client_that_stops_reading_does_not_kill_aegis_by_sigpipe(self):
        wrap, server = self.puppet()
        wrap.process.stdout.close()
        server.send(answer(1))
        server.exit(6)
        self.assertEqual(wrap.wait(), 6)
        self.check_record()


class EndOfInput(LifeCase):
    def test_with_nothing_in_flight_the_record_is_sealed_at_once(self):
        wrap, server = self.puppet()
        wrap.close_stdin()
        self.wait_sealed()
        wrap.signal(signal.SIGKILL)
        wrap.wait()
        self.check_record()

    def test_an_input_that_ended_before_the_start_is_sealed_at_once_too(self):
        stdin, to = os.pipe()
        os.close(to)
        self.puppet(stdin=stdin)
        os.close(stdin)
        self.wait_sealed()

    def test_an_answer_that_comes_after_it_is_relayed_and_recorded(self):
        wrap, server = self.puppet()
        wrap.send(call(1))
        wrap.close_stdin()
        self.assertEqual(server.input.rest(), call(1))
        server.send(answer(1))
        self.assertEqual(wrap.recv(), answer(1))
        server.exit(0)
        self.assertEqual(wrap.wait(), 0)
        self.assertEqual(record.outcomes(self.check_record())[0]["execution"]["status"], "success")

    def work(self, *signs):
        """A server that is never silent for the whole grace, but works for longer than it."""
        wrap, server = self.puppet("--grace", "1")
        wrap.send(call(1))
        wrap.close_stdin()
        self.assertEqual(server.input.rest(), call(1))
        for sign in signs:
            self.assertEqual(select.select([wrap.out.fd], [], [], 0.6)[0], [], "it ended too early")
            server.send(sign)
            self.assertEqual(wrap.recv(), sign)
        server.send(answer(1))
        self.assertEqual(wrap.recv(), answer(1))
        server.exit(0)
        self.assertEqual(wrap.wait(), 0)

    def test_progress_re_arms_the_grace(self):
        self.work(PROGRESS, PROGRESS, PROGRESS)

    def test_each_answer_re_arms_the_grace(self):
        self.work(answer(2), answer(3), answer(4))

    def test_a_server_that_ignores_it_gets_sigterm_after_the_grace(self):
        wrap, server = self.puppet("--grace", "1")
        server.let_go()
        begin = time.monotonic()
        self.assertEqual(wrap.end(), 128 + signal.SIGTERM)
        self.assertGreater(time.monotonic() - begin, 0.9)
        self.check_record()

    def test_a_server_that_ignores_both_is_killed(self):
        wrap, server = self.wrap_deaf("--grace", "1")
        wrap.send(call(1))
        begin = time.monotonic()
        self.assertEqual(wrap.end(), 128 + signal.SIGKILL)
        self.assertLess(time.monotonic() - begin, 5)
        self.check_record()

    def test_a_server_that_reads_no_more_is_ended_after_the_grace(self):
        wrap = self.wrap("--grace", "1", server=["sleep", "1000"])
        begin = time.monotonic()
        # The server's pipe takes 64 KiB and aegis 256; what is left aegis does not read, nor its end.
        wrap.send(*[frame({"jsonrpc": "2.0", "method": "x", "params": {"fill": "x" * 10_000}})] * 36)
        self.assertEqual(wrap.end(), 128 + signal.SIGTERM)
        self.assertGreater(time.monotonic() - begin, 0.9)
        self.assertEqual([line["line_type"] for line in self.check_record()], ["open", "close"])

    def test_without_grace_it_comes_at_once(self):
        wrap, server = self.puppet("--grace", "0")
        wrap.send(call(1))
        server.recv()
        server.let_go()
        self.assertEqual(wrap.end(), 128 + signal.SIGTERM)
        self.check_record()


class Stopping(LifeCase):
    def test_a_signal_seals_the_record_and_is_the_status(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number.name):
                wrap, server = self.puppet(audit=self.path(number.name))
                wrap.send(call(1))
                server.recv()
                server.let_go()
                wrap.signal(number)
                self.assertEqual(wrap.wait(), 128 + number)
                self.check_record(self.path(number.name))

    def test_the_record_is_sealed_within_a_second_before_a_deaf_server_is_killed(self):
        wrap, server = self.puppet()
        server.do("deaf")
        wrap.send(call(1))
        server.recv()
        server.let_go()
        wrap.signal(signal.SIGTERM)
        self.wait_sealed()
        self.assertEqual(wrap.wait(), 128 + signal.SIGTERM)
        self.check_record()

    def test_nothing_is_relayed_after_it(self):
        wrap, server = self.puppet()
        server.do("deaf")
        wrap.signal(signal.SIGTERM)
        self.wait_sealed()
        with contextlib.suppress(BrokenPipeError):
            wrap.send(call(1))
        wrap.wait()
        self.assertEqual(server.input.rest(), b"")
        self.assertEqual(record.intents(self.check_record()), [])

    def second_signal(self, path):
        """Gives the seconds until the end."""
        wrap, _ = self.wrap_deaf(audit=path)
        wrap.signal(signal.SIGTERM)
        self.wait_sealed(path)
        begin = time.monotonic()
        wrap.signal(signal.SIGTERM)
        self.assertEqual(wrap.wait(), 128 + signal.SIGTERM)
        self.check_record(path)
        return time.monotonic() - begin

    def test_a_second_signal_kills_at_once(self):
        """Without it SIGKILL comes 1 s after the first. A loaded machine may need more than one try."""
        taken = []
        while not taken or (taken[-1] > 0.6 and len(taken) < 5):
            taken.append(self.second_signal(self.path(f"record{len(taken)}.aarl")))
        self.assertLess(taken[-1], 0.6)

    def test_it_works_while_the_client_reads_nothing(self):
        wrap, server = self.puppet()
        wrap.send(call(1))
        server.recv()
        server.start("frame=4000000")
        os.read(wrap.out.fd, 1)
        server.let_go()
        wrap.signal(signal.SIGTERM)
        self.wait_sealed()
        self.assertEqual(wrap.wait(), 128 + signal.SIGTERM)
        self.check_record()

    def test_it_works_while_the_server_reads_nothing(self):
        wrap, server = self.puppet()
        os.set_blocking(wrap.process.stdin.fileno(), False)
        with self.assertRaises(BlockingIOError):
            while True:
                wrap.send(call(1, text="x" * 60000))
        server.let_go()
        wrap.signal(signal.SIGTERM)
        self.wait_sealed()
        self.assertEqual(wrap.wait(), 128 + signal.SIGTERM)
        self.check_record()

    def test_it_works_while_somebody_else_holds_the_servers_output(self):
        wrap, _ = self.puppet()
        begin = time.monotonic()
        wrap.signal(signal.SIGTERM)
        self.assertEqual(wrap.wait(), 128 + signal.SIGTERM)
        self.assertLess(time.monotonic() - begin, 5)
        self.check_record()

    def test_it_works_in_the_grace(self):
        wrap, server = self.puppet("--grace", "100")
        server.do("deaf")
        wrap.send(call(1))
        wrap.close_stdin()
        self.assertEqual(server.input.rest(), call(1))
        server.let_go()
        wrap.signal(signal.SIGTERM)
        self.wait_sealed()
        self.assertEqual(wrap.wait(), 128 + signal.SIGTERM)
        self.check_record()

    def test_the_typescript_way_of_closing(self):
        """stdin closed, SIGTERM to aegis alone, then SIGKILL: the record is whole after the first of the three."""
        wrap, server = self.puppet()
        server.do("deaf")
        wrap.send(call(1))
        server.recv()
        server.send(answer(1))
        wrap.recv()
        wrap.close_stdin()
        self.wait_sealed()
        wrap.signal(signal.SIGTERM)
        wrap.signal(signal.SIGKILL)
        wrap.wait()
        self.check_record()


class Keeper(LifeCase):
    def test_a_server_whose_keeper_is_killed_is_ended_and_the_record_sealed(self):
        wrap, server = self.puppet()
        wrap.send(call(1))
        server.recv()
        server.let_go()
        os.kill(int(server.born_status["PPid"]), signal.SIGKILL)
        self.assertEqual(wrap.out.rest(), b"")
        self.assertEqual(wrap.wait(), 125)
        self.assertIn("keeper", wrap.own_words())
        outcome = record.outcome_of(self.check_record(), call(1))
        self.assertEqual(outcome["execution"]["reason"], "child exited before responding")


class Together(LifeCase):
    def test_two_sessions_share_a_folder_a_key_and_a_first_start(self):
        pairs = [self.puppet(audit=None) for _ in range(4)]
        for wrap, server in pairs:
            wrap.send(call(1))
            server.recv()
        for wrap, server in pairs:
            server.send(answer(1))
            self.assertEqual(wrap.recv(), answer(1))
            wrap.close_stdin()
            server.exit(0)
            self.assertEqual(wrap.wait(), 0)
        folder = os.path.join(self.home, ".local/state/aegis/records")
        self.assertEqual(len(os.listdir(folder)), 4)
        found = self.verify(folder)
        self.assertEqual((found.returncode, found.stdout.count("Verified (pinned to")), (0, 4), found.stdout)

    def test_several_first_starts_at_once_agree_on_one_key(self):
        wraps = [self.wrap(server=["cat"], audit=self.path(f"{n}.aarl")) for n in range(8)]
        for wrap in wraps:
            self.assertEqual(wrap.end(), 0, wrap.stderr())
        for n in range(8):
            self.check_record(self.path(f"{n}.aarl"))

    def test_a_second_client_waits_for_the_file_that_the_first_one_holds(self):
        first, server = self.puppet()
        second = self.wrap(server=[harness.SCRIPT_SERVER, "serve"])
        self.assertEqual(select.select([second.out.fd], [], [], 0.3)[0], [])
        first.close_stdin()
        server.exit(0)
        first.wait()
        second.send(call(1))
        self.assertEqual(second.recv_json()["id"], 1)
        self.assertEqual(second.end(), 0)
        opens = record.of_type(self.check_record(), "open")
        self.assertEqual(len(opens), 2)


if __name__ == "__main__":
    harness.main()
