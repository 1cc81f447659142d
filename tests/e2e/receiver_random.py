#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A sender that says by chance whatever k2hft-protocol(7) allows, again and again what was there, in frames that are cut
# anew, and in the end something that it forbids: the receiver answers, and writes, what a simple model does, whether its
# files are renamed meanwhile, it gets SIGHUP, or is ended or killed.
import os
import random
import signal
import subprocess
import sys
import tempfile

from common.receiver import BIN, WAIT_S, Receiver

WIRE = os.path.join(os.path.dirname(BIN), "tests", "tools", "wire_send")
SESSIONS = int(os.environ.get("ROUNDS", "150"))
RINGS = 4


class Ring:
    """What is in it, chunk by chunk: its place, stream and payload."""

    def __init__(self, name):
        self.name, self.chunks, self.end = name, [], 0
        self.epoch, self.known, self.committed, self.last_epoch, self.acked = 1, False, 0, 0, 0
        self.unsynced = set()  # files: what it wrote last at level synced may not be on the disk

    def grow(self):
        for _ in range(random.randrange(1, 12)):
            if random.random() < 0.15:
                self.end += 8 * random.choice((1, 5, 1000))
            text = f"{self.name}-{len(self.chunks)}" + "x" * random.choice((0, 1, 7, 300, 3000)) + random.choice(("\\n", "\\n", ""))
            size = (32 + len(text.replace("\\n", "n")) + 7) // 8 * 8
            self.chunks.append((self.end, self.end + size, text))
            self.end += size

    def index_at(self, position):
        """Of the first chunk at or behind it."""
        return next((at for at, chunk in enumerate(self.chunks) if chunk[0] >= position), len(self.chunks))


class Session:
    def __init__(self, ring, files, level):
        self.ring, self.files, self.level = ring, files, level
        self.script, self.wanted, self.streams = [], [], {}
        self.expected, self.written = ring.committed, set()

    def say(self, *lines):
        self.script += lines

    def greet(self):
        ring = self.ring
        acked = random.choice((ring.acked, ring.committed)) if ring.known else ring.acked
        self.say(f"hello {ring.name} {ring.epoch} {acked} {self.level}")
        if ring.epoch < ring.last_epoch:
            self.say("error")
            self.wanted.append("error 4 ")
            return False
        if not ring.known:
            self.expected = ring.committed = acked
        self.say("welcome")
        self.wanted.append(f"welcome position {self.expected} {'known' if ring.known else 'new'} level {max(self.level, 2)} ")
        return True

    def stream(self):
        number = random.randrange(1, 4)
        self.streams[number] = random.choice(("a", "b/c", f"own/{self.ring.name}"))
        self.say(f"stream {number} {random.choice(('text', 'binary'))} {self.streams[number]}")

    def frame(self):
        """From somewhere at or before what was received on, without anything between its chunks."""
        ring = self.ring
        first = ring.index_at(self.expected)
        if random.random() < 0.4:
            first = max(0, first - random.randrange(6))
        if first == len(ring.chunks) or not self.streams:
            return
        begin = ring.chunks[first][0]
        gap = max(0, begin - self.expected) + 8 * random.randrange(3)
        self.say(f"lz4 {random.randrange(2)}", f"position {begin}", f"gap {min(gap, begin)}")
        for at in range(first, min(len(ring.chunks), first + random.randrange(1, 8))):
            if at > first and ring.chunks[at][0] != ring.chunks[at - 1][1]:
                break
            number = random.choice(list(self.streams))
            self.say(f"chunk {number} 0 {ring.chunks[at][2]}")
            if ring.chunks[at][1] > self.expected:
                self.written.add(self.streams[number])
                self.files.setdefault(self.streams[number], []).append(ring.chunks[at][2].replace("\\n", "\n"))
                self.move(ring.chunks[at][1])
        self.say("flush")

    def move(self, end):
        self.expected = end
        self.ring.known, self.ring.last_epoch = True, self.ring.epoch

    def discard(self):
        ring = self.ring
        at = ring.index_at(self.expected) + random.randrange(-3, 3)
        if not 0 <= at < len(ring.chunks):
            return
        end, begin = ring.chunks[at][1], max(0, self.expected - 8 * random.randrange(8))
        if end > begin:
            self.say(f"discard {begin} {end} 1")
            if end > self.expected:
                self.move(end)

    def ping(self):
        self.say("ping")
        self.wanted.append("pong")

    def wrong(self):
        """What ends it, and with which code."""
        some = self.expected + 8
        cases = [(7, [f"position {some}", "chunk 1 0 hole", "flush"]), (7, [f"discard {some} {some + 8} 0"]),
                 (1, ["chunk 9 0 undeclared", "flush"]), (1, [f"hello {self.ring.name} 9 0"]),
                 (3, ["damage 50", "stream 5 text whatever/long/enough"]), (3, ["damage 60", "chunk 1 0 damaged", "flush"]),
                 (6, [f"position {self.expected + (1 << 30)}", f"gap {1 << 30}", "chunk 1 0 far", "flush"])]
        if self.expected >= 40:
            cases.append((1, [f"position {self.expected - 8}", "chunk 1 0 overlaps", "flush"]))
        code, lines = random.choice(cases)
        self.say("stream 1 text a", f"position {self.expected}", "gap 0", *lines, "error", "closed")
        self.wanted += [f"error {code} ", "closed"]

    def finish(self):
        ring = self.ring
        end = random.choice(("ack", "bye", "ended", "close", "wrong"))
        if self.level == 3 and end in ("close", "wrong"):
            ring.unsynced = self.written
        if end == "wrong":
            self.wrong()
        elif end == "close":
            self.say("close", "closed")
            self.wanted.append("closed")
        else:
            self.say(f"position {self.expected}", "ack")
            self.wanted.append(f"ack {self.expected}")
            ring.acked = self.expected
            if end != "ack":
                self.say(f"bye {self.expected if end == 'ended' else 0}", "closed")
                self.wanted.append("closed")
        ring.committed = self.expected
        if end == "ended" and self.expected > 0:
            ring.known, ring.last_epoch = False, 0

    def make(self):
        if not self.greet():
            return
        self.ring.unsynced = set()  # WELCOME has waited for it
        for _ in range(random.randrange(12)):
            random.choice((self.stream, self.stream, self.frame, self.frame, self.frame, self.discard, self.ping))()
        self.finish()

    def run(self, port):
        done = subprocess.run([WIRE], input="\n".join([f"connect {port}", *self.script, ""]), capture_output=True, text=True,
                              timeout=WAIT_S, check=False)
        said = done.stdout.splitlines()
        good = done.returncode == 0 and len(said) == len(self.wanted) and all(map(str.startswith, said, self.wanted))
        assert good, "\n".join(["", *self.script, "-- wanted", *self.wanted, "-- said", done.stdout, done.stderr])


def compare(work, files, rotated):
    for name, texts in files.items():
        parts = []
        for path in [*rotated.get(name, ()), f"{work}/out/{name}"]:
            # A file that was rotated comes again with the next record.
            if os.path.exists(path):
                with open(path, encoding="ascii") as file:
                    parts.append(file.read())
        assert "".join(parts) == "".join(texts), name


def rotate(work, files, rotated, unsynced):
    """Not a file that may not be on the disk: a receiver that is killed then takes it for lost, and goes back to what is."""
    name = random.choice(list(files))
    path = f"{work}/out/{name}"
    if name not in unsynced and os.path.exists(path):
        rotated.setdefault(name, []).append(f"{path}.{len(rotated.get(name, ()))}")
        os.rename(path, rotated[name][-1])


def main():
    seed = int(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("K2HFT_SEED") or random.randrange(1 << 32))
    print("seed", seed)
    random.seed(seed)
    files, rotated, rings = {}, {}, [Ring(f"ring{number}") for number in range(RINGS)]
    with tempfile.TemporaryDirectory() as work:
        receiver = Receiver(work)
        try:
            for _ in range(SESSIONS):
                ring = random.choice(rings)
                ring.epoch = max(1, ring.last_epoch + random.choice((-1, 0, 0, 1)))
                ring.grow()
                if files and random.random() < 0.1:
                    rotate(work, files, rotated, set().union(*(each.unsynced for each in rings)))
                session = Session(ring, files, random.choice((1, 2, 2, 3)))
                session.make()
                if random.random() < 0.2:
                    receiver.process.send_signal(signal.SIGHUP)
                session.run(receiver.port)
                compare(work, files, rotated)
                if random.random() < 0.1:
                    random.choice((receiver.end, receiver.kill))()
                    receiver = Receiver(work)
                    compare(work, files, rotated)
        finally:
            receiver.kill()


main()
