#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""No process of a server outlives its aegis, however either ends."""

import signal
import subprocess
import time
import unittest

import harness
from harness import call


class Survivors(harness.SessionCase):
    patience = 60
    # As npx does it: a shell, a child of it, and the server below them; none of them hears SIGTERM.
    TREE = ["/bin/sh", "-c", "trap '' TERM HUP; sh -c 'trap \"\" TERM; sleep 1000' & \"$@\" & wait", "sh"]

    def check_alive(self, more_than):
        """The server is there before all that its shell starts beside it is."""
        deadline = time.monotonic() + 20
        while len(found := harness.marked(self.mark)) <= more_than and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertGreater(len(found), more_than)

    def check_gone(self, within):
        self.assertEqual(harness.wait_gone(self.mark, within), [])

    def test_fifty_times_kill_leaves_nothing(self):
        for n in range(50):
            puppet = harness.Puppet(self.path(f"tree{n}"))
            self.puppets.append(puppet)
            wrap = self.wrap(server=[*self.TREE, *puppet.argv])
            puppet.arrive(wrap).do("deaf")
            self.check_alive(3)
            wrap.signal(signal.SIGKILL)
            wrap.wait()
            puppet.discard()
            self.check_gone(5)

    def test_killed_between_start_and_the_servers_start_leaves_nothing(self):
        for n in range(30):
            wrap = self.wrap(server=[harness.SCRIPT_SERVER, "deaf", "pause"], audit=None)
            time.sleep(n * 0.0003)  # not to wait for anything: to hit another moment each time
            wrap.signal(signal.SIGKILL)
            wrap.wait()
        self.check_gone(5)

    # A pid namespace in whose /proc 5 has thirty children; and in it another, with that /proc, where 5 is the keeper
    # (after two shells, a sleep and aegis) and one of those numbers is a stranger's.
    OUTER = """true & true & true & sh -c 'for n in $(seq 30); do sleep 1000 & done; wait' &
exec unshare --pid --fork "$@" """
    INNER = """sleep 2 | { "$@"; echo "$?" >"$CODE"; } &
sleep 1; sleep 1000 & stranger=$!
while ! [ -s "$CODE" ]; do sleep 0.1; done
kill -0 "$stranger" && cat "$CODE" """

    def test_in_the_proc_of_another_pid_namespace_no_stranger_is_taken_for_a_child(self):
        prefix = ["unshare", "--user", "--map-root-user", "--mount-proc", "--pid", "--fork"]
        if subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no user namespaces for unshare")
        run = subprocess.run([*prefix, "sh", "-c", self.OUTER, "sh", "sh", "-c", self.INNER, "sh", harness.AEGIS, "wrap",
                              "--audit", self.path("record"), "--grace", "0", "--", *self.TREE, "sleep", "1000"],
                             env=self.env(CODE=self.path("code")), stdout=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual(run.stdout, b"%d\n" % (128 + signal.SIGKILL))
        self.check_gone(10)

    def daemons(self, end, code):
        wrap, server = self.puppet("--grace", "0")
        server.do("daemons=200")
        self.check_alive(200)
        server.let_go()
        begin = time.monotonic()
        end(wrap, server)
        self.assertEqual(wrap.wait(), code)
        self.check_gone(10)
        print(f"200 daemons gone {time.monotonic() - begin:.3f} s after the end began")

    def test_200_deaf_daemons_after_the_server_ended(self):
        self.daemons(lambda wrap, server: server.exit(0), 0)

    def test_200_deaf_daemons_after_the_client_ended(self):
        self.daemons(lambda wrap, server: wrap.close_stdin(), 128 + signal.SIGTERM)

    def test_200_deaf_daemons_after_sigterm(self):
        self.daemons(lambda wrap, server: wrap.signal(signal.SIGTERM), 128 + signal.SIGTERM)

    def test_200_deaf_daemons_after_sigkill(self):
        self.daemons(lambda wrap, server: wrap.signal(signal.SIGKILL), -signal.SIGKILL)

    def test_a_tree_is_gone_when_aegis_has_ended(self):
        """Not some time after: a client that restarts the server must not meet its predecessor."""
        puppet = harness.Puppet(self.path("tree"))
        self.puppets.append(puppet)
        wrap = self.wrap("--grace", "1", server=[*self.TREE, *puppet.argv])
        puppet.arrive(wrap).do("deaf")
        wrap.send(call(1))
        puppet.recv()
        wrap.end()
        self.assertEqual(harness.marked(self.mark), [])


if __name__ == "__main__":
    harness.main()
