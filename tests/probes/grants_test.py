#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A network grant opens what it names and nothing beside it: every network attempt again, with one port granted that
the attacker does not want."""

import os
import shutil
import socket
import unittest

import lab
from probes_test import ProbeCase, groups

# What a program with a grant may do in its own network, which has nothing but a loopback. That the host's listeners
# see nothing of it is looked at as well.
HARMLESS = {"inet_stream", "inet_datagram", "inet_nonblocking", "inet_high_bit", "inet6_stream", "inet6_datagram",
            "send_udp", "listen_unbound", "bind_port"}


def loaded_library(part):
    """The path of a shared library that this program has mapped."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(line.split()[-1] for line in maps if part in line)


class Granted(ProbeCase):
    def test_a_granted_port_opens_no_other(self):
        for laboratory, _ in self.usable("full"):
            with socket.create_server(("127.0.0.1", 0)) as server:
                server.settimeout(0)
                port = server.getsockname()[1]
                run = laboratory.attack_confined("full", *groups()["network"],
                                                 flags=["--allow-net", f"127.0.0.1:{port}"], facts=[f"granted={port}"])
                server.accept()[0].close()
                self.assertRaises(BlockingIOError, server.accept)
            for name in groups()["network"]:
                with self.subTest(f"{name} {laboratory.name}"):
                    outcome = run.outcomes.get(name)
                    self.assertIsNotNone(outcome, run.stderr)
                    wanted = "reached" if name == "connect_granted" or name in HARMLESS else "refused"
                    self.assertEqual(outcome.verdict, wanted, outcome)
                    lab.count("refused with a network grant" if wanted == "refused" else "work with a network grant")
            with self.subTest(f"victims {laboratory.name}"):
                self.assertEqual(run.harm, [])

    def test_a_grant_to_nothing_opens_nothing(self):
        """Nobody listens at the granted port."""
        for laboratory, _ in self.usable("full"):
            run = laboratory.attack_confined("full", "connect_tcp", "connect_granted", "connect_any_address",
                                             flags=["--allow-net", "127.0.0.1:1"], facts=["granted=1"])
            self.assertEqual([str(outcome)[:7] for outcome in run.outcomes.values()], ["refused"] * 3, run.stderr)
            self.assertEqual(run.harm, [])

    def test_landlock_has_no_network_grants(self):
        for laboratory, _ in self.usable("landlock"):
            run = laboratory.attack_confined("landlock", "connect_tcp", flags=["--allow-net", "127.0.0.1:1"])
            self.assertEqual((run.status, run.outcomes), (125, {}))
            self.assertIn("tier", run.stderr)


class Paths(ProbeCase):
    """What lies in a granted folder is granted, and nothing that it points to."""

    def test_links_out_of_a_granted_folder(self):
        for laboratory, tier in self.usable():
            laboratory.settle()
            os.symlink(laboratory.home, os.path.join(laboratory.readable, "home"))
            os.symlink("/", os.path.join(laboratory.readable, "root"))
            look = (f'cat "$0"/file; cat "$0"/home/.ssh/id_ed25519 "$0"/root{laboratory.home}/.bashrc; '
                    f'ls "$0"/root{laboratory.base}')
            run = laboratory.run([*laboratory.confine(tier, "--allow-read", laboratory.readable), "sh", "-c", look,
                                  laboratory.readable])
            self.assertEqual([line for line in run.stdout.splitlines() if line not in ("own", "readable", "home")],
                             ["as it was"], run.stderr)
            lab.count(f"refused in tier {tier}")

    @unittest.skipUnless(os.access("/usr/bin/node", os.X_OK), "there is no /usr/bin/node")
    def test_a_project_in_the_workspace_has_no_edge(self):
        """What it moves out of itself moves, and what it has compiled can be mapped."""
        for laboratory, tier in self.usable():
            laboratory.settle()
            project = os.path.join(laboratory.own, "project")
            os.mkdir(project)
            with open(os.path.join(project, "package.json"), "w", encoding="utf-8") as file:
                file.write("{}")
            shutil.copy(loaded_library("libc.so"), project + "/a.node")
            with open(os.path.join(project, "server.js"), "w", encoding="utf-8") as file:
                file.write("const fs = require('fs'); fs.writeFileSync('project/a', '');"
                           "fs.renameSync('project/a', 'b'); fs.renameSync('b', 'project/c');"
                           "try { process.dlopen({exports: {}}, './project/a.node') }"
                           "catch (error) { console.log(error.message) }")
            laboratory.hand_over()
            run = laboratory.run([*laboratory.confine(tier), "/usr/bin/node", "project/server.js"])
            self.assertEqual(run.status, 0, run.stderr)
            self.assertIn("did not self-register", run.stdout)
            lab.count(f"work in tier {tier}")

    def test_a_grant_that_is_not_there_starts_nothing(self):
        for laboratory, tier in self.usable():
            laboratory.settle()
            absent = os.path.join(laboratory.base, "none")
            run = laboratory.run([*laboratory.confine(tier, "--allow-read", absent), "echo", "ran"])
            self.assertEqual((run.status, run.stdout), (125, ""), run.stderr)


if __name__ == "__main__":
    lab.main()
