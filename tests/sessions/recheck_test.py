#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`aegis recheck`: what other rules would have decided over a record that a session left."""

import re
import unittest

import harness
import record
from harness import answer, call, frame


class Recheck(harness.SessionCase):
    RATE = {"id": "few", "action": "rate_limit", "tool": "counted", "rate": {"max": 1, "per_seconds": 60}}

    def setUp(self):
        super().setUp()
        evil = {"id": "no-evil", "action": "deny", "tool": "evil"}
        ask = {"id": "ask", "action": "pending_approval", "tool": "asked"}
        wrap, server = self.puppet("--policy", self.policy(evil, ask, self.RATE), "--role", "dev")
        self.calls = {}
        for id, tool in enumerate(("good", "evil", "asked", "counted", "counted")):
            asked = call(id, tool)
            wrap.send(asked)
            if tool == "good" or (tool, id) == ("counted", 3):
                server.recv()
                server.send(answer(id))
            wrap.recv()
            self.calls[tool + str(id)] = asked
        broken = b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"a","name":"b"}}\n'
        wrap.ask(broken)
        self.calls["broken"] = broken
        self.lines = self.finish(wrap, server)

    def recheck(self, code, *rules, **options):
        """Each call's clause, by the names in self.calls."""
        found = self.aegis("recheck", "--policy", self.policy(*rules, name="other.json", **options), self.audit)
        self.assertEqual(found.returncode, code, found.stdout + found.stderr)
        lines = found.stdout.splitlines()
        outcomes = record.outcomes(self.lines)
        self.assertEqual(len(lines), len(outcomes))
        clauses = {}
        for line, outcome in zip(lines, outcomes):
            match = re.fullmatch(r"call (\S+) session 0 seq (\d+): (.+)", line)
            self.assertEqual((match[1], int(match[2])), (outcome["call_id"], outcome["seq"]))
            clauses[outcome["call_id"]] = match[3]
        return {name: clauses[record.outcome_of(self.lines, asked)["call_id"]] for name, asked in self.calls.items()}

    def test_the_same_rules_change_nothing_that_can_be_answered_for(self):
        rules = [{"id": "no-evil", "action": "deny", "tool": "evil"},
                 {"id": "ask", "action": "pending_approval", "tool": "asked"}]
        clauses = self.recheck(1, *rules)
        self.assertEqual(clauses["good0"], "unchanged allowed")
        self.assertEqual(clauses["evil1"], "unchanged denied")
        self.assertEqual(clauses["asked2"], "unchanged pending_approval")
        self.assertEqual(clauses["broken"], "unchanged denied")
        self.assertEqual(clauses["counted4"], "newly_allowed was=rate_limited now=allowed")

    def test_other_rules_show_each_change(self):
        clauses = self.recheck(1, {"id": "a", "action": "allow", "tool": "evil"},
                               {"id": "b", "action": "pending_approval", "tool": "good"}, default="deny")
        self.assertRegex(clauses.pop("counted4"), "^unchanged (rate_limited|denied)$")  # one class: blocked
        self.assertEqual(clauses, {
            "good0": "newly_parked was=allowed", "evil1": "newly_allowed was=denied now=allowed",
            "asked2": "newly_blocked was=pending_approval now=denied", "broken": "unchanged denied",
            "counted3": "newly_blocked was=allowed now=denied"})

    def test_a_rate_rule_cannot_be_answered_for_and_that_outranks_a_change(self):
        clauses = self.recheck(3, self.RATE, {"id": "x", "action": "deny", "tool": "good"})
        self.assertEqual(clauses["counted3"], "indeterminate rate_limit_unevaluable")
        self.assertEqual(clauses["good0"], "newly_blocked was=allowed now=denied")

    def test_the_role_on_the_record_counts(self):
        clauses = self.recheck(1, {"id": "d", "action": "deny", "tool": "good", "role": "dev"},
                               {"id": "e", "action": "deny", "tool": "asked", "role": "other"})
        self.assertEqual(clauses["good0"], "newly_blocked was=allowed now=denied")

    def test_nothing_changed(self):
        wrap, server = self.puppet(audit=self.path("calm.aarl"))
        wrap.send(call(1))
        server.recv()
        server.send(answer(1))
        wrap.recv()
        self.finish(wrap, server, self.path("calm.aarl"))
        found = self.aegis("recheck", "--policy", self.policy(name="none.json"), self.path("calm.aarl"))
        self.assertEqual((found.returncode, found.stderr), (0, ""), found.stdout)
        self.assertRegex(found.stdout, r"^call \S+ session 0 seq 2: unchanged allowed\n$")

    def clause_of(self, asked, policy, *flags):
        """Of one call that crosses in a session with these flags, under the policy."""
        path = self.path("one-" + str(len(flags)) + ".aarl")
        wrap, server = self.puppet(*flags, audit=path)
        wrap.send(asked)
        server.recv()
        server.send(answer(1))
        wrap.recv()
        self.finish(wrap, server, path)
        found = self.aegis("recheck", "--policy", policy, path)
        return re.fullmatch(r"call \S+ session 0 seq 2: (.+)\n", found.stdout)[1]

    def test_a_tool_that_is_called_unknown_is_told_from_a_call_without_a_name(self):
        policy = self.policy(name="none.json")
        self.assertEqual(self.clause_of(call(1, "<unknown>"), policy, "--policy", policy), "unchanged allowed")
        self.assertEqual(self.clause_of(harness.request(1, "tools/call", arguments={}), policy),
                         "newly_blocked was=allowed now=denied")

    def test_a_record_without_a_call_is_said_to_be_one(self):
        for name in ("empty.aarl", "torn.aarl"):
            path = self.path(name)
            with open(path, "w", encoding="utf-8") as file:
                file.write("" if name == "empty.aarl" else "{")
            found = self.aegis("recheck", "--policy", self.policy(name="none.json"), path)
            self.assertEqual((found.returncode, found.stdout), (0, ""))
            self.assertRegex(found.stderr, rf"(?m)^aegis: recheck: {path}: it holds no outcome of a call")

    def test_it_needs_no_key_and_the_same_bytes_say_the_same(self):
        policy = self.policy(name="p.json")
        env = {"PATH": "/usr/bin:/bin"}
        runs = [self.aegis("recheck", "--policy", policy, self.audit, env=env).stdout for _ in range(2)]
        self.assertEqual(runs[0], runs[1])
        self.assertTrue(runs[0])

    def test_exit_codes(self):
        policy = self.policy(name="p.json")
        self.assertEqual(self.aegis("recheck", "--policy", policy).returncode, 0)
        self.assertEqual(self.aegis("recheck").returncode, 1)
        self.assertEqual(self.aegis("recheck", "--polcy", policy).returncode, 1)
        self.assertEqual(self.aegis("recheck", "--policy", policy, self.path("none")).returncode, 2)
        self.assertEqual(self.aegis("recheck", "--policy", self.path("none")).returncode, 2)
        self.assertEqual(self.aegis("recheck", "--policy", self.write("bad", "x: 1\n"), self.audit).returncode, 2)

    def test_version_1_as_a_whole_is_taken(self):
        policy = self.policy({"id": "c", "action": "deny", "tool": "write_*", "capability": "fs"}, name="c.json")
        found = self.aegis("recheck", "--policy", policy)
        self.assertEqual(found.returncode, 0, found.stderr)


if __name__ == "__main__":
    harness.main()
