#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a session leaves on the record for every way that a call can go."""

import signal
import unittest

import harness
import record
from harness import answer, call, frame, request

GRACE = "client closed stdin; child did not answer within the shutdown grace"


class RecordCase(harness.SessionCase):
    def check_ran(self, outcome):
        self.assertEqual(outcome["policy"], {"status": "allowed"})
        self.assertEqual(outcome["capability"]["status"], "granted")

    def check_denied_by_host(self, outcome, reason):
        self.check_ran(outcome)
        self.assertEqual(outcome["execution"], {"status": "host_denied", "reason": reason})
        self.assertNotIn("response_digest", outcome)


class Answers(RecordCase):
    def test_an_answered_call(self):
        wrap, server = self.puppet()
        asked, said = call(1, "echo", secret="hush-hush"), answer(1, text="quiet-please")
        wrap.send(asked)
        server.recv()
        server.send(said)
        wrap.recv()
        lines = self.finish(wrap, server)
        self.assertEqual([line["line_type"] for line in lines], ["open", "intent", "outcome", "close"])
        _, intent, outcome, close = lines
        self.assertEqual(intent["tool_id"], "echo")
        self.assertEqual(intent["request_digest"], record.frame_digest(asked))
        self.assertEqual(intent["request_bytes"], len(asked) - 1)
        self.check_ran(outcome)
        self.assertEqual(outcome["execution"], {"status": "success"})
        self.assertEqual(outcome["decision_axes"], {})
        self.assertEqual(outcome["policy_set_hash"], record.PASSTHROUGH)
        self.assertEqual(outcome["response_digest"], record.frame_digest(said))
        self.assertEqual(outcome["response_bytes"], len(said) - 1)
        self.assertEqual((close["calls"], close["unread"], bool(close["reason"])), (1, 0, True))
        for secret in (b"hush-hush", b"quiet-please"):
            self.assertNotIn(secret, harness.read_bytes(self.audit))

    def test_a_carriage_return_counts_in_the_digest(self):
        wrap, server = self.puppet()
        asked = call(1)[:-1] + b"\r\n"
        wrap.send(asked)
        server.recv()
        server.send(answer(1)[:-1] + b"\r\n")
        wrap.recv()
        outcome = record.outcome_of(self.finish(wrap, server), asked)
        self.assertEqual(outcome["response_digest"], record.frame_digest(answer(1)[:-1] + b"\r\n"))

    def test_an_error_answer_counts_as_an_answer(self):
        wrap, server = self.puppet()
        said = frame({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}})
        wrap.send(call(1))
        server.recv()
        server.send(said)
        wrap.recv()
        outcome, = record.outcomes(self.finish(wrap, server))
        self.assertEqual(outcome["execution"], {"status": "success"})
        self.assertEqual(outcome["response_digest"], record.frame_digest(said))

    def test_ids_of_two_types_are_two_calls(self):
        wrap, server = self.puppet()
        wrap.send(call(0, "number"), call("0", "string"))
        server.recv(), server.recv()
        server.send(answer("0", of="string"))
        wrap.recv()
        server.send(answer(0, of="number"))
        wrap.recv()
        lines = self.finish(wrap, server)
        for id, tool in ((0, "number"), ("0", "string")):
            outcome = record.outcome_of(lines, call(id, tool))
            self.assertEqual(outcome["tool_id"], tool)
            self.assertEqual(outcome["response_digest"], record.frame_digest(answer(id, of=tool)))

    def test_the_answer_to_a_duplicate_id_closes_the_oldest(self):
        wrap, server = self.puppet()
        wrap.send(call(1, "first"), call(1, "second"))
        server.recv(), server.recv()
        for n in (1, 2):
            server.send(answer(1, n=n))
            wrap.recv()
        lines = self.finish(wrap, server)
        for n, tool in enumerate(("first", "second"), 1):
            self.assertEqual(record.outcome_of(lines, call(1, tool))["response_digest"],
                             record.frame_digest(answer(1, n=n)))

    def test_nothing_but_a_response_of_that_very_id_closes_a_call(self):
        wrap, server = self.puppet()
        wrap.send(call(7))
        server.recv()
        others = [request(7, "sampling/createMessage"), answer("7"), answer(70), answer(None),
                  b'{"jsonrpc":"2.0","id":7}\n', b'{"jsonrpc":"2.0","id":7.5,"result":{}}\n',
                  b'{"jsonrpc":"2.0","id":7,"method":"x","result":{}}\n',
                  frame({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"id": 7, "result": {}}})]
        server.send(*others)
        for other in others:
            self.assertEqual(wrap.recv(), other)
        server.send(answer(7, right=True))
        wrap.recv()
        outcome, = record.outcomes(self.finish(wrap, server))
        self.assertEqual(outcome["response_digest"], record.frame_digest(answer(7, right=True)))

    def test_big_ids_keep_all_their_digits(self):
        wrap, server = self.puppet()
        ids = [9007199254740992, 9007199254740993, 123456789012345678901234567890, 123456789012345678901234567891]
        for id in ids:
            wrap.send(call(id))
            self.assertEqual(server.recv(), call(id))
        for id in reversed(ids):
            server.send(answer(id, n=str(id)))
            wrap.recv()
        lines = self.finish(wrap, server)
        for id in ids:
            self.assertEqual(record.outcome_of(lines, call(id))["response_digest"],
                             record.frame_digest(answer(id, n=str(id))))

    def test_one_id_may_be_spelled_in_two_ways(self):
        """A server that parses and re-serialises: what was 1.0 comes back as 1."""
        for asked, said in ((b"1.0", b"1"), (b'"\\u0041"', b'"A"'), (b"1e2", b"100")):
            with self.subTest(asked):
                path = self.path(record.digest(asked))
                wrap, server = self.puppet(audit=path)
                wrap.send(call(0).replace(b'"id":0', b'"id":' + asked))
                server.recv()
                server.send(answer(0).replace(b'"id":0', b'"id":' + said))
                wrap.recv()
                outcome, = record.outcomes(self.finish(wrap, server, path))
                self.assertEqual(outcome["execution"], {"status": "success"})

    def test_an_answer_that_strict_readers_refuse_is_an_answer(self):
        odd = [b'{"jsonrpc":"2.0","id":1,"result":{"text":"\xff"}}\n', b'{"jsonrpc":"2.0","id":1,"result":"\\ud800"}\n',
               b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":1e999}}\n',
               b' {"id":1,"result":' + b"[" * 400 + b"]" * 400 + b'} \r\n',
               b'{"result":{"id":2,"method":"x"},"id":1}\n', b'{"id":1,"result":null}\n', b'{"id":1,"error":null}\n']
        for said in odd:
            with self.subTest(said[:60]):
                path = self.path(record.digest(said))
                wrap, server = self.puppet(audit=path)
                wrap.send(call(1))
                server.recv()
                server.send(said)
                self.assertEqual(wrap.recv(), said)
                outcome, = record.outcomes(self.finish(wrap, server, path))
                self.assertEqual(outcome["response_digest"], record.frame_digest(said))

    def test_64_calls_in_flight_answered_in_reverse(self):
        wrap, server = self.puppet()
        calls = [call(id, f"tool{id}") for id in range(64)]
        wrap.send(*calls)
        for _ in calls:
            server.recv()
        server.send(*(answer(id) for id in reversed(range(64))))
        for _ in calls:
            wrap.recv()
        lines = self.finish(wrap, server)
        for id, asked in enumerate(calls):
            self.assertEqual(record.outcome_of(lines, asked)["response_digest"], record.frame_digest(answer(id)))

    def test_a_batch_shares_its_digests(self):
        wrap, server = self.puppet()
        batch = b"[" + call(1, "a")[:-1] + b"," + call(2, "b")[:-1] + b"]\n"
        wrap.send(batch)
        self.assertEqual(server.recv(), batch)
        said = b"[" + answer(2)[:-1] + b"," + answer(1)[:-1] + b"]\n"
        server.send(said)
        self.assertEqual(wrap.recv(), said)
        outcomes = record.outcomes(self.finish(wrap, server))
        self.assertEqual(sorted(line["tool_id"] for line in outcomes), ["a", "b"])
        self.assertEqual({line["request_digest"] for line in outcomes}, {record.frame_digest(batch)})
        self.assertEqual({line["response_digest"] for line in outcomes}, {record.frame_digest(said)})

    def test_a_call_as_the_very_first_frame_and_the_stateless_revision(self):
        wrap, server = self.puppet()
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        asked = request(1, "tools/call", _meta=meta, name="echo", arguments={})
        wrap.send(asked)
        self.assertEqual(server.recv(), asked)
        server.send(answer(1, resultType="complete"))
        wrap.recv()
        self.assertEqual(record.outcome_of(self.finish(wrap, server), asked)["tool_id"], "echo")


class Unanswered(RecordCase):
    def test_a_call_without_an_id(self):
        wrap, server = self.puppet()
        asked = frame({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "echo"}})
        wrap.send(asked)
        self.assertEqual(server.recv(), asked)
        self.check_denied_by_host(record.outcome_of(self.finish(wrap, server), asked), "no id: no answer can come")

    def cancelled(self, id, *frames_of_each_write):
        """Calls 1 and 2, 2 answered, and what the record says of 1 after the client cancelled `id`."""
        wrap, server = self.puppet()
        cancel = frame({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
        for names in frames_of_each_write:
            frames = [{"1": call(1), "2": call(2), "cancel": cancel}[name] for name in names]
            wrap.send(*frames)
            for one in frames:
                self.assertEqual(server.recv(), one)
        server.send(answer(2))
        wrap.recv()
        lines = self.finish(wrap, server)
        self.assertEqual(record.outcome_of(lines, call(2))["execution"]["status"], "success")
        return record.outcome_of(lines, call(1))

    def test_a_cancelled_call(self):
        self.check_denied_by_host(self.cancelled(1, ["1", "2"], ["cancel"]), "cancelled by the client")

    def test_a_call_that_is_cancelled_in_the_same_read(self):
        self.check_denied_by_host(self.cancelled(1, ["1", "2", "cancel"]), "cancelled by the client")

    def test_a_cancellation_of_another_type_of_id_is_none(self):
        self.check_denied_by_host(self.cancelled("1", ["1", "2"], ["cancel"]), "child exited before responding")

    def test_a_cancelled_call_that_is_answered_all_the_same(self):
        wrap, server = self.puppet()
        cancel = frame({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        wrap.send(call(1), cancel)
        server.recv(), server.recv()
        server.send(answer(1))
        self.assertEqual(wrap.recv(), answer(1))
        self.assertEqual(record.outcome_of(self.finish(wrap, server), call(1))["execution"]["status"], "success")

    def test_the_server_ended(self):
        ends = {"exit": lambda server: server.exit(0), "kill": lambda server: server.die(signal.SIGKILL)}
        for name, end in ends.items():
            with self.subTest(name):
                wrap, server = self.puppet(audit=self.path(name))
                wrap.send(call(1))
                server.recv()
                end(server)
                wrap.wait()
                outcome = record.outcome_of(self.check_record(self.path(name)), call(1))
                self.check_denied_by_host(outcome, "child exited before responding")

    def test_the_server_closed_its_output_and_lives_on(self):
        wrap, server = self.puppet("--grace", "1")
        wrap.send(call(1))
        server.recv()
        server.close(1)
        self.assertEqual(wrap.out.rest(), b"")
        wrap.close_stdin()
        server.exit(0)
        wrap.wait()
        outcome = record.outcome_of(self.check_record(), call(1))
        self.check_denied_by_host(outcome, "child exited before responding")

    def test_the_client_closed_and_the_server_stays_silent(self):
        wrap, server = self.puppet("--grace", "1")
        wrap.send(call(1))
        server.recv()
        server.let_go()
        self.assertEqual(wrap.end(), 128 + signal.SIGTERM)
        self.check_denied_by_host(record.outcome_of(self.check_record(), call(1)), GRACE)

    def test_the_client_is_gone(self):
        wrap, server = self.puppet()
        wrap.send(call(1), call(2))
        server.recv(), server.recv()
        wrap.process.stdout.close()
        server.send(answer(1))
        wrap.close_stdin()
        self.assertEqual(server.input.rest(), b"")
        server.exit(0)
        wrap.wait()
        lines = self.check_record()
        outcome = record.outcome_of(lines, call(1))
        self.check_ran(outcome)
        self.assertEqual(outcome["execution"], {"status": "success"})
        self.assertNotIn("response_digest", outcome)
        self.check_denied_by_host(record.outcome_of(lines, call(2)), "child exited before responding")

    def test_a_server_that_the_filter_killed(self):
        wrap, server = self.puppet()
        wrap.send(call(1))
        server.recv()
        server.die(signal.SIGSYS)
        self.assertEqual(wrap.wait(), 128 + signal.SIGSYS)
        outcome = record.outcome_of(self.check_record(), call(1))
        self.check_ran(outcome)
        self.assertEqual(outcome["execution"]["status"], "trap")
        self.assertIn("SIGSYS", outcome["execution"]["message"])

    def test_aegis_was_told_to_stop(self):
        wrap, server = self.puppet()
        wrap.send(call(1))
        server.recv()
        server.let_go()
        wrap.signal(signal.SIGTERM)
        self.assertEqual(wrap.wait(), 128 + signal.SIGTERM)
        outcome = record.outcome_of(self.check_record(), call(1))
        self.check_denied_by_host(outcome, "wrap stopped before the child responded")

    def test_aegis_was_killed(self):
        wrap, server = self.puppet()
        wrap.send(call(1, "slow"), call(2, "quick"))
        server.recv(), server.recv()
        server.send(answer(2))
        wrap.recv()
        wrap.signal(signal.SIGKILL)
        wrap.wait()
        found = self.verify()
        self.assertEqual(found.returncode, 3, found.stdout)
        self.assertRegex(found.stdout, r"^Indeterminate: \S")
        slow = next(line for line in record.intents(record.read(self.audit)) if line["tool_id"] == "slow")
        self.assertIn(f"in_flight session 0 seq {slow['seq']} call {slow['call_id']} tool slow\n", found.stdout)


if __name__ == "__main__":
    harness.main()
