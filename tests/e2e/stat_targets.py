#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# k2hft stat: exit statuses, several targets, time limits and what a hostile server sends it; a terminal and a pipe.
import http.client
import os
import pty
import re
import socket
import subprocess
import threading
import time

K2HFT = os.path.abspath(os.path.join(os.environ.get("B", "build"), "bin", "k2hft"))
GOOD = b'{"program": "k2hftfusesvr", "receiver": {"connections": 4321, "records": 7}, "receiver_lost": []}'
LOSSY = b'{"program": "k2hftfusesvr", "receiver": {"connections": 1, "ledger_lost": 2}, "receiver_lost": ["ledger_lost"]}'


def stat(*arguments):
    done = subprocess.run([K2HFT, "stat", *arguments], capture_output=True, timeout=120)
    assert done.returncode in (0, 1, 2, 3), (arguments, done)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Server:
    """Answers each connection with what `answer` does to it."""

    def __init__(self, answer):
        self.answer = answer
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.target = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                try:
                    connection.recv(1000)
                    self.answer(connection)
                except OSError:
                    pass


def body(text, status=b"200 OK"):
    return Server(lambda connection: connection.sendall(b"HTTP/1.1 " + status + b"\r\nA: b\r\n\r\n" + text))


def endless(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"[" * 65536)


def slow(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b" ")
        time.sleep(0.1)


def check_statuses():
    good, lossy = body(GOOD), body(LOSSY)
    assert stat(good.target)[0] == 0
    status, said, _ = stat("--check", good.target, lossy.target)
    assert status == 3 and "4,321" in said and "! ledger_lost" in said, said
    assert stat(lossy.target)[0] == 0
    # A target that was seen once is not forgotten.
    answers = [LOSSY, GOOD]
    better = Server(lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + answers.pop(0)))
    assert stat("--check", "-n", "2", better.target)[0] == 3
    # A target that can't be asked decides the status, and the others are shown.
    with socket.create_server(("127.0.0.1", 0)) as unused:
        nobody = f"127.0.0.1:{unused.getsockname()[1]}"
    status, said, error = stat("--check", nobody, lossy.target)
    assert status == 1 and "ledger_lost" in said and f"{nobody}: Connection refused: the receiver answers where CTLPORT" in error, (status, said, error)
    hint = "\nTry 'k2hft stat --help'.\n"
    for wrong, reason in ((["--frequency"], "unrecognized option '--frequency'" + hint),
                          (["-i", "0"], "--interval 0: a number from 1 to 86400 is needed\n"),
                          (["-i", "x"], "--interval x: a number from 1 to 86400 is needed\n"),
                          (["-n", "0"], "--count 0: a number from 1 to "),
                          (["--timeout", "-1"], "--timeout -1: a number from 1 to 3600 is needed\n"),
                          (["--json", "--metrics"], "--json or --metrics, not both" + hint),
                          (["--table", "a:1"], "--table asks no target" + hint),
                          (["--table", "--json"], "--table stands alone" + hint),
                          (["--all", "--json"], "--json and --metrics have all counters without --all" + hint),
                          (["--metrics", "-a"], "--json and --metrics have all counters without --all" + hint),
                          (["--metrics", "a:1", "b:2"], "--metrics is of one target: names would come twice" + hint)):
        status, said, error = stat(*wrong)
        assert status == 2 and error.startswith("k2hft stat: " + reason) and not said, (wrong, status, error)
    for wrong in ("host", "host:", "host:0", "host:99999", ":8021", "[::1:8021", "::1", "[::1]"):
        status, _, error = stat(wrong)
        assert status == 1 and error == f"k2hft stat: {wrong}: there is no such file, and it is not HOST:CTLPORT\n", (wrong, status, error)


def check_forms():
    good = body(GOOD)
    assert stat("--json", good.target)[1].encode() == GOOD
    metrics = stat("--metrics", good.target)[1]
    assert "\nk2hft_receiver_connections_total 4321\n" in "\n" + metrics
    assert "k2hft_mount" not in metrics
    lines = stat("-n", "2", good.target)[1].splitlines()
    assert len(lines) == 2 and all(f"Z {good.target} connections=4321 records=7" in line for line in lines), lines
    assert "accept_errors" in stat("--all", good.target)[1]
    assert all(" accept_errors=0 " in line for line in stat("--all", "-n", "2", good.target)[1].splitlines())
    # The status of a mount says why nothing is acknowledged; that all is fine goes without saying.
    held = b'{"program": "k2hftfuse", "mount": {"names": 3}, "client": {"state": "connected", "receiver_status": "full"}}'
    assert ", client.state connected, client.receiver_status full\n" in stat(body(held).target)[1]
    assert "receiver_status" not in stat(body(held.replace(b"full", b"ok")).target)[1]
    table = [line.split("\t") for line in stat("--table")[1].splitlines()]
    assert {row[0] for row in table} == {"receiver", "mount", "ring"} and all(len(row) == 5 for row in table)


def check_together():
    """Each answers when all are asked: with one after the other none would."""
    asked = threading.Barrier(3, timeout=20)

    def answer(connection):
        asked.wait()
        connection.sendall(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n" + GOOD)

    targets = [Server(answer).target for _ in range(3)]
    status, said, error = stat("--timeout", "60", *targets)
    assert status == 0 and [said.find(target + ": fine") for target in targets] == \
        sorted(said.find(target + ": fine") for target in targets), (said, error)
    assert all(target + ": fine" in said for target in targets), said
    with subprocess.Popen([K2HFT, "serve", "--listen", "127.0.0.1:0", "--timeout", "60", *targets],
                          stderr=subprocess.PIPE) as serving:
        port = int(serving.stderr.readline().rsplit(b" ", 1)[1])
        until = time.monotonic() + 60
        healthy = 0
        while healthy != 200 and time.monotonic() < until:
            time.sleep(0.1)
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", "/health")
            healthy = connection.getresponse().status
            connection.close()
        serving.kill()
    assert healthy == 200, healthy


class Grows:
    """A status of which one counter grows, from one answer to the next."""
    connections = 0

    def __call__(self, connection):
        self.connections += 4321
        connection.sendall(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n" + GOOD.replace(b"4321", b"%d" % self.connections))


def on_terminal(server):
    """What is below the lines of the targets after each of two answers: on the screen, and then on the terminal."""
    master, slave = pty.openpty()
    with subprocess.Popen([K2HFT, "stat", "-n", "2", server.target], stdout=slave, stderr=subprocess.DEVNULL,
                          close_fds=True) as process:
        os.close(slave)
        said = b""
        try:
            while part := os.read(master, 65536):
                said += part
        except OSError:
            pass
        status = process.wait(120)
    os.close(master)
    screen, left = said.decode().replace("\033[K", "").replace("\r", "").split("\033[?1049l")
    return status, [text.split("\n\n", 1)[1] for text in (screen.split("\033[H")[1], left)]


def check_terminal():
    status, (first, second) = on_terminal(Server(Grows()))
    # A rate of what grew in about a second, and none of what did not, nor where there was nothing before.
    assert status == 0 and " 4,321  " in first and "/s" not in first, first
    assert re.search(r" connections +8,642 +[1-9][0-9,]*/s  \w", second) and second.count("/s") == 1, second
    # A text that is no status is refused, too.
    answers = [b'{"a": "b"}', GOOD]
    status, (_, second) = on_terminal(
        Server(lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + answers.pop(0))))
    assert status == 1 and " 4,321  " in second and "/s" not in second, second


def check_hostile():
    for server, limit in ((Server(endless), "60"), (Server(slow), "2"), (Server(lambda _: time.sleep(600)), "2"),
                          (Server(lambda connection: None), "60"), (body(GOOD, b"404 Not Found"), "60"),
                          (body(b"hello"), "60"), (body(b""), "60"), (body(b'{"program": 1'), "60"),
                          (body(b"[" * 100000), "60"), (body(b'{"a": "b"}'), "60"), (body(GOOD[:-1]), "60"),
                          (Server(lambda connection: connection.sendall(b"SSH-2.0\r\n")), "60")):
        status, said, error = stat("--timeout", limit, server.target)
        assert status == 1 and not said and error.count("\n") == 1, (status, said[:200], error)
    # Nothing of what comes is obeyed by a terminal.
    evil = body(b'{"program": "\\u001b[2J\\u0007evil\x1b]0;x\x07", "receiver": {"connections": 1}, '
                b'"connections": [{"peer": "\\u001b[31m"}]}')
    for option in ("--json", "--all", "--metrics"):
        status, said, _ = stat(option, evil.target)
        assert status == 0 and "\x1b" not in said and "\x07" not in said, said


check_statuses()
check_forms()
check_together()
check_terminal()
check_hostile()
