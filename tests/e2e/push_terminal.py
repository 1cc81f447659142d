#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# On a terminal push shows its progress and a sum; elsewhere and with --quiet it says nothing.
import os
import pty
import re
import socket
import subprocess
import tempfile
import time

from common.receiver import BIN, Receiver


def push(port, stderr, rest, *options):
    """Sends three lines, the last after `rest`."""
    process = subprocess.Popen([f"{BIN}/k2hft", "push", "-r", f"127.0.0.1:{port}", *options],
                               stdin=subprocess.PIPE, stderr=stderr)
    process.stdin.write(b"one\ntwo\n")
    process.stdin.flush()
    rest()
    process.stdin.write(b"three" * 300000 + b"\n")
    process.stdin.close()
    return process


def a_while():
    time.sleep(0.6)  # longer than the line is left as it is


def terminal_output(port, *options):
    terminal, side = pty.openpty()
    shown = b""

    def progress():
        nonlocal shown
        while b"acknowledged" not in shown:
            shown += os.read(terminal, 4096)

    process = push(port, side, a_while if options else progress, *options)
    os.close(side)
    try:
        while part := os.read(terminal, 4096):
            shown += part
    except OSError:  # how a terminal ends
        pass
    os.close(terminal)
    assert process.wait() == 0, process.returncode
    return shown.decode()


def check_share(folder):
    """Of a file that does not go on, since nobody takes it."""
    with open(f"{folder}/file", "wb") as file:
        file.write(b"x" * 99 + b"\n")
        file.truncate(4 << 20)
    terminal, side = pty.openpty()
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        process = subprocess.Popen([f"{BIN}/k2hft", "push", "-r", "127.0.0.1:%d" % nobody.getsockname()[1], "--ring-size", "1M",
                                    "--timeout", "60", f"{folder}/file"], stderr=side)
        os.close(side)
        shown = b""
        while b" left," not in shown:
            shown += os.read(terminal, 4096)
        process.kill()
        process.wait()
    os.close(terminal)
    assert re.search(rb"\r[1-9][0-9]?% of 4\.2 MB read, [0-9.]+ MB/s, [0-9]+ (s|min) left, [0-9]+ records not", shown), shown


def main():
    with tempfile.TemporaryDirectory() as folder:
        receiver = Receiver(folder)
        try:
            check_share(folder)
            shown = terminal_output(receiver.port)
            assert re.search(r"\r0\.0 MB read, .* MB/s, \d+ records not acknowledged", shown), repr(shown)
            assert re.search(r"1\.5 MB in 3 records, .* all acknowledged\r\n$", shown), repr(shown)
            assert terminal_output(receiver.port, "--quiet") == "", "--quiet"
            process = push(receiver.port, subprocess.PIPE, a_while)
            assert process.stderr.read() == b"" and process.wait() == 0, "no terminal"
        finally:
            receiver.kill()


main()
