#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`aegis run` and `aegis check`: answers, exit codes, and what goes on the record and what does not."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

import broker
import confined
import harness
import record
from broker import BrokerCase, request
from harness import AEGIS

RULES = {"execution_rules": {"max_timeout_seconds": 20, "max_output_bytes": 20000, "allowed_binaries": ["ls", "wc", "touch"],
                             "allowed_paths": ["data"]}}


class Reading(BrokerCase):
    rules = RULES

    def test_a_read_is_done_and_recorded(self):
        wanted = request("read_text", path="data/a.txt")
        run = self.ask("run", wanted)
        self.assertAnswer(run, 0, request_id="r-1", operation="read_text", status="completed", text="alpha\n",
                          path="data/a.txt", truncated=False)
        self.assertEqual(list(run.answer)[:3], ["request_id", "operation", "status"])
        self.assertTrue(run.stdout.startswith(b'{\n  "request_id": "r-1",\n  "operation"'), run.stdout)
        lines = self.check_record()
        self.assertEqual([line["line_type"] for line in lines], ["open", "intent", "outcome", "close"])
        outcome = lines[2]
        self.assertEqual(outcome["tool_id"], "read_text")
        self.assertEqual(outcome["request_digest"], hashlib.sha256(json.dumps(wanted).encode()).hexdigest())
        self.assertEqual(outcome["decision_axes"]["fs"], {"path_canonical": "workspace/data/a.txt"})
        self.assertEqual(outcome["capability"]["grant"]["fs"],
                         {"read_paths": ["workspace/data/a.txt"], "write_paths": []})
        self.assertEqual(outcome["execution"], {"status": "success"})
        self.assertEqual(outcome["policy_set_hash"], lines[0]["broker"]["policy_set_hash"])
        self.assertEqual(lines[0]["broker"]["revealed"], [])
        self.assertNotIn("response_digest", outcome)

    def test_one_line_with_json(self):
        run = self.ask("run", request("list_dir", path="."), "--json")
        self.assertAnswer(run, 0, status="completed", truncated=False)
        self.assertEqual(run.stdout.count(b"\n"), 1)
        self.assertEqual(run.answer["entries"], [{"path": "data", "type": "folder"}])

    def test_what_is_refused_is_recorded_too(self):
        rows = [(request("read_text", path="../broker.yaml"), "PATH_BOUNDARY_VIOLATION"),
                (request("read_text", path=".ssh/planted-name"), "SENSITIVE_TARGET_DENIED"),
                (request("read_text", path="data/planted-gone"), "OPERATION_NOT_PERMITTED"),
                (request("run_command", argv=["sh", "-c", "planted-words"]), "OPERATION_NOT_PERMITTED"),
                (request("run_command", command="ls"), "SCHEMA_VALIDATION_FAILURE"),
                (request("run_python", code="planted-code", timeout_seconds=21), "TIMEOUT_LIMIT_EXCEEDED")]
        for wanted, code in rows:
            with self.subTest(code):
                run = self.ask("run", wanted)
                self.assertAnswer(run, 2, status="refused", code=code, operation=wanted["operation"])
                self.assertTrue(run.answer["reason"])
                outcome = self.check_record()[-2]
                self.assertEqual(outcome["policy"], {"reason": code, "status": "denied"})
                self.assertEqual(outcome["capability"], {"reason": code, "status": "denied"})
                self.assertEqual(outcome["execution"], {"reason": "not executed", "status": "host_denied"})
        self.assertEqual(len(record.intents(record.read(self.audit))), len(rows))
        self.assertNothingPlanted()

    def test_a_request_that_cannot_be_read_is_a_usage_error_on_the_record(self):
        rows = [(b"{", None), (b"", None), (b"[]", None), (b"\xff", None), (b'"' + b"x" * (1 << 20) + b'"', None),
                (json.dumps(request("read_text", path="a", planted_member=1)).encode(), "parameters"),
                (json.dumps(request("read_text", path="a", max_bytes=True)).encode(), "parameters.max_bytes"),
                (json.dumps(request("planted_operation", path="a")).encode(), "operation")]
        for document, member in rows:
            with self.subTest(document[:80]):
                run = self.ask("run", document)
                self.assertAnswer(run, 1, status="refused", code="SCHEMA_VALIDATION_FAILURE")
                self.assertIn(b"aegis: run: read the request: ", run.stderr)
                self.assertNotIn(b"JSON-RPC", run.stderr)  # it is no frame
                if member:
                    self.assertTrue(run.answer["member"].startswith(member), run.answer)
                outcome = self.check_record()[-2]
                self.assertEqual((outcome["tool_id"], outcome["policy"]["status"]), ("<unknown>", "denied"))
                self.assertEqual(self.ask("check", document).returncode, 1)
        self.assertNothingPlanted()

    def test_an_approval_of_the_clients_own_changes_nothing(self):
        self.broker_policy = self.write("held.yaml", json.dumps(broker.policy(require_approval_for=["read_text"])))
        wanted = request("read_text", path="data/a.txt")
        wanted["approval"] = {"token": "planted-token", "approved": True}
        self.assertAnswer(self.ask("run", wanted), 2, status="refused", code="APPROVAL_REQUIRED")
        self.check_record()
        self.assertNothingPlanted()

    def test_what_is_revealed_is_read_and_recorded(self):
        self.write("ws/.env", "A=1\n")
        wanted = request("read_text", path=".env")
        self.assertAnswer(self.ask("run", wanted), 2, code="SENSITIVE_TARGET_DENIED")
        self.assertAnswer(self.ask("run", wanted, "--reveal", ".env"), 0, text="A=1\n")
        opens = record.of_type(self.check_record(), "open")
        self.assertEqual([line["broker"]["revealed"] for line in opens], [[], [".env"]])

    def assertNothingPlanted(self):
        with open(self.audit, "rb") as file:
            text = file.read()
        self.assertNotIn(b"planted", text)
        self.assertNotIn(self.dir.encode(), text)
        self.assertNotIn(os.path.basename(self.dir).encode(), text)

    def test_the_default_places(self):
        os.rename(self.broker_policy, self.path("broker-policy.yaml"))
        self.write("request.json", json.dumps(request("read_text", path="data/a.txt")))
        run = self.aegis("run", "request.json", cwd=self.dir)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("made a signing key", run.stderr)
        folder = os.path.join(self.home, ".local/state/aegis/records")
        names = os.listdir(folder)
        self.assertEqual(len(names), 1)
        self.assertRegex(names[0], r"^aegis-run-\d{8}T\d{6}Z-\d+\.aarl$")
        self.check_record(os.path.join(folder, names[0]))

    def test_a_request_on_stdin(self):
        with subprocess.Popen([AEGIS, "check", "-", "--policy", self.broker_policy, "--json"], env=self.env(),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            document = json.dumps(request("list_dir", path=".")).encode()
            process.stdin.write(document[:10])
            process.stdin.flush()
            said, _ = process.communicate(document[10:])
        self.assertEqual(process.returncode, 0)
        self.assertEqual(json.loads(said), {"request_id": "r-1", "operation": "list_dir", "status": "allowed"})

    def test_usage(self):
        good = self.write("good.json", json.dumps(request("list_dir", path=".")))
        for verb in ("run", "check"):
            for words, said in (([], "no request is named"), ([good, good], "one request at a time"),
                                ([good], "--policy: it is missing"),
                                ([self.path("none.json"), "--policy", self.broker_policy], "No such file"),
                                ([good, "--policy", self.path("none.yaml")], "No such file"),
                                ([self.dir, "--policy", self.broker_policy], "directory"),
                                ([good, "--policy", self.broker_policy, "--reveal", "a/b"], "--reveal"),
                                ([good, "--policy", ""], "an empty path names nothing"),
                                ([good, "--polcy", self.broker_policy], "did you mean")):
                with self.subTest(verb=verb, words=words):
                    run = self.aegis(verb, *words, cwd=self.home)
                    self.assertEqual((run.returncode, run.stdout), (1, ""), run.stderr)
                    self.assertIn(said, run.stderr)
        bad = self.write("bad.yaml", json.dumps(broker.policy(), indent=1).replace('"name"', '"nmae"'))
        run = self.aegis("run", good, "--policy", bad)
        self.assertEqual((run.returncode, run.stdout), (1, ""), run.stderr)
        self.assertRegex(run.stderr, r"bad\.yaml:\d+:\d+: nmae")

    def test_without_a_record_nothing_is_done(self):
        ran = os.path.join(self.workspace, "data/ran")
        wanted = request("run_python", code="print('planted')")
        for audit in (self.path("gone", "record.aarl"), self.write("no-record", "text"), "/dev/full"):
            run = self.ask("run", wanted, "--audit", audit)
            self.assertEqual((run.returncode, run.stdout), (1, b""), run.stderr)
        self.assertFalse(os.path.exists(ran))
        run = self.ask("run", wanted, "--signing-key", self.path("none.key"))
        self.assertEqual((run.returncode, run.stdout), (1, b""), run.stderr)

    def test_what_has_no_room_on_the_record_is_not_told(self):
        """Under every limit of a file's size: the answer and a sealed record, or neither."""
        self.aegis("keygen")
        told = 0
        for size in range(0, 4200, 150):
            with self.subTest(size):
                run = self.ask("run", request("read_text", path="data/a.txt"), prefix=["prlimit", f"--fsize={size}"])
                if run.returncode == 0:
                    told += 1
                    self.check_record()
                else:
                    self.assertEqual((run.returncode, run.stdout), (1, b""), run.stderr)
                    self.assertIn(b"File too large", run.stderr)
                if os.path.exists(self.audit):
                    os.unlink(self.audit)
        self.assertTrue(1 < told < 28, told)

    def test_a_policy_that_a_program_could_write_is_refused(self):
        rules = {"execution_rules": {"allowed_binaries": ["ls"], "allowed_paths": ["."]}}
        self.broker_policy = self.write("ws/broker.yaml", json.dumps(broker.policy(root=".", **rules)))
        run = self.ask("run", request("read_text", path="data/a.txt"))
        self.assertEqual((run.returncode, run.stdout), (1, b""), run.stderr)
        self.assertIn(b"policy", run.stderr)

    def test_a_key_in_the_workspace_is_refused(self):
        self.assertEqual(self.aegis("keygen", "--out", self.path("ws", "seed")).returncode, 0)
        run = self.ask("run", request("read_text", path="seed"), "--signing-key", self.path("ws", "seed"))
        self.assertEqual((run.returncode, run.stdout), (1, b""), run.stderr)
        self.assertIn(b"signing key", run.stderr)


class Checking(BrokerCase):
    rules = RULES

    def test_check_judges_and_leaves_nothing(self):
        before = sorted(os.listdir(self.dir))
        rows = [(request("read_text", path="data/none"), 0), (request("read_text", path="/etc/passwd"), 2),
                (request("run_python", code="1"), 0), (request("run_command", argv=["ls", "-l", "data"]), 0),
                (request("run_command", argv=["ls", "/etc"]), 2), (request("run_command", argv=["sh"]), 2),
                (request("run_command", command="ls ./data | wc -l"), 0),
                (request("run_command", command="ls ./data; rm -rf data"), 2),
                (request("run_command", command="ls $HOME"), 2),
                (request("run_command", command="ls data > /etc/x"), 2),
                (request("run_command", command="ls 'data"), 2)]
        for wanted, code in rows:
            with self.subTest(wanted["parameters"]):
                run = self.ask("check", wanted)
                self.assertAnswer(run, code, request_id="r-1", operation=wanted["operation"],
                                  status="refused" if code else "allowed")
                self.assertEqual("code" in run.answer, bool(code))
        self.assertEqual(sorted(os.listdir(self.dir)), sorted(before + ["request.json"]))
        self.assertEqual(os.listdir(self.home), [])


class Running(BrokerCase):
    rules = RULES

    def setUp(self):
        super().setUp()
        self.need_sandbox()

    def test_python_and_its_record(self):
        code = "import sys\nprint(open('data/a.txt').read() + sys.argv[1])\nprint('planted-output', file=sys.stderr)\n"
        run = self.ask("run", request("run_python", code=code + "# planted-code", args=["planted-word"]))
        self.assertAnswer(run, 0, status="completed", exit_code=0, stdout="alpha\nplanted-word\n",
                          stderr="planted-output\n", truncated=False)
        lines = self.check_record()
        grant = lines[2]["capability"]["grant"]
        self.assertEqual(grant["grant_id"], "broker-" + lines[2]["call_id"])
        self.assertEqual(grant["fs"], {"read_paths": ["workspace"], "write_paths": []})
        self.assertEqual((grant["max_memory_bytes"], grant["max_wall_ms"], grant["max_output_bytes"]),
                         (256 << 20, 20000, 20000))
        with open(self.audit, "rb") as file:
            text = file.read()
        for secret in (b"planted", b"alpha", self.dir.encode()):
            self.assertNotIn(secret, text)

    def test_the_programs_own_failure_is_done(self):
        self.assertAnswer(self.ask("run", request("run_python", code="exit(7)")), 0, status="completed", exit_code=7)
        run = self.ask("run", request("run_command", argv=["ls", "data/none"]))
        self.assertAnswer(run, 0, status="completed")
        self.assertNotEqual(run.answer["exit_code"], 0)

    def test_bounds(self):
        run = self.ask("run", request("run_python", code="print('a', flush=True)\nwhile True: pass", timeout_seconds=1))
        self.assertAnswer(run, 2, status="timeout", code="TIMEOUT_LIMIT_EXCEEDED", stdout="a\n")
        self.assertEqual(self.check_record()[-2]["execution"], {"kind": "time", "status": "resource_exceeded"})
        run = self.ask("run", request("run_python", code="while True: print('x' * 99)"))
        self.assertAnswer(run, 2, status="output_limit", code="OUTPUT_LIMIT_EXCEEDED", truncated=True)
        self.assertEqual(self.check_record()[-2]["execution"], {"kind": "output", "status": "resource_exceeded"})

    def test_what_cannot_be_recorded_is_not_run(self):
        wanted = request("run_command", argv=["touch", "data/ran"], writable=["data"])
        ran = os.path.join(self.workspace, "data/ran")
        self.assertAnswer(self.ask("run", request("list_dir", path="."), "--json"), 0)
        # No byte can be added to this record; all that the program itself might write is smaller.
        limit = ["prlimit", f"--fsize={os.path.getsize(self.audit)}"]
        run = self.ask("run", wanted, prefix=limit)
        self.assertEqual((run.returncode, run.stdout), (1, b""), run.stderr)
        self.assertFalse(os.path.exists(ran), "it was run")
        self.assertAnswer(self.ask("run", wanted, "--audit", self.path("other.aarl"), prefix=["prlimit", "--fsize=9999"]),
                          0, exit_code=0)
        os.unlink(ran)
        os.unlink(self.audit)
        self.assertAnswer(self.ask("run", wanted), 0, exit_code=0)
        self.assertTrue(os.path.exists(ran))
        grant = record.outcomes(self.check_record())[0]["capability"]["grant"]
        self.assertEqual(grant["fs"], {"read_paths": ["workspace/data"], "write_paths": ["workspace/data"]})

    def test_what_others_would_run_does_not_stay_where_a_program_wrote_it(self):
        run = self.ask("run", request("run_command", argv=["touch", "data/.mcp.json", "data/plain"], writable=["data"]))
        self.assertAnswer(run, 0, exit_code=0)
        self.assertEqual(sorted(os.listdir(os.path.join(self.workspace, "data"))), ["a.txt", "plain"])
        self.assertIn(b"aegis: run: ", run.stderr)
        self.assertIn(b".mcp.json", run.stderr)
        self.assertNotIn(b"--allow", run.stderr)
        self.assertNotIn(self.dir.encode(), run.stdout)
        moved = [name for _, _, names in os.walk(os.path.join(self.home, ".local/state/aegis/quarantine"))
                 for name in names]
        self.assertEqual(len(moved), 1, moved)

    def test_a_folder_that_cannot_be_guarded_is_not_lent(self):
        os.mkdir(self.path("ws", "data", ".git"))
        self.write("ws/data/.git/HEAD", "")
        self.write("ws/data/.git/config", "#" * (1 << 20) + "\n")
        run = self.ask("run", request("run_command", argv=["touch", "data/x"], writable=["data"]))
        self.assertAnswer(run, 3, status="refused", code="SANDBOX_UNAVAILABLE")
        self.assertIn("/workspace/data/.git/config: it is larger than 1 MiB; mend it, or name a writable path without",
                      run.answer["reason"])
        self.assertNotIn(b"--allow", run.stdout + run.stderr)
        self.assertNotIn(self.dir, run.answer["reason"])
        self.assertFalse(os.path.exists(self.path("ws", "data", "x")))

    def test_a_signal_ends_the_run_and_seals_the_record(self):
        wanted = self.write("forever.json", json.dumps(request("run_python", code="import time\ntime.sleep(19)")))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                process = subprocess.Popen([AEGIS, "run", wanted, "--policy", self.broker_policy, "--audit", self.audit],
                                           env=self.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.addCleanup(process.communicate)
                self.addCleanup(process.kill)
                self.wait_for_intent()
                time.sleep(0.3)  # so that it runs; earlier would be right too
                begun = time.monotonic()
                process.send_signal(number)
                said, _ = process.communicate(timeout=10)
                self.assertLess(time.monotonic() - begun, 5)
                self.assertEqual(process.returncode, 128 + number)
                self.assertEqual(json.loads(said)["status"], "cancelled")
                lines = self.check_record()
                self.assertEqual(lines[-2]["execution"], {"reason": "run stopped by a signal", "status": "host_denied"})
                self.assertEqual(lines[-1]["reason"], "run stopped by a signal")
                os.unlink(self.audit)

    def wait_for_intent(self):
        while not os.path.exists(self.audit) or not record.intents(record.read(self.audit)):
            time.sleep(0.02)

    def test_a_kill_leaves_no_process(self):
        wanted = self.write("forever.json", json.dumps(request("run_python", code="import time\ntime.sleep(19)")))
        process = subprocess.Popen([AEGIS, "run", wanted, "--policy", self.broker_policy, "--audit", self.audit],
                                   env=self.env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for_intent()
        time.sleep(0.3)
        process.kill()
        process.wait()
        # tearDown fails when something with this test's mark outlives it.
        self.assertIn("Indeterminate", self.verify().stdout)


def no_namespaces():
    """In a user namespace of its own, where no other may be made."""
    return ["unshare", "--user", "--map-root-user", "sh", "-c",
            'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"]


class Unavailable(BrokerCase):
    rules = RULES

    def assertClosed(self, prefix, program=AEGIS):
        if subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("no throwaway user namespace can be had here")
        ran = os.path.join(self.workspace, "data/ran")
        for wanted in (request("run_python", code=f"open('{ran}', 'w')"),
                       request("run_command", argv=["ls", "data"])):
            run = self.ask("run", wanted, prefix=prefix, program=program)
            self.assertAnswer(run, 3, status="refused", code="SANDBOX_UNAVAILABLE")
            self.assertIn("user.max_user_namespaces", run.answer["reason"])
            self.assertFalse(os.path.exists(ran))
        # What needs no sandbox is done.
        self.assertAnswer(self.ask("run", request("read_text", path="data/a.txt"), prefix=prefix, program=program), 0,
                          text="alpha\n")

    def test_what_cannot_be_confined_is_not_run(self):
        self.assertClosed(no_namespaces())
        outcome = record.outcomes(self.check_record())[0]
        self.assertEqual(outcome["policy"], {"reason": "SANDBOX_UNAVAILABLE", "status": "denied"})

    @harness.needs_root
    def test_the_same_for_an_ordinary_user(self):
        program = confined.give_to_nobody(self)
        self.assertClosed([*confined.AS_NOBODY, *no_namespaces()], program)

    @harness.needs_root
    def test_an_ordinary_user_runs_it(self):
        self.need_sandbox()
        program = confined.give_to_nobody(self)
        run = self.ask("run", request("run_python", code="import os\nprint(os.getcwd())"),
                       prefix=confined.AS_NOBODY, program=program)
        self.assertAnswer(run, 0, stdout="/workspace\n")


if __name__ == "__main__":
    harness.main()
