#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Under a policy: what is refused never reaches the server, and the client and the record are told why."""

import json
import unittest

import harness
import record
from harness import answer, call, frame, request

BLOCKED = "policy blocked before capability"


class EnforcementCase(harness.SessionCase):
    def check_refusal(self, raw, id, code):
        """One -32042 error frame; gives its message."""
        self.assertTrue(raw.endswith(b"\n"))
        return self.check_refusal_object(json.loads(raw), id, code)

    def check_refusal_object(self, got, id, code):
        self.assertEqual(sorted(got), ["error", "id", "jsonrpc"], got)
        self.assertEqual((got["jsonrpc"], got["id"], type(got["id"])), ("2.0", id, type(id)))
        self.assertEqual(got["error"]["code"], -32042)
        self.assertEqual(got["error"]["data"]["aegis"]["layer"], "wrap")
        self.assertEqual(got["error"]["data"]["aegis"]["code"], code)
        self.assertNotIn("elicitations", got["error"]["data"])
        self.assertGreater(len(got["error"]["message"].split()), 4, "a message that a model can act on")
        return got["error"]["message"]

    def check_silent(self, wrap, server):
        """The server hears nothing until the end of input, the client no more."""
        wrap.close_stdin()
        self.assertEqual(server.input.rest(), b"")
        server.exit(0)
        self.assertEqual(wrap.out.rest(), b"")
        self.assertEqual(wrap.wait(), 0)

    def check_refused_outcome(self, frame, policy, reason=BLOCKED):
        """The call that `frame` made stands refused on a record that verifies; gives its outcome."""
        found = record.outcome_of(self.check_record(), frame)
        self.assertEqual(found["policy"]["status"], policy)
        self.assertEqual(found["capability"], {"status": "denied", "reason": reason})
        self.assertEqual(found["execution"], {"status": "host_denied", "reason": "not executed"})
        self.assertNotIn("response_digest", found)
        return found


class Refusals(EnforcementCase):
    def test_a_denied_call_is_refused_and_recorded(self):
        wrap, server = self.puppet("--policy", self.deny_evil())
        evil = call(7, "evil", secret="hush")
        message = self.check_refusal(wrap.ask(evil), 7, "POLICY_DENIED")
        self.assertIn("no-evil", message)
        self.assertIn("evil is not done here", message)
        self.check_silent(wrap, server)
        found = self.check_refused_outcome(evil, "denied")
        self.assertEqual(found["tool_id"], "evil")
        self.assertEqual(found["decision_axes"]["matched_rule"], "no-evil")
        self.assertNotIn(b"hush", harness.read_bytes(self.audit))

    def test_ids_come_back_as_they_went(self):
        wrap, server = self.puppet("--policy", self.deny_evil())
        for lexeme in ["0", '"0"', "-1", "9007199254740993", "123456789012345678901234567890", '"\\u0041\\n"', '""',
                       "1.0"]:
            evil = b'{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"evil"}}\n' % lexeme.encode()
            with self.subTest(id=lexeme):
                raw = wrap.ask(evil)
                self.assertIn(b'"id":' + lexeme.encode(), raw)
                json.loads(raw)
        self.check_silent(wrap, server)

    def test_other_calls_and_messages_pass_untouched(self):
        wrap, server = self.puppet("--policy", self.deny_evil())
        for good in (request(0, "initialize", name="evil"), call(1, "good"), call("1", "Evil"), call(2, "evil "),
                     frame({"jsonrpc": "2.0", "method": "notifications/initialized"}), request(3, "evil"),
                     request(4, "tools/list"), call(5, "good", name="evil", method="tools/call")):
            wrap.send(good)
            self.assertEqual(server.recv(), good)
        server.send(answer(1))
        self.assertEqual(wrap.recv(), answer(1))

    def test_a_tool_that_is_not_listed_is_still_refused(self):
        wrap, server = self.puppet("--policy", self.policy(
            {"id": "only-good", "action": "allow", "tool": "good"}, default="deny"))
        self.check_refusal(wrap.ask(call(1, "hidden")), 1, "POLICY_DENIED")
        self.check_silent(wrap, server)

    def test_a_refusal_overtakes_no_earlier_frame_and_stops_no_later_one(self):
        wrap, server = self.puppet("--policy", self.deny_evil())
        wrap.send(call(1, "good"), call(2, "evil"), call(3, "good"))
        self.assertEqual(server.recv() + server.recv(), call(1, "good") + call(3, "good"))
        server.send(answer(1), answer(3))
        ids = sorted(wrap.recv_json()["id"] for _ in range(3))
        self.assertEqual(ids, [1, 2, 3])

    def test_a_rule_for_a_role_needs_that_role(self):
        policy = self.policy({"id": "r", "action": "deny", "tool": "t", "role": "guest"})
        wrap, server = self.puppet("--policy", policy, "--role", "guest", audit=self.path("guest.aarl"))
        self.check_refusal(wrap.ask(call(1, "t")), 1, "POLICY_DENIED")
        self.check_silent(wrap, server)
        found = record.outcome_of(self.check_record(self.path("guest.aarl")), call(1, "t"))
        self.assertEqual(found["decision_axes"]["role"], "guest")
        for n, role in enumerate((["--role", "owner"], [])):
            wrap, server = self.puppet("--policy", policy, *role, audit=self.path(f"other{n}.aarl"))
            wrap.send(call(1, "t"))
            self.assertEqual(server.recv(), call(1, "t"))

    def test_a_call_without_a_string_name_is_malformed(self):
        wrap, server = self.puppet("--policy", self.deny_evil())
        reason = "tools/call without a string params.name"
        rows = [b"", b',"params":{}', b',"params":{"name":null}', b',"params":{"name":["evil"]}', b',"params":[]',
                b',"params":{"name":1}']
        frames = [b'{"jsonrpc":"2.0","id":%d,"method":"tools/call"%s}\n' % row for row in enumerate(rows)]
        for id, bad in enumerate(frames):
            with self.subTest(bad):
                self.check_refusal(wrap.ask(bad), id, "MALFORMED_CALL")
        self.check_silent(wrap, server)
        for bad in frames:
            found = self.check_refused_outcome(bad, "denied", reason)
            self.assertEqual(found["policy"]["reason"], reason)
            self.assertEqual(found["tool_id"], "<unknown>")

    def test_content_length_framing_is_explained(self):
        wrap, server = self.puppet("--policy", self.deny_evil())
        body = call(1, "evil")[:-1]
        wrap.send(b"Content-Length: %d\r\n\r\n" % len(body) + body + b"\n")
        message = self.check_refusal(wrap.recv(), None, "MALFORMED_FRAME")
        self.assertIn("Content-Length", message)
        wrap.close_stdin()
        self.assertEqual(server.input.rest(), b"")

    def test_a_denied_call_without_an_id_is_dropped_and_recorded(self):
        wrap, server = self.puppet("--policy", self.deny_evil())
        evil = frame({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "evil"}})
        good = frame({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "good"}})
        wrap.send(evil, good)
        self.assertEqual(server.recv(), good)
        self.check_silent(wrap, server)
        lines = self.check_record()
        reason = "no id: no answer can come"
        found = record.outcome_of(lines, evil)
        self.assertEqual((found["policy"]["status"], found["capability"]["status"]), ("denied", "denied"))
        found = record.outcome_of(lines, good)
        self.assertEqual((found["policy"]["status"], found["capability"]["status"]), ("allowed", "granted"))
        self.assertEqual(found["execution"], {"status": "host_denied", "reason": reason})

    def test_the_clients_answers_cross_and_its_malformed_ones_do_not(self):
        wrap, server = self.puppet("--policy", self.deny_evil())
        good = answer(1, roots=[])
        bad = b'{"jsonrpc":"2.0","id":1,"result":{},"result":{"roots":[]}}\n'
        wrap.send(bad, good)
        self.assertEqual(server.recv(), good)
        self.check_silent(wrap, server)
        self.assertTrue(self.check_record())


class Codes(EnforcementCase):
    def test_a_rate_is_kept(self):
        policy = self.policy({"id": "twice", "action": "rate_limit", "tool": "t",
                              "rate": {"max": 2, "per_seconds": 3600}})
        wrap, server = self.puppet("--policy", policy)
        for id in (1, 2):
            wrap.send(call(id, "t"))
            self.assertEqual(server.recv(), call(id, "t"))
            server.send(answer(id))
            wrap.recv()
        message = self.check_refusal(wrap.ask(call(3, "t")), 3, "RATE_LIMITED")
        self.assertIn("twice", message)
        wrap.send(call(4, "other"))
        self.assertEqual(server.recv(), call(4, "other"))
        self.check_silent(wrap, server)
        self.check_refused_outcome(call(3, "t"), "rate_limited")

    def test_an_approval_is_pending_under_a_fresh_id(self):
        policy = self.policy({"id": "ask", "action": "pending_approval", "tool": "t"})
        wrap, server = self.puppet("--policy", policy)
        messages = [self.check_refusal(wrap.ask(call(id, "t")), id, "PENDING_APPROVAL") for id in (1, 2)]
        self.check_silent(wrap, server)
        found = [self.check_refused_outcome(call(id, "t"), "pending_approval") for id in (1, 2)]
        ids = [line["policy"]["approval_id"] for line in found]
        self.assertNotEqual(*ids)
        for id, message in zip(ids, messages):
            self.assertIn(id, message)
        self.assertIn("ask", wrap.own_words(), "that nobody can approve is said at load")

    def test_refuse_as_result_gives_a_tool_result(self):
        wrap, server = self.puppet("--policy", self.deny_evil(), "--refuse-as", "result")
        got = json.loads(wrap.ask(call("x", "evil")))
        self.assertEqual((got["jsonrpc"], got["id"], "error" in got), ("2.0", "x", False))
        result = got["result"]
        self.assertIs(result["isError"], True)
        self.assertEqual(result["resultType"], "complete")
        self.assertEqual(result["content"][0]["type"], "text")
        self.assertIn("evil is not done here", result["content"][0]["text"])
        self.assertIn("POLICY_DENIED", json.dumps(result["_meta"]))
        self.check_silent(wrap, server)
        self.check_refused_outcome(call("x", "evil"), "denied")

    def test_refuse_as_result_still_gives_an_error_when_there_is_no_id(self):
        wrap, server = self.puppet("--policy", self.deny_evil(), "--refuse-as", "result")
        self.check_refusal(wrap.ask(b"{broken\n"), None, "MALFORMED_FRAME")


class Batches(EnforcementCase):
    def batch(self, *messages):
        return b"[" + b",".join(message[:-1] for message in messages) + b"]\n"

    def test_a_batch_without_a_refused_call_crosses_whole(self):
        wrap, server = self.puppet("--policy", self.deny_evil())
        good = self.batch(call(1, "a"), request(2, "ping"), call(3, "b"))
        wrap.send(good)
        self.assertEqual(server.recv(), good)
        answers = self.batch(answer(3), answer(2), answer(1))
        server.send(answers)
        self.assertEqual(wrap.recv(), answers)
        self.check_silent(wrap, server)
        found = record.outcomes(self.check_record())
        self.assertEqual(sorted(line["tool_id"] for line in found), ["a", "b"])
        for line in found:
            self.assertEqual(line["request_digest"], record.frame_digest(good))
            self.assertEqual(line["response_digest"], record.frame_digest(answers))
            self.assertEqual(line["execution"]["status"], "success")

    def test_a_batch_with_a_refused_call_is_answered_in_one_frame(self):
        wrap, server = self.puppet("--policy", self.deny_evil())
        note = frame({"jsonrpc": "2.0", "method": "notifications/x"})
        bad = self.batch(call(1, "good"), call("2", "evil"), note, request(3, "ping"))
        got = json.loads(wrap.ask(bad))
        self.assertEqual([one["id"] for one in got], [1, "2", 3])
        for one, code in zip(got, ("BATCH_DENIED", "POLICY_DENIED", "BATCH_DENIED")):
            self.check_refusal_object(one, one["id"], code)
        self.check_silent(wrap, server)
        found = {line["tool_id"]: line for line in record.outcomes(self.check_record())}
        self.assertEqual(sorted(found), ["evil", "good"])
        self.assertEqual(found["good"]["policy"], {"status": "denied", "reason": "batch holds a refused call"})
        self.assertEqual(found["good"]["capability"]["status"], "denied")
        self.assertEqual(found["evil"]["capability"]["reason"], BLOCKED)

    def test_a_batch_of_notifications_with_a_refused_call_is_not_answered(self):
        wrap, server = self.puppet("--policy", self.deny_evil())
        wrap.send(b'[{"jsonrpc":"2.0","method":"tools/call","params":{"name":"evil"}},'
                  b'{"jsonrpc":"2.0","method":"notifications/x"}]\n')
        wrap.send(call(1, "good"))
        self.assertEqual(server.recv(), call(1, "good"))
        self.check_silent(wrap, server)
        self.assertEqual(len(record.outcomes(self.check_record())), 2)

    def test_a_nested_batch_is_malformed(self):
        wrap, server = self.puppet("--policy", self.deny_evil())
        self.check_refusal(wrap.ask(b"[" + self.batch(call(1, "evil"))[:-1] + b"]\n"), None, "MALFORMED_FRAME")
        self.check_silent(wrap, server)


if __name__ == "__main__":
    harness.main()
