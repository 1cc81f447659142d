# SPDX-License-Identifier: MIT
"""A kind of fault. It is injected once in a lap; what it may cost is said in its class, else nothing may."""
import time

from ..senders import LOADS

ALL = {}


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

    def receiver_again(self, away_most=0):
        """It dies, and is started after up to so many seconds."""
        self.at.receiver.kill()
        self.pause(0, away_most)
        self.at.receiver_start()

    def say(self, text):
        self.lap.notes.append(text)
