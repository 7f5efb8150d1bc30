#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Programs that know nothing of aegis reach what was granted, by address and by name, and nothing else."""

import functools
import http.server
import os
import re
import subprocess
import sys
import textwrap
import threading
import unittest

import harness
import own_host

OWN_HOST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "own_host.py")
PYTHON = "/usr/bin/python3"
JAVA = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
GO = "/usr/bin/go"
# Its own resolver (which asks over UDP) and its own poller; no libc.
GO_CLIENT = """
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func ask(url string, answers chan string) {
	answer, err := http.Get(url)
	if err != nil {
		answers <- err.Error()
		return
	}
	body, _ := io.ReadAll(answer.Body)
	answers <- string(body)
}

func main() {
	answers := make(chan string)
	for count := 0; count < 20; count++ {
		go ask(os.Args[1], answers)
	}
	for count := 0; count < 20; count++ {
		if body := <-answers; body != os.Args[2] {
			panic(body)
		}
	}
	other := "refused"
	if _, err := net.Dial("tcp", os.Args[3]+":80"); err == nil {
		other = "connected"
	}
	_, err := net.LookupHost("other.test")
	fmt.Println(other, err != nil)
}
"""
HELLO = own_host.BODY.decode()
# Documentation's own (RFC 5737): no host has it.
NOWHERE = "192.0.2.1"


@functools.lru_cache(maxsize=None)
def why_not():
    """Why nothing can be granted a network here, or None."""
    tried = subprocess.run([harness.AEGIS, "confine", "--allow-net", "127.0.0.1:9", "--", "/bin/true"],
                           capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode == 125 else None


class EgressCase(harness.SessionCase):
    patience = 90

    def setUp(self):
        if why_not():
            self.skipTest(why_not())
        super().setUp()

    def confine(self, *flags, command):
        return self.aegis("confine", *flags, "--", *command)

    def need(self, *programs):
        for program in programs:
            if not os.access(program, os.X_OK):
                self.skipTest(f"{program} is missing")

    def assertRan(self, run, pattern):
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertRegex(run.stdout, pattern, run.stderr)


class ByAddress(EgressCase):
    """A server on the host's loopback that is granted, and one that is not."""

    def setUp(self):
        super().setUp()
        self.server, self.other = own_host.serve("127.0.0.1"), own_host.serve("127.0.0.1")
        for server in (self.server, self.other):
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}/"
        self.grant = ["--allow-net", f"127.0.0.1:{self.port}"]

    def tearDown(self):
        super().tearDown()
        if hasattr(self, "other"):
            self.assertEqual(self.other.count, 0, "a server that was not granted was reached")

    def python(self, program, *flags):
        return self.confine(*self.grant, *flags, command=[PYTHON, "-c", textwrap.dedent(program)])

    def test_curl(self):
        self.need("/usr/bin/curl")
        self.assertRan(self.confine(*self.grant, command=["curl", "-sS", "-m", "20", self.url]), f"^{HELLO}$")
        other = self.confine(*self.grant, command=["curl", "-sS", "-m", "20", f"http://{NOWHERE}:80/"])
        self.assertEqual(other.returncode, 7, other.stderr)  # curl(1): failed to connect
        self.assertHolds(other.stderr, f"connect to {NOWHERE}:80 refused: not granted")

    def test_python_urllib(self):
        self.assertRan(self.python(f"""
            import urllib.request
            print(urllib.request.urlopen({self.url!r}, timeout=20).read().decode())
        """), f"^{HELLO}$")

    def test_python_asyncio_a_hundred_at_once(self):
        self.assertRan(self.python(f"""
            import asyncio
            async def one():
                reader, writer = await asyncio.open_connection("127.0.0.1", {self.port})
                writer.write(b"GET / HTTP/1.0\\r\\n\\r\\n")
                text = await reader.read()
                writer.close()
                return text.endswith({HELLO!r}.encode())
            async def all():
                return sum(await asyncio.gather(*[one() for _ in range(100)]))
            print(asyncio.run(all()))
        """), "^100$")

    def test_what_is_not_granted(self):
        run = self.python(f"""
            import errno, socket
            def attempt(family, *address):
                with socket.socket(family) as sock:
                    return errno.errorcode.get(sock.connect_ex(address), "connected")
            print(attempt(socket.AF_INET, {NOWHERE!r}, {self.port}),
                  attempt(socket.AF_INET, "127.0.0.1", {self.other.server_port}),
                  attempt(socket.AF_INET, "0.0.0.0", {self.other.server_port}),
                  attempt(socket.AF_INET6, "2001:db8::1", 443),
                  attempt(socket.AF_INET6, "::ffff:127.0.0.1", {self.other.server_port}),
                  attempt(socket.AF_INET6, "::ffff:127.0.0.1", {self.port}))
            for family, kind, protocol in ((socket.AF_NETLINK, socket.SOCK_RAW, 0),
                                           (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
                                           (socket.AF_INET, socket.SOCK_STREAM, 262)):
                try:
                    socket.socket(family, kind, protocol)
                    print("made")
                except OSError:
                    print("refused")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                try:
                    sock.sendto(b"x", ({NOWHERE!r}, 53))
                except OSError as error:
                    print(errno.errorcode[error.errno])
            with socket.socket() as sock:
                try:
                    sock.sendto(b"x", socket.MSG_FASTOPEN, ("127.0.0.1", {self.other.server_port}))
                except OSError as error:
                    print(errno.errorcode[error.errno])
        """)
        self.assertRan(run, "^EACCES ECONNREFUSED ECONNREFUSED EACCES ECONNREFUSED connected\n"
                            "refused\nrefused\nrefused\nENETUNREACH\nENOTSUP$")
        for target in (f"{NOWHERE}:{self.port}", f"127.0.0.1:{self.other.server_port}", "[2001:db8::1]:443"):
            self.assertHolds(run.stderr, f"connect to {target} refused: not granted")

    def test_git(self):
        self.need("/usr/bin/git")
        repository = self.path("repository.git")
        quiet = {"stdout": subprocess.DEVNULL, "check": True, "env": self.env()}
        subprocess.run(["git", "init", "-q", "--bare", repository], **quiet)
        tree = subprocess.run(["git", "-C", repository, "mktree"], input=b"", capture_output=True, check=True).stdout
        commit = subprocess.run(
            ["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-m", "m",
             tree.decode().strip()], capture_output=True, check=True).stdout.decode().strip()
        subprocess.run(["git", "-C", repository, "update-ref", "refs/heads/main", commit], **quiet)
        subprocess.run(["git", "-C", repository, "update-server-info"], **quiet)

        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=repository))
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        run = self.confine("--allow-net", f"127.0.0.1:{server.server_port}",
                           command=["git", "ls-remote", f"http://127.0.0.1:{server.server_port}/"])
        self.assertRan(run, f"{commit}\trefs/heads/main")

    def test_node(self):
        self.need("/usr/bin/node")
        program = f"""
            const http = require("http"), net = require("net");
            const get = new Promise((done, fail) => http.get("{self.url}", answer => {{
              let text = ""; answer.on("data", part => text += part); answer.on("end", () => done(text)); }})
              .on("error", fail));
            const connect = (port, host) => new Promise(done => {{
              const socket = net.connect(port, host, () => {{ socket.end(); done("connected"); }});
              socket.on("error", error => done(error.code)); }});
            Promise.all([get, fetch("{self.url}").then(answer => answer.text()), connect({self.port}, "127.0.0.1"),
                         connect({self.port}, "{NOWHERE}"), connect({self.other.server_port}, "127.0.0.1")])
              .then(all => console.log(all.join("|")));
        """
        self.assertRan(self.confine(*self.grant, command=["/usr/bin/node", "-e", program]),
                       rf"^{HELLO}\|{HELLO}\|connected\|EACCES\|ECONNREFUSED$")

    @harness.not_sanitized
    def test_java(self):
        self.need(JAVA)
        source = self.write("Client.java", textwrap.dedent("""
            import java.net.*;
            import java.net.http.*;
            import java.util.*;
            import java.util.concurrent.*;
            public class Client {
              static CompletableFuture<String> ask(HttpClient client, String url) {
                return client.sendAsync(HttpRequest.newBuilder(URI.create(url)).build(),
                                        HttpResponse.BodyHandlers.ofString()).thenApply(HttpResponse::body);
              }
              public static void main(String[] words) throws Exception {
                HttpClient client = HttpClient.newHttpClient();
                List<CompletableFuture<String>> all = new ArrayList<>();
                for (int count = 0; count < 10; ++count) all.add(ask(client, words[0]));
                for (var one : all) if (!one.get().equals(words[1])) throw new Exception(one.get());
                String other = "connected";
                try (Socket socket = new Socket(words[2], 80)) {} catch (SocketException e) { other = "refused"; }
                System.out.println(all.size() + " " + other);
              }
            }"""))
        run = self.confine(*self.grant, "--allow-read", "/etc/java-17-openjdk", "--allow-read", source,
                           command=[JAVA, "-Xmx256m", source, self.url, HELLO, NOWHERE])
        self.assertRan(run, "^10 refused$")

    def test_nothing_without_a_grant(self):
        run = self.confine(command=[PYTHON, "-c", "import socket; socket.socket()"])
        self.assertNotEqual(run.returncode, 0)
        self.assertHolds(run.stderr, "Address family not supported")

    def test_many_connections_one_after_the_other(self):
        self.assertRan(self.python(f"""
            import socket
            for _ in range(300):
                with socket.create_connection(("127.0.0.1", {self.port}), 20):
                    pass
            print("done")
        """), "^done$")


class ByName(EgressCase):
    """On a host of its own, where names stand for addresses of the Internet at large."""

    NAMES = ["granted.test=1.1.1.1", "other.test=1.1.1.2", "inner.test=127.0.0.1", "two.test=1.1.1.1,1.1.1.3"]

    def there(self, *flags, command):
        run = subprocess.run([sys.executable, OWN_HOST, *self.NAMES, "--", harness.AEGIS, "confine", *flags, "--",
                              *command], env=self.env(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             check=False)
        if run.returncode == own_host.SKIPPED:
            self.skipTest(run.stderr.strip())
        served = dict(re.findall(r"^served (\S+) (\d+)$", run.stderr, re.M))
        return run, {address: int(count) for address, count in served.items()}

    def test_a_granted_name_is_looked_up_and_reached(self):
        self.need("/usr/bin/curl")
        run, served = self.there("--allow-net", "granted.test:{port}", command=[
            "curl", "-sS", "-m", "20", "http://granted.test:{port}/", "http://GRANTED.test:{port}/"])
        self.assertRan(run, f"^{HELLO}{HELLO}$")
        self.assertEqual(served["1.1.1.1"], 2)

    def test_its_address_is_nothing_before_it_was_looked_up(self):
        self.need("/usr/bin/curl")
        run, served = self.there("--allow-net", "granted.test:{port}",
                                 command=["curl", "-sS", "-m", "20", "http://1.1.1.1:{port}/"])
        self.assertEqual(run.returncode, 7, run.stderr)
        self.assertEqual(served["1.1.1.1"], 0)

    @harness.not_sanitized
    def test_go_by_name(self):
        self.need(GO)
        source, program = self.write("client.go", GO_CLIENT), self.path("client")
        subprocess.run([GO, "build", "-o", program, source], check=True,
                       env={**self.env(), "CGO_ENABLED": "0", "GOCACHE": self.path("go-cache"), "GO111MODULE": "off"})
        run, served = self.there("--allow-net", "granted.test:{port}",
                                 command=[program, "http://granted.test:{port}/", HELLO, NOWHERE])
        self.assertRan(run, "^refused true$")
        self.assertEqual(served["1.1.1.1"], 20)

    def test_other_names_do_not_exist(self):
        run, served = self.there("--allow-net", "granted.test:{port}", command=[PYTHON, "-c", textwrap.dedent("""
            import socket
            for name in ("other.test", "a.granted.test", "inner.test"):
                try:
                    print(socket.getaddrinfo(name, 80))
                except socket.gaierror as error:
                    print(error.errno == socket.EAI_NONAME)
        """)])
        self.assertRan(run, "^True\nTrue\nTrue$")
        for name in ("other.test", "a.granted.test", "inner.test"):
            self.assertHolds(run.stderr, f"look-up of {name} refused: not granted")
        self.assertEqual(sum(served.values()), 0)

    def test_a_name_does_not_lead_into_a_private_network(self):
        self.need("/usr/bin/curl")
        url = "http://inner.test:{port}/"
        run, served = self.there("--allow-net", "inner.test:{port}", command=["curl", "-sS", "-m", "20", url])
        self.assertEqual(run.returncode, 6, run.stderr)  # curl(1): could not resolve
        self.assertHolds(run.stderr, "look-up of inner.test refused: it leads to 127.0.0.1")
        self.assertEqual(served["127.0.0.1"], 0)
        run, served = self.there("--allow-net", "inner.test:{port}", "--allow-net", "127.0.0.1:{port}",
                                 command=["curl", "-sS", "-m", "20", url])
        self.assertRan(run, f"^{HELLO}$")
        self.assertEqual(served["127.0.0.1"], 1)

    def test_localhost_is_what_it_says(self):
        self.need("/usr/bin/curl")
        run, served = self.there("--allow-net", "localhost:{port}",
                                 command=["curl", "-sS", "-m", "20", "http://localhost:{port}/"])
        self.assertRan(run, f"^{HELLO}$")
        self.assertEqual(served["127.0.0.1"], 1)

    def test_every_address_of_a_name_is_reached(self):
        run, served = self.there("--allow-net", "two.test:{port}", command=[PYTHON, "-c", textwrap.dedent("""
            import socket, sys
            for found in sorted(set(socket.getaddrinfo("two.test", int(sys.argv[1]), type=socket.SOCK_STREAM))):
                with socket.create_connection(found[4], 20):
                    print(found[4][0])
        """), "{port}"])
        self.assertRan(run, "^1.1.1.1\n1.1.1.3$")

    def test_node_and_asyncio_by_name(self):
        self.need("/usr/bin/node")
        run, served = self.there("--allow-net", "granted.test:{port}", command=[
            "/usr/bin/node", "-e", 'fetch("http://granted.test:{port}/").then(a => a.text()).then(console.log)'])
        self.assertRan(run, f"^{HELLO}$")
        run, served = self.there("--allow-net", "granted.test:{port}", command=[PYTHON, "-c", textwrap.dedent("""
            import asyncio, sys
            async def ask():
                reader, writer = await asyncio.open_connection("granted.test", int(sys.argv[1]))
                writer.write(b"GET / HTTP/1.0\\r\\n\\r\\n")
                print((await reader.read()).split(b"\\r\\n")[-1].decode())
            asyncio.run(ask())
        """), "{port}"])
        self.assertRan(run, f"^{HELLO}$")


if __name__ == "__main__":
    harness.main()
