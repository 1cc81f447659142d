# SPDX-License-Identifier: MIT
"""The kinds of faults. Each is injected once in a lap; what it may cost is said in its class, else nothing may."""
import contextlib
import os
import re
import signal
import time

from .process import Trouble, quiet, wait_until
from .senders import LOADS, Attached

ALL = {}
# Parts of a ring's file, before its records: header, producers, streams.
LABELS_BYTES = 4096 + 1024 * 64 + 4096 * 1280


class Fault:
    name = None
    world = None  # the kind of world that it needs; None: any
    load_seconds = (1.0, 2.0)
    loads = LOADS
    hidden = False  # only when it is named

    def __init_subclass__(cls):
        if cls.name:
            ALL[cls.name] = cls

    def __init__(self, lap):
        self.lap = lap
        self.at = lap.world
        self.random = lap.random

    def inject(self):
        raise NotImplementedError

    def after(self):
        """When everything was sent."""

    def excuses(self, _sender, _what):
        """Whether k2hft-delivery(7) says that this can be ("lost", "repeated", "damaged")."""
        return False

    def unsaid(self):
        """What was lost or repeated as documented has to be told: what is not."""
        return None

    def pause(self, least, most):
        time.sleep(self.random.uniform(least, most))

    def say(self, text):
        self.lap.notes.append(text)


def no_fuse():
    """Why there can be no mount; None: there can."""
    return None if os.access("/dev/fuse", os.R_OK | os.W_OK) else "no right to use /dev/fuse"


# Kills ----------------------------------------------------------------------------------------------------------------

class ReceiverKill(Fault):
    name = "receiver-kill"

    def inject(self):
        for _ in range(self.random.randrange(1, 4)):
            self.at.receiver.kill()
            self.pause(0, 0.4)
            self.at.receiver_start()
            self.pause(0, 0.4)


class SenderKill(Fault):
    """What was not committed in the ring yet was not accepted; nobody can tell it but the ring, which is asked."""

    def sender(self):
        raise NotImplementedError

    def excuses(self, sender, what):
        """A record in pieces of which the last was not committed."""
        return what == "damaged" and sender is self.sender() and self.lap.in_pieces()

    def inject(self):
        sender = self.sender()
        for _ in range(self.random.randrange(1, 3)):
            if not sender.busy():
                break
            sender.kill(exactly=self.random.random() < 0.6)
            self.pause(0, 0.3)
            sender.go()
            self.pause(0.1, 0.6)


class PushKill(SenderKill):
    name = "push-kill"

    def sender(self):
        return self.lap.push


class LibraryKill(SenderKill):
    name = "library-kill"

    def sender(self):
        return self.lap.library


class MountKill(Fault):
    """The whole daemon: its writers see errors, until it is mounted again."""
    name = "mount-kill"

    def inject(self):
        self.lap.mount.kill(exactly=True)
        self.pause(0, 0.3)
        self.at.mount_start()
        self.lap.mount.go()


class WorkerKill(Fault):
    """Of a mount that survives its server: writers see nothing."""
    name = "worker-kill"

    def inject(self):
        if not self.at.mount_workers():
            self.lap.not_injected = "this mount has no worker beside its keeper"
            return
        for _ in range(self.random.randrange(1, 5)):
            workers = self.at.mount_workers()
            for child in workers:
                quiet("kill", "-KILL", child)
            wait_until(lambda old=workers: set(self.at.mount_workers()) - set(old), 20, "another worker")
            self.pause(0.05, 0.4)


class KillStorm(Fault):
    """The receiver dies again and again, also while it starts."""
    name = "kill-storm"

    def inject(self):
        for _ in range(self.random.randrange(5, 20)):
            self.at.receiver.kill()
            self.at.receiver_spawn()
            self.pause(0, 0.12)
        self.at.receiver.kill()
        self.at.receiver_start()


class BothKill(Fault):
    """Receiver and a sender at the same moment."""
    name = "both-kill"
    victim = None

    def inject(self):
        self.victim = self.random.choice([self.lap.push, self.lap.library])
        if not self.victim.busy():
            self.victim = None
        if self.victim:
            self.victim.kill(exactly=self.random.random() < 0.5)
        self.at.receiver.kill()
        self.pause(0, 0.3)
        if self.random.random() < 0.5:
            self.at.receiver_start()
            self.pause(0, 0.2)
        if self.victim:
            self.victim.go()
        self.pause(0, 0.2)
        if not self.at.receiver.alive():
            self.at.receiver_start()

    def excuses(self, sender, what):
        return what == "damaged" and sender is self.victim and self.lap.in_pieces()


def plugins_end(lap):
    """What plug-ins have read is in the files when they have ended."""
    wait_until(lambda: not lap.world.plugins(True), 30, "the mount's plug-ins end with their writers")
    for sender in lap.senders():
        sender.finish(60)
    lap.world.receiver.signal(signal.SIGHUP)
    wait_until(lambda: not lap.world.plugins(False), 30, "the receiver's plug-ins end")


def plugin_excuses(lap, role, sender, what):
    """What plug-ins have read and their program has not noted comes again; they write it while the next ones begin.
    What those of a mount wrote and its worker has not taken is lost."""
    if role == "receiver":
        return what in ("repeated", "late", "damaged")
    return sender is lap.mount and what in ("repeated", "late", "damaged", "lost")


def relay_end(lap):
    """The relay has sent on what it had acknowledged."""
    for sender in lap.senders():
        sender.finish(60)
    wait_until(lap.world.relay_drained, 60, "the relay has sent all")


def remote_end(lap):
    """What the peer has, and what it has refused, is all."""
    peer = lap.world.peer
    for sender in lap.senders():
        sender.finish(60)
    peer.settle(lap.world.path("state"))
    problems = [*peer.problems, *getattr(peer.server, "problems", [])]
    if problems:
        raise Trouble(f"the peer: {problems[0]}")


class RelayKill(PushKill):
    """Of the relay, the receiver behind it and a sender, in turn."""
    name = "relay-kill"
    world = "relayed"

    def inject(self):
        for _ in range(self.random.randrange(1, 4)):
            self.at.receiver.kill()
            self.pause(0, 0.3)
            self.at.receiver_start()
            self.pause(0, 0.3)
            self.at.last.kill()
            self.pause(0, 0.3)
            self.at.last_start()
            super().inject()

    def after(self):
        relay_end(self.lap)


class Peer(Fault):
    """Of a server of Forward or OTLP: it writes down each record once, by chunk id, or ring and position."""
    world = "remote"

    def once(self):
        raise NotImplementedError

    def inject(self):
        for _ in range(self.random.randrange(1, 4)):
            self.once()
            self.pause(0, 0.4)

    def after(self):
        remote_end(self.lap)


class PeerKill(Peer):
    """The server dies, is away for a while, and knows what it had."""
    name = "peer-kill"

    def once(self):
        self.at.peer_wire.away(True)
        self.pause(0, 0.5)
        self.at.peer_wire.away(False)


class PeerSilent(Peer):
    """Half open: connections stay, nothing gets through."""
    name = "peer-silent"

    def once(self):
        self.at.peer_wire.deafen()


class SinkStall(Peer):
    """No server answers for seconds, and the receiver, which may write files besides, is killed meanwhile."""
    name = "sink-stall"

    def stand(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.at.peer_wire.deafen()
            time.sleep(0.02)

    def once(self):
        self.stand(self.random.uniform(0.2, 1.5))
        self.at.receiver.kill()
        self.at.receiver_start()
        self.stand(self.random.uniform(0, 1.5))


class PeerSlow(Peer):
    """Answers, and what they are for, come late or in part."""
    name = "peer-slow"

    def once(self):
        self.at.peer_wire.arm(self.random.choice(("delay", "reset", "end")), "any", 2)


class PeerRefuses(Peer):
    """For a while: it answers 429 or 503, or closes the connection in place of an acknowledgement."""
    name = "peer-refuses"

    def once(self):
        self.at.peer.refusing = True
        self.pause(0, 0.5)
        self.at.peer.refusing = False


class PeerReceiverKill(PeerKill):
    """Of the receiver that delivers, and of the server."""
    name = "peer-receiver"

    def once(self):
        self.at.receiver.kill()
        self.pause(0, 0.3)
        self.at.receiver_start()
        super().once()


class Plugins(Fault):
    """Of receiver and mount, which have cat as a plug-in."""
    world = "plugins"
    BUFFER_BYTES = 256 << 10  # of a pipe; cat reads half as much at once
    RECORD_BYTES_MIN = 20
    kills = 0  # each of which may lose a buffer

    def kill(self):
        raise NotImplementedError

    def unsaid(self):
        most = self.kills * self.BUFFER_BYTES // self.RECORD_BYTES_MIN
        lost = self.lap.excused["lost"]
        return f"{lost} records are lost by {self.kills} deaths" if lost > most else None

    def inject(self):
        for _ in range(self.random.randrange(1, 4)):
            self.pause(0, 0.4)
            self.kill()

    def after(self):
        plugins_end(self.lap)


class PluginKill(Plugins):
    """What a plug-in has read and not written is lost with it, at most what cat reads at once; nothing comes twice."""
    name = "plugin-kill"

    def kill(self):
        victims = self.at.plugins(self.random.random() < 0.5)
        for victim in victims:
            quiet("kill", "-KILL", victim)
        self.kills += len(victims)

    def excuses(self, _sender, what):
        return what in ("lost", "damaged")


class PluginReceiverKill(Plugins):
    name = "plugin-receiver"

    def kill(self):
        self.at.receiver.kill()
        self.pause(0, 0.2)
        self.at.receiver_start()

    def excuses(self, sender, what):
        return plugin_excuses(self.lap, "receiver", sender, what)


class PluginWorkerKill(Plugins):
    name = "plugin-worker"

    def kill(self):
        workers = self.at.mount_workers()
        self.kills += len(self.at.plugins(True))
        for worker in workers:
            quiet("kill", "-KILL", worker)
        if workers:
            wait_until(lambda: set(self.at.mount_workers()) - set(workers), 20, "another worker")
        else:
            self.lap.not_injected = "this mount has no worker beside its keeper"

    def excuses(self, sender, what):
        return plugin_excuses(self.lap, "mount", sender, what)


class ReceiverTerm(Fault):
    """It ends in order, and is started again."""
    name = "receiver-term"

    def inject(self):
        for _ in range(self.random.randrange(1, 4)):
            self.at.receiver.signal(signal.SIGTERM)
            status = self.at.receiver.wait(30)
            if status:
                raise Trouble(f"status {status} after SIGTERM; {self.at.receiver.last_lines()}")
            self.pause(0, 0.3)
            self.at.receiver_start()
            self.pause(0, 0.4)


class ReceiverHup(Fault):
    """Files are rotated as logrotate does."""
    name = "receiver-hup"

    def inject(self):
        for _ in range(self.random.randrange(1, 5)):
            path = self.lap.output_of(self.random.choice(self.lap.senders()))
            self.lap.renamed(path)
            self.pause(0, 0.1)
            self.at.receiver.signal(signal.SIGHUP)
            self.pause(0, 0.4)


class Reload(Fault):
    """Receiver and mount read their files again, good and broken ones, and die now and then while they do."""
    name = "reload"

    def inject(self):
        for number in range(self.random.randrange(5, 20)):
            for process, path, sign, good, bad in (
                    (self.at.receiver, self.at.path("server.ini"), signal.SIGHUP, "WRITEBUF = 64K", "WRITEBUF = 1"),
                    (self.at.mount, self.at.path("slave.ini"), signal.SIGUSR1, "DENY = none", "DENY = \"(\"")):
                with open(path, encoding="utf-8") as file:
                    before = file.read()
                with open(path, "a", encoding="utf-8") as file:
                    file.write(f"{self.random.choice((good, bad))}\n")
                process.signal(sign)
                self.pause(0, 0.1)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(before)
                process.signal(sign)
            if number % 5 == 4:
                for worker in self.at.mount_workers():
                    quiet("kill", "-KILL", worker)
            self.pause(0, 0.2)


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


class ClaimKill(Fault):
    """A program that is attached to a ring dies between reserve and commit."""
    name = "claim-kill"

    def inject(self):
        owner = self.random.choice([self.lap.library, self.lap.push, self.lap.mount])
        attached = Attached(self.at, owner)
        self.lap.extra.append(attached)
        attached.begin(self.lap.load, self.lap.number)
        self.pause(0, 0.5)
        attached.maker.kill()
        attached.owner_sends()


# Standing still -------------------------------------------------------------------------------------------------------

class Stop(Fault):
    def victims(self):
        raise NotImplementedError

    def inject(self):
        victims = self.victims()
        seconds = self.random.choice([0.3, 1, 2, 4])
        for victim in victims:
            victim.stop()
        time.sleep(seconds)
        for victim in victims:
            victim.go_on()


class ReceiverStop(Stop):
    name = "receiver-stop"

    def victims(self):
        return [self.at.receiver]


class PushStop(Stop):
    name = "push-stop"

    def victims(self):
        return self.lap.push.processes()


class LibraryStop(Stop):
    name = "library-stop"

    def victims(self):
        return self.lap.library.processes()


class MountStop(Fault):
    """The server, with its worker if it has one."""
    name = "mount-stop"

    def inject(self):
        pids = self.at.mount_workers() + [self.at.mount.pid]
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            time.sleep(self.random.choice([0.3, 1, 2, 4]))
        finally:
            for pid in reversed(pids):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)


# The link -------------------------------------------------------------------------------------------------------------

class LinkCut(Fault):
    name = "link-cut"
    world = "link"

    def inject(self):
        for _ in range(self.random.randrange(1, 3)):
            self.at.link.cut()
            self.pause(0.1, 4)
            self.at.link.mend()
            self.pause(0.1, 0.5)


class LinkHalfOpen(Fault):
    """One side dies while the link is down, so that the other is not told."""
    name = "link-half-open"
    world = "link"

    def inject(self):
        sender = self.random.choice([None, self.lap.push, self.lap.library])
        self.at.link.cut()
        try:
            self.pause(0.05, 0.5)
            if sender and sender.busy():
                sender.kill(exactly=True)
                self.pause(0, 0.5)
                sender.go()
            else:
                self.at.receiver.kill()
                self.pause(0, 0.5)
                self.at.receiver_start()
            self.pause(0, 1)
        finally:
            self.at.link.mend()


class LinkThrottle(Fault):
    name = "link-throttle"
    world = "link"

    def inject(self):
        for _ in range(self.random.randrange(1, 4)):
            if not self.at.link.throttle(self.random.choice([64, 500, 4000, 20000])):
                self.lap.not_injected = "tc tbf is not permitted"
                return
            self.pause(0.2, 1.5)
        self.at.link.free()


# The wire -------------------------------------------------------------------------------------------------------------

class Wire(Fault):
    world = "proxy"
    deed = None

    def inject(self):
        done = 0
        for _ in range(self.random.randrange(1, 5)):
            direction = self.random.choice(["to", "to", "from", "any"])
            done += self.at.proxy.arm(self.deed, direction, 2)
            self.pause(0, 0.2)
        if not done:
            self.lap.not_injected = "nothing came by"


for _name, _deed in (("wire-reset", "reset"), ("wire-end", "end"), ("wire-flip", "flip"), ("wire-drop", "drop"),
                     ("wire-repeat", "repeat"), ("wire-reorder", "reorder"), ("wire-insert", "insert"),
                     ("wire-delay", "delay")):
    type(_name, (Wire,), {"name": _name, "deed": _deed})


# The receiver's files -------------------------------------------------------------------------------------------------

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
            self.at.receiver.kill()
            self.at.receiver_start()


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
            self.at.receiver.kill()
            self.at.receiver_start()
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




# The harness itself ---------------------------------------------------------------------------------------------------

class Sabotage(OutputFault):
    """Spoils what arrived, so that a test can see that the harness notices."""
    hidden = True
    way = None

    def inject(self):
        pass

    def after(self):
        path = self.lap.output_of(self.random.choice(self.lap.senders()))
        with open(path, "rb") as file:
            lines = file.readlines()
        at = self.random.randrange(len(lines) // 2)
        if self.way == "lose":
            del lines[at]
        elif self.way == "repeat":
            lines.insert(at, lines[at])
        elif self.way == "swap":
            lines.append(lines.pop(at))
        else:
            lines.pop()
        with open(path, "wb") as file:
            file.writelines(lines)


for _way in ("lose", "repeat", "swap", "end"):
    type(f"sabotage-{_way}", (Sabotage,), {"name": f"sabotage-{_way}", "way": _way})
