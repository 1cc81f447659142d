#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# TYPE = file, otlp: a collector that takes a request and does not answer holds neither files nor other senders, nor memory
# beyond WINDOW; its reason and the age of what waits are in the status. What it missed comes when it answers again. Nor does it
# hold the receiver's end.
import os
import subprocess
import tempfile
import threading

from common.otlp import BIN, Answer, Collector, Receiver, once, wait_for

WINDOW = 4 * 1024 * 1024
LINES = [b"%d %s\n" % (number, b"x" * 900) for number in range(12000)]


def memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


def written(path, size):
    return os.path.exists(path) and os.path.getsize(path) >= size


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


def stalls(sink, collector, work):
    answering = threading.Event()
    collector.answers = [Answer(before=answering)]
    first = sink.push("first", b"begins\n")
    wait_for("a request", lambda: collector.requests)
    before = memory(sink.process.pid)
    much = sink.push("much", b"".join(LINES))
    wait_for("half a window waits", lambda: sink.shown()["waiting_bytes"] >= WINDOW // 2)
    wait_for("the file has it, too", lambda: written(f"{work}/out/much", WINDOW // 2))
    shown = wait_for("its reason", lambda: sink.shown()["held"] and sink.shown())
    assert shown["held"] == "it has no answer yet" and shown["waiting_s"] >= 1, shown
    said = subprocess.run([f"{BIN}/k2hft", "stat", f"127.0.0.1:{sink.control}"], stdout=subprocess.PIPE, text=True, check=False).stdout
    assert "records for otlp wait for" in said and "it has no answer yet" in said, said
    assert sink.counter("otlp_waiting_bytes") >= WINDOW // 2
    assert memory(sink.process.pid) - before < 10 * WINDOW, memory(sink.process.pid) - before
    assert first.poll() is None and much.poll() is None
    answering.set()
    assert first.wait(60) == 0 and much.wait(60) == 0


with tempfile.TemporaryDirectory() as folder:
    peer = Collector()
    tested = Receiver(folder, peer.endpoint, f"WINDOW = {WINDOW}\nFRAMEMAX = 2M\nOTLP_TIMEOUT_MS = 600000", "file, otlp")
    try:
        stalls(tested, peer, folder)
        records = [record["body"].encode() + b"\n" for record in once(peer.records()) if record["log.file.path"] == "much"]
        assert records == LINES
        with open(f"{folder}/out/much", "rb") as output:
            assert output.read() == b"".join(LINES)
        ends(tested, peer)
    finally:
        tested.kill()
        peer.close()
