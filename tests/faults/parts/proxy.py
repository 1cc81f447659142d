# SPDX-License-Identifier: MIT
"""A hostile wire: passes bytes on between a sender and a receiver, and does one thing to them when it is told to."""
import contextlib
import socket
import struct
import threading
import time

BLOCK_BYTES = 65536
NO_LINGER = struct.pack("ii", 1, 0)


class Pair:
    def __init__(self, sender, receiver):
        self.sides = (sender, receiver)
        self.deaf = False

    def end(self, reset):
        for side in self.sides:
            with contextlib.suppress(OSError):
                if reset:
                    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
                # Wakes the thread that reads it, which close alone does not.
                side.shutdown(socket.SHUT_RD if reset else socket.SHUT_RDWR)
            with contextlib.suppress(OSError):
                side.close()


class Proxy:
    """`deeds` counts what was done by name."""

    def __init__(self, address, random):
        self.target = address
        self.random = random
        self.lock = threading.Lock()
        self.armed = None
        self.done = threading.Event()
        self.refusing = False
        self.pairs = []
        self.deeds = {}
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sender, _ = self.listener.accept()
            except OSError:
                return
            if self.refusing:
                sender.close()
                continue
            try:
                receiver = socket.create_connection(self.target, 5)
            except OSError:
                sender.close()
                continue
            receiver.settimeout(None)
            pair = Pair(sender, receiver)
            with self.lock:
                self.pairs = [one for one in self.pairs if one.sides[0].fileno() >= 0] + [pair]
            threading.Thread(target=self.carry, args=(pair, sender, receiver, "to"), daemon=True).start()
            threading.Thread(target=self.carry, args=(pair, receiver, sender, "from"), daemon=True).start()

    def carry(self, pair, source, sink, direction):
        before = b""
        with contextlib.suppress(OSError):
            while block := source.recv(BLOCK_BYTES):
                deed = self.take(direction)
                if pair.deaf:
                    continue
                if deed:
                    changed = self.change(deed, block, before)
                    sink.sendall(changed)
                    self.did(deed)
                    if deed in ("reset", "end"):
                        pair.end(deed == "reset")
                        return
                else:
                    sink.sendall(block)
                before = block
        pair.end(False)

    def take(self, direction):
        with self.lock:
            if self.armed and self.armed[1] in (direction, "any"):
                deed, self.armed = self.armed[0], None
                return deed
        return None

    def did(self, deed):
        self.deeds[deed] = self.deeds.get(deed, 0) + 1
        self.done.set()

    def change(self, deed, block, before):
        """`block` as it is to be passed on; all places by chance, so mostly in the middle of a frame."""
        at = self.random.randrange(len(block))
        to = self.random.randrange(at, len(block)) + 1
        if deed == "flip":
            bit = 1 << self.random.randrange(8)
            return block[:at] + bytes([block[at] ^ bit]) + block[at + 1:]
        if deed == "drop":
            return block[:at] + block[to:]
        if deed == "repeat":
            return before + block if before and self.random.random() < 0.5 else block[:to] + block[at:]
        if deed == "reorder":
            return block[to:] + block[:at] + block[at:to]
        if deed == "insert":
            return block[:at] + self.random.randbytes(to - at) + block[at:]
        if deed == "delay":
            time.sleep(self.random.uniform(0.2, 3))
            return block
        return block[:at]  # reset, end

    def arm(self, deed, direction, seconds):
        """True when it was done."""
        self.done.clear()
        with self.lock:
            self.armed = (deed, direction)
        done = self.done.wait(seconds)
        with self.lock:
            self.armed = None
        return done or self.done.is_set()

    def away(self, away):
        """The target seems to have died: its connections end, and there are no others."""
        self.refusing = away
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs if away else []:
            pair.end(True)

    def deafen(self):
        """Connections stay, and nothing gets through any more."""
        with self.lock:
            for pair in self.pairs:
                pair.deaf = True

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs:
            pair.end(False)
