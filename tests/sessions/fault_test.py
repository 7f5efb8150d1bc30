#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A session with one file syscall failing, or aegis killed at it: each of them, in turn, found in a clean run.

strace follows aegis alone and not its children: its counters are per process, so that the same fault would also hit
the server. Afterwards no call may have reached the server that is not on the record, the record may be incomplete but
never tampered, and the next session must start on the same file.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

import harness
import record
from harness import call, request

# What can touch a file. Those that a session never makes cost nothing: they are not in the clean run.
SYSCALLS = ["openat", "open", "creat", "mkdir", "mkdirat", "read", "pread64", "write", "writev", "pwrite64", "pwritev",
            "pwritev2", "lseek", "fsync", "fdatasync", "sync_file_range", "ftruncate", "fallocate", "link", "linkat",
            "rename", "renameat", "renameat2", "unlink", "unlinkat", "flock", "fcntl", "fstat", "stat", "lstat",
            "newfstatat", "statx", "fchmod", "fchmodat", "chmod", "close", "copy_file_range", "sendfile", "getrandom"]
# Killed at, but not made to fail. An injected error of close leaves the descriptor open, which no kernel does; the
# others do not touch a disk, and fail only for reasons that a session cannot have.
NOT_FAILING = {"close", "fcntl", "getrandom"}
CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
# What moving a torn tail aside is made of; the rest is as in any session.
TAIL = {"openat", "pread64", "write", "fsync", "fdatasync", "ftruncate", "flock"}
SECONDS = 25  # for one session; the server is killed after six when it hears nothing


class Run:
    """One session under strace, driven to its end whatever breaks. `error` None: nothing is injected."""

    def __init__(self, case, folder, syscall=None, error=None, when=0, torn=False):
        self.calls = case.calls
        self.what = f"{syscall} {when} {error}"
        self.folder = folder
        os.mkdir(folder)
        self.home = os.path.join(folder, "home")
        os.mkdir(self.home)
        self.audit = os.path.join(folder, "r.aarl")
        self.log = os.path.join(folder, "log")
        self.trace = os.path.join(folder, "trace")
        self.env = case.env(HOME=self.home)
        if torn:
            self.tear(case)
        inject = []
        if error:
            fault = "signal=SIGKILL" if error == "SIGKILL" else f"error={error}"
            inject = ["-e", f"inject={syscall}:{fault}:when={when}"]
        self.argv = ["strace", "-qq", "-o", self.trace, "-e", "trace=" + ",".join("?" + name for name in SYSCALLS),
                     *inject, *self.wrap()]
        self.code, self.stderr = self.drive(self.argv)

    def wrap(self):
        return [harness.AEGIS, "wrap", "--audit", self.audit, "--", harness.SCRIPT_SERVER, "log=" + self.log, "serve"]

    def tear(self, case):
        """Leaves a sealed session with half a Line behind it: what a power cut leaves."""
        whole = harness.Wrap(self.wrap(), env=self.env)
        whole.end()
        whole.discard()
        with open(self.audit, "ab") as file:
            file.write(b'{"call_id":"torn')

    def drive(self, argv):
        process = subprocess.Popen(argv, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, bufsize=0)
        self.answers = []
        signal.alarm(SECONDS)
        try:
            with contextlib.suppress(BrokenPipeError):
                self.talk(process)
            stderr = process.stderr.read().decode(errors="replace")
            return process.wait(), stderr
        finally:
            for pipe in (process.stdin, process.stdout, process.stderr):
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
            process.kill()
            process.wait()

    def talk(self, process):
        out = harness.Stream(process.stdout.fileno())
        for message in (request(0, "initialize"), *(call(id) for id in range(1, self.calls + 1))):
            process.stdin.write(message)
            got = out.frame()
            if not got:
                break
            self.answers.append(json.loads(got))
        process.stdin.close()
        out.rest()

    def reached(self):
        """Digests of the calls that the server saw."""
        frames = harness.read_bytes(self.log).split(b"\n")
        return [record.digest(one) for one in frames if b'"tools/call"' in one]

    def on_record(self):
        """Digests of the intents; a torn last line is none."""
        found = []
        for raw in harness.read_bytes(self.audit).split(b"\n"):
            try:
                line = json.loads(raw)
            except ValueError:
                continue
            if line.get("line_type") == "intent":
                found.append(line["request_digest"])
        return found


class Injecting(harness.SessionCase):
    patience = SECONDS
    calls = 3
    made = None  # what counted() found, when it was asked already

    def env(self, **more):
        return super().env(ASAN_OPTIONS="detect_leaks=0", **more)  # the leak finder cannot work under a tracer

    def counted(self, torn):
        """How often a clean session makes each syscall."""
        clean = Run(self, self.path("clean"), torn=torn)
        self.assertEqual(clean.code, 0, clean.stderr)
        self.assertEqual(len(clean.reached()), self.calls)
        names = re.findall(r"^(\w+)\(", harness.read_text(clean.trace), re.MULTILINE)
        loader = self.loader_calls(harness.read_text(clean.trace))
        counts = {name: (loader.get(name, 0), names.count(name)) for name in SYSCALLS if name in names}
        self.assertIn("fdatasync", counts)
        return counts

    def loader_calls(self, trace):
        """What the dynamic loader did before the program's own first look at a file of the test's."""
        before = trace[:trace.index(self.dir)].splitlines()[:-1]
        names = [line.split("(")[0] for line in before]
        return {name: names.count(name) for name in set(names)}

    def check(self, run):
        self.assertNotIn(-run.code, CRASHES, run.stderr)
        reached, on_record = run.reached(), run.on_record()
        for digest in reached:
            self.assertIn(digest, on_record, "a call reached the server without an intent on the record")
        for got in run.answers:
            if "error" in got:
                self.assertEqual(got["error"]["data"]["aegis"]["code"], "RECORD_UNAVAILABLE")
        if os.path.exists(run.audit):
            found = self.aegis("verify", run.audit)
            self.assertIn(found.returncode, (0, 3), found.stdout + found.stderr)
        self.assertEqual(harness.wait_gone(self.mark, 5), [])

    def check_next(self, run):
        """The next session starts on what this one left, and works."""
        code, stderr = run.drive(run.wrap())
        self.assertEqual((code, len(run.answers)), (0, self.calls + 1), stderr)
        self.assertFalse([got for got in run.answers if "error" in got])
        found = self.aegis("verify", run.audit)
        self.assertIn(found.returncode, (0, 3), found.stdout + found.stderr)
        self.assertNotIn("Tampered", found.stdout)

    def inject_everywhere(self, error, torn=False, syscalls=None):
        counts = self.made or self.counted(torn)
        runs = 0
        for syscall, (skipped, count) in counts.items():
            if (syscalls and syscall not in syscalls) or (error != "SIGKILL" and syscall in NOT_FAILING):
                continue
            for when in range(skipped + 1, count + 1):
                runs += 1
                with self.subTest(f"{error} at {syscall} {when}"):
                    run = Run(self, self.path(f"{runs}"), syscall, error, when, torn)
                    self.check(run)
                    self.check_next(run)
        self.assertGreater(runs, 10)
        print(f"{error}{' after a torn tail' if torn else ''}: {runs} sessions, one fault each: "
              + ", ".join(f"{name} {all - skipped}" for name, (skipped, all) in counts.items()))

@harness.needs_strace
class Faults(Injecting):
    root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # hundreds of sessions sync there in no time

    def test_eio(self):
        self.inject_everywhere("EIO")

    def test_enospc(self):
        self.inject_everywhere("ENOSPC", syscalls={"openat", "mkdir", "mkdirat", "write", "writev", "pwrite64",
                                                   "pwritev", "fsync", "fdatasync", "ftruncate", "fallocate", "link",
                                                   "linkat", "rename", "renameat", "renameat2"})

    def test_sigkill(self):
        self.inject_everywhere("SIGKILL")

    def test_eio_after_a_torn_tail(self):
        self.inject_everywhere("EIO", torn=True, syscalls=TAIL)

    def test_sigkill_after_a_torn_tail(self):
        self.inject_everywhere("SIGKILL", torn=True, syscalls=TAIL)

    def test_eintr(self):
        self.inject_everywhere("EINTR", syscalls={"read", "write", "fsync", "fdatasync", "flock"})

    def test_a_failed_sync_is_final(self):
        """The first sync of an intent fails and later ones would not: no call of the session passes any more."""
        counts = self.counted(False)
        run = Run(self, self.path("sync"), "fdatasync", "EIO", counts["fdatasync"][0] + 2)
        self.check(run)
        self.assertTrue(run.answers and "result" in run.answers[0])
        codes = [got["error"]["data"]["aegis"]["code"] for got in run.answers if "error" in got]
        self.assertTrue(codes)
        self.assertEqual(set(codes), {"RECORD_UNAVAILABLE"})
        self.assertEqual([bool("error" in got) for got in run.answers[1:]],
                         sorted(bool("error" in got) for got in run.answers[1:]), "a call passed after a failed sync")
        self.assertRegex(run.stderr, "aegis: .*Input/output error")


def is_on_ext4(path):
    found = subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=False)
    return found.stdout.strip() == "ext2/ext3"


@harness.needs_strace
@unittest.skipUnless(is_on_ext4(tempfile.gettempdir()), "temporary files are not on ext4: no room is made ahead there")
class RoomAhead(Injecting):
    """What is done ahead of a sync is done on a disk only."""

    calls = 5  # their Lines are more than one block

    def setUp(self):
        super().setUp()
        self.made = self.counted(False)

    def failing(self, syscall, error):
        """One session whose every such system call fails."""
        self.assertIn(syscall, self.made)
        return Run(self, self.path(error), syscall, error, "1+")

    def check_unchanged(self, run):
        self.check(run)
        self.assertEqual((run.code, len(run.reached()), len(run.answers)), (0, self.calls, self.calls + 1), run.stderr)
        self.assertFalse([got for got in run.answers if "error" in got])
        found = self.aegis("verify", run.audit)
        self.assertEqual((found.returncode, "Verified" in found.stdout), (0, True), found.stdout)
        self.check_next(run)

    def test_that_no_room_can_be_had_changes_nothing(self):
        for error in ("EOPNOTSUPP", "ENOSYS", "ENOSPC", "EFBIG", "EDQUOT", "EPERM", "EIO"):
            with self.subTest(error):
                self.check_unchanged(self.failing("fallocate", error))

    def test_that_nothing_can_be_started_changes_nothing(self):
        self.check_unchanged(self.failing("sync_file_range", "ENOSYS"))

    def test_that_no_room_can_be_given_back_changes_nothing(self):
        self.check_unchanged(self.failing("ftruncate", "EIO"))

    def test_a_disk_that_fails_when_started_is_a_failed_sync(self):
        run = self.failing("sync_file_range", "EIO")
        self.check(run)
        self.assertTrue([got for got in run.answers if "error" in got])
        self.assertRegex(run.stderr, "sync the record: .*Input/output error; calls are refused")
        self.check_next(run)

    def test_sigkill(self):
        self.inject_everywhere("SIGKILL", syscalls={"write", "fallocate", "sync_file_range", "ftruncate", "fdatasync"})


if __name__ == "__main__":
    harness.main()
