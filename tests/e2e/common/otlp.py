# SPDX-License-Identifier: MIT
"""A collector of the tests, which reads OTLP by the numbers of its specification, and a receiver that sends to it."""
import gzip
import http.server
import json
import os
import socket
import ssl
import subprocess
import threading
import urllib.request

from common import receiver
from common.receiver import BIN, WAIT_S, wait_for

TOOLS = os.path.join(os.path.dirname(BIN), "tests", "tools")


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of a message: bytes, or a number."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value = data[at:at + size]
            assert len(value) == size, "a field is cut"
            at += size
        yield key >> 3, value


def value_of(data):
    (number, value), = fields(data)
    return {1: bytes.decode, 3: int, 7: bytes}[number](value)


def attributes_of(data, number):
    pairs = [dict(fields(value)) for found, value in data if found == number]
    attributes = {pair[1].decode(): value_of(pair[2]) for pair in pairs}
    assert len(attributes) == len(pairs), "an attribute comes twice"
    return attributes


def records_of(request):
    """Each a dictionary of its attributes, with body, time and observed."""
    records = []
    for number, logs in fields(request):
        assert number == 1
        logs = list(fields(logs))
        resource, = (value for found, value in logs if found == 1)
        host = attributes_of(list(fields(resource)), 1)
        for _, scope in (field for field in logs if field[0] == 2):
            for found, record in fields(scope):
                if found != 2:
                    continue
                record = list(fields(record))
                single = dict(field for field in record if field[0] != 6)
                times = {name: int.from_bytes(single[key], "little") for name, key in (("time", 1), ("observed", 11))}
                records.append({**host, **attributes_of(record, 6), **times, "body": value_of(single[5])})
    return records


def message(*pairs):
    """Of fields that are bytes, or small numbers."""
    return b"".join(bytes([number << 3 | 2, len(value)]) + value if isinstance(value, bytes) else bytes([number << 3, value])
                    for number, value in pairs)


class Answer:
    """After `before`, an event that is awaited; `raw` is what goes out in place of an answer, and the connection ends."""

    def __init__(self, status=200, body=b"", headers=(), raw=None, before=None):
        self.status, self.body, self.headers, self.raw, self.before = status, body, headers, raw, before


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        collector = self.server.collector
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        answer = collector.take(self, body)
        try:
            if answer.before:
                answer.before.wait(WAIT_S)
            if answer.raw is not None:
                self.close_connection = True
                for part in answer.raw:
                    self.wfile.write(part)
                return
            self.send_response(answer.status)
            for name, value in (("Content-Type", "application/x-protobuf"), ("Content-Length", len(answer.body)), *answer.headers):
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(answer.body)
        except OSError:
            self.close_connection = True

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A connection that breaks is a test's business."""


class Collector:
    """`answers` are given one after the other, then all is taken. Requests are (headers, records, status)."""

    def __init__(self, tls=None):
        self.answers, self.requests, self.lock = [], [], threading.Lock()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.collector = self
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.endpoint = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def take(self, handler, body):
        with self.lock:
            answer = self.answers.pop(0) if self.answers else Answer()
            if callable(answer):
                self.answers.insert(0, answer)
                answer = answer(body)
            self.requests.append((dict(handler.headers, path=handler.path), records_of(body), answer.status))
        return answer

    def records(self, status=200):
        """Of requests that were answered so, in their order."""
        with self.lock:
            return [record for _, records, answered in self.requests if answered == status for record in records]

    def forget(self):
        """Requests whose answers nobody has heard."""
        with self.lock:
            self.requests.clear()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def once(records):
    """Without those that came again: the first with a ring and a position counts."""
    return list({(record["k2hft.ring"], record["k2hft.position"]): record for record in reversed(records)}.values())[::-1]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Receiver(receiver.Receiver):
    """That sends to an endpoint; `kind` is TYPE."""

    def __init__(self, work, endpoint, own="", kind="otlp", port=0):
        for _ in range(20):
            self.control = free_port()
            try:
                super().__init__(work, f"CTLPORT = {self.control}", f"OTLP_ENDPOINT = {endpoint}\n{own}", port, kind)
                return
            except receiver.Ended as ended:
                if f"{self.control} (CTLPORT)" not in str(ended):
                    raise
        raise AssertionError("no port for CTLPORT")

    def status(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.control}/status", timeout=WAIT_S) as answer:
            return json.load(answer)

    def counter(self, name):
        return self.status()["receiver"][name]

    def shown(self):
        """What the sink says of itself."""
        return self.status()["otlp"][0]

    def push(self, path, data, *arguments):
        """Begins; the sender ends when all is acknowledged."""
        process = subprocess.Popen([f"{BIN}/k2hft", "push", "-q", "-r", f"127.0.0.1:{self.port}", "-t", path, *arguments],
                                   stdin=subprocess.PIPE)
        threading.Thread(target=lambda: (process.stdin.write(data), process.stdin.close()), daemon=True).start()
        return process

    def wire(self, script):
        """A sender that says what the script does; what came is returned."""
        return subprocess.run([f"{TOOLS}/wire_send"], input=f"connect {self.port}\n{script}\n", text=True, check=True,
                              stdout=subprocess.PIPE, timeout=WAIT_S).stdout


def context(certificate, key, authority=None):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(certificate, key)
    if authority:
        made.load_verify_locations(authority)
        made.verify_mode = ssl.CERT_REQUIRED
    return made
