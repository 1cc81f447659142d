# SPDX-License-Identifier: MIT
"""The cable between two hosts, and the bytes on it."""
from .fault import Fault


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
                self.receiver_again(0.5)
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
