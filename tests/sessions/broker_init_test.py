#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`aegis init`: what it lays down works at once, and what is there already stays."""

import json
import os
import unittest

import broker
import confined
import harness
from harness import AEGIS, SessionCase

# What `aegis run` and `aegis check` exit with for each request; None: it is not for this verb.
WANTED = {
    "valid_read.json": (0, 0), "valid_list.json": (0, 0), "valid_python.json": (0, 0), "valid_command.json": (0, 0),
    "attack_traversal.json": (2, 2), "attack_sensitive.json": (2, 2), "attack_shell.json": (2, 2),
    "check_shell.json": (2, 0), "check_shell_denied.json": (2, 2),
}
SANDBOXED = {"valid_python.json", "valid_command.json"}


class Init(SessionCase):
    def setUp(self):
        super().setUp()
        self.target = self.path("starter")

    def tree(self, folder):
        return {os.path.relpath(os.path.join(at, name), folder): os.stat(os.path.join(at, name))
                for at, _, names in os.walk(folder) for name in names}

    def test_it_works_at_once(self):
        made = self.aegis("init", "--dir", "starter", cwd=self.dir)
        self.assertEqual(made.returncode, 0, made.stderr)
        requests = os.path.join(self.target, "requests")
        self.assertEqual(set(os.listdir(requests)), set(WANTED))
        for name, (run_code, check_code) in WANTED.items():
            with self.subTest(name):
                check = self.aegis("check", "requests/" + name, cwd=self.target)
                self.assertEqual(check.returncode, check_code, check.stderr + check.stdout)
                if name in SANDBOXED and broker.why_not():
                    continue
                run = self.aegis("run", "requests/" + name, cwd=self.target)
                self.assertEqual(run.returncode, run_code, run.stderr + run.stdout)
                self.assertEqual(run.stderr, "")
        self.assertEqual(self.verify(os.path.join(self.home, ".local/state/aegis/records")).returncode, 0)
        if not broker.why_not():
            python = json.loads(self.aegis("run", "requests/valid_python.json", cwd=self.target).stdout)
            self.assertEqual(python["stdout"], "16\n")
            command = json.loads(self.aegis("run", "requests/valid_command.json", cwd=self.target).stdout)
            self.assertEqual(command["stdout"], "4 data/numbers.csv\n")
        self.assertEqual(self.aegis("recheck", "--policy", "policy.yaml", cwd=self.target).returncode, 0)

    def test_stdout_is_what_a_clients_configuration_takes(self):
        made = self.aegis("init", cwd=self.dir)  # into the working directory
        self.assertEqual(made.returncode, 0, made.stderr)
        servers = json.loads(made.stdout)["mcpServers"]
        self.assertEqual(set(servers), {"aegis", "filesystem"})
        policy = self.path("broker-policy.yaml")
        for server in servers.values():
            self.assertEqual(server["command"], os.path.realpath(AEGIS))
            for word in server["args"]:
                if word.startswith("/"):
                    self.assertTrue(os.path.exists(word), word)
        self.assertEqual(servers["aegis"]["args"], ["mcp", "--policy", policy])
        wrapped = servers["filesystem"]["args"]
        self.assertEqual(wrapped[:5], ["wrap", "--policy", self.path("policy.yaml"), "--broker", policy])
        self.assertIn("public_key", made.stderr)

    def test_what_is_there_stays_as_it_is(self):
        os.makedirs(os.path.join(self.target, "requests"))
        mine = self.write("starter/broker-policy.yaml", "mine\n")
        os.symlink("/nowhere", os.path.join(self.target, "requests/valid_read.json"))
        first = self.aegis("init", "--dir", self.target)
        self.assertEqual(first.returncode, 0, first.stderr)
        with open(mine, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine\n")
        self.assertEqual(os.readlink(os.path.join(self.target, "requests/valid_read.json")), "/nowhere")
        self.assertIn("broker-policy.yaml: it is there already", first.stderr)
        self.assertIn("requests/valid_read.json: it is there already", first.stderr)
        os.unlink(os.path.join(self.target, "requests/valid_read.json"))
        self.aegis("init", "--dir", self.target)
        before, key = self.tree(self.target), self.public_key()
        again = self.aegis("init", "--dir", self.target)
        self.assertEqual((again.returncode, again.stdout), (0, first.stdout), again.stderr)
        after = self.tree(self.target)
        self.assertEqual({name: (each.st_ino, each.st_mtime_ns) for name, each in before.items()},
                         {name: (each.st_ino, each.st_mtime_ns) for name, each in after.items()})
        self.assertEqual(again.stderr.count("it is there already"), len(before))
        self.assertEqual(self.public_key(), key)

    def test_names_that_mean_something_to_a_template(self):
        folder = self.path('@broker "quoted" @workspace')
        made = self.aegis("init", "--dir", folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(json.loads(made.stdout)["mcpServers"]["aegis"]["args"][2], folder + "/broker-policy.yaml")

    def assertRefused(self, said, *words, **options):
        run = self.aegis(*words, **options)
        self.assertEqual((run.returncode, run.stdout), (1, ""), run.stderr)
        self.assertIn(said, run.stderr)
        self.assertTrue(run.stderr.startswith("aegis: init: "), run.stderr)

    def test_a_folder_that_cannot_be_had(self):
        self.assertRefused("No such file or directory", "init", "--dir", self.path("gone", "deeper"))
        self.assertRefused("Not a directory", "init", "--dir", self.write("file", ""))
        os.mkdir(self.target)
        self.write("starter/workspace", "a file")
        self.assertRefused("workspace: something that is no folder", "init", "--dir", self.target)
        os.unlink(os.path.join(self.target, "workspace"))
        os.symlink(self.home, os.path.join(self.target, "workspace"))
        self.assertRefused("workspace: something that is no folder", "init", "--dir", self.target)
        self.assertEqual(os.listdir(self.home), [])

    @harness.needs_root
    def test_a_folder_that_cannot_be_written(self):
        os.mkdir(self.target)
        program = confined.give_to_nobody(self)
        os.chown(self.target, 0, 0)
        os.chmod(self.target, 0o755)
        run = harness.subprocess.run([*confined.AS_NOBODY, program, "init", "--dir", self.target], env=self.env(),
                                     capture_output=True, text=True, check=False)
        self.assertEqual((run.returncode, run.stdout), (1, ""), run.stderr)
        self.assertIn(self.target + "/workspace: Permission denied", run.stderr)


if __name__ == "__main__":
    harness.main()
