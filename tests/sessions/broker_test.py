#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`aegis mcp`: the broker's tools over MCP, what they leave on the record, and how their calls end."""

import json
import os
import re
import signal
import time
import unittest

import brokered
import harness
import record
from harness import call, frame, request
from processes import read_text


def code_of(result):
    return result["structuredContent"].get("code")


def cancel(id):
    return frame({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})


def holds(pid, secret):
    """Whether the bytes are anywhere in a process's memory that can be read."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            try:
                memory.seek(begin)
                if secret in memory.read(end - begin):
                    return True
            except (OSError, ValueError, OverflowError):
                continue  # a guard page, [vvar]
    return False


def descriptors(pid):
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            continue
    return found


class Mcp(brokered.BrokerCase):
    def test_an_agent_lists_and_calls_the_tools(self):
        self.need_sandbox()
        wrap = self.mcp()
        hello = self.initialize(wrap)
        self.assertEqual(hello["protocolVersion"], "2025-06-18")
        self.assertIn("tools", hello["capabilities"])
        self.assertEqual(self.ask(wrap, request(1, "ping"))["result"], {})
        tools = self.ask(wrap, request(2, "tools/list"))["result"]["tools"]
        self.assertEqual([tool["name"] for tool in tools], brokered.OPERATIONS)
        self.assertIn("hello broker", self.operate(wrap, 3, "read_text", path="data/a.txt")["content"][0]["text"])
        self.assertIn("a.txt", json.dumps(self.operate(wrap, 4, "list_dir", path="data")))
        ran = self.operate(wrap, 5, "run_python", code="import os; print(open('data/a.txt').read(), os.getcwd())")
        self.assertIn("hello broker\n /workspace", ran["structuredContent"]["stdout"], ran)
        listed = self.operate(wrap, 6, "run_command", argv=["ls", "data"])
        self.assertEqual(listed["structuredContent"]["stdout"], "a.txt\n", listed)
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        self.assertEqual(wrap.tail, b"")
        self.assertIn(b"aegis: mcp: recording to ", wrap.stderr())

        lines = self.check_record()
        self.assertEqual(lines[0]["server"]["program"], "aegis-mcp")
        self.assertEqual(lines[0]["broker"]["revealed"], [])
        told = record.outcomes(lines)
        self.assertEqual([line["tool_id"] for line in told], brokered.OPERATIONS)
        for line in told:
            self.assertEqual(line["policy_set_hash"], lines[0]["broker"]["policy_set_hash"])
            self.assertEqual(line["execution"]["status"], "success", line)
            self.assertIn("response_digest", line)
        self.assertEqual(told[0]["decision_axes"], {"fs": {"path_canonical": "workspace/data/a.txt"}})
        grant = told[2]["capability"]["grant"]
        self.assertEqual((grant["fs"]["write_paths"], grant["max_wall_ms"], grant["max_output_bytes"],
                          grant["max_memory_bytes"]), ([], 15000, 65536, 256 << 20))

    def test_the_stateless_revision_calls_at_once(self):
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {}}
        wrap = self.mcp()
        first = self.ask(wrap, request(1, "tools/call", name="read_text", arguments={"path": "data/a.txt"}, _meta=meta))
        self.assertEqual(first["result"]["resultType"], "complete")
        self.assertIn("tools", self.ask(wrap, request(2, "server/discover", _meta=meta))["result"]["capabilities"])
        listed = self.ask(wrap, request(3, "tools/list", _meta=meta))["result"]
        self.assertEqual(len(listed["tools"]), 4)
        self.assertEqual(wrap.end(), 0)

    def test_only_what_the_policy_allows_is_listed_and_done(self):
        wrap = self.mcp(policy=self.broker_policy(["read_text", "list_dir"], more={"require_approval_for": ["list_dir"]}))
        tools = self.ask(wrap, request(1, "tools/list"))["result"]["tools"]
        self.assertEqual([tool["name"] for tool in tools], ["read_text"])
        for id, (tool, arguments, code) in enumerate((("list_dir", {"path": "."}, "APPROVAL_REQUIRED"),
                                                      ("run_python", {"code": "1"}, "OPERATION_NOT_PERMITTED"))):
            self.assertEqual(code_of(self.operate(wrap, id, tool, **arguments)), code)
        self.assertEqual(wrap.end(), 0)
        self.assertEqual([line["policy"] for line in record.outcomes(self.check_record())],
                         [{"status": "denied", "reason": "APPROVAL_REQUIRED"},
                          {"status": "denied", "reason": "OPERATION_NOT_PERMITTED"}])

    def test_a_refusal_is_a_result_that_says_why_and_a_denial_on_the_record(self):
        wrap = self.mcp()
        for id, (path, code) in enumerate((("../secret", "PATH_BOUNDARY_VIOLATION"), ("/etc/passwd", "PATH_BOUNDARY_VIOLATION"),
                                           (".ENV", "SENSITIVE_TARGET_DENIED"), (7, "SCHEMA_VALIDATION_FAILURE")), 1):
            result = self.operate(wrap, id, "read_text", path=path)
            self.assertTrue(result["isError"])
            self.assertEqual(code_of(result), code)
        self.assertEqual(wrap.end(), 0)
        for line in record.outcomes(self.check_record()):
            self.assertEqual(line["policy"]["status"], "denied")
            self.assertEqual(line["capability"], line["policy"])
            self.assertEqual(line["execution"], {"status": "host_denied", "reason": "not executed"})
            self.assertNotIn("fs", line["decision_axes"])
        again = self.aegis("recheck", "--policy", self.policy(), self.audit)
        self.assertEqual(again.returncode, 0, again.stdout)
        self.assertEqual(again.stdout.count("unchanged denied"), 4)

    def test_a_revealed_name_can_be_read_and_the_record_names_it(self):
        wrap = self.mcp("--reveal", ".env")
        self.assertIn("sekrit", self.operate(wrap, 1, "read_text", path=".env")["content"][0]["text"])
        self.assertEqual(wrap.end(), 0)
        self.assertEqual(self.check_record()[0]["broker"]["revealed"], [".env"])

    def test_nothing_that_was_asked_or_answered_is_on_the_record(self):
        self.need_sandbox()
        self.write("ws/data/secret-content.txt", "sekrit-in-file")
        wrap = self.mcp()
        self.operate(wrap, 1, "read_text", path="data/secret-content.txt")
        self.operate(wrap, 2, "run_python", code="print('sekrit' + '-printed')  # sekrit-in-code", args=["sekrit-arg"])
        self.operate(wrap, 3, "run_command", argv=["ls", "sekrit-word"])
        self.operate(wrap, 4, "read_text", path="data/a.txt", sekrit_member="sekrit-value")
        self.operate(wrap, 5, "read_text", path="../sekrit-path")
        wrap.send(call(6, "read_text", path="data/a.txt")[:-3] + b',"_meta":{"progressToken":"sekrit-token"}}}\n')
        wrap.recv()
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        self.check_record()
        with open(self.audit, "rb") as file:
            self.assertNotIn(b"sekrit", file.read())
        self.assertNotIn(self.dir.encode(), b"".join(line.raw for line in record.read(self.audit)))

    def test_a_client_that_does_not_read_is_not_answered_ahead(self):
        self.write("ws/data/long.txt", "x" * 1_000_000)
        wrap = self.mcp("--durability", "off")
        wrap.send(b"".join(call(id, "read_text", path="data/long.txt") for id in range(300)))
        time.sleep(1)
        with open(f"/proc/{wrap.pid}/status", encoding="utf-8") as file:
            most = int(re.search(r"VmHWM:\s+(\d+) kB", file.read())[1])
        self.assertLess(most, 100_000)
        for id in range(300):
            self.assertEqual(json.loads(wrap.recv())["id"], id)
        self.assertEqual(wrap.end(), 0)

    def test_a_call_without_arguments_that_fit_never_begins(self):
        wrap = self.mcp()
        self.assertEqual(code_of(self.operate(wrap, 1, "run_python", code=1)), "SCHEMA_VALIDATION_FAILURE")
        wrap.send(frame({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "run_python", "arguments": {"code": "1"}}}))
        self.assertEqual(self.ask(wrap, request(2, "ping"))["id"], 2)
        twice = b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ping","name":"run_python"}}\n'
        self.assertEqual(self.ask(wrap, twice)["error"]["data"]["aegis"]["code"], "MALFORMED_FRAME")
        self.assertEqual(wrap.end(), 0)
        self.assertEqual([line["policy"]["status"] for line in record.outcomes(self.check_record())], ["denied"] * 3)


class Runs(brokered.BrokerCase):
    def setUp(self):
        super().setUp()
        self.need_sandbox()

    def sleeping(self, wrap, id, seconds=60, **params):
        """Starts a run and comes back when it runs. Gives the processes that were there before."""
        self.assertEqual(self.ask(wrap, request("ready", "ping"))["id"], "ready")
        before = brokered.children_of(wrap.pid)
        wrap.send(request(id, "tools/call", name="run_python",
                          arguments={"code": f"import time; time.sleep({seconds}); print('woke')"}, **params))
        while not brokered.children_of(wrap.pid) - before:
            time.sleep(0.01)
        return before

    def assertOnlyLeft(self, wrap, before):
        deadline = time.monotonic() + 20
        while (left := brokered.children_of(wrap.pid) - before) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(left, set(), "a run's processes outlived it")

    def test_a_cancelled_run_is_ended_and_not_answered(self):
        wrap = self.mcp()
        self.initialize(wrap)
        before = self.sleeping(wrap, 1)
        wrap.send(cancel(1))
        self.assertOnlyLeft(wrap, before)
        self.assertEqual(self.ask(wrap, request(2, "ping"))["id"], 2)
        self.assertEqual(wrap.end(), 0)
        self.assertEqual(wrap.tail, b"")
        line = record.outcomes(self.check_record())[0]
        self.assertEqual(line["execution"], {"status": "host_denied", "reason": "cancelled by the client"})
        self.assertEqual(line["capability"]["grant"]["fs"]["read_paths"], ["workspace"])
        self.assertNotIn("response_digest", line)

    def test_progress_is_told_about_once_a_second_to_who_asked(self):
        wrap = self.mcp()
        self.sleeping(wrap, 1, 3.5, _meta={"progressToken": "t"})
        told = []
        while "id" not in (got := wrap.recv_json()):
            self.assertEqual(got["method"], "notifications/progress")
            self.assertEqual(got["params"]["progressToken"], "t")
            told.append(got["params"]["progress"])
        self.assertEqual(told, sorted(set(told)), "it must grow")
        self.assertGreaterEqual(len(told), 2)
        self.assertEqual(got["result"]["structuredContent"]["stdout"], "woke\n")
        self.assertEqual(wrap.end(), 0)

    def test_a_run_that_outlives_the_clients_input_is_answered_within_the_grace(self):
        wrap = self.mcp("--grace", "20")
        self.sleeping(wrap, 1, 1.5)
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        self.assertEqual(json.loads(wrap.tail)["result"]["structuredContent"]["stdout"], "woke\n")
        lines = self.check_record()
        self.assertEqual(record.outcomes(lines)[0]["execution"]["status"], "success")
        self.assertEqual(lines[-1]["reason"], "client closed stdin")

    def test_after_the_grace_it_is_ended(self):
        wrap = self.mcp("--grace", "1")
        self.sleeping(wrap, 1, 60)
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        self.assertEqual(wrap.tail, b"")
        line = record.outcomes(self.check_record())[0]
        self.assertEqual(line["execution"]["reason"], "client closed stdin; not done within the shutdown grace")
        self.assertEqual(line["capability"]["grant"]["fs"]["read_paths"], ["workspace"])

    def test_a_stop_signal_ends_it_and_seals_the_record(self):
        wrap = self.mcp()
        self.sleeping(wrap, 1)
        children = brokered.children_of(wrap.pid)
        wrap.signal(signal.SIGTERM)
        self.assertEqual(wrap.wait(), 128 + signal.SIGTERM)
        lines = self.check_record()
        self.assertEqual(record.outcomes(lines)[0]["execution"]["reason"], "wrap stopped before it was done")
        self.assertEqual(lines[-1]["line_type"], "close")
        self.assertGone(children)

    def test_a_killed_aegis_takes_it_along_and_leaves_neither_lock_nor_pipe(self):
        wrap = self.mcp()
        self.sleeping(wrap, 1)
        children = brokered.children_of(wrap.pid)
        wrap.process.kill()
        self.assertEqual(wrap.out.rest(), b"")  # an end of file: nobody else holds the pipe
        wrap.wait()
        again = self.mcp()
        self.assertIn("hello", self.operate(again, 1, "read_text", path="data/a.txt")["content"][0]["text"])
        self.assertEqual(again.end(), 0, again.stderr())
        self.assertGone(children)

    @harness.needs_root
    @harness.not_sanitized
    def test_what_a_run_is_forked_from_leaves_it_neither_key_nor_descriptor(self):
        wrap = self.mcp()
        self.sleeping(wrap, 1)
        with open(os.path.join(self.home, ".config/aegis/signing.key"), encoding="ascii") as file:
            seed = bytes.fromhex(file.read().strip())
        self.assertTrue(holds(wrap.pid, seed), "aegis itself must have it, or this test sees nothing")
        ours = {os.readlink(f"/proc/{wrap.pid}/fd/{fd}") for fd in (0, 1, 2)} | {self.audit}
        for pid in brokered.children_of(wrap.pid):
            with self.subTest(read_text(f"/proc/{pid}/cmdline")):
                self.assertFalse(holds(pid, seed))
                self.assertEqual(descriptors(pid) & ours, set())
        wrap.send(cancel(1))
        self.assertEqual(wrap.end(), 0)

    def assertGone(self, pids):
        deadline = time.monotonic() + 20
        while (left := [pid for pid in pids if os.path.exists(f"/proc/{pid}")]) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(left, [])

    def test_a_bound_that_is_reached_is_told_and_recorded(self):
        wrap = self.mcp()
        late = self.operate(wrap, 1, "run_python", code="import time\nprint('x', flush=True)\ntime.sleep(60)", timeout_seconds=1)
        self.assertEqual((late["isError"], late["structuredContent"]["status"], late["structuredContent"]["stdout"]),
                         (True, "timeout", "x\n"), late)
        loud = self.operate(wrap, 2, "run_python", code="while True: print('y' * 1000)")
        self.assertEqual(loud["structuredContent"]["status"], "output_limit")
        self.assertTrue(loud["structuredContent"]["truncated"])
        self.assertEqual(wrap.end(), 0)
        for line in record.outcomes(self.check_record()):
            self.assertEqual(line["execution"]["status"], "resource_exceeded")
            self.assertIn("response_digest", line)

    def test_runs_stand_in_line_and_reads_do_not(self):
        wrap = self.mcp()
        self.initialize(wrap)
        for id in range(1, 7):
            wrap.send(call(id, "run_python", code=f"import time; time.sleep(1); print({id})"))
        wrap.send(call(7, "read_text", path="data/a.txt"))
        got = [wrap.recv_json() for _ in range(7)]
        self.assertEqual(got[0]["id"], 7)
        self.assertEqual({each["id"]: each["result"]["structuredContent"]["stdout"] for each in got[1:]},
                         {id: f"{id}\n" for id in range(1, 7)})
        self.assertEqual(wrap.end(), 0)
        self.check_record()


class Start(brokered.BrokerCase):
    def fails(self, wrap, *words):
        self.assertEqual(wrap.end(), 125)
        said = wrap.stderr().decode()
        for word in words:
            self.assertIn(word, said)
        self.assertFalse(os.path.exists(self.audit))

    def test_what_the_broker_could_read_or_write_of_aegis_is_refused(self):
        key = self.path("ws", "my.key")
        self.assertEqual(self.aegis("keygen", "--out", key).returncode, 0)
        self.fails(self.mcp("--signing-key", key), "the signing key", "--signing-key")
        os.unlink(key)
        writing = self.broker_policy(execution_rules={"allowed_paths": ["."]})
        self.audit = self.path("ws", "record.aarl")
        self.fails(self.mcp(policy=writing), "the record", "--audit")
        reading = self.broker_policy(["read_text"], name="reading.json")
        wrap = self.mcp(policy=reading)
        self.assertEqual(wrap.end(), 0, wrap.stderr())

    def test_a_policy_that_a_run_could_write_is_refused(self):
        self.workspace = self.dir
        inside = self.broker_policy(execution_rules={"allowed_paths": ["."]})
        self.fails(self.mcp(policy=inside, audit=None, env=self.env(HOME="/nonexistent-home")), "policy")

    def test_a_client_that_cannot_be_written_or_read_is_a_failure(self):
        ping = request(1, "ping")
        with open("/dev/full", "wb") as full, open(self.write("ping", ping), "rb") as given:
            wrap = self.mcp(stdout=full, stdin=given)
            self.assertEqual(wrap.wait(), 125, wrap.stderr())
        wrap = self.mcp("--max-frame", "10")
        wrap.send(ping)
        self.assertEqual(wrap.end(), 125)
        self.assertIn(b"--max-frame", wrap.stderr())

    def test_mistakes_are_said_before_anything_starts(self):
        for argv, words in ((["mcp"], "--policy"), (["mcp", "--policy", self.path("none")], "none"),
                            (["mcp", "--policy", self.write("bad", "version: 2\n")], "bad"),
                            (["wrap", "--reveal", ".env", "--", "true"], "without --broker"),
                            (["wrap", "--broker", self.path("none"), "--", "true"], "none")):
            with self.subTest(argv):
                found = self.aegis(*argv)
                self.assertEqual((found.returncode, found.stdout), (125, ""))
                self.assertIn(words, found.stderr)


if __name__ == "__main__":
    harness.main()
