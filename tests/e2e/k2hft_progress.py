#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Progress takes one line of a terminal, however narrow that is, and leaves it when another line comes.
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading

K2HFT = os.path.abspath(os.path.join(os.environ.get("B", "build"), "bin", "k2hft"))
COLUMNS = 40


def shown(folder, awaited, *arguments, status=0):
    """What it writes to a terminal for errors, in pieces that begin a line; at `awaited` it gets an interrupt."""
    terminal, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 10, COLUMNS, 0, 0))
    running = subprocess.Popen([K2HFT, *arguments], stdout=subprocess.DEVNULL, stderr=side, cwd=folder,
                               env={**os.environ, "TMPDIR": folder})
    os.close(side)
    guard = threading.Timer(120, running.kill)
    guard.start()
    said = ""
    try:
        while part := os.read(terminal, 4096):
            said += part.decode()
            if awaited and awaited in said:
                running.send_signal(signal.SIGINT)
                awaited = None
    except OSError:  # how a terminal ends
        pass
    os.close(terminal)
    guard.cancel()
    assert running.wait() == status, (arguments, running.returncode, said)
    return said.replace("\r\n", "\n").split("\r")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for awaited, status, arguments in (
                (None, 0, ("bench", "--by", "library", "-n", "100", "--runs", "2", "--tls", "--unify", "--format", "json",
                           "--compress", "always")),
                ("run 1 of 2", 1, ("bench", "--by", "library", "--seconds", "600", "--runs", "2")),
                ("second 1 of ", 1, ("bench", "--by", "library", "--sustain", "600")),
                (None, 0, ("testio", "-s", "1", "-n", "3", "-b", "4096", "-w", "1", "."))):
            first, *pieces = shown(folder, awaited, *arguments, status=status)
            # Where memory is larger than the file, testio warns before it begins.
            assert first == "" or first.startswith("k2hft testio: warning: "), first
            assert len(pieces) >= 2, (arguments, pieces)
            lines = [piece.removesuffix("\033[K") for piece in pieces if not piece.startswith("\033[K")]
            assert lines and all(0 < len(line) < COLUMNS and "\n" not in line for line in lines), (arguments, lines)
            # Which run it is has its place however much is to be said of it.
            assert awaited or arguments[0] != "bench" or any("run 2 of 2" in line for line in lines), lines
            # The last thing is that it leaves its place; behind it bench says that its runs were short.
            left = pieces[-1].partition("k2hft bench: warning: runs of ")[0]
            assert left == ("\033[Kk2hft bench: interrupted\n" if awaited else "\033[K"), (arguments, pieces)
    return 0


sys.exit(main())
