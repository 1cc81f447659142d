# SPDX-License-Identifier: MIT
"""k2hft push, an application that uses the library, a mount: each with a ring file, and with records to send."""
import os
import re
import signal
import subprocess
import time

from .process import Process, Trouble, signal_all, wait_until

PRODUCERS_MAX = 100
REOPEN_RATE_MAX = 3000
# Sizes of records, and how many come in a second.
LOADS = [("24-120", 2000), ("24-120", 20000), ("100", 8000), ("50-3000", 2000), ("24-20000", 300), ("100-60000", 80)]
STEADY = [("24-120", 20000), ("100", 8000)]  # a ring needs a small area alone, and leaves it when nothing is read
LIGHT = [("24-120", 2000), ("50-3000", 500), ("100-60000", 80)]  # a peer in Python decodes them
PIECES = [("100-200000", 40)]


class Part:
    """What one call of a producer made: records 1 to between `at_least` (accepted) and `at_most`."""

    def __init__(self, sender, producer, at_least, at_most):
        self.sender = sender
        self.producer = producer
        self.at_least = at_least
        self.at_most = at_most
        self.committed = 0  # bytes, of this lap until it was killed
        self.found = None


class Load:
    """How much is sent in a lap, and how."""

    def __init__(self, random, seconds, loads):
        self.seconds = seconds
        self.size, self.rate = random.choice(loads)
        self.size_max = int(self.size.split("-")[-1])
        self.count = int(self.rate * seconds) + 10
        self.seed = random.randrange(1 << 40)

    def words(self, producer):
        return ["--seed", self.seed, "--producer", producer, "-n", self.count, "--rate", self.rate, "--size", self.size]


class Sender:
    name = None
    base = 0

    def __init__(self, world):
        self.world = world
        self.load = None
        self.stream = None
        self.parts = []
        self.maker = None
        self.committed_before = 0

    def verify(self):
        return [os.path.join(self.world.bin, "k2hft"), "verify"]

    def log(self):
        return self.world.path(f"{self.name}.log")

    def ring(self):
        return self.world.path(f"{self.name}.ring")

    def begin(self, load, lap):
        self.load = load
        self.stream = f"{self.name}/lap{lap}"
        self.parts = []
        self.committed_before = self.committed()
        self.go()

    def part_add(self):
        part = Part(self, self.base + len(self.parts) + 1, self.load.count, self.load.count)
        if len(self.parts) >= PRODUCERS_MAX:
            raise Trouble(f"{self.name} was started too often")
        self.parts.append(part)
        return part

    def processes(self):
        """Those of k2hft, for signals."""
        raise NotImplementedError

    def go(self):
        raise NotImplementedError

    def busy(self):
        return self.maker is not None and self.maker.alive()

    def ended_well(self, process, seconds):
        status = process.wait(seconds)
        if status:
            raise Trouble(f"{process.name} ended with status {status}; {process.last_lines()}")

    def committed(self):
        """Bytes that the ring has accepted, ever, while its sender stands still."""
        return self.world.ring_count(self.ring()) or 0

    def kill(self, exactly):
        """`exactly`: it is known what was accepted before."""
        committed = 0
        victim = self.processes()[0]
        if exactly and victim.alive():
            victim.stop()
            committed = max(0, self.committed() - self.committed_before)
        victim.kill()
        self.died(committed)

    def died(self, committed):
        """`committed`: bytes of this lap that the ring has at least, and which must arrive."""
        part = self.parts[-1]
        # The least that earlier parts of the lap had accepted is known; the most decides.
        part.at_least = 0
        part.committed = committed
        self.after_kill(part)

    def after_kill(self, part):
        pass


class PushSender(Sender):
    name = "push"
    base = 1000

    def __init__(self, world):
        super().__init__(world)
        self.push = None

    def processes(self):
        return [self.push]

    def go(self):
        part = self.part_add()
        reading, writing = os.pipe()
        self.push = Process("push", [os.path.join(self.world.bin, "k2hft"), "push", *self.world.push_words(), "--ring",
                                     self.ring(), "--ring-size", self.world.ring_bytes, "--level", self.world.level,
                                     "--compress", self.world.compress, "--timeout", 100, "-t", self.stream],
                            self.log(), self.world.sender_host(), stdin=reading,
                            extra=self.world.environment(self.name))
        self.maker = Process("push's input", self.verify() + ["--make", "-q"] + self.load.words(part.producer) +
                             ["/dev/stdout"], self.world.path("push-input.log"), stdout=writing)
        os.close(reading)
        os.close(writing)

    def after_kill(self, part):
        self.maker.wait(20)

    def finish(self, seconds):
        self.ended_well(self.maker, seconds)
        self.ended_well(self.push, seconds)


class LibrarySender(Sender):
    name = "library"
    base = 2000

    def processes(self):
        return [self.maker]

    def go(self):
        part = self.part_add()
        self.world.write_config("library.ini", self.ring())
        self.maker = Process("library", self.verify() + ["--make", "-q", "-c", self.world.path("library.ini"),
                                                         "--timeout", 100, "-t", self.stream] +
                             self.load.words(part.producer), self.log(), self.world.sender_host(),
                             extra=self.world.environment(self.name))

    def finish(self, seconds):
        self.ended_well(self.maker, seconds)


class MountSender(Sender):
    name = "mount"
    base = 3000

    def processes(self):
        return [self.world.mount]

    def begin(self, load, lap):
        super().begin(load, lap)
        self.stream = f"senddir/lap{lap}"

    def go(self):
        part = self.part_add()
        path = os.path.join(self.world.mount_point, "senddir", os.path.basename(self.stream))
        way = self.world.random.choice(["--append-each", "--append", "--reopen"])
        # Each open and close of so many records would take longer than the lap.
        if way == "--reopen" and self.load.rate > REOPEN_RATE_MAX:
            way = "--append-each"
        self.maker = Process("mount's writer", self.verify() + ["--make", "-q", way, "--sync"] +
                             self.load.words(part.producer) + [path], self.world.path("mount-writer.log"))

    def kill(self, exactly):
        """
        The whole daemon: writers see errors, and what they were told is written must be there, or in the ring at least
        where the kernel's page cache had it: that is lost with the mount.
        """
        part = self.parts[-1]
        signal_all(self.world.mount_workers(), signal.SIGKILL)
        self.world.mount.kill()
        self.world.mount_detach()
        status = self.maker.wait(30)
        if status:
            found = re.search(r"record (\d+): ", self.maker.said())
            if not found:
                raise Trouble(f"the writer does not tell how far it came; {self.maker.last_lines()}")
            part.at_least = int(found.group(1)) - 1
            if self.world.write_mode == "cached":
                part.at_least = 0
                part.committed = max(0, self.committed() - self.committed_before)
            # A write whose answer got lost; in a write that gathers many, all of them.
            part.at_most = self.load.count

    def finish(self, seconds):
        self.ended_well(self.maker, seconds)


class Attached(Sender):
    """A program that puts records into the ring of another sender, and dies with one more reserved."""
    name = "attached"
    base = 4000

    def __init__(self, world, host):
        super().__init__(world)
        self.owner = host

    def ring(self):
        return self.owner.ring()

    def processes(self):
        return [self.maker]

    def go(self):
        part = self.part_add()
        source = self.world.path("attached.in")
        part.at_least = part.at_most = self.world.random.randrange(1, 300)
        with open(self.log(), "ab") as log:
            subprocess.run([str(word) for word in self.verify() +
                            ["--make", "-q", "--seed", self.load.seed, "--producer", part.producer, "-n", part.at_most,
                             "--size", self.load.size, source]], stdout=log, stderr=log, check=True, timeout=30)
        until = time.monotonic() + 10
        while not self.holds(source):
            if "not connected" not in self.maker.said() or time.monotonic() > until:
                raise Trouble(f"the attached program ended; {self.maker.last_lines()}")
            # The owner has only begun: it has not opened the ring yet.
            time.sleep(0.02)
            self.owner_sends()

    def holds(self, source):
        with open(source, "rb") as lines:
            self.maker = Process("attached", [os.path.join(self.world.tools, "ring_client"), self.ring(), "hold",
                                              self.stream], self.log(), stdin=lines)
        wait_until(self.has_held, 60, "the attached program reserves")
        if self.maker.alive():
            return True
        self.maker.wait(1)
        return False

    def has_held(self):
        self.owner_sends()
        return not self.maker.alive() or "held" in self.maker.said()

    def owner_sends(self):
        """An owner that has sent all its own begins again: nobody else would send what is in its ring."""
        if not self.owner.processes()[0].alive():
            self.owner.finish(20)
            self.owner.go()
