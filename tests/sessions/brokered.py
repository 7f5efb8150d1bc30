# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the tests of the broker in a session share: a workspace, a broker policy, and `aegis mcp` as a client has it."""

import json
import os

import broker
import harness
from broker import OPERATIONS
from harness import AEGIS, call, request
from processes import Wrap


def children_of(pid):
    """All living descendants of a process."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents[int(name)] = int(parent)
    found = set()
    while True:
        more = {child for child, parent in parents.items() if parent == pid or parent in found} - found
        if not more:
            return found
        found |= more


class BrokerCase(harness.SessionCase):
    patience = 120  # a sandbox that is built on a busy machine

    def setUp(self):
        super().setUp()
        self.workspace = self.path("ws")
        os.makedirs(self.path("ws", "data"))
        self.write("ws/data/a.txt", "hello broker\n")
        self.write("ws/.env", "TOKEN=sekrit-in-env\n")

    def broker_policy(self, operations=None, name="broker.json", **rules):
        execution = {"allowed_binaries": ["ls", "cat"], "allow_network": False, **rules.get("execution_rules", {})}
        return self.write(name, json.dumps(broker.policy(
            self.workspace, allowed_operations=OPERATIONS if operations is None else operations,
            path_rules=rules.get("path_rules", {}), execution_rules=execution, **rules.get("more", {}))))

    def mcp(self, *flags, policy=None, audit="", **popen):
        """Starts `aegis mcp`."""
        audit = self.audit if audit == "" else audit
        popen.setdefault("env", self.env())
        named = ["--audit", audit] if audit else []
        wrap = Wrap([AEGIS, "mcp", "--policy", policy or self.broker_policy(), *named, *flags], **popen)
        self.wraps.append(wrap)
        return wrap

    def ask(self, wrap, frame):
        return json.loads(wrap.ask(frame))

    def operate(self, wrap, id, tool, **arguments):
        """The tool result of one operation."""
        got = self.ask(wrap, call(id, tool, **arguments))
        self.assertEqual(got["id"], id, got)
        return got["result"]

    def initialize(self, wrap, version="2025-06-18"):
        got = self.ask(wrap, request(0, "initialize", protocolVersion=version, capabilities={},
                                     clientInfo={"name": "test", "version": "0"}))
        return got["result"]

    def need_sandbox(self):
        if broker.why_not():
            self.skipTest(broker.why_not())
