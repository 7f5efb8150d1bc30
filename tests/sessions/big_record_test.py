#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A record of 1 GB verifies in constant memory. Takes a minute or more of one core, so it is labelled slow."""

import os
import subprocess
import time
import unittest

import harness

BYTES = 10**9
LIMIT_KIB = 64 * 1024


class BigRecord(harness.SessionCase):
    patience = 900

    def generate(self, size):
        with open(self.audit, "wb") as file:
            made = subprocess.run([os.environ["AEGIS_RECORD_GENERATOR"], str(size)], stdout=file,
                                  stderr=subprocess.PIPE, check=True, text=True)
        self.assertGreaterEqual(os.path.getsize(self.audit), size)
        return made.stdout or made.stderr.strip()

    def verify_measured(self, key):
        """The first line of the report, the seconds, and the most KiB that were ever resident."""
        began = time.monotonic()
        process = subprocess.Popen([harness.AEGIS, "verify", "--key", key, self.audit], env=self.env(),
                                   stdout=subprocess.PIPE)
        out = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        self.assertEqual(process.returncode, 0, out)
        return out.split("\n")[0], time.monotonic() - began, usage.ru_maxrss

    def test_memory_does_not_grow_with_the_record(self):
        if "AEGIS_RECORD_GENERATOR" not in os.environ:
            self.skipTest("AEGIS_RECORD_GENERATOR is not set")
        key = self.generate(BYTES)
        first, seconds, peak = self.verify_measured(key)
        print(f"{os.path.getsize(self.audit)} bytes: {first}, {seconds:.1f} s, peak {peak} KiB")
        self.assertRegex(first, r"^Verified \(pinned to ")
        if not os.environ.get("AEGIS_SANITIZE"):
            self.assertLessEqual(peak, LIMIT_KIB)
        self.break_one_byte()

    def break_one_byte(self):
        """That it was read to its end: a flip in its last tenth is found."""
        with open(self.audit, "r+b") as file:
            file.seek(BYTES * 95 // 100)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        found = self.aegis("verify", self.audit)
        self.assertEqual(found.returncode, 1, found.stdout)


if __name__ == "__main__":
    harness.main()
