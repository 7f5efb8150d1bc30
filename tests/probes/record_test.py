#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A confined server cannot reach the record of its own session, nor the key that signs it. Unconfined it can do both,
which is what `aegis wrap` says of itself."""

import os
import shutil
import unittest

import lab
from probes_test import ProbeCase
from rows import ROWS

RECORD = ("read_record", "append_record", "truncate_record", "rename_record", "remove_record")


class Record(ProbeCase):
    def settle(self, laboratory):
        """A key of the user's own making, and a record of an earlier session."""
        laboratory.settle()
        self.record = os.path.join(laboratory.base, "records", "record.aarl")
        shutil.rmtree(os.path.dirname(self.record), ignore_errors=True)
        os.mkdir(os.path.dirname(self.record))
        laboratory.hand_over()
        self.key = laboratory.make_key()
        first = laboratory.run([laboratory.aegis, "wrap", "--audit", self.record, "--", "true"])
        self.assertEqual(first.status, 0, first.stderr)

    def serve(self, laboratory, before, flags, *names):
        """The attacker as the server of a session without calls: what it says crosses."""
        self.settle(laboratory)
        return laboratory.run([*before, laboratory.aegis, "wrap", "--audit", self.record, *flags, "--",
                               laboratory.probe, f"home={laboratory.home}", f"record={self.record}",
                               f"own={laboratory.own}", *names])

    def verify(self, laboratory):
        return laboratory.run([laboratory.aegis, "verify", self.record])

    def check(self, laboratory):
        for name in RECORD if self.can_throw_away(laboratory) else ():
            with self.subTest(f"{name}, {laboratory.name}, unconfined"):
                self.check_control(laboratory, ROWS[name], self.serve(laboratory, lab.THROWAWAY, (), name))
        for tier in self.tiers_of(laboratory):
            run = self.serve(laboratory, (), ("--confine", "--tier", tier, "--workspace", laboratory.own), *RECORD)
            for name in RECORD:
                with self.subTest(f"{name}, {laboratory.name}, tier {tier}"):
                    self.check_confined(laboratory, tier, ROWS[name], run.outcomes.get(name))
            with self.subTest(f"{laboratory.name}, tier {tier}: what it leaves"):
                found = self.verify(laboratory)
                self.assertEqual((run.status, found.status), (0, 0), run.stderr + found.stdout + found.stderr)
                self.assertIn(f'"tier":"{tier}"', lab.read(self.record))

    def test_the_record(self):
        for laboratory in lab.labs():
            self.check(laboratory)

    def test_the_key_that_signs(self):
        for laboratory, tier in self.usable():
            with self.subTest(f"{laboratory.name} {tier}"):
                self.settle(laboratory)
                seed = lab.read(self.key).strip()
                self.assertRegex(seed, "^[0-9a-f]{64}$")
                look = (f'cat {self.key} {self.key}.*; env; '
                        f'grep -rs {seed} "$HOME/.config" /proc/*/environ /proc/*/cmdline')
                run = laboratory.run([laboratory.aegis, "wrap", "--audit", self.record, "--confine", "--tier", tier,
                                      "--", "sh", "-c", look])
                self.assertNotIn(seed, run.stdout + run.stderr)
                self.assertIn("HOME=", run.stdout)  # it did run
                lab.count(f"refused in tier {tier}")

    def test_a_grant_that_would_expose_either_is_refused(self):
        for laboratory, tier in self.usable():
            self.settle(laboratory)
            for flags in (("--allow-read", os.path.dirname(self.key)), ("--allow-read", laboratory.home),
                          ("--allow-read", self.key), ("--allow-exec", laboratory.home), ("--allow-read", "/"),
                          ("--allow-write", os.path.dirname(self.record)), ("--allow-write", self.record),
                          ("--workspace", laboratory.base)):
                with self.subTest(f"{flags}, {laboratory.name}, tier {tier}"):
                    run = self.serve(laboratory, (), ("--confine", "--tier", tier, *flags), "read_signing_key")
                    self.assertEqual((run.status, run.outcomes), (125, {}), run.stderr)
                    lab.count(f"refused in tier {tier}")


if __name__ == "__main__":
    lab.main()
