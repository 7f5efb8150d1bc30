#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Attacks on the broker's paths, by each operation that takes one, through `aegis run` and one `aegis mcp`: each is
refused with its code, none hangs, and nothing of what lies outside comes out or goes on the record."""

import contextlib
import ctypes
import json
import os
import random
import signal
import socket
import stat
import subprocess
import time
import unittest

import broker
import harness
from broker import BrokerCase, request
from brokered import children_of
from harness import AEGIS, call
from processes import Wrap

SECRET = "planted-secret-of-outside"
BOUNDARY, SENSITIVE = "PATH_BOUNDARY_VIOLATION", "SENSITIVE_TARGET_DENIED"
PERMITTED, SCHEMA = "OPERATION_NOT_PERMITTED", "SCHEMA_VALIDATION_FAILURE"
DEEP = "d/" * 299 + "d"  # 300 levels
TERABYTE = 1 << 40
MEBIBYTE = 1 << 20

# Refused by their words alone.
WRITTEN = ["../outside/secret", "data/../../outside/secret", "./../outside/secret", "data/../data/a.txt", "data/..",
           "..", "data//..//../outside/secret", "/etc/passwd", "//etc/passwd", "/proc/self/environ",
           "/proc/self/root/etc/passwd", "/dev/fd/0", "/", "data/new\nline", "data/a.txt\r", "data/\x1b[2J", "\x7f"]
# No paths at all, so that the request is none either.
UNREADABLE = ["", "data/a.txt\0", "data/a.txt\0.png", "\0", "a/" * 2048 + "b"]
# Spellings that mean a way out to some other program; here they are names, and nothing has them.
NAMES = ["%2e%2e/outside/secret", "..%2foutside%2fsecret", "..\\outside\\secret", "data\\..\\..\\outside\\secret",
         ".../outside/secret", "....//outside/secret", "\u2024\u2024/outside/secret", "\uff0e\uff0e/outside/secret",
         "..\u2215outside\u2215secret", "~/secret", "~root/.profile", "$HOME/secret", "file:///etc/passwd",
         "C:\\secret", "data/a.txt/x", "n" * 256, "data/*"]
HIDDEN = [".ssh/id", ".SSH/id", ".Env", ".ENV.local", "data/.env", "ID_RSA", "id_rsa.old", "Server.PEM", "x.Key",
          "Credentials/x", "SHADOW", ".\u017fsh/id", ".\u212aube/config", "././/.env", ".env/."]
LINKS = ["first/secret", "data/middle/secret", "data/last", "inside_link", "dangling", "loop", "magic/etc/passwd",
         "environ", "descriptors/0"]
SPECIAL = ["hard", "fifo", "socket"]


def make_workspace(case):
    """Everything that the attacks are about."""
    os.mkdir(case.path("outside"))
    case.write("outside/secret", SECRET + "\n")
    ws = case.workspace
    at = lambda name: os.path.join(ws, name)
    for name, target in (("first", case.path("outside")), ("data/middle", "../../outside"),
                         ("data/last", case.path("outside/secret")), ("inside_link", "data/a.txt"),
                         ("dangling", "nowhere"), ("loop", "loop"), ("magic", "/proc/self/root"),
                         ("environ", "/proc/self/environ"), ("descriptors", "/proc/self/fd")):
        os.symlink(target, at(name))
    os.link(case.path("outside/secret"), at("hard"))
    os.mkfifo(at("fifo"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(at("socket"))
    listener.listen()
    case.addCleanup(listener.close)
    case.write("ws/data/new\nline", "inside\n")
    os.mkdir(at(".ssh"))
    for name in (".ssh/id", ".env", "id_rsa"):
        case.write("ws/" + name, SECRET)
    os.makedirs(at(DEEP))
    case.write(f"ws/{DEEP}/end", "deep\n")
    with open(at("sparse"), "wb") as file:
        file.truncate(TERABYTE)


def requests_for(path):
    """Each operation that takes a path, on this one."""
    return [("read_text", {"path": path}), ("list_dir", {"path": path}), ("run_python", {"script_path": path}),
            ("run_command", {"argv": ["ls"], "writable": [path]})]


def attacks():
    """(operation, parameters, the code that is right)"""
    rows = []
    for paths, code in ((UNREADABLE, SCHEMA), (WRITTEN, BOUNDARY), (HIDDEN, SENSITIVE), (NAMES, PERMITTED),
                        (LINKS, BOUNDARY), (SPECIAL, BOUNDARY)):
        rows += [(*wanted, code) for path in paths for wanted in requests_for(path)]
    # These are there to be listed by who may, but are no folders.
    rows = [(operation, parameters, PERMITTED if operation == "list_dir" and parameters["path"] in SPECIAL else code)
            for operation, parameters, code in rows]
    # The words of a command that are paths as much as the others.
    rows += [("run_command", {"argv": ["cat", word]}, BOUNDARY)
             for word in ("../outside/secret", "/etc/passwd", "data/../../outside/secret", "--file=../outside/secret",
                          "-f/etc/passwd")]
    rows += [("run_command", {"argv": ["cat", word]}, SENSITIVE) for word in (".ssh/id", ".ENV")]
    rows.append(("list_dir", {"path": "data/a.txt"}, PERMITTED))
    rows.append(("read_text", {"path": "data"}, PERMITTED))
    rows.append(("read_text", {"path": "."}, PERMITTED))
    return rows


class Paths(BrokerCase):
    patience = 240
    rules = {"execution_rules": {"allowed_binaries": ["ls", "cat"], "allowed_paths": ["."]}}

    def setUp(self):
        super().setUp()
        make_workspace(self)

    def mcp(self, *flags, **popen):
        popen.setdefault("env", self.env())
        wrap = Wrap([AEGIS, "mcp", "--policy", self.broker_policy, "--audit", self.audit, *flags], **popen)
        self.wraps.append(wrap)
        return wrap

    def operate(self, wrap, operation, **parameters):
        answer = json.loads(wrap.ask(call(1, operation, **parameters)))
        self.assertIn("result", answer)
        return answer["result"]

    def assertNothingOut(self, *texts):
        """Neither the secret nor where the workspace lies."""
        with open(self.audit, encoding="utf-8", errors="surrogateescape") as file:
            texts += (file.read(),)
        for text in texts:
            self.assertNotIn(SECRET, text)
            self.assertNotIn("root:x:0", text)
        for text in texts[1:]:
            self.assertNotIn(self.workspace, text)


class Attacks(Paths):
    def test_each_is_refused_with_its_code_through_mcp(self):
        wrap = self.mcp()
        answers = []
        for operation, parameters, code in attacks():
            with self.subTest(operation=operation, **parameters):
                began = time.monotonic()
                result = self.operate(wrap, operation, **parameters)
                answers.append(json.dumps(result))
                self.assertLess(time.monotonic() - began, 10)
                told = result["structuredContent"]
                self.assertTrue(result.get("isError"), result)
                self.assertEqual(told["code"], code, result)
                self.assertEqual(told["status"], "refused")
                self.assertTrue(told["reason"])
        self.assertEqual(self.operate(wrap, "read_text", path="data/a.txt")["structuredContent"]["text"], "alpha\n")
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        self.assertNothingOut(wrap.stderr().decode(), "".join(answers))
        self.check_record()

    def test_each_is_refused_with_its_code_and_exit_code_by_run(self):
        for number, (operation, parameters, code) in enumerate(attacks()):
            if number % 4 != 0 and operation != "read_text":
                continue  # a process for each: a part of them has to do
            with self.subTest(operation=operation, **parameters):
                run = self.ask("run", request(operation, **parameters), timeout=60)
                self.assertAnswer(run, 1 if code == SCHEMA else 2, status="refused", code=code,
                                  operation=None if code == SCHEMA else operation)  # not read so far
                self.assertNothingOut(run.stderr.decode(), run.stdout.decode())

    def test_check_judges_the_words_alike(self):
        for path, code, exit_code in [("../x", BOUNDARY, 2), ("/etc/passwd", BOUNDARY, 2), (".Env", SENSITIVE, 2),
                                      ("a\nb", BOUNDARY, 2), ("a\0b", SCHEMA, 1)]:
            for operation, parameters in requests_for(path):
                with self.subTest(operation=operation, **parameters):
                    run = self.ask("check", request(operation, **parameters))
                    self.assertAnswer(run, exit_code, code=code)

    def test_a_device_is_not_opened(self):
        try:
            os.mknod(os.path.join(self.workspace, "device"), stat.S_IFCHR | 0o666, os.makedev(1, 5))  # zero(4)
        except PermissionError:
            self.skipTest("this user cannot make a device")
        wrap = self.mcp()
        for operation, parameters in requests_for("device"):
            told = self.operate(wrap, operation, **parameters)["structuredContent"]
            self.assertEqual(told["code"], PERMITTED if operation == "list_dir" else BOUNDARY, told)
        self.assertEqual(wrap.end(), 0, wrap.stderr())

    def test_a_terabyte_of_nothing_costs_what_is_read_of_it(self):
        wrap = self.mcp()
        self.operate(wrap, "read_text", path="data/a.txt")
        before = wrap.peak_kib()
        told = self.operate(wrap, "read_text", path="sparse")["structuredContent"]
        self.assertEqual((len(told["text"]), told["truncated"]), (MEBIBYTE, True))
        self.assertLess(wrap.peak_kib() - before, 64 * 1024)
        self.assertEqual(wrap.end(), 0, wrap.stderr())

    def test_three_hundred_levels(self):
        wrap = self.mcp()
        told = self.operate(wrap, "read_text", path=DEEP + "/end")["structuredContent"]
        self.assertEqual(told["text"], "deep\n")
        told = self.operate(wrap, "list_dir", path=".", max_depth=20)["structuredContent"]
        self.assertIn({"path": "/".join("d" * 21), "type": "folder"}, told["entries"])
        self.assertNotIn("/".join("d" * 22), [entry["path"] for entry in told["entries"]])
        self.assertEqual(wrap.end(), 0, wrap.stderr())

    def test_a_list_names_links_and_sizes_and_follows_nothing(self):
        wrap = self.mcp()
        told = self.operate(wrap, "list_dir", path=".", max_depth=1, include_hidden=True)["structuredContent"]
        kinds = {entry["path"]: entry["type"] for entry in told["entries"]}
        self.assertEqual((kinds["first"], kinds["magic"], kinds["fifo"]), ("link", "link", "other"), told)
        self.assertEqual([path for path in kinds if path.startswith(("first/", "magic/", "data/middle/"))], [])
        for name in (".ssh", ".ssh/id", ".env", "id_rsa"):
            self.assertNotIn(name, kinds)
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        self.assertNothingOut(wrap.stderr().decode(), json.dumps(told))


class Copied(Paths):
    def setUp(self):
        super().setUp()
        if broker.why_not():
            self.skipTest(broker.why_not())

    def test_a_program_finds_nothing_of_it_in_its_copy(self):
        wrap = self.mcp()
        script = "import os\nfor path, folders, files in os.walk('.'):\n"
        script += "    for name in folders + files: print(ascii(os.path.join(path, name)))\n"
        told = self.operate(wrap, "run_python", code=script)["structuredContent"]
        found = [line.strip("'")[2:] for line in told["stdout"].splitlines()]
        shallow = sorted(path for path in found if not path.startswith("d/"))
        self.assertEqual(shallow, ["d", "data", "data/a.txt", r"data/new\nline"], told)
        self.assertEqual(max(path.count("/") for path in found), 63)  # 64 levels of the 300
        self.assertEqual(told["snapshot_left_out"], 2, told)  # the next level, and the terabyte
        for path in LINKS + SPECIAL + [".ssh/id", ".env", "id_rsa"]:
            told = self.operate(wrap, "run_python", code=f"print(open({path!r}).read())")["structuredContent"]
            self.assertNotEqual(told["exit_code"], 0, told)
            self.assertIn("Error", told["stderr"])
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        self.assertNothingOut(wrap.stderr().decode())


class Roots(Paths):
    def test_a_root_that_is_a_link_is_refused_at_the_start(self):
        os.symlink("ws", self.path("link"))
        self.write("broker.yaml", json.dumps(broker.policy(root="link", **self.rules)))
        run = self.ask("run", request("read_text", path="data/a.txt"))
        self.assertEqual((run.returncode, run.stdout), (1, b""), run.stderr)
        self.assertIn(b"symbolic link", run.stderr)
        wrap = self.mcp()
        self.assertEqual(wrap.end(), 125)
        self.assertIn(b"symbolic link", wrap.stderr())

    def test_a_root_that_is_replaced_or_removed_is_never_another_folder(self):
        wrap = self.mcp()
        self.assertEqual(self.operate(wrap, "read_text", path="data/a.txt")["structuredContent"]["text"], "alpha\n")
        os.rename(self.workspace, self.path("moved"))
        os.symlink("outside", self.workspace)
        for operation, parameters in requests_for("secret"):
            told = self.operate(wrap, operation, **parameters)["structuredContent"]
            self.assertEqual(told.get("code"), PERMITTED, told)
        subprocess.run(["rm", "-rf", self.path("moved")], check=True)
        for path in ("data/a.txt", "secret", "."):
            for operation, parameters in requests_for(path):
                result = self.operate(wrap, operation, **parameters)
                self.assertTrue(result["isError"], result)
                self.assertNotIn(SECRET, json.dumps(result))
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        self.assertNothingOut(wrap.stderr().decode())
        self.check_record()


class Swapped(Paths):
    def race(self, *pairs, pause=0):
        """A process that exchanges each pair of names in the workspace, with pauses of up to so many seconds."""
        at = [[os.path.join(self.workspace, name).encode() for name in pair] for pair in pairs]
        exchange = ctypes.CDLL(None).renameat2
        exchange.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
        pid = os.fork()
        if pid == 0:
            while True:
                for one, other in at:
                    exchange(-100, one, -100, other, 2)  # AT_FDCWD, RENAME_EXCHANGE
                    if pause:
                        time.sleep(random.random() * pause)
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.kill, pid, signal.SIGKILL)

    def setUp(self):
        super().setUp()
        os.mkdir(os.path.join(self.workspace, "swap"))
        self.write("ws/swap/secret", "inside\n")
        self.write("ws/file", "inside\n")
        os.symlink(self.path("outside"), os.path.join(self.workspace, "swap_link"))
        os.symlink(self.path("outside/secret"), os.path.join(self.workspace, "file_link"))

    def test_reads_and_lists_stay_inside_while_names_are_swapped(self):
        self.race(("swap", "swap_link"), ("file", "file_link"), ("file", "fifo"), ("file", "fifo"))
        wrap = self.mcp("--durability", "off")
        asked = [("read_text", "swap/secret"), ("read_text", "file"), ("list_dir", "swap")]
        both, seen, rounds = {"inside\n", BOUNDARY}, set(), 0
        end = time.monotonic() + 20
        while time.monotonic() < end and (rounds < 100 or not both <= seen):
            rounds += 1
            frames = [call(number, tool, path=path) for number, (tool, path) in enumerate(asked * 20)]
            wrap.send(*frames)
            for _ in frames:
                answer = json.loads(wrap.recv())
                self.assertNotIn(SECRET, json.dumps(answer))
                told = answer["result"]["structuredContent"]
                seen.add(told.get("code") or told.get("text") or "listed")
        self.assertLessEqual(seen, {"inside\n", BOUNDARY, "listed", PERMITTED})
        self.assertLessEqual(both, seen)  # or there was no race
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        self.assertNothingOut(wrap.stderr().decode())

    def test_what_is_lent_for_writing_is_never_outside(self):
        if broker.why_not():
            self.skipTest(broker.why_not())
        self.race(("swap", "swap_link"), pause=0.3)
        wrap = self.mcp("--durability", "off")
        both, seen, number = {"0: inside\n", BOUNDARY}, set(), 0
        begun = time.monotonic()
        while time.monotonic() - begun < 3 or (time.monotonic() - begun < 30 and not both <= seen):
            number += 1
            wrap.send(call(number, "run_command", argv=["cat", "swap/secret"], writable=["swap"]))
            answer = json.loads(wrap.recv())
            self.assertNotIn(SECRET, json.dumps(answer))
            self.assertNotIn(self.dir, json.dumps(answer))
            told = answer["result"]["structuredContent"]
            seen.add(told.get("code") or f"{told['exit_code']}: {told['stdout']}")
        self.assertLessEqual(both, seen)  # or there was no race
        self.assertLessEqual(seen, {"0: inside\n", BOUNDARY, PERMITTED})
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        self.assertNothingOut(wrap.stderr().decode())


class Leaks(Paths):
    patience = 280
    REQUESTS = 1000
    RUNS = 60  # of each kind: a process each

    def mixed(self, number):
        """The nth of the requests: most are small, some run a program, some are refused."""
        every = self.REQUESTS // self.RUNS
        if number % every == 0:
            return call(number, "run_python", code="print(1)")
        if number % every == 1:
            return call(number, "run_command", argv=["ls", "data"], writable=["data"])
        if number % every == 2:
            return call(number, "run_python", code="import os\nos.fork()\nwhile True: print('x' * 4096)")
        kinds = [call(number, "read_text", path="data/a.txt"), call(number, "list_dir", path=".", max_depth=20),
                 call(number, "read_text", path="../outside/secret"), call(number, "read_text", path="fifo"),
                 call(number, "read_text", path="first/secret"), call(number, "read_text", path="sparse", max_bytes=9),
                 call(number, "run_command", argv=["sh"]), harness.request(number, "ping")]
        return kinds[number % len(kinds)]

    def files_of(self, user):
        """Nothing for a user whose other programs make files meanwhile."""
        found = []
        for entry in (entry for folder in ("/tmp", "/var/tmp", "/dev/shm") for entry in os.scandir(folder)):
            with contextlib.suppress(FileNotFoundError):  # somebody else's, gone by now
                if user != os.geteuid() and entry.stat(follow_symlinks=False).st_uid == user:
                    found.append(entry.path)
        return sorted(found)

    def held(self, pid, user):
        """What a process and its user hold by now."""
        found = {"processes": sorted(children_of(pid) | {pid})}
        if os.geteuid() == 0:  # from others, aegis hides what it has open (PR_SET_DUMPABLE)
            found["descriptors"] = [len(os.listdir(f"/proc/{each}/fd")) for each in found["processes"]]
            found["mounts"] = len(harness.read_bytes(f"/proc/{pid}/mounts").splitlines())
        found["files"] = self.files_of(user)
        return found

    @harness.not_sanitized
    def test_a_thousand_mixed_requests_leave_nothing_behind(self):
        if broker.why_not():
            self.skipTest(broker.why_not())
        # A user of its own, where there can be one, so that what others do meanwhile is not counted.
        user, prefix = os.geteuid(), []
        if user == 0:
            user = 60_000 + os.getpid() % 5000
            prefix = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]
            subprocess.run(["chown", "-R", "-h", f"{user}:{user}", self.dir], check=True)
        program = self.path("aegis")
        subprocess.run(["cp", AEGIS, program], check=True)
        files = self.files_of(user)
        wrap = Wrap([*prefix, program, "mcp", "--policy", self.broker_policy, "--audit", self.audit,
                     "--durability", "off"], env=self.env())
        self.wraps.append(wrap)
        codes = set()
        self.assertEqual(self.do(wrap, range(32), codes), 32)
        before = self.held(wrap.pid, user)
        self.assertEqual(self.do(wrap, range(self.REQUESTS), codes), self.REQUESTS)
        self.assertEqual(self.held(wrap.pid, user), before)
        self.assertLessEqual({"1\n", "output_limit", "alpha\n", BOUNDARY, PERMITTED}, codes)
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        self.assertEqual(self.files_of(user), files)

    def do(self, wrap, numbers, codes):
        """Asks and takes the answers, eight at a time; gives how many came."""
        count = 0
        numbers = list(numbers)
        for at in range(0, len(numbers), 8):
            some = numbers[at:at + 8]
            wrap.send(*[self.mixed(number) for number in some])
            for _ in some:
                answer = json.loads(wrap.recv())
                self.assertIn("result", answer)
                told = answer["result"].get("structuredContent", {})
                codes.add(told.get("code") or told.get("text") or told.get("stdout") or told.get("status"))
                codes.add(told.get("status"))
                count += 1
        return count


if __name__ == "__main__":
    harness.main()
