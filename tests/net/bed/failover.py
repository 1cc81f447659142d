# SPDX-License-Identifier: MIT
"""Fail-over and return, again and again, and how long they take: from the last commit at one receiver to the first at
another, as seen in their files."""
import os
import threading
import time

from parts.process import Trouble, wait_until

from .senders import Library, Mount, Push

ROUNDS = 100
ROUNDS_SHORT = 2
LOOK_S = 0.002
WAIT_S = 30
HOME_S = 0.3
LIMIT_S = 1.5  # with FAILOVERTIME = 1


class Watch(threading.Thread):
    """When each stream's file last grew at each receiver."""

    def __init__(self, receivers, streams):
        super().__init__(daemon=True)
        self.places = [(receiver, stream) for receiver in receivers for stream in streams]
        self.sizes = dict.fromkeys(self.places, 0)
        self.grown = dict.fromkeys(self.places, 0.0)
        self.over = False

    def run(self):
        while not self.over:
            for place in self.places:
                try:
                    size = os.stat(os.path.join(place[0].output, place[1])).st_size
                except OSError:
                    continue
                if size > self.sizes[place]:
                    self.grown[place] = time.monotonic()
                self.sizes[place] = size
            time.sleep(LOOK_S)

    def where(self, stream):
        """It grew last."""
        return max((place for place in self.places if place[1] == stream), key=lambda place: self.grown[place])[0]

    def await_growth(self, receivers, stream, since):
        """When it first grew at one of these."""
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            for receiver in receivers:
                if self.grown[receiver, stream] > since:
                    return self.grown[receiver, stream]
            time.sleep(LOOK_S / 2)
        raise Trouble(f"{stream} does not arrive at {', '.join(one.name for one in receivers)} within {WAIT_S} s")

    def await_home(self, home, stream):
        """It grows there and nowhere else: what was on its way while the link was dead can arrive before it returns."""
        elsewhere = [place for place in self.places if place[1] == stream and place[0] is not home]
        wait_until(lambda: self.grown[home, stream] > max(self.grown[place] for place in elsewhere) + HOME_S, WAIT_S,
                   f"{stream} is at {home.name} again")


def failover(bed, watch, victim, hurt, heal):
    """The seconds that each stream of the victim took."""
    streams = [stream for _, stream in watch.places[:len(watch.places) // len(bed.receivers)]
               if watch.where(stream) is victim]
    others = [one for one in bed.receivers if one is not victim]
    hurt(victim)
    at = time.monotonic()
    took = []
    for stream in streams:
        first = watch.await_growth(others, stream, at)
        took.append(first - min(at, watch.grown[victim, stream]))
    bed.pause(bed.random.uniform(0, 0.5))
    heal(victim)
    for stream in streams:
        watch.await_home(victim, stream)
    return took


def scenario_of(hurt, heal):
    def scenario(bed):
        receivers = [bed.receiver(f"receiver{number}") for number in range(1, 4)]
        senders = [kind(bed, f"{kind.__name__.lower()}{number}", receivers, "K2HFTFUSE:FAILOVERTIME = 1", rate=1000)
                   for kind in (Mount, Push, Library) for number in range(2)]
        watch = Watch(receivers, [stream for sender in senders for stream in sender.streams()])
        for sender in senders:
            sender.start()
        watch.start()
        for stream in {stream for _, stream in watch.places}:
            watch.await_growth(receivers, stream, 0)
        took = []
        while len(took) < (ROUNDS if bed.long else ROUNDS_SHORT):
            took += failover(bed, watch, bed.random.choice(receivers), hurt, heal)
        watch.over = True
        watch.join()
        bed.settled(senders)
        made = bed.finish(senders)
        bed.verify(made)
        took.sort()
        bed.say(f"{len(took)} streams moved; last commit at one to first at another: {took[0]:.2f} s to {took[-1]:.2f} s, "
                f"median {took[len(took) // 2]:.2f} s")
        if bed.long:
            bed.expect(took[-1] <= LIMIT_S, f"more than {LIMIT_S} s")
    return scenario
