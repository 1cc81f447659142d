#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# TYPE = otlp: each record once, in the order of its stream, with where it comes from; text and bytes; requests of several
# hosts, compressed ones, with headers; a chunk that is longer than a request.
import os
import re
import tempfile

from common.otlp import Collector, Receiver, once

SCRIPT = r"""hello origin 1 0
welcome
stream 1 text app/one.log alpha
stream 2 text app/two.log beta
stream 3 binary blocks alpha
pid 4711
chunk 1 0 first\r\nsecond\n\nGrün
chunk 2 0 at beta\n
pid 4712
chunk 1 0 third\n
chunk 3 0 a\nb\n
chunk 1 1 in\npie
chunk 1 3 ce
chunk 1 2 s\nwhole\n
path 4 ff41
chunk 4 0 \n
flush
ack
bye"""


def origin(record):
    return record["host.name"], record["log.file.path"], record["process.pid"], record["body"]


def receiver_start(work, collector, compress):
    """`compress`: OTLP_COMPRESS."""
    with open(f"{work}/secret", "w", encoding="ascii") as secret:
        secret.write("# a token\nAuthorization = Bearer one=two,three\n")
    os.chmod(f"{work}/secret", 0o600)
    return Receiver(work, collector.endpoint, f"OTLP_COMPRESS = {compress}\nOTLP_HEADERS = X-Scope = a b, X-Empty=\n"
                    f"OTLP_HEADERS_FILE = {work}/secret")


def sources_arrive(tested, collector, compress):
    assert "ack" in tested.wire(SCRIPT)
    records = collector.records()
    ring = {record["k2hft.ring"] for record in records}
    assert len(ring) == 1 and bytes.fromhex(ring.pop().replace("-", "")).startswith(b"origin"), records
    assert len(once(records)) == len(records), records
    streams = {}
    for record in records:
        host, path, pid, body = origin(record)
        streams.setdefault((host, path), []).append((pid, body))
        assert 0 < record["time"] and 0 < record["observed"], record
    assert streams == {
        ("alpha", "app/one.log"): [(4711, "first\r"), (4711, "second"), (4711, ""), (4711, "Grün"), (4712, "third"),
                                   (4712, "in"), (4712, "pieces"), (4712, "whole")],
        ("beta", "app/two.log"): [(4711, "at beta")], ("alpha", "blocks"): [(4712, b"a\nb\n")],
        ("wirehost", b"\xffA"): [(4712, "")]}, streams
    headers = collector.requests[0][0]
    assert headers["path"] == "/v1/logs" and headers["Content-Type"] == "application/x-protobuf", headers
    assert headers.get("Content-Encoding") == ("gzip" if compress == "gzip" else None), headers
    assert headers["X-Scope"] == "a b" and headers["X-Empty"] == "", headers
    assert headers["Authorization"] == "Bearer one=two,three", headers
    assert re.match(r"k2hft/\d", headers["User-Agent"]), headers


def much_arrives(tested, collector):
    """Empty lines become requests of a hundred times their size, so a chunk takes several."""
    data = b"".join(b"line %d\n" % number for number in range(10000)) + b"\n" * 20000 + b"\xe4" * 300000 + b"\nend"
    before = len(collector.records())
    assert tested.push("much", data).wait(60) == 0
    records = collector.records()[before:]
    assert len(once(records)) == len(records)
    positions = [record["k2hft.position"] for record in records]
    assert positions == sorted(positions)
    bodies = [record["body"] if isinstance(record["body"], bytes) else record["body"].encode() for record in records]
    assert b"\n".join(bodies) == data, len(bodies)
    assert isinstance(records[-2]["body"], bytes) and records[-1]["body"] == "end"


for compression in ("none", "gzip"):
    with tempfile.TemporaryDirectory() as folder:
        peer = Collector()
        sink = receiver_start(folder, peer, compression)
        try:
            sources_arrive(sink, peer, compression)
            much_arrives(sink, peer)
            assert sink.shown()["held"] == "" and sink.shown()["waiting_bytes"] == 0, sink.shown()
            sink.end()
        finally:
            sink.kill()
            peer.close()
