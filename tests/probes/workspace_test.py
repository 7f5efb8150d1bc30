#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A program that may write a folder does not get to poison what others run out of it: git's hooks and configuration, an
editor's tasks, an agent's servers. What is there is read-only, what appears is moved away by the end of the session."""

import os
import shutil
import subprocess
import unittest

import lab
from probes_test import ProbeCase, groups
from rows import ROWS, Open, expected

APPEARING = (".bashrc", ".cursor", ".claude", ".idea", ".zed")


class Workspace(ProbeCase):
    def setUp(self):
        super().setUp()
        if not shutil.which("git", path="/usr/bin"):
            self.skipTest("there is no git")

    def settle(self, laboratory):
        """A project with a repository, an editor's tasks and an agent's servers."""
        laboratory.settle()
        subprocess.run(["git", "init", "-q", laboratory.own], check=True, env=laboratory.env())
        for name in (".git/hooks/post-checkout", ".mcp.json", ".vscode/tasks.json", "source"):
            path = os.path.join(laboratory.own, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write("as it was\n")
        laboratory.hand_over()

    def guarded(self, laboratory):
        """What must not change, and every name that must not be there."""
        found = {}
        for name in (".git/config", ".git/hooks", ".git/commondir", ".mcp.json", ".vscode"):
            path = os.path.join(laboratory.own, name)
            inside = sorted(os.listdir(path)) if os.path.isdir(path) else []
            for each in [path] + [os.path.join(path, entry) for entry in inside]:
                mode = os.lstat(each).st_mode if os.path.lexists(each) else 0
                found[each] = (mode, lab.read(each) if os.path.isfile(each) else "")
            found[path + "/"] = inside
        found["appeared"] = [name for name in APPEARING if os.path.lexists(os.path.join(laboratory.own, name))]
        return found

    def attempt(self, laboratory, before, *names):
        self.settle(laboratory)
        then = self.guarded(laboratory)
        run = laboratory.run([*before, laboratory.probe, f"own={laboratory.own}", *names])
        return run, then, self.guarded(laboratory)

    def check_controls(self, laboratory, names):
        attempts = lab.in_crowd(laboratory, lambda mine, name: self.attempt(mine, lab.THROWAWAY, name), names)
        for name, (run, then, now) in zip(names, attempts):
            with self.subTest(f"{name}, {laboratory.name}, unconfined"):
                run.harm = [key for key in now if now[key] != then.get(key)]
                self.check_control(laboratory, ROWS[name], run)

    def check_tier(self, laboratory, tier, names):
        """Each in a session of its own where the tier leaves some open, since those would spoil the others."""
        sessions = [names] if tier == "full" else [[name] for name in names]
        attempts = lab.in_crowd(
            laboratory, lambda mine, session: self.attempt(mine, mine.confine(tier), *session), sessions)
        for session, (run, then, now) in zip(sessions, attempts):
            for name in session:
                with self.subTest(f"{name}, {laboratory.name}, tier {tier}"):
                    self.check_confined(laboratory, tier, ROWS[name], run.outcomes.get(name))
            if not any(isinstance(expected(name, tier, laboratory.uid == 0), Open) for name in session):
                with self.subTest(f"{session} {laboratory.name}, tier {tier}: what is left"):
                    self.assertEqual(now, then, run.stderr)

    def test_each_is_refused_or_undone(self):
        names = groups()["workspace"]
        for laboratory in lab.labs():
            if self.can_throw_away(laboratory):
                self.check_controls(laboratory, names)
            for tier in self.tiers_of(laboratory):
                self.check_tier(laboratory, tier, names)

    def test_all_of_it_is_allowed_when_asked_for(self):
        laboratory, _ = self.usable("full")[0]
        self.settle(laboratory)
        run = laboratory.run([*laboratory.confine("full", "--allow-config-write"), laboratory.probe,
                              f"own={laboratory.own}", "guard_new_hook", "guard_config", "new_shell_start"])
        self.assertEqual([outcome.verdict for outcome in run.outcomes.values()], ["reached", "reached", "tried"])
        self.assertTrue(os.path.exists(os.path.join(laboratory.own, ".bashrc")))


if __name__ == "__main__":
    lab.main()
