#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The receiver's machine loses its power: at level synced all records are there then, once, and nothing else is.

    tests/faults/power_cut.py [--cuts N] [--seconds S] [--seed SEED] [-v]
    make check-power-cut [CUTS=N] [SEED=S]

A receiver under load is recorded (recorder.c): each change of its files, each sync, each answer to a sender; in half of
the runs it is killed in the middle and started again. Then, for each of the cuts, its directory is made as a disk can have
it when the power goes at a random moment (parts/disk.py), a receiver is started on it after what looks like a reboot, and
the senders' rings are sent again, from where they were acknowledged then; sometimes that is recorded in its turn, and
cut. At level synced the files must be byte for byte what was sent. With one sender of level written among them (mixed)
the others' files must, too, and of a file of all nothing of theirs may be missing. What else is missing, comes twice or is
torn is counted; the receiver must have said that it can be. Needs root, for the reboot. B is the build folder. Exit
status 0, 1 something was wrong or not said, 77 skipped.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import uuid

from parts.harness import interrupted, own_mounts
from parts.crash import HEAD_AT, PLACE_AT
from parts.disk import CONNECTED, SENT, WRITE, Disk, events_of, found_in
from parts.process import Process, Trouble, quiet, wait_until

CUTS_IN_RUN = 40
FAILURES_MAX = 20
RING_BYTES = 4 << 20  # it holds all, and is small enough to have no hot area, which would be written over
ACK = 5
FRAME = struct.Struct("<IBBHI")
FRAME_HEADER_BYTES = 40
BOOT_ID = "/proc/sys/kernel/random/boot_id"
SENDERS = 3
COUNTS = ("lost", "repeated", "late", "damaged", "different")


class Sender:
    """k2hft push."""

    def __init__(self, run, number):
        self.run = run
        self.name = f"sender{number}"
        self.producer = number
        self.level = run.level if run.level != "mixed" else "written" if number == 1 else "synced"
        # Nobody who is acknowledged before the disk has it writes to the same file.
        self.exact = self.level == "synced" and not (run.unify and run.level == "mixed")
        self.stream = run.random.choice([self.name, f"deep/er/{self.name}"])
        self.file = "all.log" if run.unify else self.stream
        self.ring = run.path(f"{self.name}.ring")
        self.uuid = None
        self.size = run.random.choice(["24-120", "100", "50-3000"])
        self.count = run.random.randrange(200, 2000 if self.size == "50-3000" else 4000)
        self.rate = run.random.choice([500, 2000, 20000])

    def push(self, ring, stdin):
        return Process(self.name, [run_path(self.run, "k2hft"), "push", "-q", "-r", f"127.0.0.1:{self.run.port}",
                                   "--ring", ring, "--ring-size", RING_BYTES, "--level", self.level, "-t", self.stream],
                       self.run.path(f"{self.name}.log"), stdin=stdin)

    def make(self, *extra):
        return [run_path(self.run, "k2hft"), "verify", "--make", "-q", "--seed", self.run.seed, "--producer",
                self.producer, "-n", self.count, "--size", self.size, *extra, "/dev/stdout"]

    def begin(self):
        reading, writing = os.pipe()
        self.pushing = self.push(self.ring, reading)
        self.maker = Process("maker", self.make("--rate", self.rate), self.run.path("maker.log"), stdout=writing)
        os.close(reading)
        os.close(writing)

    def end(self, process):
        status = process.wait(90)
        if status:
            raise Trouble(f"{self.name}: status {status}; {process.last_lines()}")

    def again(self, position):
        """The ring as it was when it had been acknowledged up to there."""
        copy = self.run.path(f"{self.name}.copy")
        shutil.copyfile(self.ring, copy)
        with open(copy, "r+b") as ring:
            ring.seek(HEAD_AT)
            ring.write(struct.pack("=QQQ", *[position] * 3))  # head, acked, read
            ring.seek(PLACE_AT)  # for the ring it is the same file
            ring.write(bytes(8))
        self.pushing = self.push(copy, subprocess.DEVNULL)

    def content(self):
        return subprocess.run([str(word) for word in self.make()], stdout=subprocess.PIPE, check=True).stdout


def run_path(run, program):
    return os.path.join(os.path.abspath(run.options.build), "bin", program)


class Life:
    """What a receiver did to its directory until its machine lost its power, in one process or several."""

    def __init__(self, run, name, acked, prefix):
        self.run = run
        self.name = name
        self.prefix = prefix
        self.records = []
        self.said = ""
        self.events = []
        self.before = found_in(run.out)
        self.root = os.stat(run.out).st_ino
        # {ring: [(event, position)...]}
        self.acked = {ring: [(0, position)] for ring, position in acked.items()}

    def start(self):
        self.records.append(self.run.path(f"{self.name}.{len(self.records)}"))
        self.receiver = self.run.receiver_start(
            {"LD_PRELOAD": os.path.abspath(os.path.join(self.run.options.build, "tests", "recorder.so")),
             "K2HFT_RECORD": self.records[-1], "K2HFT_RECORD_ROOT": self.run.out}, self.prefix)

    def kill(self):
        self.receiver.kill()
        self.said += self.receiver.said()
        self.run.keep_inodes()

    def end(self):
        self.kill()
        self.events = events_of(self.records)
        for record in self.records:
            os.unlink(record)
        streams = {}
        rings = dict(re.findall(r":(\d+)\) connected, ring (\S+) at", self.said))
        for number, event in enumerate(self.events):
            if event.what == CONNECTED:
                streams[event.number] = [rings.get(str(event.offset)), b""]
            elif event.what == SENT and event.number in streams:
                stream = streams[event.number]
                stream[1] = self.take_frames(number, stream[0], stream[1] + event.data)

    def take_frames(self, number, ring, data):
        while len(data) >= FRAME_HEADER_BYTES:
            _, _, kind, _, body_bytes = FRAME.unpack_from(data)
            if len(data) < FRAME_HEADER_BYTES + body_bytes:
                break
            if kind == ACK:
                self.acked[ring].append((number, struct.unpack_from("<Q", data, FRAME_HEADER_BYTES)[0]))
            data = data[FRAME_HEADER_BYTES + body_bytes:]
        return data

    def cut(self, chance):
        """Makes the directory as it can be after a cut. {ring: where it was acknowledged}; the last answers may not have
        come to the sender."""
        writes = [at for at, event in enumerate(self.events) if event.what == WRITE]
        at = chance.choice([chance.randrange(len(self.events) + 1), chance.choice(writes) + chance.randrange(6)])
        at = min(at, len(self.events))
        self.run.restore(Disk(self.events, self.root, at, chance, self.before))
        acked = {}
        for ring, positions in self.acked.items():
            known = [position for event, position in positions if event <= at]
            acked[ring] = known[-chance.choice([1, 1, chance.randrange(1, len(known) + 1)])]
        return acked, f"behind event {at} of {len(self.events)}"


class Run:
    """One recorded run, and cuts of it."""

    def __init__(self, options, number):
        self.options = options
        self.random = random.Random(f"{options.seed}/{number}")
        self.seed = self.random.randrange(1 << 30)
        self.level = options.level or self.random.choice(["synced", "synced", "synced", "mixed", "mixed", "written"])
        self.unify = self.random.random() < 0.4
        self.killed = self.random.random() < 0.5
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="k2hft-power-cut."))
        self.out = self.path("out")
        self.port = 0
        self.counts = dict.fromkeys(COUNTS, 0)
        self.problems = []
        self.kept = {}
        self.life = None
        self.senders = [Sender(self, number) for number in range(1, SENDERS + 1)]

    def path(self, name):
        return os.path.join(self.folder, name)

    def describe(self):
        return f"{self.level}, {'unified' if self.unify else 'a file each'}{', killed before' if self.killed else ''}"

    def receiver_start(self, extra, prefix):
        receiver = Process("receiver", prefix + [run_path(self, "k2hftfusesvr"), "-conf", self.path("server.ini"),
                                                 "--listen", f"127.0.0.1:{self.port}"], self.path("receiver.log"),
                           extra=extra)
        wait_until(lambda: not receiver.alive() or "listening on" in receiver.said(), 30, "the receiver listens")
        found = re.search(r"listening on [0-9.]+:(\d+)", receiver.said())
        if not found:
            raise Trouble(f"the receiver does not start; {receiver.last_lines()}")
        self.port = int(found.group(1))
        return receiver

    def record(self):
        with open(self.path("server.ini"), "w", encoding="utf-8") as file:
            file.write("[GLOBAL]\nPORT = 8020\nSOCKTHREADCNT = 2\nSSL = no\n[K2HFTFUSESVR]\nTYPE = file\n"
                       f"FILE_BASEDIR = {self.out}\n" + ("FILE_UNIFY = all.log\n" if self.unify else ""))
        os.mkdir(self.out)
        os.mkdir(self.path("inodes"))
        self.life = Life(self, "life", {}, [])
        self.life.start()
        for number, sender in enumerate(self.senders):
            sender.begin()
            # The order of connections tells which is whose.
            wait_until(lambda wanted=number + 1: self.life.receiver.said().count(" connected, ring") >= wanted, 30,
                       "a connection")
            sender.uuid = re.findall(r" connected, ring (\S+) at", self.life.receiver.said())[number]
            self.life.acked[sender.uuid] = [(0, 0)]
        if self.killed:
            time.sleep(self.random.random() * 0.5)
            self.life.kill()
            self.life.start()
        for sender in self.senders:
            sender.end(sender.maker)
            sender.end(sender.pushing)
        self.life.end()

    def keep_inodes(self):
        """A file is the same after a power cut; so that it can be here, each keeps a second name."""
        for path, (inode, contents) in found_in(self.out).items():
            if contents is not None and inode not in self.kept:
                self.kept[inode] = self.path(f"inodes/{inode}")
                os.link(os.path.join(self.out, path), self.kept[inode])

    def restore(self, disk):
        shutil.rmtree(self.out)
        os.mkdir(self.out)
        for path in sorted(disk.names):
            target = os.path.join(self.out, path)
            inode = disk.names[path]
            if path in disk.directories:
                os.mkdir(target, 0o700)
                continue
            if inode in self.kept:
                os.link(self.kept[inode], target)
            with open(target, "wb") as file:
                file.write(disk.contents.get(inode, b""))

    def reboot(self, chance):
        """What makes a command believe that the machine was started again."""
        boot = self.path("boot_id")
        with open(boot, "w", encoding="ascii") as file:
            file.write(f"{uuid.UUID(int=chance.getrandbits(128))}\n")
        return ["unshare", "-m", "sh", "-c", f'mount --bind "{boot}" {BOOT_ID} && exec "$@"', "sh"]

    def send_again(self, acked):
        for sender in self.senders:
            sender.again(acked[sender.uuid])
        for sender in self.senders:
            sender.end(sender.pushing)

    def cut(self, number):
        """One power cut, or a second one while what comes after the first is on its way."""
        chance = random.Random(f"{self.seed}/{number}")
        acked, where = self.life.cut(chance)
        said = ""
        if chance.random() < 0.3:
            second = Life(self, "second", acked, self.reboot(chance))
            second.start()
            self.send_again(acked)
            second.end()
            said = second.said
            acked, again = second.cut(chance)
            where += f", then {again}"
        receiver = self.receiver_start(None, self.reboot(chance))
        self.send_again(acked)
        found = self.look()
        said += receiver.said()
        receiver.signal(signal.SIGTERM)
        status = receiver.wait(30)
        if status:
            raise Trouble(f"the receiver ended with status {status}; {receiver.last_lines()}")
        for sender, counts in found:
            wrong = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
            for what, count in counts.items():
                self.counts[what] += count
            if wrong and sender.exact or counts["lost"] and sender.level == "synced":
                self.problems.append(f"cut {number} {where}, {sender.name}: {wrong}")
            elif wrong and not re.search("uncertain|went down|acknowledged further|is damaged", said):
                self.problems.append(f"cut {number} {where}: {wrong}, and the receiver did not say that it can be")
            if self.options.verbose:
                print(f"    cut {number} {where}, {sender.name}: {wrong or 'ok'}", flush=True)

    def verify(self, name):
        done = subprocess.run([run_path(self, "k2hft"), "verify", "--json", os.path.join(self.out, name)],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120)
        if done.returncode not in (0, 3):
            raise Trouble(f"k2hft verify: {done.stderr.decode(errors='replace')}")
        return json.loads(done.stdout)

    def look(self):
        """[(sender, {what: how often})...]; what is damaged in a file of all is the first one's."""
        nothing = {"damaged": 0, "foreign": 0, "producers": []}
        files = {sender.file for sender in self.senders}
        data = {name: self.verify(name) if os.path.exists(os.path.join(self.out, name)) else nothing for name in files}
        damaged = {name: data[name]["damaged"] + data[name]["foreign"] for name in files}
        found = []
        for sender in self.senders:
            producer = {"missing": 0, "missing_tail": 0, "last": 0, "repeated": 0, "late": 0}
            for other in data[sender.file]["producers"]:
                if other["producer"] == sender.producer:
                    producer = other
            lost = producer["missing"] - producer["missing_tail"] + sender.count - producer["last"]
            found.append((sender, {"lost": lost, "repeated": producer["repeated"], "late": producer["late"],
                                   "damaged": damaged[sender.file], "different": 0}))
            damaged[sender.file] = 0
        for sender, counts in found:
            if sender.exact and not any(counts.values()):
                counts["different"] = self.differs(sender)
        return found

    def differs(self, sender):
        """Whether its records are not byte for byte what they were, one behind the other."""
        with open(os.path.join(self.out, sender.file), "rb") as file:
            content = file.read()
        if self.unify:
            content = b"".join(line for line in content.splitlines(keepends=True)
                               if line.split(b",", 2)[1] == b"%d" % sender.producer)
        return content != sender.content()

    def close(self, keep):
        Process.end_all()
        if keep:
            print(f"  kept: {self.folder}", flush=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


def arguments():
    parser = argparse.ArgumentParser(prog="tests/faults/power_cut.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0, help="no cut is made later")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--level", choices=["synced", "mixed", "written"], help="only this one")
    parser.add_argument("--keep", action="store_true", help="keeps the folder of a run that failed")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    options.build = os.environ.get("B", "build")
    if options.seed is None:
        options.seed = int(os.environ.get("K2HFT_SEED") or random.SystemRandom().randrange(1 << 32))
    return options


def no_recording(build):
    """Why nothing can be recorded, or there can be no other boot id; None: it can."""
    bind = ["unshare", "-m", "mount", "--bind", "/proc/sys/kernel/osrelease", BOOT_ID]
    if not quiet(*bind):
        return "no right to a mount namespace"
    with open(os.path.join(build, "bin", "k2hftfusesvr"), "rb") as file:
        if re.search(b"__[at]san_init", file.read()):
            return "a sanitizer does not bear what is loaded before it"
    return None


def main():
    options = arguments()
    if no_recording(options.build):
        print(f"SKIP: {no_recording(options.build)}")
        return 77
    own_mounts()
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGINT, interrupted)
    print(f"seed {options.seed}", flush=True)
    started = time.monotonic()
    failures = cuts = runs = 0
    totals = {}
    until = started + (options.seconds or float("inf"))
    while cuts < options.cuts and failures < FAILURES_MAX and time.monotonic() < until:
        run = Run(options, runs)
        runs += 1
        fine = False
        try:
            run.record()
            for number in range(min(CUTS_IN_RUN, options.cuts - cuts)):
                if time.monotonic() > until:
                    break
                cuts += 1
                run.cut(number)
            fine = not run.problems
        except (Trouble, OSError, subprocess.SubprocessError) as trouble:
            run.problems.append(str(trouble))
        except KeyboardInterrupt:
            run.problems.append("interrupted")
            failures = FAILURES_MAX
        finally:
            run.close(options.keep and not fine)
        failures += len(run.problems)
        total = totals.setdefault(run.level, dict.fromkeys(run.counts, 0))
        for what, count in run.counts.items():
            total[what] += count
        print(f"run {runs}: {run.describe()}, {len(run.life.events) if run.life else 0} events, {cuts} cuts so far: "
              f"{len(run.problems)} failures", flush=True)
        for problem in run.problems[:5]:
            print(f"  FAIL {problem}", flush=True)
    for level, total in totals.items():
        print(f"level {level}: " + ", ".join(f"{count} {what}" for what, count in total.items()))
    print(f"{cuts} power cuts in {runs} runs, {failures} failures; seed {options.seed}, "
          f"{time.monotonic() - started:.0f} s", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
