#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# On a terminal k2hft stat --interval shows what waits on a screen of its own, which fits, and gives back the terminal as it
# was: at q, at signals, and after the last answer, which stays.
import fcntl
import http.server
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

K2HFT = os.path.join(os.environ.get("B", "build"), "bin", "k2hft")
ENTER, LEAVE = "\033[?1049h", "\033[?1049l"


class Status(http.server.BaseHTTPRequestHandler):
    """Of a sender for which more and more records wait; with many lanes, so that not all of them fit."""
    waiting = {}
    pause_s = 0

    def do_GET(self):
        time.sleep(self.pause_s)
        port = self.server.server_address[1]
        self.waiting[port] += 1
        lanes = [{"home": f"h{n}", "goes_to": f"receiver{n}.a-long-name.example:8020", "state": "connected",
                  "unacked_records": n, "acked_records": 0} for n in range(30)]
        body = json.dumps({"program": "k2hftfuse", "ring": {"committed_records": 1, "unacked_records": 0}, "lanes": lanes,
                           "client": {"host": "receiver.a-long-name.example", "port": "8020", "state": "waiting",
                                      "error": "Connection refused"}, "backlog": {"records": self.waiting[port]}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Screen:
    """k2hft stat on a terminal of 80 columns and 24 lines."""
    def __init__(self, *arguments):
        self.terminal, self.side = pty.openpty()
        self.resize(24, 80)
        self.before = termios.tcgetattr(self.side)
        self.said = ""
        self.running = subprocess.Popen([K2HFT, "stat", *arguments], stdin=self.side, stdout=self.side, stderr=self.side)

    def resize(self, lines, columns):
        fcntl.ioctl(self.side, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def hear(self, condition):
        """Until what it said is as wanted."""
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end, self.said
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.said += os.read(self.terminal, 65536).decode()

    def frames(self):
        return [[line.replace("\033[K", "").replace("\033[J", "") for line in frame.split("\r\n")]
                for frame in self.said.split(LEAVE)[0].split("\033[H")[1:]]

    def end(self):
        """Its status, when it has restored the terminal."""
        self.hear(lambda: self.running.poll() is not None)
        self.hear(lambda: not select.select([self.terminal], [], [], 0)[0])
        assert termios.tcgetattr(self.side) == self.before, "the terminal is not as it was"
        assert self.said.count(ENTER) == 1 == self.said.count(LEAVE), repr(self.said)
        os.close(self.terminal)
        os.close(self.side)
        return self.running.returncode


def check_no_answer():
    with socket.socket() as nobody, socket.socket() as neither:
        targets = []
        for gone in (nobody, neither):
            gone.bind(("127.0.0.1", 0))  # and does not listen
            targets.append("127.0.0.1:%d" % gone.getsockname()[1])
        screen = Screen("-i", "1", "-n", "2", *targets)
        assert screen.end() == 1, screen.said
        for text in ("\n".join(screen.frames()[0]), screen.said.split(LEAVE)[1]):
            assert all(f"{target}: Connection refused" in text for target in targets), screen.said


def check_screen(targets):
    """Sorted, and whole lines of it; smaller at once when the terminal is."""
    screen = Screen("-i", "1", *targets)
    screen.hear(lambda: len(screen.frames()) > 2)
    for number, frame in enumerate(screen.frames()[:2]):
        assert len(frame) == 24 and all(len(line) <= 79 for line in frame), frame
        assert frame[0].endswith(" oldest"), frame  # the last column stays free
        assert frame[0].split()[:2] == ["target", "state"] and targets[1] in frame[1], frame
        # The first of its lanes is that for which most records wait.
        assert frame[2].split() == [">", "h29", "taken", "over", "0", "-", "29", "-"] or number == 0, frame
        assert frame[3].split()[:2] == [">", "h28"], frame
    screen.resize(5, 100)
    screen.running.send_signal(signal.SIGWINCH)
    screen.hear(lambda: len(screen.frames()[-2]) == 5)
    os.write(screen.terminal, b"xq")
    assert screen.end() == 0, screen.said
    assert screen.said.endswith(LEAVE), repr(screen.said)


def check_verdict(target):
    """A verdict that is too long for a line goes on in the next one."""
    screen = Screen("-i", "1", target)
    screen.resize(90, 80)
    screen.running.send_signal(signal.SIGWINCH)
    screen.hear(lambda: len(screen.frames()) > 2 and len(screen.frames()[-2]) > 24)
    text = " ".join(screen.frames()[-2])
    assert "receiver.a-long-name.example:8020 is not connected: Connection refused; 30 of 30 receivers are away" in text, text
    os.write(screen.terminal, b"q")
    assert screen.end() == 0, screen.said


def check_resized(target):
    """A window that is resized ends no asking of a target, and no output."""
    Status.pause_s = 0.5
    screen = Screen("-i", "1", "-n", "2", target)
    while screen.running.poll() is None:
        screen.running.send_signal(signal.SIGWINCH)
        if select.select([screen.terminal], [], [], 0.02)[0]:
            screen.said += os.read(screen.terminal, 65536).decode()
    assert screen.end() == 0, screen.said
    Status.pause_s = 0


def check_signals(target):
    for number in (signal.SIGINT, signal.SIGTERM):
        screen = Screen("-i", "60", target)
        screen.hear(lambda: "h29" in screen.said)
        screen.running.send_signal(number)
        assert screen.end() == -number, screen.said


def main():
    check_no_answer()
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Status) for _ in range(2)]
    for number, server in enumerate(servers):
        Status.waiting[server.server_address[1]] = number * 1000
        threading.Thread(target=server.serve_forever, daemon=True).start()
    targets = ["127.0.0.1:%d" % server.server_address[1] for server in servers]
    check_screen(targets)
    check_verdict(targets[0])
    check_resized(targets[0])
    check_signals(targets[0])
    return 0


sys.exit(main())
