#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a program leaves in the folder that it may write does not widen what the next start grants, nor lead aegis
itself astray. The first session is played by the test: whoever may write there can do as much."""

import contextlib
import os
import shutil
import unittest

import lab
from probes_test import ProbeCase

needs_node = unittest.skipUnless(os.access("/usr/bin/node", os.X_OK), "there is no /usr/bin/node")


class Planted(ProbeCase):
    @contextlib.contextmanager
    def prepared(self, laboratory, tier):
        with self.subTest(f"{laboratory.name}, tier {tier}"):
            laboratory.settle()
            yield
            lab.count(f"refused in tier {tier}")

    def write(self, laboratory, name, text):
        path = os.path.join(laboratory.own, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        laboratory.hand_over()
        return path

    def secret(self, laboratory):
        return os.path.join(laboratory.home, ".ssh", "id_ed25519")

    def reading(self, path):
        """A script for node."""
        return f"console.log('it ran'); console.log(require('fs').readFileSync('{path}', 'utf8'))"

    def check_secret(self, run):
        """Aegis may refuse to start, or the program starts and does not get there."""
        self.assertNotIn(lab.SECRET, run.stdout, "it read the secret")
        self.assertTrue(run.status == 125 and run.stdout == "" or "it ran\n" in run.stdout, run.stderr)

    @needs_node
    def test_a_node_modules_that_is_a_link(self):
        for laboratory, tier in self.usable():
            with self.prepared(laboratory, tier):
                script = self.write(laboratory, "server.js", self.reading(self.secret(laboratory)))
                os.symlink(os.path.dirname(self.secret(laboratory)), os.path.join(laboratory.own, "node_modules"))
                self.check_secret(laboratory.run([*laboratory.confine(tier), "/usr/bin/node", script]))

    def test_a_virtual_environment_that_names_another_home(self):
        for laboratory, tier in self.usable():
            with self.prepared(laboratory, tier):
                os.makedirs(os.path.join(laboratory.own, "venv/bin"))
                os.symlink("/usr/bin/python3", os.path.join(laboratory.own, "venv/bin/python"))
                os.makedirs(os.path.join(laboratory.own, "fake/bin"))
                os.symlink(os.path.dirname(self.secret(laboratory)), os.path.join(laboratory.own, "fake/lib"))
                for home in (os.path.join(laboratory.own, "fake/bin"), "/var/bin"):
                    self.write(laboratory, "venv/pyvenv.cfg", f"home = {home}\n")
                    look = f"echo it ran; cat {self.secret(laboratory)}; ls /var/lib/dpkg/status; true"
                    python = os.path.join(laboratory.own, "venv/bin/python")
                    run = laboratory.run([*laboratory.confine(tier), python, "-c", f"import os; os.system({look!r})"])
                    self.check_secret(run)
                    if tier == "full":
                        self.assertNotIn("/var/lib/dpkg/status\n", run.stdout)

    def test_a_granted_name_that_is_a_link(self):
        for laboratory, tier in self.usable():
            with self.prepared(laboratory, tier):
                for flag in ("--allow-read", "--allow-exec", "--allow-write"):
                    link = os.path.join(laboratory.own, "link" + flag)
                    os.symlink(os.path.dirname(self.secret(laboratory)), link)
                    look = f"echo it ran; cat {self.secret(laboratory)}"
                    run = laboratory.run([*laboratory.confine(tier, flag, link), "sh", "-c", look])
                    self.check_secret(run)

    @needs_node
    def test_a_mark_of_a_project_that_is_gone(self):
        """The script's project is the workspace, its mark removed; the one around it, with others in it, is not."""
        for laboratory, tier in self.usable():
            with self.prepared(laboratory, tier):
                code = os.path.join(laboratory.own, "code")
                secret = self.write(laboratory, "code/other/secret", lab.SECRET)
                self.write(laboratory, "code/package.json", "{}")
                script = self.write(laboratory, "code/mine/server.js", self.reading(secret))
                run = laboratory.run([laboratory.aegis, "confine", "--tier", tier, "--workspace", code + "/mine", "--",
                                      "/usr/bin/node", script])
                self.check_secret(run)

    def test_a_script_that_names_another_interpreter(self):
        for laboratory, tier in self.usable():
            with self.prepared(laboratory, tier):
                shutil.copy("/bin/sh", os.path.join(laboratory.home, ".ssh", "sh"))
                laboratory.hand_over()
                path = self.write(laboratory, "tool", f"#!{laboratory.home}/.ssh/sh\necho it ran\n"
                                  f"cat {self.secret(laboratory)}\n")
                os.chmod(path, 0o755)
                self.check_secret(laboratory.run([*laboratory.confine(tier), path]))

    @needs_node
    def test_a_script_that_is_a_link(self):
        for laboratory, tier in self.usable():
            with self.prepared(laboratory, tier):
                with open(os.path.join(laboratory.home, ".ssh", "a.js"), "w", encoding="utf-8") as file:
                    file.write(self.reading(self.secret(laboratory)))
                laboratory.hand_over()
                script = os.path.join(laboratory.own, "server.js")
                os.symlink(os.path.join(laboratory.home, ".ssh", "a.js"), script)
                self.check_secret(laboratory.run([*laboratory.confine(tier), "/usr/bin/node", script]))

    def test_a_workspace_that_became_a_link(self):
        """In a folder that may be written the workspace is moved aside, and a link takes its name."""
        for laboratory, tier in self.usable():
            with self.prepared(laboratory, tier):
                os.symlink(os.path.dirname(self.secret(laboratory)), os.path.join(laboratory.own, "ws"))
                run = laboratory.run([laboratory.aegis, "confine", "--tier", tier, "--allow-write", laboratory.own,
                                      "--workspace", laboratory.own + "/ws", "--", "sh", "-c", "echo it ran; cat id*"])
                self.check_secret(run)

    def test_a_tool_that_became_a_package_runner(self):
        """What keeps a cache is given that to write; only the user's own word makes a command such a one."""
        for laboratory, tier in self.usable():
            with self.prepared(laboratory, tier):
                cache = os.path.join(laboratory.home, ".cache", "uv")
                os.makedirs(cache, exist_ok=True)
                runner = os.path.join(laboratory.readable, "uvx")
                with open(runner, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\necho it ran\necho poison >{cache}/planted\n")
                os.chmod(runner, 0o755)
                os.symlink(runner, os.path.join(laboratory.own, "linked"))
                named = self.write(laboratory, "named", f"#!{runner}\n")
                os.chmod(named, 0o755)
                for tool in ("linked", "named"):
                    self.check_secret(laboratory.run([*laboratory.confine(tier, "--allow-exec", laboratory.readable),
                                                      os.path.join(laboratory.own, tool)]))
                    self.assertFalse(os.path.exists(cache + "/planted"), f"{tool} wrote where uvx runs things from")

    @needs_node
    def test_a_link_within_the_workspace_still_works(self):
        for laboratory, tier in self.usable():
            with self.prepared(laboratory, tier):
                self.write(laboratory, "deps/x/index.js", "console.log('it ran')")
                os.symlink("deps", os.path.join(laboratory.own, "node_modules"))
                script = self.write(laboratory, "server.js", "require('x')")
                run = laboratory.run([*laboratory.confine(tier), "/usr/bin/node", script])
                self.assertEqual((run.status, run.stdout), (0, "it ran\n"), run.stderr)

    def test_a_virtual_environment_of_the_systems_still_works(self):
        for laboratory, tier in self.usable():
            with self.prepared(laboratory, tier):
                made = laboratory.run(["/usr/bin/python3", "-m", "venv", "--without-pip", "venv"])
                self.assertEqual(made.status, 0, made.stderr)
                python = os.path.join(laboratory.own, "venv/bin/python")
                run = laboratory.run([*laboratory.confine(tier), python, "-c", "import sys; print(sys.prefix)"])
                self.assertEqual((run.status, run.stdout), (0, laboratory.own + "/venv\n"), run.stderr)
                self.assertNotIn("not granted", run.stderr)

    def test_a_profile_that_may_be_written(self):
        for laboratory, tier in self.usable():
            with self.prepared(laboratory, tier):
                profile = self.write(laboratory, "mine.profile", "exec? /usr\nexec? /bin\nexec? /lib\nexec? /lib64\n"
                                     "exec {program}\n")
                run = laboratory.run([*laboratory.confine(tier, "--profile", profile), "sh", "-c",
                                      f"echo 'read {laboratory.home}/.ssh' >>{profile}"])
                self.assertNotIn(".ssh", lab.read(profile), "it widened its own profile")
                self.assertNotEqual(run.status, 0, run.stderr)

    def test_a_log_that_is_a_link(self):
        for laboratory, tier in self.usable():
            with self.prepared(laboratory, tier):
                target = os.path.join(laboratory.home, ".bashrc")
                log = os.path.join(laboratory.own, "log")
                os.symlink(target, log)
                record = os.path.join(laboratory.base, "record.aarl")
                before = lab.read(target)
                laboratory.make_key()
                run = laboratory.run([laboratory.aegis, "wrap", "--audit", record, "--stderr-log", log, "--confine",
                                      "--tier", tier, "--workspace", laboratory.own, "--", "sh", "-c",
                                      "echo poison >&2"])
                self.assertEqual(lab.read(target), before, "aegis wrote where the link led")
                self.assertIn("--stderr-log", run.stderr)


if __name__ == "__main__":
    lab.main()
