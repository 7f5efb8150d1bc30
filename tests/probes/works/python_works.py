# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a confined python must still be able to do; the working directory may be written. Says a line for each:
`<name> works` or `<name> fails <why>`. Standard library alone."""

import asyncio
import ctypes
import fcntl
import json
import locale
import mmap
import multiprocessing
import os
import pty
import queue
import select
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import zoneinfo
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import shared_memory


def check(condition, words="not as it should be"):
    if not condition:
        raise AssertionError(words)


def threads():
    done = queue.Queue()
    for number in range(8):
        threading.Thread(target=done.put, args=(number,)).start()
    check(sorted(done.get(timeout=5) for _ in range(8)) == list(range(8)))


def thread_pool():
    with ThreadPoolExecutor(4) as pool:
        check(list(pool.map(abs, range(-5, 0))) == [5, 4, 3, 2, 1])


def asyncio_tasks():
    async def main():
        await asyncio.sleep(0)
        return await asyncio.gather(*(asyncio.sleep(0.001, number) for number in range(5)))
    check(asyncio.run(main()) == list(range(5)))


def asyncio_subprocess():
    async def main():
        process = await asyncio.create_subprocess_exec("cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        said, _ = await process.communicate(b"x" * 200000)
        return said
    check(len(asyncio.run(main())) == 200000)


def asyncio_threads():
    check(asyncio.run(asyncio.to_thread(lambda: 7)) == 7)


def asyncio_signal():
    async def main():
        got = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, got.set)
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.wait_for(got.wait(), 5)
    asyncio.run(main())


def subprocesses():
    said = subprocess.run(["sh", "-c", "read a; echo $a | tr a-z A-Z"], input="works\n", capture_output=True, text=True,
                          check=True)
    check(said.stdout == "WORKS\n")


def _square(number):
    return number * number


def multiprocessing_fork():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        check(pool.map(_square, range(4)) == [0, 1, 4, 9])


def multiprocessing_spawn():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        check(pool.submit(_square, 6).result(20) == 36)


def _add(counter, lock):
    for _ in range(100):
        with lock:
            counter.value += 1


def multiprocessing_locks():
    context = multiprocessing.get_context("fork")
    counter, lock = context.Value("i", 0, lock=False), context.Lock()
    workers = [context.Process(target=_add, args=(counter, lock)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(10)
    check(counter.value == 300)


def multiprocessing_shared_memory():
    block = shared_memory.SharedMemory(create=True, size=64)
    again = shared_memory.SharedMemory(block.name)
    try:
        again.buf[0] = 9
        check(block.buf[0] == 9)
    finally:
        again.close()
        block.close()
        block.unlink()


def sqlite():
    for mode in ("DELETE", "WAL"):
        with sqlite3.connect(f"works-{mode}.db") as database:
            database.execute(f"PRAGMA journal_mode={mode}")
            database.execute("CREATE TABLE IF NOT EXISTS t (a)")
            database.execute("INSERT INTO t VALUES (1)")
        check(database.execute("SELECT count(*) FROM t").fetchone()[0] >= 1)
        database.close()


def temporary_files():
    with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryDirectory() as folder:
        file.write(b"x")
        check(os.path.isdir(folder))


def locales():
    locale.setlocale(locale.LC_ALL, "C.UTF-8")
    check("é".encode() == b"\xc3\xa9" and sys.getfilesystemencoding() == "utf-8")
    with open("ñame", "w", encoding="utf-8") as file:
        file.write("ü")
    check("ñame" in os.listdir("."))


def time_zones():
    check(time.localtime().tm_year > 2000)
    check(zoneinfo.ZoneInfo("Europe/Paris").key == "Europe/Paris")


def certificates():
    context = ssl.create_default_context()
    check(context.verify_mode == ssl.CERT_REQUIRED)


def pseudo_terminal():
    master, slave = pty.openpty()
    os.write(slave, b"works\n")
    check(b"works" in os.read(master, 100))


def file_locks():
    with open("locked", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_EX)


def executable_memory():
    with mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(b"\xb8\x07\x00\x00\x00\xc3")  # mov eax, 7; ret
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        check(os.uname().machine != "x86_64" or ctypes.CFUNCTYPE(ctypes.c_int)(address)() == 7)


def foreign_functions():
    kept = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda number: number + 1)
    check(kept(1) == 2)
    check(ctypes.CDLL(None).getpid() == os.getpid())


def polling():
    reader, writer = os.pipe()
    waiting = select.epoll()
    waiting.register(reader, select.EPOLLIN)
    os.write(writer, b"x")
    check(waiting.poll(5))


def big_lines():
    line = "x" * (1 << 20)
    said = subprocess.run(["cat"], input=line + "\n", capture_output=True, text=True, check=True)
    check(json.loads(json.dumps(said.stdout)) == line + "\n")


def socket_pairs():
    with socket.socketpair()[0] as end:
        check(end.family == socket.AF_UNIX)


def own_user():
    check(os.path.expanduser("~").startswith("/"))
    import pwd
    check(pwd.getpwuid(os.getuid()).pw_uid == os.getuid())


def names_fail_fast():
    begin = time.monotonic()
    for host in ("localhost", "works.invalid"):
        try:
            socket.getaddrinfo(host, 80)
        except OSError:
            pass
    check(time.monotonic() - begin < 2, "a name took long to fail")


def copying():
    shutil.copytree("/usr/share/zoneinfo/Arctic", "copied", dirs_exist_ok=True)
    shutil.rmtree("copied")


def unix_server():
    folder = tempfile.mkdtemp()
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(os.path.join(folder, "s"))
        listener.listen()
        client.connect(os.path.join(folder, "s"))
        listener.accept()[0].close()


ALL = (threads, thread_pool, asyncio_tasks, asyncio_subprocess, asyncio_threads, asyncio_signal, subprocesses,
       multiprocessing_fork, multiprocessing_spawn, multiprocessing_locks, multiprocessing_shared_memory, sqlite,
       temporary_files, locales, time_zones, certificates, pseudo_terminal, file_locks, executable_memory,
       foreign_functions, polling, big_lines, socket_pairs, own_user, names_fail_fast, copying, unix_server)


def main():
    for each in ALL:
        try:
            each()
            print(each.__name__, "works", flush=True)
        except Exception as error:  # whatever it is, it is the answer
            print(each.__name__, "fails", type(error).__name__, str(error).replace("\n", " "), flush=True)


if __name__ == "__main__":
    main()
