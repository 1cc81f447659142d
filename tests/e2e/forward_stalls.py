#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# TYPE = file, forward: a server that acknowledges nothing holds neither the files, within the window, nor other senders, nor
# memory without end; k2hft stat says since when and why; so it does of a server that has another key, wants one, or answers nonsense, and
# when the server is well again everything is there once.
import http.client
import os
import socket
import subprocess
import tempfile

from common.forward import Server
from common.receiver import BIN, MODULES, Receiver, memory, size, wait_for

LINES = [b"a line of the log, number %d, and so that it is longer: " % number + b"x" * 900 for number in range(12000)]
DATA = b"\n".join(LINES) + b"\n"


class Stalling(Receiver):
    def __init__(self, work, server, *lines, kind="file, forward"):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.control = probe.getsockname()[1]
        own = [f"STATEDIR = {work}/state", f"FORWARD_SERVER = 127.0.0.1:{server.port}", "WINDOW = 4M", *lines]
        super().__init__(work, f"CTLPORT = {self.control}", "\n".join(own), kind=kind)

    def verdict(self):
        return subprocess.run([f"{BIN}/k2hft", "stat", f"127.0.0.1:{self.control}"], capture_output=True, text=True,
                              timeout=100, check=True).stdout.split("\n", 1)[0]

    def await_verdict(self, part):
        wait_for(f"{part} in {self.verdict()}", lambda: part in self.verdict())

    def health(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.control, timeout=100)
        connection.request("GET", "/health")
        return connection.getresponse().status

    def push(self, path, data):
        sender = subprocess.Popen([f"{BIN}/k2hft", "push", "-q", "-r", f"127.0.0.1:{self.port}", "-t", path, "--timeout",
                                   "300"], stdin=subprocess.PIPE)
        sender.stdin.write(data)
        sender.stdin.close()
        return sender


def check_stalls(work):
    held = []
    server = Server(behave=lambda _, number, connection: held.append((number, connection)))
    receiver = Stalling(work, server)
    # The ring of the sender is of 8 MiB: it waits before all is read.
    with open(f"{work}/data", "wb") as data:
        data.write(DATA)
    with open(f"{work}/data", "rb") as data:
        sender = subprocess.Popen([f"{BIN}/k2hft", "push", "-q", "-r", f"127.0.0.1:{receiver.port}", "-t", "log", "--timeout",
                                   "300"], stdin=data)
    wait_for("the file gets the window", lambda: size(f"{work}/out/log") > 3700000)
    receiver.await_verdict("records for forward wait for ")
    assert receiver.health() == 503
    receiver.await_verdict("has not answered yet")
    other = receiver.push("other", b"of another sender\n")
    wait_for("another sender's file", lambda: size(f"{work}/out/other") == 18)
    assert sender.poll() is None and other.poll() is None, "acknowledged though it is not stored"
    assert "san" in BIN or memory(receiver.process.pid, "VmHWM") < 100 << 20, memory(receiver.process.pid, "VmHWM")
    server.behave = None
    for number, connection in held:
        server.acknowledge(number, connection)
    assert sender.wait(100) == 0 and other.wait(100) == 0
    with open(f"{work}/out/log", "rb") as output:
        assert output.read() == DATA
    assert [event.record["message"].encode() for event in server.events if event.tag == "log"] == LINES
    receiver.await_verdict("fine")
    assert receiver.health() == 200
    receiver.end()


def check_refused(work):
    key = os.path.join(work, "key")
    with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as output:
        output.write("the key\n")
    server = Server(key="another")
    receiver = Stalling(work, server, f"FORWARD_SHARED_KEY_FILE = {key}", kind="forward")
    sender = receiver.push("log", b"one\ntwo\n")
    receiver.await_verdict("it refuses FORWARD_SHARED_KEY_FILE or the user: shared_key mismatch")
    server.key = "the key"
    assert sender.wait(100) == 0
    assert [event.record["message"] for event in server.events] == ["one", "two"]
    receiver.end()


def check_nonsense(work):
    nonsense = [b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\x91" * 100000, b"\xc1"]
    server = Server(greet=lambda number: nonsense[number % len(nonsense)])
    receiver = Stalling(work, server, kind="forward")
    sender = receiver.push("log", b"one\n")
    receiver.await_verdict("its answer is none of Forward")
    wait_for("all of it", lambda: server.connections >= len(nonsense))
    server.greet, server.key = None, "a key"
    receiver.await_verdict("it wants a shared key: write FORWARD_SHARED_KEY_FILE")
    server.key, server.greet = None, lambda number: b"\xc0" * 5000
    receiver.await_verdict("it answers with much else than acknowledgements")
    # Answers that are no acknowledgement, or that of another chunk, are passed over.
    server.greet = lambda number: b"\x81\xa3ack\xa1x" + b"\xc0" + b"\x81\xa1k\x92\x01\xcb" + b"\0" * 8
    assert sender.wait(100) == 0
    assert "one" in [event.record["message"] for event in server.events]
    receiver.end()


with tempfile.TemporaryDirectory() as folder:
    if not os.path.exists(os.path.join(MODULES, "forward.so")):
        print("SKIP: the module forward is not built: its library is missing")
        raise SystemExit(77)
    for check in (check_stalls, check_refused, check_nonsense):
        place = os.path.join(folder, check.__name__)
        os.mkdir(place)
        check(place)
