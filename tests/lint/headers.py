#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""tests/lint/headers.py JOBS: every header of ours compiles when it is all there is."""

import concurrent.futures
import subprocess
import sys

COMPILE = ["clang++-14", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
           "-Wno-unused-const-variable", "-I.", "-x", "c++", "-"]


def compile_alone(header):
    # Included from an empty file, so that `#pragma once` is not in a main file; twice, so that it must work.
    text = f'#include "{header}"\n' * 2
    run = subprocess.run(COMPILE, input=text, text=True, capture_output=True, check=False)
    return "" if run.returncode == 0 else f"{header}: does not compile alone\n{run.stderr}"


def main():
    names = subprocess.run(["git", "ls-files", "-z", "*.h"], check=True, capture_output=True, text=True).stdout
    headers = [name for name in names.split("\0") if name]
    with concurrent.futures.ThreadPoolExecutor(int(sys.argv[1])) as pool:
        complaints = [text for text in pool.map(compile_alone, headers) if text]
    for text in complaints:
        print(text, end="")
    return 1 if complaints or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
