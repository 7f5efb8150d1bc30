#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Every way known to slip a denied call past the reader of a policy, sent to a real aegis in front of a server that
keeps every byte: none may arrive. What arrives afterwards is an ordinary call, so that silence is no accident."""

import json
import os
import subprocess
import unittest

import harness
import record
from harness import answer, call

DENIED, MALFORMED, NO_NAME, BATCH = "POLICY_DENIED", "MALFORMED_FRAME", "MALFORMED_CALL", "BATCH"
SILENT = "dropped without an answer"
ANY = "refused, whatever the code"

PARAMS = b'"params":{"name":"evil","arguments":{}}'
EVIL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call",' + PARAMS + b"}"


def evil(old, new):
    """The denied call with one piece of it replaced."""
    assert EVIL.count(old) == 1, old
    return EVIL.replace(old, new)


def inside(text):
    """The denied call with something in its arguments."""
    return evil(b'"arguments":{}', b'"arguments":{' + text + b"}")


# name: (bytes without the last newline, what is answered to each frame of it)
ROWS = {
    "plainly": (EVIL, DENIED),
    "with a carriage return before the newline": (EVIL + b"\r", DENIED),
    "with spaces everywhere": (b' \t{ "jsonrpc" : "2.0" , "id" : 1 , "method" : "tools/call" , '
                               b'"params" : { "name" : "evil" } } \t', DENIED),
    "params first": (b"{" + PARAMS + b',"method":"tools/call","id":1,"jsonrpc":"2.0"}', DENIED),
    "after a megabyte of arguments": (evil(b'{"name":"evil","arguments":{}}',
                                           b'{"arguments":{"x":"' + b"y" * (1 << 20) + b'"},"name":"evil"}'), DENIED),
    "escaped method name": (evil(b'"method"', b'"m\\u0065thod"'), DENIED),
    "escaped method": (evil(b"tools/call", b"t\\u006Fols/call"), DENIED),
    "escaped slash": (evil(b"tools/call", b"tools\\/call"), DENIED),
    "escaped params": (evil(b'"params"', b'"param\\u0073"'), DENIED),
    "escaped name": (evil(b'"name"', b'"nam\\u0065"'), DENIED),
    "escaped tool": (evil(b'"evil"', b'"e\\u0076il"'), DENIED),
    "no jsonrpc": (evil(b'"jsonrpc":"2.0",', b""), ANY),
    "other jsonrpc": (evil(b"2.0", b"1.0"), ANY),
    "id null": (evil(b'"id":1', b'"id":null'), ANY),
    "id true": (evil(b'"id":1', b'"id":true'), ANY),
    "id an object": (evil(b'"id":1', b'"id":{}'), ANY),
    "no id": (evil(b'"id":1,', b""), SILENT),
    "as a response too": (evil(b'"id":1', b'"id":1,"result":{}'), ANY),
    "as an error too": (evil(b'"id":1', b'"id":1,"error":{"code":1,"message":""}'), ANY),
    "name twice, the second evil": (evil(b'"name"', b'"name":"good","name"'), MALFORMED),
    "name twice, the first evil": (evil(b'"name":"evil"', b'"name":"evil","name":"good"'), MALFORMED),
    "name twice, once escaped": (evil(b'"name"', b'"n\\u0061me":"good","name"'), MALFORMED),
    "method twice": (evil(b'"method"', b'"method":"ping","method"'), MALFORMED),
    "params twice": (evil(b'"params"', b'"params":{"name":"good"},"params"'), MALFORMED),
    "id twice": (evil(b'"id":1', b'"id":1,"id":2'), MALFORMED),
    "jsonrpc twice": (evil(b'"jsonrpc":"2.0"', b'"jsonrpc":"2.0","jsonrpc":"2.0"'), MALFORMED),
    "a member twice deep inside": (inside(b'"a":[{"b":{"c":1,"c":2}}]'), MALFORMED),
    "a member twice in _meta": (evil(b'"name"', b'"_meta":{"x":1,"\\u0078":1},"name"'), MALFORMED),
    "Method beside method": (evil(b'"method":"tools/call"', b'"method":"ping","Method":"tools/call"'), MALFORMED),
    "METHOD alone": (evil(b'"method"', b'"METHOD"'), MALFORMED),
    "Name for name": (evil(b'"name"', b'"Name"'), MALFORMED),
    "Name beside name": (evil(b'"name":"evil"', b'"name":"good","Name":"evil"'), MALFORMED),
    "Params": (evil(b'"params"', b'"Params"'), MALFORMED),
    "params with a long s": (evil(b'"params"', b'"param\\u017f"'), MALFORMED),
    "params with a long s, raw": (evil(b'"params"', '"param\u017f"'.encode()), MALFORMED),
    "arguments with a long s": (evil(b'"arguments"', b'"argument\\u017F"'), MALFORMED),
    "task with a Kelvin sign": (evil(b'"arguments"', b'"tas\\u212a":{},"arguments"'), MALFORMED),
    "Id beside id": (evil(b'"id":1', b'"id":1,"Id":2'), MALFORMED),
    "JSONRPC": (evil(b'"jsonrpc"', b'"JSONRPC"'), MALFORMED),
    "_META": (evil(b'"name"', b'"_META":{},"name"'), MALFORMED),
    "two names that fold to one": (evil(b'"id"', b'"x":1,"X":1,"id"'), MALFORMED),
    "two names of params that fold to one": (evil(b'"name"', '"\u00e4":1,"\u00c4":1,"name"'.encode()), MALFORMED),
    "a byte-order mark": (b"\xef\xbb\xbf" + EVIL, MALFORMED),
    "a nul in front": (b"\0" + EVIL, MALFORMED),
    "a nul behind": (EVIL + b"\0", MALFORMED),
    "a nul inside": (inside(b'"a":"\0"'), MALFORMED),
    "a good one, a nul, an evil one": (b'{"jsonrpc":"2.0","method":"x"}\0' + EVIL, MALFORMED),
    "a raw tab in a string": (inside(b'"a":"\t"'), MALFORMED),
    "a raw escape in a string": (inside(b'"a":"\x1b"'), MALFORMED),
    "utf-8: a stray byte": (inside(b'"a":"\xff"'), MALFORMED),
    "utf-8: cut short": (inside(b'"a":"\xe2\x82"'), MALFORMED),
    "utf-8: overlong": (evil(b'"evil"', b'"\xc1\xa5vil"'), MALFORMED),
    "utf-8: a surrogate": (inside(b'"a":"\xed\xa0\x80"'), MALFORMED),
    "utf-8: beyond the last": (inside(b'"a":"\xf4\x90\x80\x80"'), MALFORMED),
    "utf-16": (EVIL.decode().encode("utf-16-le"), MALFORMED),
    "a lone high surrogate": (inside(b'"a":"\\ud800"'), MALFORMED),
    "a lone low surrogate": (inside(b'"a":"\\udc00x"'), MALFORMED),
    "surrogates in the wrong order": (inside(b'"a":"\\udc00\\ud800"'), MALFORMED),
    "behind a carriage return": (b'{"jsonrpc":"2.0","method":"x"}\r' + EVIL, MALFORMED),
    "a carriage return as white space": (evil(b'"id":1,', b'"id":1,\r'), MALFORMED),
    "behind another value": (b'{"jsonrpc":"2.0","method":"x"}' + EVIL, MALFORMED),
    "before garbage": (EVIL + b"]", MALFORMED),
    "a trailing comma": (evil(b'"arguments":{}', b'"arguments":{},'), MALFORMED),
    "a comment": (evil(b'"id":1', b'/*"id":2,*/"id":1'), MALFORMED),
    "a line comment": (EVIL + b" // ok", MALFORMED),
    "single quotes": (EVIL.replace(b'"', b"'"), MALFORMED),
    "bare names": (evil(b'"method"', b"method"), MALFORMED),
    "a number with a leading zero": (inside(b'"a":01'), MALFORMED),
    "not a number": (inside(b'"a":NaN'), MALFORMED),
    "a bad escape": (inside(b'"a":"\\x41"'), MALFORMED),
    "a short escape": (inside(b'"a":"\\u41"'), MALFORMED),
    "cut short": (EVIL[:-1], MALFORMED),
    "too deep": (inside(b'"a":' + b"[" * 600 + b"]" * 600), MALFORMED),
    "far too deep": (inside(b'"a":' + b'{"b":' * 100000 + b"1" + b"}" * 100000), MALFORMED),
    "a nested batch": (b"[[" + EVIL + b"]]", MALFORMED),
    "an empty batch": (b"[]", MALFORMED),
    "a batch of a scalar": (b"[" + EVIL + b",1]", MALFORMED),
    "a scalar": (b'"tools/call"', MALFORMED),
    "a blank line": (b"", MALFORMED),
    "spaces": (b"  ", MALFORMED),
    "an object of nothing": (b"{}", MALFORMED),
    "method in an array": (evil(b'"tools/call"', b'["tools/call"]'), MALFORMED),
    "name in an array": (evil(b'"evil"', b'["evil"]'), NO_NAME),
    "name in an object": (evil(b'"evil"', b'{"name":"evil"}'), NO_NAME),
    "params in an array": (evil(b'"params":{"name":"evil","arguments":{}}', b'"params":[{"name":"evil"}]'), NO_NAME),
    "a batch": (b"[" + EVIL + b"]", BATCH),
    "the second of a batch": (b'[{"jsonrpc":"2.0","method":"x"},' + EVIL + b"]", BATCH),
    "one message over two lines": (evil(b'"id":1,', b'"id":1,\n'), MALFORMED),
    "a name over two lines": (evil(b'"evil"', b'"ev\nil"'), MALFORMED),
    "content-length framing": (b"Content-Length: %d\r\n\r\n" % len(EVIL) + EVIL, ANY),
}


class Smuggling(harness.SessionCase):
    patience = 60

    def setUp(self):
        super().setUp()
        self.wrapped, self.server = self.puppet("--policy", self.deny_evil())
        self.sentinels = 0

    def answers_to(self, data):
        """Sends a row and then an ordinary call, which must be all that arrives. Gives what aegis answered."""
        self.sentinels += 1
        id = f"sentinel {self.sentinels}"
        self.wrapped.send(data + b"\n", call(id, "good"))
        self.assertSame(self.server.recv(), call(id, "good"))
        self.server.send(answer(id))
        answers = []
        while (raw := self.wrapped.recv()) != answer(id):
            answers.append(json.loads(raw))
        return answers

    def check_answers(self, answers, data, code):
        frames = data.count(b"\n") + 1
        if code == SILENT:
            return self.assertEqual(answers, [])
        if code == BATCH:
            codes = [[one["error"]["data"]["aegis"]["code"] for one in batch] for batch in answers]
            self.assertEqual(codes, [[DENIED]])
            return
        self.assertEqual(len(answers), frames, answers)
        for got in answers:
            self.assertEqual(got["error"]["code"], -32042)
            self.assertTrue(got["error"]["message"])
            if code == ANY:
                self.assertIn(got["error"]["data"]["aegis"]["code"], (DENIED, MALFORMED, NO_NAME))
            else:
                self.assertEqual(got["error"]["data"]["aegis"]["code"], code)

    def check_record_of(self, lines, data, code):
        """Every frame of a row stands on the record, refused."""
        for frame in data.split(b"\n"):
            found = record.outcome_of(lines, frame)
            self.assertEqual(found["policy"]["status"], "denied")
            self.assertEqual(found["capability"]["status"], "denied")
            self.assertEqual(found["execution"]["status"], "host_denied")
            if code == MALFORMED:
                self.assertEqual(found["tool_id"], "<unknown>")
                self.assertRegex(found["policy"]["reason"], "^malformed frame: ..")

    def sealed(self):
        self.wrapped.close_stdin()
        self.assertEqual(self.server.input.rest(), b"")
        self.server.exit(0)
        self.assertEqual(self.wrapped.wait(), 0)
        return self.check_record()

    def test_no_row_reaches_the_server(self):
        for name, (data, code) in ROWS.items():
            with self.subTest(name):
                self.check_answers(self.answers_to(data), data, code)
        lines = self.sealed()
        for name, (data, code) in ROWS.items():
            with self.subTest("record", row=name):
                self.check_record_of(lines, data, code)

    def test_the_id_of_a_malformed_frame_comes_back_only_when_it_is_certain(self):
        rows = [(evil(b'"name"', b'"Name"'), 1), (evil(b'"id":1', b'"id":"x","METHOD":1'), "x"),
                (evil(b'"id":1', b'"id":1,"id":2'), None), (evil(b'"id":1', b'"id":null,"METHOD":1'), None),
                (EVIL + b"]", None), (evil(b'"id":1', b'"id":[1],"METHOD":1'), None), (EVIL[:-1], None),
                (evil(b'"id":1,', b'"METHOD":1,'), None)]
        for data, id in rows:
            with self.subTest(data):
                got, = self.answers_to(data)
                self.assertEqual((got["id"], got["error"]["data"]["aegis"]["code"]), (id, MALFORMED))

    def test_an_evil_frame_without_its_newline_does_not_arrive(self):
        self.wrapped.send(EVIL)
        self.assertTrue(record.outcome_of(self.sealed(), EVIL))

    def test_an_evil_frame_in_single_bytes_does_not_arrive(self):
        for i in range(len(EVIL)):
            self.wrapped.send(EVIL[i:i + 1])
        got, = self.answers_to(b"")[:1]
        self.assertEqual(got["error"]["data"]["aegis"]["code"], DENIED)

    def table(self, kind):
        """The rows that the reader's own tests try: (name, bytes)."""
        program = os.environ.get("AEGIS_SMUGGLING_ROWS", "")
        if not program:
            self.skipTest("AEGIS_SMUGGLING_ROWS is not set")
        rows = json.loads(subprocess.run([program], check=True, capture_output=True).stdout)
        chosen = [(bytes.fromhex(row["name"]).decode(), bytes.fromhex(row["frame"])) for row in rows
                  if row["kind"] == kind]
        self.assertGreater(len(chosen), 10)
        return chosen

    def test_no_form_of_the_reader_s_own_table_reaches_the_server(self):
        forms = self.table("evil")
        for name, data in forms:
            with self.subTest(name):
                self.answers_to(data)
        lines = self.sealed()
        for name, data in forms:
            with self.subTest("record", form=name):
                for one in data.split(b"\n"):
                    self.assertEqual(record.outcome_of(lines, one)["execution"]["status"], "host_denied")
        print(f"{len(forms)} forms, none arrived")

    def test_every_harmless_form_does(self):
        for name, data in self.table("harmless"):
            with self.subTest(name):
                self.wrapped.send(data + b"\n")
                self.assertSame(self.server.recv(), data + b"\n")


if __name__ == "__main__":
    harness.main()
