#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Appends numbered lines to a log, and to a copy what write(2) has accepted of them. COMMAND is run, from another thread, for
each line of standard input, and its status printed. SIGINT ends it with status 3."""
import argparse
import os
import signal
import socket
import subprocess
import sys
import threading

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--direct", action="store_true", help="past the page cache")
parser.add_argument("--port", help="listens on a port, whose number is written to this file")
parser.add_argument("log")
parser.add_argument("copy")
parser.add_argument("command", nargs="*")
options = parser.parse_args()


def append():
    copy = os.open(options.copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    log = os.open(options.log, (os.O_RDWR if options.direct else os.O_WRONLY) | os.O_APPEND | os.O_CREAT, 0o600)
    name, number = os.path.basename(options.copy), 0
    while True:
        line = f"{name} {number} ".encode() + b"." * 5000 + b"\n"
        os.write(copy, line[:os.write(log, line)])
        number += 1


def run_commands():
    for _ in sys.stdin:
        print(subprocess.run(options.command, check=False).returncode, flush=True)


# Where a script starts it in the background it is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
if options.port:
    listener = socket.create_server(("127.0.0.1", 0))
    with open(options.port, "w", encoding="ascii") as file:
        print(listener.getsockname()[1], file=file)
if options.command:
    threading.Thread(target=run_commands, daemon=True).start()
try:
    append()
except KeyboardInterrupt:
    sys.exit(3)
