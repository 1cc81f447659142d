#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One receiver, and a link that is cut, silent in one direction or in both, half-open, slow, and loses packets: a mount,
k2hft push and a program of the library lose nothing, repeat nothing, and keep the order."""
from bed.bed import run
from bed.senders import Library, Mount, Push


def faults_of(bed, host):
    def half_open():
        host.cut()
        bed.receivers[0].kill()
        host.mend()
        bed.receivers[0].start()

    return {"cut": host.cut, "swallowed": host.swallow, "nothing arrives": lambda: bed.sender.mute(host),
            "nothing comes back": lambda: host.mute(bed.sender), "half open": half_open,
            "slow": lambda: host.throttle(256)}


def scenario(bed):
    receiver = bed.receiver("receiver", loss=10)
    senders = [kind(bed, kind.__name__.lower(), [receiver], rate=2000) for kind in (Mount, Push, Library)]
    for sender in senders:
        sender.start()
    for name, fault in faults_of(bed, receiver.host).items():
        before = receiver.bytes()
        fault()
        bed.pause(6 if bed.long else 0.7)
        receiver.host.mend()
        bed.sender.mend()
        receiver.host.throttle(0)
        bed.grows(receiver, before)
        bed.say(name)
    made = {}
    for sender in senders:
        made |= sender.finish()
    bed.verify(made)


run(scenario)
