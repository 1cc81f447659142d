# SPDX-License-Identifier: MIT
"""Files of the receiver and of senders, and the disk that they are on."""
import os
import re
import time

from ..process import Trouble, wait_until
from .fault import Fault

# Parts of a ring's file, before its records: header, producers, streams.
LABELS_BYTES = 4096 + 1024 * 64 + 4096 * 1280


class DiskFull(Fault):
    """A small file system that others fill, and free later."""
    name = "disk-full"

    def inject(self):
        if not self.at.own_disk:
            self.lap.not_injected = "mount is not permitted"
            return
        until = time.monotonic() + self.random.choice([0.5, 1.5, 3])
        while time.monotonic() < until:
            # Again and again: what the receiver gives back is taken too.
            with self.at.full_disk():
                self.pause(0.05, 1)


class FullKill(Fault):
    """The receiver dies while its disk is full."""
    name = "full-kill"

    def inject(self):
        if not self.at.own_disk:
            self.lap.not_injected = "mount is not permitted"
            return
        with self.at.full_disk():
            self.pause(0.1, 1)
            self.at.receiver.kill()
            self.pause(0, 0.2)
            # Without room for its ledger it waits before it listens.
            self.at.receiver_spawn()
            self.pause(0, 1.5)
        self.at.receiver_ready()


class OutputFault(Fault):
    def stream_file(self):
        """A sender and its file, when there is something in it."""
        sender = self.random.choice([self.lap.push, self.lap.library, self.lap.mount])
        path = self.lap.output_of(sender)
        wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 0, 30, f"{path} is there")
        return sender, path


class OutputRemoved(OutputFault):
    """What was in it is read from the removed file: only the operator's view loses it."""
    name = "output-removed"

    def inject(self):
        for _ in range(self.random.randrange(1, 3)):
            _, path = self.stream_file()
            with open(path, "rb") as removed:
                os.unlink(path)
                self.pause(0.1, 0.7)
                self.wait_again(path)
                self.lap.earlier(path, removed)

    def wait_again(self, path):
        """Another file is there, or nothing more comes: until then the old one can grow."""
        until = time.monotonic() + 5
        while not os.path.exists(path) and time.monotonic() < until and self.lap.busy():
            time.sleep(0.02)


class OutputRenamed(OutputFault):
    name = "output-renamed"

    def inject(self):
        for _ in range(self.random.randrange(1, 3)):
            _, path = self.stream_file()
            self.lap.renamed(path)
            self.pause(0.1, 0.7)


class OutputTruncated(OutputFault):
    """What was cut off is gone, and the record at the cut is torn."""
    name = "output-truncated"
    cut_sender = None

    def inject(self):
        sender, path = self.stream_file()
        self.cut_sender = None if self.at.unify else sender
        size = os.path.getsize(path)
        at = self.random.choice([0, self.random.randrange(size + 1)])
        os.truncate(path, at)
        self.say(f"{path} cut from about {size} to {at}")

    def excuses(self, sender, what):
        return what in ("lost", "damaged") and self.cut_sender in (None, sender)


class LedgerGone(Fault):
    """While the receiver runs: it is written again, so that nothing comes twice."""
    name = "ledger-gone"

    def inject(self):
        ledger = self.at.ledger()
        os.unlink(ledger)
        wait_until(lambda: os.path.exists(ledger), 20, "the ledger is written again")
        if self.random.random() < 0.5:
            self.receiver_again()


class LedgerFault(Fault):
    """While the receiver is down. What it had written and not entered can come twice; a torn record then is joined."""

    def damage(self, ledger):
        raise NotImplementedError

    def inject(self):
        self.at.receiver.kill()
        self.damage(self.at.ledger())
        self.at.receiver_start()

    def excuses(self, _sender, what):
        return what in ("repeated", "damaged")

    def unsaid(self):
        told = re.search("ledger: |uncertain|acknowledged further", self.at.receiver.said())
        return "records came twice and the receiver did not say why" if self.lap.excused["repeated"] and not told else None


class LedgerRemoved(LedgerFault):
    name = "ledger-removed"

    def damage(self, ledger):
        os.unlink(ledger)

    def unsaid(self):
        """With its ledger the receiver has lost its uuid: to its senders it is another one, and it can't tell."""
        senders = (self.lap.push, self.lap.library, self.lap.mount)
        told = [process for sender in senders for process in sender.processes()
                if re.search("moved from receiver|does not know ring", process.said())]
        return "records came twice and no sender said why" if self.lap.excused["repeated"] and not told else None


class LedgerCut(LedgerFault):
    name = "ledger-cut"

    def damage(self, ledger):
        size = os.path.getsize(ledger)
        used = len(open(ledger, "rb").read().rstrip(b"\0"))
        at = self.random.randrange(used if self.random.random() < 0.8 else size)
        os.truncate(ledger, at)
        self.say(f"ledger cut from {size} ({used} used) to {at}")


class LedgerFlip(LedgerFault):
    name = "ledger-flip"

    def damage(self, ledger):
        with open(ledger, "r+b") as file:
            used = len(file.read().rstrip(b"\0"))
            at = self.random.randrange(used)
            file.seek(at)
            byte = file.read(1)[0] ^ 1 << self.random.randrange(8)
            file.seek(at)
            file.write(bytes([byte]))
            self.say(f"ledger byte {at} of {used} changed")


# The sender's files ---------------------------------------------------------------------------------------------------

class RingFault(Fault):
    """While its sender is down: what was cut may be missing, but is told; everything else is there."""
    load_seconds = (1.0, 1.5)
    victim = None
    zeros = False

    def damage(self, ring):
        raise NotImplementedError

    def inject(self):
        self.victim = self.random.choice([self.lap.push, self.lap.library, self.lap.mount])
        # So that something is in the ring which no socket holds.
        held = self.random.random() < 0.8
        if held:
            self.at.receiver.stop()
            self.pause(0.2, 0.8)
        self.victim.kill(exactly=False)
        if held:
            self.receiver_again()
        self.damage(self.victim.ring())
        self.again()

    def again(self):
        """A ring that can't be used is refused, with a reason and unchanged; then it is for the operator to decide."""
        try:
            self.start()
            return
        except Trouble as trouble:
            if "not a ring that this version knows" not in str(trouble) and "Protocol error" not in str(trouble):
                raise
            self.say(f"refused: {trouble}")
            self.lap.told = True
        os.rename(self.victim.ring(), self.victim.ring() + ".damaged")
        self.start()

    def start(self):
        if self.victim is self.lap.mount:
            self.at.mount_start()
            self.victim.go()
            return
        self.victim.go()
        time.sleep(0.3)
        process = self.victim.processes()[0]
        if not process.alive() and process.child.returncode:
            if process is not self.victim.maker:
                self.victim.maker.wait(20)
            self.victim.parts.pop()
            raise Trouble(f"{process.name}: status {process.child.returncode}; {process.last_lines()}")

    def unsaid(self):
        """The sender that found the damage says so, or refused the ring."""
        if not self.lap.excused["lost"] or self.lap.told:
            return None
        told = re.search("damaged|lost|skipped|given up", self.victim.processes()[0].said())
        return None if told else "records are missing and the sender did not say so"

    def after(self):
        """Its uuid is another now or its records are not whole: the next lap begins with a new one."""
        self.lap.forget_rings.append(self.victim)

    def excuses(self, sender, what):
        """Zeros in a chunk whose header is whole are sent as they are: k2hft-ring(7), Power cut."""
        return sender is self.victim and (what == "lost" or what == "damaged" and (self.zeros or self.lap.in_pieces()))


class RingCut(RingFault):
    name = "ring-cut"

    def damage(self, ring):
        size = os.path.getsize(ring)
        data = min(size, LABELS_BYTES)
        at = self.random.choice([self.random.randrange(data), self.random.randrange(data, size)])
        os.truncate(ring, at)
        self.zeros = self.random.random() < 0.3
        if self.zeros:
            os.truncate(ring, size)
        self.say(f"{ring} cut from {size} to {at}{', zeros behind it' if self.zeros else ''}")
