# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Processes under a test's hands: a running `aegis wrap` with its client's side, and a server that is a puppet.

Nothing here sleeps to wait: reads block, and who uses them sets a watchdog.
"""

import array
import json
import os
import select
import socket
import subprocess
import threading
import time

SCRIPT_SERVER = os.environ.get("AEGIS_SCRIPT_SERVER", "")
MARK = "AEGIS_TEST_MARK"  # in the environment of all that a test starts, so that what is left over is found in /proc


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().replace("\0", " ").strip()
    except OSError:
        return ""


def read_bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


class Stream:
    """Frames from a descriptor that blocks."""

    def __init__(self, fd):
        self.fd = fd
        self.held = b""

    def _more(self):
        try:
            got = os.read(self.fd, 1 << 20)
        except (ConnectionResetError, OSError) as error:
            if isinstance(error, ConnectionResetError) or error.errno == 5:  # EIO: a pty whose other end closed
                return False
            raise
        self.held += got
        return bool(got)

    def frame(self):
        """Up to and with a newline; at the end what is left, then b''."""
        parts = []
        while b"\n" not in self.held:
            parts.append(self.held)
            self.held = b""
            if not self._more():
                return b"".join(parts) + self.held
        cut = self.held.index(b"\n") + 1
        parts.append(self.held[:cut])
        self.held = self.held[cut:]
        return b"".join(parts)

    def exactly(self, size):
        parts = bytearray(self.held)
        while len(parts) < size:
            got = os.read(self.fd, 1 << 20)
            if not got:
                break
            parts += got
        self.held = bytes(parts[size:])
        return bytes(parts[:size])

    def rest(self):
        parts = [self.held]
        self.held = b""
        while self._more():
            parts.append(self.held)
            self.held = b""
        return b"".join(parts)


class Collector(threading.Thread):
    """Keeps reading a descriptor, so that nobody blocks on it, and lets a test wait for words."""

    def __init__(self, fd):
        super().__init__(daemon=True)
        self.fd = fd
        self.bytes = b""
        self.is_over = False
        self.news = threading.Condition()
        self.start()

    def run(self):
        while True:
            try:
                got = os.read(self.fd, 65536)
            except OSError:
                got = b""
            with self.news:
                self.bytes += got
                self.is_over = not got
                self.news.notify_all()
            if not got:
                return

    def wait_for(self, words):
        with self.news:
            self.news.wait_for(lambda: words in self.bytes or self.is_over)
            assert words in self.bytes, f"{words!r} never came, only {self.bytes!r}"


def select_readable(*fds):
    """Those of the descriptors that have something, or their end, as soon as one has."""
    return select.select(fds, [], [])[0]


def select_now(fd):
    """Whether the descriptor has something, or its end."""
    return bool(select.select([fd], [], [], 0)[0])


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


class Wrap:
    """One running `aegis wrap` and its client's side."""

    def __init__(self, argv, **popen):
        self.argv = argv
        self.collector = None
        popen.setdefault("stdin", subprocess.PIPE)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        collects = popen.pop("collects", True)
        self.process = subprocess.Popen(argv, bufsize=0, **popen)
        self.pid = self.process.pid
        if self.process.stdout:
            self.out = Stream(self.process.stdout.fileno())
        if self.process.stderr and collects:
            self.collector = Collector(self.process.stderr.fileno())

    def send(self, *frames):
        write_all(self.process.stdin.fileno(), b"".join(frames))

    def recv(self):
        return self.out.frame()

    def recv_json(self):
        return json.loads(self.recv())

    def ask(self, *frames):
        self.send(*frames)
        return self.recv()

    def close_stdin(self):
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()

    def end(self):
        """Closes stdin, reads what still comes, and gives the exit code (negative: a signal)."""
        self.close_stdin()
        if self.process.stdout:
            self.tail = self.out.rest()
        return self.wait()

    def wait(self):
        return self.process.wait()

    def is_running(self):
        return self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def stderr(self):
        """All of it; call after the end."""
        self.collector.join()
        return self.collector.bytes

    def own_words(self):
        """aegis's own lines on stderr."""
        lines = self.stderr().decode(errors="replace").splitlines()
        return "\n".join(line for line in lines if line.startswith("aegis:"))

    def peak_kib(self):
        """The most memory that was ever resident."""
        return status_kib(self.pid, "VmHWM")

    def discard(self):
        if self.is_running():
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe and not pipe.closed:
                pipe.close()
        self.process.wait()
        if self.process.stderr:
            if self.collector:
                self.collector.join(5)
            self.process.stderr.close()


def status_kib(pid, field):
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    raise AssertionError(f"{field} is not in /proc/{pid}/status")


class Puppet:
    """A wrapped server whose stdin, stdout and stderr are in the test's hands: the test is the server."""

    def __init__(self, path):
        self.path = path
        self.argv = [SCRIPT_SERVER, "puppet=" + path]
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen()
        self.fds = []
        self.socket = None

    def arrive(self, wrap):
        watched = os.pidfd_open(wrap.pid)
        ready, _, _ = select.select([self.listener, watched], [], [])
        os.close(watched)
        if self.listener not in ready:
            raise AssertionError(f"{wrap.argv} ended {wrap.wait()} and started no server: {wrap.stderr()!r}")
        self.socket, _ = self.listener.accept()
        hello, ancillary, _, _ = self.socket.recvmsg(8192, socket.CMSG_SPACE(12))
        self.fds = list(array.array("i", ancillary[0][2][:12]))
        fds, _, status = hello.decode(errors="replace").partition("\n")
        self.born_with_fds = sorted(int(fd) for fd in fds.split())
        self.born_status = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        self.pid = int(self.born_status["Pid"])
        self.input = Stream(self.fds[0])
        return self

    def recv(self):
        return self.input.frame()

    def send(self, *frames):
        write_all(self.fds[1], b"".join(frames))

    def complain(self, data):
        write_all(self.fds[2], data)

    def start(self, step):
        """Has the server do a step (script_server.cc) and does not wait for its end."""
        self.socket.send(step.encode())

    def finish(self):
        return self.socket.recv(16)

    def do(self, step):
        self.start(step)
        return self.finish()

    def let_go(self, *which):
        """Closes the test's own copies, so that the process's end, or its close, is an end of file for aegis."""
        for index in which or (0, 1, 2):
            if self.fds and self.fds[index] >= 0:
                os.close(self.fds[index])
                self.fds[index] = -1

    def close(self, which):
        self.let_go(which)
        self.do(f"close={which}")

    def exit(self, code):
        self.let_go()
        self.start(f"exit={code}")

    def die(self, number):
        self.let_go()
        self.start(f"die={number}")

    def discard(self):
        self.let_go()
        self.listener.close()
        if self.socket:
            self.socket.close()


def marked(mark):
    """The pids whose environment bears the mark. A zombie has no environment and does not count."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as environ:
                if wanted in environ.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            continue
    return found


def wait_gone(mark, patience):
    """Waits for the marked processes to end, each on its pidfd. Gives those that did not."""
    deadline = time.monotonic() + patience
    while True:
        left = marked(mark)
        if not left or time.monotonic() > deadline:
            return left
        try:
            fd = os.pidfd_open(left[0])
        except ProcessLookupError:
            continue
        select.select([fd], [], [], max(0, deadline - time.monotonic()))
        os.close(fd)
