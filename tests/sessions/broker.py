# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the tests of the broker share: a policy, a workspace, and requests."""

import functools
import json
import os
import subprocess
import tempfile

import harness
from harness import AEGIS

OPERATIONS = ["read_text", "list_dir", "run_python", "run_command"]


def request(operation, id="r-1", **parameters):
    return {"schema_version": "1.0", "request_id": id, "operation": operation, "parameters": parameters}


def policy(root="ws", **more):
    return {"version": "1.0", "policy_id": "t", "name": "Test", "workspace_root": root,
            "allowed_operations": OPERATIONS, **more}


@functools.lru_cache(maxsize=None)
def why_not():
    """Why the sandbox cannot be had here, or None."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "ws"))
        for name, content in (("p", policy()), ("r", request("run_python", code="pass"))):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                json.dump(content, file)
        tried = subprocess.run([AEGIS, "run", "r", "--policy", "p"], cwd=folder, capture_output=True, text=True,
                               stdin=subprocess.DEVNULL, env={"HOME": folder, "PATH": "/usr/bin:/bin"}, check=False)
    return None if tried.returncode == 0 else f"{tried.returncode}: {tried.stderr} {tried.stdout}".strip()


class BrokerCase(harness.SessionCase):
    """A workspace "ws" and a policy "broker.yaml" beside it."""

    rules = {}

    def setUp(self):
        super().setUp()
        self.workspace = self.path("ws")
        os.makedirs(self.path("ws", "data"))
        self.write("ws/data/a.txt", "alpha\n")
        self.broker_policy = self.write("broker.yaml", json.dumps(policy(**self.rules)))

    def need_sandbox(self):
        if why_not():
            self.skipTest(why_not())

    def ask(self, verb, wanted, *flags, prefix=(), program=AEGIS, **options):
        """A verb on one request (an object, or a document's bytes): the process, with its answer as `answer`."""
        path = self.path("request.json")
        with open(path, "wb") as file:
            file.write(wanted if isinstance(wanted, bytes) else json.dumps(wanted).encode())
        recorded = ["--audit", self.audit] if verb == "run" and "--audit" not in flags else []
        run = subprocess.run([*prefix, program, verb, path, "--policy", self.broker_policy, *recorded, *flags],
                             env=self.env(), stdin=subprocess.DEVNULL, capture_output=True, check=False, **options)
        run.answer = json.loads(run.stdout) if run.stdout else None
        return run

    def assertAnswer(self, run, exit_code, /, **members):
        self.assertEqual(run.returncode, exit_code, (run.stdout, run.stderr))
        self.assertEqual({name: run.answer.get(name) for name in members}, members, run.stdout)
