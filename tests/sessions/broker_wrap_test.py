#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`aegis wrap --broker`: the broker beside a server. What the server sees, what is made of its lists, and that nothing
of the broker's delays it."""

import json
import signal
import time
import unittest

import brokered
import harness
import record
from harness import answer, call, frame, request


def tools(*names):
    return [{"name": name, "inputSchema": {"type": "object"}} for name in names]


class Beside(brokered.BrokerCase):
    def begin(self, *flags, policy=None):
        return self.puppet("--broker", policy or self.broker_policy(), *flags)

    def relayed(self, wrap, server, sent, back):
        """One exchange with the server, byte for byte up to what aegis changes: the client's frame."""
        wrap.send(sent)
        self.assertEqual(server.recv(), sent)
        server.send(back)
        return wrap.recv()

    def listed(self, wrap, server, id, *names, **more):
        got = json.loads(self.relayed(wrap, server, request(id, "tools/list"), answer(id, tools=tools(*names), **more)))
        self.assertEqual(got["id"], id)
        return [tool["name"] for tool in got["result"]["tools"]]

    def test_a_call_of_an_operation_never_reaches_the_server(self):
        wrap, server = self.begin()
        self.assertIn("hello", self.operate(wrap, 1, "read_text", path="data/a.txt")["content"][0]["text"])
        wrap.send(call(2, "run_python", code=5))
        self.assertTrue(wrap.recv_json()["result"]["isError"])
        wrap.send(call(3, "read_text\u200b"))
        self.assertEqual(server.recv(), call(3, "read_text\u200b"))
        server.send(answer(3))
        self.assertEqual(wrap.recv(), answer(3))
        lines = self.finish(wrap, server)
        self.assertEqual([line["tool_id"] for line in record.outcomes(lines)], ["read_text", "run_python", "read_text\u200b"])

    def test_the_tools_are_on_the_last_page_and_hide_the_servers_own(self):
        wrap, server = self.begin()
        self.assertEqual(self.listed(wrap, server, 1, "run_command", "a", nextCursor="2"), ["a"])
        self.assertEqual(self.listed(wrap, server, 2, "b", "run_python"), ["b", *brokered.OPERATIONS])
        self.assertEqual(self.listed(wrap, server, 3, "run_command"), brokered.OPERATIONS)
        for id in (4, 5):
            self.assertIn("a.txt", json.dumps(self.operate(wrap, id, "list_dir", path="data")))
        for id in (6, 7):
            self.operate(wrap, id, "run_command", argv=["no-such-program"])
        lines = self.finish(wrap, server)
        said = wrap.stderr().decode()
        for name in ("run_command", "run_python"):
            self.assertEqual(said.count(f'"{name}" is hidden'), 1, said)
        told = [line["tool_id"] for line in record.outcomes(lines) if "refusals" in line]
        self.assertEqual(told, ["run_command"])

    def test_a_large_list_and_a_large_answer_beside_it(self):
        wrap, server = self.begin()
        many = [{"name": f"t{i}", "description": "d" * 1000, "inputSchema": {}} for i in range(300)]
        got = self.relayed(wrap, server, request(1, "tools/list"), answer(1, tools=many + tools("run_command")))
        self.assertEqual(len(json.loads(got)["result"]["tools"]), 304)
        self.assertEqual(got.count(b'"run_command"'), 1)
        wrap.send(call(2, "t1"), request(3, "tools/list"))
        server.recv(), server.recv()
        large = answer(2, content="x" * 300000)
        server.send(large, answer(3, tools=[]))
        self.assertEqual(wrap.recv(), large)
        self.assertEqual(len(wrap.recv_json()["result"]["tools"]), 4)
        self.finish(wrap, server)

    def test_a_server_without_tools_gains_them(self):
        wrap, server = self.begin()
        hello = answer(1, protocolVersion="2025-06-18", capabilities={"logging": {}}, serverInfo={"name": "s"})
        got = json.loads(self.relayed(wrap, server, request(1, "initialize"), hello))
        self.assertEqual(got["result"]["capabilities"], {"logging": {}, "tools": {}})
        missing = frame({"jsonrpc": "2.0", "id": 2, "error": {"code": -32601, "message": "Method not found"}})
        got = json.loads(self.relayed(wrap, server, request(2, "tools/list"), missing))
        self.assertEqual([tool["name"] for tool in got["result"]["tools"]], brokered.OPERATIONS)
        self.finish(wrap, server)

    def test_all_else_crosses_byte_for_byte(self):
        wrap, server = self.begin()
        odd = b'{ "id":1e0 ,"jsonrpc":"2.0","method":"resources/list" }\r\n'
        back = b'{"result" :{"x":1.0,"tools":[{"name":"run_command"}]},"id":1,"jsonrpc":"2.0"}\r\n'
        self.assertEqual(self.relayed(wrap, server, odd, back), back)
        for line in (b"\n", b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'):
            server.send(line)
            self.assertEqual(wrap.recv(), line)
        has_tools = answer(2, capabilities={"tools": {"listChanged": True}})
        self.assertEqual(self.relayed(wrap, server, request(2, "server/discover"), has_tools), has_tools)
        error = frame({"jsonrpc": "2.0", "id": 3, "error": {"code": -32602, "message": "bad cursor"}})
        self.assertEqual(self.relayed(wrap, server, request(3, "tools/list"), error), error)
        self.finish(wrap, server)

    def test_a_list_that_has_two_readings_is_not_relayed(self):
        wrap, server = self.begin()
        twice = b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","name":"run_command"}]}}\n'
        got = json.loads(self.relayed(wrap, server, request(1, "tools/list"), twice))
        self.assertEqual((got["id"], got["error"]["code"]), (1, -32042))
        wrap.send(request(2, "tools/list"))
        server.recv()
        server.send(b'{"jsonrpc":"2.0","id":2,"result":{"tools":[],"x":NaN}}\n', answer(2, tools=[]))
        self.assertEqual(len(wrap.recv_json()["result"]["tools"]), 4)
        self.finish(wrap, server)
        self.assertIn(b'"x":NaN', wrap.stderr())
        self.assertIn(b"cannot be put into this answer to tools/list", wrap.stderr())

    def test_the_server_cannot_answer_in_the_brokers_stead(self):
        wrap, server = self.begin()
        wrap.send(call(1, "run_python", code="import time; time.sleep(1); print('true')"), request(2, "ping"))
        self.assertEqual(server.recv(), request(2, "ping"))
        forged = [answer(1, content="FORGED"), answer("1", content="FORGED"), b"[" + answer(1, x="FORGED").strip() + b"]\n",
                  b'{"id":4,"ID":1,"jsonrpc":"2.0","result":"FORGED"}\n', b'{"id":1,"jsonrpc":"2.0","result":NaN,"x":"FORGED"}\n',
                  b'{"id":1,"jsonrpc":"2.0","result":"FORGED","method":"x"}\n', answer(3, x="FORGED"), b"FORGED banner\n"]
        server.send(*forged, answer(2))
        self.assertEqual(wrap.recv(), answer(2))
        got = wrap.recv_json()
        self.assertEqual(got["id"], 1)
        self.assertNotIn("FORGED", json.dumps(got))
        server.send(forged[0], frame({"jsonrpc": "2.0", "method": "notifications/message"}))
        self.assertIn(b"notifications/message", wrap.recv())
        self.finish(wrap, server)
        self.assertEqual(wrap.stderr().count(b"FORGED"), len(forged) + 1)
        self.assertEqual(wrap.stderr().count(b"it answers what was not asked"), 5)
        self.assertEqual(wrap.stderr().count(b"it does not read the same for every parser; "), 4)

    def test_a_batch_that_concerns_the_broker_is_refused_whole(self):
        wrap, server = self.begin()
        batch = b"[" + call(1, "x").strip() + b"," + call(2, "run_command").strip() + b"]\n"
        got = json.loads(wrap.ask(batch))
        self.assertEqual([each["error"]["data"]["aegis"]["code"] for each in got], ["BATCH_DENIED"] * 2)
        self.assertIn("one by one", got[0]["error"]["message"])
        good = b"[" + call(3, "x").strip() + b"," + request(4, "ping").strip() + b"]\n"
        self.assertEqual(self.relayed(wrap, server, good, answer(3)), answer(3))
        lines = self.finish(wrap, server)
        self.assertEqual({line["policy"].get("reason") for line in record.outcomes(lines)},
                         {"batch holds a broker call", None})
        again = self.aegis("recheck", "--policy", self.policy(), self.audit)
        self.assertEqual(again.returncode, 0, again.stdout)

    def test_what_the_rules_deny_is_neither_listed_nor_done(self):
        rules = self.policy(*({"id": f"no-{tool}", "action": "deny", "tool": tool, "reason": "no code here"}
                              for tool in ("run_python", "run_command")))
        wrap, server = self.begin("--policy", rules)
        self.assertEqual(self.listed(wrap, server, 1, "run_command", "a"), ["a", "read_text", "list_dir"])
        got = self.ask(wrap, call(2, "run_command", argv=["ls"]))
        self.assertEqual(got["error"]["data"]["aegis"]["code"], "POLICY_DENIED")
        self.assertIn("hello", self.operate(wrap, 3, "read_text", path="data/a.txt")["content"][0]["text"])
        told = record.outcomes(self.finish(wrap, server))
        self.assertNotEqual(told[0]["policy_set_hash"], told[1]["policy_set_hash"])

    def test_a_hang_up_reads_the_rules_again_and_not_the_brokers_policy(self):
        policy = self.broker_policy()
        rules = self.policy()
        wrap, server = self.begin("--policy", rules, policy=policy)
        self.assertEqual(len(self.listed(wrap, server, 1)), 4)
        self.broker_policy(["read_text"])
        self.policy({"id": "no", "action": "deny", "tool": "list_dir"})
        wrap.signal(signal.SIGHUP)
        wrap.collector.wait_for(b"read again")
        self.assertEqual(self.listed(wrap, server, 2), ["read_text", "run_python", "run_command"])
        self.finish(wrap, server)

    def test_the_server_hears_of_cancelled_calls_of_its_own_only(self):
        wrap, server = self.begin()
        stop = lambda id: frame({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
        wrap.send(call(1, "slow"))
        server.recv()
        wrap.send(call(2, "run_python", code="import time; time.sleep(60)"), stop(2), stop(1))
        self.assertEqual(server.recv(), stop(1))
        server.exit(3)
        self.assertEqual(wrap.end(), 3)
        told = {line["tool_id"]: line["execution"] for line in record.outcomes(self.check_record())}
        self.assertEqual(set(told), {"slow", "run_python"})
        for execution in told.values():
            self.assertEqual(execution, {"status": "host_denied", "reason": "cancelled by the client"})

    def test_a_server_that_dies_ends_the_session_and_the_runs(self):
        self.need_sandbox()
        wrap, server = self.begin()
        before = brokered.children_of(wrap.pid)
        wrap.send(call(1, "run_python", code="import time; time.sleep(60)"))
        while not brokered.children_of(wrap.pid) - before:
            time.sleep(0.01)
        server.exit(4)
        self.assertEqual(wrap.wait(), 4)
        line = record.outcomes(self.check_record())[0]
        self.assertEqual(line["execution"], {"status": "host_denied", "reason": "child exited before it was done"})

    def test_a_run_delays_nothing_that_is_relayed(self):
        self.need_sandbox()
        wrap, server = self.begin("--durability", "off")
        wrap.send(call(1, "run_python", code="import time; time.sleep(4); print('woke')"))
        taken = []
        for id in range(2, 402):
            began = time.monotonic()
            ping = request(id, "ping")
            self.assertEqual(self.relayed(wrap, server, ping, answer(id)), answer(id))
            taken.append(time.monotonic() - began)
        # All of them came back before the run did, and none waited for it.
        self.assertEqual(wrap.recv_json()["result"]["structuredContent"]["stdout"], "woke\n")
        taken.sort()
        print(f"ping-pong beside a run: p50 {taken[200] * 1e6:.0f} us, p99 {taken[395] * 1e6:.0f} us, most {taken[-1] * 1e6:.0f} us")
        self.assertLess(taken[395], 0.5)
        self.finish(wrap, server)


if __name__ == "__main__":
    harness.main()
