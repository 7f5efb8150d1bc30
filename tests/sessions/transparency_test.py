#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A wrapped server gets and gives the bytes that it would get and give alone, and is born into the same world."""

import fcntl
import os
import pty
import resource
import signal
import subprocess
import termios
import unittest

import harness
from harness import answer, call, request

ODD_FRAMES = {
    "carriage return before the newline": b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n',
    "carriage returns alone": b'{"a":1}\r{"b":2}\r\n',
    "invalid utf-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe\xc0\x80\xed\xa0\x80"}\n',
    "a nul": b'{"a":"\0"}\0\n',
    "only a nul": b"\0\n",
    "byte-order mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
    "blank lines": b"\n\n \n\t\n\r\n",
    "odd spacing": b' {  "id" :\t1 , "method":"ping" , "jsonrpc" : "2.0" }  \n',
    "number forms": b'{"jsonrpc":"2.0","id":1.0e0,"method":"x","params":{"n":[1E400,-0,1.10,123456789012345678901]}}\n',
    "no json at all": b"hello, I am a banner\n",
    "two values on a line": b'{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}\n',
    "a repeated member": b'{"jsonrpc":"2.0","method":"a","method":"b","id":1}\n',
    "one message over two lines": b'{"jsonrpc":"2.0",\n"id":1,"method":"ping"}\n',
    "content-length framing": b'Content-Length: 40\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
    "depth 2000": b"[" * 2000 + b"]" * 2000 + b"\n",
    "unclosed depth": b'{"a":' * 5000 + b"\n",
    "a lone surrogate": b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}\n',
    "escaped names": b'{"jsonrpc":"2.0","id":1,"m\\u0065thod":"tools/call","params":{"name":"e\\u0063ho"}}\n',
    "a call without a name": b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n',
    "a batch": b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]\n',
    "an empty batch": b"[]\n",
    "_meta": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":0,'
             b'"io.x/y":[null]},"name":"echo","arguments":{}}}\n',
    "server/discover first": b'{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{}}}\n'
                             b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n',
}


def padded(size):
    """A call that is `size` bytes long, its newline included."""
    empty = call(1, text="")
    return call(1, text="x" * (size - len(empty)))


SIZES = [4095, 4096, 4097, 15000, 65535, 65536, 65537, 1 << 20, 5000001]


class Bytes(harness.SessionCase):
    def relay(self, data):
        """What an echo server heard and what its client heard of `data`."""
        log = self.path("log")
        wrap = self.wrap(server=[harness.SCRIPT_SERVER, "log=" + log, "echo"])
        sender = subprocess.Popen(["/bin/cat", self.write("data", data)], stdout=wrap.process.stdin)
        wrap.close_stdin()
        heard = wrap.out.rest()
        self.assertEqual(sender.wait(), 0)
        self.assertEqual(wrap.wait(), 0, wrap.stderr())
        told = harness.read_bytes(log)
        os.remove(log)
        os.remove(self.audit) if os.path.exists(self.audit) else None
        return told, heard

    def check(self, data):
        told, heard = self.relay(data)
        self.assertSame(told, data)
        self.assertSame(heard, data)

    def test_every_odd_frame_crosses_both_ways_untouched(self):
        for name, data in ODD_FRAMES.items():
            with self.subTest(name):
                self.check(data)

    def test_every_odd_frame_crosses_without_its_last_newline(self):
        for name, data in ODD_FRAMES.items():
            with self.subTest(name):
                self.check(data[:-1])

    def test_all_odd_frames_cross_in_one_stream(self):
        self.check(b"".join(ODD_FRAMES.values()) * 20)

    def test_frames_around_buffer_sizes_cross(self):
        for size in SIZES:
            with self.subTest(size=size):
                self.assertEqual(len(padded(size)), size)
                self.check(padded(size) + padded(size))

    def test_bytes_written_one_by_one_cross(self):
        data = b"".join(ODD_FRAMES[name] for name in ("a nul", "invalid utf-8", "_meta", "blank lines"))
        wrap = self.wrap(server=[harness.SCRIPT_SERVER, "echo"])
        for i in range(len(data)):
            wrap.send(data[i:i + 1])
        self.assertEqual(wrap.out.exactly(len(data)), data)
        self.assertEqual(wrap.end(), 0)

    def test_nothing_is_sent_that_nobody_wrote(self):
        wrap, server = self.puppet()
        wrap.send(request(0, "initialize"), call(1))
        server.recv(), server.recv()
        server.send(answer(0), answer(1))
        self.assertEqual(wrap.recv() + wrap.recv(), answer(0) + answer(1))
        wrap.close_stdin()
        self.assertEqual(server.input.rest(), b"")
        server.exit(0)
        self.assertEqual(wrap.out.rest(), b"")

    def test_a_request_of_the_server_crosses(self):
        wrap, server = self.puppet()
        asked = request(1, "sampling/createMessage")
        server.send(asked)
        self.assertEqual(wrap.recv(), asked)
        wrap.send(answer(1, role="user"))
        self.assertEqual(server.recv(), answer(1, role="user"))

    def test_a_200_kb_answer_reaches_a_reader_that_starts_late(self):
        wrap, server = self.puppet()
        fcntl.fcntl(wrap.out.fd, fcntl.F_SETPIPE_SZ, 4096)
        wrap.send(call(1))
        server.recv()
        server.start("frame=200000")
        got = b"".join(os.read(wrap.out.fd, 1000) for _ in range(100)) + wrap.recv()
        self.assertEqual(len(got), 200000)
        self.assertTrue(got.endswith(b'"}}\n'))


class Stderr(harness.SessionCase):
    NOISE = bytes(range(256)) * 40 + b"\r\n\nno newline at the end"

    def test_it_passes_byte_for_byte(self):
        wrap, server = self.puppet()
        server.complain(self.NOISE)
        wrap.send(call(1))
        server.recv()
        server.exit(0)
        wrap.end()
        self.assertHolds(wrap.stderr(), self.NOISE)
        self.assertEqual(wrap.tail, b"")

    def test_a_file_gets_a_copy(self):
        log = self.path("stderr.log")
        wrap, server = self.puppet("--stderr-log", log)
        server.complain(self.NOISE)
        server.exit(0)
        wrap.end()
        self.assertHolds(wrap.stderr(), self.NOISE)
        self.assertHolds(harness.read_bytes(log), self.NOISE)

    def test_a_copy_that_cannot_be_written_does_not_stop_the_session(self):
        wrap, server = self.puppet("--stderr-log", "/dev/full")
        server.complain(self.NOISE)
        wrap.send(call(1))
        self.assertEqual(server.recv(), call(1))
        server.exit(0)
        self.assertEqual(wrap.end(), 0)
        self.assertHolds(wrap.stderr(), self.NOISE)
        self.assertIn("No space left", wrap.own_words())

    def test_a_copy_that_nobody_takes_does_not_stop_the_session(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        wrap, server = self.puppet("--stderr-log", fifo)
        for _ in range(4):
            server.complain(b"y" * 65536)
        wrap.send(call(1))
        self.assertEqual(server.recv(), call(1))
        server.exit(0)
        self.assertEqual(wrap.end(), 0)
        self.assertIn("the copy ends here", wrap.stderr().decode())

    def test_a_client_that_never_reads_it_does_not_stop_the_session(self):
        wrap, server = self.puppet(collects=False)
        fcntl.fcntl(server.fds[2], fcntl.F_SETFL, os.O_NONBLOCK)
        with self.assertRaises(BlockingIOError):
            for _ in range(1000):
                server.complain(b"y" * 65536)
        wrap.send(call(1))
        self.assertEqual(server.recv(), call(1))
        server.send(answer(1))
        self.assertEqual(wrap.recv(), answer(1))


class StrictStdout(harness.SessionCase):
    BANNER = b"hello, I start up\n"

    def test_a_banner_crosses_when_it_is_off(self):
        wrap, server = self.puppet()
        server.send(self.BANNER, answer(1))
        self.assertEqual(wrap.recv(), self.BANNER)
        self.assertEqual(wrap.recv(), answer(1))

    def test_what_is_no_json_goes_to_stderr_when_it_is_on(self):
        wrap, server = self.puppet("--strict-stdout")
        server.send(self.BANNER, answer(1), b"{broken\n", answer(2), b"bye")
        self.assertEqual(wrap.recv(), answer(1))
        self.assertEqual(wrap.recv(), answer(2))
        server.exit(0)
        self.assertEqual(wrap.end(), 0)
        self.assertEqual(wrap.tail, b"")
        self.assertIn(self.BANNER, wrap.stderr())
        self.assertIn(b"{broken\n", wrap.stderr())
        self.assertIn(b"bye", wrap.stderr())


class World(harness.SessionCase):
    def test_environment_and_folder_are_the_clients(self):
        odd = {b"EMPTY": b"", b"ODD": b"\xff=\n", b"AEGIS_X": b"1", b"LD_X": b"2"}
        env = {**{key.encode(): value.encode() for key, value in self.env().items()}, **odd}
        folder = self.path("folder")
        os.mkdir(folder)
        _, server = self.puppet(env=env, cwd=folder)
        environ = harness.read_bytes(f"/proc/{server.pid}/environ")
        self.assertEqual(environ, b"".join(key + b"=" + value + b"\0" for key, value in env.items()))
        self.assertEqual(os.readlink(f"/proc/{server.pid}/cwd"), folder)

    def test_arguments_cross_as_they_are(self):
        odd = [b"[a,b]", b"[]", b"", b"--", b"-x", b"--audit", b"a b", b"\xff", b"{", b"'\"", b"--help", b"\n"]
        log = self.path("log").encode()
        script = b'for a in "$@"; do printf "%s\\0" "$a"; done >"$0"'
        wrap = self.wrap(server=[b"/bin/sh", b"-c", script, log, *odd])
        self.assertEqual(wrap.end(), 0, wrap.stderr())
        self.assertEqual(harness.read_bytes(log), b"".join(word + b"\0" for word in odd))

    def test_the_servers_name_is_the_one_that_was_typed(self):
        """Some programs act by it; and it is found where the client's PATH says."""
        os.symlink(harness.SCRIPT_SERVER, self.path("by-name"))
        puppet = harness.Puppet(self.path("socket"))
        self.puppets.append(puppet)
        puppet.argv[0] = "by-name"
        wrap = self.wrap(server=puppet.argv, env=self.env(PATH="/nowhere:" + self.dir))
        puppet.arrive(wrap)
        cmdline = harness.read_bytes(f"/proc/{puppet.pid}/cmdline").split(b"\0")
        self.assertEqual(cmdline[:-1], [word.encode() for word in puppet.argv])

    def test_umask_and_limits_are_the_clients(self):
        def narrow():
            os.umask(0o013)
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 4096))
            os.nice(3)
        _, server = self.puppet(preexec_fn=narrow)
        self.assertEqual(server.born_status["Umask"], "0013")
        limits = harness.read_text(f"/proc/{server.pid}/limits").splitlines()
        row = {line[:25].strip(): line[25:].split()[:2] for line in limits}
        self.assertEqual(row["Max open files"], ["200", "300"])
        self.assertEqual(row["Max core file size"], ["0", "4096"])
        nicer = min(os.getpriority(os.PRIO_PROCESS, 0) + 3, 19)  # 19 is the last
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, server.pid), nicer)

    def test_signals_are_as_a_fresh_process_has_them(self):
        def deafen():
            for number in (signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD, signal.SIGUSR1, signal.SIGQUIT):
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGCHLD, signal.SIGTERM})
        _, server = self.puppet(preexec_fn=deafen, restore_signals=False)
        self.assertEqual(int(server.born_status["SigIgn"], 16), 0)
        self.assertEqual(int(server.born_status["SigBlk"], 16), 0)

    def test_only_stdio_is_open(self):
        spare = [os.open("/dev/null", os.O_RDONLY) for _ in range(3)]
        _, server = self.puppet(pass_fds=spare)
        self.assertEqual(server.born_with_fds, [0, 1, 2])
        for fd in spare:
            os.close(fd)

    def test_it_has_no_controlling_terminal(self):
        main, terminal = pty.openpty()

        def take_terminal():
            os.setsid()
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        wrap, server = self.puppet(preexec_fn=take_terminal, pass_fds=[terminal])
        tty_of = lambda pid: harness.read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()[4]
        self.assertNotEqual(tty_of(wrap.pid), "0")
        self.assertEqual(tty_of(server.pid), "0")
        os.close(terminal)
        server.exit(0)
        self.assertEqual(wrap.end(), 0)
        os.close(main)


if __name__ == "__main__":
    harness.main()
