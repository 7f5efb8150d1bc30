# SPDX-License-Identifier: Apache-2.0 OR MIT
"""aegis doctor: what it tells, in text and JSON, and that its exit code means it."""

import json
import os
import re
import subprocess
import tempfile
import unittest

from harness import AEGIS, IS_SANITIZED, main

# What tries the escapes inside is this same aegis, under its bound on memory (RLIMIT_DATA).
fits_inside = unittest.skipIf(IS_SANITIZED, "a sanitizer's shadow memory does not fit under a bound on memory")


def doctor(*flags, prefix=(), **options):
    return subprocess.run([*prefix, AEGIS, "doctor", *flags], capture_output=True, text=True, timeout=60, **options)


class DoctorTest(unittest.TestCase):
    def report(self, **options):
        run = doctor("--json", **options)
        return run, json.loads(run.stdout)

    def test_json_and_text_tell_the_same(self):
        run, told = self.report()
        text = doctor()
        self.assertEqual(run.returncode, text.returncode)
        self.assertEqual(text.stdout.splitlines()[0], "tier " + told["tier"])
        self.assertEqual([line.split(":")[0] for line in text.stdout.splitlines() if line.startswith("layer ")],
                         ["layer " + layer["layer"] for layer in told["layers"]])
        for layer in told["layers"]:
            self.assertEqual(set(layer), {"layer", "there", "detail", "remedy"})
            if layer["there"]:
                self.assertEqual(layer["remedy"], "")
        if told["tier"] != "none":
            self.assertEqual([line.split()[1][:-1] for line in text.stdout.splitlines() if line.startswith("escape ")],
                             [each["escape"] for each in told["self_test"]["escapes"]])

    @fits_inside
    def test_every_escape_is_refused(self):
        run, told = self.report()
        if told["tier"] == "none":
            self.skipTest("no tier can be had here")
        escapes = told["self_test"]["escapes"]
        self.assertGreaterEqual(len(escapes), 20)
        self.assertEqual([each for each in escapes if each["outcome"] != "refused"], [])
        self.assertEqual(told["self_test"]["refused"], len(escapes))
        self.assertEqual(told["self_test"]["tier"], told["tier"])
        self.assertEqual(run.returncode, 0 if told["tier"] == "full" else 1)

    def test_nothing_is_left_behind(self):
        with tempfile.TemporaryDirectory(prefix="aegis-") as folder:
            doctor(env={**os.environ, "TMPDIR": folder})
            self.assertEqual(os.listdir(folder), [])

    def without_user_namespaces(self):
        """Words before the command: in a user namespace of its own, so that nothing of the host is set."""
        inside = ("unshare", "--user", "--map-root-user", "sh", "-c",
                  "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"", "sh")
        if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
            self.skipTest("no user namespace can be had here, or its limit not set")
        return inside

    def test_without_user_namespaces_it_says_so_and_fails(self):
        run, told = self.report(prefix=self.without_user_namespaces())
        self.assertEqual(run.returncode, 1)
        self.assertNotEqual(told["tier"], "full")
        missing = [layer for layer in told["layers"] if layer["layer"] == "user namespace"][0]
        self.assertFalse(missing["there"])
        self.assertRegex(missing["remedy"], "max_user_namespaces")
        if told["tier"] == "landlock":
            self.assertTrue(told["self_test"]["caveats"])

    @fits_inside
    def test_without_user_namespaces_every_escape_of_tier_landlock_is_refused(self):
        _, told = self.report(prefix=self.without_user_namespaces())
        if told["tier"] == "landlock":
            self.assertEqual([each for each in told["self_test"]["escapes"] if each["outcome"] != "refused"], [])

    def test_what_it_is_started_with_inside_is_of_no_use_outside(self):
        run = doctor("--inside-the-sandbox", "nonsense")
        self.assertEqual((run.returncode, run.stdout), (1, ""))

    def test_unknown_words_are_refused(self):
        self.assertEqual(doctor("--jsn").returncode, 1)
        self.assertTrue(re.search("--json", doctor("--jsn").stderr))


if __name__ == "__main__":
    main()
