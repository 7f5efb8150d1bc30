#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""--explain: what a program wanted comes out as flags, with these it runs confined, and while it is watched it neither
reads a secret nor changes a file, nor is anybody told that it was confined."""

import json
import os
import shlex
import signal
import socket
import subprocess
import time
import unittest

import confined
import harness
from confined import AS_NOBODY, PYTHON, ConfineCase
from harness import AEGIS

PROGRAM = r'''
import os, socket, subprocess, sys
home, outside, port = os.environ["HOME"], sys.argv[1], int(sys.argv[2])
failed = []
def attempt(name, act):
    try:
        act()
    except OSError as error:
        failed.append(name)
def read_config():
    assert open(outside + "/conf/settings").read() == "x = 1\n"
def write_cache():
    os.makedirs(home + "/.cache/thing/deep", exist_ok=True)
    with open(home + "/.cache/thing/deep/entry.tmp", "w") as file:
        file.write("cached")
    os.rename(home + "/.cache/thing/deep/entry.tmp", home + "/.cache/thing/deep/entry")
def run_tool():
    assert subprocess.run([home + "/bin/tool"], capture_output=True, check=True).stdout == b"tool\n"
def connect():
    socket.create_connection(("127.0.0.1", port), timeout=5).close()
attempt("config", read_config)
attempt("cache", write_cache)
attempt("tool", run_tool)
attempt("net", connect)
print("failed:", *failed)
'''


class ExplainCase(ConfineCase):
    root = "/var/tmp"  # whose files are the host's; the program's /tmp is private

    def setUp(self):
        super().setUp()
        for folder in ("home/bin", "home/.ssh", "home/.cache", "outside/conf", "real"):
            os.makedirs(self.path(folder))
        self.write("outside/conf/settings", "x = 1\n")
        self.write("outside/conf/more", "y\n")
        self.write("home/.ssh/id_rsa", "the key\n")
        # By a link, as package managers install.
        os.chmod(self.write("real/tool", "#!/bin/sh\necho tool\n"), 0o755)
        os.symlink(self.path("real/tool"), self.path("home/bin/tool"))

    def explain(self, *flags, command, **options):
        return self.confine("--explain", *flags, command=command, **options)

    def said(self, run):
        lines = run.stderr.decode().splitlines()
        return [line.split("explain: ", 1)[1] for line in lines if line.startswith("aegis: explain: ")]

    def pasted(self, run):
        lines = [line for line in self.said(run) if line.startswith("all in one: ")]
        return lines[0].split(": ", 1)[1] if lines else None


class Flags(ExplainCase):
    def test_the_printed_flags_are_enough_and_no_more(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        port = listener.getsockname()[1]
        os.mkdir(self.path("program"))
        command = [PYTHON, self.write("program/program.py", PROGRAM), self.path("outside"), str(port)]

        confined_run = self.confine(command=command)
        self.assertEqual(confined_run.stdout, b"failed: config cache tool net\n", confined_run.stderr)
        run = self.explain(command=command)
        self.assertEqual((run.returncode, run.stdout), (0, b"failed: cache net\n"), run.stderr)
        line = self.pasted(run)
        for _ in range(3):  # what it wants behind what was refused shows when that is granted
            self.assertIsNotNone(line)
            self.assertNotIn("--explain", line)
            again = subprocess.run(["/bin/sh", "-c", line.replace(" confine ", " confine --explain ", 1)],
                                   capture_output=True, env=self.env(), check=False)
            if self.pasted(again) is None or again.stdout == b"failed: net\n":
                break
            line = self.pasted(again)
        done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, env=self.env(), check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"failed:\n"), (line, done.stderr))
        words = shlex.split(line)
        granted = {(flag, value) for flag, value in zip(words, words[1:]) if flag.startswith("--allow-")}
        wanted = {("--allow-read", self.path("outside/conf/settings")),
                  ("--allow-write", self.path("home/.cache/thing")),
                  ("--allow-exec", self.path("home/bin/tool")), ("--allow-net", f"127.0.0.1:{port}")}
        self.assertEqual(granted, wanted)

    def test_nothing_is_printed_for_what_is_granted(self):
        run = self.explain("--allow-read", self.path("outside"), command=["/bin/cat", self.path("outside/conf/more")])
        self.assertEqual((run.returncode, run.stdout), (0, b"y\n"))
        self.assertIsNone(self.pasted(run))
        self.assertIn("no flag is missing", run.stderr.decode())

    def test_it_needs_tier_full(self):
        run = self.explain("--tier", "landlock", command=["/bin/echo", "ran"])
        self.assertEqual((run.returncode, run.stdout), (125, b""))
        self.assertIn(b"--explain: it needs tier full", run.stderr)

    def test_the_exit_code_is_the_commands(self):
        for script, code in (("exit 3", 3), ("kill -SEGV $$", 139)):
            self.assertEqual(self.explain(command=["/bin/sh", "-c", script]).returncode, code)
        self.assertEqual(self.explain(command=["/nowhere/program"]).returncode, 127)


class Safety(ExplainCase):
    def test_secrets_are_empty_and_named(self):
        for command in (["/bin/cat", self.path("home/.ssh/id_rsa")],
                        [PYTHON, "-c", f"print(open({self.path('home/.ssh/id_rsa')!r}).read())"]):
            run = self.explain(command=command)
            self.assertNotIn(b"the key", run.stdout)
            self.assertIn(f"(think twice): {self.path('home/.ssh/id_rsa')}", run.stderr.decode())
            self.assertIsNone(self.pasted(run))

    def test_the_signing_key_and_the_record_are_empty(self):
        script = f"cat {shlex.quote(self.dir)}/*.key; cat {shlex.quote(self.audit)}; echo end"
        key = self.path("my.key")
        self.assertEqual(self.aegis("keygen", "--out", key).returncode, 0)
        run = self.aegis("wrap", "--confine", "--explain", "--signing-key", key, "--audit", self.audit, "--",
                         "/bin/sh", "-c", script)
        self.assertIn("end", run.stdout + run.stderr)
        self.assertNotIn("schema_version", run.stdout)
        self.assertLess(len(run.stdout), 40, run.stdout)

    def test_no_file_of_the_host_can_be_changed(self):
        target = self.path("outside/conf/settings")
        before = os.stat(target)
        script = f"""
import os
t = {target!r}
for act in (lambda: open(t, "a"), lambda: open(t + ".new", "w"), lambda: os.unlink(t), lambda: os.rename(t, t + "2"),
            lambda: os.chmod(t, 0o777), lambda: os.utime(t, (1, 1)), lambda: os.truncate(t, 0),
            lambda: os.symlink("x", t + ".link"), lambda: os.link(t, t + ".hard"), lambda: os.mkdir(t + ".d"),
            lambda: os.mkfifo(t + ".fifo")):
    try:
        act()
        print("changed")
    except OSError as error:
        print(error.errno)
"""
        run = self.explain(command=[PYTHON, "-c", script])
        self.assertEqual(set(run.stdout.split()), {b"30"}, run.stdout)
        after = os.stat(target)
        self.assertEqual((before.st_mtime_ns, before.st_mode, before.st_size, before.st_ctime_ns),
                         (after.st_mtime_ns, after.st_mode, after.st_size, after.st_ctime_ns))
        self.assertEqual(sorted(os.listdir(self.path("outside/conf"))), ["more", "settings"])

    def test_no_fifo_of_the_host_can_be_written(self):
        # A mount that is read-only keeps nobody from that.
        fifo = self.path("outside/fifo")
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        script = f"""
import os
try:
    print(os.write(os.open({fifo!r}, os.O_WRONLY | os.O_NONBLOCK), b"x"))
except OSError as error:
    print(error.strerror)
os.mkdir("/tmp/a"); open("/tmp/x", "w"); os.rename("/tmp/x", "/tmp/a/x"); os.mkfifo("/tmp/f")
"""
        run = self.explain(command=[PYTHON, "-c", script])
        self.assertEqual((run.returncode, run.stdout), (0, b"Permission denied\n"), run.stderr)
        self.assertEqual(os.read(reader, 1), b"")

    def test_no_service_of_the_host_is_reached_not_even_a_granted_one(self):
        server = socket.create_server(("127.0.0.1", 0))
        local = socket.socket(socket.AF_UNIX)
        local.bind(self.path("outside/socket"))
        local.listen()
        for each in (server, local):
            each.settimeout(0.2)
            self.addCleanup(each.close)
        port = server.getsockname()[1]
        script = f"""
import socket
for make, to in ((lambda: socket.socket(), ("127.0.0.1", {port})),
                 (lambda: socket.socket(socket.AF_UNIX), {self.path("outside/socket")!r}),
                 (lambda: socket.socketpair()[0], {self.path("outside/socket")!r})):
    try:
        make().connect(to)
        print("connected")
    except OSError:
        print("refused")
"""
        run = self.explain("--allow-net", f"127.0.0.1:{port}", command=[PYTHON, "-c", script])
        self.assertEqual(run.stdout, b"refused\nrefused\nrefused\n", run.stderr)
        for each in (server, local):
            self.assertRaises(socket.timeout, each.accept)

    def test_nobody_is_told_that_it_was_confined(self):
        run = self.aegis("wrap", "--confine", "--explain", "--audit", self.audit, "--", PYTHON, "-c",
                         "import sys; sys.stdin.read()")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("; NOT confined: --explain\n", run.stderr)
        self.assertNotIn("; confined", run.stderr)
        with open(self.audit, encoding="utf-8") as record:
            first = json.loads(record.readline())
        self.assertEqual(first["line_type"], "open")
        self.assertNotIn("confinement", first)
        self.assertNotIn("landlock", json.dumps(first))

    def test_an_ordinary_user_can_do_it_too(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        program = confined.give_to_nobody(self)
        run = subprocess.run([*AS_NOBODY, program, "confine", "--explain", "--", "/bin/cat",
                              self.path("outside/conf/more"), self.path("home/.ssh/id_rsa")],
                             capture_output=True, env=self.env(), check=False)
        self.assertEqual(run.stdout, b"y\n", run.stderr)
        self.assertIn(f"--allow-read {self.path('outside/conf/more')}", run.stderr.decode())


class Processes(ExplainCase):
    def test_threads_forks_and_execs_are_followed_and_do_not_hang(self):
        script = f"""
import multiprocessing, os, subprocess, threading, time
def read(name):
    return open({self.path("outside/conf")!r} + "/" + name).read()
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(read, ["more"] * 4)[0].strip(), flush=True)
    thread = threading.Thread(target=read, args=("settings",))
    thread.start(); thread.join()
    if os.fork() == 0:
        threading.Thread(target=lambda: os.execv("/bin/echo", ["echo", "from a thread"])).start()
        time.sleep(20)
    os.wait()
    print(subprocess.run("echo deep | cat", shell=True, capture_output=True, text=True).stdout.strip())
"""
        run = self.explain(command=[PYTHON, "-c", script], timeout=60)
        self.assertEqual(run.stdout, b"y\nfrom a thread\ndeep\n", run.stderr)
        self.assertIn(f"--allow-read {self.path('outside/conf')}", self.said(run))

    def test_a_stopped_process_stays_stopped_until_it_is_continued(self):
        script = """
sleep 100 & p=$!
kill -STOP $p; sleep 0.3; kill -TERM $p; sleep 0.2; kill -0 $p && echo stopped
kill -CONT $p; wait $p; echo $?
"""
        run = self.explain(command=["/bin/sh", "-c", script], timeout=60)
        self.assertEqual(run.stdout, b"stopped\n143\n", run.stderr)

    def test_it_ends_with_aegis(self):
        mark = f"{100000 + os.getpid()}"
        process = self.start("--explain", command=["/bin/sh", "-c", f"(setsid sleep {mark} &) ; echo on; sleep {mark}"])
        self.assertEqual(process.stdout.readline(), b"on\n")
        process.send_signal(signal.SIGKILL)
        process.wait()
        for _ in range(50):
            left = subprocess.run(["pgrep", "-f", f"sleep {mark}"], capture_output=True, check=False).stdout
            if not left:
                break
            time.sleep(0.1)
        self.assertEqual(left, b"")


if __name__ == "__main__":
    harness.main()
