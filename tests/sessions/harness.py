# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the session tests share: a case with a folder, a home and a mark of its own, and frames to send.

A watchdog ends a test that hangs, and a test that leaves a process behind fails.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import uuid

import record
from processes import (MARK, SCRIPT_SERVER, Puppet, Stream, Wrap, marked, read_bytes, read_text, select_now,
                       select_readable, status_kib, wait_gone, write_all)

AEGIS = os.environ.get("AEGIS_BIN", "")
SKIPPED = 77  # what ctest takes for "this test was skipped"


def frame(message):
    """One frame as a client writes it."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def request(id, method, **params):
    return frame({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def call(id, tool="echo", **arguments):
    return request(id, "tools/call", name=tool, arguments=arguments)


def answer(id, **result):
    return frame({"jsonrpc": "2.0", "id": id, "result": result})


class SessionCase(unittest.TestCase):
    """A folder, a home and a mark of its own for each test; afterwards no process is left, or the test fails."""

    patience = 30  # seconds that a test may take before it counts as hung
    root = None    # where its folder lies; None: where the system puts temporary files
    longMessage = True

    def setUp(self):
        self.assertTrue(os.access(AEGIS, os.X_OK), "set AEGIS_BIN to the binary under test")
        self.assertTrue(os.access(SCRIPT_SERVER, os.X_OK), "set AEGIS_SCRIPT_SERVER to script_server")
        self.dir = tempfile.mkdtemp(prefix="aegis-", dir=self.root)
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.home = self.path("home")
        os.mkdir(self.home)
        self.audit = self.path("record.aarl")
        self.mark = uuid.uuid4().hex
        self.wraps, self.puppets = [], []
        signal.signal(signal.SIGALRM, self.hung)
        signal.alarm(self.patience)
        self.addCleanup(signal.alarm, 0)

    def hung(self, *_):
        words = [wrap.collector.bytes for wrap in self.wraps if wrap.collector]
        raise AssertionError(f"hung for {self.patience} s; aegis said {words}")

    def tearDown(self):
        signal.alarm(self.patience)
        for thing in self.puppets + self.wraps:
            thing.discard()
        left = wait_gone(self.mark, 10)
        names = [(pid, read_text(f"/proc/{pid}/cmdline")) for pid in left]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(names, [], "processes outlived their aegis")

    def assertSame(self, got, wanted):
        """Equal bytes; where not, says where without printing all of both."""
        if got == wanted:
            return
        at = next((i for i, pair in enumerate(zip(got, wanted)) if pair[0] != pair[1]), min(len(got), len(wanted)))
        near = slice(max(0, at - 20), at + 60)
        self.fail(f"{len(got)} bytes, wanted {len(wanted)}; at {at}: {got[near]!r}, wanted {wanted[near]!r}")

    def assertHolds(self, whole, part):
        self.assertTrue(part in whole, f"{len(part)} bytes {part[:60]!r} are not in {len(whole)} {whole[:200]!r}")

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, content):
        path = self.path(name)
        mode = "wb" if isinstance(content, bytes) else "w"
        with open(path, mode) as file:
            file.write(content)
        return path

    def policy(self, *rules, default="allow", name="policy.json"):
        """A policy file; JSON is YAML."""
        return self.write(name, json.dumps({"version": 1, "default": default, "rules": list(rules)}, indent=1))

    def deny_evil(self):
        return self.policy({"id": "no-evil", "action": "deny", "tool": "evil", "reason": "evil is not done here"})

    def env(self, **more):
        return {"HOME": self.home, "PATH": "/usr/bin:/bin", MARK: self.mark, **more}

    def wrap(self, *flags, server, audit="", **popen):
        """Starts `aegis wrap`. `audit`: a path, or None for the default place."""
        audit = self.audit if audit == "" else audit
        named = ["--audit", audit] if audit else []
        popen.setdefault("env", self.env())
        wrap = Wrap([AEGIS, "wrap", *named, *flags, "--", *server], **popen)
        self.wraps.append(wrap)
        return wrap

    def puppet(self, *flags, **options):
        """A wrap around a puppet, arrived: (wrap, puppet)."""
        puppet = Puppet(self.path(f"puppet{len(self.puppets)}"))
        self.puppets.append(puppet)
        wrap = self.wrap(*flags, server=puppet.argv, **options)
        return wrap, puppet.arrive(wrap)

    def aegis(self, *args, env=None, **options):
        """Runs a verb to its end: a CompletedProcess of text."""
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([AEGIS, *args], env=env or self.env(), capture_output=True,
                              encoding="utf-8", errors="surrogateescape", **options)

    def public_key(self):
        shown = self.aegis("key")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return dict(line.split() for line in shown.stdout.splitlines())["public_key"]

    def verify(self, *paths, pinned=True):
        pin = ["--key", self.public_key()] if pinned else []
        return self.aegis("verify", *pin, *(paths or (self.audit,)))

    def finish(self, wrap, server, path=None):
        """The client and then the server end; gives the record, which verifies."""
        wrap.close_stdin()
        server.exit(0)
        self.assertEqual(wrap.wait(), 0, wrap.stderr())
        return self.check_record(path)

    def check_record(self, path=None):
        """The record verifies under the user's key, and the test's own reading of it agrees. Gives that reading."""
        found = self.verify(path or self.audit)
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)
        self.assertRegex(found.stdout, r"^Verified \(pinned to [0-9a-f]{64}\)\n")
        read = record.read(path or self.audit)
        self.assertEqual(record.faults(read), [])
        return read


def have(program):
    return shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin") is not None


# aegis hides its memory, and so its key, from its own user (PR_SET_DUMPABLE): only root can see what it asks for.
needs_strace = unittest.skipUnless(have("strace") and os.geteuid() == 0, "strace is missing, or this is not root")
IS_SANITIZED = bool(os.environ.get("AEGIS_SANITIZE"))
not_sanitized = unittest.skipIf(IS_SANITIZED, "a sanitizer needs more memory, time, descriptors and processes itself")
needs_root = unittest.skipUnless(os.geteuid() == 0, "not root: cannot become another user")


def main():
    """Runs a file's tests; says what was skipped and why; 77 when that was all of them."""
    program = unittest.main(exit=False)
    result = program.result
    for test, reason in result.skipped:
        print(f"skipped: {test.id()}: {reason}")
    print(f"{os.path.basename(sys.argv[0])}: {result.testsRun} ran, {len(result.skipped)} of them skipped")
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.testsRun == len(result.skipped) else 0)
