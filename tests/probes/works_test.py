#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What must keep working under `aegis confine`: with no grant but a workspace, in each tier, as this user and, for
root, as an ordinary one too. Each list is run unconfined first: what does not work there proves nothing."""

import os
import shutil
import subprocess
import unittest

import lab
from probes_test import ProbeCase, groups

# What tier landlock does not give, and why (the start line and `doctor` say so).
NOT_IN_LANDLOCK = {
    "serve_unix_socket": "no unix sockets without a private root",
    "unix_server": "no unix sockets without a private root",
    "open_terminal": "the terminals of /dev/pts are the host's",
    "pseudo_terminal": "the terminals of /dev/pts are the host's",
}


def parse(text):
    """{name: what it says of itself, "works" when it does}."""
    found = {}
    for line in text.splitlines():
        name, verdict, *words = line.split(" ")
        if verdict in ("works", "fails"):
            found[name] = "works" if verdict == "works" else " ".join(words) or "fails"
        elif verdict in ("reached", "refused", "broken"):
            found[name] = "works" if verdict == "reached" else " ".join([verdict, *words])
    return found


class Works(ProbeCase):
    def run_list(self, laboratory, command, tier=None):
        """Runs a list of things, in a fresh workspace; {name: what it says}."""
        laboratory.settle()
        before = laboratory.confine(tier) if tier else []
        run = laboratory.run([*before, *command])
        found = parse(run.stdout)
        self.assertTrue(found, f"{command} said nothing: {run.status} {run.stderr}")
        return found, run

    def check(self, command_of):
        for laboratory in lab.labs():
            command = command_of(laboratory)
            there, _ = self.run_list(laboratory, command)
            for tier in self.tiers_of(laboratory):
                here, run = self.run_list(laboratory, command, tier)
                for name, said in there.items():
                    with self.subTest(f"{name}, {laboratory.name}, tier {tier}"):
                        self.assertEqual(said, "works", "unconfined")
                        self.check_one(laboratory, tier, name, here.get(name, f"nothing: {run.status} {run.stderr}"))

    def check_one(self, laboratory, tier, name, said):
        if tier == "landlock" and name in NOT_IN_LANDLOCK:
            self.assertNotEqual(said, "works", f"{name} was listed as not to be had")
            lab.note(f"does not work in tier landlock: {name} ({laboratory.name}): {NOT_IN_LANDLOCK[name]}: {said}")
            lab.count("do not work in tier landlock, as listed")
            return
        self.assertEqual(said, "works", f"{name}, {laboratory.name}, tier {tier}")
        lab.count(f"work in tier {tier}")

    def script(self, laboratory, name):
        """A copy that an ordinary user can read."""
        folder = os.path.join(laboratory.bin, "works")
        os.makedirs(folder, exist_ok=True)
        shutil.copy(os.path.join(lab.HERE, "works", name), folder)
        return os.path.join(folder, name)

    def test_programs(self):
        self.check(lambda laboratory: [laboratory.probe, f"own={laboratory.own}", *groups()["works"]])

    def test_python(self):
        self.check(lambda laboratory: ["/usr/bin/python3", "-B", self.script(laboratory, "python_works.py")])

    def test_node(self):
        node = shutil.which("node", path="/usr/bin:/usr/local/bin")
        if not node:
            self.skipTest("there is no node")
        self.check(lambda laboratory: [node, self.script(laboratory, "node_works.mjs")])

    def test_tools(self):
        if not shutil.which("git", path="/usr/bin"):
            self.skipTest("there is no git")
        self.check(lambda laboratory: [self.script(laboratory, "tools_works")])


class Streams(ProbeCase):
    """The three streams are carried as they are."""

    def test_bytes_both_ways(self):
        for laboratory, tier in self.usable():
            with self.subTest(f"{laboratory.name} {tier}"):
                laboratory.settle()
                sent = os.urandom(1 << 20) + b"\0\n" + b"x" * (1 << 20)
                done = subprocess.run(
                    laboratory.as_user([*laboratory.confine(tier), "sh", "-c", "cat; echo said >&2; exit 7"]),
                    input=sent, capture_output=True, cwd=laboratory.own, env=laboratory.env(), check=False,
                    timeout=lab.PATIENCE)
                self.assertEqual((done.returncode, done.stdout == sent), (7, True), done.stderr)
                self.assertTrue(done.stderr.endswith(b"said\n"), done.stderr)
                lab.count(f"work in tier {tier}")


if __name__ == "__main__":
    lab.main()
