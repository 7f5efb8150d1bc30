#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""SIGHUP re-reads the policy between two frames: a good one takes over, a bad one changes nothing."""

import json
import os
import signal
import unittest

import harness
import record
from harness import answer, call, request

ALLOW_ALL = json.dumps({"version": 1, "default": "allow", "rules": []})
DENY_ALL = json.dumps({"version": 1, "default": "deny", "rules": []})
BUDGET = json.dumps({"version": 1, "default": "allow", "rules": [
    {"id": "once", "action": "rate_limit", "tool": "t", "rate": {"max": 1, "per_seconds": 3600}}]})


class Reload(harness.SessionCase):
    def replace(self, wrap, server, text):
        """Puts another policy in place, as an editor does, and has it read."""
        os.rename(self.write("new", text), self.path("policy"))
        self.hang_up(wrap, server)

    def hang_up(self, wrap, server):
        """What was sent before the ping came back was handled before what is sent after it."""
        wrap.signal(signal.SIGHUP)
        wrap.send(request(0, "ping"))
        self.assertEqual(server.recv(), request(0, "ping"))
        server.send(answer(0))
        self.assertEqual(wrap.recv(), answer(0))

    def passes(self, wrap, server, id, tool="t"):
        wrap.send(call(id, tool))
        self.assertEqual(server.recv(), call(id, tool))
        server.send(answer(id))
        self.assertEqual(wrap.recv(), answer(id))

    def refused(self, wrap, id, tool="t"):
        got = json.loads(wrap.ask(call(id, tool)))
        self.assertEqual((got["id"], got["error"]["code"]), (id, -32042))

    def test_a_good_one_takes_over_and_its_hash_stands_on_later_outcomes(self):
        wrap, server = self.puppet("--policy", self.write("policy", ALLOW_ALL))
        self.passes(wrap, server, 1)
        self.replace(wrap, server, DENY_ALL)
        self.refused(wrap, 2)
        self.replace(wrap, server, ALLOW_ALL)
        self.passes(wrap, server, 3)
        wrap.close_stdin()
        server.exit(0)
        wrap.wait()
        hashes = [line["policy_set_hash"] for line in record.outcomes(self.check_record())]
        self.assertEqual(hashes[0], hashes[2])
        self.assertNotEqual(hashes[0], hashes[1])

    def test_a_bad_one_is_reported_and_the_old_one_stays(self):
        wrap, server = self.puppet("--policy", self.write("policy", DENY_ALL))
        self.refused(wrap, 1)
        self.replace(wrap, server, ALLOW_ALL + "\nmore: 1\n")
        self.refused(wrap, 2)
        self.replace(wrap, server, "version: 1\nrules: []\ndefault: perhaps\n")
        self.refused(wrap, 3)
        self.replace(wrap, server, ALLOW_ALL)
        self.passes(wrap, server, 4)
        wrap.close_stdin()
        server.exit(0)
        wrap.wait()
        self.assertRegex(wrap.own_words(), r"policy:3:10.*default")
        self.check_record()

    def test_a_missing_one_is_reported_and_the_old_one_stays(self):
        wrap, server = self.puppet("--policy", self.write("policy", DENY_ALL))
        os.remove(self.path("policy"))
        self.hang_up(wrap, server)
        wrap.collector.wait_for(b"No such file")
        self.refused(wrap, 1)

    def test_one_that_would_block_its_reader_is_reported(self):
        wrap, server = self.puppet("--policy", self.write("policy", DENY_ALL))
        os.remove(self.path("policy"))
        os.mkfifo(self.path("policy"))
        self.hang_up(wrap, server)
        self.refused(wrap, 1)

    def test_a_rate_window_outlives_it(self):
        wrap, server = self.puppet("--policy", self.write("policy", BUDGET))
        self.passes(wrap, server, 1)
        self.replace(wrap, server, BUDGET.replace("3600", "3601"))
        self.refused(wrap, 2)

    def test_a_call_in_flight_keeps_the_hash_it_was_judged_by(self):
        wrap, server = self.puppet("--policy", self.write("policy", ALLOW_ALL))
        wrap.send(call(1))
        server.recv()
        self.replace(wrap, server, DENY_ALL)
        server.send(answer(1))
        self.assertEqual(wrap.recv(), answer(1))
        self.refused(wrap, 2)
        wrap.close_stdin()
        server.exit(0)
        wrap.wait()
        lines = self.check_record()
        opened = record.of_type(lines, "open")[0]
        self.assertIn("policy_set_hash", opened)
        self.assertEqual(record.outcome_of(lines, call(2, "t"))["policy"]["status"], "denied")
        self.assertNotEqual(record.outcome_of(lines, call(2, "t"))["policy_set_hash"], opened["policy_set_hash"])

    def test_without_a_policy_the_signal_is_ignored(self):
        wrap, server = self.puppet()
        self.hang_up(wrap, server)
        self.passes(wrap, server, 1)
        self.assertTrue(wrap.is_running())


if __name__ == "__main__":
    harness.main()
