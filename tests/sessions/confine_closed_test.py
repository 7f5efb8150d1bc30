#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Confinement fails closed: whatever the kernel refuses, nothing runs, aegis says why and what to do, and neither
stderr nor the record says "confined" of a program that is not.

The kernel is made to refuse by a limit in a throwaway user namespace, by a mount in one, and by refuse_calls, which
answers system calls in its place: those of a layer that is missing, and each one of the setting up in turn.
"""

import collections
import concurrent.futures
import errno
import os
import shutil
import signal
import subprocess
import unittest

import confined
import harness
import record
from confined import ConfineCase
from harness import AEGIS

REFUSE = os.environ.get("AEGIS_REFUSE_CALLS", "")
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
VERSION = "landlock_create_ruleset:2=1"  # LANDLOCK_CREATE_RULESET_VERSION: asks for the ABI
REMEDY = r"\(.+\)"


def limit(kind):
    """In a user namespace of its own, where no namespace of this kind may be made."""
    return ["unshare", "--user", "--map-root-user", "sh", "-c",
            f'echo 0 > /proc/sys/user/max_{kind}_namespaces && exec "$@"', "sh"]


def mask(path):
    """In namespaces of its own, where something is mounted over a part of /proc."""
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
            f'mount -t tmpfs none {path} && exec "$@"', "sh"]


def refuse(*rules):
    return [REFUSE, *rules, "--"]


class ClosedCase(ConfineCase):
    patience = 200

    def setUp(self):
        self.assertTrue(os.access(REFUSE, os.X_OK), "set AEGIS_REFUSE_CALLS to refuse_calls")
        super().setUp()
        self.need(refuse("getppid:-1"))
        self.ran = os.path.join(self.workspace, "ran")

    def run_in(self, prefix, *words):
        return subprocess.run([*prefix, AEGIS, *words], env=self.env(), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)

    def need(self, prefix):
        tried = subprocess.run([*prefix, "true"], capture_output=True, text=True, check=False)
        if tried.returncode != 0:
            self.skipTest(f"{' '.join(prefix)}: {tried.stderr.strip()}")

    def assertClosed(self, prefix, tier, words, code=125):
        """Both verbs: nothing ran, nothing is claimed, and stderr has `words`."""
        for verb in (["confine"], ["wrap", "--audit", self.audit, "--confine"]):
            with self.subTest(prefix=prefix, tier=tier, verb=verb[0]):
                run = self.run_in(prefix, *verb, *tier, "--workspace", self.workspace, "--", "/usr/bin/touch", self.ran)
                self.assertEqual((run.returncode, run.stdout), (code, ""), run.stderr)
                self.assertRegex(run.stderr, words)
                self.assertNothingClaimed(run)
                self.assertFalse(os.path.exists(self.ran), "the program ran")

    def assertNothingClaimed(self, run):
        if os.path.exists(self.audit):
            lines = record.read(self.audit)
            os.unlink(self.audit)
            for line in lines:
                self.assertNotIn("confinement", line)
                self.assertNotIn("confined-", str(line))
        self.assertNotIn("confined: tier", run.stderr)

    def assertWeaker(self, prefix):
        """--best-effort takes what there is, and says so; it is what the record says."""
        run = self.run_in(prefix, "wrap", "--audit", self.audit, "--confine", "--best-effort", "--workspace",
                          self.workspace, "--", "/usr/bin/touch", self.ran)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("confined: tier landlock (best effort)", run.stderr)
        said = record.read(self.audit)[0]["confinement"]
        self.assertEqual((said["tier"], said["best_effort"], said["namespaces"]), ("landlock", True, []))
        os.unlink(self.audit)
        os.unlink(self.ran)


FULL, LANDLOCK, BEST = ["--tier", "full"], ["--tier", "landlock"], ["--best-effort"]


class Namespaces(ClosedCase):
    def test_each_kind_is_forbidden_by_its_limit(self):
        self.need(limit("user"))
        self.assertClosed(limit("user"), FULL,
                          r"user\.max_user_namespaces is 0.*\(sysctl -w user\.max_user_namespaces=")
        for kind in ("pid", "net", "mnt", "ipc", "uts", "cgroup"):
            self.assertClosed(limit(kind), FULL, r"No space left on device.*user\.max_\*_namespaces.*" + REMEDY)
        if confined.why_not("landlock") is None:
            self.assertWeaker(limit("user"))

    def test_each_kind_is_forbidden_by_a_filter(self):
        for flag in (CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS,
                     CLONE_NEWCGROUP):
            for code in (errno.EPERM, errno.EINVAL):
                self.assertClosed(refuse(f"clone:0&{flag}:-{code}"), FULL,
                                  "make new namespaces: .*namespaces?: .*" + REMEDY)

    def test_a_masked_proc(self):
        for path in ("/proc/sys", "/proc/irq"):
            self.need(mask(path))
            self.assertClosed(mask(path), FULL, r"private /proc: parts of /proc are masked.*systempaths=unconfined.*\)")

    def test_a_proc_of_another_pid_namespace(self):
        prefix = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]
        self.need(prefix)
        self.assertClosed(prefix, LANDLOCK, "confine in tier landlock: /proc: .*another pid namespace.*mount -t proc")


class Layers(ClosedCase):
    def test_no_landlock(self):
        for code, words in ((errno.ENOSYS, REMEDY),
                            (errno.EOPNOTSUPP, "switched off .the boot parameter lsm=landlock")):
            for tier in (FULL, LANDLOCK, BEST):
                self.assertClosed(refuse(f"landlock_create_ruleset:-{code}"), tier,
                                  r"(cannot|no tier can) be had here; landlock: .*" + words)

    def test_a_landlock_that_is_too_old(self):
        for abi, tier, words in ((1, FULL, "6.2"), (2, FULL, "6.2"), (1, LANDLOCK, "6.12"), (3, LANDLOCK, "6.12"),
                                 (5, LANDLOCK, "6.12"), (2, BEST, "6.2")):
            self.assertClosed(refuse(f"{VERSION}:{abi}"), tier, rf"ABI {abi} .*\(Linux {words} or newer\)")

    def test_an_old_landlock_that_will_do_is_what_the_record_says(self):
        run = self.run_in(refuse(f"{VERSION}:3"), "wrap", "--audit", self.audit, "--confine", "--", "/bin/true")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(record.read(self.audit)[0]["confinement"]["landlock_abi"], 3)

    def test_no_seccomp(self):
        for code in (errno.EINVAL, errno.EPERM, errno.ENOSYS):
            for rules in ([f"seccomp:0=1:-{code}", f"prctl:0=22:-{code}"], [f"seccomp:-{code}", f"prctl:0=22:-{code}"]):
                for tier in (FULL, LANDLOCK, BEST):
                    self.assertClosed(refuse(*rules), tier, r"seccomp: .*\(.+\)")

    def test_no_tmpfs_and_no_private_root(self):
        for name in ("fsopen", "fsconfig", "fsmount", "move_mount", "open_tree", "mount_setattr", "pivot_root", "mount",
                     "umount2"):
            for code in (errno.EPERM, errno.ENOSYS):
                self.assertClosed(refuse(f"{name}:-{code}"), FULL, "confin.*: .+: ")


# Not refused: they cannot fail, have nothing to do with what is enforced, or are the end.
HARMLESS = {"close", "fcntl", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "set_robust_list", "getpid", "getppid",
            "gettid", "geteuid", "getuid", "umask", "poll", "futex", "wait4", "exit_group", "brk", "munmap",
            "newfstatat", "getdents64"}  # these two count the user's threads, so their number varies
# AddressSanitizer's own, which gives up when it is refused.
OF_A_SANITIZER = {"sigaltstack"} if harness.IS_SANITIZED else set()
# Must stop it, where the sandbox is set up.
VITAL = {"mount", "fsopen", "fsconfig", "fsmount", "move_mount", "open_tree", "mount_setattr", "pivot_root", "umount2",
         "setsid", "chdir", "capset", "landlock_restrict_self", "seccomp", "dup2", "close_range", "execve", "vfork",
         "signalfd4", "fchdir", "landlock_add_rule"}
# All that a confined program can tell about its confinement. Not its place in line when memory is short, which may fail;
# nor kernel.pid_max, since for an ordinary user RLIMIT_NPROC does instead. One program at a time: a signal ends a call
# that waits for refuse_calls's answer.
REPORT = r"""
exec 2>&1
grep -E '^(Cap|NoNew|Seccomp|Sig[BIC]|[UG]id|Groups|NSpid|NSsid)' /proc/self/status
cat /proc/self/uid_map /proc/self/gid_map
cut -d' ' -f5-7 /proc/self/mountinfo; ls /proc/self/fd; ls / /dev /etc; ulimit -a; pwd; env; id; uname -n
cat "$0"; touch /x /etc/x /usr/x /dev/x "$1"; exec 3<>/dev/full; echo x >&3; kill -0 1
"""


class EachCall(ClosedCase):
    """One system call of the setting up refused, each in its turn. Then nothing runs, or the program finds itself in
    the very confinement of a run without a fault."""

    def command(self, verb, tier, ran):
        return [AEGIS, *verb, "--tier", tier, "--workspace", self.workspace, "--", "/bin/sh", "-c", REPORT,
                self.secret, ran]

    def run_with(self, rules, verb, tier, ran):
        """One that does not end is killed, and has the code None."""
        process = subprocess.Popen([*refuse(*rules), *self.command(verb, tier, ran)], env=self.env(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", start_new_session=True)
        try:
            output, _ = process.communicate(timeout=20)
            return subprocess.CompletedProcess(process.args, process.returncode, output)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return subprocess.CompletedProcess(process.args, None, process.communicate()[0] + "(it hung)")

    def calls(self, verb, tier):
        """What a run without a fault makes below aegis itself, up to its execve: ([(depth, name, nth)], its output)."""
        log = self.path("log")
        clean = self.run_with(["log=" + log], verb, tier, self.ran)
        self.assertTrue(os.path.exists(self.ran), clean.stdout)
        os.unlink(self.ran)
        with open(log, encoding="utf-8") as file:
            made = [(int(depth), name) for depth, name in (line.split() for line in file)]
        deepest = next(depth for depth, name in made if name == "execve" and depth > 0)
        counts, found = collections.Counter(), []
        for depth, name in made:
            counts[depth, name] += 1
            if depth > 0 and name not in HARMLESS | OF_A_SANITIZER:
                found.append((depth, name, counts[depth, name]))
            if (depth, name) == (deepest, "execve"):
                return found, clean.stdout
        raise AssertionError("no execve")

    def normal(self, output):
        """Without what differs from run to run: numbers of processes, of those that the user has, of the folder that
        stands for /tmp; and without advice."""
        left_out = ("NSpid", "NSsid", "process ", "TMPDIR", "aegis: ")
        return [line for line in output.splitlines() if not line.startswith(left_out)]

    def is_vital(self, tier, depth, name, deepest):
        """The program's process and, in tier full, the first one set up the sandbox; above is the keeper."""
        return name in VITAL and depth >= (deepest - 1 if tier == "full" else deepest)

    def judge(self, call, tier, clean, number, deepest):
        """None, or what is wrong; whether it ran."""
        depth, name, nth = call
        answer = f"-{errno.EPERM}"
        ran = f"{self.ran}{number}"
        run = self.run_with([f"{name}@{depth}.{nth}:{answer}"], ["confine"], tier, ran)
        what = f"{name}@{depth}.{nth}:{answer}, tier {tier}: {run.returncode} {run.stdout[-300:]!r}"
        has_run = os.path.exists(ran)
        if not has_run:
            said = run.stdout.count("aegis: confine: ")
            is_well = run.returncode in (125, 126, 127) and said >= 1 and run.stdout.count("\n") == said
            is_well |= "Cannot fork" in run.stdout  # it ran, under a bound that is too tight
            return (None if is_well else "stopped, but not well: " + what), False
        os.unlink(ran)
        if self.is_vital(tier, depth, name, deepest):
            return "ran: " + what, True
        got = self.normal(run.stdout.replace(ran, self.ran))
        return (None if got == clean else f"ran otherwise: {what}: {set(got) ^ set(clean)}"), True

    def sweep(self, tier):
        found, output = self.calls(["confine"], tier)
        clean = self.normal(output)
        step = 7 if harness.IS_SANITIZED else 1
        chosen = found[::step]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            done = list(pool.map(lambda each: self.judge(each[1], tier, clean, each[0], found[-1][0]),
                                 enumerate(chosen)))
        self.assertEqual([wrong for wrong, _ in done if wrong], [])
        stopped = sum(not has_run for _, has_run in done)
        self.assertGreater(stopped, 0)
        names = {name for _, name, _ in found}
        return names, len(chosen), stopped

    def test_in_tier_full(self):
        names, tried, stopped = self.sweep("full")
        print(f"tier full: {tried} calls refused one by one, {stopped} of them stopped it")
        missing = VITAL - names
        self.assertLessEqual(missing, {"fchdir", "chdir", "umount2", "signalfd4", "dup2"}, names)

    @unittest.skipIf(confined.why_not("landlock"), "tier landlock cannot be had here")
    def test_in_tier_landlock(self):
        _, tried, stopped = self.sweep("landlock")
        print(f"tier landlock: {tried} calls refused one by one, {stopped} of them stopped it")

    def test_no_record_claims_what_did_not_happen(self):
        verb = ["wrap", "--audit", self.audit, "--confine"]
        for tier in confined.tiers():
            found, _ = self.calls(verb, tier)
            os.unlink(self.audit)
            first = {}
            for call in found:
                first.setdefault(call[:2], call)
            for depth, name, nth in first.values():
                with self.subTest(tier=tier, call=name, depth=depth):
                    run = self.run_with([f"{name}@{depth}.{nth}:-{errno.EPERM}"], verb, tier, self.ran)
                    if os.path.exists(self.ran):
                        os.unlink(self.ran)
                        self.assertFalse(self.is_vital(tier, depth, name, found[-1][0]))
                        self.assertEqual(record.read(self.audit)[0]["confinement"]["tier"], tier)
                        os.unlink(self.audit)
                        continue
                    self.assertIn(run.returncode, (125, 126, 127), run.stdout)
                    run.stderr = run.stdout
                    self.assertNothingClaimed(run)

    def test_a_death_before_the_program_runs_is_no_start(self):
        """The first process, the program's or the keeper killed at the worst moments."""
        for tier in confined.tiers():
            found, _ = self.calls(["wrap", "--audit", self.audit, "--confine"], tier)
            os.unlink(self.audit)
            depth = found[-1][0]
            for at, name in ((depth, "seccomp"), (depth, "execve"), (depth, "landlock_restrict_self"),
                             (depth - 1, "write"), (depth - 1, "vfork" if tier == "full" else "clone")):
                if (at, name, 1) not in found:
                    continue
                with self.subTest(tier=tier, depth=at, call=name):
                    run = self.run_with([f"{name}@{at}.1:kill"], ["wrap", "--audit", self.audit, "--confine"], tier,
                                        self.ran)
                    self.assertFalse(os.path.exists(self.ran), "the program ran")
                    self.assertNotEqual(run.returncode, 0)
                    run.stderr = run.stdout
                    self.assertNothingClaimed(run)


class OrdinaryUser(ClosedCase):
    @harness.needs_root
    def test_the_same_for_an_ordinary_user(self):
        program = confined.give_to_nobody(self)
        helper = shutil.copy(REFUSE, self.dir)
        os.chmod(helper, 0o755)
        rows = [([helper, f"clone:0&{CLONE_NEWUSER}:-1", "--"], "full", "user namespace"),
                ([helper, "landlock_create_ruleset:-38", "--"], "full", "landlock"),
                ([helper, "landlock_create_ruleset:-38", "--"], "landlock", "landlock"),
                ([helper, "seccomp:0=1:-22", "prctl:0=22:-22", "--"], "full", "seccomp"),
                (limit("user"), "full", "max_user_namespaces")]
        for prefix, tier, words in rows:
            with self.subTest(prefix=prefix, tier=tier):
                run = subprocess.run([*confined.AS_NOBODY, *prefix, program, "wrap", "--audit", self.audit, "--confine",
                                      "--tier", tier, "--workspace", self.workspace, "--", "/usr/bin/touch", self.ran],
                                     env=self.env(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                     check=False)
                self.assertEqual((run.returncode, run.stdout), (125, ""), run.stderr)
                self.assertIn(words, run.stderr)
                self.assertFalse(os.path.exists(self.ran))
                self.assertNothingClaimed(run)


if __name__ == "__main__":
    harness.main()
