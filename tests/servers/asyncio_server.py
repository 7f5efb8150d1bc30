#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""An MCP server on asyncio and the standard library alone, whose tools try what a confinement allows or refuses. What
fails is a tool's error that names the errno."""

import asyncio
import errno
import json
import os
import socket
import sys


async def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


async def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return "written"


async def run(argv):
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
    output, _ = await process.communicate()
    if process.returncode != 0:
        raise OSError(errno.EIO, output.decode(errors="replace"))
    return output.decode()


async def connect(host, port):
    _, writer = await asyncio.open_connection(host, port)
    writer.close()
    return "connected"


async def make_socket(family):
    socket.socket(getattr(socket, family), socket.SOCK_RAW).close()
    return "made"


async def flood(size):
    return "x" * size


async def environment():
    return json.dumps(dict(os.environ), sort_keys=True)


async def wait(seconds):
    await asyncio.sleep(seconds)
    return "waited"


async def die(number):
    os.kill(os.getpid(), number)
    return "alive"

TOOLS = {tool.__name__: tool for tool in (read, write, run, connect, make_socket, flood, environment, wait, die)}


async def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "asyncio", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    try:
        text, is_error = await TOOLS[params["name"]](**params.get("arguments", {})), False
    except OSError as error:
        text, is_error = f"{errno.errorcode.get(error.errno, error.errno)}: {error}", True
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


async def reply(message):
    answered = {"jsonrpc": "2.0", "id": message["id"], "result": await answer(message)}
    sys.stdout.write(json.dumps(answered, separators=(",", ":")) + "\n")
    sys.stdout.flush()


async def main():
    reader = asyncio.StreamReader(limit=1 << 26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    replies = []
    while line := await reader.readline():
        message = json.loads(line)
        if "id" in message:
            replies.append(asyncio.create_task(reply(message)))
    await asyncio.gather(*replies)


asyncio.run(main())
