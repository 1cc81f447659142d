#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""TYPE = kafka, with the brokers of librdkafka's tests: each record is a message with key and headers, without its line
end; one that was cut goes in parts; a ring that has ended has no position any more; a topic that can't be written holds its sender and no other, and stat says why; a ring
that goes on at another receiver, and back, is there once. tests/net/kafka_gateways.py has a real broker."""
import os
import subprocess
import sys
import tempfile

from common.bench_run import measure
from common.receiver import BIN, Receiver, wait_for

MOCK = os.path.join(BIN, "../tests/tools/kafka_mock")
if not os.path.exists(os.path.join(BIN, "../lib/k2hft/kafka.so")):
    print("SKIP: kafka.so is not built: librdkafka is not installed")
    sys.exit(77)
if "thread" in os.environ.get("SANITIZER", ""):
    print("SKIP: the thread sanitizer does not know thrd_create, by which librdkafka starts its threads")
    sys.exit(77)


class Gateway(Receiver):
    def __init__(self, work, brokers, topic, more="", commit_ms=20, kind="kafka"):
        os.makedirs(work)
        super().__init__(work, "SSL = no\nCTLPORT = 0", f"TYPE = {kind}\nSTATEDIR = {work}/state\nKAFKA_BROKERS = {brokers}\n"
                         f"KAFKA_TOPIC = {topic}\nKAFKA_COMMITMS = {commit_ms}\nKAFKA.linger.ms = 1\n{more}")


class Brokers:
    def __init__(self):
        self.process = subprocess.Popen([MOCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.at = self.process.stdout.readline().decode().strip()

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"done\n"

    def rings(self):
        """Those that have a position."""
        read = subprocess.run([MOCK, "read", self.at, "k2hft-positions", "1000000"], capture_output=True, timeout=60, check=False)
        last = dict(line.split(b"\t") for line in read.stdout.split(b"\n")[:-1])
        return {ring for ring, place in last.items() if place}

    def messages(self, topic, count):
        """Fields of each: key, headers, payload."""
        read = subprocess.run([MOCK, "read", self.at, topic, str(count)], capture_output=True, timeout=60)
        assert read.returncode == 0, (topic, count, read.stdout[:1000], read.stderr)
        return [line.split(b"\t") for line in read.stdout.split(b"\n")[:-1]]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def push(gateway, stream, data, *more):
    """Ends when all is acknowledged."""
    process = subprocess.Popen([f"{BIN}/k2hft", "push", "-q", "-r", f"127.0.0.1:{gateway.port}", "-t", stream, "--host", "h",
                                "--timeout", "60", *more], stdin=subprocess.PIPE)
    process.stdin.write(data)
    process.stdin.close()
    return process


def pushed(*arguments):
    assert push(*arguments).wait(90) == 0


def records(brokers, gateway):
    pushed(gateway, "app/x.log", b"one\n\ntwo\r\nlast")
    found = brokers.messages("x.log", 4)
    assert all(fields[:3] == [b"h app/x.log", b"host=h", b"path=app/x.log"] for fields in found), found
    assert [fields[3] for fields in found] == [b"one", b"", b"two\r", b"last"], found


def parts(brokers, gateway):
    long = b"".join(b"%08d" % number for number in range(300000))
    pushed(gateway, "app/long", b"short\n" + long + b"\nshort\n")
    found = brokers.messages("long", 5)
    assert found[0][3:] == found[-1][3:] == [b"short"]
    assert [found[1][3], found[-2][3]] == [b"part=begin", b"part=end"], [fields[3][:20] for fields in found]
    assert all(fields[3] == b"part=middle" for fields in found[2:-2])
    assert b"".join(fields[4] for fields in found[1:-1]) == long
    read = subprocess.run([f"{BIN}/k2hft", "verify", "--kafka", brokers.at, "long"], capture_output=True, check=False)
    assert b"3 foreign" in read.stdout, read


def moves(brokers, work, first, second):
    """These brokers do not fence a producer whose id another one has: they show who owns what, and that nothing is skipped."""
    ring = f"{work}/ring"
    count = 0
    for turn in range(4):
        gateway = (first, second)[turn % 2]
        pushed(gateway, "moves", b"".join(b"%d\n" % number for number in range(count, count + 1000)), "--ring", ring)
        count += 1000
        for other in (first, second):
            pushed(other, f"own.{turn}", b"record\n")
    found = [int(fields[-1]) for fields in brokers.messages("moves", count)]
    assert found == list(range(count)), found[:20]
    assert b"is taken over from" in second.said()
    # One of a file stays, those of the other senders have ended.
    wait_for("rings end", lambda: len(brokers.rings()) == 1)


def ring_full(brokers, work):
    """In half a minute there are six intervals, and 32 rings of data."""
    gateway = Gateway(work, brokers.at, "ring", commit_ms=5000)
    assert push(gateway, "ring", (b"x" * 1023 + b"\n") * 32768, "--ring-size", "1M").wait(30) == 0
    return gateway


def measured(brokers, work):
    """Beside a plain producer, and beside files."""
    file, kafka = measure(work, "--by", "library", "--size", "100", "--bytes", "1M", "--sink", "file,kafka", "--brokers", brokers.at)
    assert file["sink"] == "file" and kafka["sink"] == "kafka" and kafka["pipe_mb_per_s"] > 0, kafka


def queue_full(brokers, work):
    gateway = Gateway(work, brokers.at, "full", "KAFKA.queue.buffering.max.messages = 10")
    pushed(gateway, "full", b"record\n" * 1000)
    assert len(brokers.messages("full", 1000)) == 1000
    return gateway


def refused(brokers, work):
    """By codes of Kafka's protocol, and each by a receiver of its own, which says why at once. A topic's sender waits, others go
    on; without transactions all of a thread wait; if messages are too large, records go in parts. 0 is a request to produce, 22
    one to begin transactions."""
    for topic, command, said in (
            ("denied", "topic denied 29", rb"is held: topic denied: .*allow the receiver's user"),
            ("unknown", "topic unknown 3", rb"is held: topic unknown: .*make it, or have brokers make it"),
            ("invalid", "error 0 87 1", rb"is held: topic invalid: .*see the topic's settings"),
            ("large", "error 0 10 1", rb"topic large: messages of 1000000 bytes are too large for it"),
            ("id", "error 22 53 8", rb"no transactions can begin: .*[Aa]uthorization")):
        if topic == "id":
            brokers.tell(command)
        gateway = Gateway(f"{work}/{topic}", brokers.at, "%f")
        try:
            if topic != "id":
                pushed(gateway, "before", b"record\n", "--ring", f"{work}/{topic}.ring")
                brokers.tell(command)
            held = push(gateway, topic, b"x" * 600000 + b"\n", "--ring", f"{work}/{topic}.ring")
            gateway.logged(said)
            if command.startswith("topic"):
                pushed(gateway, f"not.{topic}", b"record\n")
                assert held.poll() is None
                brokers.tell(f"topic {topic} 0")
            assert held.wait(60) == 0
        finally:
            gateway.kill()
        found = brokers.messages(topic, 2 if topic == "large" else 1)
        assert [fields[3:-1] for fields in found] == ([[b"part=begin"], [b"part=end"]] if topic == "large" else [[]]), found


def brokers_away(brokers, work):
    """Files go on meanwhile: they get the windows of senders."""
    gateway = Gateway(work, brokers.at, "%f", "WINDOW = 4M\nFRAMEMAX = 2M\nBUFFERMAX = 32M", kind="file, kafka")
    lines = [b"%d %s" % (number, b"x" * 900) for number in range(4800)] # the brokers keep 5 MB
    data = b"".join(line + b"\n" for line in lines)

    def written():
        return os.path.exists(f"{work}/out/away") and os.path.getsize(f"{work}/out/away")

    for number in (1, 2, 3):
        brokers.tell(f"down {number}")
    held = push(gateway, "away", data)
    wait_for("the window", lambda: written() and written() > 3700000)
    others = push(gateway, "other.away", b"record\n")
    wait_for("another sender's", lambda: os.path.exists(f"{work}/out/other.away"))
    assert held.poll() is None and others.poll() is None and written() < len(data)
    for number in (1, 2, 3):
        brokers.tell(f"up {number}")
    assert held.wait(60) == 0 and others.wait(60) == 0
    assert [fields[-1] for fields in brokers.messages("away", len(lines))] == lines
    with open(f"{work}/out/away", "rb") as file:
        assert file.read() == data
    return gateway


def main():
    with tempfile.TemporaryDirectory() as work:
        brokers = Brokers()
        gateways = []
        try:
            gateways = [Gateway(f"{work}/{name}", brokers.at, "%f") for name in "ab"]
            records(brokers, gateways[0])
            parts(brokers, gateways[0])
            moves(brokers, work, *gateways)
            measured(brokers, work)
            refused(brokers, work)
            gateways.append(brokers_away(brokers, f"{work}/e"))
            gateways.append(queue_full(brokers, f"{work}/c"))
            gateways.append(ring_full(brokers, f"{work}/d"))
            for gateway in gateways:
                gateway.end()
        except BaseException:
            for gateway in gateways:
                sys.stdout.buffer.write(gateway.said())
            raise
        finally:
            for gateway in gateways:
                gateway.kill()
            brokers.end()


main()
