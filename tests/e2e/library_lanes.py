#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Receivers come and go under 300 streams: each line arrives once, and in each stream in the order of writing."""
import os
import subprocess
import sys
import tempfile

from common.receiver import Receiver

STREAMS, COUNT = 300, 2000
TOOL = os.path.join(os.environ.get("B", "build"), "tests", "tools", "lanes_send")


def lines_of(work, at, stream):
    try:
        with open(f"{work}/{at}/out/s{stream}", encoding="ascii") as file:
            return [int(line) for line in file]
    except FileNotFoundError:
        return []


def check(work):
    used = [0, 0, 0, 0]
    for stream in range(STREAMS):
        parts = [lines_of(work, at, stream) for at in range(4)]
        for at, part in enumerate(parts):
            used[at] += len(part)
            assert part == sorted(part), f"s{stream} is out of order at receiver {at}"
        assert sorted(sum(parts, [])) == list(range(COUNT)), f"s{stream} is not whole, or not once"
    assert all(used), used


def main():
    with tempfile.TemporaryDirectory() as work:
        receivers = []
        try:
            for at in range(4):
                os.mkdir(f"{work}/{at}")
                receivers.append(Receiver(f"{work}/{at}"))
            subprocess.run([TOOL, str(STREAMS), str(COUNT), *(str(receiver.port) for receiver in receivers)],
                           check=True, timeout=180)
            check(work)
            for receiver in receivers:
                receiver.end()
        finally:
            for receiver in receivers:
                receiver.kill()


sys.exit(main())
