#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# TYPE = otlp: the receiver is killed while the collector has a request that it has not answered, or has just answered. Each
# record arrives; one that comes again has the same ring and position, and without those the streams are what was written.
import tempfile
import threading

from common.otlp import Answer, Collector, Receiver, once, wait_for

LINES = [b"%d %s\n" % (number, b"x" * 500) for number in range(10000)]


def killed(work, collector):
    """The port stays, so the sender finds the next one."""
    sink = Receiver(work, collector.endpoint)
    port = sink.port
    sender = sink.push("stream", b"".join(LINES))
    try:
        for step in range(6):
            seen, never = len(collector.requests), threading.Event()
            if step % 2 == 0:
                collector.answers = [Answer(), Answer(before=never)]
            wait_for("two more requests", lambda seen=seen: len(collector.requests) >= seen + 2 or sender.poll() is not None)
            sink.kill()
            never.set()
            sink = Receiver(work, collector.endpoint, port=port)
        assert sender.wait(60) == 0
        sink.end()
    finally:
        sink.kill()
        sender.kill()
        sender.wait()


with tempfile.TemporaryDirectory() as folder:
    peer = Collector()
    try:
        killed(folder, peer)
        assert [record["body"].encode() + b"\n" for record in once(peer.records())] == LINES
    finally:
        peer.close()
