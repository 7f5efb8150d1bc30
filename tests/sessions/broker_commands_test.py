#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What can be tried with the commands of a policy to run what it does not list. Each trick is first played without the
sandbox, where it must leave its mark: else it would prove nothing here."""

import os
import shlex
import shutil
import subprocess
import unittest

from broker import BrokerCase, request

LISTED = ["awk", "cat", "env", "find", "git", "grep", "ls", "make", "python3", "sed", "sort", "tar"]
PYTHON = "/usr/bin/python3"
LOADER = "/lib64/ld-linux-x86-64.so.2"
MARK = "data/marked"
TOUCH = f"touch {MARK}"

# Launchers: an argv that makes the program start another one, which leaves its mark in the writable folder.
LAUNCHERS = [
    ("env", ["env", "touch", MARK]),
    ("env with a shell", ["env", "sh", "-c", TOUCH]),
    ("find -exec", ["find", "data", "-maxdepth", "0", "-exec", "touch", MARK, ";"]),
    ("find -execdir", ["find", "data", "-maxdepth", "0", "-execdir", "sh", "-c", TOUCH, ";"]),
    ("git core.pager", ["git", "-c", f"core.pager={TOUCH}", "-p", "log"]),
    ("git grep -O", ["git", "grep", f"-O{TOUCH}", "alpha"]),
    ("git alias", ["git", "-c", f"alias.x=!{TOUCH}", "x"]),
    ("git core.fsmonitor", ["git", "-c", f"core.fsmonitor={TOUCH};false", "status"]),
    ("git external diff", ["git", "-c", f"diff.external={TOUCH};true", "diff"]),
    ("tar --to-command", ["tar", "-xf", "data/some.tar", f"--to-command={TOUCH}"]),
    ("tar --checkpoint-action", ["tar", "-cf", "data/made.tar", "a.txt", "--checkpoint=1",
                                 f"--checkpoint-action=exec={TOUCH}"]),
    ("tar -I", ["tar", "-cf", "data/made.tar", "-I", f"sh -c '{TOUCH}'", "a.txt"]),
    ("awk system()", ["awk", f'BEGIN {{ system("{TOUCH}") }}']),
    ("awk pipe", ["awk", f'BEGIN {{ "{TOUCH}" | getline }}']),
    ("sed e", ["sed", f"1e {TOUCH}", "a.txt"]),
    ("sort --compress-program", ["sort", "-S", "1k", "--compress-program=./data/marker", "data/long.txt"]),
    ("make", ["make", "-f", "marking.mk"]),
    ("python", ["python3", "-I", "starts.py"]),
    ("a script", ["env", "./data/script"]),
    ("a script by env", ["env", "./data/by_env"]),
    ("a copy of a program that is not listed", ["env", "./data/touch", MARK]),
    ("a copy of a listed one", ["env", "./data/env_copy", "./data/touch", MARK]),
    ("a relative PATH", ["env", "PATH=data:.", "touch", MARK]),
]

# Leaves a mark by python's own means when the way is open.
WAYS = """
import ctypes, mmap, os, subprocess
def attempt(name, act):
    try:
        print(name, "REACHED", act())
    except OSError as error:
        print(name, "refused:", error.strerror)
def run(*argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, **more)
    if done.returncode: raise OSError(done.returncode, "failed")
    return done.returncode
def copy(to):
    with open("data/touch", "rb") as source, open(to, "wb") as made:
        made.write(source.read())
    os.chmod(to, 0o755)
def map_it(path):
    with open(path, "rb") as file:
        return len(mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
def remap(path):
    libc = ctypes.CDLL(None, use_errno=True)
    with open(path, "r+b") as file:
        whole = mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
        at = ctypes.addressof(ctypes.c_char.from_buffer(whole))
        if libc.mprotect(ctypes.c_void_p(at), 4096, 5): raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def in_memory():
    made = os.memfd_create("x", 0)
    with open("data/touch", "rb") as source:
        os.write(made, source.read())
    return run(f"/proc/self/fd/{made}", "data/marked", pass_fds=[made])
copy("data/written")
attempt("writes and runs", lambda: run("data/written", "data/marked"))
attempt("by its whole name", lambda: run(os.path.abspath("data/written"), "data/marked"))
attempt("ld.so and what it wrote", lambda: run("/lib64/ld-linux-x86-64.so.2", "./data/written", "data/marked"))
attempt("ld.so and what is not listed", lambda: run("/lib64/ld-linux-x86-64.so.2", "/usr/bin/touch", "data/marked"))
attempt("its own", lambda: run("/usr/bin/touch", "data/marked"))
attempt("memfd", in_memory)
attempt("maps what it wrote", lambda: map_it("data/written"))
attempt("turns a mapping", lambda: remap("data/written"))
"""


class Attacks(BrokerCase):
    patience = 280
    rules = {"execution_rules": {"max_timeout_seconds": 60, "allowed_binaries": LISTED, "allowed_paths": ["."]}}

    def setUp(self):
        super().setUp()
        self.need_sandbox()
        self.write("ws/a.txt", "alpha\n")
        for name, text in (("data/script", f"#!/bin/sh\n{TOUCH}\n"), ("data/by_env", f"#!/usr/bin/env sh\n{TOUCH}\n"),
                           ("data/marker", f"#!/bin/sh\n{TOUCH}\ncat\n")):
            os.chmod(self.write("ws/" + name, text), 0o755)
        self.write("ws/marking.mk", f"all:\n\t{TOUCH}\n")
        self.write("ws/starts.py", f"import os\nos.system({TOUCH!r})\n")
        self.write("ws/ways.py", WAYS)
        self.write("ws/data/long.txt", "".join(f"{number * 7919 % 100003}\n" for number in range(30000)))
        shutil.copy("/usr/bin/touch", self.path("ws", "data", "touch"))
        shutil.copy("/usr/bin/env", self.path("ws", "data", "env_copy"))
        subprocess.run(["tar", "-cf", "data/some.tar", "a.txt"], cwd=self.workspace, check=True)
        for words in (["init", "-q"], ["add", "a.txt"], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"]):
            subprocess.run(["/usr/bin/git", *words], cwd=self.workspace, env=self.env(), check=True)
        self.write("ws/a.txt", "alpha\nbeta\n")

    def command(self, *argv, **more):
        return self.ask("run", request("run_command", argv=list(argv), **more))

    def bare(self, *argv, **more):
        env = {**self.env(), "GIT_CONFIG_NOSYSTEM": "1", **more}
        return subprocess.run(argv, cwd=self.workspace, env=env, capture_output=True, text=True, timeout=60, check=False,
                              stdin=subprocess.DEVNULL)

    def unmark(self):
        """Whether it was there."""
        try:
            os.unlink(self.path("ws", MARK))
        except FileNotFoundError:
            return False
        return True

    def test_launchers(self):
        """Policy lets them through, for their words name nothing outside; what they start is not there."""
        denied = []
        for name, argv in LAUNCHERS:
            with self.subTest(name):
                if not shutil.which(argv[0], path="/usr/bin:/bin"):
                    continue
                # A pager is only for a terminal, which nothing in the sandbox has.
                on_terminal = ["script", "-qec", shlex.join(argv), "/dev/null"]
                self.bare(*(on_terminal if "pager" in name else argv))
                self.assertTrue(self.unmark(), "without the sandbox it leaves its mark")
                run = self.command(*argv, writable=["data"])
                self.assertFalse(self.unmark(), run.stdout)
                if run.answer["status"] == "refused":
                    denied.append((name, run.answer["reason"]))
                else:
                    self.assertEqual(run.answer["status"], "completed", run.stdout)
        self.assertEqual(denied, [])

    def test_what_is_not_listed_is_refused_before_anything_runs(self):
        copy = self.path("ws", "data", "touch")
        for argv in (["sh", "-c", TOUCH], ["/bin/sh", "-c", TOUCH], ["bash", "-c", TOUCH], ["touch", MARK], [copy, MARK],
                     ["./data/touch", MARK], ["data/touch", MARK], ["data/script"], [LOADER, "./data/touch", MARK],
                     ["/usr/bin/../bin/touch", MARK], ["/proc/self/exe", MARK], ["xargs", "touch"], ["busybox", "sh"],
                     ["perl", "-e", "1"], ["", "x"], ["git ", "x"], ["GIT", "x"], ["../../usr/bin/touch", MARK]):
            with self.subTest(argv):
                run = self.command(*argv, writable=["data"])
                self.assertIn(run.returncode, (1, 2), run.stdout)
                self.assertEqual(run.answer["status"], "refused")
                self.assertFalse(self.unmark())

    def test_arguments_lead_nowhere(self):
        outside = self.write("secret.txt", "planted-secret\n")
        os.symlink(outside, self.path("ws", "data", "link"))
        for argv in (["cat", outside], ["cat", "../secret.txt"], ["cat", "data/link"], ["cat", "data/../../secret.txt"],
                     ["grep", "-f", outside, "a.txt"], ["grep", f"--file={outside}", "a.txt"], ["grep", f"-f{outside}", "a.txt"],
                     ["git", "-C", self.dir, "status"], ["git", f"--git-dir={self.dir}", "log"], ["tar", f"-cf{outside}", "a.txt"],
                     ["tar", "-cf", "-", outside], ["sort", "-o", outside, "a.txt"], ["env", "-C", self.dir, "cat", "secret.txt"],
                     ["awk", f'BEGIN {{ while ((getline line < "{outside}") > 0) print line }}'],
                     ["sed", f"r {outside}", "a.txt"], ["find", self.dir], ["make", "-C", self.dir], ["cat", "/proc/1/environ"],
                     ["sed", "-n", f"w {outside}", "a.txt"], ["git", "diff", "--no-index", outside, "a.txt"]):
            with self.subTest(argv):
                run = self.command(*argv, writable=["data"])
                self.assertNotIn(b"planted-secret", run.stdout)
        with open(outside, encoding="utf-8") as file:
            self.assertEqual(file.read(), "planted-secret\n")

    def test_ways_of_a_listed_interpreter(self):
        bare = self.bare(PYTHON, "-I", "ways.py").stdout.splitlines()
        self.assertEqual(len(bare), 8, bare)
        for line in bare:
            self.assertIn(" REACHED ", line)
        self.assertTrue(self.unmark())
        os.unlink(self.path("ws", "data", "written"))
        run = self.command("python3", "-I", "ways.py", writable=["data"])
        self.assertAnswer(run, 0, status="completed", stderr="", exit_code=0)
        got = run.answer["stdout"].splitlines()
        self.assertEqual(len(got), 8, got)
        for line in got:
            self.assertIn(" refused: ", line)
        self.assertFalse(self.unmark())
        self.assertTrue(os.path.exists(self.path("ws", "data", "written")), "what it may write it could write")

    def test_a_library_of_its_own(self):
        if not shutil.which("cc"):
            self.skipTest("no compiler to make a library with")
        self.write("evil.c", '#include <stdio.h>\n__attribute__((constructor)) static void mark(void) '
                             '{ FILE *f = fopen("data/marked", "w"); if (f) fclose(f); }\n')
        library = self.path("ws", "data", "evil.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, self.path("evil.c")], check=True)
        for words in (["LD_PRELOAD=./data/evil.so"], ["LD_AUDIT=./data/evil.so"]):
            self.bare("env", *words, "ls")
            if words[0].startswith("LD_PRELOAD"):
                self.assertTrue(self.unmark())
            self.unmark()
            run = self.command("env", *words, "ls", writable=["data"])
            self.assertFalse(self.unmark(), run.stdout)
        self.write("ws/loads.py", "import ctypes\nctypes.CDLL('./data/evil.so')\n")
        self.bare(PYTHON, "-I", "loads.py")
        self.assertTrue(self.unmark())
        run = self.command("python3", "-I", "loads.py", writable=["data"])
        self.assertFalse(self.unmark(), run.stdout)
        self.assertIn("failed to map segment", run.answer["stderr"])

    def test_what_is_listed_works(self):
        for argv, wanted in ((["ls"], "a.txt"), (["cat", "a.txt"], "beta"), (["git", "log", "--format=%s"], "x\n"),
                             (["git", "status", "--short"], "M a.txt"), (["git", "diff"], "+beta"),
                             (["grep", "-rn", "beta", "."], "a.txt:2:beta"), (["find", ".", "-name", "a.txt"], "./a.txt"),
                             (["sed", "-n", "2p", "a.txt"], "beta\n"), (["awk", "{ print NR }", "a.txt"], "1\n2\n"),
                             (["sort", "-r", "a.txt"], "beta\nalpha\n"), (["tar", "-tf", "data/some.tar"], "a.txt\n"),
                             (["env", "ls"], "a.txt"), (["find", "a.txt", "-exec", "cat", "{}", ";"], "beta"),
                             (["make", "-n", "-f", "marking.mk"], "touch")):
            with self.subTest(argv):
                run = self.command(*argv)
                self.assertAnswer(run, 0, status="completed", exit_code=0)
                self.assertIn(wanted, run.answer["stdout"])

    def test_what_may_be_written_is_and_nothing_else(self):
        run = self.command("sed", "-i", "s/^/x/", "data/long.txt", writable=["data"])
        self.assertAnswer(run, 0, exit_code=0)
        with open(self.path("ws", "data", "long.txt"), encoding="utf-8") as file:
            self.assertTrue(file.readline().startswith("x"))
        run = self.command("sed", "-i", "s/^/x/", "a.txt", writable=["data"])
        self.assertAnswer(run, 0, status="completed")
        self.assertNotEqual(run.answer["exit_code"], 0)
        with open(self.path("ws", "a.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "alpha\nbeta\n")

    def test_a_repository_may_be_written_but_not_what_runs_later(self):
        run = self.command("git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qam", "y", writable=["."])
        self.assertAnswer(run, 0, status="completed", exit_code=0)
        log = self.bare("/usr/bin/git", "log", "--format=%s").stdout
        self.assertEqual(log, "y\nx\n")
        run = self.command("git", "config", "core.fsmonitor", TOUCH, writable=["."])
        self.assertNotEqual(run.answer.get("exit_code"), 0)
        self.assertNotIn("fsmonitor", self.bare("/usr/bin/git", "config", "-l").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
