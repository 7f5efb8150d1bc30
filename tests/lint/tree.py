#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What can be said of the tree from its text alone: who includes whom, what a pure part may not touch, what every
file starts with and how long it gets, and words that have no place here. Looks at files that git knows."""

import re
import subprocess
import sys

# Which parts each part may include (docs/architecture.md).
MAY_INCLUDE = {
    "mcp": {"mcp"},
    "policy": {"policy", "mcp"},
    "audit": {"audit", "mcp/json"},
    "confine": {"confine"},
    "wrap": {"wrap", "mcp", "policy", "audit", "confine", "CLI"},
}
PURE = {"mcp", "policy", "audit"}
# Headers by which a pure part could reach a descriptor, a clock, chance, the environment, a file or a process. Memory is
# none of these: <sys/mman.h> keeps a key out of core dumps.
IMPURE = re.compile(
    r"(unistd|fcntl|poll|signal|time|dirent|pwd|spawn|sys/(?!mman)\w+|linux/\w+|netinet/\w+|arpa/\w+)\.h"
    r"|chrono|ctime|random|fstream|iostream|filesystem|thread|mutex|future|csignal|condition_variable"
)
IMPURE_CALL = re.compile(r"\b(getenv|fopen|std::rand|rand|system|popen|printf|fprintf|puts|perror)\s*\(")
# Headers that cost too much, or tie too much, to stand in a header of ours.
NOT_IN_HEADERS = re.compile(r"(nlohmann|CLI|doctest|openssl|benchmark)/|(seccomp|sodium|yaml)\.h")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
SPDX = "SPDX-License-Identifier: Apache-2.0 OR MIT"
MAX_LINES = 400
MAX_TEST_LINES = 600  # a test is mostly tables of rows
WORDS = [
    (re.compile(r"/work\b/"), "a path of one machine"),
    (re.compile(r"registry\.npmjs|deb\.debian|pypi\.org|proxy\.golang"), "a registry's host name"),
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))"), "work left open without an issue number"),
    (re.compile(r"^(<{7}|>{7}|={7})( |$)", re.M), "a merge that was not finished"),
]
TOP = {"wrap", "confine", "policy", "audit", "mcp", "tests", "cast", "docs"}
TOP_FILES = re.compile(r"CMakeLists\.txt|CMakePresets\.json|Makefile|[A-Z]+(-[A-Z0-9]+(\.[0-9]+)?)?(\.md)?|\..+")


def git_files():
    out = subprocess.run(["git", "ls-files", "-z", "--cached"], check=True, capture_output=True).stdout
    return [name for name in out.decode().split("\0") if name]


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def include_findings(name, text):
    part = name.split("/")[0]
    for match in INCLUDE.finditer(text):
        quote, target = match.groups()
        where = f"{name}:{line_of(text, match.start())}"
        if part not in MAY_INCLUDE:
            continue
        if name.endswith(".h") and NOT_IN_HEADERS.match(target):
            yield f"{where}: a header may not include {target}"
        allowed = MAY_INCLUDE[part]
        if quote == '"' and not any(target.startswith(room + "/") for room in allowed):
            yield f'{where}: {part} may not include "{target}" (it may: {", ".join(sorted(allowed))})'
        if target.startswith("CLI/") and part != "wrap":
            yield f"{where}: only wrap may include {target}"
        if part in PURE and quote == "<" and IMPURE.fullmatch(target):
            yield f"{where}: {part} is pure, so it may not include <{target}>"


def purity_findings(name, text):
    if name.split("/")[0] not in PURE:
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = IMPURE_CALL.search(line.split("//")[0])
        if match:
            yield f"{name}:{number}: {name.split('/')[0]} is pure, so it may not call {match.group(1)}"


def own_header(name):
    """The line that a .cc, or the test of one, may start with instead of a comment."""
    stem = re.sub(r"^tests/", "", name).removesuffix(".cc").removesuffix("_test")
    return f'#include "{stem}.h"'


def source_findings(name, text):
    lines = text.splitlines()
    if not lines or lines[0] != f"// {SPDX}":
        yield f"{name}:1: must start with // {SPDX}"
    elif len(lines) < 2 or not (lines[1].startswith("//") or lines[1] == own_header(name)):
        yield f"{name}:2: must say what the file is for, or include first the header that says it"
    most = MAX_TEST_LINES if name.startswith("tests/") else MAX_LINES
    if len(lines) > most:
        yield f"{name}:{len(lines)}: {len(lines)} lines, at most {most}: a room that wants dividing"
    if name.endswith(".h") and "#pragma once" not in lines:
        yield f"{name}:1: lacks #pragma once"


def script_findings(name, text):
    head = "\n".join(text.splitlines()[:3])
    if SPDX not in head:
        yield f"{name}:1: lacks {SPDX}"


def place_findings(name):
    top, slash, _ = name.partition("/")
    if slash and top not in TOP and not top.startswith("."):
        yield f"{name}: there is no place for a folder {top}/ (docs/architecture.md)"
    if not slash and not TOP_FILES.fullmatch(name):
        yield f"{name}: does not belong at the top"


def findings(name):
    yield from place_findings(name)
    try:
        with open(name, encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError:
        return  # test data
    except OSError as error:
        yield f"{name}: {error.strerror}"
        return
    if "/corpus/" in name or name.startswith("cast/"):
        return
    if name.endswith((".cc", ".h")):
        yield from source_findings(name, text)
        yield from include_findings(name, text)
        yield from purity_findings(name, text)
    elif text.startswith("#!") or name.endswith((".py", "CMakeLists.txt", "Makefile")):
        yield from script_findings(name, text)
    if name == "tests/lint/tree.py":
        return  # it has to name the words
    for pattern, why in WORDS:
        for match in pattern.finditer(text):
            yield f"{name}:{line_of(text, match.start())}: {match.group(0).strip()!r} is {why}"


def main():
    found = [finding for name in git_files() for finding in findings(name)]
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
