#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# k2hft serve has metrics of each lane of a sender, and the histogram of a receiver, as its target's status has them.
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import time
import urllib.request

K2HFT = os.path.join(os.environ.get("B", "build"), "bin", "k2hft")
LANES = [{"home": f"r{number}:8020", "goes_to": "r0:8020", "ring_file": f"/ring{number}", "unacked_records": 7 * number,
          "unacked_bytes": 4096 * number, "state": "connected" if number else "waiting",
          "last_ack_ns": number * (time.time_ns() - 10 ** 12)} for number in range(2)]
STATUS = {"program": "k2hftfuse", "mount": {"filtered_records": 0}, "lanes": LANES,
          "client": {"state": "connected", "last_ack_ns": time.time_ns() - 10 ** 12},
          "backlog": {"records": 7, "bytes": 70, "oldest_ns": 0, "streams": [], "rings": [
              {"ring_file": "/ring1", "records": 7, "bytes": 70, "oldest_ns": time.time_ns() - 2 * 10 ** 12}]},
          "latency_ms": {"le": [], "chunks": [3] + [0] * 14 + [1], "sum": 90000}}


class Status(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(STATUS).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def metrics_of(port):
    """As soon as there are some."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                return answer.read().decode()
        except urllib.error.HTTPError:
            time.sleep(0.05)
    raise AssertionError("no metrics")


def check(text, target):
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")

    def value(name, labels=""):
        return float(values[f'k2hft_{name}{{target="{target}"{labels}}}'])
    for number, home in enumerate(("r0:8020", "r1:8020")):
        lane = f',lane="{home}"'
        assert value("lane_connected", lane) == number, text
        assert value("lane_backlog_records", lane) == 7 * number and value("lane_backlog_bytes", lane) == 4096 * number, text
    assert value("lane_last_ack_age_seconds", ',lane="r0:8020"') == 0 == value("lane_backlog_age_seconds", ',lane="r0:8020"'), text
    assert 1000 <= value("lane_last_ack_age_seconds", ',lane="r1:8020"') < 1900, text
    assert 2000 <= value("lane_backlog_age_seconds", ',lane="r1:8020"') < 2900, text
    assert 1000 <= value("last_ack_age_seconds") < 1900, text
    assert value("receiver_latency_seconds_bucket", ',le="0.001"') == 3, text
    assert value("receiver_latency_seconds_bucket", ',le="+Inf"') == 4 == value("receiver_latency_seconds_count"), text
    if shutil.which("promtool"):
        subprocess.run(["promtool", "check", "metrics"], input=text.encode(), check=True)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Status)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    target = "127.0.0.1:%d" % server.server_address[1]
    with subprocess.Popen([K2HFT, "serve", "-l", "127.0.0.1:0", target], stderr=subprocess.PIPE) as serving:
        try:
            port = re.search(rb"port (\d+)", serving.stderr.readline()).group(1).decode()
            check(metrics_of(port), target)
        finally:
            serving.terminate()


main()
