# SPDX-License-Identifier: MIT
"""Several receivers on hosts of their own at a switch, of which others take over what one can't take, and what happens to
them. In the end all is settled: over all receivers, less what they have retracted, each record is there once."""
import glob
import os
import time

from .fleet import Receiver, sender_config, unsettled
from .kinds.fault import Fault
from .kinds.processes import SenderKill
from .network import Switch
from .process import Trouble
from .world import OUTPUT_BYTES, World

RECEIVERS = 3
FAILOVER_S = 1
SETTLED_S = 60


class LanesWorld(World):
    def __init__(self, options, random):
        super().__init__(options, random, "lanes")
        self.spread = random.choice(["hash", "hash", "random"])
        if self.spread == "random" and not self.formatted:
            # A receiver that takes over writes two lanes to a file: then no record may come in pieces, as in one for all.
            self.ring_bytes = random.choice(["1M", "4M", "16M"])
            self.piece_bytes = {"1M": 128, "4M": 512, "16M": 2048}[self.ring_bytes] << 10
        self.receivers = []
        self.switch = self.senders = None

    def start(self):
        os.mkdir(self.mount_point)
        self.switch = Switch(self.path("hosts.log"))
        if self.switch.problem:
            raise Trouble(self.switch.problem)
        self.write_key()
        self.senders = self.switch.host("senders")
        for number in range(1, RECEIVERS + 1):
            receiver = Receiver(self.bin, self.folder, self.switch.host(f"receiver{number}"), OUTPUT_BYTES,
                                "SOCKTHREADCNT = 2\n" + self.ssl_words(), self.server_words())
            self.receivers.append(receiver)
            receiver.start()
        self.mount_start()

    def describe(self):
        return f"{super().describe()}, {self.spread} over {RECEIVERS} receivers"

    def sender_host(self):
        return self.senders

    def outputs(self):
        return [one.output for one in self.receivers]

    def receivers_alive(self):
        return [one.process for one in self.receivers]

    def verify_words(self):
        """The records of a stream that has moved are in order at each receiver; at random they are nowhere."""
        lists = [word for one in self.receivers if one.retracted() for word in ("--retracted", one.retracted())]
        return [*lists, "--order", "none" if self.spread == "random" else "file"]

    def push_words(self):
        self.write_config("push.ini", self.path("push.ring"))
        return ["-c", self.path("push.ini")]

    def write_config(self, name, ring, twin=False):
        sender_config(self.path(name), self.receivers, ring, f"GLOBAL:DELIVERMODE = {self.spread}",
                      *(f"GLOBAL:{line}" for line in self.ssl_words().splitlines()),
                      f"K2HFTFUSE:FAILOVERTIME = {FAILOVER_S}", f"K2HFTFUSE:RINGSIZE = {self.ring_bytes}",
                      f"K2HFTFUSE:WRITEMODE = {self.write_mode}")

    @staticmethod
    def rings(ring):
        """A file for each lane."""
        return glob.glob(glob.escape(ring) + ".*")

    def ring_count(self, ring):
        return sum(World.ring_count(self, one) or 0 for one in self.rings(ring))

    def unsettled(self, sender):
        return any(map(unsettled, self.rings(sender.ring())))

    def close(self, keep=False):
        kept = super().close(keep)
        for receiver in self.receivers:
            receiver.close()
        if self.switch:
            self.switch.close()
        return kept


class LaneFault(Fault):
    world = "lanes"
    load_seconds = (4.0, 5.0)

    def victims(self, count=1):
        return self.random.sample(self.at.receivers, count)

    def longer_than_failover(self):
        self.pause(FAILOVER_S * 1.1, FAILOVER_S * 2)

    def after(self):
        """A sender that has ended before it was settled with all is started again, with nothing to send."""
        for sender in self.lap.senders():
            until = time.monotonic() + SETTLED_S
            while self.at.unsettled(sender):
                if time.monotonic() > until:
                    raise Trouble(f"{sender.name} is not settled within {SETTLED_S} s")
                if sender is not self.lap.mount and not sender.processes()[0].alive():
                    sender.go()
                    sender.finish(60)
                time.sleep(0.05)


class LaneKill(LaneFault):
    """A receiver is away for longer than FAILOVERTIME, and comes back."""
    name = "lane-kill"
    count = 1

    def inject(self):
        victims = self.victims(self.count)
        for victim in victims:
            victim.kill()
            self.pause(0, 0.2)
        self.longer_than_failover()
        for victim in victims:
            victim.start()
            self.pause(0, 0.3)


class LaneKillTwo(LaneKill):
    """Two of three."""
    name = "lane-kill-two"
    count = 2


class LaneSwallow(LaneFault):
    """A link takes everything and delivers nothing, in one direction or in both."""
    name = "lane-swallow"

    def inject(self):
        victim = self.victims()[0]
        way = self.random.choice(["both", "to", "from"])
        self.say(f"{victim.name}, {way}")
        if way == "both":
            victim.host.swallow()
        elif way == "to":
            self.at.senders.mute(victim.host)
        else:
            victim.host.mute(self.at.senders)
        self.pause(0.2, FAILOVER_S * 2.5)
        victim.host.mend()
        self.at.senders.mend()


class LaneSenderKill(SenderKill):
    """A sender dies around the moment when its lanes move, between what it persists and what it sends."""
    name = "lane-sender"
    world = "lanes"
    load_seconds = LaneFault.load_seconds
    chosen = None

    def sender(self):
        return self.chosen

    def inject(self):
        self.chosen = self.random.choice([self.lap.push, self.lap.library])
        victim = self.random.choice(self.at.receivers)
        victim.kill()
        self.pause(0.8 * FAILOVER_S, 1.3 * FAILOVER_S)
        super().inject()
        victim.start()

    after = LaneFault.after


class LaneFull(LaneFault):
    """A receiver comes back to a full disk: it can't settle before there is room."""
    name = "lane-full"

    def inject(self):
        victim = self.victims()[0]
        if not victim.own_disk:
            self.lap.not_injected = "mount is not permitted"
            return
        victim.kill()
        self.longer_than_failover()
        with victim.full_disk():
            victim.spawn()
            self.pause(0.5, 1.5)
        victim.ready()


class LaneChain(LaneFault):
    """A -> B -> C -> A: who takes over dies in its turn."""
    name = "lane-chain"

    def inject(self):
        first, second, third = self.victims(3)
        first.kill()
        self.longer_than_failover()
        second.kill()
        self.longer_than_failover()
        first.start()
        third.kill()
        self.longer_than_failover()
        second.start()
        third.start()


class LaneBlink(LaneFault):
    """Kills and returns of all of them, for shorter and for longer than FAILOVERTIME."""
    name = "lane-blink"

    def inject(self):
        for _ in range(self.random.randrange(2, 6)):
            victim = self.victims()[0]
            victim.kill()
            self.pause(0, 1.2 * FAILOVER_S)
            victim.start()
            self.pause(0, 0.5)
