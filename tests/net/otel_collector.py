#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# TYPE = otlp and TYPE = forward to a real OpenTelemetry Collector, which ends and starts again meanwhile: what it wrote is
# what was sent, in order, with origin, text and bytes. K2HFT_COLLECTOR is its program; "build" makes one, with go and some
# minutes.
import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))
from common.otlp import Receiver, free_port, once, wait_for  # noqa: E402 (the folder of the other tests)

VERSION = "v0.161.0"
CONTRIB = "github.com/open-telemetry/opentelemetry-collector-contrib"
MODULES = [f"{CONTRIB}/exporter/fileexporter@{VERSION}", f"{CONTRIB}/receiver/fluentforwardreceiver@{VERSION}",
           f"go.opentelemetry.io/collector/otelcol@{VERSION}", f"go.opentelemetry.io/collector/receiver/otlpreceiver@{VERSION}",
           "go.opentelemetry.io/collector/confmap/provider/fileprovider"]
CONFIG = """receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:{port}
  fluentforward:
    endpoint: 127.0.0.1:{forward}
exporters:
  file:
    path: {work}/logs.json
    append: true
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    logs:
      receivers: [otlp, fluentforward]
      exporters: [file]
"""
LINES = {path: [b"%s %d %s\n" % (path.encode(), number, b"x" * (number % 200)) for number in range(20000)]
         for path in ("app/one.log", "app/two.log")}


def skip(why):
    print(f"SKIP: {why}")
    sys.exit(77)


def program(work):
    given = os.environ.get("K2HFT_COLLECTOR", "")
    if not given:
        skip('no collector: K2HFT_COLLECTOR is its program, or "build"')
    if given != "build":
        return given
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go") or skip("go is not installed")
    shutil.copy(os.path.join(os.path.dirname(__file__), "collector", "main.go"), work)
    for arguments in (["mod", "init", "collector"], ["get", *MODULES], ["build", "-o", "collector", "."]):
        subprocess.run([go, *arguments], cwd=work, check=True, env={**os.environ, "GOFLAGS": "-mod=mod"})
    return f"{work}/collector"


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def started(command, work, port):
    with open(f"{work}/collector.log", "ab") as log:
        process = subprocess.Popen([command, f"--config=file:{work}/config.yaml"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    wait_for("the collector", lambda: answers(port) or process.poll() is not None)
    return process


def ended(process):
    process.send_signal(signal.SIGTERM)
    process.wait(60)


def value_of(value):
    (kind, content), = value.items()
    return {"stringValue": str, "intValue": int, "bytesValue": base64.b64decode}[kind](content)


def written(work):
    """Records as common.otlp has them, also those of Forward."""
    records = []
    with open(f"{work}/logs.json", encoding="utf-8", errors="replace") as logs:
        for resource in (found for line in logs for found in json.loads(line)["resourceLogs"]):
            shared = {pair["key"]: value_of(pair["value"]) for pair in resource["resource"].get("attributes", [])}
            for record in (found for scope in resource["scopeLogs"] for found in scope["logRecords"]):
                own = {pair["key"]: value_of(pair["value"]) for pair in record["attributes"]}
                body = value_of(record["body"]) if record["body"] else ""
                # Forward's names.
                own.update((name, own[old]) for name, old in (("log.file.path", "path"), ("host.name", "host")) if old in own)
                records.append({**shared, **own, "body": body, "time": int(record["timeUnixNano"])})
    return records


def sent(sink, command, work, port):
    """The collector ends while it takes records, and starts again."""
    collector = started(command, work, port)
    try:
        senders = [sink.push(path, b"".join(lines)) for path, lines in LINES.items()]
        wait_for("records", lambda: os.path.exists(f"{work}/logs.json") and os.path.getsize(f"{work}/logs.json") > 100000)
        ended(collector)
        collector = started(command, work, port)
        senders.append(sink.push("bytes", b"a\xff\n\xc3\xa4\n"))
        assert [sender.wait(60) for sender in senders] == [0, 0, 0]
    finally:
        ended(collector)


def once_of(kind, records):
    """Forward's records have no position there: the lines of a stream differ."""
    return once(records) if kind == "otlp" else list({(one["log.file.path"], one["body"]): one for one in records}.values())


def check(kind, command, work, port, own):
    os.mkdir(work)
    forward = free_port()
    with open(f"{work}/config.yaml", "w", encoding="ascii") as config:
        config.write(CONFIG.format(port=port, forward=forward, work=work))
    sink = Receiver(work, f"http://127.0.0.1:{port}", f"FORWARD_SERVER = 127.0.0.1:{forward}\n{own}", kind)
    try:
        sent(sink, command, work, port)
        assert sink.counter("quarantined_chunks") == 0
        sink.end()
    finally:
        sink.kill()
    records = once_of(kind, written(work))
    for path, lines in LINES.items():
        found = [record["body"].encode() + b"\n" for record in records if record["log.file.path"] == path]
        assert found == lines, (kind, path, len(found))
    # The collector writes bytes that come by Forward as text, which they are not.
    first = b"a\xff" if kind == "otlp" else "a\ufffd"
    assert [record["body"] for record in records if record["log.file.path"] == "bytes"] == [first, "ä"]
    assert {record["host.name"] for record in records} == {socket.gethostname()} and all(record["time"] for record in records)
    return len(records)


def main(work):
    command = program(work)
    for kind, own in (("otlp", "OTLP_COMPRESS = gzip"), ("forward", "FORWARD_COMPRESS = gzip"), ("forward", "")):
        print(kind, own, check(kind, command, f"{work}/{kind}{bool(own)}", free_port(), own), "records")


with tempfile.TemporaryDirectory() as folder:
    main(folder)
