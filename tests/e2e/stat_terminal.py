#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# On a terminal k2hft stat --interval says why a target does not answer, where its table would stand, and leaves it there.
import os
import pty
import socket
import subprocess
import sys

K2HFT = os.path.join(os.environ.get("B", "build"), "bin", "k2hft")
CLEAR = "\033[H\033[J"


def shown(*arguments):
    """What a terminal for both outputs gets."""
    terminal, side = pty.openpty()
    with subprocess.Popen([K2HFT, "stat", *arguments], stdout=side, stderr=side) as running:
        os.close(side)
        said = ""
        try:
            while part := os.read(terminal, 4096):
                said += part.decode()
        except OSError:  # how a terminal ends
            pass
        os.close(terminal)
    assert running.returncode == 1, (running.returncode, said)
    return said


def main():
    with socket.socket() as nobody, socket.socket() as neither:
        targets = []
        for gone in (nobody, neither):
            gone.bind(("127.0.0.1", 0))  # and does not listen
            targets.append("127.0.0.1:%d" % gone.getsockname()[1])
        screens = shown("-i", "1", "-n", "2", *targets).split(CLEAR)
        assert len(screens) == 3 and screens[0] == "", screens
        for screen in screens[1:]:
            assert all(f"{target}: Connection refused" in screen for target in targets), screens
    return 0


sys.exit(main())
