# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The kinds of stdio that a client may give: for each the end that aegis gets and the end that the client keeps.

The test keeps a descriptor of aegis's ends too: it shares their open file description, whose flags show there.
"""

import fcntl
import os
import pty
import socket
import tty


class Ends:
    """`stdin`, `stdout` are for aegis; the client writes to `to` and reads from `come`."""

    def __init__(self, stdin, stdout, to, come):
        self.stdin, self.stdout, self.to, self.come = stdin, stdout, to, come

    def all(self):
        return {self.stdin, self.stdout, self.to, self.come} - {None}

    def close_input(self):
        """What a client does when it is done: the server sees an end of input."""
        if self.to == self.come:
            with socket.socket(fileno=os.dup(self.to)) as end:
                end.shutdown(socket.SHUT_WR)
        else:
            os.close(self.to)
            self.to = None

    def close_aegis_ends(self):
        """So that the end of aegis is an end of file for the client."""
        for fd in {self.stdin, self.stdout}:
            os.close(fd)
        self.stdin = self.stdout = None

    def close(self):
        for fd in self.all():
            os.close(fd)
        self.stdin = self.stdout = self.to = self.come = None

    def nonblocking(self):
        """Which of aegis's ends have O_NONBLOCK."""
        names = {"stdin": self.stdin, "stdout": self.stdout}
        return [name for name, fd in names.items() if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK]


def pipes():
    stdin, to = os.pipe()
    come, stdout = os.pipe()
    return Ends(stdin, stdout, to, come)


def socketpairs():
    """As node's child_process gives them."""
    (a, b), (c, d) = socket.socketpair(), socket.socketpair()
    return Ends(b.detach(), d.detach(), a.detach(), c.detach())


def one_socketpair():
    a, b = socket.socketpair()
    client, server = a.detach(), b.detach()
    return Ends(server, server, client, client)


def terminals():
    (to, stdin), (come, stdout) = pty.openpty(), pty.openpty()
    tty.setraw(stdin)
    tty.setraw(stdout)
    return Ends(stdin, stdout, to, come)


KINDS = {"pipes": pipes, "socketpairs": socketpairs, "one socketpair": one_socketpair, "terminals": terminals}
