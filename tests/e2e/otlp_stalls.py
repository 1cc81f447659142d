#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# TYPE = file, otlp: while a collector takes a request and does not answer, the file has a sender's whole window, and all of
# senders with less; memory is bounded; its reason and the age of what waits are in the status, at once. A receiver that is
# killed meanwhile loses and repeats nothing. What the collector missed comes when it answers again, once. Nor does it hold
# the receiver's end.
import subprocess
import tempfile
import threading

from common.otlp import BIN, Answer, Collector, Receiver, once, wait_for
from common.receiver import content, memory

WINDOW = 4 * 1024 * 1024
LINES = [b"%d %s\n" % (number, b"x" * 900) for number in range(12000)]
DATA = {"much": b"".join(LINES), "second": b"".join(LINES[:3700]), "third": b"".join(LINES[5000:8700]), "small": b"begins\n"}
OWN = f"WINDOW = {WINDOW}\nFRAMEMAX = 2M\nBUFFERMAX = 32M\nOTLP_TIMEOUT_MS = 600000"


def ends(sink, collector):
    """Its sender keeps what was not answered."""
    collector.answers = [Answer(before=threading.Event())]
    seen = len(collector.requests)
    sender = sink.push("last", b"waits\n")
    wait_for("a request", lambda: len(collector.requests) > seen)
    sink.end()
    assert sender.poll() is None
    sender.kill()
    sender.wait()


def await_held(sink, work):
    """The least that all have, and the file of one that has more than its window."""
    for path in ("small", "second", "third"):
        wait_for(f"all of {path}", lambda path=path: content(f"{work}/out/{path}") == DATA[path])
    much = wait_for("the window", lambda: len(content(f"{work}/out/much")) >= WINDOW * 9 // 10 and content(f"{work}/out/much"))
    assert DATA["much"].startswith(much) and len(much) < len(DATA["much"])
    wait_for("all waits", lambda: sink.shown()["waiting_bytes"] >= WINDOW * 9 // 10 + len(DATA["second"]) + len(DATA["third"]))
    shown = wait_for("its reason", lambda: sink.shown()["held"] and sink.shown())
    assert shown["held"] == "it has no answer yet" and shown["waiting_s"] >= 1, shown
    said = subprocess.run([f"{BIN}/k2hft", "stat", f"127.0.0.1:{sink.control}"], stdout=subprocess.PIPE, text=True, check=False).stdout
    assert "records for otlp wait for" in said and "it has no answer yet" in said, said


def stalls(sink, collector, work):
    """The receiver that follows."""
    answering = threading.Event()
    collector.answers = [lambda _: Answer(before=answering)]
    senders = [sink.push("small", DATA["small"])]
    wait_for("a request", lambda: collector.requests)
    before = memory(sink.process.pid)
    senders += [sink.push(path, DATA[path]) for path in ("much", "second", "third")]
    await_held(sink, work)
    assert sink.counter("otlp_waiting_bytes") >= WINDOW // 2
    assert "san" in BIN or memory(sink.process.pid) - before < 12 * WINDOW, memory(sink.process.pid) - before
    assert not any(sender.poll() is not None for sender in senders), "acknowledged, and not stored"
    sink.kill()
    # The collector had a request, and nobody hears its answer.
    collector.forget()
    sink = Receiver(work, collector.endpoint, OWN, "file, otlp", sink.port)
    await_held(sink, work)
    collector.answers = []
    answering.set()
    assert not any(sender.wait(60) for sender in senders)
    return sink


with tempfile.TemporaryDirectory() as folder:
    peer = Collector()
    tested = Receiver(folder, peer.endpoint, OWN, "file, otlp")
    try:
        tested = stalls(tested, peer, folder)
        received = peer.records()
        assert len(once(received)) == len(received)
        for name, data in DATA.items():
            assert b"".join(record["body"].encode() + b"\n" for record in received if record["log.file.path"] == name) == data, name
            assert content(f"{folder}/out/{name}") == data, name
        ends(tested, peer)
    finally:
        tested.kill()
        peer.close()
