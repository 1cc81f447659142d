#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two relays with ring files; each process of the way is killed, in turn: all is there once, in order, as it was written."""
import filecmp
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

from common.receiver import BIN, WAIT_S, wait_for
from common.relay import Stage

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 8


class Sender:
    """k2hft push with a ring file, fed for as long as it takes. Killed, it is fed the rest of what its ring has not."""

    def __init__(self, work, port):
        self.work, self.port, self.number, self.ended = work, port, 0, False
        self.written = open(f"{work}/in", "wb")  # pylint: disable=consider-using-with
        self.feeder = threading.Thread(target=self.feed)
        self.start()
        self.feeder.start()

    def start(self):
        self.process = subprocess.Popen([f"{BIN}/k2hft", "push", "-q", f"-r127.0.0.1:{self.port}", "-t", "in"],
                                        stdin=subprocess.PIPE, stderr=subprocess.PIPE)

    def feed(self):
        while not self.ended:
            lines = b"".join(b"record %08d of a way with two relays%*s\r\n" % (number, number % 90, b"")
                             for number in range(self.number, self.number + random.randrange(1, 4000)))
            self.number += lines.count(b"\n")
            self.written.write(lines)
            self.process.stdin.write(lines)
            self.process.stdin.flush()
        self.process.stdin.close()
        self.written.close()

    def end(self):
        self.ended = True
        self.feeder.join(WAIT_S)
        assert self.process.wait(WAIT_S) == 0, self.process.stderr.read()


def main():
    with tempfile.TemporaryDirectory() as work:
        last = Stage(f"{work}/last")
        second = Stage(f"{work}/second", to=[last])
        first = Stage(f"{work}/first", to=[second])
        stages, cut = [first, second, last], 0
        sender = Sender(work, first.port)
        for kill in range(KILLS):
            time.sleep(random.uniform(0.05, 0.25))
            cut += b"is cut back" in stages[kill % 3].receiver.said()
            stages[kill % 3].kill()
        sender.end()
        wait_for("all at the end", lambda: os.path.exists(f"{work}/last/out/in") and
                 os.path.getsize(f"{work}/last/out/in") >= os.path.getsize(f"{work}/in"))
        for stage in stages:
            stage.end()
        print(f"{sender.number} records, {KILLS} kills, {cut} rings cut back")
        assert filecmp.cmp(f"{work}/in", f"{work}/last/out/in", shallow=False), os.path.getsize(f"{work}/last/out/in")


main()
