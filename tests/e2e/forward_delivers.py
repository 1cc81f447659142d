#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# TYPE = forward: a server of Fluentd's protocol gets each record once, with where it comes from and when; with gzip, TLS,
# a shared key and a user; a piece of a long record is no record.
import json
import os
import ssl
import subprocess
import tempfile
import time

from common.forward import Server
from common.receiver import BIN, MODULES, Receiver, wait_for


def push(receiver, *arguments, data):
    subprocess.run([f"{BIN}/k2hft", "push", "-q", "-r", f"127.0.0.1:{receiver.port}", "--host", "origin.example", *arguments],
                   input=data, check=True, timeout=100)


def started(work, server, *lines, kind="forward"):
    return Receiver(work, own="\n".join([f"STATEDIR = {work}/state", f"FORWARD_SERVER = 127.0.0.1:{server.port}", *lines]),
                    kind=kind)


def secret(work, name, text):
    path = os.path.join(work, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as output:
        output.write(text)
    return path


def check_plain(work):
    server, before_ns = Server(), time.time_ns()
    receiver = started(work, server)
    lines = [f"line {number} ü\r".encode() for number in range(2000)]
    push(receiver, "-t", "logs/app.log", data=b"\n".join(lines) + b"\n")
    # Acknowledged is what the server has.
    assert [event.record["message"].encode() for event in server.events] == lines
    for event in server.events:
        assert event.tag == "logs.app.log", event.tag
        assert event.record["host"] == "origin.example" and event.record["path"] == "logs/app.log", event.record
        assert event.record["pid"] > 0
        assert before_ns <= event.time_ns <= time.time_ns(), event.time_ns
    assert len({chunk for chunk, _ in server.messages}) == len(server.messages)
    # Bytes that are no text stay what they are; a block is one record, whatever is in it.
    count = len(server.events)
    push(receiver, "-t", "bytes", data=b"\xff\xfe\n\nlast without end")
    push(receiver, "-t", "blocks", "--binary", data=b"one\ntwo\0\n")
    assert [event.record["message"] for event in server.events[count:]] == [b"\xff\xfe", "", "last without end",
                                                                            "one\ntwo\0\n"]
    # A long record comes in chunks of a ring, and is one; very many short ones are several messages, each of 1 MB or so.
    count, chunks = len(server.events), len(server.messages)
    push(receiver, "-t", "long", data=b"x" * 3000000 + b"\n")
    assert [len(event.record["message"]) for event in server.events[count:]] == [3000000]
    count = len(server.events)
    push(receiver, "-t", "short", data=b"\n" * 20000)
    assert len(server.events) - count == 20000
    assert max(len(data) for _, data in server.messages[chunks + 1:]) <= 1000200
    receiver.end()
    assert server.problems == []


def check_locked(work):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                    f"{work}/key.pem", "-out", f"{work}/cert.pem", "-subj", "/CN=server", "-days", "2", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{work}/cert.pem", f"{work}/key.pem")
    server = Server(key="the key", user="who", password="of whom", tls=context)
    receiver = started(work, server, "FORWARD_TLS = yes", f"FORWARD_CA = {work}/cert.pem", "FORWARD_COMPRESS = gzip",
                       f"FORWARD_SHARED_KEY_FILE = {secret(work, 'shared', 'the key')}", "FORWARD_USERNAME = who",
                       f"FORWARD_PASSWORD_FILE = {secret(work, 'password', 'of whom')}", "FORWARD_TAG = k2hft.%H/%f")
    data = b"".join(b"a record that is %d\n" % number for number in range(10000))
    push(receiver, "-t", "a/b", data=data)
    assert b"".join(event.record["message"].encode() + b"\n" for event in server.events) == data
    assert server.events[0].tag == "k2hft.origin.example.b"
    assert server.compressed == len(server.messages) and server.connections == 1
    receiver.end()
    assert server.problems == []


with tempfile.TemporaryDirectory() as folder:
    if not os.path.exists(os.path.join(MODULES, "forward.so")):
        print("SKIP: the module forward is not built: its library is missing")
        raise SystemExit(77)
    for check in (check_plain, check_locked):
        place = os.path.join(folder, check.__name__)
        os.mkdir(place)
        check(place)
