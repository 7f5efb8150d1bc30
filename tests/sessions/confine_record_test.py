#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""aegis wrap --confine: what the record says of a confined server and of what it was refused, and what no confined
server may reach, whatever is granted."""

import glob
import http.server
import json
import os
import shutil
import signal
import tempfile
import threading
import unittest

import confined
import harness
import record
from confined import AS_NOBODY, ConfineCase
from harness import call, request

NAMESPACES = ["cgroup", "ipc", "mount", "net", "pid", "user", "uts"]


class RecordCase(ConfineCase):
    patience = 60

    def finish_session(self, wrap, path=None):
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        return self.check_record(path)

    def ask_tool(self, wrap, id, tool, **arguments):
        """The text of a tool's answer, and whether it is an error."""
        wrap.send(call(id, tool, **arguments))
        result = wrap.recv_json()["result"]
        return result["content"][0]["text"], result["isError"]


class Content(RecordCase):
    def test_the_open_line_says_what_the_kernel_enforces(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                path = self.path(tier)
                lines = self.finish_session(self.session("--tier", tier, audit=path), path)
                said = dict(lines[0]["confinement"])
                self.assertGreaterEqual(said.pop("landlock_abi"), 3)
                self.assertRegex(said.pop("profile_hash"), "^[0-9a-f]{64}$")
                self.assertIn(said.pop("memory_bound"), ("per_process", "cgroup_v1", "cgroup_v2"))
                self.assertIn(said.pop("process_bound"), ("pid_namespace", "rlimit", "cgroup", "none"))
                reads, writes = said.pop("read_paths"), said.pop("write_paths")
                self.assertEqual((reads, writes), (sorted(reads), sorted(writes)))
                self.assertTrue({"/usr", self.workspace, self.path("servers")} <= set(reads), reads)
                outside = [each for each in writes if not each.startswith("/tmp/aegis-")]
                self.assertEqual(outside, [] if tier == "full" else ["/dev/shm"])
                self.assertIn(self.workspace, writes)
                self.assertEqual(said, {
                    "tier": tier, "landlock_fully_enforced": True, "seccomp_applied": True,
                    "seccomp_network_denied": True, "namespaces": NAMESPACES if tier == "full" else [], "net": [],
                    "profile": "python", "best_effort": False, "unconfined_network": False})

    def test_a_call_is_recorded_with_its_real_grant(self):
        policy = self.policy({"id": "no-die", "action": "deny", "tool": "die"})
        wrap = self.session("--policy", policy, "--max-memory", "2GiB", "--max-output", "1MiB", "--allow-read",
                            self.secret)
        first, denied = call(1, "read", path=self.secret), call(2, "die", number=9)
        self.assertIn("what nobody granted", wrap.ask(first).decode())
        self.assertIn("error", json.loads(wrap.ask(denied)))
        lines = self.finish_session(wrap)
        grant = record.outcome_of(lines, first)["capability"]["grant"]
        said = lines[0]["confinement"]
        self.assertEqual(grant, {"grant_id": "confined-" + record.intents(lines)[0]["call_id"], "tool_id": "read",
                                 "fs": {"read_paths": said["read_paths"], "write_paths": said["write_paths"]},
                                 "max_memory_bytes": 2 << 30, "max_output_bytes": 1 << 20, "max_wall_ms": 0})
        self.assertIn(self.secret, said["read_paths"])
        self.assertNotIn("grant_id", record.outcome_of(lines, denied))

    def test_what_is_not_confined_says_nothing_of_it(self):
        wrap = self.wrap(server=self.server)
        self.ask_tool(wrap, 1, "read", path=self.secret)
        lines = self.finish_session(wrap)
        self.assertNotIn("confinement", lines[0])
        self.assertIn("not confined", wrap.own_words())
        self.assertTrue(record.outcomes(lines)[0]["grant_id"].startswith("wrap-passthrough-"))

    def test_the_whole_network_is_named_what_it_is(self):
        wrap = self.session("--allow-net", "all")
        said = self.finish_session(wrap)[0]["confinement"]
        self.assertEqual((said["unconfined_network"], said["seccomp_network_denied"]), (True, False))
        self.assertNotIn("net", said["namespaces"])
        self.assertIn("UNCONFINED", wrap.own_words())


class Refused(RecordCase):
    def test_a_file_that_was_not_granted(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                path = self.path(tier)
                wrap = self.session("--tier", tier, audit=path)
                text, is_error = self.ask_tool(wrap, 1, "read", path=self.secret)
                self.assertTrue(is_error and text.startswith("ENOENT" if tier == "full" else "EACCES"), text)
                text, is_error = self.ask_tool(wrap, 2, "run", argv=["/bin/cat", self.secret])
                self.assertTrue(is_error and "what nobody granted" not in text, text)
                self.assertEqual(self.ask_tool(wrap, 3, "run", argv=["/bin/pwd"]), (self.workspace + "\n", False))
                environment = json.loads(self.ask_tool(wrap, 4, "environment")[0])
                self.assertNotIn(harness.MARK, environment)
                self.finish_session(wrap, path)

    def test_the_network_is_none_at_all(self):
        wrap = self.session()
        self.assertEqual(self.ask_tool(wrap, 1, "connect", host="127.0.0.1", port=9)[0].split(":")[0], "EAFNOSUPPORT")
        self.assertEqual(self.ask_tool(wrap, 2, "make_socket", family="AF_NETLINK")[0].split(":")[0], "EAFNOSUPPORT")
        self.finish_session(wrap)

    def test_what_a_grant_leaves_out_stands_in_the_outcome_of_the_call_in_flight(self):
        server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        self.addCleanup(server.server_close)
        port = server.server_port
        wrap = self.session("--allow-net", f"127.0.0.1:{port}")
        frames = [call(1, "connect", host="127.0.0.1", port=port), call(2, "connect", host="192.0.2.1", port=443),
                  call(3, "make_socket", family="AF_PACKET"), call(4, "connect", host="no.test", port=port)]
        got = [json.loads(wrap.ask(each))["result"]["isError"] for each in frames]
        self.assertEqual(got, [False, True, True, True])
        lines = self.finish_session(wrap)
        self.assertEqual(lines[0]["confinement"]["net"], [{"host": "127.0.0.1", "ports": [port]}])
        told = [" ".join(record.outcome_of(lines, each).get("refusals", [])) for each in frames]
        self.assertEqual(told[0], "")
        self.assertIn("connect to 192.0.2.1:443 refused", told[1])
        self.assertIn("AF_PACKET", told[2])
        self.assertIn("look-up of no.test refused", told[3])
        for words in told[1:]:
            self.assertIn(words.split(";")[0], wrap.own_words())

    def test_configuration_that_appears_is_moved_away_and_recorded(self):
        wrap = self.session()
        config = os.path.join(self.workspace, ".mcp.json")
        wrap.send(call(1, "write", path=config, text="evil"))
        wrap.recv()
        wrap.send(call(2, "write", path=os.path.join(self.workspace, ".vscode", "tasks.json"), text="evil"),
                  call(3, "wait", seconds=0.5))
        wrap.recv()
        wrap.recv()
        lines = self.finish_session(wrap)
        self.assertEqual(os.listdir(self.workspace), [])
        told = [refusal for line in record.outcomes(lines) for refusal in line.get("refusals", [])]
        self.assertTrue(any(f"{self.workspace}/.vscode appeared and was moved to" in each for each in told), told)
        self.assertIn(f"{config} appeared and was moved to", wrap.own_words())
        kept = glob.glob(os.path.join(self.home, ".local/state/aegis/quarantine/*/*"), include_hidden=True)
        self.assertEqual(len(kept), 2, kept)

    def test_too_much_output_ends_the_server_and_its_call(self):
        wrap = self.session("--max-output", "100000")
        self.assertEqual(len(self.ask_tool(wrap, 1, "flood", size=50_000)[0]), 50_000)
        frames = [call(2, "flood", size=60_000), call(3, "wait", seconds=60)]
        wrap.send(*reversed(frames))
        self.assertEqual(wrap.out.rest(), b"")
        wrap.wait()
        lines = self.check_record()
        for each in frames:
            self.assertEqual(record.outcome_of(lines, each)["execution"],
                             {"status": "resource_exceeded", "kind": "output"})
        self.assertIn("--max-output", lines[-1]["reason"])
        self.assertIn("more than --max-output 100000 bytes", wrap.own_words())

    def test_a_server_that_its_filter_killed_has_trapped(self):
        wrap = self.session()
        sent = call(1, "die", number=int(signal.SIGSYS))
        wrap.send(sent)
        self.assertEqual(wrap.out.rest(), b"")
        self.assertEqual(wrap.wait(), 128 + signal.SIGSYS)
        self.assertEqual(record.outcome_of(self.check_record(), sent)["execution"]["status"], "trap")


class Exposure(RecordCase):
    def refused(self, words, *flags, audit):
        """Does not start, says what could be reached, and leaves no Line of a session."""
        ran = os.path.join(self.workspace, "ran")
        run = self.aegis("wrap", "--audit", audit, "--confine", "--workspace", self.workspace, *flags, "--",
                         "/usr/bin/touch", ran)
        self.assertEqual((run.returncode, run.stdout), (125, ""), run.stderr)
        self.assertIn("with it the program could " + words, run.stderr)
        self.assertFalse(os.path.exists(ran))
        self.assertFalse(os.path.exists(audit))
        self.assertNotIn("confined:", run.stderr)

    def test_the_key_the_record_and_the_policy_stay_out_of_reach(self):
        self.assertEqual(self.aegis("keygen", "--out", self.path("key")).returncode, 0)
        key, policy = self.path("key"), self.policy()
        inside = {name: os.path.join(self.workspace, name) for name in ("key", "policy.json", "record")}
        os.rename(key, inside["key"])
        os.rename(policy, inside["policy.json"])
        os.mkdir(self.path("records"))
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                flags = ["--tier", tier]
                self.refused("read the signing key", *flags, "--signing-key", inside["key"], audit=self.audit)
                self.refused("read the signing key", *flags, "--allow-read", self.home, audit=self.audit)
                self.refused("write the record", *flags, audit=inside["record"])
                self.refused("write the record", *flags, "--allow-write", self.path("records"),
                             audit=self.path("records", "record"))
                self.refused("write the policy", *flags, "--policy", inside["policy.json"], audit=self.audit)
                os.path.lexists(self.path("link")) or os.symlink(self.workspace, self.path("link"))
                self.refused("write the record", *flags, audit=self.path("link", "record"))

    def test_the_hosts_shared_memory_is_no_place_for_them_in_tier_landlock(self):
        """There the program may write it."""
        if confined.why_not("landlock"):
            self.skipTest(confined.why_not("landlock"))
        with tempfile.TemporaryDirectory(prefix="aegis-", dir="/dev/shm") as folder:
            self.assertEqual(self.aegis("keygen", "--out", folder + "/key").returncode, 0)
            shutil.copy(self.policy(), folder + "/policy.json")
            flags = ["--tier", "landlock"]
            self.refused("read the signing key", *flags, "--signing-key", folder + "/key", audit=self.audit)
            self.refused("write the record", *flags, audit=folder + "/record")
            self.refused("write the policy", *flags, "--policy", folder + "/policy.json", audit=self.audit)
            self.refused("write the log", *flags, "--stderr-log", folder + "/log", audit=self.audit)
            os.symlink(self.policy(), folder + "/link")
            self.refused("write the policy", *flags, "--policy", folder + "/link", audit=self.audit)

    def test_reading_the_record_is_no_harm_and_grants_beside_them_are_none(self):
        wrap = self.session("--allow-read", self.secret, "--policy", self.policy())
        self.finish_session(wrap)


class Everyday(RecordCase):
    def test_a_server_with_processes_of_its_own(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                path = self.path(tier)
                wrap = self.session("--tier", tier, audit=path,
                                    server=self.copy_server("worker_server.py"))
                wrap.send(request(1, "initialize", protocolVersion="2025-06-18"))
                self.assertIn("serverInfo", wrap.recv_json()["result"])
                self.assertEqual(self.ask_tool(wrap, 2, "squares", count=5), ("0 1 4 9 16", False))
                self.assertEqual(self.ask_tool(wrap, 3, "count_up", count=5), ("10", False))
                self.assertEqual(self.ask_tool(wrap, 4, "run", argv=["/bin/echo", "x"]), ("x\n", False))
                if tier == "full":  # a manager has a unix socket
                    self.assertEqual(self.ask_tool(wrap, 5, "keep", words=["a", "b"]), ("a,b", False))
                self.finish_session(wrap, path)

    @harness.needs_root
    def test_as_an_ordinary_user(self):
        program = confined.give_to_nobody(self)
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                path = self.path(tier)
                wrap = harness.Wrap([*AS_NOBODY, program, "wrap", "--audit", path, "--confine", "--tier", tier,
                                     "--workspace", self.workspace, "--", *self.server], env=self.env())
                self.wraps.append(wrap)
                made = os.path.join(self.workspace, tier)
                self.assertEqual(self.ask_tool(wrap, 1, "write", path=made, text="x"), ("written", False))
                self.assertTrue(self.ask_tool(wrap, 2, "read", path=self.secret)[1])
                self.assertEqual(wrap.end(), 0, wrap.stderr())
                self.assertEqual(record.faults(record.read(path)), [])
                self.assertEqual(self.verify(path, pinned=False).returncode, 0)
                self.assertEqual(os.stat(made).st_uid, confined.NOBODY)


if __name__ == "__main__":
    harness.main()
