#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# No block of what testio writes is like another, whatever the size of a write: a disk or a file system that keeps alike ones
# once, or compresses them, would seem faster than it is.
import os
import subprocess
import tempfile
import time

K2HFT = os.environ.get("B", "build") + "/bin/k2hft"
BYTES = 5000000


def written(folder, *arguments):
    """What a run has written, while it is read again and again."""
    with subprocess.Popen([K2HFT, "testio", "-q", "-s", "5", "-n", "1000", "-w", "1", "-m", "read", *arguments, folder],
                          stdout=subprocess.DEVNULL) as running:
        try:
            while running.poll() is None:
                for name in os.listdir(f"/proc/{running.pid}/fd"):
                    path = f"/proc/{running.pid}/fd/{name}"
                    try:
                        if "/test.io" in os.readlink(path) and os.stat(path).st_size == BYTES:
                            with open(path, "rb") as file:
                                return file.read()
                    except FileNotFoundError:
                        pass
                time.sleep(0.02)
        finally:
            running.kill()
    raise AssertionError("it ended by itself")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for kilobytes in ("4", "64", "4096"):
            text = written(folder, "-b", kilobytes)
            blocks = [text[at:at + 4096] for at in range(0, BYTES, 4096)]
            assert len(set(blocks)) == len(blocks), (kilobytes, len(set(blocks)), len(blocks))


main()
