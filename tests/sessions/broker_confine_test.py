#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`aegis wrap --broker --confine`: a confined server and the broker beside it. Neither reaches what is the other's, the
record tells both, and either is there only with the other. Each by itself is confine_record_test.py's and
broker_wrap_test.py's."""

import json
import os
import select
import shutil
import subprocess
import time
import unittest

import brokered
import confined
import harness
import record
from confined import AS_NOBODY, PYTHON
from harness import AEGIS, call, request

SLEEP = "import time; time.sleep({}); print('woke')"

# Tried on each pid: to be killed, traced, read and looked into. Tells what was possible. The process in question is to
# be killed at last, and is so by whoever may.
ATTACK = """
import ctypes, json, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
byte = ctypes.create_string_buffer(1)
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
here, there = Piece(ctypes.addressof(byte), 1), Piece(ctypes.addressof(byte), 1)
def kernel(result):
    if result < 0: raise OSError(ctypes.get_errno(), "")
WAYS = {
    "pidfd": lambda pid: os.pidfd_open(pid),
    "seize": lambda pid: kernel(libc.ptrace(0x4206, pid, None, None)),
    "memory": lambda pid: kernel(libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)),
    "mem": lambda pid: open(f"/proc/{pid}/mem", "rb"),
    "descriptor": lambda pid: os.open(f"/proc/{pid}/fd/0", os.O_RDONLY),
    "environment": lambda pid: open(f"/proc/{pid}/environ", "rb").read(),
    "root": lambda pid: os.listdir(f"/proc/{pid}/root/"),
    "limits": lambda pid: kernel(libc.prlimit(pid, 7, ctypes.create_string_buffer(b"\\1" + b"\\0" * 15), None)),
    "stop": lambda pid: os.kill(pid, signal.SIGSTOP),
    "kill": lambda pid: os.kill(pid, signal.SIGKILL),
}
done = set()
for pid in json.loads(sys.argv[1]):
    for way, attempt in WAYS.items():
        try:
            attempt(pid)
            done.add(way)
        except OSError:
            pass
print(json.dumps(sorted(done)))
"""


class Both(brokered.BrokerCase):
    """The server's folder is "room", the broker's "ws"; neither is told of the other's."""

    patience = 100

    def setUp(self):
        self.need_sandbox()
        super().setUp()
        self.room = self.path("room")
        os.makedirs(self.room)
        os.makedirs(self.path("servers"))
        source = os.path.join(confined.SERVERS, "asyncio_server.py")
        self.server = [PYTHON, shutil.copy(source, self.path("servers"))]
        self.write("room/mine", "the server's own\n")
        self.secret = self.write("secret", "what nobody granted\n")

    def session(self, *flags, policy=None, **options):
        """A confined server beside a broker."""
        return self.wrap("--broker", policy or self.broker_policy(), "--confine", "--workspace", self.room, *flags,
                         server=self.server, **options)

    def unconfined(self, **options):
        return self.wrap("--broker", self.broker_policy(), server=self.server, **options)

    def served(self, wrap, id, tool, **arguments):
        """The text of a tool of the server's, and whether it is an error."""
        result = self.operate(wrap, id, tool, **arguments)
        return result["content"][0]["text"], result["isError"]

    def python(self, wrap, id, code, **more):
        """What a run of the broker's printed."""
        said = self.operate(wrap, id, "run_python", code=code, **more)["structuredContent"]
        self.assertEqual((said["status"], said.get("exit_code")), ("completed", 0), said)
        return said["stdout"]

    def await_run(self, wrap, before):
        """The processes of a run that begins: those that were not there before."""
        while True:
            found = brokered.children_of(wrap.pid) - before
            if any(harness.read_text(f"/proc/{pid}/comm").startswith("python3") for pid in found):
                return sorted(found)
            time.sleep(0.01)

    def check_both(self, lines, tier):
        """`open` tells both; each outcome has the grant of who did it. record.faults has compared the rest."""
        opened = lines[0]
        said = opened["confinement"]
        self.assertEqual(said["tier"], tier)
        self.assertIn(self.room, said["write_paths"])
        self.assertFalse(any(path.startswith(self.workspace) for path in said["read_paths"]))
        self.assertRegex(opened["broker"]["policy_set_hash"], "^[0-9a-f]{64}$")
        for line in record.outcomes(lines):
            grant, is_brokers = line["capability"].get("grant"), line["tool_id"] in brokered.OPERATIONS
            self.assertEqual(line["policy_set_hash"] == opened["broker"]["policy_set_hash"], is_brokers, line)
            if grant is None:
                self.assertEqual(line["policy"]["status"], "denied", line)
                continue
            self.assertEqual(grant["grant_id"], ("broker-" if is_brokers else "confined-") + line["call_id"])
            if is_brokers:
                self.assertTrue(grant["fs"]["read_paths"][0].startswith("workspace"), line)
            else:
                self.assertEqual(grant["fs"]["read_paths"], said["read_paths"])


class Apart(Both):
    def reach(self, wrap):
        """What the server reads of what is not its own."""
        outside = [self.secret, self.path("ws", "data/a.txt"), self.path("broker.json")]
        return [self.served(wrap, id, "read", path=path) for id, path in enumerate(outside, 10)]

    def go_through(self, wrap, tier):
        """Everything of both once; both are there, and neither sees what is the other's."""
        listed = self.ask(wrap, request(1, "tools/list"))["result"]["tools"]
        names = [tool["name"] for tool in listed]
        self.assertEqual(names[-4:], brokered.OPERATIONS)
        self.assertIn("environment", names)
        absent = "ENOENT" if tier == "full" else "EACCES"
        for text, is_error in self.reach(wrap):
            self.assertTrue(is_error and text.startswith(absent), text)
        self.assertEqual(self.served(wrap, 2, "write", path=self.path("room", tier), text="x"), ("written", False))
        self.assertEqual(self.served(wrap, 3, "connect", host="127.0.0.1", port=9)[1], True)

        self.assertIn("hello", self.operate(wrap, 4, "read_text", path="data/a.txt")["content"][0]["text"])
        self.assertIn("a.txt", json.dumps(self.operate(wrap, 5, "list_dir", path="data")))
        left = self.operate(wrap, 6, "read_text", path="../room/mine")
        self.assertEqual(left["structuredContent"]["code"], "PATH_BOUNDARY_VIOLATION")
        seen = self.python(wrap, 7, f"import os; print(os.getcwd(), os.path.exists({self.room!r}), "
                                    f"os.path.exists({self.secret!r}), sorted(os.environ), open('data/a.txt').read())")
        self.assertEqual(seen, "/workspace False False ['HOME', 'LANG', 'PATH', 'TMPDIR'] hello broker\n\n")
        said = self.operate(wrap, 8, "run_command", argv=["cat", "data/a.txt"])["structuredContent"]
        self.assertEqual((said["exit_code"], said["stdout"]), (0, "hello broker\n"))

    def test_both_work_and_neither_reaches_the_others(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                path = self.path("record-" + tier)
                wrap = self.session("--tier", tier, audit=path)
                self.go_through(wrap, tier)
                self.assertEqual(wrap.end(), 0, wrap.stderr())
                self.check_both(self.check_record(path), tier)

    def test_an_unconfined_server_reads_all_of_it(self):
        wrap = self.unconfined()
        got = self.reach(wrap)
        self.assertEqual([is_error for _, is_error in got], [False] * 3, got)
        self.assertEqual(got[1][0], "hello broker\n")
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        opened = self.check_record()[0]
        self.assertNotIn("confinement", opened)
        self.assertIn("broker", opened)

    @harness.needs_root
    def test_as_an_ordinary_user(self):
        policy = self.broker_policy()
        program = confined.give_to_nobody(self)
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                path = self.path("record-" + tier)
                wrap = harness.Wrap([*AS_NOBODY, program, "wrap", "--audit", path, "--broker", policy, "--confine",
                                     "--tier", tier, "--workspace", self.room, "--", *self.server], env=self.env())
                self.wraps.append(wrap)
                self.go_through(wrap, tier)
                self.assertEqual(wrap.end(), 0, wrap.stderr())
                self.assertEqual(self.verify(path, pinned=False).stdout.split()[0], "Verified")
                lines = record.read(path)
                self.assertEqual(record.faults(lines), [])
                self.check_both(lines, tier)
                self.assertEqual(os.stat(self.path("room", tier)).st_uid, confined.NOBODY)

    def test_all_at_the_same_time(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                path = self.path("record-" + tier)
                wrap = self.session("--tier", tier, audit=path)
                self.served(wrap, "ready", "environment")
                frames, wanted = [], {}

                def ask(tool, words, **arguments):
                    wanted[len(wanted)] = (tool, words)
                    frames.append(call(len(wanted) - 1, tool, **arguments))
                for n in range(4):
                    ask("wait", "waited", seconds=3)
                    ask("run_python", f"run {n}", code=f"import time; time.sleep(3); print('run', {n})")
                    ask("read_text", "hello broker", path="data/a.txt")
                    ask("read", "the server's own", path=self.path("room", "mine"))
                    ask("list_dir", "a.txt", path="data")
                    ask("run_command", "a.txt", argv=["ls", "data"])
                    ask("read", "No such file" if tier == "full" else "Permission denied", path=self.secret)
                wrap.send(*frames)
                got = {}
                while len(got) < len(wanted):
                    answer = wrap.recv_json()
                    self.assertNotIn(answer["id"], got)
                    got[answer["id"]] = json.dumps(answer["result"])
                for id, (tool, words) in wanted.items():
                    self.assertIn(words, got[id], (id, tool))
                # What is done at once waited for nothing that takes its time, on either side.
                order = [wanted[id][0] for id in got]
                slow = order.index("run_python"), order.index("wait")
                self.assertNotIn("read_text", order[min(slow):])
                self.assertNotIn("read", order[min(slow):])
                self.assertEqual(wrap.end(), 0, wrap.stderr())
                lines = self.check_record(path)
                self.assertEqual(len(record.outcomes(lines)), len(wanted) + 1)
                self.check_both(lines, tier)


class Processes(Both):
    def attacked(self, wrap, *others):
        """A run of the broker's that the server attacks, and `others`: what was possible, and how the run ended."""
        self.served(wrap, 0, "environment")
        before = brokered.children_of(wrap.pid)
        wrap.send(call(1, "run_python", code=SLEEP.format(4)))
        pids = [*self.await_run(wrap, before), *others]
        wrap.send(call(2, "run", argv=[PYTHON, "-c", ATTACK, json.dumps(pids)]))
        answers = {answer["id"]: answer["result"] for answer in (wrap.recv_json(), wrap.recv_json())}
        return json.loads(answers[2]["content"][0]["text"]), answers[1]

    def test_the_server_cannot_touch_the_runs(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                path = self.path("record-" + tier)
                wrap = self.session("--tier", tier, audit=path)
                done, run = self.attacked(wrap, wrap.pid)
                # To name a process is not to touch it: where there is no pid namespace, it has one.
                self.assertEqual(done, [] if tier == "full" else ["pidfd"])
                self.assertEqual(run["structuredContent"]["stdout"], "woke\n")
                self.assertEqual(wrap.end(), 0, wrap.stderr())
                self.check_both(self.check_record(path), tier)

    def test_an_unconfined_server_ends_them(self):
        wrap = self.unconfined()
        done, run = self.attacked(wrap)
        self.assertTrue({"kill", "pidfd", "stop"} <= set(done), done)
        self.assertNotIn("woke", json.dumps(run))
        wrap.end()

    def test_the_runs_cannot_touch_the_server(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                path = self.path("record-" + tier)
                wrap = self.session("--tier", tier, audit=path)
                self.served(wrap, 1, "environment")
                pids = [wrap.pid, *sorted(brokered.children_of(wrap.pid))]
                self.assertGreater(len(pids), 1)
                code = "import os, signal\nseen = []\n" \
                       f"for pid in {pids}:\n" \
                       "  try:\n    os.kill(pid, signal.SIGKILL)\n    seen.append(pid)\n" \
                       "  except OSError: pass\n" \
                       "  if os.path.exists(f'/proc/{pid}'): seen.append(pid)\n" \
                       "print(seen, [pid for pid in os.listdir('/proc') if pid.isdigit() and int(pid) > 99])"
                self.assertEqual(self.python(wrap, 2, code), "[] []\n")
                self.assertEqual(self.served(wrap, 3, "wait", seconds=0), ("waited", False))
                self.assertEqual(wrap.end(), 0, wrap.stderr())
                self.check_record(path)

    def test_a_kill_leaves_no_process_of_either(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                wrap = self.session("--tier", tier, audit=self.path("record-" + tier))
                self.served(wrap, 1, "environment")
                before = brokered.children_of(wrap.pid)
                wrap.send(call(2, "run", argv=["/bin/sleep", "1000"]), call(3, "run_python", code=SLEEP.format(14)))
                self.await_run(wrap, before)
                while not any("sleep 1000" in harness.read_text(f"/proc/{pid}/cmdline")
                              for pid in brokered.children_of(wrap.pid)):
                    time.sleep(0.01)
                watched = {os.pidfd_open(pid): pid for pid in brokered.children_of(wrap.pid)}
                self.assertGreater(len(watched), 4)
                wrap.process.kill()
                wrap.wait()
                deadline = time.monotonic() + 10
                while watched and time.monotonic() < deadline:
                    for fd in select.select(watched, [], [], 1)[0]:
                        os.close(fd)
                        del watched[fd]
                left = [harness.read_text(f"/proc/{pid}/cmdline") for pid in watched.values()]
                self.assertEqual(left, [])
                self.assertIn("Indeterminate", self.verify(self.path("record-" + tier)).stdout)


class Kept(Both):
    CALLS = call(1, "run_python", code="print('ran')") + call(2, "read_text", path="data/a.txt") + call(3, "wait")

    def assertRefused(self, words, *flags, policy, audit=None, prefix=(), command=None):
        """Neither starts: whoever asks the broker hears nothing."""
        audit = audit or self.audit
        ran = os.path.join(self.room, "ran")
        run = subprocess.run([*prefix, AEGIS, "wrap", "--audit", audit, "--broker", policy, "--confine", "--workspace",
                              self.room, *flags, "--", *(command or ["/usr/bin/touch", ran])],
                             input=self.CALLS, capture_output=True, env=self.env(), check=False)
        self.assertEqual((run.returncode, run.stdout), (125, b""), run.stderr)
        self.assertIn(words, run.stderr.decode())
        self.assertNotIn("confined: tier", run.stderr.decode())
        self.assertFalse(os.path.exists(ran))
        for line in record.read(audit) if os.path.exists(audit) else []:
            self.assertNotIn("confinement", line)
            self.assertNotIn("tool_id", line)
        return run

    def test_no_grant_leads_to_what_rules_the_broker(self):
        self.assertEqual(self.aegis("keygen").returncode, 0)
        os.makedirs(self.path("kept"))
        policy = self.broker_policy(name="kept/broker.json")
        os.symlink(policy, self.path("room", "link"))
        audit = self.path("kept", "record")
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                flags = ["--tier", tier]
                for written in (self.path("kept"), policy):
                    self.assertRefused("write the broker's policy", *flags, "--allow-write", written, policy=policy)
                self.assertRefused("write the broker's policy", *flags, policy=self.path("room", "link"))
                self.assertRefused("write the record", *flags, "--allow-write", self.path("kept"), audit=audit,
                                   policy=self.broker_policy())
                self.assertRefused("read the signing key", *flags, "--allow-read", self.home, policy=policy)
                # Of their folder only reading can be granted, and what can be read cannot be written.
                wrap = self.session(*flags, "--allow-read", self.path("kept"), policy=policy, audit=audit)
                text, is_error = self.served(wrap, 1, "read", path=policy)
                self.assertFalse(is_error, text)
                for path in (policy, audit, self.path("kept", "new")):
                    text, is_error = self.served(wrap, 2, "write", path=path, text="{}")
                    self.assertTrue(is_error, text)
                self.assertTrue(self.served(wrap, 3, "run", argv=["/bin/mv", self.path("kept"), self.path("room")])[1])
                self.assertIn("hello", json.dumps(self.operate(wrap, 4, "read_text", path="data/a.txt")))
                self.assertEqual(wrap.end(), 0, wrap.stderr())
                self.check_both(self.check_record(audit), tier)
                os.unlink(audit)

    def test_what_the_broker_runs_is_nothing_that_the_server_could_write(self):
        """Else it would work in the broker's workspace by what it wrote there."""
        tools = self.path("tools")
        os.makedirs(tools)
        tool = shutil.copy("/bin/cat", tools)
        os.makedirs(self.path("links"))
        os.symlink(tool, self.path("links", "tool"))
        for written, listed in ((tools, tool), (tool, tool), (tools, self.path("links", "tool")),
                                (self.path("links"), self.path("links", "tool"))):
            with self.subTest(written=written, listed=listed):
                policy = self.broker_policy(execution_rules={"allowed_binaries": [listed]})
                self.assertRefused("a program of the broker's", "--allow-write", written, policy=policy)
        policy = self.broker_policy(execution_rules={"allowed_binaries": [tool]})
        wrap = self.session("--allow-exec", tools, policy=policy)
        said = self.operate(wrap, 1, "run_command", argv=[tool, "data/a.txt"])["structuredContent"]
        self.assertEqual(said["stdout"], "hello broker\n", said)
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        self.check_record()

    def test_what_cannot_be_confined_has_no_broker_beside_it(self):
        policy = self.broker_policy()
        none = ["unshare", "--user", "--map-root-user", "sh", "-c",
                'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
        if subprocess.run([*none, "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("no throwaway user namespace can be had here")
        self.assertRefused("user.max_user_namespaces", policy=policy, prefix=none)
        self.assertRefused("--allow-read /nowhere", "--allow-read", "/nowhere", policy=policy)
        # The other way round: no confined server beside a broker that cannot be had.
        self.assertRefused("broker's policy", policy=self.write("none.json", "{}"))


if __name__ == "__main__":
    harness.main()
