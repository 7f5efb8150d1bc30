#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What comes to the program from its caller: descriptors, as its standard streams and beyond, and programs whose owner
it could become. Each attempt unconfined first, in a namespace that is thrown away."""

import fcntl
import os
import shutil
import socket
import struct
import unittest

import lab
from probes_test import ProbeCase
from rows import ROWS

FOLDER = ("fd_read_beside", "fd_climb", "fd_enter", "fd_create_beside", "fd_remove_beside", "fd_kind", "fd_chmod",
          "fd_set_times", "fd_set_attribute", "fd_lock")
LOG = ("fd_read_log", "fd_overwrite_log", "fd_seek_log", "fd_reopen", "fd_kind", "fd_chmod", "fd_set_times",
       "fd_set_attribute", "fd_lock", "fd_set_flags", "fd_allocate_log", "fd_truncate_log")
APPENDED = ("fd_kind", "fd_chmod", "fd_set_times", "fd_lock", "fd_set_flags", "fd_truncate_log")
SOCKET = ("fd_kind", "fd_peer", "fd_send_descriptor")
STREAMS = ("stdin", "stdout", "stderr")


class Caller:
    """A folder with a secret, a log with one, and a socket, as some caller has them open."""

    def __init__(self, laboratory):
        self.lab = laboratory
        laboratory.settle()
        os.mkdir(laboratory.victims)
        self.log = os.path.join(laboratory.victims, "log")
        for name in ("secret", "doomed", "log"):
            with open(os.path.join(laboratory.victims, name), "w", encoding="utf-8") as file:
                file.write(lab.SECRET + "\n")
        laboratory.hand_over()
        self.fds = {
            "folder": os.open(laboratory.victims, os.O_RDONLY | os.O_DIRECTORY),
            "log": os.open(self.log, os.O_RDWR),
            "appended": os.open(self.log, os.O_WRONLY | os.O_APPEND),
        }
        os.lseek(self.fds["log"], 0, os.SEEK_END)  # what aegis itself says goes behind what others said
        self.peer, theirs = socket.socketpair()
        self.fds["socket"] = theirs.detach()
        for kind, fd in self.fds.items():  # beyond the numbers of whatever the attacker opens itself
            self.fds[kind] = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20)
            os.close(fd)

    def close(self):
        self.peer.close()
        for fd in self.fds.values():
            os.close(fd)

    def state(self):
        """Of all that an attacker could change, as far as one can see it from here. What is appended to the log is
        what a log is for."""
        names = sorted(os.listdir(self.lab.victims))
        found = {"entries": names}
        for name in (".", *names):
            path = os.path.normpath(os.path.join(self.lab.victims, name))
            try:
                info = os.lstat(path)
            except PermissionError as error:  # what an ordinary user's attacker has made of the folder's mode
                found[name] = str(error)
                continue
            times = info.st_mtime_ns if name != "log" else 0
            text = lab.read(path)[:len(lab.SECRET)] if name != "." else ""
            found[name] = (info.st_mode, info.st_uid, times, sorted(os.listxattr(path)), text)
        return found


class InheritedCase(ProbeCase):
    def attack(self, laboratory, before, names, given, number):
        """Runs the attempts with descriptors `given` ({stream or number: kind}) on descriptor `number`. Gives the run
        and what the victims were and are."""
        caller = Caller(laboratory)
        try:
            report = os.path.join(laboratory.own, "report")
            streams = {name: caller.fds[kind] for name, kind in given.items() if name in STREAMS}
            beyond = [caller.fds[kind] for name, kind in given.items() if name not in STREAMS]
            if number is None:
                number = beyond[0]
            then = caller.state()
            run = laboratory.run([*before, laboratory.probe, f"report={report}", f"fd={number}", *names],
                                 pass_fds=beyond, **streams)
            lab.parse(lab.read(report), run)
            return run, then, caller.state()
        finally:
            caller.close()

    def check(self, laboratory, names, given, number):
        attempts = lab.in_crowd(
            laboratory, lambda mine, name: self.attack(mine, lab.THROWAWAY, [name], given, number),
            names if self.can_throw_away(laboratory) else ())
        for name, (run, _, _) in zip(names, attempts):
            with self.subTest(f"{name} {given}, unconfined"):
                self.check_control(laboratory, ROWS[name], run)
        for tier in self.tiers_of(laboratory):
            run, then, now = self.attack(laboratory, laboratory.confine(tier), names, given, number)
            for name in names:
                with self.subTest(f"{name} {given}, tier {tier}"):
                    self.check_confined(laboratory, tier, ROWS[name], run.outcomes.get(name))
            with self.subTest(f"{given}, tier {tier}: victims"):
                self.assertEqual(now, then)


class Descriptors(InheritedCase):
    def each_user(self, names, given, number):
        for laboratory in lab.labs():
            self.check(laboratory, names, given, number)

    def test_a_folder_as_stdin(self):
        self.each_user(FOLDER, {"stdin": "folder"}, 0)

    def test_a_folder_as_stderr(self):
        self.each_user(FOLDER, {"stderr": "folder"}, 2)

    def test_a_log_as_stdin(self):
        self.each_user(LOG, {"stdin": "log"}, 0)

    def test_a_log_as_stdout(self):
        self.each_user(LOG, {"stdout": "log"}, 1)

    def test_a_log_as_stderr(self):
        self.each_user(LOG, {"stderr": "log"}, 2)

    def test_a_log_that_is_appended_to_as_stdout(self):
        self.each_user(APPENDED, {"stdout": "appended"}, 1)

    def test_a_socket_as_stdin_and_stdout(self):
        self.each_user(SOCKET, {"stdin": "socket", "stdout": "socket"}, 0)


class Beyond(InheritedCase):
    """Descriptors beyond 2: there are none in the sandbox, whatever the caller left open."""

    def check_none(self, names, kind):
        for laboratory in lab.labs():
            with self.subTest(f"{kind}, unconfined"):
                for name in names if self.can_throw_away(laboratory) else ():
                    run, _, _ = self.attack(laboratory, lab.THROWAWAY, [name], {"beyond": kind}, None)
                    self.check_control(laboratory, ROWS[name], run)
            for tier in self.tiers_of(laboratory):
                run, then, now = self.attack(laboratory, laboratory.confine(tier), names, {"beyond": kind}, None)
                for name in names:
                    with self.subTest(f"{name}, tier {tier}"):
                        self.assertEqual(str(run.outcomes.get(name))[:13], "refused EBADF", run.stderr)
                        lab.count(f"refused in tier {tier}")
                self.assertEqual(now, then)

    def test_a_folder(self):
        self.check_none(("fd_read_beside", "fd_climb", "fd_enter", "fd_beyond_stdio"), "folder")

    def test_a_log(self):
        self.check_none(("fd_read_log", "fd_truncate_log", "fd_chmod", "fd_beyond_stdio"), "log")

    def test_a_socket(self):
        self.check_none(("fd_peer", "fd_send_descriptor", "fd_beyond_stdio"), "socket")


class Owners(ProbeCase):
    """Set-user-ID programs and capabilities in files. Only root can make them, for others to run."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("not root: cannot make a file that gives its runner something")

    def prepare(self, laboratory):
        laboratory.settle()
        folder = os.path.join(laboratory.base, "gain")
        os.makedirs(folder, exist_ok=True)
        facts = [f"own={laboratory.own}"]
        for name in ("setuid", "filecaps"):
            path = os.path.join(folder, name)
            shutil.copy(lab.PROBE, path)
            facts.append(f"{name}={path}")
        os.chmod(os.path.join(folder, "setuid"), 0o4755)
        os.chmod(os.path.join(folder, "filecaps"), 0o755)
        # struct vfs_cap_data (linux/capability.h): revision 2, effective; CAP_SYS_ADMIN and CAP_SETUID permitted.
        os.setxattr(os.path.join(folder, "filecaps"), "security.capability",
                    struct.pack("<5I", 0x02000001, 1 << 21 | 1 << 7, 0, 0, 0))
        return folder, facts

    def check_gain(self, name, laboratory):
        folder, facts = self.prepare(laboratory)
        self.addCleanup(shutil.rmtree, folder)
        # Without a user namespace of its own: there such bits mean nothing.
        control = [word for word in lab.THROWAWAY if word not in ("--user", "--map-root-user")]
        tried = laboratory.run_below(control, ["true"])
        if tried.status != 0:  # in a chroot not even root can have a mount namespace in order
            lab.note(f"no controls of what makes an owner: {tried.stderr.strip()}")
        else:
            with self.subTest(f"{name}, unconfined"):
                run = laboratory.run_below(control, [laboratory.probe, *facts, name])
                self.check_control(laboratory, ROWS[name], run)
        for tier in self.tiers_of(laboratory):
            with self.subTest(f"{name}, tier {tier}"):
                before = laboratory.confine(tier, "--allow-exec", folder)
                run = laboratory.run([*before, laboratory.probe, *facts, name])
                self.check_confined(laboratory, tier, ROWS[name], run.outcomes.get(name))

    def test_a_set_user_id_program(self):
        self.check_gain("run_as_owner", lab.labs()[1])

    def test_capabilities_in_a_file(self):
        self.check_gain("run_with_capabilities", lab.labs()[1])

    def test_capabilities_in_a_file_that_root_runs(self):
        self.check_gain("run_with_capabilities", lab.labs()[0])

    def test_the_systems_set_user_id_programs(self):
        if not os.access("/usr/bin/su", os.X_OK):
            self.skipTest("there is no su")
        self.check_gain("run_system_setuid", lab.labs()[1])


if __name__ == "__main__":
    lab.main()
