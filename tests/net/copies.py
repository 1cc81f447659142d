#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every receiver gets each record, or two of four get it: each copy is whole, and all are the same bytes. A receiver that
loses its disk for good loses nothing but its own copies."""
from bed.bed import run
from bed.senders import Library, Mount, Push

STREAMS = 20


def broadcast(bed, seconds):
    receivers = [bed.receiver(f"all{number}") for number in range(1, 4)]
    senders = [kind(bed, f"all-{kind.__name__.lower()}", receivers, "K2HTPDTOR:K2HTPDTOR_BROADCAST = yes", rate=5000)
               for kind in (Mount, Push, Library)]
    for sender in senders:
        sender.start()
    bed.pause(seconds / 3)
    receivers[0].kill()
    bed.pause(seconds / 3)
    receivers[0].start()
    bed.pause(seconds / 3)
    made = bed.finish(senders)
    for one in receivers:
        bed.verify(made, [one], order="all")
    bed.identical(senders, receivers, 3)


def two_of_four(bed, seconds):
    receivers = [bed.receiver(f"copy{number}") for number in range(1, 5)]
    senders = [kind(bed, f"two-{kind.__name__.lower()}", receivers, "K2HFTFUSE:COPIES = 2", producers=streams, rate=200)
               for kind, streams in ((Mount, STREAMS), (Push, 1), (Library, STREAMS))]
    for sender in senders:
        sender.start()
    bed.pause(seconds / 2)
    lost = bed.random.choice(receivers)
    rest = [one for one in receivers if one is not lost]
    had = set(lost.files())
    lost.lose_disk()
    lost.start()
    bed.pause(seconds / 2)
    made = bed.finish(senders)
    had |= set(lost.files())
    bed.say(f"{lost.name} lost its disk, with {len(had)} streams")
    bed.expect(had, f"{lost.name} had nothing")
    for sender in senders:
        for stream, producer in sender.streams().items():
            copies = [one for one in rest if stream in one.files()]
            bed.expect(len(copies) == (1 if stream in had else 2), f"{stream} has {len(copies)} copies elsewhere")
            bed.whole(stream, producer, made[producer], copies)


def scenario(bed):
    seconds = 12 if bed.long else 1.5
    broadcast(bed, seconds)
    two_of_four(bed, seconds)


run(scenario)
