#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The units under systemd: they start, tell what they do, take another configuration by a reload, and stop; lines of a log
arrive byte for byte, and the mount is gone after the stop. The socket's unit starts a receiver when a sender comes."""
from bed.bed import run
from bed.systemd import ARRIVES_S, MOUNT, POINT, RECEIVER, SENDER, SERVER, SOCKET
from parts.process import wait_until

# A log of Windows, the last line of which has no end.
LINES = [b"%d %s\r\n" % (number, b"x" * (number * 37 % 3000)) for number in range(2000)] + [b"the last line"]


def log_write(machine, name):
    with open(machine.path(f"{POINT}/{name}"), "wb") as log:
        log.write(b"".join(LINES))


def stop(bed, machine, *units):
    machine.control("stop", *units)
    bed.expect(machine.below(), f"{POINT} is not unmounted")
    for unit in units:
        ended = [machine.show(unit, name) for name in ("ActiveState", "Result", "NRestarts")]
        bed.expect(ended in (["inactive", "success", "0"], ["inactive", "success", ""]), f"{unit}: {ended} {machine.said()}")


def by_service(bed, machine):
    machine.control("start", RECEIVER, MOUNT)
    wait_until(lambda: "1 senders" in machine.show(RECEIVER, "StatusText"), ARRIVES_S, "the receiver's status")
    status = machine.show(MOUNT, "StatusText")
    bed.expect(status == f"{POINT} is mounted, and served by worker 1", status)
    log_write(machine, "one.log")
    machine.arrives("one.log", b"".join(LINES))
    machine.reload(MOUNT, r"var-log-my\x2dapp\x20log.ini", f"{SENDER}DENY = \"^1\"\n")
    machine.reload(RECEIVER, "server.ini", f"{SERVER}FORMAT = @%L\n")
    log_write(machine, "two.log")
    machine.arrives("two.log", b"".join(b"@" + line for line in LINES if not line.startswith(b"1")) + b"\n")
    stop(bed, machine, MOUNT, RECEIVER)


def by_socket(bed, machine):
    machine.control("start", SOCKET)
    bed.expect(machine.show(RECEIVER, "ActiveState") == "inactive", "a receiver runs before a sender comes")
    machine.control("start", MOUNT)
    with open(machine.path(f"{POINT}/three.log"), "wb") as log:
        log.write(b"three\n")
    machine.arrives("three.log", b"@three\n")
    stop(bed, machine, MOUNT, SOCKET, RECEIVER)


def scenario(bed):
    machine = bed.systemd()
    by_service(bed, machine)
    by_socket(bed, machine)


run(scenario)
