#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# testio writes its files whole, by however many threads, and no block is like another, whatever the size of a write: a disk
# or a file system that keeps alike ones once, or compresses them, would seem faster than it is.
import os
import subprocess
import tempfile
import time

K2HFT = os.environ.get("B", "build") + "/bin/k2hft"
BYTES = 5000000


def read(process):
    """The files that it has."""
    texts = []
    for name in os.listdir(f"/proc/{process}/fd"):
        path = f"/proc/{process}/fd/{name}"
        try:
            if "/test.io" in os.readlink(path):
                with open(path, "rb") as file:  # threads that read one have it, too
                    texts.append((os.stat(path).st_ino, file.read()))
        except FileNotFoundError:
            pass
    return list(dict(texts).values())


def blocks(text):
    """How many of them are unlike each other."""
    return len({text[at:at + 4096] for at in range(0, len(text), 4096)})


def main():
    with tempfile.TemporaryDirectory() as folder:
        for kilobytes, threads, files in (("4", "1", 1), ("64", "1", 1), ("4096", "1", 1), ("64", "3", 2)):
            found = []
            # Each is written, and then read again and again.
            with subprocess.Popen([K2HFT, "testio", "-q", "-s", "5", "-n", "1000", "-m", "read", "-b", kilobytes, "-w", threads,
                                   "-f", str(files), folder], stdout=subprocess.DEVNULL) as running:
                while found != [(BYTES, -(-BYTES // 4096))] * files:
                    assert running.poll() is None, (kilobytes, threads, found)
                    time.sleep(0.02)
                    found = [(len(text), blocks(text)) for text in read(running.pid)]
                running.kill()


main()
