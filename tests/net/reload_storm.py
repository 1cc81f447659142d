#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A mount and its receivers reload under load, again and again, each in turn with a good and with a broken file: nothing is
lost or comes twice, no connection ends, and the broken file is named with the line."""
import signal
import subprocess

from bed.bed import run
from bed.senders import Mount
from parts.process import wait_until

ROUNDS = 50
ROUNDS_SHORT = 2
WRONG = "NONSENSE = 1\n"


def reload(bed, target):
    done = subprocess.run([f"{bed.programs}/k2hft", "reload", target], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def turn(bed, target, config, good):
    """A file that is wrong in its last line, then a good one, of another text than before."""
    with open(config, "w", encoding="utf-8") as file:
        file.write(good + WRONG)
    place = f"{config}:{len((good + WRONG).splitlines())}"
    status, said = reload(bed, target)
    bed.expect(status == 1 and place in said, f"{place} is not named: {status} {said}")
    with open(config, "w", encoding="utf-8") as file:
        file.write(good)
    status, said = reload(bed, target)
    bed.expect(status == 0, f"{target}: {said}")


def signalled(mount):
    """Without anybody who waits for what becomes of it."""
    before = mount.mount.said().count("reload")
    mount.mount.signal(signal.SIGUSR1)
    wait_until(lambda: mount.mount.said().count("reload") > before, 30, "the mount tells of SIGUSR1")


def scenario(bed):
    receivers = [bed.receiver(f"receiver{number}") for number in (1, 2)]
    mount = Mount(bed, "mount", receivers, "K2HFTFUSE:FAILOVERTIME = 5", producers=8, rate=1000)
    mount.start()
    for one in receivers:
        bed.grows(one, 0)
    sent, taken = text_of(mount.config), text_of(receivers[0].config)
    for number in range(ROUNDS if bed.long else ROUNDS_SHORT):
        turn(bed, mount.point(), mount.config, sent.replace("[K2HFTFUSE]\n", f"[K2HFTFUSE]\nLINEMAX = {65536 + number}\n"))
        turn(bed, receivers[0].output, receivers[0].config, f"{taken}STREAMMAX = {1000 + number}\n")
        signalled(mount)
    for one in receivers:
        said = one.process.said()
        bed.expect(said.count(" connected, ring") == 1 and "disconnected" not in said, f"{one.name}: {said[-2000:]}")
    bed.verify(mount.finish())


run(scenario)
