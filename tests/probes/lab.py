# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Where attempts are made: a scratch folder for each user, an attacker beside the victims of probe_host, unconfined
in a throwaway namespace or under `aegis confine`. Knows no attempt by its name."""

import atexit
import concurrent.futures
import ctypes
import functools
import glob
import os
import queue
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from dataclasses import dataclass, field

AEGIS = os.environ.get("AEGIS_BIN", "")
PROBE = os.environ.get("AEGIS_PROBE", "")
HOST = os.environ.get("AEGIS_PROBE_HOST", "")
SKIPPED = 77  # what ctest takes for "this test was skipped"
SECRET = "only-for-the-host"
MARK = "AEGIS_TEST_MARK"
ORDINARY = 65534
CROWD = 4  # labs of one user
PATIENCE = 30  # seconds that one run may take
TIERS = ("full", "landlock")
THROWAWAY = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--net", "--ipc", "--uts",
             "--cgroup", "--mount-proc", "--kill-child"]
HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass
class Outcome:
    """What the attacker said of one attempt."""
    verdict: str
    errno: str = "-"
    words: str = ""

    def __str__(self):
        return f"{self.verdict} {self.errno} {self.words}"


@dataclass
class Run:
    """What came of one attacker."""
    status: int
    outcomes: dict = field(default_factory=dict)
    harm: list = field(default_factory=list)
    stdout: str = ""
    stderr: str = ""


def parse(text, run):
    for line in text.splitlines():
        words = line.split(" ", 3)
        if words[0] == "harm":
            run.harm.append(line[5:])
        elif len(words) >= 3 and words[1] in ("reached", "refused", "tried", "broken"):
            run.outcomes[words[0]] = Outcome(words[1], words[2], words[3] if len(words) > 3 else "")


def a_block_device():
    """Some disk of the host, to be opened for reading at most; a path that is none where there is none."""
    for name in sorted(os.listdir("/dev")):
        try:
            if stat.S_ISBLK(os.stat(f"/dev/{name}").st_mode):
                return f"/dev/{name}"
        except OSError:
            pass
    return "/dev/no-disk"


def remove_tree(path):
    """Whatever an attacker has made of its modes."""
    if os.path.isdir(path):
        os.chmod(path, 0o700)
    for folder, names, _ in os.walk(path):
        for each in names:
            if not os.path.islink(os.path.join(folder, each)):
                os.chmod(os.path.join(folder, each), 0o700)
    shutil.rmtree(path, ignore_errors=True)


class Lab:
    """One user's folders. `own` is what the attacker is given; `victims` exists while it is attacked. One attack at a
    time; `others` are more of the same user."""

    def __init__(self, base, uid, number=0):
        self.uid = uid
        self.name = "root" if uid == 0 else f"uid {uid}"
        self.base = os.path.join(base, f"{uid}-{number}")
        self.own, self.victims, self.readable, self.home = (
            os.path.join(self.base, name) for name in ("own", "victims", "readable", "home"))
        self.mark = uuid.uuid4().hex
        self.bin = os.path.join(base, "bin")
        self.probe = os.path.join(self.bin, "probe")
        self.aegis = os.path.join(self.bin, "aegis")
        self.host = os.path.join(self.bin, "probe_host")
        os.mkdir(self.base, 0o755)
        os.mkdir(self.own)
        os.mkdir(self.readable)
        self._write("home/.config/aegis/signing.key", SECRET + "\n", 0o600)
        self._write("home/.ssh/id_ed25519", SECRET + "\n", 0o600)
        self._write("home/.bashrc", "# as it was\n")
        self.hand_over()
        self.others = [Lab(base, uid, more) for more in range(1, CROWD)] if number == 0 else []

    def _write(self, name, text, mode=0o644):
        path = os.path.join(self.base, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def hand_over(self):
        """What root has made for this user becomes the user's."""
        if os.geteuid() != 0 or self.uid == 0:
            return
        for folder, folders, files in os.walk(self.base):
            for name in [folder] + [os.path.join(folder, name) for name in folders + files]:
                os.chown(name, self.uid, self.uid, follow_symlinks=False)

    def settle(self):
        """All as it is before an attempt."""
        for path in (self.victims, self.own, self.own + "-moved", self.readable):
            remove_tree(path)
        os.mkdir(self.own)
        os.mkdir(self.readable)
        self._write("readable/file", "as it was\n")
        self._write("readable/doomed", "as it was\n")
        shutil.copy("/bin/true", os.path.join(self.readable, "program"))
        os.symlink(os.path.join(self.victims, "secret"), os.path.join(self.own, "planted"))
        self.hand_over()

    def make_key(self):
        """A real signing key in the place of the one that only holds the secret; its path."""
        path = os.path.join(self.home, ".config/aegis/signing.key")
        if os.path.exists(path):
            os.unlink(path)
        made = self.run([self.aegis, "keygen"])
        if made.status != 0:
            raise AssertionError(made.stderr)
        return path

    def env(self, **more):
        """TMPDIR counts in tier landlock alone: in tier full /tmp is private, and it is that."""
        return {"TMPDIR": self.own, "HOME": self.home, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
                MARK: self.mark, "AWS_SECRET_ACCESS_KEY": SECRET, **more}

    def as_user(self, command):
        if os.geteuid() == self.uid:
            return command
        return ["setpriv", "--reuid", str(self.uid), "--regid", str(self.uid), "--clear-groups", *command]

    def run(self, command, **options):
        """To its end; the text of a run that hangs is in the exception."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("env", self.env())
        done = subprocess.run(self.as_user(command), cwd=self.own, timeout=PATIENCE, encoding="utf-8",
                              errors="replace", check=False, **options)
        run = Run(done.returncode, stdout=done.stdout or "", stderr=done.stderr or "")
        parse(run.stdout, run)
        return run

    def run_below(self, roots, command):
        """Root's words first; the user runs what they start."""
        done = subprocess.run([*roots, *self.as_user(command)], cwd=self.own, timeout=PATIENCE, env=self.env(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        run = Run(done.returncode, stdout=done.stdout, stderr=done.stderr)
        parse(run.stdout, run)
        return run

    def facts(self):
        return [f"home={self.home}", f"readable={self.readable}", f"disk={a_block_device()}"]

    def confine(self, tier, *flags):
        """The words before the program's own."""
        return [self.aegis, "confine", "--tier", tier, "--workspace", self.own, *flags, "--"]

    def attack_unconfined(self, *names, facts=()):
        """A control: one attempt in namespaces of its own, victims and all. `sh` stands where aegis would."""
        self.settle()
        return self.run([*THROWAWAY, self.host, "--throwaway", self.victims, self.own,
                         "sh", "-c", '"$@"; exit $?', "sh", self.probe, "@", *self.facts(), *facts, *names])

    def attack_confined(self, tier, *names, flags=(), facts=()):
        """Attempts one after another in one sandbox; the victims are outside of it."""
        self.settle()
        return self.run([self.host, self.victims, self.own,
                         *self.confine(tier, "--allow-read", self.readable, *flags),
                         self.probe, "@", *self.facts(), *facts, *names])

    def leftovers(self):
        """Processes that bear the lab's mark: (pid, command line)."""
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as environ:
                    if f"{MARK}={self.mark}".encode() in environ.read().split(b"\0"):
                        with open(f"/proc/{name}/cmdline", "rb") as words:
                            found.append((int(name), words.read().replace(b"\0", b" ").decode(errors="replace")))
            except OSError:
                continue
        return found


def in_crowd(laboratory, attack, items):
    """[attack(lab, item) for each item], several at one time, each in a lab of the user's that nobody else is in. They
    mostly wait for the kernel to make or to end a namespace."""
    free = queue.SimpleQueue()
    for each in [laboratory, *laboratory.others]:
        free.put(each)

    def attack_in_free(item):
        mine = free.get()
        try:
            return attack(mine, item)
        finally:
            free.put(mine)

    with concurrent.futures.ThreadPoolExecutor(CROWD) as crowd:
        return list(crowd.map(attack_in_free, items))


@functools.lru_cache(maxsize=None)
def labs():
    """One for the current user and, for root, one for an ordinary user. Removed at the end of the program."""
    base = tempfile.mkdtemp(prefix="aegis-probes-")
    atexit.register(remove_tree, base)
    os.chmod(base, 0o755)
    os.mkdir(os.path.join(base, "bin"), 0o755)
    for source, name in ((AEGIS, "aegis"), (PROBE, "probe"), (HOST, "probe_host")):
        target = os.path.join(base, "bin", name)
        if os.access(source, os.X_OK):
            shutil.copy(source, target)
            os.chmod(target, 0o755)
    uids = [os.geteuid()] + ([ORDINARY] if os.geteuid() == 0 else [])
    return [Lab(base, uid) for uid in uids]


def labs_and_tiers():
    return [(lab, tier) for lab in labs() for tier in TIERS]


@functools.lru_cache(maxsize=None)
def no_throwaway(uid):
    """Why this user can have no throwaway namespace; nothing when it can."""
    lab = next(lab for lab in labs() if lab.uid == uid)
    done = lab.run([*THROWAWAY, "true"])
    return "" if done.status == 0 else f"{lab.name} cannot unshare: {done.stderr.strip()}"


@functools.lru_cache(maxsize=None)
def landlock_abi():
    """The kernel's own word (landlock_create_ruleset(2), LANDLOCK_CREATE_RULESET_VERSION); 0 when it has none."""
    return max(0, ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1))


def no_confinement(uid, tier):
    """Why this tier cannot be had here; nothing when it can. Not aegis's word: if that refuses what can be had, the
    tests fail. AEGIS_REQUIRE_ABI says which Landlock ABI there must be."""
    abi, needed = landlock_abi(), {"full": 3, "landlock": 6}[tier]
    required = int(os.environ.get("AEGIS_REQUIRE_ABI", "0"))
    if abi < required:
        raise AssertionError(f"AEGIS_REQUIRE_ABI={required}, but the kernel's Landlock ABI is {abi}")
    if abi < needed:
        return f"tier {tier} needs Landlock ABI {needed}, this kernel has {abi}"
    return no_throwaway(uid) if tier == "full" else ""


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        return str(error)


def is_ours(path):
    """Could be of this user's making: what others make at the same time is none of it."""
    try:
        return os.geteuid() in (0, os.stat(path).st_uid)
    except OSError:  # gone by now
        return False


def host_state():
    """What of the machine a confinement could have changed."""
    return {
        "mounts": read("/proc/self/mountinfo"),
        "host name": socket.gethostname(),
        "domain name": read("/proc/sys/kernel/domainname"),
        "System V shared memory": sorted(line.split()[1] for line in read("/proc/sysvipc/shm").splitlines()),
        "System V queues": sorted(line.split()[1] for line in read("/proc/sysvipc/msg").splitlines()),
        "System V semaphores": sorted(line.split()[1] for line in read("/proc/sysvipc/sem").splitlines()),
        # Files alone (shm_overview(7)): a folder is some program's scratch place, another test's too.
        "POSIX shared memory": sorted(each.name for each in os.scandir("/dev/shm") if not each.is_dir()),
        # With no process in it: one that is left, not one that is somebody's at this moment.
        "empty control groups": [group for group in sorted(glob.glob("/sys/fs/cgroup/**/*aegis*/", recursive=True))
                                 if is_ours(group) and not read(group + "cgroup.procs")],
        "highest process id": read("/proc/sys/kernel/pid_max"),
        "modes": " ".join(oct(os.stat(path).st_mode) for path in ("/tmp", "/dev/null", "/dev/shm", "/proc", "/")),
        "left by the probes": [left for lab in labs() for each in [lab, *lab.others] for left in each.leftovers()],
    }


BEFORE = {}


def is_as_before(name, now):
    """Of what is listed by name, nothing was added: somebody else may tidy up meanwhile what is his."""
    if isinstance(now, list):
        return set(now) <= set(BEFORE[name])
    return now == BEFORE[name]


def untouched_but():
    """What differs from before the tests: {what: (before, now)}. Other programs may come and go meanwhile, so it waits
    a little for that to settle."""
    deadline = time.monotonic() + 3
    while True:
        now = host_state()
        differing = {name: (BEFORE[name], now[name]) for name in now if not is_as_before(name, now[name])}
        if not differing or time.monotonic() > deadline:
            return differing
        time.sleep(0.1)


COUNTS = {}


def count(what, number=1):
    COUNTS[what] = COUNTS.get(what, 0) + number


NOTES = []


def note(line):
    """Is said at the end, once."""
    if line not in NOTES:
        NOTES.append(line)


class Untouched(unittest.TestCase):
    """Comes last: main() says so."""

    def test_the_host_is_as_it_was(self):
        self.assertEqual(untouched_but(), {}, "what changed: before, after")


def main():
    """Runs a file's tests and then looks at the host; says what was skipped and why, the notes and the totals. 77 when
    nothing could be tried."""
    BEFORE.update(host_state())
    program = unittest.main(exit=False)
    last = unittest.TextTestRunner(verbosity=0).run(Untouched("test_the_host_is_as_it_was"))
    result = program.result
    for line in NOTES:
        print(line)
    for test, reason in result.skipped:
        print(f"skipped: {test.id()}: {reason}")
    for what, number in sorted(COUNTS.items()):
        print(f"total: {number} {what}")
    print(f"{os.path.basename(sys.argv[0])}: {result.testsRun} ran, {len(result.skipped)} of them skipped")
    if not (result.wasSuccessful() and last.wasSuccessful()):
        sys.exit(1)
    sys.exit(0 if COUNTS or not result.skipped else SKIPPED)
