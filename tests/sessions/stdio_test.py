#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Whatever stdin and stdout are, a session works over them and leaves them as they were."""

import contextlib
import fcntl
import functools
import os
import signal
import subprocess
import time
import unittest

import ends
import harness
import record
from harness import answer, call

SERVE = [harness.SCRIPT_SERVER, "serve"]
ECHO = [harness.SCRIPT_SERVER, "echo"]


def over_each_kind(body):
    """Runs a test once for each kind of stdio, as body(self, ends, wrap, server)."""
    @functools.wraps(body)
    def run(self):
        for name, make in ends.KINDS.items():
            with self.subTest(name):
                body(self, *self.over(make))
    return run


class Kinds(harness.SessionCase):
    def over(self, make, flags=0):
        """A puppet session over stdio of one kind: (ends, wrap, server)."""
        given = make()
        self.addCleanup(given.close)
        for fd in (given.stdin, given.stdout):
            fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | flags)
        wrap, server = self.puppet(audit=self.path(f"{make.__name__}.aarl"),
                                   stdin=given.stdin, stdout=given.stdout)
        return given, wrap, server

    @over_each_kind
    def test_a_call_is_answered(self, given, wrap, server):
        harness.write_all(given.to, call(1))
        self.assertEqual(server.recv(), call(1))
        server.send(answer(1))
        self.assertEqual(harness.Stream(given.come).frame(), answer(1))
        self.assertEqual(given.nonblocking(), [])

    @over_each_kind
    def test_the_end_of_input_reaches_the_server_and_the_end_of_output_the_client(self, given, wrap, server):
        harness.write_all(given.to, call(1))
        self.assertEqual(server.recv(), call(1))  # a terminal that is closed drops what nobody read yet
        given.close_input()
        self.assertEqual(server.input.rest(), b"")
        server.send(b"last words, no newline")
        server.exit(5)
        self.assertEqual(wrap.wait(), 5)
        self.assertEqual(given.nonblocking(), [])
        given.close_aegis_ends()
        self.assertEqual(harness.Stream(given.come).rest(), b"last words, no newline")

    @over_each_kind
    def test_a_big_answer_crosses_to_a_reader_of_small_pieces(self, given, wrap, server):
        server.start("frame=300000")
        got = bytearray()
        while len(got) < 300000:
            got += os.read(given.come, 3001)
        self.assertEqual(server.finish(), b"done")
        self.assertTrue(got.endswith(b'"}}\n'))
        self.assertEqual(given.nonblocking(), [])

    @over_each_kind
    def test_a_client_that_does_not_read_can_still_send(self, given, wrap, server):
        server.start("frame=3000000")
        for i in range(20):
            harness.write_all(given.to, call(i))
            self.assertEqual(server.recv(), call(i))
        self.assertEqual(given.nonblocking(), [])
        stream = harness.Stream(given.come)
        self.assertEqual(len(stream.frame()), 3000000)
        self.assertEqual(server.finish(), b"done")

    def test_a_terminal_with_little_room_stops_nobody(self):
        """It says that it can be written to, and holds who writes more than there is room for."""
        given = ends.terminals()
        self.addCleanup(given.close)
        filler = os.open(os.ttyname(given.stdout), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        filled = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                filled += os.write(filler, b"x" * 100)
        filled -= len(os.read(given.come, 2000))
        os.close(filler)
        _, server = self.puppet(stdin=given.stdin, stdout=given.stdout)
        server.start("frame=100000")
        for i in range(5):
            harness.write_all(given.to, call(i))
            self.assertEqual(server.recv(), call(i))
        self.assertEqual(len(harness.Stream(given.come).frame()), filled + 100000)
        self.assertEqual(given.nonblocking(), [])

    @over_each_kind
    def test_a_server_that_does_not_read_can_still_send(self, given, wrap, server):
        with Filler(given.to):
            for i in range(20):
                server.send(answer(i))
                self.assertEqual(harness.Stream(given.come).frame(), answer(i))
            self.assertEqual(given.nonblocking(), [])

    @over_each_kind
    def test_killing_aegis_leaves_no_flag_behind(self, given, wrap, server):
        harness.write_all(given.to, call(1))
        server.recv()
        server.start("frame=3000000")
        self.assertTrue(os.read(given.come, 1000))
        wrap.signal(signal.SIGKILL)
        wrap.wait()
        self.assertEqual(given.nonblocking(), [])

    def test_ends_that_do_not_block_already_stay_so_and_work(self):
        for name, make in ends.KINDS.items():
            with self.subTest(name):
                given, _, server = self.over(make, os.O_NONBLOCK)
                server.start("frame=300000")
                self.assertEqual(len(harness.Stream(given.come).frame()), 300000)
                harness.write_all(given.to, call(1))
                self.assertEqual(server.recv(), call(1))
                self.assertEqual(given.nonblocking(), ["stdin", "stdout"])


class Filler:
    """Keeps writing frames into a descriptor that nobody empties, in a process of its own, until it is left."""

    def __init__(self, fd):
        self.process = subprocess.Popen(["/usr/bin/yes", '{"jsonrpc":"2.0","method":"notifications/x"}'],
                                        stdout=fd, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Files(harness.SessionCase):
    def test_stdin_from_a_file_is_read_from_where_it_stands(self):
        with open(self.write("in", b"skipped\n" + call(1) + call(2)), "rb") as stdin:
            os.lseek(stdin.fileno(), 8, os.SEEK_SET)
            wrap = self.wrap(server=ECHO, stdin=stdin)
            self.assertEqual(wrap.out.rest(), call(1) + call(2))
            self.assertEqual(wrap.wait(), 0)

    def test_stdout_to_a_file_goes_where_it_stands(self):
        with open(self.write("out", b"kept\nkept too\n"), "r+b") as stdout:
            os.lseek(stdout.fileno(), 5, os.SEEK_SET)
            wrap = self.wrap(server=ECHO, stdout=stdout)
            wrap.send(call(1), call(2))
            self.assertEqual(wrap.end(), 0)
            self.assertEqual(os.lseek(stdout.fileno(), 0, os.SEEK_CUR), 5 + 2 * len(call(1)))
        self.assertEqual(harness.read_bytes(self.path("out")), b"kept\n" + call(1) + call(2))

    def test_stdout_and_stderr_to_one_file_lose_nothing(self):
        with open(self.path("both"), "wb") as both:
            wrap, server = self.puppet(stdout=both, stderr=both)
            for i in range(50):
                server.send(b"o%d\n" % i)
                server.complain(b"e%d\n" % i)
            server.exit(0)
            self.assertEqual(wrap.end(), 0)
        lines = harness.read_bytes(self.path("both")).splitlines()
        for kind in (b"o", b"e"):
            self.assertEqual([line for line in lines if line[:1] == kind and line[1:].isdigit()],
                             [kind + b"%d" % i for i in range(50)])

    def test_dev_null_as_stdin_ends_the_session_at_once_and_seals_it(self):
        wrap = self.wrap(server=["cat"], stdin=subprocess.DEVNULL)
        self.assertEqual(wrap.out.rest(), b"")
        self.assertEqual(wrap.wait(), 0)
        self.assertEqual([line["line_type"] for line in self.check_record()], ["open", "close"])

    def test_a_pipe_that_ended_before_the_start(self):
        for name, data in {"nothing": b"", "frames": call(1) + call(2), "half a frame": call(1)[:-1]}.items():
            with self.subTest(name):
                begin = time.monotonic()
                stdin, to = os.pipe()
                os.write(to, data)
                os.close(to)
                path = self.path(name)
                wrap = self.wrap("--grace", "60", server=ECHO, stdin=stdin, audit=path)
                os.close(stdin)
                self.assertEqual(wrap.out.rest(), data)
                self.assertEqual(wrap.wait(), 0)
                self.assertLess(time.monotonic() - begin, 50, "as long as the grace")
                self.check_record(path)

    def test_dev_null_as_stdout(self):
        wrap = self.wrap(server=SERVE, stdout=subprocess.DEVNULL)
        wrap.send(call(1))
        self.assertEqual(wrap.end(), 0)
        self.assertEqual(len(record.outcomes(self.check_record())), 1)


class Missing(harness.SessionCase):
    """A descriptor that is closed must not become the record's, nor get what belongs there."""

    def run_without(self, *fds, **given):
        def close():
            for fd in fds:
                os.close(fd)
        log = self.path("log")
        wrap = self.wrap(server=[harness.SCRIPT_SERVER, "log=" + log, "serve", "complain=over\\n"],
                         preexec_fn=close, **given)
        if 0 not in fds:
            wrap.send(call(1))
        code = wrap.end()
        if not os.path.exists(self.audit):
            self.assertEqual(code, 125, "neither a session nor aegis's own failure")
            return
        self.check_record()
        self.assertEqual(harness.read_bytes(log), b"" if 0 in fds else call(1))

    def test_without_stdin(self):
        self.run_without(0)

    def test_without_stdout(self):
        self.run_without(1)

    def test_without_stderr(self):
        self.run_without(2)

    def test_without_any(self):
        self.run_without(0, 1, 2)


if __name__ == "__main__":
    harness.main()
