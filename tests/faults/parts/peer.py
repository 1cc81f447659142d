# SPDX-License-Identifier: MIT
"""The other side of TYPE = forward, otlp and kafka: what arrives there is written to files as a receiver does, once.

The first two may bring a record again, and only as they say: a message of Forward with the chunk id and the contents that it had,
a record of OTLP with its ring and position. Without those that came again each stream must be there once and in order.
"""
import gzip
import hashlib
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e"))
from common.forward import Server, pack, unpack_all  # noqa: E402 (the folder of other tests)
from common.otlp import Answer, Collector, records_of  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "net"))
from bed.kafka import broker, kafka_missing  # noqa: E402

KINDS = ("forward", "otlp")
REFUSED_OF = 8  # requests, one is refused for good


def missing(build):
    """Modules that a build was left without."""
    return [kind for kind in KINDS if not os.path.exists(os.path.join(build, "lib", "k2hft", f"{kind}.so"))]


class Forward(Server):
    def __init__(self, peer):
        self.peer = peer
        super().__init__(behave=self.answer)

    def keep(self, message):
        _, data, options = message
        data = gzip.decompress(data) if options.get("compressed") == "gzip" else data
        with self.peer.lock:
            if self.peer.first(options["chunk"], data):
                for _, record in unpack_all(data):
                    self.peer.write(record["path"], record["message"])
        return options["chunk"]

    @staticmethod
    def answer(server, chunk, connection):
        if not server.peer.refusing:
            connection.sendall(pack({"ack": chunk}))
        return server.peer.refusing


class Otlp(Collector):
    def __init__(self, peer):
        self.peer = peer
        super().__init__()

    def take(self, handler, body):
        records = records_of(body)
        with self.peer.lock:
            if self.peer.refusing:
                return Answer(self.peer.random.choice((429, 502, 503, 504)), b"", [("Retry-After", "0")])
            if self.peer.refuses_some and hashlib.md5(body).digest()[0] % REFUSED_OF == 0:
                return Answer(400)
            for record in records:
                self.peer.take(record)
        return Answer()


class Peer:
    """`refusing`: each answer asks for another try later. `refuses_some`: some records are refused for ever, which only OTLP
    can say. `problems`: what should not have come."""

    def __init__(self, kind, folder, random):
        self.folder, self.random = folder, random
        self.refusing = self.refuses_some = False
        self.lock = threading.Lock()
        self.problems = []
        self.seen, self.ends, self.kept = {}, {}, {}
        self.quarantined = set()
        self.server = {"forward": Forward, "otlp": Otlp}[kind](self)
        self.port = self.server.port

    def forget(self):
        """Of the records of a lap, when all are acknowledged; what an old connection still brings has come before."""
        self.kept = {}

    def first(self, key, data):
        """Whether it comes for the first time."""
        digest = hashlib.md5(data).digest()
        before = self.seen.setdefault(key, digest)
        if before != digest:
            self.problems.append(f"{key} came again with other contents")
        return before is digest

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, record):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "ab") as file:
            file.write((record if isinstance(record, bytes) else record.encode()) + b"\n")

    def take(self, record):
        name, place = record["log.file.path"], (record["k2hft.ring"], record["k2hft.position"])
        body = record["body"] if isinstance(record["body"], bytes) else record["body"].encode()
        if not self.first(place, body):
            return
        if place[1] <= self.ends.get((name, place[0]), -1):
            self.problems.append(f"{name}: {place} came behind a later one")
        self.ends[name, place[0]] = place[1]
        self.kept.setdefault(name, {})[place] = body
        self.write(name, body)

    def quarantine_take(self, folder):
        """Chunks that were refused for good have their places between those that were not."""
        if not os.path.isdir(folder):
            return
        with open(os.path.join(folder, "index"), encoding="utf-8") as index:
            found = {line.split("\t")[0]: line.rstrip("\n").split("\t")[4] for line in index}
        changed = set()
        for chunk in found.keys() - self.quarantined:
            self.quarantined.add(chunk)
            changed.add(found[chunk])
            with open(os.path.join(folder, chunk), "rb") as file:
                lines = file.readlines()
            ring, at = chunk.rsplit("-", 1)
            for number, line in enumerate(lines):
                place = (ring, int(at) + sum(map(len, lines[:number])))
                self.first(place, line.rstrip(b"\n"))
                self.kept.setdefault(found[chunk], {})[place] = line.rstrip(b"\n")
        for name in changed:
            with open(self.path(name), "wb") as file:
                file.writelines(body + b"\n" for _, body in sorted(self.kept[name].items()))

    def settle(self, state):
        """All is acknowledged."""
        self.quarantine_take(os.path.join(state, "quarantine"))
        self.forget()

    def close(self):
        self.server.close()


class Kafka:
    """A real broker: brokers of librdkafka's tests show also what is not committed. All that readers of what is committed
    see is written, when all is acknowledged."""
    problems = ()

    def __init__(self, work, folder, tools):
        self.folder, self.tools = folder, tools
        self.server = broker(work, partitions=1)
        self.taken = 0

    def settle(self, _state):
        read = subprocess.run([os.path.join(self.tools, "kafka_mock"), "read", self.server.address, "logs", "1000000000"],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120)
        messages = read.stdout.split(b"\n")[:-1]
        for message in messages[self.taken:]:
            fields = message.split(b"\t")
            (name,) = (field[len(b"path="):].decode() for field in fields if field.startswith(b"path="))
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "ab") as file:
                file.write(fields[-1] + (b"" if b"part=begin" in fields or b"part=middle" in fields else b"\n"))
        self.taken = len(messages)

    def close(self):
        """It is a process of the harness."""
