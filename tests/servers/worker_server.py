#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""An MCP server on the standard library alone that does its work in other processes: a pool of them, which needs
semaphores in /dev/shm, a manager, which needs a unix socket in TMPDIR, and programs that it starts."""

import json
import multiprocessing
import subprocess
import sys


def square(number):
    return number * number


def squares(count):
    with multiprocessing.Pool(4) as pool:
        return " ".join(str(each) for each in pool.map(square, range(count)))


def add(shared, count):
    with shared.get_lock():
        shared.value += count


def count_up(count):
    shared = multiprocessing.Value("i", 0)
    processes = [multiprocessing.Process(target=add, args=(shared, each)) for each in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return str(shared.value)


def keep(words):
    with multiprocessing.Manager() as manager:
        return ",".join(manager.list(words))


def run(argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout

TOOLS = {"squares": squares, "count_up": count_up, "keep": keep, "run": run}


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "worker", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    try:
        text, is_error = TOOLS[params["name"]](**params.get("arguments", {})), False
    except (OSError, subprocess.CalledProcessError) as error:
        text, is_error = str(error) + (getattr(error, "stderr", "") or ""), True
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            answered = {"jsonrpc": "2.0", "id": message["id"],
                        "result": answer(message["method"], message.get("params", {}))}
            print(json.dumps(answered, separators=(",", ":")), flush=True)


if __name__ == "__main__":
    main()
