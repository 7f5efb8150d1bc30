#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A record on a disk that fills up, and on one that gets room again: real short writes, which no tracer can fake.

Runs itself again in a mount namespace of its own, where it mounts small file systems in its temporary folder.
"""

import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import unittest

import harness
import record
from harness import answer, call

INSIDE = "AEGIS_TEST_IN_NAMESPACE"
PAGE = 4096


def mount_tmpfs(path, size):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", path.encode(), b"tmpfs", 0, f"size={size}".encode()) != 0:
        raise OSError(ctypes.get_errno(), "mount")


class UnavailableCase(harness.SessionCase):
    def try_call(self, wrap, server, id):
        """Sends a call. True when it reached the server, which answers; false when it was refused for the record."""
        asked = call(id)
        wrap.send(asked)
        ready = harness.select_readable(server.fds[0], wrap.out.fd)
        if server.fds[0] in ready:
            self.assertEqual(server.recv(), asked)
            self.assertIn(record.frame_digest(asked), self.on_record(), "it passed without an intent on the record")
            server.send(answer(id))
            self.assertEqual(wrap.recv(), answer(id))
            return True
        got = wrap.recv_json()
        self.assertEqual((got["id"], got["error"]["code"]), (id, -32042))
        self.assertEqual(got["error"]["data"]["aegis"]["code"], "RECORD_UNAVAILABLE")
        return False

    def on_record(self):
        return [json.loads(raw)["request_digest"] for raw in harness.read_bytes(self.audit).split(b"\n")
                if b'"line_type":"intent"' in raw and raw.endswith(b"}")]

    def check_standing(self):
        found = self.verify()
        self.assertIn(found.returncode, (0, 3), found.stdout)
        self.assertNotIn("Tampered", found.stdout)


class FullDisk(UnavailableCase):
    def setUp(self):
        super().setUp()
        self.disk = self.path("disk")
        os.mkdir(self.disk)
        mount_tmpfs(self.disk, 64 * PAGE)
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=False)
        self.audit = os.path.join(self.disk, "r.aarl")
        self.filler = os.path.join(self.disk, "filler")

    def fill(self):
        with open(self.filler, "ab", buffering=0) as file:
            try:
                while file.write(b"x" * PAGE):
                    continue
            except OSError:
                return

    def call_until_full(self, wrap, server):
        self.fill()
        for id in range(1, 200):
            if not self.try_call(wrap, server, id):
                return id
        return self.fail("the disk never was full")

    def test_calls_are_refused_and_nothing_reaches_the_server_unrecorded(self):
        wrap, server = self.puppet()
        self.assertTrue(self.try_call(wrap, server, 0))
        id = self.call_until_full(wrap, server)
        for more in range(id + 1, id + 4):
            self.assertFalse(self.try_call(wrap, server, more))
        wrap.collector.wait_for(b"No space left")
        self.check_standing()
        wrap.close_stdin()
        server.exit(0)
        wrap.wait()
        self.check_standing()

    def test_what_is_no_call_still_passes(self):
        wrap, server = self.puppet()
        self.call_until_full(wrap, server)
        ping = harness.request("p", "ping")
        wrap.send(ping)
        self.assertEqual(server.recv(), ping)

    def test_when_there_is_room_again_the_record_is_whole_or_stays_closed(self):
        wrap, server = self.puppet()
        id = self.call_until_full(wrap, server)
        os.truncate(self.filler, 0)
        passed = [self.try_call(wrap, server, id + n) for n in range(1, 6)]
        print(f"calls that passed after there was room again: {passed}")
        wrap.close_stdin()
        server.exit(0)
        wrap.wait()
        self.check_standing()
        self.check_next_session()

    def check_next_session(self):
        """The next session recovers the torn tail, if there is one, and its calls pass."""
        wrap, server = self.puppet()
        self.assertTrue(self.try_call(wrap, server, 1))
        wrap.close_stdin()
        server.exit(0)
        self.assertEqual(wrap.wait(), 0, wrap.stderr())
        self.check_standing()

    def test_killed_on_a_full_disk_the_next_session_recovers(self):
        wrap, server = self.puppet()
        self.call_until_full(wrap, server)
        wrap.signal(signal.SIGKILL)
        wrap.wait()
        server.let_go()
        self.check_standing()
        os.truncate(self.filler, 0)
        self.check_next_session()

    def test_a_start_on_a_full_disk_fails_or_refuses_and_says_why(self):
        self.fill()
        puppet = harness.Puppet(self.path("p"))
        self.puppets.append(puppet)
        wrap = self.wrap(server=puppet.argv)
        try:
            puppet.arrive(wrap)
        except AssertionError:
            self.assertEqual(wrap.wait(), 125)
        else:
            self.assertFalse(self.try_call(wrap, puppet, 1))
            wrap.signal(signal.SIGTERM)
            wrap.wait()
        self.assertIn("No space left", wrap.own_words())

    def test_every_room_that_may_be_left(self):
        """A record that begins at each of many distances from the end of the space: its Lines break everywhere."""
        for pages in range(1, 4):
            for used in range(0, PAGE, 512):
                with self.subTest(pages=pages, used=used):
                    for name in os.listdir(self.disk):
                        os.remove(os.path.join(self.disk, name))
                    self.one_small_room(pages, used)

    def one_small_room(self, pages, used):
        # A first session of `used` more bytes than another moves all that follows.
        wrap, server = self.puppet()
        for id in range(used // 512):
            self.try_call(wrap, server, id)
        wrap.close_stdin()
        server.exit(0)
        wrap.wait()
        self.fill()
        os.truncate(self.filler, os.path.getsize(self.filler) - pages * PAGE)
        puppet = harness.Puppet(self.path(f"small{len(self.puppets)}"))
        self.puppets.append(puppet)
        wrap = self.wrap(server=puppet.argv)
        try:
            puppet.arrive(wrap)
        except AssertionError:
            self.assertEqual(wrap.wait(), 125, wrap.stderr())
            return self.check_standing()
        for id in range(100, 120):
            if not self.try_call(wrap, puppet, id):
                break
        wrap.close_stdin()
        puppet.exit(0)
        wrap.wait()
        return self.check_standing()


class FileSizeLimit(UnavailableCase):
    """The same by a limit on the size of files: it needs no namespace, and a signal comes with it."""

    def test_calls_are_refused_at_the_limit(self):
        wrap, server = self.puppet(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
        passed = [self.try_call(wrap, server, id) for id in range(30)]
        self.assertEqual((passed[0], passed[-1]), (True, False))
        self.assertEqual(passed, sorted(passed, reverse=True))
        wrap.collector.wait_for(b"File too large")
        wrap.close_stdin()
        server.exit(0)
        wrap.wait()
        self.check_standing()


def enter_namespace():
    """Replaces this process with the same inside a namespace where it may mount; without one only says so."""
    if os.environ.get(INSIDE):
        return
    for flags in (["-Urm"], ["-m"]):
        probe = ["unshare", *flags, "mount", "-t", "tmpfs", "none", "/mnt"]
        if shutil.which("unshare") and subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            argv = ["unshare", *flags, sys.executable, *sys.argv]
            os.execvpe(argv[0], argv, {**os.environ, INSIDE: "1"})
    FullDisk.setUp = lambda self: self.skipTest("no mount namespace: neither as this user nor in a user namespace")
    FullDisk.tearDown = lambda self: None


if __name__ == "__main__":
    enter_namespace()
    harness.main()
