#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""notes_server_test.py PROGRAM: the demo's server speaks each revision of MCP as its specification says."""

import json
import subprocess
import sys
import unittest

PROGRAM = None
WITH_HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(method, params=None, number=1):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


def initialize(version):
    return request("initialize", {"protocolVersion": version, "capabilities": {},
                                  "clientInfo": {"name": "test", "version": "1"}}, 0)


def talk(*messages):
    """All answers, in order, to messages (a str goes as it is)."""
    lines = "".join((m if isinstance(m, str) else json.dumps(m)) + "\n" for m in messages)
    run = subprocess.run([PROGRAM], input=lines.encode(), capture_output=True, timeout=20, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]  # of bytes: cuts at \n, not at U+2028


class WithHandshake(unittest.TestCase):
    def test_answers_with_the_version_asked_for(self):
        for version in WITH_HANDSHAKE:
            with self.subTest(version):
                self.assertEqual(talk(initialize(version))[0]["result"]["protocolVersion"], version)

    def test_offers_its_latest_for_a_version_it_does_not_know(self):
        for version in ("1999-01-01", "2026-07-28"):
            with self.subTest(version):
                self.assertEqual(talk(initialize(version))[0]["result"]["protocolVersion"], "2025-11-25")

    def test_keeps_reads_and_deletes_notes(self):
        def call(name, arguments):
            return request("tools/call", {"name": name, "arguments": arguments})
        answers = talk(initialize("2025-11-25"), call("add_note", {"text": "é \u2028"}), call("read_notes", {}),
                       call("delete_notes", {}), call("read_notes", {}))
        texts = [answer["result"]["content"][0]["text"] for answer in answers[1:]]
        self.assertEqual(texts, ["Noted. There are 1 notes.", "- é \u2028\n", "Deleted 1 notes.",
                                 "There are no notes."])

    def test_a_result_says_nothing_of_later_revisions(self):
        self.assertNotIn("resultType", talk(initialize("2025-06-18"), request("tools/list"))[1]["result"])

    def test_batches_belong_to_one_revision(self):
        batch = [request("ping", number=7), {"jsonrpc": "2.0", "method": "notifications/initialized"},
                 request("ping", number="8")]
        answers = talk(initialize("2025-03-26"), batch)
        self.assertEqual([a["id"] for a in answers[1]], [7, "8"])
        for version in ("2025-06-18", "2025-11-25"):
            self.assertEqual(talk(initialize(version), batch)[1]["error"]["code"], -32600)

    def test_errors_have_the_codes_of_the_book(self):
        rows = [
            ("not JSON", "}{", -32700),
            ("no object", 7, -32600),
            ("an id that is null", {"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
            ("an unknown method", request("resources/list"), -32601),
            ("an unknown tool", request("tools/call", {"name": "sudo"}), -32602),
            ("a tool without a name", request("tools/call"), -32602),
        ]
        for name, message, code in rows:
            with self.subTest(name):
                self.assertEqual(talk(initialize("2025-11-25"), message)[1]["error"]["code"], code)

    def test_a_tool_that_fails_says_so_in_its_result(self):
        answer = talk(initialize("2025-11-25"), request("tools/call", {"name": "add_note"}))[1]
        self.assertTrue(answer["result"]["isError"])

    def test_only_ping_is_answered_before_initialize(self):
        ping, tools = talk(request("ping"), request("tools/list"))
        self.assertEqual(ping["result"], {})
        self.assertEqual(tools["error"]["code"], -32600)

    def test_notifications_and_responses_are_not_answered(self):
        self.assertEqual(talk({"jsonrpc": "2.0", "method": "nobody/knows"},
                              {"jsonrpc": "2.0", "id": 3, "result": {}}), [])


class Stateless(unittest.TestCase):
    def test_needs_no_handshake(self):
        call = {"name": "add_note", "arguments": {"text": "x"}, "_meta": META}
        discover, tools, called = talk(request("server/discover", {"_meta": META}),
                                       request("tools/list", {"_meta": META}), request("tools/call", call))
        self.assertEqual(discover["result"]["supportedVersions"], ["2026-07-28"])
        self.assertEqual(len(tools["result"]["tools"]), 3)
        self.assertEqual(called["result"]["content"][0]["text"], "Noted. There are 1 notes.")
        for answer in (discover, tools, called):
            self.assertEqual(answer["result"]["resultType"], "complete")

    def test_an_unknown_version_is_answered_with_the_known_ones(self):
        meta = META | {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}
        error = talk(request("tools/list", {"_meta": meta}))[0]["error"]
        self.assertEqual((error["code"], error["data"]["supported"]), (-32022, ["2026-07-28"]))

    def test_what_the_revision_dropped_is_unknown(self):
        for method in ("ping", "initialize", "logging/setLevel"):
            with self.subTest(method):
                self.assertEqual(talk(request(method, {"_meta": META}))[0]["error"]["code"], -32601)

    def test_capabilities_must_be_named(self):
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        self.assertEqual(talk(request("tools/list", {"_meta": meta}))[0]["error"]["code"], -32602)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
