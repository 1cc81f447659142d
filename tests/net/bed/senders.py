# SPDX-License-Identifier: MIT
"""A mount, k2hft push, and a program that uses the library, each on the senders' host, with all receivers configured.

Each has producers of its own, whose numbers nobody else has, and tells in the end how many records each has made. `rate`:
records a second of each producer.
"""
import glob
import json
import os
import signal

from parts.fleet import address, sender_config, unmount
from parts.process import Process, Trouble, quiet, wait_until

END_S = 240
RECORD_BYTES = 200
COUNT_MAX = 1 << 40
FAILOVER_MS = 1000


class Sender:
    def __init__(self, bed, name, receivers, *words, producers=1, rate=1000, ring=True, size=RECORD_BYTES):
        self.bed = bed
        self.name = name
        self.words = words
        self.producers = producers
        self.rate = rate
        self.size = size
        self.base = bed.producers_take(producers)
        self.ring = bed.path(f"{name}.ring") if ring else None
        self.config = bed.path(f"{name}.ini")
        self.write_config(receivers)
        self.maker = None

    def write_config(self, receivers):
        sender_config(self.config, receivers, self.ring, *self.words)

    def program(self, name):
        return os.path.join(self.bed.programs, name)

    def process(self, name, command, **other):
        return Process(f"{self.name}'s {name}", command, self.bed.path(f"{self.name}-{name}.log"), self.bed.sender, **other)

    def make(self, *where):
        with open(self.bed.path(f"{self.name}.made"), "wb") as made:
            self.maker = self.process("maker", [*self.making(), "--json", "--rate", self.rate, "-n", COUNT_MAX, "--timeout",
                                                END_S, *where], stdout=made)

    def making(self):
        """The same seed for all: verify expects the producers of a run in that run."""
        return [self.program("k2hft"), "verify", "--make", "--seed", self.bed.seed, "--producers", self.producers,
                "--producer", self.base, "--size", self.size]

    def rest(self):
        """No records for a while; without a process of its own that makes them, they go on."""
        self.maker.stop()

    def serving(self):
        """What sends, with its children."""
        return self.maker

    def receivers_change(self, receivers):
        """While it goes on."""
        self.write_config(receivers)

    def rings(self):
        """Its files: one for each lane."""
        return glob.glob(glob.escape(self.ring) + "*") if self.ring else []

    def stop(self):
        """No more records. The count of each producer."""
        self.maker.go_on()
        self.maker.signal(signal.SIGTERM)
        self.ended(self.maker)
        with open(self.bed.path(f"{self.name}.made"), encoding="utf-8") as made:
            return {one["producer"]: one["records"] for one in json.load(made)["producers"]}

    def ended(self, process):
        status = process.wait(END_S)
        if status:
            raise Trouble(f"{process.name} ended with status {status}; {process.last_lines()}")

    def streams(self):
        """By their files at a receiver: {name: producer}."""
        name = self.stream()
        if self.producers == 1:
            return {name: self.base}
        return {f"{name}.{producer}": producer for producer in range(self.base, self.base + self.producers)}

    def stream(self):
        return self.name

    def start(self):
        raise NotImplementedError

    def finish(self):
        """Everything is acknowledged; what it made."""
        raise NotImplementedError


class Library(Sender):
    def rest(self):
        pass

    def start(self):
        self.make("-c", self.config, "-t", self.stream())

    def finish(self):
        return self.stop()


class Mount(Sender):
    mount = None

    def point(self):
        return self.bed.path(f"{self.name}.mnt")

    def stream(self):
        return f"senddir/{self.name}"

    def start(self):
        os.mkdir(self.point())
        self.mount = self.process("mount", [self.program("k2hftfuse"), self.point(), "-f", "-o", f"conf={self.config}"])
        self.bed.mounts.append(self.point())
        wait_until(lambda: not self.mount.alive() or os.path.ismount(self.point()), 30, "the mount comes")
        if not self.mount.alive():
            raise Trouble(f"the mount does not start; {self.mount.last_lines()}")
        self.make("--append", os.path.join(self.point(), self.stream()))

    def serving(self):
        return self.mount

    def receivers_change(self, receivers):
        super().receivers_change(receivers)
        if not quiet(self.program("k2hft"), "reload", self.point()):
            raise Trouble(f"{self.name} does not reload; {self.mount.last_lines()}")

    def finish(self):
        made = self.stop()
        if not quiet("umount", self.point()):
            raise Trouble(f"{self.point()} can't be unmounted")
        self.ended(self.mount)
        unmount(self.point())
        return made


class Push(Sender):
    """One stream from a pipe; of several streams one call after the other has some files, until `stop`."""
    push = None

    def start(self):
        pipe = self.bed.path(f"{self.name}.pipe")
        os.mkfifo(pipe)
        if self.producers == 1:
            self.push = self.process("push", ["sh", "-c", '"$@" <"$0"', pipe, *self.command(), "-t", self.stream()])
            self.make("--append", pipe)
        else:
            self.make_files()

    def serving(self):
        return self.push

    def command(self):
        return [self.program("k2hft"), "push", "-q", "-c", self.config, "--timeout", END_S]

    def finish(self):
        made = self.stop()
        self.ended(self.push)
        return made


class PushFiles(Push):
    """A call of k2hft push for some files, and again for the next ones. `count`: of records in each file."""
    count = 0
    AT_ONCE = 10

    def start(self):
        self.ended(self.process("maker", [*self.making(), "-q", "-n", self.count, self.bed.path(self.name)]))
        files = [self.bed.path(name) for name in self.streams()]
        # Some files at a time.
        self.push = self.process("push", ["sh", "-c", 'printf "%s\\n" "$@" | xargs -n $AT_ONCE sh -c \'sleep $PAUSE; exec '
                                          '$PUSH "$@"\' sh', "sh", *files],
                                 extra={"AT_ONCE": str(self.AT_ONCE), "PAUSE": str(self.count / self.rate),
                                        "PUSH": " ".join(map(str, self.command()))})

    def finish(self):
        self.ended(self.push)
        return {self.base + number: self.count for number in range(self.producers)}


class Fleet(Library):
    """A program whose receivers are added and removed by calls of the library."""
    send = None
    receivers = []

    def start(self):
        pipe = self.bed.path(f"{self.name}.pipe")
        os.mkfifo(pipe)
        reading, self.commands = os.pipe()
        self.send = self.process("program", [os.path.join(self.bed.tools, "fleet_send"), self.ring, FAILOVER_MS, self.stream(),
                                             pipe, *map(address, self.receivers)], stdin=reading)
        os.close(reading)
        self.make("--shared", pipe)

    def write_config(self, receivers):
        self.receivers = receivers

    def serving(self):
        return self.send

    def receivers_change(self, receivers):
        before, self.receivers = self.receivers, receivers
        for verb, those in (("add", [one for one in receivers if one not in before]),
                            ("remove", [one for one in before if one not in receivers])):
            for one in those:
                answers = self.send.said().count("\n")
                os.write(self.commands, f"{verb} {address(one).replace(':', ' ')}\n".encode())
                wait_until(lambda had=answers: self.send.said().count("\n") > had, 30, f"{verb} {one.name}")
                if not self.send.said().endswith("done\n"):
                    raise Trouble(f"{verb} {one.name}: {self.send.last_lines()}")

    def finish(self):
        made = self.stop()
        self.ended(self.send)
        os.close(self.commands)
        return made
