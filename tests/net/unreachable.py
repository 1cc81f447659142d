#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""64 receivers are configured and 60 of them are down, half of them without a host, then all: what the senders need when
nothing is written, and that everything arrives at the others."""
import os

from bed.bed import run
from bed.senders import Library, Mount, Push
from parts.process import children_of

CONFIGURED = 64
UP = 4
IDLE_PERCENT_MAX = 1
MEMORY_KIB_MAX = 64 << 10


def family(pid):
    return [pid] + [other for child in children_of(pid) for other in family(child)]


def ticks(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            total += sum(int(word) for word in file.read().rsplit(")", 1)[1].split()[11:13])
    return total


def memory_kib(pids):
    """Resident, beside the rings, which are shared memory."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith(("RssAnon:", "RssFile:")))
    return total


def idle(bed, senders, down):
    """After they had time to slow down."""
    bed.pause(15 if bed.long else 4)
    seconds = 20 if bed.long else 2
    pids = [family(sender.serving().pid) for sender in senders]
    before = [ticks(one) for one in pids]
    bed.pause(seconds)
    for sender, own, ticks_before in zip(senders, pids, before):
        percent = 100 * (ticks(own) - ticks_before) / os.sysconf("SC_CLK_TCK") / seconds
        memory = memory_kib(own)
        bed.say(f"{sender.name}, {down} down: {percent:.2f} % of a core, {memory / 1024:.1f} MiB beside the rings")
        bed.expect(memory < MEMORY_KIB_MAX, f"{sender.name} has {memory} KiB")
        if bed.long:
            bed.expect(percent < IDLE_PERCENT_MAX, f"{sender.name} is not idle")


def scenario(bed):
    receivers = [bed.receiver(f"receiver{number}") for number in range(1, UP + 1)]
    down = [f"{receivers[0].host.address}:{9000 + number}" if number % 2 else f"127.77.0.{100 + number}:8020"
            for number in range(CONFIGURED - UP)]
    senders = [kind(bed, kind.__name__.lower(), receivers + down, "K2HFTFUSE:FAILOVERTIME = 1", "K2HFTFUSE:RINGSIZE = 1M",
                    "K2HFTFUSE:DRAINTIMEOUT = 120", producers=streams, rate=rate, ring=False)
               for kind, streams, rate in ((Mount, 20, 20), (Push, 1, 20), (Library, 1, 1))]
    for sender in senders:
        sender.start()
    bed.pause(6 if bed.long else 2)
    for sender in senders:
        sender.rest()
    idle(bed, senders, CONFIGURED - UP)
    for receiver in receivers:
        receiver.kill()
    idle(bed, senders, CONFIGURED)
    for receiver in receivers:
        receiver.start()
    bed.verify(bed.finish(senders))


run(scenario)
