#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What running python in the broker's sandbox costs, as a ratio of the same python under bwrap with the same isolation,
in one run, the two taking turns. Needs a quiet machine: the least is what the code takes, the median what a user waits.

measure.py --aegis PATH [--rounds N]
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CODE = "print(1)"
BAR = 1.3
BWRAP = ["bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64",
         "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--die-with-parent", "--new-session",
         "--clearenv", "/usr/bin/python3", "-I", "-c", CODE]


class Session:
    """`aegis mcp`, asked for one run after another: what a client waits for."""

    def __init__(self, aegis, folder):
        self.process = subprocess.Popen(
            [aegis, "mcp", "--policy", os.path.join(folder, "policy.json"), "--audit", os.path.join(folder, "record"),
             "--durability", "off"],
            env={"HOME": folder, "PATH": "/usr/bin:/bin"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={},
                 clientInfo={"name": "bench", "version": "1"})

    def ask(self, method, **params):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def run_python(self):
        result = self.ask("tools/call", name="run_python", arguments={"code": CODE})["structuredContent"]
        if result.get("stdout") != "1\n":
            raise RuntimeError(json.dumps(result))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def bwrap():
    """By posix_spawn, so that little of this program's own is counted."""
    null = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 2)]
    reading, writing = os.pipe()
    pid = os.posix_spawnp(BWRAP[0], BWRAP, os.environ, file_actions=[*null, (os.POSIX_SPAWN_DUP2, writing, 1)])
    os.close(writing)
    with open(reading, "rb") as output:
        text = output.read()
    _, status = os.waitpid(pid, 0)
    if status != 0 or text != b"1\n":
        raise RuntimeError(f"bwrap: wait status {status}")


def taken(act):
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def measure(session, rounds):
    subjects = [("bwrap", bwrap), ("aegis mcp, run_python", session.run_python)]
    seconds = {name: [] for name, _ in subjects}
    for turn in range(rounds):
        for name, act in subjects if turn % 2 == 0 else subjects[::-1]:
            seconds[name].append(taken(act))
    print(f"{'python, print(1), whole':<31} {'':<23} {'least':>9} {'median':>9}")
    base = seconds["bwrap"]
    for name, _ in subjects:
        least, median = min(seconds[name]), statistics.median(seconds[name])
        text = f"{'':<31} {name:<23} {least * 1e3:6.2f} ms {median * 1e3:6.2f} ms"
        if name != "bwrap":
            ratio = median / statistics.median(base)
            text += (f"  {least / min(base):5.2f} {ratio:5.2f} x bwrap  <= {BAR}  "
                     f"{'met' if ratio <= BAR else 'MISSED'}")
        print(text, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--aegis", required=True)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    if not shutil.which("bwrap"):
        print("run_python against bwrap: skipped: bwrap is not installed")
        return 0
    with tempfile.TemporaryDirectory(prefix="aegis-bench-") as folder:
        os.makedirs(os.path.join(folder, "ws"))
        with open(os.path.join(folder, "policy.json"), "w", encoding="utf-8") as file:
            json.dump({"version": "1.0", "policy_id": "bench", "name": "bench", "workspace_root": "ws",
                       "allowed_operations": ["run_python"]}, file)
        session = Session(options.aegis, folder)
        try:
            bwrap()
            session.run_python()
            measure(session, options.rounds)
        except RuntimeError as error:
            print(f"run_python against bwrap: skipped: {error}")
        finally:
            session.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
