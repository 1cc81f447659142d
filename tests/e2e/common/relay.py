# SPDX-License-Identifier: MIT
"""sender -> relay -> relay -> receiver: a chain of receivers in folders of their own, each of which can be killed."""
import os

from common.receiver import Receiver


class Stage:
    """A receiver that keeps its port over its lives; with `to` it is a relay to those."""

    def __init__(self, work, own="", to=(), general="", file_ring=True, both=False):
        os.makedirs(work, exist_ok=True)
        self.work, self.general, self.own, self.port = work, general, own, 0
        if to:
            self.goes_to(to)
            ring = f"K2HTYPE = file\nK2HINIT = no\nK2HFILE = {work}/ring" if file_ring else "K2HTYPE = mem"
            self.own = f"TYPE = {'both' if both else 'trans'}\nTRANSCONF = next\nSTATEDIR = {work}/state\n{ring}\n{own}"
        self.start()

    def goes_to(self, stages, general=""):
        """What TRANSCONF says."""
        with open(f"{self.work}/next", "w", encoding="utf-8") as nodes:
            nodes.write(f"[GLOBAL]\nSSL = no\n{general}" +
                        "".join(f"[SVRNODE]\nNAME = 127.0.0.1\nPORT = {stage.port}\n" for stage in stages))

    def start(self):
        self.receiver = Receiver(self.work, self.general, self.own, self.port)
        self.port = self.receiver.port

    def kill(self):
        self.receiver.kill()
        self.start()

    def end(self):
        self.receiver.end()
