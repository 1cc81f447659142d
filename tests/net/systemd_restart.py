#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A mount's unit is restarted, and its first process is killed, while programs write to files that they hold open, one of
them with a line that is half written, and to files that they open anew: no call fails, the directory below is never seen,
and all that was written arrives once and in order. The mount is gone after a stop, also after one that overtakes a
restart."""
import itertools
import os
import re
import threading
import time

from bed.bed import Skip, run
from bed.systemd import ARRIVES_S, MOUNT, POINT, RECEIVER, UNITS, write
from parts.process import Trouble, wait_until

RESTARTS = 5
RESTARTS_LONG = 100
WRITERS = 3
STEPS = 50
STEP_S = 0.0005


class Work(threading.Thread):
    """A program that does `step` with 0, 1 and so on until `stop`."""

    def __init__(self, step):
        super().__init__(daemon=True)
        self.step = step
        self.steps = 0
        self.going = True
        self.failed = None
        self.start()

    def run(self):
        try:
            for number in itertools.count():
                if not self.going:
                    break
                self.step(number)
                self.steps = number + 1
                time.sleep(STEP_S)
        except (OSError, AssertionError) as error:
            self.failed = error

    def wait(self):
        """For more steps."""
        wanted = self.steps + STEPS
        wait_until(lambda: self.failed or self.steps >= wanted, ARRIVES_S, "a program goes on")
        if self.failed:
            raise Trouble(f"a program: {self.failed!r}")

    def stop(self):
        self.going = False
        self.join(ARRIVES_S)
        if self.is_alive() or self.failed:
            raise Trouble(f"a program: {self.failed!r}")


def line_of(number):
    return b"%d %s\r\n" % (number, b"y" * (number * 31 % 700))


def append(log, text):
    assert log.write(text) == len(text), "a short write"


def holder(log):
    return lambda number: append(log, line_of(number))


def opener(path):
    def step(number):
        with open(path, "ab", buffering=0) as log:
            append(log, line_of(number))
    return step


def looker(point):
    device = os.stat(point).st_dev

    def step(_):
        assert os.stat(point).st_dev == device and not os.path.exists(f"{point}/below"), "the directory below is seen"
    return step


def restarts(bed, machine, half_log, programs):
    """What the file of the half line has then."""
    half = b""
    served = {machine.show(MOUNT, "MainPID")}
    count = RESTARTS_LONG if bed.long else RESTARTS
    for number in range(count + 1):
        text = b"%d and " % number
        append(half_log, text)
        half += text
        if number < count:
            # It has its descriptors in another order then.
            machine.control("daemon-reload")
            machine.control("restart", MOUNT)
        else:
            machine.control("kill", "--signal=KILL", "--kill-who=main", MOUNT)
            wait_until(lambda: machine.show(MOUNT, "NRestarts") == "1", ARRIVES_S, "systemd starts it again")
        for program in programs:
            program.wait()
        served.add(machine.show(MOUNT, "MainPID"))
    bed.expect(len(served) == count + 2, f"only {len(served)} processes had the mount")
    append(half_log, b"the end")
    return half + b"the end"


def gone(bed, machine):
    bed.expect(machine.below(), f"{POINT} is not unmounted")
    bed.expect(machine.show(MOUNT, "NFileDescriptorStore") == "0", "systemd keeps descriptors")


def overtake(machine):
    """The keeper has left its mount for the next one when the stop comes."""
    os.mkdir(machine.path(f"{UNITS}/k2hftfuse@.service.d"))
    write(machine.path(f"{UNITS}/k2hftfuse@.service.d/slow.conf"),
          '[Service]\nExecStop=/bin/sh -c "until [ -e /run/overtaken ]; do sleep 0.1; done"\n')
    machine.control("daemon-reload")
    machine.control("start", MOUNT)
    machine.control("restart", "--no-block", MOUNT)
    wait_until(lambda: machine.show(MOUNT, "MainPID") == "0", ARRIVES_S, "the keeper leaves")
    machine.control("stop", "--no-block", MOUNT)
    write(machine.path("/run/overtaken"), "")
    machine.control("stop", MOUNT)


def scenario(bed):
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (6, 9):
        raise Skip("this kernel can't send requests again (Linux 6.9 can)")
    machine = bed.systemd()
    machine.control("start", RECEIVER, MOUNT)
    point = machine.path(POINT)
    logs = [open(f"{point}/{name}.log", "ab", buffering=0) for name in ("half", *range(WRITERS))]
    look = Work(looker(point))
    writers = {f"{number}.log": Work(holder(logs[1 + number])) for number in range(WRITERS)}
    writers["opened.log"] = Work(opener(f"{point}/opened.log"))
    half = restarts(bed, machine, logs[0], [look, *writers.values()])
    for program in (look, *writers.values()):
        program.stop()
    for log in logs:
        log.close()
    for name, program in writers.items():
        machine.arrives(name, b"".join(line_of(number) for number in range(program.steps)))
    machine.arrives("half.log", half)
    bed.say(f"{sum(program.steps for program in writers.values())} lines, {look.steps} looks")
    machine.control("stop", MOUNT)
    gone(bed, machine)
    overtake(machine)
    gone(bed, machine)
    bed.expect("before a keeper took it over" in machine.said(), "the unit does not say what is lost")


run(scenario)
