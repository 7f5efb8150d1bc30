#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Names, limits and company that a session seldom meets: they may cost a clear refusal, never a broken record."""

import json
import os
import resource
import signal
import subprocess
import unittest

import harness
import record
from harness import answer, call


class Names(harness.SessionCase):
    def served(self, wrap, server, path=None, tool="echo"):
        """One call through, and the record of it."""
        wrap.send(call(1, tool))
        self.assertEqual(server.recv(), call(1, tool))
        server.send(answer(1))
        self.assertEqual(wrap.recv(), answer(1))
        return self.finish(wrap, server, path)

    def puppet_named(self, name, **options):
        """A puppet whose program has this name."""
        os.symlink(harness.SCRIPT_SERVER, os.path.join(self.dir.encode(), name))
        puppet = harness.Puppet(self.path("socket"))
        self.puppets.append(puppet)
        puppet.argv[0] = os.path.join(self.dir.encode(), name)
        wrap = self.wrap(server=puppet.argv, **options)
        return wrap, puppet.arrive(wrap)

    def test_odd_names_of_the_server(self):
        for name in (b"n" * 250, b"\xff\xfe", "\u00fc \n\t".encode(), b"-", b"[a]"):
            with self.subTest(name):
                self.mark += "x"
                self.home = self.path("home-" + self.mark)
                os.mkdir(self.home)
                wrap, server = self.puppet_named(name, audit=None)
                folder = os.path.join(self.home, ".local/state/aegis/records")
                file, = os.listdir(folder)
                self.assertTrue(self.served(wrap, server, os.path.join(folder, file)))
                self.puppets.pop().discard()
                os.remove(self.path("socket"))

    def test_a_long_reason_and_a_long_rule(self):
        policy = self.policy({"id": "r" * 1024, "action": "deny", "tool": "t", "reason": "\u00e4\x7f" * 1024})
        wrap, server = self.puppet("--policy", policy)
        got = json.loads(wrap.ask(call(1, "t")))
        self.assertEqual(got["error"]["code"], -32042)
        self.assertEqual(len(record.outcomes(self.finish(wrap, server))), 1)

    def test_odd_roles(self):
        for n, role in enumerate((b"\xff", b"x" * 1024, b"\n", b'"')):
            with self.subTest(role[:9]):
                path = self.path(f"{n}.aarl")
                wrap, server = self.puppet("--role", role, audit=path)
                self.served(wrap, server, path)

    def test_odd_tools(self):
        for n, tool in enumerate(("", "\x01" * 1024, "\U0001f600\ue000", "\u007f\u0080\u2028", "a/b\\c\"")):
            with self.subTest(tool[:9]):
                path = self.path(f"{n}.aarl")
                wrap, server = self.puppet(audit=path)
                found = record.outcomes(self.served(wrap, server, path, tool))
                self.assertEqual(found[0]["tool_id"], tool)

    def test_a_folder_is_verified_in_the_order_of_its_names(self):
        os.mkdir(self.path("all"))
        wrap, server = self.puppet()
        self.served(wrap, server)
        names = ["b.aarl", "a.aarl", "C.aarl", "10.aarl", "9.aarl"]
        for name in names:
            self.write("all/" + name, harness.read_bytes(self.audit))
        out = self.verify(self.path("all")).stdout
        places = sorted(names, key=lambda name: out.index("/" + name))
        self.assertEqual(places, sorted(names))


class Limits(harness.SessionCase):
    def test_a_batch_of_5000_calls(self):
        wrap, server = self.puppet("--durability", "off")
        batch = b"[" + b",".join(call(id)[:-1] for id in range(5000)) + b"]\n"
        wrap.send(batch)
        self.assertSame(server.recv(), batch)
        said = b"[" + b",".join(answer(id)[:-1] for id in range(5000)) + b"]\n"
        server.send(said)
        self.assertSame(wrap.recv(), said)
        found = record.outcomes(self.finish(wrap, server))
        self.assertEqual([line["execution"]["status"] for line in found], ["success"] * 5000)

    @harness.not_sanitized
    def test_more_calls_in_flight_than_are_kept(self):
        """What is over the limit is refused; and whatever is taken, however long its name, can be verified."""
        self.patience = 90
        signal.alarm(self.patience)
        wrap, server = self.puppet("--durability", "off")
        server.start("drain")
        refused = None
        for begin in range(0, 1 << 20, 512):
            wrap.send(*(call(id, "n" * 1024) for id in range(begin, begin + 512)))
            if harness.select_now(wrap.out.fd):
                refused = wrap.recv_json()
                break
        self.assertIsNotNone(refused, "a million calls in flight were taken")
        self.assertEqual(refused["error"]["data"]["aegis"]["code"], "RECORD_UNAVAILABLE")
        print(f"call {refused['id']} was refused; peak {wrap.peak_kib()} KiB")
        server.let_go()
        wrap.close_stdin()
        wrap.signal(signal.SIGTERM)
        wrap.wait()
        self.assertGreater(len(record.intents(self.check_record())), 1000)

    @harness.not_sanitized
    def test_few_descriptors(self):
        for most in range(3, 24):
            with self.subTest(most=most):
                signal.alarm(self.patience)
                limit = lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
                path = self.path(f"{most}.aarl")
                wrap = self.wrap(server=["/bin/cat"], audit=path, preexec_fn=limit)
                code = wrap.end()
                self.assertIn(code, (0, 125, 127), wrap.stderr())  # 127: the loader could not open its libraries
                if code == 125:
                    self.assertIn("Too many open files", wrap.own_words())
                if code == 0:
                    self.check_record(path)

    @harness.not_sanitized
    @harness.needs_root
    def test_no_process_can_be_made(self):
        os.chown(self.home, 65534, 65534)
        os.chown(self.dir, 65534, 65534)
        limit = lambda: resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        try:
            found = self.aegis("wrap", "--audit", self.audit, "--", "cat", user=65534, group=65534, extra_groups=[],
                               preexec_fn=limit)
        except PermissionError:
            self.skipTest("the binary lies where another user cannot reach it")
        self.assertEqual(found.returncode, 125, found.stderr)
        self.assertIn("Resource temporarily unavailable", found.stderr)

    def test_a_server_that_is_stopped_is_ended_all_the_same(self):
        wrap, server = self.puppet("--grace", "0")
        os.kill(server.pid, signal.SIGSTOP)
        wrap.send(call(1))
        server.let_go()
        self.assertEqual(wrap.end(), 128 + signal.SIGKILL)
        self.check_record()


class Company(harness.SessionCase):
    def test_a_client_that_closes_its_stderr(self):
        wrap, server = self.puppet(collects=False)
        wrap.process.stderr.close()
        server.complain(b"x\n" * 100000)
        wrap.send(call(1))
        self.assertEqual(server.recv(), call(1))
        server.send(answer(1))
        self.assertEqual(wrap.recv(), answer(1))
        server.exit(3)
        self.assertEqual(wrap.wait(), 3)
        self.check_record()

    def nested(self):
        """A wrap in a wrap: (outer, server); the inner one records to inner.aarl."""
        puppet = harness.Puppet(self.path("inner"))
        self.puppets.append(puppet)
        inner = [harness.AEGIS, "wrap", "--audit", self.path("inner.aarl"), "--", *puppet.argv]
        wrap = self.wrap(server=inner)
        return wrap, puppet.arrive(wrap)

    def test_a_wrap_in_a_wrap(self):
        wrap, server = self.nested()
        wrap.send(call(1))
        self.assertEqual(server.recv(), call(1))
        server.send(answer(1))
        self.assertEqual(wrap.recv(), answer(1))
        wrap.close_stdin()
        server.exit(7)
        self.assertEqual(wrap.wait(), 7)
        for path in (self.audit, self.path("inner.aarl")):
            found = record.outcomes(self.check_record(path))
            self.assertEqual(found[0]["response_digest"], record.frame_digest(answer(1)))

    def test_a_wrap_in_a_wrap_that_is_stopped_seals_both(self):
        wrap, server = self.nested()
        wrap.send(call(1))
        server.recv()
        server.let_go()
        wrap.signal(signal.SIGTERM)
        self.assertEqual(wrap.wait(), 128 + signal.SIGTERM)
        for path in (self.audit, self.path("inner.aarl")):
            self.assertEqual(len(record.outcomes(self.check_record(path))), 1)

    def test_a_wrap_in_a_wrap_that_is_killed_leaves_nothing(self):
        wrap, server = self.nested()
        server.do("daemons=5")
        server.let_go()
        wrap.signal(signal.SIGKILL)
        wrap.wait()
        self.assertEqual(harness.wait_gone(self.mark, 5), [])

    def test_a_killed_session_frees_its_file_at_once(self):
        wrap, server = self.puppet()
        server.do("daemons=20")
        wrap.signal(signal.SIGKILL)
        wrap.wait()
        again, server = self.puppet()
        self.assertNotIn("wait", again.collector.bytes.decode())
        again.close_stdin()
        server.exit(0)
        self.assertEqual(again.wait(), 0)

    def test_a_pipeline(self):
        """As people try it: frames from a file, the answers to the next program."""
        frames = self.write("frames", harness.request(0, "initialize") + call(1))
        words = [harness.AEGIS, "wrap", "--audit", self.audit, "--", harness.SCRIPT_SERVER, "serve"]
        shell = 'exec 2>/dev/null; cat "$0" | "$@" | cat'
        got = subprocess.run(["/bin/sh", "-c", shell, frames, *words], env=self.env(), capture_output=True, check=True)
        self.assertEqual([json.loads(line)["id"] for line in got.stdout.splitlines()], [0, 1])
        self.check_record()


if __name__ == "__main__":
    harness.main()
