#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""aegis confine from outside: its exit codes, its usage, the three streams, its end, and the bounds. What a confined
program can reach is tests/probes'; what the record says of it is confine_record_test.py's."""

import itertools
import os
import re
import signal
import subprocess
import time
import unittest

import confined
import harness
from confined import AS_NOBODY, PYTHON, ConfineCase
from harness import AEGIS

MIB = 1 << 20


class Codes(ConfineCase):
    def test_the_commands_own_and_its_signals(self):
        rows = [(f"exit {n}", n) for n in (0, 1, 42, 124, 125, 255)]
        rows += [(f"kill -{n} $$", 128 + n)
                 for n in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGPIPE)]
        for tier, (script, code) in itertools.product(confined.tiers(), rows):
            with self.subTest(tier=tier, script=script):
                self.assertEnded(self.shell(script, "--tier", tier), code)

    def test_a_command_that_cannot_be_run(self):
        self.write("plain", "text\n")
        os.chmod(self.write("lost", "#!/nowhere/interpreter\n"), 0o755)
        rows = [("/nowhere/program", 127), ("no-such-program-anywhere", 127), (self.path("lost"), 127),
                (self.path("plain"), 126), (self.dir, 126)]
        for tier, (program, code) in itertools.product(confined.tiers(), rows):
            for verb in (["confine"], ["wrap", "--audit", self.audit, "--confine"]):
                with self.subTest(tier=tier, program=program, verb=verb[0]):
                    run = self.aegis(*verb, "--tier", tier, "--", program)
                    self.assertEqual((run.returncode, run.stdout), (code, ""), run.stderr)
                    self.assertIn(program, run.stderr)

    def test_what_cannot_be_had_is_125_and_runs_nothing(self):
        ran = os.path.join(self.workspace, "ran")
        plain = self.write("plain", "text\n")
        rows = [(["--allow-read", "/nowhere/file"], "--allow-read /nowhere/file"),
                (["--allow-write", "/nowhere/file"], "--allow-write /nowhere/file"),
                (["--allow-exec", plain + "/x"], "--allow-exec " + plain + "/x"),
                (["--allow-read", "/proc/self/fd"], "/proc"),
                (["--allow-read", ""], "--allow-read"),
                (["--workspace", "/nowhere"], "--workspace /nowhere"),
                (["--workspace", plain], "--workspace: " + plain),
                (["--profile", "/nowhere/profile"], "/nowhere/profile"),
                (["--profile", plain], plain)]
        for flags, words in rows:
            for verb in (["confine"], ["wrap", "--audit", self.audit, "--confine"]):
                with self.subTest(flags=flags, verb=verb[0]):
                    run = self.aegis(*verb, "--allow-write", self.workspace, *flags, "--", "/usr/bin/touch", ran)
                    self.assertEqual((run.returncode, run.stdout), (125, ""), run.stderr)
                    self.assertIn(words, run.stderr)
                    self.assertFalse(os.path.exists(ran))


class Usage(ConfineCase):
    def test_values_that_are_none(self):
        rows = [("--tier", "half", "full or landlock"), ("--allow-net", "example.org", "no port"),
                ("--allow-net", "example.org:0", "port"), ("--allow-net", "example.org:70000", "port"),
                ("--allow-env", "A B", "NAME=VALUE"), ("--allow-env", "=x", "NAME=VALUE"),
                ("--profile", "nod", "node, python, system"), ("--max-memory", "many", "bytes"),
                ("--max-memory", "-1", "bytes"), ("--max-memory", "1023", "bytes"), ("--max-file-size", "0", "bytes"),
                ("--max-output", "1.5MiB", "bytes"), ("--max-pids", "300", "301"), ("--max-pids", "x", "whole number"),
                ("--max-open-files", "1", "whole number"), ("--max-cpu-seconds", "0", "whole number"),
                ("--max-new-files", "-3", "whole number")]
        for verb, (flag, value, words) in itertools.product((["confine"], ["wrap", "--confine"]), rows):
            with self.subTest(verb=verb[0], flag=flag, value=value):
                run = self.aegis(*verb, flag, value, "--", "/bin/echo", "ran")
                self.assertEqual((run.returncode, run.stdout), (125, ""), run.stderr)
                self.assertIn(flag, run.stderr)
                self.assertIn(words, run.stderr)
                self.assertEqual(run.stderr.count("\n"), 1, run.stderr)

    def test_what_only_tier_full_can_do_is_refused_in_the_other(self):
        for flags in (["--max-new-files", "3"], ["--allow-net", "127.0.0.1:9"]):
            with self.subTest(flags):
                run = self.aegis("confine", "--tier", "landlock", *flags, "--", "/bin/true")
                self.assertEqual(run.returncode, 125)
                self.assertRegex(run.stderr, f"^aegis: confine: {flags[0]}: .*needs (--)?tier full.*\\n$")

    def test_each_of_these_flags_does_nothing_without_confine(self):
        rows = [[flag, "x"] for flag in ("--allow-read", "--allow-write", "--allow-exec", "--allow-net", "--allow-env",
                                         "--profile", "--workspace", "--max-memory", "--max-file-size",
                                         "--max-output")]
        rows += [[flag, "1"] for flag in ("--max-cpu-seconds", "--max-new-files")]
        rows += [["--max-pids", "400"], ["--max-open-files", "64"], ["--tier", "full"], ["--best-effort"],
                 ["--allow-exec-support"], ["--show-profile"], ["--allow-config-write"], ["--explain"]]
        shown = self.aegis("confine", "--help").stdout
        known = {line.split()[0] for line in shown.splitlines() if line.strip().startswith("--")} - {"--help"}
        self.assertEqual({flags[0] for flags in rows}, known, "the flags of confinement and this test's")
        for flags in rows:
            with self.subTest(flags=flags):
                run = self.aegis("wrap", *flags, "--", "/bin/echo", "ran")
                self.assertEqual((run.returncode, run.stdout), (125, ""))
                self.assertIn(f"{flags[0]}: it does nothing without --confine", run.stderr)

    def test_a_network_grant_needs_tier_full(self):
        run = self.aegis("confine", "--tier", "landlock", "--allow-net", "127.0.0.1:80", "--", "/bin/echo", "ran")
        self.assertEqual((run.returncode, run.stdout), (125, ""))
        self.assertIn("needs --tier full", run.stderr)

    def test_a_profile_is_shown_and_nothing_is_run(self):
        for flags, words in ((["--", PYTHON, "x.py"], "UV_OFFLINE"), (["--profile", "node", "--", "/bin/true"], "npx"),
                             (["--profile", "minimal", "--", "/bin/true"], "statically")):
            for verb in (["confine"], ["wrap", "--confine"]):
                with self.subTest(flags=flags, verb=verb[0]):
                    run = self.aegis(*verb, "--show-profile", *flags)
                    self.assertEqual((run.returncode, run.stderr), (0, ""))
                    self.assertIn(words, run.stdout)
                    self.assertIn("\nenv PATH\n", run.stdout)
        shown = self.write("profile", self.aegis("confine", "--show-profile", "--", "/bin/true").stdout)
        self.assertEnded(self.confine("--profile", shown, command=["/bin/true"]), 0)


class Streams(ConfineCase):
    def test_ten_mebibytes_of_anything_both_ways(self):
        data = os.urandom(10 * MIB)
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                run = self.confine("--tier", tier, command=["cat"], input=data)
                self.assertSame(run.stdout, data)
                run = self.shell("cat >&2; echo end", "--tier", tier, input=data)
                self.assertHolds(run.stderr, data)
                self.assertEqual(run.stdout, b"end\n")

    def test_every_byte_and_lines_of_any_length(self):
        every = bytes(range(256)) * 3
        rows = [b"", b"\n", b"\0", every, b"\xff\xfe" * 9, b"x" * (3 * MIB), b"\n" * 70000, b"no newline"]
        for data in rows:
            with self.subTest(size=len(data), begins=data[:8]):
                run = self.confine(command=["cat"], input=data)
                self.assertSame(run.stdout, data)
                self.assertEqual(run.stderr, b"")

    def test_bytes_pass_when_they_come_and_not_at_the_end(self):
        process = self.start(command=["cat"])
        for word in (b"one\n", b"two", b"\0"):
            os.write(process.stdin.fileno(), word)
            self.assertEqual(os.read(process.stdout.fileno(), 100), word)
        self.assertEqual((process.communicate(), process.returncode), ((b"", b""), 0))

    def test_the_end_of_one_stream_is_the_end_of_that_one_alone(self):
        process = self.start(command=["/bin/sh", "-c", "exec 1>&-; read x; echo $x >&2; exit 5"])
        self.assertEqual(process.stdout.read(), b"")  # while the command lives
        os.write(process.stdin.fileno(), b"still here\n")
        self.assertEqual((process.stderr.read(), process.wait()), (b"still here\n", 5))

    def test_input_that_nobody_reads(self):
        self.assertEnded(self.confine(command=["/bin/true"], input=b"x" * MIB), 0)
        self.assertEnded(self.shell("exec 0<&-; exit 3", input=b"x" * MIB), 3)

    def test_output_that_nobody_reads(self):
        process = self.start(command=["yes"])
        process.stdout.read(100)
        process.stdout.close()
        self.assertEqual(process.wait(), 128 + signal.SIGPIPE)

    def test_what_a_command_leaves_behind_holds_nothing(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                begin = time.monotonic()
                script = "(trap '' TERM HUP; setsid sleep 1000) & echo ok; exit 4"
                self.assertEnded(self.shell(script, "--tier", tier), 4)
                self.assertLess(time.monotonic() - begin, 5)

    def test_closed_descriptors_and_a_bare_environment(self):
        for closed in itertools.chain.from_iterable(itertools.combinations("012", n) for n in range(4)):
            with self.subTest(closed=closed):
                closing = "".join(f" {fd}{'<' if fd == '0' else '>'}&-" for fd in closed)
                # To a closed stdout nothing can be written, which a program may die of.
                script = "cat; echo out; " if "1" not in closed else ""
                run = subprocess.run(["env", "-i", "HOME=" + self.home, f"{harness.MARK}={self.mark}", "setsid", "-w",
                                      "sh", "-c", f'exec "$@" {closing}', "sh", AEGIS, "confine", "--", "/bin/sh", "-c",
                                      script + "echo err >&2; ls -l /proc/self/fd >&2; exit 6"], input=b"in\n",
                                     capture_output=True, check=False)
                self.assertEqual(run.returncode, 6, run.stderr)
                if "1" not in closed:
                    self.assertEqual(run.stdout, b"out\n" if "0" in closed else b"in\nout\n")
                if "2" not in closed:
                    self.assertTrue(run.stderr.startswith(b"err\n"), run.stderr)
                    self.assertEqual(run.stderr.count(b" -> "), 4, run.stderr)  # three, and that of the listing

    def test_a_working_directory_that_is_gone(self):
        gone = self.path("gone")
        os.mkdir(gone)
        in_it = ["sh", "-c", f'cd {gone} && rmdir {gone} && exec "$@"', "sh", AEGIS, "confine"]
        for flags, code, output in (([], 125, ""), (["--workspace", self.workspace], 0, self.workspace + "\n")):
            with self.subTest(flags=flags):
                os.makedirs(gone, exist_ok=True)
                run = subprocess.run([*in_it, *flags, "--", "/bin/pwd"], capture_output=True, text=True, check=False,
                                     env=self.env())
                self.assertEqual((run.returncode, run.stdout), (code, output), run.stderr)

    def test_the_words_of_aegis_stay_outside(self):
        run = self.shell("tr '\\0' ' ' </proc/1/cmdline; tr '\\0' ' ' </proc/1/comm", "--allow-env", "TOKEN=hunter2")
        self.assertEnded(run, 0)
        self.assertEqual(run.stdout.split(), [b"aegis-init", b"aegis-init"])

    def test_the_environment_that_crosses(self):
        env = self.env(SECRET="s3cret", LC_ALL="C", GIVEN="1")
        run = self.confine("--allow-env", "GIVEN", "--allow-env", "MADE=2=3", command=["/usr/bin/env"], env=env)
        names = dict(line.split("=", 1) for line in run.stdout.decode().splitlines())
        self.assertEqual(names, {"HOME": self.home, "PATH": env["PATH"], "LC_ALL": "C", "GIVEN": "1", "MADE": "2=3",
                                 "TMPDIR": "/tmp"})

    def test_a_file_for_a_home_is_no_home(self):
        for home in ("/dev/null", self.write("no-home", "")):
            with self.subTest(home):
                run = self.confine(command=["/bin/true"], env=self.env(HOME=home))
                self.assertEnded(run, 0)


class End(ConfineCase):
    def stop(self, script, *signals, tier="full"):
        """Gives the exit code, what came after the signal, and how long it took."""
        process = self.start("--tier", tier, command=["/bin/sh", "-c", script])
        self.assertEqual(process.stdout.readline(), b"here\n")
        begin = time.monotonic()
        for number in signals:
            process.send_signal(number)
            time.sleep(0.05)
        rest = process.stdout.read()
        return process.wait(), rest, time.monotonic() - begin

    def test_a_signal_to_aegis_reaches_the_command_which_may_say_its_last(self):
        script = "trap 'echo bye; exit 9' TERM; echo here; while :; do sleep 0.02; done"
        for tier, number in itertools.product(confined.tiers(), (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)):
            with self.subTest(tier=tier, number=number):
                code, rest, _ = self.stop(script, number, tier=tier)
                self.assertEqual((code, rest), (128 + number, b"bye\n"))

    def test_a_deaf_command_is_killed_after_the_grace_or_the_second_signal(self):
        script = "trap '' TERM INT HUP; echo here; while :; do sleep 0.02; done"
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                code, _, took = self.stop(script, signal.SIGTERM, tier=tier)
                self.assertEqual(code, 128 + signal.SIGTERM)
                self.assertTrue(0.9 < took < 8, took)
                took = 1
                for _ in range(5):  # a loaded machine may need more than one try
                    if took < 0.9:
                        break
                    code, _, took = self.stop(script, signal.SIGTERM, signal.SIGINT, tier=tier)
                    self.assertEqual(code, 128 + signal.SIGINT)
                self.assertLess(took, 0.9)


class Bounds(ConfineCase):
    def test_output_is_cut_at_the_byte(self):
        limit = 100_000
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                flags = ["--tier", tier, "--max-output", str(limit)]
                run = self.shell(f"head -c {limit} /dev/zero", *flags)
                self.assertEqual((run.returncode, len(run.stdout)), (0, limit), run.stderr[-200:])
                run = self.shell(f"head -c {limit + 1} /dev/zero; sleep 60", *flags)
                self.assertEnded(run, 128 + signal.SIGKILL, b"more than --max-output 100000 bytes")
                self.assertEqual(len(run.stdout), limit)
                run = self.shell("yes", *flags)
                self.assertEqual((run.returncode, len(run.stdout)), (128 + signal.SIGKILL, limit))
                run = self.shell("printf 1234567890 >&2; yes", *flags)
                self.assertEqual((run.returncode, len(run.stdout)), (128 + signal.SIGKILL, limit - 10))

    @harness.not_sanitized
    def test_memory(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                script = "import sys\ntry: bytearray({0} << 20); print('had')\nexcept MemoryError: print('refused')"
                flags = ["--tier", tier, "--max-memory", "96MiB"]
                self.assertEqual(self.python(script.format(48), *flags).stdout, b"had\n")
                self.assertEqual(self.python(script.format(128), *flags).stdout, b"refused\n")

    @harness.not_sanitized
    def test_too_little_memory_to_start_is_called_that(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                run = self.confine("--tier", tier, "--max-memory", "64KiB", command=["/bin/true"])
                # Where there is no cgroup the program may start, and its loader says the like.
                words = b"cannot allocate" if run.returncode == 127 else b"--max-memory 65536 bytes may be too little"
                self.assertIn(words, run.stderr)
                self.assertIn(run.returncode, (125, 126, 127), run.stderr)

    def test_size_of_a_file(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                path = os.path.join(self.workspace, tier)
                run = self.python("import errno, sys\n"
                                  f"file = open({path!r}, 'wb', 0)\n"
                                  "try:\n  for _ in range(64): file.write(bytes(65536))\n"
                                  "except OSError as error: print(errno.errorcode[error.errno])",
                                  "--tier", tier, "--workspace", self.workspace, "--max-file-size", "1MiB")
                self.assertEqual((run.returncode, run.stdout, os.path.getsize(path)), (0, b"EFBIG\n", MIB), run.stderr)

    def test_open_files(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                run = self.python("import errno, os\nfds = []\n"
                                  "try:\n  while True: fds.append(os.dup(0))\n"
                                  "except OSError as error: print(fds[-1], errno.errorcode[error.errno])",
                                  "--tier", tier, "--max-open-files", "100")
                self.assertEqual(run.stdout, b"99 EMFILE\n", run.stderr)

    def test_the_least_that_a_usage_error_names_can_be_had(self):
        for flag in ("--max-open-files", "--max-cpu-seconds", "--max-pids"):
            with self.subTest(flag=flag):
                words = self.aegis("confine", flag, "0", "--", "/bin/true").stderr
                least = re.search(r"from (\d+) to|at least (\d+)", words)
                self.assertTrue(least, words)
                tier = "landlock" if least[1] and flag == "--max-pids" and "landlock" in confined.tiers() else "full"
                run = self.confine("--tier", tier, flag, least[1] or least[2], command=["/bin/true"])
                self.assertEqual(run.returncode, 0, run.stderr)

    def test_processor_time(self):
        run = self.shell("while :; do :; done", "--max-cpu-seconds", "1")
        self.assertEnded(run, 128 + signal.SIGXCPU)

    def test_new_files(self):
        run = self.python("import errno\ncount = 0\ntry:\n  while count < 1000:\n"
                          "    open(f'/tmp/{count}', 'x').close(); count += 1\n"
                          "except OSError as error: print(count, errno.errorcode[error.errno])", "--max-new-files", "20")
        count, name = run.stdout.split()
        self.assertEqual(name, b"ENOSPC")
        self.assertEqual(int(count), 20)


class Tiers(ConfineCase):
    tier = "landlock"

    def test_the_sandbox_is_the_first_to_end_when_memory_is_short(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                self.assertEnded(self.shell("exec cat /proc/self/oom_score_adj", "--tier", tier), 0)
                self.assertEqual(self.shell("exec cat /proc/self/oom_score_adj", "--tier", tier).stdout, b"1000\n")

    def test_landlock_says_what_it_cannot_do_and_full_has_nothing_to_say(self):
        run = self.confine("--tier", "landlock", command=["/bin/true"])
        lines = run.stderr.decode().splitlines()
        self.assertEqual({line.split(": ")[2] for line in lines}, {"tier landlock"})
        for words in ("stat", "chmod", "/dev/shm", "read-only", "network", "processes", "kill -9"):
            self.assertTrue(any(words in line for line in lines), words)
        if confined.why_not("full") is None:
            for flags in ([], ["--best-effort"], ["--tier", "full"]):
                self.assertEqual(self.confine(*flags, command=["/bin/true"]).stderr, b"", flags)

    def test_the_file_that_was_not_granted(self):
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                run = self.confine("--tier", tier, "--workspace", self.workspace, command=["cat", self.secret])
                self.assertEqual((run.returncode, run.stdout), (1, b""))
                run = self.confine("--tier", tier, "--allow-read", self.secret, command=["cat", self.secret])
                self.assertEqual((run.returncode, run.stdout), (0, b"what nobody granted\n"))

    def test_a_hint_names_nothing_that_the_next_start_would_refuse_or_that_is_granted(self):
        key = os.path.join(self.env()["HOME"], ".config/aegis/signing.key")
        if not os.path.exists(key):
            self.assertEqual(self.aegis("keygen").returncode, 0)
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                run = self.confine("--tier", tier, command=["/bin/cat", key, self.secret])
                self.assertIn(f"--allow-read {self.secret}\n".encode(), run.stderr)
                self.assertNotIn(f"--allow-read {key}".encode(), run.stderr)
                self.assertNotIn(b"--allow-read /bin", run.stderr)

    @harness.needs_root
    def test_as_an_ordinary_user(self):
        program = confined.give_to_nobody(self)
        for tier in confined.tiers():
            with self.subTest(tier=tier):
                script = f"id -u; cat; pwd; echo x > made; cat {self.secret}; exit 7"
                run = subprocess.run([*AS_NOBODY, program, "confine", "--tier", tier, "--workspace", self.workspace,
                                      "--", "/bin/sh", "-c", script],
                                     input=b"in\n", capture_output=True, env=self.env(), check=False)
                self.assertEqual(run.returncode, 7, run.stderr)
                self.assertEqual(run.stdout.decode(), f"65534\nin\n{self.workspace}\n")
                self.assertEqual(os.stat(os.path.join(self.workspace, "made")).st_uid, confined.NOBODY)

    @harness.needs_root
    def test_a_workspace_that_its_user_may_not_enter_is_named(self):
        program = confined.give_to_nobody(self)
        os.chmod(self.workspace, 0)
        run = subprocess.run([*AS_NOBODY, program, "confine", "--workspace", self.workspace, "--", "/bin/true"],
                             capture_output=True, text=True, env=self.env(), check=False)
        self.assertEqual(run.returncode, 125)
        self.assertRegex(run.stderr, f"^aegis: confine: .*{self.workspace}.*: Permission denied\n$")


if __name__ == "__main__":
    harness.main()
