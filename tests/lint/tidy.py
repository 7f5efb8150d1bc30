#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""tests/lint/tidy.py BUILD JOBS: clang-tidy over every .cc that git knows, as BUILD/compile_commands.json compiles it.
A file that was clean is looked at again only when it, a header of ours that it reaches, the checks or its command
have changed; what was clean is remembered in BUILD/tidy/."""

import concurrent.futures
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import time

TIDY = "clang-tidy-14"
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.M)


@functools.lru_cache(maxsize=None)
def read(name):
    with open(name, "rb") as file:
        return file.read()


def reached(source):
    """`source` and every file of ours that it includes, whatever stands between."""
    seen, todo = set(), [source]
    while todo:
        name = todo.pop()
        if name in seen or not os.path.isfile(name):
            continue
        seen.add(name)
        for target in INCLUDE.findall(read(name)):
            target = target.decode()
            todo += [target, os.path.join(os.path.dirname(name), target)]
    return sorted(seen)


def fingerprint(source, command, ground):
    digest = hashlib.sha256(ground + command.encode())
    for name in reached(source):
        digest.update(name.encode() + b"\0" + hashlib.sha256(read(name)).digest())
    return digest.hexdigest()


def tidy(build, source):
    run = subprocess.run([TIDY, "-p", build, "--quiet", source], text=True, capture_output=True, check=False)
    # stderr holds only counts of warnings not shown, unless clang-tidy itself failed.
    return "" if run.returncode == 0 else run.stdout + run.stderr


def git_names(pattern):
    names = subprocess.run(["git", "ls-files", "-z", pattern], check=True, capture_output=True, text=True).stdout
    return [name for name in names.split("\0") if name]


def main():
    build, jobs = sys.argv[1], int(sys.argv[2])
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = {os.path.relpath(entry["file"]): entry["command"] for entry in json.load(file)}
    version = subprocess.run([TIDY, "--version"], check=True, capture_output=True).stdout
    ground = version + b"".join(read(name) for name in sorted(git_names("*.clang-tidy")))
    cache = os.path.join(build, "tidy")
    os.makedirs(cache, exist_ok=True)

    failed = False
    todo = {}
    for source in git_names("*.cc"):
        if source not in commands:
            print(f"{source}: no target compiles it")
            failed = True
            continue
        mark = os.path.join(cache, fingerprint(source, commands[source], ground))
        if not os.path.exists(mark):
            todo[source] = mark

    def look(source):
        start = time.monotonic()
        return source, tidy(build, source), time.monotonic() - start

    # Largest first: the last one to start should not be the one that everybody waits for.
    order = sorted(todo, key=lambda source: -len(read(source)))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for source, complaint, seconds in pool.map(look, order):
            if complaint:
                print(complaint, end="", flush=True)
                failed = True
            else:
                with open(todo[source], "w", encoding="utf-8") as mark:
                    mark.write(f"{source} {seconds:.1f} s\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
