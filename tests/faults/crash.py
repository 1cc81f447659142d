#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Death at each point of lib/crash.def, under load: all records there, once, in order.

    tests/faults/crash.py [--seed SEED] [--point NAME]... [--times N]... [--seconds S] [-v]
    make check-crash [SEED=S]

A receiver and three senders (k2hft push, an application of the library, a mount) go on as in faults.py. At each point
the process whose turn it is dies, once in one lap and five times in a row in another; it is started again, or its
keeper does it. Half of the laps are at level synced. A point that is never reached is a failure. --seconds: a sample of
the points, until the time is over. B is a build with K2I_CRASH_POINTS.
"""
import argparse
import os
import random
import signal
import sys
import time

from faults import interrupted, own_mounts
from parts.crash import Crash, Plan, points_of
from parts.kinds import no_fuse
from parts.lap import Lap
from parts.process import Process, Trouble
from parts.world import World

LAPS_IN_WORLD = 15
POINTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib", "crash.def")


def arguments(points):
    parser = argparse.ArgumentParser(prog="tests/faults/crash.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--point", action="append", choices=list(points), help="only this one; several times: these")
    parser.add_argument("--times", type=int, action="append", help="deaths in a lap (1 and 5)")
    parser.add_argument("--seconds", type=float, default=0, help="no lap begins later")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    options.build = os.environ.get("B", "build-crash")
    options.no_keep = False
    if options.seed is None:
        options.seed = int(os.environ.get("K2HFT_SEED") or random.SystemRandom().randrange(1 << 32))
    return options


class Harness:
    def __init__(self, options, points):
        self.options = options
        self.points = points
        self.random = random.Random(options.seed)
        self.failures = []
        self.deaths = self.records = self.laps = 0
        self.died = set()
        self.started = time.monotonic()

    def over(self):
        return self.options.seconds and time.monotonic() - self.started > self.options.seconds

    def schedule(self):
        """{level: [(point, times)...]}"""
        levels = {"written": [], "synced": []}
        for name in self.options.point or self.points:
            point = self.points[name]
            turn = self.random.randrange(2)
            for number, times in enumerate(self.options.times or (1, 5)):
                level = "synced" if point.need == "synced" or (number + turn) % 2 else "written"
                levels[level].append((point, times))
        for laps in levels.values():
            self.random.shuffle(laps)
        return levels

    def run(self):
        levels = self.schedule()
        while any(levels.values()) and not self.over():
            level = max(levels, key=lambda one: len(levels[one]))
            self.run_world(level, levels[level])

    def run_world(self, level, laps):
        """Takes from `laps` what it has done."""
        world = World(self.options, random.Random(self.random.randrange(1 << 60)), "plain")
        world.level = level
        fine = False
        print(f"-- {world.describe()}", flush=True)
        try:
            world.plans = {role: Plan(world.path(f"{role}.plan")) for role in ("receiver", "push", "library", "mount")}
            world.start()
            fine = True
            for _ in range(LAPS_IN_WORLD):
                if not laps or not fine or self.over():
                    break
                fine = self.run_lap(world, *laps.pop())
            if fine:
                world.finish()
                for line in world.problems_said():
                    raise Trouble(line)
        except Trouble as trouble:
            fine = False
            self.fail(f"world: {trouble}")
        finally:
            world.close(keep=not fine)

    def run_lap(self, world, point, times):
        self.laps += 1
        chance = random.Random(f"{self.options.seed}/{self.laps}")
        role = chance.choice(point.roles())
        lap = Lap(world, chance, self.laps, Crash.of(self.points, point, role, times))
        fine = lap.run()
        self.records += lap.records
        if fine:
            self.deaths += world.plans[role].step()
            self.died.add(point.name)
        print(f"{self.laps:5} {point.name:22} {role:8} x{times} {lap.records:8} records {lap.seconds:5.1f} s  "
              f"{'ok' if fine else 'FAIL'}", flush=True)
        for note in lap.notes if not fine or self.options.verbose else []:
            print(f"        {note}", flush=True)
        if not fine:
            self.fail(f"lap {self.laps}, {point.name} in {role}, {times} times: " + "; ".join(lap.problems))
        return fine

    def fail(self, text):
        self.failures.append(text)
        print(f"  FAIL {text}", flush=True)


def main():
    points = points_of(POINTS)
    options = arguments(points)
    if no_fuse():
        print(f"SKIP: {no_fuse()}")
        return 77
    own_mounts()
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGINT, interrupted)
    harness = Harness(options, points)
    print(f"seed {options.seed}", flush=True)
    try:
        harness.run()
    except KeyboardInterrupt:
        harness.failures.append("interrupted")
    finally:
        Process.end_all()
    print(f"{len(harness.died)} of {len(points)} points, {harness.deaths} deaths in {harness.laps} laps, "
          f"{harness.records} records, {len(harness.failures)} failures; seed {options.seed}, "
          f"{time.monotonic() - harness.started:.0f} s")
    return 1 if harness.failures else 0


if __name__ == "__main__":
    sys.exit(main())
