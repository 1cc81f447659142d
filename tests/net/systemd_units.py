#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The units under systemd: they start, tell what they do, take another configuration by a reload, and stop; lines of a log
arrive byte for byte, and the mount is gone after the stop."""
import os

from bed.bed import run
from bed.systemd import text_of, write
from parts.process import quiet, wait_until

RECEIVER = "k2hftfusesvr.service"
POINT = "/var/log/my-app"
MOUNT = r"k2hftfuse@var-log-my\x2dapp.service"
SERVER = """[GLOBAL]
PORT = 8020
[K2HFTFUSESVR]
FILE_BASEDIR = /var/log/k2hft
"""
SENDER = """[SVRNODE]
NAME = 127.0.0.1
PORT = 8020
[K2HFTFUSE]
K2HTYPE = file
K2HFILE = /var/lib/k2hft/my-app
K2HINIT = no
[K2HFTFUSE_RULE_DIR]
TARGET = /
TRUNS = yes
DEFAULTALL = ALLOW
"""
ARRIVES_S = 60


def lines(count):
    """A log of Windows, the last line of which has no end."""
    return "".join(f"{number} {'x' * (number * 37 % 3000)}\r\n" for number in range(count)) + "the last line"


def arrives(bed, machine, name, wanted):
    arrived = machine.path(f"/var/log/k2hft/{name}")
    write(bed.path("wanted"), wanted)
    size = os.path.getsize(bed.path("wanted"))
    wait_until(lambda: os.path.exists(arrived) and os.path.getsize(arrived) >= size, ARRIVES_S, f"{name} arrives")
    bed.expect(quiet("cmp", arrived, bed.path("wanted")), f"{name} is not what was written")


def reload(machine, config, unit, text):
    write(machine.path(f"/etc/k2hft/{config}"), text)
    machine.control("reload", unit)


def scenario(bed):
    machine = bed.systemd({"server.ini": SERVER, r"var-log-my\x2dapp.ini": SENDER})
    os.mkdir(machine.path(POINT))
    write(machine.path(f"{POINT}/below"), "")
    machine.control("start", RECEIVER, MOUNT)
    wait_until(lambda: "1 senders" in machine.show(RECEIVER, "StatusText"), ARRIVES_S, "the receiver's status")
    bed.say(machine.show(RECEIVER, "StatusText"))
    bed.say(machine.show(MOUNT, "StatusText"))
    bed.expect(f"{POINT} is mounted, and served by worker 1" in machine.show(MOUNT, "StatusText"), "the mount's status")
    write(machine.path(f"{POINT}/one.log"), lines(2000))
    arrives(bed, machine, "one.log", lines(2000))
    reload(machine, r"var-log-my\x2dapp.ini", MOUNT, f"{SENDER}DENY = \"^1\"\n")
    reload(machine, "server.ini", RECEIVER, f"{SERVER}FORMAT = @%L\n")
    write(machine.path(f"{POINT}/two.log"), lines(2000))
    passed = [line for line in lines(2000).splitlines(True) if not line.startswith("1")]
    arrives(bed, machine, "two.log", "".join(f"@{line}" for line in passed) + "\n")
    machine.control("stop", MOUNT)
    bed.expect(os.listdir(machine.path(POINT)) == ["below"], f"{POINT} is not unmounted")
    machine.control("stop", RECEIVER)
    for unit in (RECEIVER, MOUNT):
        bed.expect([machine.show(unit, name) for name in ("ActiveState", "Result", "NRestarts")] == ["inactive", "success", "0"],
                   f"{unit} has not ended well: {machine.said()}")


run(scenario)
