#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Nothing outlives the confinement: daemons that left their session and parent and hear no polite signal are gone when
aegis ends, however it ends."""

import contextlib
import os
import select
import signal
import subprocess
import time
import unittest

import lab
from probes_test import ProbeCase

MANY = 2000


def alive(mark):
    """Processes with this mark on their command line; the dead and unreaped have none."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and mark in lab.read(f"/proc/{name}/cmdline"):
            found.append(int(name))
    return found


class Ends(ProbeCase):
    def setUp(self):
        super().setUp()
        self.mark = f"mark={os.getpid()}-{self.id().rpartition('.')[2]}-{time.monotonic_ns()}"
        self.addCleanup(self.end_all)

    def end_all(self):
        """Whatever a failing aegis left: these are the test's own."""
        for pid in alive(self.mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def start(self, laboratory, tier, count, *flags):
        """A running aegis whose program has `count` daemons, all there and deaf, and waits with them."""
        laboratory.settle()
        process = subprocess.Popen(
            laboratory.as_user([*laboratory.confine(tier, *flags), laboratory.probe, self.mark, f"count={count}",
                                "stay=1", "leave_daemons"]),
            cwd=laboratory.own, env=laboratory.env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.addCleanup(self.close, process)
        ready, _, _ = select.select([process.stdout], [], [], lab.PATIENCE)
        line = process.stdout.readline() if ready else b"nothing in time"
        self.assertEqual(line, b"all there\n", process.stderr.read1() if not ready else b"")
        return process

    def close(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()

    def scratch_of(self, pid):
        environment = dict(each.split("=", 1) for each in lab.read(f"/proc/{pid}/environ").split("\0") if "=" in each)
        return environment["TMPDIR"]

    def seconds_until_none_is_left(self, within):
        begin = time.monotonic()
        while left := alive(self.mark):
            if time.monotonic() - begin > within:
                self.fail(f"{len(left)} left after {within} s")
            time.sleep(0.01)
        return time.monotonic() - begin

    def test_daemons_are_gone_when_their_program_ends(self):
        for laboratory, tier in self.usable():
            with self.subTest(f"{laboratory.name} {tier}"):
                laboratory.settle()
                run = laboratory.run([*laboratory.confine(tier), laboratory.probe, self.mark, "count=50",
                                      "leave_daemons"])
                self.assertEqual(str(run.outcomes.get("leave_daemons"))[:5], "tried", run.stderr)
                self.assertEqual(alive(self.mark), [])
                lab.count(f"refused in tier {tier}")

    def test_a_process_that_hops_is_gone_when_its_program_ends(self):
        """It forks and ends, over and over, so that its number is old when somebody has read it."""
        for laboratory, tier in self.usable():
            with self.subTest(f"{laboratory.name} {tier}"):
                laboratory.settle()
                run = laboratory.run([*laboratory.confine(tier), laboratory.probe, self.mark, "count=3",
                                      "seconds=5", "leave_hoppers"])
                self.assertEqual(str(run.outcomes.get("leave_hoppers"))[:5], "tried", run.stderr)
                seen = [alive(self.mark) for _ in range(20)]
                self.assertEqual([pids for pids in seen if pids], [], "it hops on")
                lab.count(f"refused in tier {tier}")

    def test_daemons_outlive_their_program_unconfined(self):
        laboratory = lab.labs()[0]
        if not self.can_throw_away(laboratory):
            self.skipTest(lab.no_throwaway(laboratory.uid))
        laboratory.settle()
        look = '"$@"; grep -lz "$MARKED" /proc/[0-9]*/cmdline | wc -l'
        run = laboratory.run([*lab.THROWAWAY, "sh", "-c", look, "sh", laboratory.probe, self.mark, "count=50",
                              "leave_daemons"], env=laboratory.env(MARKED=self.mark))
        self.assertGreaterEqual(int(run.stdout.split()[-1]), 50, run.stdout + run.stderr)
        look = '"$@"; for i in 1 2 3 4 5 6 7 8 9; do grep -lz "$MARKED" /proc/[0-9]*/cmdline; done | wc -l'
        run = laboratory.run([*lab.THROWAWAY, "sh", "-c", look, "sh", laboratory.probe, self.mark, "count=3",
                              "seconds=5", "leave_hoppers"], env=laboratory.env(MARKED=self.mark))
        self.assertGreaterEqual(int(run.stdout.split()[-1]), 3, run.stdout + run.stderr)
        lab.count("controls that succeeded", 2)

    def test_daemons_are_gone_after_sigterm(self):
        for laboratory, tier in self.usable():
            with self.subTest(f"{laboratory.name} {tier}"):
                process = self.start(laboratory, tier, 50)
                process.terminate()
                process.wait(lab.PATIENCE)
                self.seconds_until_none_is_left(0.2)

    def test_2000_daemons_are_gone_a_second_after_kill_9(self):
        for laboratory, _ in self.usable("full"):
            with self.subTest(laboratory.name):
                # Each takes two numbers: its own, and its dead parent's, which is its session's.
                process = self.start(laboratory, "full", MANY, "--max-pids", str(2 * MANY + 100))
                self.assertGreaterEqual(len(alive(self.mark)), MANY)
                process.kill()
                took = self.seconds_until_none_is_left(1)
                lab.note(f"{laboratory.name}: {MANY} deaf daemons gone {took * 1000:.0f} ms after kill -9")
                self.close(process)

    def test_kill_9_in_tier_landlock_is_said_to_leave_some(self):
        """Not promised there; what happens is told."""
        for laboratory, _ in self.usable("landlock"):
            with self.subTest(laboratory.name):
                process = self.start(laboratory, "landlock", 50)
                scratch = self.scratch_of(max(alive(self.mark)))  # aegis bears the mark as well
                process.kill()
                time.sleep(0.5)
                left = len(alive(self.mark))
                lab.note(f"{laboratory.name}: of 50 daemons {left} are left after kill -9 in tier landlock")
                self.end_all()
                self.close(process)
                self.assertRegex(scratch, "^/tmp/aegis-[A-Za-z0-9]{6}$")
                for _ in range(100):  # the keeper tidies up
                    if not os.path.exists(scratch):
                        break
                    time.sleep(0.05)
                self.assertFalse(os.path.exists(scratch), scratch)


if __name__ == "__main__":
    lab.main()
