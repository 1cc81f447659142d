# SPDX-License-Identifier: MIT
"""Relays, plug-ins, and servers of Forward or OTLP behind the receiver."""
import signal
import time

from ..process import Trouble, signal_all, wait_until
from .fault import Fault
from .processes import PushKill


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
            self.receiver_again(0.3)
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
        self.receiver_again()
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
        self.receiver_again(0.3)
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
        signal_all(victims, signal.SIGKILL)
        self.kills += len(victims)

    def excuses(self, _sender, what):
        return what in ("lost", "damaged")


class PluginReceiverKill(Plugins):
    name = "plugin-receiver"

    def kill(self):
        self.receiver_again(0.2)

    def excuses(self, sender, what):
        return plugin_excuses(self.lap, "receiver", sender, what)


class PluginWorkerKill(Plugins):
    name = "plugin-worker"

    def kill(self):
        workers = self.at.mount_workers()
        self.kills += len(self.at.plugins(True))
        signal_all(workers, signal.SIGKILL)
        if workers:
            wait_until(lambda: set(self.at.mount_workers()) - set(workers), 20, "another worker")
        else:
            self.lap.not_injected = "this mount has no worker beside its keeper"

    def excuses(self, sender, what):
        return plugin_excuses(self.lap, "mount", sender, what)
