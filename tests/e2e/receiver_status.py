#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# CTLPORT: /status, /metrics and /, loopback only, and whatever a hostile client sends.
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

from common import receiver as common
from common.receiver import BIN, WAIT_S, wait_for


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Receiver(common.Receiver):
    def __init__(self, work, own=""):
        for _ in range(20):
            self.control = free_port()
            try:
                super().__init__(work, f"CTLPORT = {self.control}", own)
                return
            except common.Ended as ended:
                assert f"{self.control} (CTLPORT)" in str(ended), ended
        raise AssertionError("no port for CTLPORT")

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.control), WAIT_S)
        connection.settimeout(WAIT_S)
        return connection

    def exchange(self, request):
        with self.connect() as connection:
            connection.sendall(request)
            answer = b""
            while part := connection.recv(65536):
                answer += part
        return answer

    def get(self, path):
        head, _, body = self.exchange(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n"), head
        length = int(re.search(rb"Content-Length: (\d+)", head).group(1))
        assert len(body) == length, (head, len(body))
        return head, body.decode()


def metrics_parse(text):
    """As Prometheus's text format 0.0.4 wants it: HELP and TYPE before each value, every name once."""
    values, described, typed = {}, set(), {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if match := re.fullmatch(r"# HELP ([a-z_:][a-z0-9_:]*) (\S.*)", line):
            assert match[1] not in described, line
            described.add(match[1])
        elif match := re.fullmatch(r"# TYPE ([a-z_:][a-z0-9_:]*) (counter|gauge|histogram)", line):
            assert match[1] in described and match[1] not in typed, line
            typed[match[1]] = match[2]
        else:
            match = re.fullmatch(r'([a-z_:][a-z0-9_:]*?)(_bucket|_sum|_count)?(\{[a-z_]+="[^"\\]*"\})? ([\d.]+)', line)
            assert match, line
            if typed.get(match[1]) == "histogram":
                values[match[1]] = values.get(match[1], []) + [float(match[4])]
                continue
            match = re.fullmatch(r'([a-z_:][a-z0-9_:]*)(\{[a-z_]+="[^"\\]*"\})? (\d+)', line)
            assert match and match[1] in typed and match[1] not in values, line
            assert (typed[match[1]] == "counter") == match[1].endswith("_total"), line
            values[match[1]] = int(match[3])
    return values


def check_labels(status, text):
    """Of senders, streams and sinks."""
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#" and "{" in line)
    row, = status["streams"]
    chunks = status["receiver"]["chunks"]
    assert (row["path"], row["records"], row["bytes"], sum(row["latency_chunks"])) == ("a/ä\"b", 3, 13, chunks), row
    assert status["sinks"] == [{"sink": "file", "held": 0, "waiting_bytes": 0, "waiting_s": 0}], status["sinks"]
    stream = f'sender="{row["host"]}",stream="a/ä\\"b"'
    assert samples[f"k2hft_receiver_stream_records_total{{{stream}}}"] == "3", samples
    assert samples[f"k2hft_receiver_stream_latency_seconds_count{{{stream}}}"] == str(chunks), samples
    assert 0 <= float(samples[f"k2hft_receiver_stream_last_commit_age_seconds{{{stream}}}"]) < WAIT_S, samples
    assert samples['k2hft_receiver_sink_held{sink="file"}'] == "0", samples
    # Each stands in the manual.
    with open("man/man8/k2hftfusesvr.8", encoding="utf-8") as page:
        named = set(re.findall(r"k2hft_receiver_[a-z_]+", page.read()))
    labelled = set(re.findall(r"(?m)^# TYPE (k2hft_receiver_(?:sender|stream|sink)_\w+) ", text))
    assert labelled and labelled <= named, labelled - named


def check_pages(receiver):
    subprocess.run([f"{BIN}/k2hft", "push", "-r", f"127.0.0.1:{receiver.port}", "--stream", "a/ä\"b", "-q"],
                   input=b"one\ntwo\nthree", check=True, timeout=WAIT_S)
    head, text = receiver.get("/status")
    assert b"application/json" in head, head
    status = json.loads(text)
    assert status["program"] == "k2hftfusesvr" and status["pid"] == receiver.process.pid
    assert status["receiver"]["records"] == 3 and status["receiver"]["bytes"] == 13, status
    assert status["receiver_lost"] == []
    assert status["files"] == [{"path": "a/ä\"b", "bytes": 13, "held": ""}], status
    head, text = receiver.get("/metrics")
    assert b"text/plain; version=0.0.4" in head, head
    metrics = metrics_parse(re.sub(r"(?m)^(# (HELP|TYPE) )?k2hft_receiver_(sender|stream|sink)_.*\n", "", text))
    assert metrics["k2hft_receiver_records_total"] == 3 and metrics["k2hft_receiver_info"] == 1
    names = {name.removeprefix("k2hft_receiver_").removesuffix("_total") for name in metrics}
    assert names == set(status["receiver"]) | {"info", "uptime_seconds", "latency_seconds"}, names ^ set(status["receiver"])
    check_labels(status, text)
    *buckets, total_s, count = metrics["k2hft_receiver_latency_seconds"]
    assert sorted(buckets) == buckets and buckets[-1] == count == status["receiver"]["chunks"] > 0, buckets
    assert total_s < WAIT_S and sum(status["latency_ms"]["chunks"]) == count, status["latency_ms"]
    if shutil.which("promtool"):
        subprocess.run(["promtool", "check", "metrics"], input=text.encode(), check=True)
    shown = subprocess.run([f"{BIN}/k2hft", "stat", f"localhost:{receiver.control}"], capture_output=True, timeout=WAIT_S)
    assert re.search(rb"from write to commit: 50% (within \d+ m?s|over 1 min), 90% ", shown.stdout), shown
    assert 'fetch("status"' in receiver.get("/")[1]
    assert receiver.get("/health")[1] == "fine\n"
    head, _, body = receiver.exchange(b"HEAD /status HTTP/1.1\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ") and b"Content-Length: " in head and not body, (head, body)
    assert receiver.get("/status?x=1")[1].startswith("{")


def check_silence(sender, connection):
    """It grows while no record comes, whatever else does, and begins anew with the next one."""
    wait_for("its silence, and a PING", lambda: connection()["idle_s"] >= 6)
    before = connection()
    sender.write(b"a line\n")
    sender.flush()
    wait_for("the next record", lambda: connection(1001))
    after = connection(1001)
    assert after["idle_s"] < 5 and after["connected_s"] >= before["connected_s"] >= 6, (before, after)


def check_stranger(receiver):
    """One that has not said who it is."""
    with socket.create_connection(("127.0.0.1", receiver.port), WAIT_S):
        def connections():
            return json.loads(receiver.get("/status")[1])["connections"]
        wait_for("a connection that says nothing", lambda: connections() and connections()[0]["connected_s"] >= 1)
        assert set(connections()[0]) == {"peer", "connected_s"}, connections()
    wait_for("its end", lambda: connections() == [])


def check_connection(receiver):
    """One that is there, with what it has sent."""
    with subprocess.Popen([f"{BIN}/k2hft", "push", "-r", f"127.0.0.1:{receiver.port}", "--stream", "open", "-q",
                           "--host", "sender.example"], stdin=subprocess.PIPE) as push:
        push.stdin.write(b"a line\n" * 1000)
        push.stdin.flush()

        def connection(records=1000):
            found = [c for c in json.loads(receiver.get("/status")[1])["connections"] if c.get("records") == records]
            return found[0] if found else None
        wait_for("a connection with its records", connection)
        found = connection()
        assert found["host"] == "sender.example" and found["bytes"] == 7000 and found["level"] == "written", found
        assert re.fullmatch("[0-9a-f]{8}", found["ring"]), found
        assert re.search(f"connected, ring {found['ring']}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}} at".encode(), receiver.said()), found
        assert found["position"] > 7000 and found["held"] == "" and found["peer"].startswith("127.0.0.1:"), found
        assert found["connected_s"] >= found["idle_s"] >= 0, found
        check_silence(push.stdin, connection)
        push.stdin.close()
        assert push.wait(WAIT_S) == 0
    wait_for("its end", lambda: json.loads(receiver.get("/status")[1])["connections"] == [])


def check_refusals(receiver):
    for request, status in ((b"POST /status HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 405),
                            (b"HEAD /nothing HTTP/1.1\r\n\r\n", 404), (b"DELETE / HTTP/1.0\n\n", 405),
                            (b"get /status HTTP/1.1\r\n\r\n", 405), (b"GET /../etc/passwd HTTP/1.1\r\n\r\n", 404),
                            (b"GET /status/../status HTTP/1.1\r\n\r\n", 404), (b"GET //status HTTP/1.1\r\n\r\n", 404),
                            (b"GET %2fstatus HTTP/1.1\r\n\r\n", 404), (b"GET /statusx HTTP/1.1\r\n\r\n", 404),
                            (b"GET /status\r\n\r\n", 400), (b"GET /status HTTP/2.0\r\n\r\n", 400),
                            (b"GET  /status HTTP/1.1\r\n\r\n", 400), (b"GET /st\0atus HTTP/1.1\r\n\r\n", 400),
                            (b"\r\n\r\n", 400), (b"\xff\xfe\x00 / HTTP/1.1\n\n", 400), (b"\n\n", 400),
                            (b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n\r\n", 431),
                            (b"GET /status HTTP/1.1\r\nHost: page.example\r\n\r\n", 421),
                            (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 2000, 431), (b"\x16\x03\x01" + b"\xff" * 9000, 431),
                            (b"\x16\x03\x01\x02\0\x01", 400)):
        answer = receiver.exchange(request)
        assert answer.startswith(f"HTTP/1.1 {status} ".encode()), (request[:60], answer[:60])
    receiver.exchange(b"GET / HTTP/1.1\r\n\r\n" * 1000)


def check_sender(receiver):
    """One whose PORT is CTLPORT is not left without an answer, and both sides say what is wrong."""
    push = subprocess.run([f"{BIN}/k2hft", "push", "-r", f"127.0.0.1:{receiver.control}", "--timeout=5"], input=b"a line\n",
                          stderr=subprocess.PIPE, timeout=WAIT_S, check=False)
    assert push.returncode == 1 and b"is this PORT another program's, or CTLPORT?" in push.stderr, push
    wait_for("its refusal", lambda: b"from a sender, whose PORT is CTLPORT" in receiver.said())


def check_names(receiver):
    """k2hft stat asks by the name that it was given: 127.1 leads to 127.0.0.1, and no browser asks for it."""
    for name, wanted in (("127.1", "the receiver refuses this name: ask for localhost or an address"),
                         ("localhost", ""), ("[0:0:0:0:0:0:0:1]", "")):
        if name[0] == "[" and not os.path.exists("/proc/net/if_inet6"):
            continue
        done = subprocess.run([f"{BIN}/k2hft", "stat", f"{name}:{receiver.control}"], capture_output=True, timeout=60)
        assert done.returncode == bool(wanted) and wanted in done.stderr.decode(), (name, done)


def check_crowd(receiver):
    """1,000 that say nothing, or half a request: who asks is answered meanwhile, and they go in the end."""
    crowd = []
    for number in range(1000):
        crowd.append(receiver.connect())
        if number % 2:
            crowd[-1].sendall(b"GET /status HTTP/1.1\r\nX: ")
        if number % 100 == 99:
            assert json.loads(receiver.get("/status")[1])["receiver"]["status_requests"] > 0
    descriptors = len(os.listdir(f"/proc/{receiver.process.pid}/fd"))
    assert descriptors < 200, descriptors
    crowd.append(receiver.connect())
    slow = crowd[-1]
    try:
        while True:
            slow.sendall(b"G")
            time.sleep(0.2)
    except OSError:
        pass
    for connection in crowd:
        connection.close()
    assert json.loads(receiver.get("/status")[1])["receiver"]["status_refused"] > 900


def check_port_taken(work, receiver):
    os.mkdir(f"{work}/other")
    with open(f"{work}/other/conf", "w", encoding="utf-8") as conf:
        conf.write(f"[GLOBAL]\nPORT = 8020\n[SVRNODE]\nNAME = localhost\nCTLPORT = {receiver.control}\n[K2HFTFUSESVR]\n"
                   f"FILE_BASEDIR = {work}/other/out\n")
    done = subprocess.run([f"{BIN}/k2hftfusesvr", "-conf", f"{work}/other/conf", "--listen", "127.0.0.1:0"],
                          capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 1 and f"port {receiver.control} (CTLPORT)" in done.stderr, done.stderr


def check_loopback_only(receiver):
    with open("/proc/net/tcp", encoding="utf-8") as table:
        bound = [line.split()[1].split(":")[0] for line in table if f":{receiver.control:04X} 00000000" in line]
    assert bound == ["0100007F"], bound


def main():
    with tempfile.TemporaryDirectory() as work:
        receiver = Receiver(work)
        try:
            check_loopback_only(receiver)
            check_pages(receiver)
            check_connection(receiver)
            check_stranger(receiver)
            check_sender(receiver)
            check_refusals(receiver)
            check_names(receiver)
            check_crowd(receiver)
            check_port_taken(work, receiver)
            receiver.end()
            receiver = Receiver(work, "CTLADDRESS = 0.0.0.0")
            # Other hosts have any name for this one.
            assert receiver.exchange(b"GET / HTTP/1.1\r\nHost: any.example\r\n\r\n").startswith(b"HTTP/1.1 200 ")
            receiver.end()
        finally:
            receiver.kill()


main()
