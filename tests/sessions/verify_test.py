#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`aegis verify` over records that aegis wrote, and over ones that somebody touched."""

import hashlib
import json
import os
import unittest

import harness
import record
from harness import answer, call

OTHER = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"  # RFC 8032, test 1


class VerifyCase(harness.SessionCase):
    def session(self, *calls, path=None, kill=False):
        """Adds one session with answered calls to a record."""
        wrap, server = self.puppet(audit=path or self.audit)
        for id, asked in enumerate(calls):
            wrap.send(asked)
            self.assertEqual(server.recv(), asked)
            server.send(answer(id))
            wrap.recv()
        if kill:
            wrap.process.kill()
            wrap.wait()
            return server.let_go()
        wrap.close_stdin()
        server.exit(0)
        return self.assertEqual(wrap.wait(), 0, wrap.stderr())

    def check(self, code, first, *argv):
        """Runs verify; gives its stdout, whose first line must match."""
        found = self.aegis("verify", *argv)
        self.assertEqual(found.returncode, code, found.stdout + found.stderr)
        self.assertRegex(found.stdout.split("\n")[0], first)
        return found.stdout

    def key_id(self):
        return hashlib.sha256(bytes.fromhex(self.public_key())).hexdigest()


class Verdicts(VerifyCase):
    def test_a_whole_record(self):
        self.session(call(0), call(1))
        self.session(call(0))
        out = self.check(0, r"^Verified \(unpinned\)$", self.audit)
        self.assertEqual(out.split("\n")[1:], [f"key_id {self.key_id()}", "coverage session 1 seq 3", ""])
        out = self.check(0, rf"^Verified \(pinned to {self.key_id()}\)$", "--key", self.public_key(), self.audit)
        self.assertNotIn("record.aarl", out)
        self.check(1, "^Tampered: .", "--key", OTHER, self.audit)
        self.check(0, r"^Verified \(pinned to", "--key", OTHER, "--key", self.public_key(), self.audit)

    def test_the_same_bytes_give_the_same_report_wherever_they_lie(self):
        self.session(call(0))
        os.mkdir(self.path("elsewhere"))
        copy = self.write("elsewhere/other.aarl", harness.read_bytes(self.audit))
        for flags in ([], ["--json"]):
            reports = {self.check(0, ".", *flags, path) for path in (self.audit, copy, self.audit)}
            self.assertEqual(len(reports), 1)

    def test_json_says_the_same(self):
        self.session(call(0))
        shown = json.loads(self.check(0, "{", "--json", "--key", self.public_key(), self.audit))
        self.assertIn("Verified", json.dumps(shown))
        self.assertIn(self.key_id(), json.dumps(shown))
        self.assertIn("coverage", shown)

    def test_two_keys_in_one_file(self):
        self.session(call(0))
        first = self.public_key()
        os.remove(os.path.join(self.home, ".config/aegis/signing.key"))
        self.session(call(0))
        second = self.public_key()
        self.assertNotEqual(first, second)
        out = self.check(0, r"^Verified \(pinned\)$", "--key", first, "--key", second, self.audit)
        self.assertEqual(out.count("\nkey_id "), 2)
        self.check(1, "^Tampered: ", "--key", first, self.audit)
        self.check(1, "^Tampered: ", "--key", second, self.audit)

    def test_an_open_tail(self):
        self.session(call(0))
        self.session(call(0), kill=True)
        self.check(3, "^Indeterminate: .", self.audit)

    def test_an_empty_file(self):
        self.check(3, "^Indeterminate: .", self.write("empty.aarl", b""))

    def test_every_cut_is_indeterminate_or_a_session_end(self):
        self.session(call(0))
        self.session()
        whole = harness.read_bytes(self.audit)
        ends = {i for i in range(len(whole)) if whole[:i].endswith(b"\n")
                and json.loads(whole[:i].split(b"\n")[-2])["line_type"] == "close"} | {len(whole)}
        ends |= {end - 1 for end in ends}  # the very last newline may be missing
        lines = [len(b"\n".join(whole.split(b"\n")[:n])) for n in range(1, whole.count(b"\n") + 1)]
        cuts = set(range(0, len(whole), 97)) | ends | set(lines) | {line + 1 for line in lines}
        for cut in sorted(cut for cut in cuts if cut <= len(whole)):
            path = self.write("cut.aarl", whole[:cut])
            with self.subTest(cut=cut):
                verified = cut in ends
                self.check(0 if verified else 3, "^Verified" if verified else "^Indeterminate", path)

    def test_every_touched_line_is_tampered(self):
        self.session(call(0), call(1))
        self.session(call(0))
        lines = harness.read_bytes(self.audit).splitlines(keepends=True)
        other = self.path("other.aarl")
        self.session(call(0), path=other)
        strange = harness.read_bytes(other).splitlines(keepends=True)
        rows = {}
        for n, line in enumerate(lines):
            flipped = line[:len(line) // 2] + bytes([line[len(line) // 2] ^ 1]) + line[len(line) // 2 + 1:]
            rows[f"{n} flipped"] = [*lines[:n], flipped, *lines[n + 1:]]
            rows[f"{n} twice"] = [*lines[:n + 1], line, *lines[n + 1:]]
            rows[f"{n} spaced"] = [*lines[:n], line.replace(b":", b": ", 1), *lines[n + 1:]]
            if n + 1 < len(lines):
                rows[f"{n} dropped"] = [*lines[:n], *lines[n + 1:]]
                rows[f"{n} swapped with the next"] = [*lines[:n], lines[n + 1], line, *lines[n + 2:]]
        rows["another record behind it"] = lines + strange
        rows["a blank line inside"] = [*lines[:2], b"\n", *lines[2:]]
        rows["a line of another record"] = [*lines[:2], strange[2], *lines[3:]]
        for name, touched in rows.items():
            with self.subTest(name):
                self.check(1, "^Tampered: .", self.write("touched.aarl", b"".join(touched)))

    def test_a_first_session_cut_off_is_said(self):
        self.session(call(0))
        first = len(harness.read_bytes(self.audit))
        self.session(call(0))
        self.check(3, "^Indeterminate: .", self.write("later.aarl", harness.read_bytes(self.audit)[first:]))


class Arguments(VerifyCase):
    def usage(self, code, *argv, says=""):
        found = self.aegis("verify", *argv)
        self.assertEqual((found.returncode, found.stdout), (code, ""), found.stderr)
        self.assertRegex(found.stderr, "^aegis: ")
        self.assertIn(says, found.stderr)

    def test_usage(self):
        self.session()
        self.usage(1, says="record")
        for bad in ("", "x", OTHER.upper(), OTHER[:-1], OTHER + "0", " " + OTHER):
            with self.subTest(bad):
                self.usage(1, "--key", bad, self.audit, says="64")
        self.usage(1, "--kee", OTHER, self.audit, says="--key")

    def test_what_cannot_be_read(self):
        self.usage(2, self.path("none"), says="No such file")
        self.usage(2, "--trust-store", self.path("none"), self.write("x", b""), says="No such file")

    def test_a_key_id_for_a_key_gets_a_hint(self):
        self.session()
        found = self.aegis("verify", "--key", self.key_id(), self.audit)
        self.assertEqual(found.returncode, 1)
        self.assertRegex(found.stdout, "^Tampered")
        self.assertIn("key_id", found.stderr)

    def test_a_trust_store(self):
        self.session()
        good = self.write("good", f"# mine\n\n{OTHER}\n{self.public_key()}\n")
        self.check(0, r"^Verified \(pinned to", "--trust-store", good, self.audit)
        self.check(1, "^Tampered", "--trust-store", self.write("empty", "# none\n"), self.audit)
        for bad in (self.public_key()[:-1], self.public_key() + " # mine", self.public_key().upper(), "key"):
            with self.subTest(bad):
                self.usage(1, "--trust-store", self.write("bad", f"{OTHER}\n{bad}\n"), self.audit, says="2")

    def test_folders_and_the_worst_of_several(self):
        os.mkdir(self.path("all"))
        good, tail = self.path("all/good.aarl"), self.path("all/tail.aarl")
        bad, none = self.path("all/bad.aarl"), self.path("all/none.aarl")
        self.session(call(0), path=good)
        self.session(call(0), path=tail, kill=True)
        self.write("all/notes.txt", "not a record")
        found = self.aegis("verify", self.path("all"))
        self.assertEqual(found.returncode, 3)
        self.assertEqual((found.stdout.count("Verified"), found.stdout.count("Indeterminate")), (1, 1))
        for path in (good, tail):
            self.assertIn(path, found.stdout)
        self.assertNotIn("notes.txt", found.stdout)
        self.write("all/bad.aarl", harness.read_bytes(good).replace(b"aegis/1", b"aegis/2", 1))
        ranks = [([good], 0), ([good, tail], 3), ([none, tail], 2), ([good, none], 2), ([bad, none, tail], 1),
                 ([none, bad], 1), ([self.path("all")], 1)]
        for paths, code in ranks:
            with self.subTest(paths):
                self.assertEqual(self.aegis("verify", *paths).returncode, code)

    def test_an_empty_folder(self):
        os.mkdir(self.path("nothing"))
        found = self.aegis("verify", self.path("nothing"))
        self.assertNotEqual(found.returncode, 0, "nothing at all was called good")


class Recovery(VerifyCase):
    def test_a_torn_tail_is_moved_aside_and_named(self):
        self.session(call(0))
        whole = harness.read_bytes(self.audit)
        rows = (b'{"call_id":"half', b"{", whole.splitlines()[1][:-1], b'{"a":"\xff"}', b"\0" * 4096,
                b"{" + b"x" * 300000,
                b'{"a":1,\n', b'{"a":1}{"b":2}', b'{"a":1}\0\0\0')
        for n, torn in enumerate(rows):
            with self.subTest(torn[:20]):
                path = self.write(f"{n}.aarl", whole + torn)
                self.session(call(0), path=path)
                lines = self.check_record(path)
                opened = record.of_type(lines, "open")[1]["recovered"]
                self.assertEqual((opened["bytes"], opened["digest"]), (len(torn), record.digest(torn)))
                self.assertRegex(opened["file"], rf"^{n}\.aarl\.torn-\d+$")
                self.assertEqual(harness.read_bytes(self.path(opened["file"])), torn)

    def test_several_torn_tails_are_all_kept(self):
        for n in range(3):
            self.session(call(0))
            with open(self.audit, "ab") as file:
                file.write(b'{"torn":%d' % n)
        self.session()
        kept = sorted(name for name in os.listdir(self.dir) if ".torn-" in name)
        self.assertEqual([harness.read_bytes(self.path(name)) for name in kept], [b'{"torn":%d' % n for n in range(3)])
        self.check_record()

    def test_a_file_that_is_all_torn(self):
        self.write("record.aarl", b'{"at":"2026-')
        self.session(call(0))
        self.assertEqual(self.check_record()[0]["recovered"]["bytes"], 12)

    def test_an_end_that_is_neither_a_line_nor_torn_is_refused_untouched(self):
        self.session(call(0))
        whole = harness.read_bytes(self.audit)
        for end in (b'{"a":1}', b'{"a":1}\n', b"[1]\n", b"1\n", b'"x"', b"\n", b" \n", b'{"torn\n\n',
                    b'{"torn\n{"torn', whole.splitlines()[1][:-1] + b'\n{"torn'):
            with self.subTest(end):
                path = self.write("ended.aarl", whole + end)
                found = self.aegis("wrap", "--audit", path, "--", "touch", self.path("ran"))
                self.assertEqual(found.returncode, 125, found.stderr)
                self.assertIn(path, found.stderr)
                self.assertEqual(harness.read_bytes(path), whole + end)
                self.assertFalse(os.path.exists(self.path("ran")))

    def test_a_missing_last_newline_is_no_tear(self):
        self.session(call(0))
        os.truncate(self.audit, os.path.getsize(self.audit) - 1)
        self.session(call(0))
        opened = record.of_type(self.check_record(), "open")[1]
        self.assertNotIn("recovered", opened)

    def test_an_unsealed_session_before_is_kept(self):
        self.session(call(0), kill=True)
        self.session(call(0))
        self.assertEqual(len(record.of_type(record.read(self.audit), "open")), 2)
        self.assertIn(self.aegis("verify", self.audit).returncode, (0, 3))


class Published(VerifyCase):
    """Records that another implementation published, where they are at hand."""

    KEY = "3de537a06e04b2ffe1fb0558ea16d3c0f042ed99f7e392698aa5120f568d4e2c"
    ROWS = [("pinned/one_call", 0, r"^Verified \(unpinned\)$"), ("tampered/bad_signature", 1, "^Tampered"),
            ("tampered/duplicate_decision", 1, "^Tampered"), ("indeterminate/reserved_checkpoint", 3, "^Indeterminate"),
            ("indeterminate/golden_first_three_lines", 3, "^Indeterminate")]

    def folder(self):
        here = os.path.dirname(os.path.abspath(__file__))
        shared = os.environ.get("AEGIS_SHARED", os.path.join(here, "../../../shared"))
        folder = os.path.join(shared, "vectors")
        if not os.path.isdir(folder):
            self.skipTest("the published records are not here: set AEGIS_SHARED")
        return folder

    def test_a_session_may_follow_one_of_another_emitter(self):
        for name, code in (("pinned/one_call", 0), ("indeterminate/golden_first_three_lines", (0, 3))):
            with self.subTest(name):
                kept = harness.read_bytes(os.path.join(self.folder(), name + ".aarl"))
                path = self.write("joined.aarl", kept)
                self.session(call(0), path=path)
                self.assertTrue(harness.read_bytes(path).startswith(kept))
                found = self.aegis("verify", path)
                self.assertIn(found.returncode, (code,) if code == 0 else code, found.stdout)

    def test_each_gets_its_verdict(self):
        folder = self.folder()
        for name, code, first in self.ROWS:
            with self.subTest(name):
                self.check(code, first, os.path.join(folder, name + ".aarl"))
        one = os.path.join(folder, "pinned/one_call.aarl")
        self.check(0, r"^Verified \(pinned to 77a2c2f5", "--key", self.KEY, one)
        self.check(1, "^Tampered", "--key", OTHER, one)


if __name__ == "__main__":
    harness.main()
