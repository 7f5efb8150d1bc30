#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""docs_test.py SOURCES AEGIS RECORD_EXAMPLE: what the pages say is so. Flags and exit codes of aegis(1) against the
program, the worked example of docs/record-format.md against the encoder and `verify`, links against the tree."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCES, AEGIS, RECORD_EXAMPLE = None, None, None
VERBS = ["wrap", "mcp", "run", "check", "init", "confine", "doctor", "keygen", "key", "verify", "recheck"]
SHARED = {"confinement": ["wrap", "confine"]}  # a section of flags that several verbs take
MAN_PAGES = ["aegis.1", "aegis-broker-policy.5", "aegis-policy.5", "aegis-profile.5", "aegis-record.5"]
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def read(name):
    with open(os.path.join(SOURCES, name), encoding="utf-8") as file:
        return file.read()


def run(*argv, home=None, **options):
    environment = {"PATH": "/usr/bin:/bin", "HOME": home or "/nonexistent", "LC_ALL": "C.UTF-8"}
    return subprocess.run([AEGIS, *argv], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=30, check=False, **options)


def manual_sections():
    """From the sections of aegis(1) that describe one verb each, or the flags that several share: the flags."""
    page = read("docs/man/aegis.1")
    described = page[page.index(".Sh DESCRIPTION"):page.index(".Sh FILES")]
    sections = re.split(r"^\.Ss (\S+)\n", described, flags=re.M)
    return {name: {"--" + flag for flag in re.findall(r"^\.It Fl Fl (\S+)", text, flags=re.M)}
            for name, text in zip(sections[1::2], sections[2::2])}


def manual_flags():
    """Each verb's own and those that it shares, which its section must point to."""
    flags = manual_sections()
    for name, verbs in SHARED.items():
        shared = flags.pop(name)
        for verb in verbs:
            flags[verb] |= shared
    return flags


def synopsis_flags():
    page = read("docs/man/aegis.1")
    synopsis = page[page.index(".Sh SYNOPSIS"):page.index(".Sh DESCRIPTION")]
    flags = {}
    for verb, text in re.findall(r"^\.Nm\n\.Cm (\w+)\n((?:(?!\.Nm).*\n)*)", synopsis, flags=re.M):
        flags[verb] = {"--" + flag for flag in re.findall(r"Fl Fl (\S+)", text)}
        for name in SHARED:
            flags[verb] |= manual_sections()[name] if f"Ar {name}" in text else set()
    return flags


def fenced(page, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", page, flags=re.M | re.S)


class Manual(unittest.TestCase):
    def test_each_flag_of_each_verb_is_described_and_no_other(self):
        described, listed = manual_flags(), synopsis_flags()
        for verb in VERBS:
            with self.subTest(verb):
                help_text = run(verb, "--help")
                self.assertEqual(help_text.returncode, 0, help_text.stderr)
                # In the help of a verb only its options begin a line.
                offered = set(re.findall(r"^\s+(?:-\w,\s*)?(--[a-z][a-z-]*)", help_text.stdout, flags=re.M))
                offered -= {"--help", "--version"}
                self.assertTrue(offered, help_text.stdout)
                self.assertEqual(described[verb], offered)
                self.assertEqual(listed[verb], offered)

    def test_each_verb_is_in_the_help_and_in_the_manual(self):
        help_text = run("--help")
        self.assertEqual(help_text.returncode, 0)
        offered = set(re.findall(r"^  ([a-z]+) ", help_text.stdout, flags=re.M))
        self.assertEqual(offered, set(VERBS))
        self.assertEqual(set(manual_flags()), set(VERBS))

    def test_help_shows_an_example(self):
        for verb in VERBS:
            with self.subTest(verb):
                self.assertRegex(run(verb, "--help").stdout, rf"(?m)^\s+aegis {verb}\b")

    def test_pages_name_no_flag_that_does_not_exist(self):
        known = set().union(*manual_flags().values()) | {"--help", "--version"}
        others = {"--preset",  # of cmake and ctest
                  "--security-opt", "--user", "--scope",  # of docker and systemd-run
                  "--unshare-all",  # of bwrap
                  "--separate-git-dir",  # of git
                  "--file", "--path"}  # of any command that the broker runs
        for name in ["README.md", "docs/policy.md", "docs/broker.md", "docs/confinement.md", "docs/threat-model.md",
                     "docs/architecture.md", "docs/record-format.md", *("docs/man/" + page for page in MAN_PAGES)]:
            with self.subTest(name):
                used = set(FLAG.findall(read(name)))
                self.assertLessEqual(used, known | others)

    def test_pages_are_clean_mdoc(self):
        self.assertEqual(sorted(MAN_PAGES), sorted(os.listdir(os.path.join(SOURCES, "docs/man"))))
        for name in MAN_PAGES:
            with self.subTest(name):
                lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning",
                                       os.path.join(SOURCES, "docs/man", name)],
                                      capture_output=True, text=True, check=False)
                self.assertEqual((lint.stdout, lint.returncode), ("", 0))


class ExitStatus(unittest.TestCase):
    """Each row of EXIT STATUS in aegis(1) that can be shown without a signal or a broken disk."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = folder.name
        self.record = self.write("example.aarl", fenced(read("docs/record-format.md"), "jsonl")[0])
        self.allow = self.write("allow.yaml", "version: 1\nrules: []\n")

    def write(self, name, text):
        path = os.path.join(self.home, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def status(self, *argv):
        return run(*argv, home=self.home).returncode

    def test_wrap(self):
        plain = self.write("plain", "no program\n")
        self.assertEqual(self.status("wrap", "--", "sh", "-c", "exit 7"), 7)
        self.assertEqual(self.status("wrap", "--", "sh", "-c", "kill -TERM $$"), 128 + 15)
        self.assertEqual(self.status("wrap", "--no-such-flag", "--", "true"), 125)
        self.assertEqual(self.status("wrap", "true"), 125)
        self.assertEqual(self.status("wrap", "--", plain), 126)
        self.assertEqual(self.status("wrap", "--", "no-such-command-anywhere"), 127)

    def test_confine_before_anything_is_started(self):
        self.assertEqual(self.status("confine", "--no-such-flag", "--", "true"), 125)
        self.assertEqual(self.status("confine", "true"), 125)
        self.assertEqual(self.status("confine", "--allow-net", "localhost", "--", "true"), 125)
        self.assertEqual(self.status("confine", "--", "no-such-command-anywhere"), 127)
        self.assertEqual(self.status("wrap", "--tier", "full", "--", "true"), 125)

    def test_doctor_tells_a_usage_error_from_an_answer(self):
        self.assertEqual(self.status("doctor", "--no-such-flag"), 1)

    def test_keygen_and_key(self):
        key = os.path.join(self.home, "key")
        self.assertEqual(self.status("key", "--signing-key", key), 2)
        self.assertEqual(self.status("keygen", "--out", key), 0)
        self.assertEqual(self.status("keygen", "--out", key), 1)
        self.assertEqual(self.status("keygen", "--out", key, "--force"), 0)
        self.assertEqual(self.status("key", "--signing-key", key), 0)

    def test_verify(self):
        lines = fenced(read("docs/record-format.md"), "jsonl")[0]
        cut = self.write("cut.aarl", "".join(lines.splitlines(True)[:-1]))
        forged = self.write("forged.aarl", lines.replace("add_note", "add_nose"))
        missing = os.path.join(self.home, "missing.aarl")
        self.assertEqual(self.status("verify", self.record), 0)
        self.assertEqual(self.status("verify", forged), 1)
        self.assertEqual(self.status("verify"), 1)
        self.assertEqual(self.status("verify", missing), 2)
        self.assertEqual(self.status("verify", cut), 3)
        self.assertEqual(self.status("verify", self.record, cut), 3)
        self.assertEqual(self.status("verify", missing, cut), 2)
        self.assertEqual(self.status("verify", cut, missing, forged), 1)

    def test_the_broker(self):
        """What needs no sandbox: run's 3 is tried by sessions/broker_run_test.py."""
        starter = os.path.join(self.home, "starter")
        self.assertEqual(self.status("init", "--dir", starter), 0)
        self.assertEqual(self.status("init", "--dir", os.path.join(self.home, "none", "none")), 1)
        policy = ["--policy", os.path.join(starter, "broker-policy.yaml")]
        for verb in ("run", "check"):
            for name, code in (("valid_read", 0), ("attack_traversal", 2), ("none", 1)):
                request = os.path.join(starter, "requests", name + ".json")
                self.assertEqual(self.status(verb, request, *policy), code, (verb, name))
            self.assertEqual(self.status(verb, self.allow, *policy), 1)
            self.assertEqual(self.status(verb, os.path.join(starter, "requests/valid_read.json")), 1)

    def test_recheck(self):
        deny = self.write("deny.yaml", "version: 1\nrules: [{id: a, action: deny, tool: delete_notes}]\n")
        rate = self.write("rate.yaml", "version: 1\nrules: [{id: a, action: rate_limit, tool: add_note, "
                                       "rate: {max: 1, per_seconds: 1}}]\n")
        bad = self.write("bad.yaml", "version: 1\n")
        self.assertEqual(self.status("recheck", "--policy", self.allow), 0)
        self.assertEqual(self.status("recheck", "--policy", bad), 2)
        self.assertEqual(self.status("recheck", "--policy", deny, self.record), 0)
        self.assertEqual(self.status("recheck", "--policy", self.allow, self.record), 1)
        self.assertEqual(self.status("recheck", self.record), 1)
        self.assertEqual(self.status("recheck", "--policy", self.allow, os.path.join(self.home, "none")), 2)
        self.assertEqual(self.status("recheck", "--policy", rate, self.record), 3)


class RecordExample(unittest.TestCase):
    def test_the_encoder_makes_these_bytes(self):
        made = [subprocess.run([RECORD_EXAMPLE, *words], capture_output=True, check=True).stdout.decode()
                for words in ([], ["confined"])]
        self.assertEqual(fenced(read("docs/record-format.md"), "jsonl"), made)

    def test_sizes_and_hashes_of_the_table_are_theirs(self):
        page = read("docs/record-format.md")
        rows = re.findall(r"^\| (\d+) \| (\d+) \| `([0-9a-f]{64})` \|$", page, flags=re.M)
        lines = fenced(page, "jsonl")[0].encode().splitlines()
        self.assertEqual(rows, [(str(i), str(len(line)), hashlib.sha256(line).hexdigest())
                                for i, line in enumerate(lines)])

    def test_the_messages_have_the_digests(self):
        page = read("docs/record-format.md")
        for message in fenced(page, "json")[0].splitlines():
            self.assertIn(hashlib.sha256(message.encode()).hexdigest(), fenced(page, "jsonl")[0])

    def test_verify_says_what_the_page_says(self):
        page = read("docs/record-format.md")
        key = re.search(r"verify --key ([0-9a-f]{64}) example\.aarl", page).group(1)
        for lines, said in zip(fenced(page, "jsonl"), fenced(page, "text"), strict=True):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "example.aarl")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(lines)
                report = run("verify", "--key", key, path)
            self.assertEqual((report.stdout, report.returncode), (said, 0), report.stderr)


class Policies(unittest.TestCase):
    def test_each_policy_of_the_pages_is_good(self):
        for name in ["README.md", "docs/policy.md"]:
            for number, text in enumerate(fenced(read(name), "yaml")):
                with self.subTest(f"{name} {number}"), tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "policy.yaml")
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                    check = run("recheck", "--policy", path)
                    self.assertEqual(check.returncode, 0, check.stderr)


class Confinement(unittest.TestCase):
    def test_each_message_that_is_explained_is_the_programs(self):
        sources = ""
        for part in ("confine", "wrap"):
            for name in sorted(os.listdir(os.path.join(SOURCES, part))):
                if name.endswith((".cc", ".h")):
                    sources += read(f"{part}/{name}")
        sources = re.sub(r'"\s*"', "", sources)  # literals that stand behind one another are one
        page = read("docs/confinement.md")
        table = page[page.index("| message | means"):].split("\n\n")[0]
        cells = [row.split(" | ")[0] for row in table.splitlines()[2:] if not row.startswith("| (the program)")]
        self.assertGreater(len(cells), 15)
        for cell in cells:
            for message in re.findall(r"`([^`]+)`", cell):
                words = re.sub(r"--allow-read|\bPATH\b|: (No such|Stale) file.*", "…", message)  # a path, an errno
                for part in words.split("…"):
                    self.assertTrue(part.strip(" :;") in sources, f"{message}: nobody says '{part}'")


    def test_transcripts_are_what_the_program_says(self):
        """In a home of its own, on a file system that goes with its mount namespace."""
        home = """
            mount -t tmpfs none /home && mkdir -p /home/me/.ssh /home/me/data /home/me/project && cd /home/me/project &&
            echo secret >~/.ssh/id_ed25519 && echo text >~/notes.txt &&
            echo a,1 >~/data/a.csv && echo b,2 >~/data/b.csv && git init -q . || exit 77
            """
        environment = {"PATH": os.path.dirname(AEGIS) + ":/usr/bin:/bin", "HOME": "/home/me", "LC_ALL": "C.UTF-8"}
        throwaway = ["unshare", "--user", "--map-root-user", "--mount", "--fork", "sh", "-c"]

        def outcome(command):
            done = subprocess.run([*throwaway, f"{home} {command}"], env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
            return done.returncode, steady(done.stdout)

        def steady(text):
            """Who speaks first is chance, and so are a time and a process's number."""
            return sorted(re.sub(r"/\d{8}T\d{6}Z-\d+/", "/<run>/", text).splitlines())

        for tool in ("unshare", "git", "curl"):
            if not shutil.which(tool):
                self.skipTest(f"{tool} is missing")
        status, said = outcome("aegis confine -- true")
        if status != 0:
            self.skipTest(f"tier full cannot be had in a throwaway namespace here: {said}")
        for name in ("README.md", "docs/confinement.md"):
            for transcript in fenced(read(name), "console"):
                command, expected = transcript.removeprefix("$ ").split("\n", 1)
                with self.subTest(f"{name}: {command}"):
                    # curl writes its line in pieces, and one of aegis's may come between two of them.
                    for _ in range(3):
                        said = outcome(command)[1]
                        if said == steady(expected):
                            break
                    self.assertEqual(said, steady(expected))


class Links(unittest.TestCase):
    def test_each_link_leads_somewhere(self):
        pages = [os.path.relpath(os.path.join(folder, name), SOURCES)
                 for folder in (SOURCES, *(f for f, _, _ in os.walk(os.path.join(SOURCES, "docs"))))
                 for name in os.listdir(folder) if name.endswith(".md")]
        self.assertGreater(len(pages), 10)
        for page in sorted(set(pages)):
            text = re.sub(r"^```.*?^```$", "", read(page), flags=re.M | re.S)
            for target in re.findall(r"\]\(([^)#\s]+)", text):
                if re.match(r"[a-z]+:", target):
                    continue
                with self.subTest(f"{page} -> {target}"):
                    self.assertTrue(os.path.exists(os.path.join(SOURCES, os.path.dirname(page), target)))

    def test_each_file_of_the_tables_is_there(self):
        """Where a threat is tested, and which file does what at a confined start."""
        threats = read("docs/threat-model.md")
        tested = re.findall(r"`((?:probes|sessions|confine|wrap)/\w+\.\w+)`", threats)
        self.assertGreater(len(tested), 15)
        for name in tested:
            self.assertTrue(os.path.exists(os.path.join(SOURCES, "tests", name)), name)
        page = read("docs/architecture.md")
        table = page[page.index("| who | does | file of"):].split("\n\n")[0]
        done = {name for row in table.splitlines()[2:] for name in re.findall(r"`([\w/]+)`", row.split(" | ")[-1])}
        self.assertGreater(len(done), 15)
        for name in done:
            path = name if "/" in name else "confine/" + name
            self.assertTrue(os.path.exists(os.path.join(SOURCES, path + ".cc")), name)

    def test_decisions_are_short_and_listed(self):
        folder = os.path.join(SOURCES, "docs/decisions")
        index = read("docs/decisions/README.md")
        for name in sorted(set(os.listdir(folder)) - {"README.md"}):
            with self.subTest(name):
                self.assertRegex(name, r"^\d{4}-[a-z0-9-]+\.md$")
                self.assertIn(f"({name})", index)
                self.assertLess(read(f"docs/decisions/{name}").count("\n"), 60)
                self.assertTrue(read(f"docs/decisions/{name}").startswith(f"# {name[:4]}: "))


if __name__ == "__main__":
    AEGIS, RECORD_EXAMPLE = sys.argv[2], sys.argv[3]
    SOURCES = sys.argv[1]
    del sys.argv[1:4]
    unittest.main()
