#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a user gets wrong, and what aegis answers: the exit code, and words that say what, why and what to do.

With -v every command and its answer is printed.
"""

import os
import re
import socket
import stat
import sys
import unittest

import harness

NOBODY = 65534
POLICY = "version: 1\nrules: []\n"


class BadInput(harness.SessionCase):
    def refused(self, *argv, code=125, says=(), **options):
        """Runs aegis to its end: nothing on stdout, exactly this code, one line with these words."""
        found = self.aegis(*argv, **options)
        if "-v" in sys.argv:
            shown = " ".join(repr(word) if re.search(r"[^\w./=:-]", word) else word for word in argv[:12])
            text = f"  $ aegis {shown}\n  {found.stderr.strip()[:1500]}\n  -> {found.returncode}"
            print("\n" + text.replace(self.dir, "/tmp/t").encode(errors="replace").decode())
        self.assertEqual(found.returncode, code, found.stderr)
        self.assertEqual(found.stdout, "")
        own = [line for line in found.stderr.splitlines() if line.startswith("aegis: ")]
        self.assertTrue(own, found.stderr)
        for words in says:
            self.assertRegex(found.stderr, words)
        return found.stderr

    def wrap_refused(self, *flags, server=("cat",), **options):
        """The same for wrap; and its server never ran."""
        ran = self.path("ran")
        command = ("/bin/sh", "-c", f"touch {ran}") if server == ("cat",) else server
        named = () if "--audit" in flags else ("--audit", self.audit)
        said = self.refused("wrap", *named, *flags, "--", *command, **options)
        self.assertFalse(os.path.exists(ran), "the server was started")
        return said


class Command(BadInput):
    def test_no_server_command(self):
        self.refused("wrap", "--", says=["command"])
        self.refused("wrap", says=["--"])

    def test_no_separator(self):
        self.refused("wrap", "npx", "-y", "server", says=[r"(?s)--.*npx|npx.*--"])
        self.refused("wrap", "--policy", self.write("p", POLICY), "cat", says=["--"])

    def test_a_command_that_does_not_exist(self):
        self.wrap_refused(server=["/no/such/server"], code=127, says=["/no/such/server", "No such file|not found"])

    def test_a_command_not_in_the_path_that_the_client_passes(self):
        self.wrap_refused(server=["no-such-mcp-server"], code=127, says=["no-such-mcp-server", "PATH", "/usr/bin:/bin"])

    def test_a_command_that_cannot_be_executed(self):
        self.wrap_refused(server=[self.write("text", "hello\n")], code=126, says=["Permission denied|not executable"])
        script = self.write("script", "#!/no/such/interpreter\n")
        os.chmod(script, 0o755)
        self.refused("wrap", "--audit", self.audit, "--", script, code=127, says=[script, "interpreter"])
        self.wrap_refused(server=[self.dir], code=126)

    def test_flags(self):
        self.wrap_refused("--polcy", "x", says=["--polcy", "--policy"])
        self.wrap_refused("--durabilty", "off", says=["--durability"])
        self.wrap_refused("--durability", "sometimes", says=["call", "session", "off"])
        self.wrap_refused("--refuse-as", "joke", says=["error", "result"])
        self.wrap_refused("--max-frame", "-1", says=["--max-frame"])
        self.wrap_refused("--max-frame", "many", says=["--max-frame"])
        self.wrap_refused("--max-frame", "0", says=["--max-frame"])
        self.wrap_refused("--grace", "x", says=["--grace"])
        self.wrap_refused("--grace", "-1", says=["--grace"])
        self.wrap_refused("--policy", says=["--policy"])
        self.wrap_refused("stray", says=["stray"])

    def test_verbs(self):
        for words in (["warp", "--", "cat"], ["vrify", "x"], ["--frobnicate"]):
            found = self.aegis(*words)
            self.assertNotEqual(found.returncode, 0)
            self.assertEqual(found.stdout, "")
            self.assertTrue(found.stderr.startswith("aegis: "), found.stderr)
        found = self.aegis()
        self.assertNotEqual(found.returncode, 0)
        self.assertIn("wrap", found.stderr)
        self.assertIn("wrap", self.aegis("warp", "--", "cat").stderr)

    def test_help_and_version(self):
        found = self.aegis("--version")
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        self.assertRegex(found.stdout, r"^aegis \d+\.\d+")
        self.assertEqual(self.aegis("--help").returncode, 0)
        for verb in ("wrap", "keygen", "verify", "key", "recheck"):
            found = self.aegis(verb, "--help")
            self.assertEqual((found.returncode, found.stderr), (0, ""), verb)
            self.assertIn(f"aegis {verb}", found.stdout)

    def test_brackets_in_the_servers_arguments_are_the_servers(self):
        for words in (["[a,b]"], ["[]"], ["{}", "[x"], ["--", "[a,b]"]):
            log = self.path("log")
            found = self.aegis("wrap", "--audit", self.audit, "--", "/bin/sh", "-c",
                               'printf "%s\\n" "$@" >"$0"', log, *words)
            self.assertEqual(found.returncode, 0, found.stderr)
            self.assertEqual(harness.read_text(log).split("\n"), words)


class Keys(BadInput):
    SEED = "11" * 32 + "\n"

    def key(self, text=SEED, mode=0o600):
        path = self.write("signing.key", text)
        os.chmod(path, mode)
        return path

    def test_a_named_key_that_is_missing_is_not_made(self):
        self.wrap_refused("--signing-key", self.path("none"), says=[self.path("none"), "keygen"])
        self.assertFalse(os.path.exists(self.path("none")))

    def test_a_key_that_others_can_read(self):
        for mode in (0o644, 0o640, 0o604):
            self.wrap_refused("--signing-key", self.key(mode=mode), says=["chmod 600|0600"])

    def test_a_default_key_that_others_can_read(self):
        os.makedirs(os.path.join(self.home, ".config/aegis"))
        path = os.path.join(self.home, ".config/aegis/signing.key")
        os.rename(self.key(mode=0o644), path)
        self.wrap_refused(says=[path])

    def test_what_is_no_key(self):
        for text in ("", "xyz\n", "11" * 31, "11" * 33, "AB" * 32 + "\n", self.SEED + "more\n", b"\0" * 32,
                     "-----BEGIN"):
            with self.subTest(text):
                self.wrap_refused("--signing-key", self.key(text), says=["64"])
        self.wrap_refused("--signing-key", self.dir)
        os.mkfifo(self.path("fifo"), 0o600)
        self.wrap_refused("--signing-key", self.path("fifo"))

    def test_a_key_that_cannot_be_read(self):
        path = self.key()
        self.as_nobody()
        os.chown(self.dir, NOBODY, NOBODY)
        os.chown(self.home, NOBODY, NOBODY)
        self.wrap_refused("--signing-key", path, says=["Permission denied"], user=NOBODY, group=NOBODY, extra_groups=[])

    def as_nobody(self):
        if os.geteuid() != 0:
            self.skipTest("not root: cannot become another user")
        if not os.access(harness.AEGIS, os.X_OK) or not self.reachable():
            self.skipTest("the binary lies where another user cannot reach it")

    def reachable(self):
        path = os.path.dirname(os.path.realpath(harness.AEGIS))
        while path != "/":
            if not os.stat(path).st_mode & stat.S_IXOTH:
                return False
            path = os.path.dirname(path)
        return True

    def test_a_record_folder_that_cannot_be_written(self):
        self.as_nobody()
        os.chmod(self.dir, 0o755)
        os.chown(self.home, NOBODY, NOBODY)
        os.mkdir(self.path("locked"), 0o555)
        for audit in (self.path("locked", "r.aarl"), self.path("locked") + "/", self.path("locked")):
            self.wrap_refused("--audit", audit, says=["Permission denied", self.path("locked")],
                              user=NOBODY, group=NOBODY, extra_groups=[])

    def test_a_home_that_cannot_be_written(self):
        self.as_nobody()
        os.chmod(self.dir, 0o755)
        found = self.aegis("wrap", "--", "cat", user=NOBODY, group=NOBODY, extra_groups=[])
        self.assertEqual(found.returncode, 125)
        self.assertIn("Permission denied", found.stderr)

    def test_a_home_that_is_no_place_is_not_made(self):
        """Only looks: nothing may be made in the home that the user database names instead."""
        for env in ({}, {"HOME": ""}, {"HOME": "relative"}):
            with self.subTest(env):
                found = self.aegis("key", env={"PATH": "/usr/bin:/bin", **env}, cwd=self.dir)
                self.assertIn(found.returncode, (0, 2), found.stderr)
                self.assertEqual(os.listdir(self.dir), ["home"])

    def test_keygen(self):
        path = self.path("new.key")
        made = self.aegis("keygen", "--out", path)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertRegex(made.stdout, r"^public_key [0-9a-f]{64}\nkey_id     [0-9a-f]{64}\n$")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        kept = harness.read_bytes(path)
        self.assertRegex(kept, rb"^[0-9a-f]{64}\n$")
        self.refused("keygen", "--out", path, code=1, says=["--force"])
        self.assertEqual(harness.read_bytes(path), kept)
        self.assertEqual(self.aegis("keygen", "--out", path, "--force").returncode, 0)
        self.assertNotEqual(harness.read_bytes(path), kept)
        self.refused("keygen", "--out", self.path("none", "k"), code=1, says=["No such file"])
        shown = self.aegis("key", "--signing-key", path)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.refused("key", "--signing-key", self.path("none"), code=2, says=["o such file"])
        self.refused("key", code=2, says=["signing.key"])


class Policies(BadInput):
    ROWS = {
        "unknown field": (POLICY + "strict: true\n", ["p.yaml:3:1", "strict"]),
        "unknown field of a rule": ("version: 1\nrules:\n  - id: a\n    action: deny\n    tol: x\n", [":5:5", "tol"]),
        "missing rules": ("version: 1\n", ["rules"]),
        "missing version": ("rules: []\n", ["version"]),
        "empty": ("", ["version|empty"]),
        "duplicate id": ("version: 1\nrules:\n- {id: a, action: deny}\n- {id: a, action: deny}\n", [":4:8", "a"]),
        "repeated field": (POLICY + "version: 1\n", [":3:1", "version"]),
        "tab": ("version: 1\nrules:\n\t- id: a\n", [":3:"]),
        "anchor": ("version: 1\nrules: &a []\n", [":2:8", "anchor"]),
        "alias": ("version: 1\nrules: [*a]\n", ["alias|anchor"]),
        "2 MiB": (POLICY + "# " + "x" * (2 << 20) + "\n", ["MiB|1048576"]),
        "not utf-8": (POLICY.encode() + b"# \xff\n", ["UTF-8"]),
        "byte-order mark": (b"\xef\xbb\xbf" + POLICY.encode(), ["byte-order mark|byte order mark|BOM"]),
        "100000 brackets": ("[" * 100000, ["depth|deep|nest"]),
        "100000 braces": ("version: 1\nrules: " + "{a: " * 100000, ["depth|deep|nest"]),
        "two documents": (POLICY + "---\n" + POLICY, ["document"]),
        "directive": ("%YAML 1.1\n---\n" + POLICY, ["directive|%"]),
        "version 9": ("version: 9\nrules: []\n", [":1:10", "1"]),
        "wrong action": ("version: 1\nrules: [{id: a, action: forbid}]\n", ["forbid", "deny", "rate_limit"]),
        "rate missing": ("version: 1\nrules: [{id: a, action: rate_limit, tool: t}]\n", ["rate"]),
        "rate elsewhere": ("version: 1\nrules: [{id: a, action: deny, rate: {max: 1, per_seconds: 1}}]\n", ["rate"]),
        "rate of nothing": ("version: 1\nrules: [{id: a, action: rate_limit, rate: {max: 0, per_seconds: 1}}]\n",
                            ["max"]),
        "rules a map": ("version: 1\nrules: {}\n", [":2:8", "list|sequence"]),
        "no yaml": ("{{{{", [":1:"]),
        "nul": (POLICY.encode() + b"\0", ["control|NUL|U\\+0000"]),
        "line separator": (POLICY + "# a\u2028rules: x\n", ["2028"]),
        "star inside a name": ("version: 1\nrules: [{id: a, action: deny, tool: 'write_*'}]\n", ["\\*"]),
        "capability": ("version: 1\nrules: [{id: a, action: deny, capability: fs}]\n", ["capability"]),
    }

    def test_each_is_refused_with_its_place(self):
        for name, (text, says) in self.ROWS.items():
            with self.subTest(name):
                path = self.path("p.yaml")
                with open(path, "wb") as file:
                    file.write(text if isinstance(text, bytes) else text.encode())
                self.wrap_refused("--policy", path, says=[re.escape(path), *says])
                self.assertFalse(os.path.exists(self.audit) and os.path.getsize(self.audit), "a record was begun")

    def test_recheck_says_the_same_without_a_record(self):
        for name in ("unknown field", "tab", "100000 brackets", "not utf-8", "missing rules"):
            text, says = self.ROWS[name]
            path = self.write("p.yaml", text)
            with self.subTest(name):
                self.refused("recheck", "--policy", path, code=2, says=[re.escape(path), *says])

    def test_a_policy_that_is_not_there(self):
        self.wrap_refused("--policy", self.path("none"), says=[self.path("none"), "No such file"])
        self.wrap_refused("--policy", self.dir, says=["[Dd]irectory"])


class Records(BadInput):
    NOTES = "My notes\n- buy milk\n"

    def test_what_is_no_record_is_refused_untouched(self):
        rows = {"notes": self.NOTES, "json": '{"a":1}\n', "a list": "[1,2]\n", "blank": "\n",
                "an intent first": '{"call_id":"x","line_type":"intent","seq":0}\n'}
        for name, text in rows.items():
            with self.subTest(name):
                path = self.write(name, text)
                self.wrap_refused("--audit", path, says=[re.escape(path), "record"])
                self.assertEqual(harness.read_text(path), text.strip())
        self.assertEqual(sorted(os.listdir(self.dir)), sorted([*rows, "home"]))

    def test_a_fifo(self):
        os.mkfifo(self.path("fifo"))
        self.wrap_refused("--audit", self.path("fifo"), says=["regular file"])

    def test_a_socket(self):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.path("socket"))
            self.wrap_refused("--audit", self.path("socket"))

    def test_devices(self):
        self.wrap_refused("--audit", "/dev/full", says=["/dev/full", "regular file"])
        self.wrap_refused("--audit", "/dev/null", says=["/dev/null", "regular file"])

    def test_a_symlink(self):
        target = self.write("target", "")
        os.symlink(target, self.path("link"))
        self.wrap_refused("--audit", self.path("link"), says=["symbolic link|symlink"])
        self.assertEqual(harness.read_bytes(target), b"")
        os.symlink(self.path("nowhere"), self.path("dangling"))
        self.wrap_refused("--audit", self.path("dangling"), says=["symbolic link|symlink"])
        self.assertFalse(os.path.exists(self.path("nowhere")))

    def test_parents_are_not_made(self):
        self.wrap_refused("--audit", self.path("a", "b.aarl"), says=[self.path("a"), "No such|no folder"])
        self.wrap_refused("--audit", self.path("a") + "/", says=["No such|no folder"])
        self.assertFalse(os.path.exists(self.path("a")))

    def test_two_clients_with_one_file(self):
        first, server = self.puppet()
        said = self.wrap_refused(says=[re.escape(self.audit), "folder|directory"])
        self.assertRegex(said, "use|another|lock")
        server.exit(0)
        self.assertEqual(first.end(), 0)
        self.assertEqual(len(self.check_record()), 2)

    def test_a_stderr_log_that_cannot_be_opened(self):
        self.wrap_refused("--stderr-log", self.path("none", "log"), says=["No such file"])
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        self.wrap_refused("--stderr-log", fifo, says=[fifo, "a FIFO that nobody reads"])

    def test_a_stderr_log_that_is_a_file_of_aegis(self):
        policy, key = self.write("p.yaml", POLICY), self.write("key", "11" * 32 + "\n")
        os.chmod(key, 0o600)
        hard, soft = self.path("hard"), self.path("soft")
        for file, what, text in ((self.audit, "the record", ""), (key, "the signing key", None),
                                 (policy, "the policy", None)):
            text = harness.read_text(file) if text is None else text
            for log in (file, hard, soft):
                with self.subTest(what, log=log):
                    if log == hard:
                        os.link(file, log)
                    elif log == soft:
                        os.symlink(file, log)
                    self.wrap_refused("--policy", policy, "--signing-key", key, "--stderr-log", log,
                                      says=[re.escape(log), what, "name another file"])
                    self.assertEqual(harness.read_text(file), text)
                    if log != file:
                        os.unlink(log)
        default = os.path.join(self.home, ".config/aegis/signing.key")
        self.assertEqual(self.aegis("wrap", "--audit", self.path("folder-less.aarl"), "--", "true").returncode, 0)
        self.wrap_refused("--stderr-log", default, says=["the signing key"])
        os.mkdir(self.path("records"))
        self.assertEqual(self.aegis("wrap", "--audit", self.path("records"), "--stderr-log", self.path("log"), "--",
                                    "true").returncode, 0)


if __name__ == "__main__":
    harness.main()
