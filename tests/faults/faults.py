#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing lost, nothing twice: a receiver and three senders under load, and one fault after the other.

    tests/faults/faults.py [--faults N] [--seconds S] [--seed SEED] [--fault NAME]... [--record] [--list]
    make check-faults [FAULTS=N] [SEED=S]

The senders are k2hft push, an application of the library and a mount, each with a ring file. In each lap they send
numbered records for a second or two, while one fault is injected at a random moment; then `k2hft verify` looks at every
record: all that was accepted must be there, once, in order. A fault of which k2hft-delivery(7) says that it can lose
or repeat says so in its class (parts/kinds.py), and what it cost is counted apart. A dozen laps share a world: a
receiver, a mount, ring files and a ledger, which go on from lap to lap; some worlds have TLS, some two
hosts (network namespaces) with a cable between them, some a proxy that spoils bytes.

The same seed gives the same laps, as far as moments can be the same; K2HFT_SEED or --seed sets it. --faults 0: until
the time (--seconds) is over. A lap that failed keeps its logs in $B/faults. B is the build folder. Linux, Python 3;
as root everything runs, otherwise what needs more rights is skipped with a word. Exit status 0, 1 something was lost,
repeated or wrong, 77 skipped.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import time

from parts.kinds import ALL, no_fuse
from parts.lap import COUNTS, Lap
from parts.process import Link, Process, Trouble, quiet
from parts.world import World

LAPS_IN_WORLD = 12
OWN_MOUNTS = "K2HFT_FAULTS_OWN_MOUNTS"
HERE = os.path.dirname(os.path.abspath(__file__))


def shown():
    return [name for name, kind in ALL.items() if not kind.hidden]


class Tally:
    """Of one kind of fault."""

    def __init__(self):
        self.injected = self.failed = self.not_injected = self.records = 0
        self.counts = dict.fromkeys(COUNTS, 0)
        self.excused = dict.fromkeys(COUNTS, 0)
        self.longest = 0.0

    def add(self, lap):
        self.records += lap.records
        for what in COUNTS:
            self.counts[what] += lap.counts[what]
            self.excused[what] += lap.excused[what]
        self.longest = max(self.longest, lap.seconds)
        self.failed += bool(lap.problems)
        if lap.not_injected:
            self.not_injected += 1
        else:
            self.injected += 1


class Harness:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.tallies = {}
        self.reasons = {}
        self.failures = []
        self.started = time.monotonic()
        self.laps = 0

    def kinds(self):
        """Those that this machine can have."""
        kinds = [ALL[name] for name in self.options.fault or shown()]
        if any(kind.world == "link" for kind in kinds):
            link = Link(os.devnull)
            if link.problem:
                self.reasons["link"] = link.problem
                kinds = [kind for kind in kinds if kind.world != "link"]
            else:
                link.close()
        return kinds

    def over(self):
        return self.options.seconds and time.monotonic() - self.started > self.options.seconds

    def schedule(self, kinds):
        """Worlds with their faults: [(kind of world, [fault...])...], each fault as often as the others."""
        wanted = []
        while len(wanted) < (self.options.faults or 20000):
            wanted += self.random.sample(kinds, len(kinds))
        del wanted[self.options.faults or 20000:]
        while wanted:
            needs = [kind.world for kind in wanted[:LAPS_IN_WORLD] if kind.world]
            world = self.random.choice(needs) if needs else "plain"
            taken = [kind for kind in wanted[:2 * LAPS_IN_WORLD] if kind.world in (None, world)][:LAPS_IN_WORLD]
            for kind in taken:
                wanted.remove(kind)
            yield world, taken

    def run(self):
        for world_kind, kinds in self.schedule(self.kinds()):
            while kinds and not self.over():
                kinds = self.run_world(world_kind, kinds)
            if self.over():
                break

    def run_world(self, world_kind, kinds):
        """Returns the faults that are left: a world in which something went wrong ends."""
        world = World(self.options, random.Random(self.random.randrange(1 << 60)), world_kind)
        fine = False
        print(f"-- {world.describe()}", flush=True)
        try:
            world.start()
            fine = True
            while kinds and fine and not self.over():
                kind = kinds.pop(0)
                fine = self.run_lap(world, kind)
            if fine:
                world.finish()
                for line in world.problems_said():
                    raise Trouble(line)
        except Trouble as trouble:
            fine = False
            self.fail(f"world: {trouble}")
        finally:
            world.close(keep=not fine and not self.options.no_keep)
        return kinds

    def run_lap(self, world, kind):
        self.laps += 1
        lap = Lap(world, random.Random(f"{self.options.seed}/{self.laps}"), self.laps, kind)
        fine = lap.run()
        self.tallies.setdefault(kind.name, Tally()).add(lap)
        excused = ", ".join(f"{count} {what}" for what, count in lap.excused.items() if count)
        state = "ok" if fine else "FAIL"
        if lap.not_injected:
            self.reasons[kind.name] = lap.not_injected
            state = "not injected: " + lap.not_injected
        print(f"{self.laps:5} {kind.name:16} {lap.records:8} records {lap.seconds:5.1f} s  {state}"
              f"{' (as documented: ' + excused + ')' if excused else ''}", flush=True)
        for note in lap.notes if not fine or self.options.verbose else []:
            print(f"        {note}", flush=True)
        if not fine:
            self.fail(f"lap {self.laps}, {kind.name}: " + "; ".join(lap.problems))
        return fine

    def fail(self, text):
        self.failures.append(text)
        print(f"  FAIL {text}", flush=True)

    def report(self):
        total = Tally()
        lines = [f"{'fault':16} {'injected':>8} {'records':>10} {'lost':>6} {'repeated':>8} {'late':>6} {'damaged':>7} "
                 f"{'failed':>6}  {'as documented':20} {'longest':>7}"]
        for name in self.options.fault or shown():
            tally = self.tallies.get(name)
            if not tally:
                lines.append(f"{name:16} {0:8}" + (f"  SKIP: {self.reasons['link']}"
                             if ALL[name].world == "link" and "link" in self.reasons else ""))
                continue
            excused = ", ".join(f"{count} {what}" for what, count in tally.excused.items() if count)
            lines.append(f"{name:16} {tally.injected:8} {tally.records:10} {tally.counts['lost']:6} "
                         f"{tally.counts['repeated']:8} {tally.counts['late']:6} {tally.counts['damaged']:7} "
                         f"{tally.failed:6}  {excused or '-':20} {tally.longest:5.1f} s" +
                         (f"  SKIP: {self.reasons[name]}" if tally.not_injected and not tally.injected else ""))
            for field in ("injected", "records", "failed"):
                setattr(total, field, getattr(total, field) + getattr(tally, field))
            for what in COUNTS:
                total.counts[what] += tally.counts[what]
        lines.append(f"{total.injected} faults, {total.records} records: {total.counts['lost']} lost, "
                     f"{total.counts['repeated']} repeated, {total.counts['late']} out of order, "
                     f"{total.counts['damaged']} damaged, {len(self.failures)} failures; seed {self.options.seed}, "
                     f"{time.monotonic() - self.started:.0f} s")
        return lines

    def record(self, lines):
        def output(*command):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            return done.stdout.strip() or "unknown"
        with open(os.path.join(HERE, "RESULT.md"), "w", encoding="utf-8") as file:
            file.write(f"# The last recorded run of `make check-faults`\n\n"
                       f"- date: {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC\n"
                       f"- commit: {output('git', 'describe', '--always', '--dirty')}\n"
                       f"- seed: {self.options.seed}\n"
                       f"- machine: {os.cpu_count()} processors, Linux {os.uname().release}\n\n"
                       "```\n" + "\n".join(lines) + "\n```\n\n")
            if self.failures:
                file.write("Failures:\n\n" + "".join(f"- {text}\n" for text in self.failures) + "\n")
            file.write("lost, repeated, late (out of order) and damaged count records that should not have been; what "
                       "k2hft-delivery(7) says\nthat a fault can cost is under \"as documented\". tests/faults/parts/"
                       "kinds.py says what each fault does.\n")


def arguments():
    parser = argparse.ArgumentParser(prog="tests/faults/faults.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--faults", type=int, default=0, help="how many")
    parser.add_argument("--seconds", type=float, default=0, help="no lap begins later")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--fault", action="append", choices=list(ALL), help="only this kind; several times: these")
    parser.add_argument("--record", action="store_true", help="writes tests/faults/RESULT.md")
    parser.add_argument("--no-keep", action="store_true", help="keeps no logs of a lap that failed")
    parser.add_argument("--list", action="store_true", help="prints the kinds of faults")
    parser.add_argument("-v", "--verbose", action="store_true", help="tells what each fault did")
    options = parser.parse_args()
    options.build = os.environ.get("B", "build")
    if options.seed is None:
        options.seed = int(os.environ.get("K2HFT_SEED") or random.SystemRandom().randrange(1 << 32))
    if not options.faults and not options.seconds:
        options.faults = 200
    return options


def interrupted(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def own_mounts():
    """Goes on in a mount namespace of its own: its mounts end with it, and nobody else's copies keep them."""
    if os.environ.get(OWN_MOUNTS) or not quiet("unshare", "-m", "true"):
        return
    os.environ[OWN_MOUNTS] = "yes"
    command = os.path.join(os.path.dirname(__file__), "..", "tools", "own_mounts.sh")
    os.execv(command, [command, sys.executable] + sys.argv)


def main():
    options = arguments()
    if options.list:
        for name in shown():
            print(f"{name:16} {(ALL[name].__doc__ or '').strip()}")
        return 0
    if no_fuse():
        print(f"SKIP: {no_fuse()}")
        return 77
    own_mounts()
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGINT, interrupted)
    harness = Harness(options)
    print(f"seed {options.seed}", flush=True)
    try:
        harness.run()
    except KeyboardInterrupt:
        harness.failures.append("interrupted")
    finally:
        Process.end_all()
    lines = harness.report()
    print("\n".join(lines), flush=True)
    if options.record:
        harness.record(lines)
    return 1 if harness.failures else 0


if __name__ == "__main__":
    sys.exit(main())
