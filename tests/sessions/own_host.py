#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A host that is made for one command: its loopback has public addresses, its hosts file names them, and an HTTP server
listens on each. Nothing leaves the machine, and nothing of the real host is changed.

own_host.py NAME=ADDRESS[,ADDRESS...]... -- COMMAND: runs COMMAND there, in which {port} is the servers' port. Exits
with what it exits with; what each address was asked comes last on stderr, as "served ADDRESS COUNT". SKIPPED (77) when
such a host cannot be had.
"""

import fcntl
import http.server
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading

SKIPPED = 77
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8913, 0x8914, 0x8916, 1
BODY = b"hello from the host"


class Hello(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.count += 1
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512  # beyond it connects are dropped and tried again, each time after twice as long
    daemon_threads = True


def serve(address, port=0):
    """A server that answers every GET with BODY and counts; its port is server.server_port."""
    server = Server((address, port), Hello)
    server.count = 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def raise_loopback(addresses):
    """Through ioctl, as netdevice(7) has it: the ip program may be missing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))
        for number, address in enumerate(addresses, 1):
            packed = struct.pack("16sHH4s8x", f"lo:{number}".encode(), socket.AF_INET, 0, socket.inet_aton(address))
            fcntl.ioctl(control, SIOCSIFADDR, packed)


def inside(names, command):
    addresses = sorted({address for _, found in names for address in found if not address.startswith("127.")})
    raise_loopback(addresses)
    with tempfile.NamedTemporaryFile("w", prefix="aegis-hosts-") as hosts:
        hosts.write("".join(f"{address} {name}\n" for name, found in names for address in found))
        hosts.flush()
        subprocess.run(["mount", "--bind", hosts.name, "/etc/hosts"], check=True)
        first = serve(addresses[0])
        servers = [first] + [serve(each, first.server_port) for each in [*addresses[1:], "127.0.0.1"]]
        words = [word.replace("{port}", str(first.server_port)) for word in command]
        code = subprocess.run(words, check=False).returncode
    for server in servers:
        print(f"served {server.server_address[0]} {server.count}", file=sys.stderr)
    return code


def main():
    words = sys.argv[1:]
    if os.environ.pop("AEGIS_OWN_HOST", ""):
        cut = words.index("--")
        names = [(name, found.split(",")) for name, found in (word.split("=") for word in words[:cut])]
        return inside(names, words[cut + 1:])
    enter = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--fork", "--kill-child"]
    tried = subprocess.run([*enter, "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        print(f"no namespaces: {tried.stderr.decode().strip()}", file=sys.stderr)
        return SKIPPED
    os.environ["AEGIS_OWN_HOST"] = "1"
    return subprocess.run([*enter, sys.executable, os.path.abspath(__file__), *words], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
