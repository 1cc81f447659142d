#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many streams, and receivers that are killed at random and come back; one is added, and one is removed. Over all that
they have, less what was taken back, each record is there once, and each receiver has its records in order."""
from bed.bed import run
from bed.senders import Fleet, Mount, PushFiles

STREAMS = 100
STREAMS_SHORT = 10
KILLS = 20
KILLS_SHORT = 2


def kill(bed, receivers):
    victim = bed.random.choice(receivers)
    victim.kill()
    away = bed.random.choice([bed.random.uniform(0, 1), bed.random.uniform(1, 4)])
    bed.pause(away)
    victim.start()
    bed.say(f"{victim.name} was away for {away:.1f} s")
    bed.pause(bed.random.uniform(0.1, 2))


def scenario(bed):
    streams, kills = (STREAMS, KILLS) if bed.long else (STREAMS_SHORT, KILLS_SHORT)
    receivers = [bed.receiver(f"receiver{number}") for number in range(1, 5)]
    senders = [kind(bed, kind.__name__.lower(), receivers, "K2HFTFUSE:FAILOVERTIME = 1", producers=streams, rate=50)
               for kind in (Mount, PushFiles, Fleet)]
    senders[1].count = 50 * kills * 3 * PushFiles.AT_ONCE // streams
    for sender in senders:
        sender.start()
    for number in range(kills):
        kill(bed, receivers)
        if number == kills // 3:
            receivers = receivers + [bed.receiver("added")]
            bed.say("one is added")
        elif number == 2 * kills // 3:
            receivers = receivers[1:]
            bed.say("one is removed")
        else:
            continue
        for sender in senders:
            sender.receivers_change(receivers)
    bed.settled(senders)
    made = bed.finish(senders)
    bed.verify(made)


run(scenario)
