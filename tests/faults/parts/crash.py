# SPDX-License-Identifier: MIT
"""Death at the named points of the tables crash.def, in a build that has them."""
import contextlib
import mmap
import os
import re
import signal
import struct
import subprocess
import time

from .kinds.destinations import plugin_excuses, plugins_end, relay_end, remote_end
from .kinds.fault import Fault
from .process import Trouble, signal_all, wait_until
from .senders import LOADS, STEADY

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
TABLES = [os.path.join(TOP, folder, "base", "crash.def") for folder in ("lib", "fuse", "receiver")]
STEPS_AT = 8
STEP = "=I60s"
PLAN_BYTES = 4096
# In a ring's file.
CAPACITY_AT = 32
DATA_AT = 40
TAIL_AT = 128
HEAD_AT = 384
PLACE_AT = 6 * 128 + 48
AREA_BYTES = (0, 1 << 16, 1 << 20)  # of a build with crash points; the first is all of the ring
STALL_S = 0.3
REACHED_S = 60
LEFT_S = 1
TRANSACTION_S = 20  # brokers end that of a dead producer whose id nobody takes
REMOTE = ("remote", "forward", "otlp", "refused")
KAFKA = ("kafka", "opened", "claimed")
ROLES = {"sender": ("push", "library", "mount"), "mount": ("mount",), "receiver": ("receiver",)}


class Point:
    def __init__(self, name, who, need):
        self.name = name
        self.who = who
        self.need = need

    def roles(self):
        """Who can be brought to this point by what it needs."""
        if self.need in ("new ring", "damage"):
            return ("push",)
        if self.need in ("end", "longer claims") and self.who == "sender":
            return ("push", "library")
        return ROLES[self.who]


def points_of(paths):
    """All points of the tables, by name."""
    points = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for row in re.findall(r'^K2I_CRASH_POINT\((\w+), "([^"]*)", "([^"]*)"\)', file.read(), re.M):
                points[row[0]] = Point(*row)
    return points


POINTS = points_of(TABLES)


class Plan:
    """The file that processes of one role share (lib/base/crash.c)."""

    def __init__(self, path):
        self.path = path
        with open(path, "w+b") as file:
            file.truncate(PLAN_BYTES)
            self.memory = mmap.mmap(file.fileno(), PLAN_BYTES)

    def arm(self, steps):
        """[(point, passes)...]: a death for each."""
        self.memory[4:8] = struct.pack("=I", 0)
        for number, (point, passes) in enumerate(steps):
            struct.pack_into(STEP, self.memory, STEPS_AT + struct.calcsize(STEP) * number, passes, point.name.encode())
        self.memory[0:4] = struct.pack("=I", 0)
        self.memory[4:8] = struct.pack("=I", len(steps))

    def step(self):
        return struct.unpack_from("=I", self.memory)[0]


# The signal with which a receiver comes to a point.
ASKED = {"end": signal.SIGTERM, "reload": signal.SIGHUP}


class Settled:
    """Rings that go on at another receiver with a commit of each of two files that they know not to be acknowledged:
    one file ends in it, behind the other's another ring has written."""
    rings = 0

    def __init__(self, world):
        self.world = world
        self.sent = False

    def talk(self, *lines):
        """With wire_send; whether the receiver has lived as long."""
        script = "\n".join((f"connect {self.world.port}",) + lines) + "\n"
        return subprocess.run([os.path.join(self.world.tools, "wire_send")], input=script.encode(), check=False,
                              capture_output=True, timeout=60).returncode == 0

    def send(self):
        Settled.rings += 1
        ring = f"{Settled.rings}"
        return (self.talk(f"hello s{ring} 1 0", "welcome", f"stream 1 text settle/{ring}.cut",
                          f"stream 2 text settle/{ring}.kept", "chunk 1 0 one\\n", "chunk 2 0 one\\n", "flush", "ack",
                          "chunk 1 0 two\\n", "chunk 2 0 two\\n", "flush", "ack") and
                self.talk(f"hello b{ring} 1 0", "welcome", f"stream 1 text settle/{ring}.kept", "chunk 1 0 three\\n",
                          "flush", "ack", "bye"))

    def settle(self):
        with open(self.world.ledger(), "rb") as ledger:
            uuid = ledger.read(32)[16:].hex()
        return self.talk(f"receiver {uuid}", "unsettled 80", f"hello s{Settled.rings} 2 800", "welcome", "bye")

    def go(self):
        """A step."""
        if not self.sent:
            self.sent = self.send()
        elif self.settle():
            self.sent = False
            self.check()

    def finish(self):
        if self.sent and not self.settle():
            raise Trouble("a ring can't be settled")
        if self.sent:
            self.check()

    def check(self):
        for kind, wanted in (("cut", b"one\n"), ("kept", b"one\ntwo\nthree\n")):
            with open(os.path.join(self.world.output, "settle", f"{Settled.rings}.{kind}"), "rb") as file:
                found = file.read()
            if found != wanted:
                raise Trouble(f"settle/{Settled.rings}.{kind} has {found}")
        with open(os.path.join(self.world.output, ".k2hft", "retracted"), "rb") as file:
            lines = [line for line in file if f"\tsettle/{Settled.rings}.kept\t4\t4\t".encode() in line]
        if len(lines) != 1:
            raise Trouble(f"settle/{Settled.rings}.kept is retracted {len(lines)} times")


class Crash(Fault):
    """Of a class of its own for each point and role, made by `of`."""
    point = role = None
    times = 1

    def __init_subclass__(cls):
        """Not one of kinds.ALL."""

    @classmethod
    def of(cls, point, role, times):
        return type(f"Crash_{point.name}", (cls,),
                    {"name": point.name, "point": point, "role": role, "times": times,
                     "loads": STEADY if point.need == "stalls" else LOADS})

    def __init__(self, lap):
        super().__init__(lap)
        self.plan = self.at.plans[self.role]
        self.sender = {"push": lap.push, "library": lap.library, "mount": lap.mount}.get(self.role)
        self.asked = None
        self.deaths = 0
        self.stalled, self.stall_turned = False, 0
        self.left_at = 0
        self.rings = Settled(self.at) if self.point.need == "settled" else None
        self.archive = self.at.path("mount.archive")
        self.archived = os.path.getsize(self.archive) if os.path.exists(self.archive) else 0

    def steps(self):
        first = re.fullmatch(r"after (\w+)", self.point.need)
        before = [(POINTS[first.group(1)], self.random.randrange(1, 10))] if first else []
        hot = self.point.need in ("", "longer claims", "synced", "carried", "lanes", "plugged", "relay", "kafka", *REMOTE)
        steps = []
        # A mount whose keepers die before they serve it, five in a row, is given up.
        for number in range(min(self.times, 4) if self.point.need == "kept" else self.times):
            # A mount's kernel gathers: there are few requests and frames, and after a death a writer begins anew.
            most = 4 if number or self.role == "mount" else 30
            steps += before + [(self.point, self.random.randrange(1, most) if hot else 1)]
        return steps

    def inject(self):
        steps = self.steps()
        if self.point.need == "damage":
            self.damage()
        elif self.point.need == "new ring":
            self.sender.finish(60)
        self.plan.arm(steps)
        self.deaths = len(steps)
        if self.point.need == "new ring":
            self.again()
        elif self.point.need == "damage":
            self.sender.go()
        elif self.point.need in ("restart", "opened", "claimed"):
            self.restart()
        until = time.monotonic() + REACHED_S + (TRANSACTION_S * self.times if self.point.need == "claimed" else 0)
        while not self.all_died():
            if time.monotonic() > until:
                raise Trouble(f"{self.point.name} in {self.role}: {self.plan.step()} of {self.deaths} deaths before the time "
                              "was over")
            self.revive()
            if self.point.need == "stalls":
                self.stall()
            time.sleep(0.005)
        if self.stalled:
            self.at.receiver.go_on()
        self.settle()

    def all_died(self):
        """A step is taken before the death: if somebody is dead, and this is false, that was not the last."""
        return self.plan.step() == self.deaths

    def stall(self):
        """The receiver stops and goes on in turns: a ring leaves its small area, and comes back to it."""
        if time.monotonic() - self.stall_turned > STALL_S:
            self.stalled = not self.stalled
            self.stall_turned = time.monotonic()
            (self.at.receiver.stop if self.stalled else self.at.receiver.go_on)()

    def leave(self):
        """The keeper does, or is killed, when it has had its time to be ready."""
        if time.monotonic() > self.left_at:
            self.left_at = time.monotonic() + LEFT_S
            killed = self.point.name != "mount_left" and self.random.random() < 0.5
            self.at.mount.signal(signal.SIGKILL if killed else signal.SIGUSR2)

    def restart(self):
        if self.role == "receiver":
            self.at.receiver.kill()
        elif self.role == "mount":
            signal_all(self.at.mount_workers(), signal.SIGKILL)
        elif self.sender.processes()[0].alive():
            self.sender.kill(exactly=False)
            self.again()

    def revive(self):
        """Starts again what has died, and what has ended with its records while more deaths are to come."""
        if self.role == "receiver":
            self.revive_receiver()
        elif self.role != "mount":
            self.revive_sender(True)
        elif self.at.turns and self.at.mount_workers():
            self.at.mount_turn()
        elif self.point.need == "kept" and self.at.mount_workers():
            self.leave()
        elif self.point.need == "reload" and self.at.mount_workers():
            self.at.mount.signal(signal.SIGUSR1)
        elif not self.sender.busy():
            self.sender.finish(20)
            self.sender.go()

    def revive_receiver(self):
        receiver = self.at.receiver
        if not receiver.alive():
            if self.all_died():
                return
            if receiver.child.returncode not in (-signal.SIGKILL, 0 if self.point.need == "end" else None):
                raise Trouble(f"the receiver ended with status {receiver.child.returncode}; {receiver.last_lines()}")
            if self.point.need == "claimed":
                self.at.identity_lose()
            self.at.receiver_spawn()
        elif self.point.need in ASKED and self.asked is not receiver and "listening on" in receiver.said():
            self.asked = receiver
            if self.at.turns:
                self.at.write_turn(not self.at.turned)
            receiver.signal(ASKED[self.point.need])
        elif self.point.need == "settled" and "listening on" in receiver.said():
            self.rings.go()
        elif not self.lap.busy() and not self.lap.push.processes()[0].alive():
            # Without records nothing more comes by.
            self.lap.push.finish(20)
            self.lap.push.go()

    def revive_sender(self, more):
        process = self.sender.processes()[0]
        if process.alive() or more and self.all_died():
            return
        status = process.wait(20)
        if status == -signal.SIGKILL:
            self.sender.died(self.committed())
            self.again()
        elif status:
            raise Trouble(f"{process.name} ended with status {status}; {process.last_lines()}")
        elif more and self.point.need == "damage":
            # The damaged chunk had been committed, only its acknowledgement was still on the way.
            self.damage()
            self.sender.go()
        elif more:
            self.sender.finish(20)
            self.again()

    def committed(self):
        """Looking opens the ring, which leaves nothing to mend; and a count can be ahead of its commit by one."""
        known = self.point.need in ("", "longer claims") and self.point.name != "ring_commit_before"
        if not known or self.random.random() < 0.5:
            return 0
        return max(0, self.sender.committed() - self.sender.committed_before)

    def again(self):
        if self.point.need == "new ring":
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.sender.ring())
            self.sender.committed_before = 0
        self.sender.go()

    def settle(self):
        """Whoever died last is started again, and stays."""
        if self.role == "receiver":
            wait_until(lambda: not self.at.receiver.alive() or self.point.need == "end", 20, "the last death")
            if self.asked is self.at.receiver and self.point.need == "end":
                self.at.receiver.wait(30)
            self.at.receiver_start()
        elif self.role == "mount":
            wait_until(self.at.mount_workers, 20, "another worker")
        else:
            wait_until(lambda: not self.sender.processes()[0].alive(), 20, "the last death")
            self.revive_sender(False)
        if self.at.turns:
            self.at.turns_end(self.role == "mount")

    def damage(self):
        """Of the first entry of push's ring, while nothing is sent."""
        self.at.receiver.stop()
        if not self.sender.busy():
            self.at.receiver.go_on()
            self.sender.finish(60)
            self.at.receiver.stop()
            self.sender.go()
        wait_until(lambda: self.place(TAIL_AT) & ~7 > self.place(HEAD_AT) & ~7, 20, "records wait in the ring")
        self.sender.kill(exactly=False)
        self.receiver_again()
        with open(self.sender.ring(), "r+b") as ring:
            ring.seek(self.entry_at(self.place(HEAD_AT)))
            ring.write(bytes(8))

    def entry_at(self, place):
        """Where an entry is in the file: the low bits of a place are its area (lib/ring/layout.h)."""
        capacity, area = self.place(CAPACITY_AT), (place & 6) >> 1
        begin = (0, capacity, capacity + AREA_BYTES[1])[area]
        return self.place(DATA_AT) + begin + (place & ~7) % (AREA_BYTES[area] or capacity)

    def place(self, at):
        """A field of the ring's header."""
        with open(self.sender.ring(), "rb") as ring:
            ring.seek(at)
            return struct.unpack("=Q", ring.read(8))[0]

    def archive_check(self):
        """That of a mount with a single receiver has the records of the lap, as the file that they arrive in."""
        if self.at.unify or not os.path.exists(self.archive):
            return
        there = b""
        for name in self.lap.files_of(self.lap.output_of(self.lap.mount)):
            with open(name, "rb") as file:
                there += file.read()
        with open(self.archive, "rb") as file:
            file.seek(self.archived)
            if file.read() != there:
                raise Trouble(f"{self.point.name}: the archive and {self.lap.mount.stream} differ")

    def after(self):
        if self.point.name.startswith("archive_"):
            self.archive_check()
        if self.point.need == "damage":
            self.lap.forget_rings.append(self.sender)
        elif self.point.need == "new ring" and os.path.exists(self.sender.ring() + ".k2hft-new"):
            raise Trouble(f"{self.point.name}: a file that was being made is left")
        elif self.rings:
            self.rings.finish()
        elif self.at.plugged:
            plugins_end(self.lap)
        elif self.at.relayed:
            relay_end(self.lap)
        elif self.at.remote:
            remote_end(self.lap)

    def excuses(self, sender, what):
        """Of a record in pieces the last of which was not committed; of what was damaged."""
        if self.at.plugged:
            return plugin_excuses(self.lap, self.role, sender, what)
        if sender is not self.sender:
            return False
        return what == "damaged" and self.lap.in_pieces() or what == "lost" and self.point.need == "damage"
