#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# On a terminal push shows its progress and a sum; elsewhere and with --quiet it says nothing.
import os
import pty
import re
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("B", "build")


def await_match(path, pattern):
    for _ in range(400):
        with open(path, encoding="utf-8") as file:
            found = re.search(pattern, file.read())
        if found:
            return found
        time.sleep(0.05)
    sys.exit(f"{path}: no {pattern}")


def push(port, stderr, *options):
    """Sends three lines, the last after a while. Returns the process when it has ended."""
    process = subprocess.Popen([f"{BUILD}/bin/k2hft", "push", "-r", f"127.0.0.1:{port}", *options],
                               stdin=subprocess.PIPE, stderr=stderr)
    process.stdin.write(b"one\ntwo\n")
    process.stdin.flush()
    time.sleep(0.6)  # longer than the line is left as it is
    process.stdin.write(b"three\n")
    process.stdin.close()
    return process


def terminal_output(port, *options):
    terminal, side = pty.openpty()
    process = push(port, side, *options)
    os.close(side)
    shown = b""
    try:
        while part := os.read(terminal, 4096):
            shown += part
    except OSError:  # how a terminal ends
        pass
    os.close(terminal)
    assert process.wait() == 0, process.returncode
    return shown.decode()


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/conf", "w", encoding="utf-8") as file:
            file.write(f"[GLOBAL]\nPORT = 8020\n[K2HFTFUSESVR]\nTYPE = file\nFILE_BASEDIR = {folder}/out\n")
        with open(f"{folder}/log", "wb") as log:
            receiver = subprocess.Popen([f"{BUILD}/bin/k2hftfusesvr", "-conf", f"{folder}/conf", "--listen", "127.0.0.1:0"],
                                        stderr=log)
        try:
            port = await_match(f"{folder}/log", r"listening on 127\.0\.0\.1:(\d+)").group(1)
            shown = terminal_output(port)
            assert re.search(r"\r0\.0 MB read, .* MB/s, \d+ records not acknowledged", shown), repr(shown)
            assert re.search(r"0\.0 MB in 3 records, .* all acknowledged\r\n$", shown), repr(shown)
            assert terminal_output(port, "--quiet") == "", "--quiet"
            process = push(port, subprocess.PIPE)
            assert process.stderr.read() == b"" and process.wait() == 0, "no terminal"
        finally:
            receiver.kill()
            receiver.wait()


main()
