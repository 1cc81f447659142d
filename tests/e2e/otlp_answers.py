#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# TYPE = otlp and the answers of the other side: refusals that pass are waited for, with its Retry-After; others go to the
# quarantine, and so does what it rejects of what it took, and neither is sent again; hostile answers do no harm.
import email.utils
import os
import tempfile
import time

from common.otlp import Answer, Collector, Receiver, message, once

REFUSED = message((1, 3), (2, b"no \x1b[31mnumber"))


def bodies(records):
    return [record["body"] for record in records]


def delivered(sink, collector, path, *answers):
    """A record that is acknowledged after these answers; the requests that had it."""
    collector.answers = list(answers)
    before = len(collector.requests)
    assert sink.push(path, b"of %s\n" % path.encode()).wait(60) == 0
    requests = collector.requests[before:]
    assert {body for _, records, _ in requests for body in bodies(records)} == {f"of {path}"}
    keys = {(record["k2hft.ring"], record["k2hft.position"]) for _, records, _ in requests for record in records}
    assert len(keys) == 1, keys
    return requests


def waits(sink, collector):
    """Lower bounds only: how long a machine takes longer is its business."""
    begin = time.monotonic()
    requests = delivered(sink, collector, "later", Answer(503, REFUSED, [("Retry-After", 1)]), Answer(502), Answer(504))
    assert [status for _, _, status in requests] == [503, 502, 504, 200], requests
    assert time.monotonic() - begin >= 1
    begin = time.time()
    date = email.utils.formatdate(int(begin) + 2, usegmt=True)
    requests = delivered(sink, collector, "date", Answer(429, b"", [("Retry-After", date)]))
    assert [status for _, _, status in requests] == [429, 200] and time.time() - begin >= 1, requests
    assert sink.counter("otlp_retries") == 4
    sink.logged(rb"it answers 503: no \?\[31mnumber; it is tried again")


def cut_off(sink, collector):
    """The other side has it or has it not: it comes again, and can be told by its position."""
    whole = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 10\r\n\r\n"
    requests = delivered(sink, collector, "cut", Answer(raw=[]), Answer(raw=[b"HTT"]), Answer(raw=[whole + b"\x0a"]))
    assert len(requests) == 4 and len(once([record for _, records, _ in requests for record in records])) == 1


def hostile(sink, collector):
    """Bodies that are too long or make no sense change nothing of the status; endless headers are no answer."""
    endless = [b"HTTP/1.1 200 OK\r\n"] + [b"X-%d: %s\r\n" % (number, b"x" * 1000) for number in range(2000)]
    assert len(delivered(sink, collector, "headers", Answer(raw=endless))) == 2
    assert len(delivered(sink, collector, "long", Answer(200, b"\x12" * 10_000_000))) == 1
    for body in (b"\xff" * 100, message((1, b"\x08\xff")), b"\x0a\x7f", message((1, b"\x08" + b"\xff" * 9 + b"\x01"))):
        assert len(delivered(sink, collector, "sense", Answer(200, body))) == 1
    sink.logged(rb"otlp: .* has taken records, and says: its answer can't be read")


def quarantined(sink, work):
    folder = f"{work}/out/.k2hft/quarantine"
    index = open(f"{folder}/index", encoding="utf-8").read().splitlines() if os.path.exists(folder) else []
    return [line.split("\t") for line in index], folder


def refused(sink, collector, work):
    """A refusal is for good, for what was in that request alone."""
    requests = delivered(sink, collector, "refused", Answer(400, REFUSED))
    assert [status for _, _, status in requests] == [400]
    assert delivered(sink, collector, "behind")[0][2] == 200
    assert [status for _, _, status in delivered(sink, collector, "moved", Answer(301, b"", [("Location", "/")]))] == [301]
    index, folder = quarantined(sink, work)
    assert [(line[2], line[4]) for line in index] == [("it answers 400: no ?[31mnumber", "refused"),
                                                      ("it answers 301", "moved")], index
    with open(f"{folder}/{index[0][0]}", "rb") as chunk:
        assert chunk.read() == b"of refused\n"
    assert sink.counter("quarantined_chunks") == 2


def rejected(sink, collector, work):
    partial = message((1, message((1, 1), (2, b"one is bad"))))
    requests = delivered(sink, collector, "partly", Answer(200, partial))
    assert len(requests) == 1 and sink.counter("otlp_rejected_records") == 1
    assert quarantined(sink, work)[0][-1][2] == "it rejects 1 of 1 records: one is bad"
    warning = message((1, message((2, b"take care"))))
    assert len(delivered(sink, collector, "warned", Answer(200, warning))) == 1
    assert sink.counter("quarantined_chunks") == 3


def smaller(sink, collector):
    """413: a smaller request, down to a record, which is refused then."""
    def at_most(body):
        return Answer(413 if len(body) > 20000 else 200)
    collector.answers = [at_most]
    before = len(collector.records())
    lines = [b"%d %s\n" % (number, b"x" * 1000) for number in range(300)]
    assert sink.push("small", b"".join(lines)).wait(60) == 0
    assert bodies(collector.records()[before:]) == [line[:-1].decode() for line in lines]
    assert sink.push("large", b"y" * 30000 + b"\n").wait(60) == 0
    assert sink.counter("quarantined_chunks") == 4
    collector.answers = []


with tempfile.TemporaryDirectory() as folder:
    peer = Collector()
    tested = Receiver(folder, peer.endpoint)
    try:
        waits(tested, peer)
        cut_off(tested, peer)
        hostile(tested, peer)
        refused(tested, peer, folder)
        rejected(tested, peer, folder)
        smaller(tested, peer)
        tested.end()
    finally:
        tested.kill()
        peer.close()
