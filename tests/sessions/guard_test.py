# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a confined program does to the configuration in its workspace, through `aegis confine`."""

import json
import os
import signal
import subprocess
import time
import unittest

import harness
from harness import AEGIS


def has_full():
    run = subprocess.run([AEGIS, "doctor", "--json"], capture_output=True, text=True, timeout=60)
    return json.loads(run.stdout)["tier"] == "full"


class GuardTest(harness.SessionCase):
    @classmethod
    def setUpClass(cls):
        if not has_full():
            raise unittest.SkipTest("tier full cannot be had here: aegis doctor tells why")

    def setUp(self):
        super().setUp()
        self.workspace = self.path("ws")
        for folder in ("", ".git", ".git/objects", ".git/refs"):
            os.mkdir(os.path.join(self.workspace, folder))
        self.write(".git/HEAD", "ref: refs/heads/main\n")
        self.write(".git/config", "[core]\n")
        self.write(".mcp.json", "{}")

    def write(self, name, text):
        with open(os.path.join(self.workspace, name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(os.path.join(self.workspace, name), encoding="utf-8") as file:
            return file.read()

    def start(self, script, *flags):
        return subprocess.Popen([AEGIS, "confine", *flags, "--workspace", self.workspace, "--", "sh", "-c", script],
                                env={**os.environ, "HOME": self.home, "AEGIS_TEST_MARK": self.mark},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def confine(self, script, *flags):
        process = self.start(script, *flags)
        output, errors = process.communicate(timeout=self.patience)
        return process.returncode, output, errors

    def quarantined(self):
        folder = os.path.join(self.home, ".local/state/aegis/quarantine")
        return sorted(name for _, folders, files in os.walk(folder) for name in folders + files if "-." in name)

    def test_what_is_there_cannot_be_changed_nor_moved(self):
        code, _, errors = self.confine("echo x > .git/config; mv .git g; echo x > .mcp.json; rm -f .mcp.json; "
                                       "echo ../evil > .git/commondir; mkdir .git/hooks/x; echo done > done")
        self.assertEqual((code, self.read("done")), (0, "done\n"), errors)
        self.assertEqual((self.read(".git/config"), self.read(".mcp.json")), ("[core]\n", "{}"))
        self.assertEqual(sorted(os.listdir(self.workspace)), [".git", ".mcp.json", "done"])
        self.assertEqual(os.listdir(os.path.join(self.workspace, ".git/hooks")), [])
        self.assertNotIn("commondir", os.listdir(os.path.join(self.workspace, ".git")))
        self.assertEqual(self.quarantined(), [])

    def test_what_appears_is_moved_away_and_told(self):
        code, _, errors = self.confine("mkdir .vscode; echo x > .vscode/tasks.json; ln -s /etc .idea; "
                                       "mkdir -p d/fish && mv d .config; echo x > HEAD; exit 3")
        self.assertEqual(code, 3, errors)
        self.assertEqual(sorted(os.listdir(self.workspace)), [".config", ".git", ".mcp.json"])
        self.assertEqual(os.listdir(os.path.join(self.workspace, ".config")), [])
        for name in (".vscode", ".idea", ".config/fish", "HEAD"):
            self.assertIn(f"{self.workspace}/{name} appeared and was moved to", errors)
        self.assertEqual(len(self.quarantined()), 2)  # those whose name begins with a dot

    def test_the_user_can_lift_it(self):
        code, _, errors = self.confine("echo x > .git/config && mkdir .vscode", "--allow-config-write")
        self.assertEqual(code, 0, errors)
        self.assertEqual(self.read(".git/config"), "x\n")
        self.assertTrue(os.path.isdir(os.path.join(self.workspace, ".vscode")))

    def test_what_cannot_be_judged_is_refused_with_the_flag_that_goes_without(self):
        self.write(".git/config", "[core]\n" + "#" * (1 << 20))
        code, output, errors = self.confine("echo ran")
        self.assertEqual((code, output), (125, ""), errors)
        self.assertIn(".git/config: it is larger than 1 MiB; --allow-config-write goes without the guard", errors)

    def test_a_guard_that_the_host_takes_away_ends_the_program(self):
        process = self.start("echo here; sleep 60")
        self.assertEqual(process.stdout.readline(), "here\n")
        self.write(".git/config.lock", "[core]\n\tx = y\n")
        os.rename(os.path.join(self.workspace, ".git/config.lock"), os.path.join(self.workspace, ".git/config"))
        began = time.monotonic()
        _, errors = process.communicate(timeout=self.patience)
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(process.returncode, 128 + signal.SIGKILL, errors)
        self.assertIn(".git/config was replaced or removed outside of the sandbox", errors)


if __name__ == "__main__":
    harness.main()
