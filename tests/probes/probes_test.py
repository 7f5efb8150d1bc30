#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Every attempt of the probe program: it succeeds unconfined, in a namespace that is thrown away, and is refused under
`aegis confine` as its row says (rows.py): in each tier, as this user and, for root, as an ordinary one too.

What tier landlock does not stop is listed, and must be what the rows say: no more and no less.
"""

import functools
import os
import subprocess
import unittest

import lab
from rows import ABSENT, ROWS, Open, expected

GROUPS = ("files", "processes", "ipc", "kernel", "mounts", "network")  # one sandbox each


@functools.lru_cache(maxsize=None)
def groups():
    """What the probe program says that it has: {group: [attempt]}."""
    said = subprocess.run([lab.PROBE, "--list"], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in said.splitlines():
        group, name = line.split()
        found.setdefault(group, []).append(name)
    return found


class ProbeCase(unittest.TestCase):
    longMessage = True

    def setUp(self):
        for name, path in (("AEGIS_BIN", lab.AEGIS), ("AEGIS_PROBE", lab.PROBE), ("AEGIS_PROBE_HOST", lab.HOST)):
            self.assertTrue(os.access(path, os.X_OK), f"set {name} to the program")

    def can_throw_away(self, laboratory):
        """Whether this user's controls can be made. Where not, what is refused may be refused for another reason."""
        reason = lab.no_throwaway(laboratory.uid)
        if reason:
            lab.note(f"no controls: {reason}")
        return not reason

    def usable(self, *tiers):
        """(lab, tier) for all users and tiers (all when none is named) that can be had here. The test is skipped when
        there is none; the others are said."""
        found = []
        reasons = []
        for laboratory, tier in lab.labs_and_tiers():
            if tier not in (tiers or lab.TIERS):
                continue
            reason = lab.no_confinement(laboratory.uid, tier)
            if reason:
                reasons.append(f"tier {tier} not tried: {reason}")
                lab.note(reasons[-1])
            else:
                found.append((laboratory, tier))
        if not found:
            self.skipTest("; ".join(reasons))
        return found

    def tiers_of(self, laboratory):
        return [tier for each, tier in self.usable() if each is laboratory]

    def check_control(self, laboratory, row, run):
        """One attempt, unconfined: it got what it wanted, or its row says why it cannot."""
        outcome = run.outcomes.get(row.name)
        self.assertIsNotNone(outcome, f"{row.name} said nothing: {run.status} {run.stderr}")
        is_done = outcome.verdict == "reached" or (outcome.verdict == "tried" and run.harm)
        if is_done:
            if row.harms:
                self.assertTrue(run.harm, f"{row.name}: {outcome}, but the victims are as they were")
            lab.count("controls that succeeded")
            return
        self.assertEqual(outcome.verdict, "refused", f"{row.name}: {outcome} {run.stderr}")
        if self.is_absent(outcome):
            lab.count("that want what this machine does not have")
            lab.note(f"no control: {row.name} ({laboratory.name}): not here: {outcome.words}")
            return
        if row.needs and outcome.errno in row.needs[1].split():
            lab.count("controls that cannot succeed here")
            lab.note(f"no control: {row.name} ({laboratory.name}): {row.needs[0]}: {outcome.errno}")
            return
        self.assertIn(outcome.errno, ABSENT, f"{row.name}: {outcome}")
        lab.count("controls of what this kernel does not have")
        lab.note(f"no control: {row.name} ({laboratory.name}): this kernel has none: {outcome.errno}")

    def is_absent(self, outcome):
        """It wanted a file of the machine's that this machine does not have: a chroot's /dev is small."""
        path = outcome.words.rpartition(" ")[2]
        return outcome.errno == "ENOENT" and path.startswith("/") and not os.path.lexists(path)

    def check_confined(self, laboratory, tier, row, outcome):
        """One attempt, confined: refused as its row says, or open as its row says."""
        self.assertIsNotNone(outcome, f"{row.name} said nothing")
        wanted = expected(row.name, tier, laboratory.uid == 0)
        if isinstance(wanted, Open):
            self.assertEqual(outcome.verdict, "reached", f"{row.name} was listed as open: {outcome}")
            lab.count(f"open in tier {tier}, as listed")
            lab.note(f"open in tier {tier}: {row.name} ({laboratory.name}): {wanted.why}")
            return
        if outcome.verdict == "tried":  # check_harm() knows
            lab.count(f"refused in tier {tier}")
            return
        self.assertEqual(outcome.verdict, "refused", f"{row.name} ({laboratory.name}, {tier}): {outcome}")
        if "ENOENT" not in wanted and self.is_absent(outcome):
            lab.count("that want what this machine does not have")
            lab.note(f"not to be tried: {row.name} ({laboratory.name}, {tier}): not here: {outcome.words}")
            return
        self.assertIn(outcome.errno, wanted, f"{row.name} ({laboratory.name}, {tier}): {outcome}")
        lab.count(f"refused in tier {tier}")

    def check_harm(self, laboratory, tier, names, harm):
        """The victims are as they were, but for what the rows leave open."""
        rows = [expected(name, tier, laboratory.uid == 0) for name in names]
        allowed = tuple({row.harm for row in rows if isinstance(row, Open) and row.harm})
        self.assertEqual([what for what in harm if not what.startswith(allowed)], [], "what became of the victims")


class Rows(ProbeCase):
    def test_every_attempt_has_a_row_and_every_row_an_attempt(self):
        named = {name for group, names in groups().items() if group not in ("bombs", "works") for name in names}
        self.assertEqual(named, set(ROWS))

    def test_there_are_at_least_80(self):
        self.assertGreaterEqual(len(ROWS), 80)


class Controls(ProbeCase):
    def control_all(self, laboratory):
        if not self.can_throw_away(laboratory):
            self.skipTest(lab.no_throwaway(laboratory.uid))
        names = [name for group in GROUPS for name in groups()[group] if not ROWS[name].alone]
        for name, run in zip(names, lab.in_crowd(laboratory, lab.Lab.attack_unconfined, names)):
            with self.subTest(name):
                self.check_control(laboratory, ROWS[name], run)

    def test_each_succeeds_unconfined(self):
        self.control_all(lab.labs()[0])

    def test_each_succeeds_unconfined_as_an_ordinary_user(self):
        if len(lab.labs()) < 2:
            self.skipTest("not root: this user is the ordinary one")
        self.control_all(lab.labs()[1])


class Confined(ProbeCase):
    def attack(self, laboratory, tier):
        if (laboratory, tier) not in self.usable(tier):
            self.skipTest(lab.no_confinement(laboratory.uid, tier))
        batches = [[name for name in groups()[group]
                    if not ROWS[name].alone and (tier == "full" or not ROWS[name].full_only)] for group in GROUPS]
        runs = lab.in_crowd(laboratory, lambda mine, names: mine.attack_confined(tier, *names), batches)
        for group, names, run in zip(GROUPS, batches, runs):
            for name in names:
                with self.subTest(name):
                    self.check_confined(laboratory, tier, ROWS[name], run.outcomes.get(name))
            with self.subTest(f"{group}: victims"):
                self.check_harm(laboratory, tier, names, run.harm)
            with self.subTest(f"{group}: the end"):
                self.assertEqual(run.status, 0, run.stderr)

    def attack_ordinary(self, tier):
        if len(lab.labs()) < 2:
            self.skipTest("not root: this user is the ordinary one")
        self.attack(lab.labs()[1], tier)

    def test_each_is_refused_in_tier_full(self):
        self.attack(lab.labs()[0], "full")

    def test_each_is_refused_in_tier_landlock(self):
        self.attack(lab.labs()[0], "landlock")

    def test_each_is_refused_in_tier_full_as_an_ordinary_user(self):
        self.attack_ordinary("full")

    def test_each_is_refused_in_tier_landlock_as_an_ordinary_user(self):
        self.attack_ordinary("landlock")


class Siblings(ProbeCase):
    """One confined program is to another what the host's processes are to it."""

    AIMED = ("attach", "seize", "read_memory", "write_memory", "open_memory", "read_environment", "read_maps",
             "through_its_root", "through_its_cwd", "take_descriptor", "compare", "signal_one", "signal_thread",
             "signal_queued", "signal_by_pidfd", "set_limits", "set_priority")

    def attack_sibling(self, laboratory, tier):
        other = laboratory.others[0]
        other.settle()
        length = f"{30 + os.getpid() / 1e6}"  # of its sleep, to know it by
        command = [*other.confine(tier), "sh", "-c", f"echo there; exec sleep {length}"]
        sibling = subprocess.Popen(other.as_user(command), cwd=other.own, env=other.env(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            self.assertEqual(sibling.stdout.readline(), b"there\n")
            pid = None
            while pid is None:  # for the exec that follows its word
                pid = next((name for name in os.listdir("/proc")
                            if name.isdigit() and lab.read(f"/proc/{name}/cmdline") == f"sleep\0{length}\0"), None)
            laboratory.settle()
            return laboratory.run([*laboratory.confine(tier), laboratory.probe, f"pid={pid}", "address=0",
                                   "secret_fd=0", f"dir={other.own}", *self.AIMED])
        finally:
            sibling.terminate()
            sibling.communicate()

    def test_another_sandbox_is_out_of_reach(self):
        for laboratory, tier in self.usable():
            run = self.attack_sibling(laboratory, tier)
            for name in self.AIMED:
                with self.subTest(f"{name}, {laboratory.name}, tier {tier}"):
                    self.check_confined(laboratory, tier, ROWS[name], run.outcomes.get(name))


if __name__ == "__main__":
    lab.main()
