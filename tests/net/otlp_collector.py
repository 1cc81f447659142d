#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# TYPE = otlp to a real OpenTelemetry Collector, which ends and starts again meanwhile: what it wrote is what was sent, in
# order, with origin, text and bytes. K2HFT_COLLECTOR is its program; "build" makes one, with go and some minutes.
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
MODULES = [f"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter@{VERSION}",
           f"go.opentelemetry.io/collector/otelcol@{VERSION}", f"go.opentelemetry.io/collector/receiver/otlpreceiver@{VERSION}",
           "go.opentelemetry.io/collector/confmap/provider/fileprovider"]
CONFIG = """receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:{port}
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
      receivers: [otlp]
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
    """Records as common.otlp has them."""
    records = []
    with open(f"{work}/logs.json", encoding="utf-8") as logs:
        for resource in (found for line in logs for found in json.loads(line)["resourceLogs"]):
            shared = {pair["key"]: value_of(pair["value"]) for pair in resource["resource"]["attributes"]}
            for record in (found for scope in resource["scopeLogs"] for found in scope["logRecords"]):
                own = {pair["key"]: value_of(pair["value"]) for pair in record["attributes"]}
                body = value_of(record["body"]) if record["body"] else ""
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


def main(work):
    port = free_port()
    with open(f"{work}/config.yaml", "w", encoding="ascii") as config:
        config.write(CONFIG.format(port=port, work=work))
    command = program(work)
    sink = Receiver(work, f"http://127.0.0.1:{port}", "OTLP_COMPRESS = gzip")
    try:
        sent(sink, command, work, port)
        assert sink.counter("quarantined_chunks") == 0
        sink.end()
    finally:
        sink.kill()
    records = once(written(work))
    for path, lines in LINES.items():
        found = [record["body"].encode() + b"\n" for record in records if record["log.file.path"] == path]
        assert found == lines, (path, len(found))
    assert [record["body"] for record in records if record["log.file.path"] == "bytes"] == [b"a\xff", "ä"]
    assert {record["host.name"] for record in records} == {socket.gethostname()} and all(record["time"] for record in records)


with tempfile.TemporaryDirectory() as folder:
    main(folder)
