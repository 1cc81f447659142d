#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records at random over four receivers: together they have each once. Equal receivers get equal loads; one whose link is
slowed to a tenth gets a tenth, and does not slow the others down."""
from bed.bed import run
from bed.senders import Library, Mount, Push

LINK_KBIT = 40000
SECONDS = 15
SECONDS_SHORT = 1.5
WORDS = ("GLOBAL:DELIVERMODE = random", "K2HFTFUSE:FAILOVERTIME = 1", "K2HFTFUSE:COMPRESS = never", "K2HFTFUSE:RINGSIZE = 2M")


def rates(bed, receivers, seconds):
    """Bytes that each gets in this time."""
    bed.pause(seconds / 5)
    before = [one.bytes() for one in receivers]
    bed.pause(seconds)
    return [one.bytes() - had for one, had in zip(receivers, before)]


def scenario(bed):
    seconds = SECONDS if bed.long else SECONDS_SHORT
    receivers = [bed.receiver(f"receiver{number}") for number in range(1, 5)]
    for one in receivers:
        one.host.throttle(LINK_KBIT)
    senders = [kind(bed, kind.__name__.lower(), receivers, *WORDS, rate=200000, ring=False)
               for kind in (Mount, Push, Library)]
    for sender in senders:
        sender.start()
    equal = rates(bed, receivers, seconds)
    mean = sum(equal) / 4
    bed.say("equal receivers, of their mean: " + ", ".join(f"{one / mean:.3f}" for one in equal))
    receivers[3].host.throttle(LINK_KBIT // 10)
    slowed = rates(bed, receivers, seconds)
    rest = sum(slowed[:3])
    bed.say(f"slowed to a tenth: {slowed[3] / (rest / 3):.3f} of the others' mean; together {sum(slowed) / rest:.3f} of the "
            f"others, these {rest / sum(equal[:3]):.3f} of before")
    for one in receivers:
        one.host.throttle(0)
    made = bed.finish(senders)
    bed.verify(made, order="none")
    if bed.long:
        bed.expect(max(equal) < 1.1 * mean and min(equal) > 0.9 * mean, "loads are not equal")
        bed.expect(slowed[3] > 0.05 * rest / 3 and slowed[3] < 0.2 * rest / 3, "the slow one does not get a tenth")
        bed.expect(rest > 0.85 * sum(equal[:3]), "the slow one slows the others down")


run(scenario)
