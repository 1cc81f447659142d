#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""k2hft push with four receivers: by hash, at random, to all, in copies; and what ring files of receivers keep that went."""
import os
import subprocess
import sys
import tempfile

from common.receiver import BIN, Receiver

STREAMS, LINES = 8, 150000


def push(work, receivers, *arguments, inputs=True, status=0):
    run = subprocess.run([f"{BIN}/k2hft", "push", "-q",
                          *(f"-r127.0.0.1:{receiver.port}" for receiver in receivers), *arguments,
                          *(f"{work}/in/s{stream}" for stream in range(STREAMS) if inputs)],
                         stdin=subprocess.DEVNULL, capture_output=True, timeout=120, text=True)
    assert run.returncode == status, (arguments, run)
    return run.stderr


def outputs(work, at):
    """By the name of the stream; they are taken away, so that the next part finds none."""
    found = {}
    out = f"{work}/{at}/out"
    for name in sorted(os.listdir(out)):
        if name.startswith("s"):
            with open(f"{out}/{name}", "rb") as file:
                found[name] = file.read()
            os.unlink(f"{out}/{name}")
    return found


def collect(work):
    return [outputs(work, at) for at in range(4)]


def whole_check(work, found, copies):
    for stream in range(STREAMS):
        name = f"s{stream}"
        with open(f"{work}/in/{name}", "rb") as file:
            wanted = file.read()
        holders = [out[name] for out in found if name in out]
        assert len(holders) == copies, f"{name} is at {len(holders)} receivers"
        assert all(holder == wanted for holder in holders), f"{name} differs"


def union_check(work, found):
    for stream in range(STREAMS):
        name = f"s{stream}"
        with open(f"{work}/in/{name}", "rb") as file:
            wanted = sorted(file.read().splitlines())
        assert sorted(b"".join(out.get(name, b"") for out in found).splitlines()) == wanted, f"{name} is not complete, once"
    sizes = [sum(map(len, out.values())) for out in found]
    assert all(sizes), f"one has nothing: {sizes}"


def rings_check(work, receivers):
    """The receivers are away; then two of them are no longer named."""
    for receiver in receivers:
        receiver.kill()
    ring = f"{work}/ring"
    said = push(work, receivers, "--ring", ring, "--timeout", "1", status=1)
    assert "is in " + ring in said, said
    assert len([name for name in os.listdir(work) if name.startswith("ring.")]) == 4
    again = []
    try:
        for at, receiver in enumerate(receivers):
            again.append(Receiver(f"{work}/{at}", port=receiver.port))
        push(work, again[:2], "--ring", ring, inputs=False)
        # A lane ends within moments; one that is still there when its sender ends is found by the next one.
        push(work, again[:2], "--ring", ring, inputs=False)
        whole_check(work, collect(work), 1)
    finally:
        for receiver in again:
            receiver.kill()


def main():
    with tempfile.TemporaryDirectory() as work:
        os.mkdir(f"{work}/in")
        for stream in range(STREAMS):
            with open(f"{work}/in/s{stream}", "w", encoding="ascii") as file:
                file.writelines(f"{stream} {line}\n" for line in range(LINES))
        receivers = []
        try:
            for at in range(4):
                os.mkdir(f"{work}/{at}")
                receivers.append(Receiver(f"{work}/{at}"))
            push(work, receivers)
            whole_check(work, collect(work), 1)
            push(work, receivers, "--spread", "random")
            union_check(work, collect(work))
            push(work, receivers, "--spread", "all")
            whole_check(work, collect(work), 4)
            push(work, receivers, "--copies", "2")
            whole_check(work, collect(work), 2)
            push(work, receivers, "--copies", "5", status=2)
            push(work, receivers, "--copies", "2", "--spread", "all", status=2)
            rings_check(work, receivers)
        finally:
            for receiver in receivers:
                receiver.kill()


sys.exit(main())
