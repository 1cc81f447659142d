# SPDX-License-Identifier: MIT
"""One lap: three senders under load, one fault, and then a look at every record."""
import contextlib
import filecmp
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import time

from .process import Trouble, wait_until
from .senders import LIGHT, PIECES, LibrarySender, Load, MountSender, PushSender
from .world import ROTATED_BYTES

DRAIN_S = 90
FINDINGS = 1000
COUNTS = ("lost", "repeated", "late", "damaged", "extra")


class Lap:
    def __init__(self, world, random, number, kind):
        self.world = world
        self.random = random
        self.number = number
        self.notes = []
        self.not_injected = None
        self.push, self.library, self.mount = PushSender(world), LibrarySender(world), MountSender(world)
        self.extra = []
        self.before = {}
        self.unpacked = set()
        self.forget_rings = []
        self.told = False
        self.fault = kind(self)
        loads = PIECES if world.pieces else LIGHT if world.remote else kind.loads
        self.load = Load(random, random.uniform(*kind.load_seconds), loads)
        self.counts = dict.fromkeys(COUNTS, 0)
        self.excused = dict.fromkeys(COUNTS, 0)
        self.records = 0
        self.problems = []
        self.seconds = 0

    def senders(self):
        return [self.push, self.library, self.mount]

    def busy(self):
        return any(sender.busy() for sender in self.senders())

    def run(self):
        started = time.monotonic()
        try:
            if self.world.unify:
                for path in self.paths_of(self.output_of(None)):
                    self.remove(path)
            for sender in self.senders():
                sender.begin(self.load, self.number)
            wait_until(self.arriving, 60, "records arrive")
            time.sleep(self.random.uniform(0, 0.6) * self.load.seconds)
            self.fault.inject()
            for sender in self.senders():
                sender.finish(DRAIN_S)
            self.fault.after()
            self.check()
            self.tidy()
        except Trouble as trouble:
            self.problems.append(str(trouble))
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self.problems.append(f"{type(error).__name__}: {error}")
        self.seconds = time.monotonic() - started
        return not self.problems

    def arriving(self):
        if self.world.remote == "kafka":
            return True  # it is looked at in the end
        there = (any(map(os.path.exists, self.paths_of(self.output_of(sender)))) for sender in self.senders())
        return all(there) or not self.busy()

    # Where records arrive

    def output_of(self, sender):
        return os.path.join(self.world.outputs()[0], "unify.log" if self.world.unify else sender.stream)

    def paths_of(self, path):
        """At each receiver."""
        first, *others = self.world.outputs()
        return [path] + [os.path.join(other, os.path.relpath(path, first)) for other in others]

    def earlier(self, path, removed):
        """`removed`: what was at `path` before, open. It is read when nothing writes to it any more."""
        self.before.setdefault(path, []).append(os.dup(removed.fileno()))

    def renamed(self, path):
        names = self.before.setdefault(path, [])
        name = f"{path}.{len(names) + 1}"
        with contextlib.suppress(FileNotFoundError):
            os.rename(path, name)
            names.append(name)

    def files_of(self, path):
        """All that was ever at `path`, the oldest first."""
        found = []
        for number, one in enumerate(self.before.get(path, [])):
            if isinstance(one, int):
                name = self.world.path(f"earlier.{number}")
                with open(one, "rb") as source, open(name, "wb") as target:
                    source.seek(0)
                    shutil.copyfileobj(source, target)
                self.before[path][number] = one = name
            found.append(one)
        for one in self.paths_of(path):
            found += self.sealed_of(one) + ([one] if os.path.exists(one) else [])
        return found

    def sealed_of(self, path):
        """Files that the receiver has sealed, each once, without compression."""
        def names():
            return sorted(glob.glob(f"{glob.escape(path)}.2*"))

        def at_rest():
            # A receiver that was killed in front of it seals with the next write.
            if os.path.exists(path) and os.path.getsize(path) >= ROTATED_BYTES and \
                    time.time() - os.path.getmtime(path) < 5:
                return False
            return all(name.endswith(".gz") or name in self.unpacked for name in names())

        if not self.world.rotated:
            return []
        wait_until(at_rest, 60, f"sealed files of {path} are compressed")
        found = []
        for name in names():
            if name.endswith(".gz"):
                plain = name[:-len(".gz")]
                if plain in self.unpacked:
                    raise Trouble(f"{name} is there twice")
                with gzip.open(name) as source, open(plain, "wb") as target:
                    shutil.copyfileobj(source, target)
                os.unlink(name)
                self.unpacked.add(plain)
                name = plain
            found.append(name)
        return found

    # The verdict

    def check(self):
        senders = self.senders() + self.extra
        for path in dict.fromkeys(self.output_of(sender) for sender in senders):
            there = [sender for sender in senders if self.output_of(sender) == path]
            self.check_file(path, there)
        self.check_committed()
        if self.world.twin:
            self.check_same(self.mount, self.world.path("twin"))
        for sender in self.senders() if self.world.files else []:
            self.check_same(sender, self.world.files)
        for receiver in self.world.receivers_alive():
            if not receiver.alive():
                self.problems.append(f"the receiver ended; {receiver.last_lines()}")
        if not self.world.mount.alive():
            self.problems.append(f"the mount ended; {self.world.mount.last_lines()}")
        unsaid = self.fault.unsaid()
        if unsaid:
            self.problems.append(unsaid)
        for what, count in self.counts.items():
            if count:
                self.problems.append(f"{count} {what}")

    def check_same(self, sender, folder):
        """It was told that all is acknowledged, and so each destination has it."""
        one, other = self.output_of(sender), os.path.join(folder, sender.stream)
        if not filecmp.cmp(one, other, shallow=False):
            self.problems.append(f"{one} and {other} differ")
        elif not self.problems:
            self.remove(other)

    def verified(self, path):
        files = self.files_of(path)
        if not files:
            return {"producers": [], "damaged": 0, "foreign": 0, "findings": []}
        done = subprocess.run(self.push.verify() + ["--json", f"--limit={FINDINGS}"] + self.world.verify_words() + files,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120)
        if done.returncode not in (0, 3):
            raise Trouble(f"k2hft verify: {done.stderr.decode(errors='replace')}")
        with open(self.world.path(f"verify.{os.path.basename(path)}.json"), "wb") as kept:
            kept.write(done.stdout)
        return json.loads(done.stdout)

    def check_file(self, path, senders):
        data = self.verified(path)
        parts = {part.producer: part for sender in senders for part in sender.parts}
        self.check_lines(path, senders[0], parts, data)
        for found in data["producers"]:
            part = parts.pop(found["producer"], None)
            if not part:
                self.problems.append(f"{path}: producer {found['producer']}, who is unknown")
                continue
            part.found = found
            self.records += found["records"]
            self.check_part(part, found)
        for part in parts.values():
            part.found = None
            self.count("lost", part.at_least, part.sender, f"all of producer {part.producer}")

    def check_lines(self, path, sender, parts, data):
        """Damaged ones: where several senders share a file, the begin of a line tells whose it is, if that is whole."""
        count = data["damaged"] + data["foreign"]
        for found in data["findings"]:
            if found["kind"] != "torn" or not count:
                continue
            with open(found["file"], "rb") as file:
                file.seek(found["offset"])
                begin = re.match(rb"~k2[0-9a-f]+,(\d+),", file.read(64))
            part = parts.get(int(begin[1])) if begin else None
            self.count("damaged", 1, part.sender if part else sender, path)
            count -= 1
        self.count("damaged", count, sender, path)

    def check_part(self, part, found):
        where = f"producer {part.producer}"
        missing = found["missing"] - found["missing_tail"]
        self.count("lost", missing + max(0, part.at_least - found["last"]), part.sender,
                   f"{where}: {found['missing_ranges'][:3]}, last {found['last']} of {part.at_least}")
        self.count("repeated", found["repeated"], part.sender, where)
        self.count("late", found["late"], part.sender, where)
        self.count("extra", found["extra"] + max(0, found["last"] - part.at_most), part.sender, where)

    def count(self, what, number, sender, where):
        if not number:
            return
        if self.fault.excuses(sender, what):
            self.excused[what] += number
        else:
            self.counts[what] += number
            self.notes.append(f"{what}: {number}, {sender.name}, {where}")

    def check_committed(self):
        """What a ring had committed when its sender was killed must have arrived."""
        for sender in (self.push, self.library):
            total = 0
            for part in sender.parts:
                total += part.found["bytes"] if part.found else 0
                # Only the first piece of a record can have been.
                missing = part.committed - total - (self.load.size_max if self.in_pieces() else 0)
                if missing > 0:
                    self.count("lost", 1, sender, f"producer {part.producer}: {part.committed} bytes were committed by "
                               f"then, {total} arrived")

    def in_pieces(self):
        """Whether a record can be longer than what goes into the ring at once."""
        return self.load.size_max > self.world.piece_bytes

    # The next lap finds nothing of this one

    def tidy(self):
        for sender in self.senders() + self.extra:
            for path in self.files_of(self.output_of(sender)):
                if not self.problems:
                    self.remove(path)
        for sender in self.forget_rings:
            if sender is self.mount:
                self.world.mount.signal(15)
                status = self.world.mount.wait(60)
                if status:
                    raise Trouble(f"k2hftfuse ended with status {status}; {self.world.mount.last_lines()}")
            self.remove(sender.ring())
            if sender is self.mount:
                self.world.mount_start()

    @staticmethod
    def remove(path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
