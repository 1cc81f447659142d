#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Death at each point of the tables crash.def, under load: all records there, once, in order.

    tests/faults/crash.py [--seed SEED] [--jobs N] [--point NAME]... [--times N]... [--seconds S] [--record] [-v]
    make check-crash [SEED=S] [JOBS=N] [RECORD=1]

A receiver and three senders (k2hft push, an application of the library, a mount) go on as in faults.py. At each point
the process whose turn it is dies, once in one lap and five times in a row in another; it is started again, or its
keeper does it. Half of the laps are at level synced. A point that is never reached is a failure. Points of a reload have
more laps, in worlds where it changes the receivers, a plug-in, or a relay's next stages (World.have_turns).
Records that go to a server of Forward or OTLP may come there again: see parts/peer.py. Points of kafka are left out without a real broker
(K2HFT_KAFKA, see tests/net/bed/kafka.py). --seconds: a sample of
the points, until the time is over. B is a build with K2I_CRASH_POINTS.
"""
import sys

from parts.crash import KAFKA, POINTS, REMOTE, Crash, Plan
from parts.harness import Harness, options_of, parser_of, run
from parts.peer import KINDS, kafka_missing, missing
from parts.process import no_takeover
from parts.world import World

LAPS_IN_WORLD = 15
# Points that need a world of their own.
TURNS = {"receivers": "receivers", "replugged": "plugin", "restaged": "stages"}
OWN_WORLDS = ("kept", "carried", "stalls", "lanes", "settled", "rotated", "plugged", "relay", *TURNS, *KAFKA, *REMOTE)
RELOADS = {("mount", "reload"): ("replugged", "receivers"), ("mount", "receivers"): ("replugged",),
           ("receiver", "reload"): ("replugged", "restaged")}


class Crashes(Harness):
    def schedule(self):
        """The kind of a world is its level here."""
        levels = {level: [] for level in ("written", "synced", *OWN_WORLDS)}
        for name in self.options.point or POINTS:
            point = POINTS[name]
            if point.need in REMOTE and missing(self.options.build):
                self.reasons["modules"] = f"SKIP: {name}: no module {', '.join(missing(self.options.build))}"
                continue
            if point.need == "kept" and no_takeover():
                self.reasons["kept"] = f"SKIP: {name}: {no_takeover()}"
                continue
            if point.need in KAFKA and kafka_missing(self.options.build):
                self.reasons["kafka"] = f"SKIP: {name}: {kafka_missing(self.options.build)}"
                continue
            turn = self.random.randrange(2)
            for number, times in enumerate(self.options.times or (1, 5)):
                level = "synced" if point.need == "synced" or (number + turn) % 2 else "written"
                if point.need in OWN_WORLDS:
                    level = point.need
                levels[level].append(Crash.of(point, self.random.choice(point.roles()), times))
            # The steps of a mount are the same for each copy.
            if point.who == "mount" and point.need not in ("kept", "lanes", "plugged", "receivers"):
                levels["lanes"].append(Crash.of(point, "mount", times))
            # A reload has steps for each kind of change.
            for level in RELOADS.get((point.who, point.need), ()):
                levels[level] += [Crash.of(point, point.who, times) for times in self.options.times or (1, 5)]
        for laps in levels.values():
            self.random.shuffle(laps)
        while any(levels.values()):
            level = max(levels, key=lambda one: len(levels[one]))
            yield level, levels[level][:LAPS_IN_WORLD]
            del levels[level][:LAPS_IN_WORLD]

    def world_of(self, kind, chance):
        world = World(self.options, chance, {"plugged": "plugins", "replugged": "plugins", "kept": kind}.get(kind, "plain"))
        world.level = self.random.choice(("written", "synced")) if kind in OWN_WORLDS else kind
        if kind == "carried":
            world.send_pieces()
        elif kind == "stalls":
            world.keep_small()
        elif kind == "rotated":
            world.rotated = True
        elif kind == "relay":
            world.relayed = True
        elif kind in REMOTE:
            world.send_remote({"remote": chance.choice(KINDS), "refused": "otlp"}.get(kind, kind), kind == "refused")
        elif kind in KAFKA:
            world.send_remote("kafka")
            world.files = world.files if kind == "kafka" else None  # a ledger that is lost repeats files
        elif kind == "lanes":
            world.have_twin()
        elif kind in TURNS:
            world.have_turns(TURNS[kind])
        elif kind == "settled":
            world.unify = world.tls = False  # wire_send has its own files, and no TLS
        world.plans = {role: Plan(world.path(f"{role}.plan")) for role in ("receiver", "push", "library", "mount")}
        return world

    def title(self, fault):
        return f"{fault.name:22} {fault.role:8} x{fault.times}"

    def injected(self, world, lap):
        return 0 if lap.problems else world.plans[lap.fault.role].step()

    def report(self):
        total = self.total()
        died = sum(1 for tally in self.tallies.values() if tally.injected)
        return [*self.reasons.values(),
                f"{died} of {len(POINTS)} points, {total.injected} deaths in {total.laps} laps, {total.records} records, "
                f"{len(self.failures)} failures; seed {self.options.seed}, {self.seconds():.0f} s"]


def main():
    parser = parser_of("crash.py", __doc__, "build-crash")
    parser.add_argument("--point", action="append", choices=list(POINTS), help="only this one; several times: these")
    parser.add_argument("--times", type=int, action="append", help="deaths in a lap (1 and 5)")
    return run(Crashes, options_of(parser), "check-crash")


if __name__ == "__main__":
    sys.exit(main())
