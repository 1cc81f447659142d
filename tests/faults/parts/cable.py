#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A cable that loses packets: cable.py PID NAME PID NAME LOSS, between taps of these names in the network namespaces of
these processes. It lets LOSS of a thousand frames fall, each way. Says "ready" and works until it is killed."""
import ctypes
import fcntl
import os
import random
import select
import struct
import sys

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
CLONE_NEWNET = 0x40000000
FRAME_BYTES = 65536
libc = ctypes.CDLL(None, use_errno=True)


def tap(pid, name):
    """In that namespace; it goes with the descriptor."""
    namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    if libc.setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(namespace)
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH14x", name.encode(), IFF_TAP | IFF_NO_PI))
    return descriptor


def carry(source, target, loss):
    """All that is there; a tap that is down or full takes nothing, as no cable would."""
    while True:
        try:
            frame = os.read(source, FRAME_BYTES)
        except OSError:
            return
        if random.random() >= loss:
            try:
                os.write(target, frame)
            except OSError:
                pass


def main():
    one, other = tap(sys.argv[1], sys.argv[2]), tap(sys.argv[3], sys.argv[4])
    loss = int(sys.argv[5]) / 1000
    print("ready", flush=True)
    poller = select.poll()
    for descriptor in (one, other):
        poller.register(descriptor, select.POLLIN)
    while True:
        for descriptor, _ in poller.poll():
            carry(descriptor, other if descriptor == one else one, loss)


main()
