#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A mount, k2hft push and a program, each with many streams, and four receivers: each stream is whole and in order on one
of them, and each of them has some."""
from bed.bed import run
from bed.senders import Library, Mount, PushFiles

STREAMS = 100
STREAMS_SHORT = 20


def scenario(bed):
    streams = STREAMS if bed.long else STREAMS_SHORT
    receivers = [bed.receiver(f"receiver{number}") for number in range(1, 5)]
    senders = [kind(bed, kind.__name__.lower(), receivers, producers=streams, rate=100)
               for kind in (Mount, PushFiles, Library)]
    senders[1].count = 1000 if bed.long else 200
    for sender in senders:
        sender.start()
    bed.pause(20 if bed.long else 2)
    bed.verify(bed.finish(senders))
    bed.whole_on_one(senders, receivers)
    for one in receivers:
        bed.say(f"{one.name}: {len(one.files())} streams")
        bed.expect(one.files(), f"{one.name} has no stream")


run(scenario)
