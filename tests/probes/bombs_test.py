#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Programs that use more than they were given: each passes its bound unconfined, in a namespace that is thrown away,
and is stopped at it confined."""

import os
import unittest
from dataclasses import dataclass

import lab
from probes_test import ProbeCase

MIB = 1 << 20


@dataclass(frozen=True)
class Bomb:
    """`limit` is where the attempt gives up and counts itself as having got through."""
    name: str
    limit: int
    flags: tuple = ()
    errnos: tuple = ()
    open_to: tuple = ()  # (tier, is root) for which nothing but a cgroup holds it, made when --max-pids asks for it
    is_slow: bool = False  # one user and each tier are enough


NO_BOUND_FOR_ROOT = (("landlock", True),)
NO_SCRATCH = (("landlock", True), ("landlock", False))
BOMBS = [
    # A pid namespace reserves 300 numbers (kernel/pid.c), which its first round uses all the same: for root, whom
    # nothing else binds, that much more is within the bound.
    Bomb("fork_bomb", 701, ("--max-pids", "400"), ("EAGAIN",), NO_BOUND_FOR_ROOT),
    Bomb("thread_bomb", 701, ("--max-pids", "400"), ("EAGAIN",), NO_BOUND_FOR_ROOT),
    Bomb("fork_bomb", 1325, (), ("EAGAIN",), NO_BOUND_FOR_ROOT),
    Bomb("memory_bomb", 100, ("--max-memory", "64MiB"), ("ENOMEM",)),
    Bomb("file_bomb", 10 * MIB, ("--max-file-size", "10MiB"), ("EFBIG",)),
    Bomb("file_stretch", 10 * MIB, ("--max-file-size", "10MiB"), ("EFBIG",)),
    Bomb("raise_file_limit", 0, ("--max-file-size", "10MiB"), ("EPERM",)),
    Bomb("descriptor_bomb", 200, ("--max-open-files", "100"), ("EMFILE",)),
    Bomb("descriptor_bomb", 4200, (), ("EMFILE",)),
    Bomb("scratch_flood", 520, (), ("ENOSPC",), NO_SCRATCH),
    Bomb("file_flood", 300, ("--max-new-files", "200"), ("ENOSPC",), NO_SCRATCH),
    Bomb("burn_cpu", 2, ("--max-cpu-seconds", "1"), ("ETIME",), is_slow=True),
    Bomb("dump_core", 0, (), ("EPERM",)),
]


def has_cgroup(laboratory, controller):
    """Whether this user can bound many processes together: root can, where the tree is there and may be written."""
    return laboratory.uid == 0 and (os.access(f"/sys/fs/cgroup/{controller}", os.W_OK) or
                                    controller in lab.read("/sys/fs/cgroup/cgroup.subtree_control").split())


class Bombs(ProbeCase):
    def explode(self, laboratory, before, bomb):
        laboratory.settle()
        run = laboratory.run([*before, laboratory.probe, f"own={laboratory.own}", f"limit={bomb.limit}", bomb.name])
        outcome = run.outcomes.get(bomb.name)
        self.assertIsNotNone(outcome, f"{bomb} said nothing: {run.status} {run.stderr}")
        return outcome

    def check_control(self, laboratory, bomb):
        # What fills /tmp fills a file system of its own.
        private = ["sh", "-c", 'mount -t tmpfs none /mnt && TMPDIR=/mnt exec "$@"', "sh"]
        outcome = self.explode(laboratory, [*lab.THROWAWAY, *private], bomb)
        if bomb.name == "dump_core" and outcome.verdict == "refused":
            lab.note(f"no control: dump_core ({laboratory.name}): this machine keeps no core files")
            lab.count("controls that cannot succeed here")
            return
        if bomb.name == "descriptor_bomb" and outcome.errno == "EMFILE":
            lab.note(f"no control: descriptor_bomb {bomb.limit} ({laboratory.name}): the hard limit is lower")
            lab.count("controls that cannot succeed here")
            return
        self.assertEqual(outcome.verdict, "reached", f"{bomb}: {outcome}")
        lab.count("controls that succeeded")

    def check_confined(self, laboratory, tier, bomb):
        outcome = self.explode(laboratory, laboratory.confine(tier, *bomb.flags), bomb)
        is_in_cgroup = "--max-pids" in bomb.flags and has_cgroup(laboratory, "pids")
        if (tier, laboratory.uid == 0) in bomb.open_to and not is_in_cgroup:
            self.assertEqual(outcome.verdict, "reached", f"{bomb.name} was listed as open: {outcome}")
            lab.note(f"open in tier {tier}: {bomb.name} ({laboratory.name}): no bound holds there")
            lab.count(f"open in tier {tier}, as listed")
            return
        self.assertEqual(outcome.verdict, "refused", f"{bomb} {laboratory.name} {tier}: {outcome}")
        self.assertIn(outcome.errno, bomb.errnos, f"{bomb} {laboratory.name} {tier}: {outcome}")
        lab.count(f"refused in tier {tier}")

    def test_each_passes_its_bound_unconfined(self):
        for laboratory in filter(self.can_throw_away, lab.labs()):
            for bomb in BOMBS:
                if bomb.is_slow and laboratory.uid != os.geteuid():
                    continue
                with self.subTest(f"{bomb.name} {bomb.flags} {laboratory.name}"):
                    self.check_control(laboratory, bomb)

    def check_all(self, tier):
        for laboratory, _ in self.usable(tier):
            for bomb in BOMBS:
                if bomb.is_slow and laboratory is not lab.labs()[0 if tier == "full" else -1]:
                    continue
                if (tier, bomb.name) == ("landlock", "scratch_flood"):
                    continue  # listed as open below, and would fill the machine's own disk
                if tier == "landlock" and "--max-new-files" in bomb.flags:
                    continue
                with self.subTest(f"{bomb.name} {bomb.flags} {laboratory.name}"):
                    self.check_confined(laboratory, tier, bomb)

    def test_each_is_stopped_in_tier_full(self):
        self.check_all("full")

    def test_each_is_stopped_in_tier_landlock(self):
        self.check_all("landlock")


class Output(ProbeCase):
    def test_output_ends_at_its_bound(self):
        for laboratory, tier in self.usable():
            with self.subTest(f"{laboratory.name} {tier}"):
                laboratory.settle()
                run = laboratory.run([*laboratory.confine(tier, "--max-output", "1MiB"), laboratory.probe,
                                      f"limit={4 * MIB}", "output_flood"])
                self.assertLessEqual(len(run.stdout), MIB)
                self.assertGreater(len(run.stdout), MIB // 2)
                self.assertNotEqual(run.status, 0)
                self.assertIn("--max-output", run.stderr)


class Together(ProbeCase):
    """Many processes, each within its own bound: a total needs a cgroup."""

    def explode(self, laboratory, before):
        laboratory.settle()
        run = laboratory.run([*before, laboratory.probe, "limit=512", "memory_of_many"])
        # Who asked for the most may have been the attacker itself.
        return run.outcomes.get("memory_of_many") or lab.Outcome("refused", "ENOMEM", f"ended: {run.status}")

    def test_memory_of_many(self):
        for laboratory in filter(self.can_throw_away, lab.labs()):
            self.assertEqual(self.explode(laboratory, lab.THROWAWAY).verdict, "reached")
            lab.count("controls that succeeded")
        for laboratory, tier in self.usable():
            with self.subTest(f"{laboratory.name} {tier}"):
                outcome = self.explode(laboratory, laboratory.confine(tier, "--max-memory", "128MiB"))
                if has_cgroup(laboratory, "memory"):
                    self.assertNotEqual(outcome.verdict, "reached", outcome)
                    lab.count(f"refused in tier {tier}")
                else:
                    lab.note(f"open in tier {tier}: memory_of_many ({laboratory.name}): a total needs a cgroup of "
                             f"its own: {outcome}")
                    lab.count(f"open in tier {tier}, as listed")


if __name__ == "__main__":
    lab.main()
