#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 4500
"""TYPE = file, forward, and a server that takes messages for an hour and acknowledges none (8 s without K2HFT_NET=long): files
of twenty senders go on, one with more than its window gets the window, the receiver's memory stays bounded, and k2hft stat
says since when and why. When the server acknowledges again, it gets everything, and so do senders. Prints the worst of each."""
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))
from common.forward import Server  # noqa: E402 (the folder of the other tests)
from common.otlp import free_port  # noqa: E402
from common.receiver import BIN, MODULES, Receiver, content, memory, size, wait_for  # noqa: E402

STALL_S = 3600 if os.environ.get("K2HFT_NET") == "long" else 8
STEADY = 20
WINDOW = 4 << 20
SLOW_S = 30  # of a machine with much to do
MEMORY_MAX = 200 << 20
GREEDY = b"\n".join(b"%d %s" % (number, b"x" * 900) for number in range(12000)) + b"\n"


class Push:
    def __init__(self, port, path):
        self.path, self.data = path, b""
        self.process = subprocess.Popen([f"{BIN}/k2hft", "push", "-q", "-r", f"127.0.0.1:{port}", "-t", path, "--timeout", "600"],
                                        stdin=subprocess.PIPE)

    def say(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()
        self.data += data

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(300) == 0


class Worst:
    def __init__(self):
        self.lag_s = self.answer_s = self.memory = 0


def lines_of(server):
    """Of each tag; a message that comes again has the chunk of the first."""
    lines, first = {}, {}
    for event in server.events:
        if first.setdefault(server.messages[event.message][0], event.message) == event.message:
            lines.setdefault(event.tag, []).append(event.record["message"].encode() + b"\n")
    return lines


def look(receiver, control, worst, since):
    """The verdict: for how long records wait, rounded down, and why."""
    begun = time.monotonic()
    said = subprocess.run([f"{BIN}/k2hft", "stat", f"127.0.0.1:{control}"], capture_output=True, text=True, check=False).stdout
    worst.answer_s = max(worst.answer_s, time.monotonic() - begun)
    first = said.split("\n", 1)[0]
    told = re.fullmatch(r".*: records for forward wait for (\d+) (s|min|h): 127\.0\.0\.1:\d+:? (.+)", first)
    assert told, said
    unit_s = {"s": 1, "min": 60, "h": 3600}[told[2]]
    assert (int(told[1]) + 1) * unit_s + SLOW_S > time.monotonic() - since, first
    worst.memory = max(worst.memory, memory(receiver.process.pid))
    assert worst.memory < MEMORY_MAX, worst.memory
    return first


def stall(receiver, control, work, senders):
    """Writes a line for each sender every second."""
    worst, since, number, first = Worst(), time.monotonic(), 0, ""
    while time.monotonic() - since < STALL_S:
        number += 1
        for sender in senders:
            sender.say(b"%s %d %s\r\n" % (sender.path.encode(), number, b"y" * 180))
        begun = time.monotonic()
        for sender in senders:
            wait_for(f"the file of {sender.path}", lambda sender=sender: size(f"{work}/out/{sender.path}") == len(sender.data))
        worst.lag_s = max(worst.lag_s, time.monotonic() - begun)
        if number == 3:
            senders.append(Push(receiver.port, "late"))
        if number % 5 == 0:
            first = look(receiver, control, worst, since)
        time.sleep(1)
    print(f"{number} lines of {len(senders)} senders; worst: file after {worst.lag_s:.2f} s, stat after {worst.answer_s:.2f} s, "
          f"memory {worst.memory >> 20} MiB; {first}")


def check(work):
    going, control = threading.Event(), free_port()
    # It reads no more of a connection, and closes it in the end.
    server = Server(behave=lambda *_: going.wait())
    with open(f"{work}/greedy", "wb") as data:
        data.write(GREEDY)
    own = [f"STATEDIR = {work}/state", f"FORWARD_SERVER = 127.0.0.1:{server.port}", f"WINDOW = {WINDOW}", "BUFFERMAX = 64M"]
    receiver = Receiver(work, f"CTLPORT = {control}", "\n".join(own), kind="file, forward")
    senders = [Push(receiver.port, f"steady{number}") for number in range(STEADY)]
    with open(f"{work}/greedy", "rb") as data:
        greedy = subprocess.Popen([f"{BIN}/k2hft", "push", "-q", "-r", f"127.0.0.1:{receiver.port}", "-t", "greedy", "--timeout",
                                   "600"], stdin=data)
    wait_for("the window", lambda: size(f"{work}/out/greedy") > WINDOW * 9 // 10)
    stall(receiver, control, work, senders)
    assert greedy.poll() is None and not any(sender.process.poll() is not None for sender in senders)
    server.behave = None
    going.set()
    for sender in senders:
        sender.end()
    assert greedy.wait(300) == 0
    receiver.end()
    assert content(f"{work}/out/greedy") == GREEDY
    assert not server.problems, server.problems
    lines = lines_of(server)
    for path, data in [("greedy", GREEDY)] + [(sender.path, sender.data) for sender in senders]:
        assert b"".join(lines[path]) == data, path


with tempfile.TemporaryDirectory() as folder:
    if not os.path.exists(os.path.join(MODULES, "forward.so")):
        print("SKIP: the module forward is not built: its library is missing")
        raise SystemExit(77)
    check(folder)
