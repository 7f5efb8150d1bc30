#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What confinement costs, each figure as a ratio of the same thing done without it (or by bwrap), in one run, the two
taking turns. Needs a quiet machine: the least is what the code takes, the median what a user waits.

measure.py --aegis PATH --load PATH [--rounds N] [--only whole_command|per_call|connecting|first_bytes]...
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PYTHON = "/usr/bin/python3"
SERVERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../servers")
ASYNCIO_SERVER = os.path.join(SERVERS, "asyncio_server.py")
BWRAP = ["bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink",
         "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
         "--cap-drop", "ALL", "/bin/true"]
INITIALIZE = (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
              b'"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}\n')
PARTS = ("whole_command", "per_call", "connecting", "first_bytes")


class Bench:
    def __init__(self, options, folder):
        self.aegis, self.load, self.rounds = options.aegis, options.load, options.rounds
        self.folder = folder
        self.env = {"HOME": folder, "PATH": "/usr/bin:/bin"}
        self.skipped = self.missed = 0

    def spawn(self, argv):
        """Seconds from starting a command to having its status."""
        null = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1, 2)]
        begin = time.perf_counter()
        pid = os.posix_spawnp(argv[0], argv, self.env, file_actions=null)
        _, status = os.waitpid(pid, 0)
        took = time.perf_counter() - begin
        if status != 0:
            raise RuntimeError(f"{' '.join(argv)}: wait status {status}")
        return took

    def first_byte(self, argv):
        """Seconds from starting a server to the first byte of its first answer."""
        begin = time.perf_counter()
        with subprocess.Popen(argv, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, bufsize=0) as process:
            process.stdin.write(INITIALIZE)
            if not process.stdout.read(1):
                raise RuntimeError(f"{' '.join(argv)}: no answer")
            took = time.perf_counter() - begin
            process.stdin.close()
            process.stdout.read()
        return took

    def batches(self, argv):
        """What load prints, in seconds."""
        run = subprocess.run(argv, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        return [float(line) / 1e9 for line in run.stdout.split()]

    def compare(self, name, once, subjects, bar=None, rounds=None):
        """`once` gives seconds, or a list of them, for a command. `subjects`: [(name, argv)], the first the measure."""
        taken = {subject: [] for subject, _ in subjects}
        for turn in range(rounds or self.rounds):
            for subject, argv in subjects if turn % 2 == 0 else subjects[::-1]:
                got = once(argv)
                taken[subject] += got if isinstance(got, list) else [got]
        base = taken[subjects[0][0]]
        for subject, _ in subjects:
            least, median = min(taken[subject]), statistics.median(taken[subject])
            text = f"{name:<41} {subject:<20} {scaled(least)} {scaled(median)}"
            if subject != subjects[0][0]:
                of_least, of_median = least / min(base), median / statistics.median(base)
                text += f"  {of_least:5.2f} {of_median:5.2f} x {subjects[0][0]}"
                text += f"  (+{scaled(median - statistics.median(base)).strip()})"
                if bar is not None:
                    is_met = of_median <= bar
                    self.missed += not is_met
                    text += f"  <= {bar}  {'met' if is_met else 'MISSED'}"
            print(text, flush=True)

    def skip(self, name, reason):
        self.skipped += 1
        print(f"{name:<41} skipped: {reason}")

    def confined(self, *words, flags=()):
        return [self.aegis, "confine", *flags, "--", *words]

    def whole_command(self):
        aegis = [("aegis", self.confined("/bin/true")),
                 ("aegis, tier landlock", self.confined("/bin/true", flags=["--tier", "landlock"]))]
        name = "whole command, true"
        if not shutil.which("bwrap"):
            self.skip(name + " against bwrap", "bwrap is not installed")
        else:
            try:
                self.spawn(BWRAP)
                self.compare(name, self.spawn, [("bwrap", BWRAP), aegis[0]], bar=1.0)
            except RuntimeError as error:
                self.skip(name + " against bwrap", str(error))
        self.compare(name, self.spawn, [("alone", ["/bin/true"]), *aegis])

    def per_call(self):
        for name, words in (("a system call", ["calls", "10"]), ("open and close", ["opens", "10", "/usr/bin/env"])):
            self.compare(name, self.batches, [
                ("alone", [self.load, *words]), ("confined", self.confined(self.load, *words)),
                ("tier landlock", self.confined(self.load, *words, flags=["--tier", "landlock"]))],
                         rounds=max(4, self.rounds // 10))

    def connecting(self):
        with subprocess.Popen([self.load, "listen"], stdout=subprocess.PIPE, text=True) as listener:
            port = listener.stdout.readline().strip()
            words = [self.load, "connects", "50", port]
            try:
                self.compare("connect to the loopback", self.batches, [
                    ("alone", words), ("confined", self.confined(*words, flags=["--allow-net", f"127.0.0.1:{port}"]))],
                             rounds=max(4, self.rounds // 10))
            finally:
                listener.terminate()

    def first_bytes(self):
        python = [PYTHON, ASYNCIO_SERVER]
        servers = [("of a server that does nothing", [self.load, "answer"], self.rounds // 2)]
        if os.access(PYTHON, os.X_OK):
            servers.append(("of python with asyncio", python, self.rounds // 5))
        for name, argv, rounds in servers:
            wrap = [self.aegis, "wrap", "--durability", "off", "--audit", os.path.join(self.folder, "record")]
            self.compare("first byte " + name, self.first_byte, [
                ("wrap", [*wrap, "--", *argv]), ("wrap --confine", [*wrap, "--confine", "--", *argv])],
                         rounds=max(4, rounds))


def scaled(seconds):
    for unit, scale in (("s ", 1), ("ms", 1e3), ("us", 1e6)):
        if abs(seconds) * scale >= 1:
            return f"{seconds * scale:8.2f} {unit}"
    return f"{seconds * 1e9:8.1f} ns"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--aegis", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--only", choices=PARTS, action="append", default=[])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="aegis-bench-") as folder:
        bench = Bench(options, folder)
        tried = subprocess.run(bench.confined("/bin/true"), env=bench.env, capture_output=True, text=True, check=False)
        if tried.returncode != 0:
            print(f"confinement skipped: {tried.stderr.strip()}")
            return 0
        print(f"{'confinement':<41} {'':<20} {'least':>11} {'median':>11}")
        for part in options.only or PARTS:
            getattr(bench, part)()
    print(f"confinement: {bench.missed} bars missed, {bench.skipped} skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
