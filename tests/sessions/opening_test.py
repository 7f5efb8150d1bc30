#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the record says of a session itself: its opening, its place, and what crossed without one certain reading."""

import json
import os
import stat
import unittest

import harness
import record
from harness import answer, call, request


class Unread(harness.SessionCase):
    """Without a policy what cannot be read with certainty crosses, is counted, and is a call when it may be one."""

    def test_a_call_without_a_string_name(self):
        wrap, server = self.puppet()
        asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}\n'
        wrap.send(asked)
        self.assertEqual(server.recv(), asked)
        server.send(answer(1))
        wrap.recv()
        outcome = record.outcome_of(self.finish(wrap, server), asked)
        self.assertEqual((outcome["policy"]["status"], outcome["capability"]["status"]), ("allowed", "granted"))
        self.assertEqual((outcome["tool_id"], outcome["execution"]), ("<unknown>", {"status": "success"}))

    def test_frames_without_one_reading_are_counted(self):
        wrap, server = self.puppet()
        odd = [b"hello\n", b'{"jsonrpc":"2.0","method":"ping","method":"x","id":1}\n', b"\xff\n"]
        wrap.send(*odd, request(1, "ping"))
        for one in odd:
            self.assertEqual(server.recv(), one)
        server.recv()
        close = self.finish(wrap, server)[-1]
        self.assertEqual(close["unread"], 3)

    def test_a_call_that_only_some_readers_see_is_on_the_record(self):
        wrap, server = self.puppet()
        odd = [b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"a"}}\n',
               b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"c","name":"d"}}\n']
        wrap.send(*odd)
        for one in odd:
            self.assertEqual(server.recv(), one)
        lines = self.finish(wrap, server)
        for one in odd:
            with self.subTest(one):
                self.assertTrue(record.outcome_of(lines, one))

    def test_names_that_no_line_can_hold_are_digests(self):
        wrap, server = self.puppet()
        names = ['"' + "n" * 1025 + '"', '"' + "n" * 1024 + '"', '"\\ud800"', '"\udcff"']
        asked = [b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s}}\n'
                 % (id, name.encode("utf-8", "surrogateescape")) for id, name in enumerate(names)]
        wrap.send(*asked)
        for one in asked:
            self.assertEqual(server.recv(), one)
        lines = self.finish(wrap, server)
        found = [record.outcome_of(lines, one)["tool_id"] for one in asked]
        self.assertRegex(found[0], "^<sha256:[0-9a-f]{64}>$")
        self.assertEqual(found[1], "n" * 1024)
        for odd in found[2:]:
            self.assertRegex(odd, "^<(sha256:[0-9a-f]{64}|unknown)>$")


class Opening(harness.SessionCase):
    def test_the_open_line_says_who_and_how(self):
        for durability in ("call", "session", "off"):
            with self.subTest(durability):
                path = self.path(durability)
                wrap, server = self.puppet("--durability", durability, audit=path)
                opened = self.finish(wrap, server, path)[0]
                self.assertEqual(opened["durability"], durability)
                self.assertEqual(opened["server"], {
                    "program": "script_server", "argv_digest": record.digest("\0".join(server.argv).encode())})
                self.assertRegex(opened["emitter"] if isinstance(opened["emitter"], str)
                                 else json.dumps(opened["emitter"]), "aegis")
                for absent in ("prev_session_tail", "recovered", "policy_set_hash"):
                    self.assertNotIn(absent, opened)

    def test_a_policy_stands_on_the_open_line_and_its_comments_do_not_matter(self):
        hashes = []
        for n, text in enumerate(("version: 1\nrules: []\n", "# c\nrules: [ ] # d\nversion: 1\ndefault: allow\n",
                                  "version: 1\nrules: []\ndefault: deny\n")):
            path = self.path(f"{n}.aarl")
            wrap, server = self.puppet("--policy", self.write("p.yaml", text), audit=path)
            hashes.append(self.finish(wrap, server, path)[0]["policy_set_hash"])
        self.assertEqual(hashes[0], hashes[1])
        self.assertNotEqual(hashes[0], hashes[2])

    def test_the_bare_form_needs_no_set_up(self):
        os.umask(0o022)
        wrap, server = self.puppet(audit=None)
        wrap.send(call(1))
        server.recv()
        server.send(answer(1))
        wrap.recv()
        wrap.close_stdin()
        server.exit(0)
        self.assertEqual(wrap.wait(), 0)
        folder = os.path.join(self.home, ".local/state/aegis/records")
        name, = os.listdir(folder)
        self.assertRegex(name, rf"^script_server-.*-{wrap.pid}\.aarl$")
        key = os.path.join(self.home, ".config/aegis/signing.key")
        modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (folder, os.path.join(folder, name), key)]
        self.assertEqual([oct(mode) for mode in modes], ["0o700", "0o600", "0o600"])
        self.assertRegex(harness.read_text(key), "^[0-9a-f]{64}$")
        words = wrap.own_words()
        self.assertIn(self.public_key(), words)
        self.assertIn(os.path.join(folder, name), words)
        self.assertEqual(len(record.outcomes(self.check_record(os.path.join(folder, name)))), 1)

    def test_a_folder_takes_one_file_a_session(self):
        os.mkdir(self.path("records"))
        for audit in (self.path("records"), self.path("records") + "/"):
            wrap, server = self.puppet(audit=audit)
            wrap.close_stdin()
            server.exit(0)
            self.assertEqual(wrap.wait(), 0)
        self.assertEqual(len(os.listdir(self.path("records"))), 2)
        self.assertEqual(self.verify(self.path("records")).returncode, 0)

    def test_sessions_of_one_file_are_linked(self):
        for _ in range(3):
            wrap, server = self.puppet()
            wrap.send(call(1))
            server.recv()
            server.send(answer(1))
            wrap.recv()
            lines = self.finish(wrap, server)
        opens = [i for i, line in enumerate(lines) if line["line_type"] == "open"]
        self.assertEqual(len(opens), 3)
        self.assertNotIn("prev_session_tail", lines[0])
        for i in opens[1:]:
            self.assertEqual(lines[i]["prev_session_tail"], record.digest(lines[i - 1].raw))
        self.assertEqual(len({lines[i]["session_id"] for i in opens}), 3)


if __name__ == "__main__":
    harness.main()
