#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Descriptors that a service has systemd keep (FDSTORE=1), and that its next process gets.

    descriptor_store.py SOCKET COMMAND...

starts the command again each time it was killed, or has ended and left descriptors; else it ends with the command's status.
A process that has a copy of /dev/fuse opens nothing on that mount: while nobody serves it, it would wait for itself.
"""
import os
import re
import select
import signal
import socket
import subprocess
import sys

# The descriptors of a process that systemd starts, from 3 on. It ends with the one that has its descriptors.
START = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
fds = [int(fd) for fd in sys.argv[1].split()]
high = [os.dup2(fd, 500 + at) for at, fd in enumerate(fds)]
for at, fd in enumerate(high):
    os.dup2(fd, 3 + at)
os.closerange(3 + len(fds), 1000)
if fds:
    os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""


class Store:
    def __init__(self, path):
        self.path, self.kept, self.heard = path, {}, []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)

    def hear(self):
        """A message."""
        data, ancillary, _, _ = self.socket.recvmsg(4096, socket.CMSG_SPACE(4 * 16))
        fds = [int.from_bytes(raw[at:at + 4], sys.byteorder) for _, kind, raw in ancillary
               if kind == socket.SCM_RIGHTS for at in range(0, len(raw), 4)]
        text = data.decode()
        name = re.search(r"^FDNAME=(.*)$", text, re.M)
        if "FDSTOREREMOVE=1" in text:
            for fd in self.kept.pop(name.group(1), []):
                os.close(fd)
        elif "FDSTORE=1" in text:
            self.kept.setdefault(name.group(1), []).extend(fds)
        self.heard.append(text)

    def start(self, command, **more):
        """Of subprocess.Popen, in the main thread."""
        names = [name for name, fds in self.kept.items() for _ in fds]
        fds = [fd for name in self.kept for fd in self.kept[name]]
        environment = {**os.environ, "NOTIFY_SOCKET": self.path, "LISTEN_FDS": str(len(fds)),
                       "LISTEN_FDNAMES": ":".join(names)}
        return subprocess.Popen([sys.executable, "-Ic", START, " ".join(map(str, fds)), *command], env=environment,
                                pass_fds=fds, stdin=subprocess.DEVNULL, **more)


def main():
    store = Store(sys.argv[1])
    while True:
        process = store.start(sys.argv[2:])
        ended = os.pidfd_open(process.pid)
        while ended not in (ready := select.select([store.socket, ended], [], [])[0]) or store.socket in ready:
            if store.socket in ready:
                store.hear()
        os.close(ended)
        status = process.wait()
        if not store.kept or status not in (0, -signal.SIGKILL):
            return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
