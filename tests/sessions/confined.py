# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the tests of confinement share: which tiers can be had, an ordinary user, and a workspace."""

import functools
import os
import shutil
import subprocess

import harness
from harness import AEGIS

PYTHON = "/usr/bin/python3"
SERVERS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "servers")
NOBODY = 65534
AS_NOBODY = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]


@functools.lru_cache(maxsize=None)
def why_not(tier):
    """Why a tier cannot be had here, or None."""
    tried = subprocess.run([AEGIS, "confine", "--tier", tier, "--", "/bin/true"], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, check=False)
    return tried.stderr.strip() or f"exit code {tried.returncode}" if tried.returncode != 0 else None


def tiers():
    return [tier for tier in ("full", "landlock") if why_not(tier) is None]


class ConfineCase(harness.SessionCase):
    tier = "full"  # what these tests need

    def setUp(self):
        if why_not(self.tier):
            self.skipTest(why_not(self.tier))
        super().setUp()
        self.workspace = self.path("ws")
        os.mkdir(self.workspace)
        self.secret = self.write("secret", "what nobody granted\n")
        # Copies: the folder of a script is granted with it, and another user may not get at the originals.
        self.server = self.copy_server("asyncio_server.py")

    def copy_server(self, name):
        folder = self.path("servers")
        os.makedirs(folder, exist_ok=True)
        return [PYTHON, shutil.copy(os.path.join(SERVERS, name), folder)]

    def start(self, *flags, command, **options):
        """`aegis confine`, with pipes for all three."""
        options.setdefault("env", self.env())
        process = subprocess.Popen([AEGIS, "confine", *flags, "--", *command], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def confine(self, *flags, command, input=b"", **options):
        """The same to its end; bytes, not text."""
        options.setdefault("env", self.env())
        return subprocess.run([AEGIS, "confine", *flags, "--", *command], input=input, capture_output=True,
                              check=False, **options)

    def shell(self, script, *flags, **options):
        return self.confine(*flags, command=["/bin/sh", "-c", script], **options)

    def python(self, script, *flags, **options):
        return self.confine(*flags, command=[PYTHON, "-c", script], **options)

    def assertEnded(self, run, code, words=b""):
        self.assertEqual(run.returncode, code, (run.stdout, run.stderr))
        self.assertIn(words, run.stderr)

    def session(self, *flags, server=None, **options):
        """`aegis wrap --confine` around the server on asyncio, in the workspace."""
        return self.wrap("--confine", "--workspace", self.workspace, *flags, server=server or self.server, **options)


def give_to_nobody(case):
    """The case's folder with a copy of the program in it, since a build folder may be closed to others. Gives the
    program's path."""
    program = case.path("aegis")
    shutil.copy(AEGIS, program)
    os.chmod(program, 0o755)
    for folder, _, files in os.walk(case.dir):
        for path in [folder, *(os.path.join(folder, name) for name in files)]:
            os.chown(path, NOBODY, NOBODY)
    return program
