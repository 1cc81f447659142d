#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing lost, nothing twice: a receiver and three senders under load, and one fault after the other.

    tests/faults/faults.py [--faults N] [--seconds S] [--seed SEED] [--jobs N] [--fault NAME]... [--record] [--list]
    make check-faults [FAULTS=N] [SEED=S] [JOBS=N] [RECORD=1]

The senders are k2hft push, an application of the library and a mount, each with a ring file. In each lap they send
numbered records for a second or two, while one fault is injected at a random moment; then `k2hft verify` looks at every
record: all that was accepted must be there, once, in order. A fault of which k2hft-delivery(7) says that it can lose
or repeat says so in its class (parts/kinds), and what it cost is counted apart. A dozen laps share a world: a
receiver, a mount, ring files and a ledger, which go on from lap to lap; some worlds have TLS, some two
hosts (network namespaces) with a cable between them, some a proxy that spoils bytes, some several receivers on hosts of
their own, of which others take over what one can't take, some a server of Forward or OTLP behind the receiver, to which
records may come again (parts/peer.py). --jobs: so many worlds are beside each other, with one table at
the end.

The same seed gives the same laps, whatever the number of jobs and as far as moments can be the same; K2HFT_SEED or
--seed sets it. --faults 0: until the time (--seconds) is over. A lap that failed keeps its logs in $B/faults. B is the
build folder. Linux, Python 3; as root everything runs, otherwise what needs more rights is skipped with a word. Exit
status 0, 1 something was lost, repeated or wrong, 77 skipped.
"""
import os
import sys

from parts.harness import Harness, Tally, excused_of, options_of, parser_of, run
from parts.kinds import ALL
from parts.lanes import LanesWorld
from parts.lap import COUNTS
from parts.network import Link
from parts.peer import missing
from parts.world import World

LAPS_IN_WORLD = 12
WITHOUT_END = 20000
HOSTS = ("link", "lanes")


def shown():
    return [name for name, kind in ALL.items() if not kind.hidden]


class Faults(Harness):
    def kinds(self):
        """Those that this machine can have."""
        kinds = [ALL[name] for name in self.options.fault or shown()]
        if missing(self.options.build):
            self.reasons["remote"] = f"no module {', '.join(missing(self.options.build))}"
            kinds = [kind for kind in kinds if kind.world != "remote"]
        if any(kind.world in HOSTS for kind in kinds):
            link = Link(os.devnull)
            if link.problem:
                self.reasons["hosts"] = link.problem
                kinds = [kind for kind in kinds if kind.world not in HOSTS]
            else:
                link.close()
        return kinds

    def schedule(self):
        """Each fault as often as the others."""
        kinds = self.kinds()
        wanted = []
        while kinds and len(wanted) < (self.options.faults or WITHOUT_END):
            wanted += self.random.sample(kinds, len(kinds))
        del wanted[self.options.faults or WITHOUT_END:]
        while wanted:
            needs = [kind.world for kind in wanted[:LAPS_IN_WORLD] if kind.world]
            world = self.random.choice(needs) if needs else "plain"
            fit = (world,) if world in ("lanes", "plugins", "relayed", "remote") else (None, world)
            taken = [kind for kind in wanted[:2 * LAPS_IN_WORLD] if kind.world in fit][:LAPS_IN_WORLD]
            for kind in taken:
                wanted.remove(kind)
            yield world, taken

    def world_of(self, kind, chance):
        return LanesWorld(self.options, chance) if kind == "lanes" else World(self.options, chance, kind)

    def line(self, name):
        tally = self.tallies.get(name, Tally())
        world = ALL[name].world
        reason = self.reasons.get("hosts" if world in HOSTS else "remote" if world == "remote" else name) if not tally.injected else None
        counts = tally.counts
        return (f"{name:16} {tally.injected:8} {tally.records:10} {counts['lost']:6} {counts['repeated']:8} "
                f"{counts['late']:6} {counts['damaged']:7} {tally.failed:6}  {excused_of(tally) or '-':24}"
                f"{tally.longest:5.1f} s" + (f"  SKIP: {reason}" if reason else ""))

    def report(self):
        total = self.total()
        counts = ", ".join(f"{total.counts[what]} {said}" for what, said in
                           zip(COUNTS, ("lost", "repeated", "out of order", "damaged", "too many")))
        return [f"{'fault':16} {'injected':>8} {'records':>10} {'lost':>6} {'repeated':>8} {'late':>6} {'damaged':>7} "
                f"{'failed':>6}  {'as documented':24}{'longest':>7}",
                *(self.line(name) for name in self.options.fault or shown()),
                f"{total.injected} faults, {total.records} records: {counts}, {len(self.failures)} failures; "
                f"seed {self.options.seed}, {self.seconds():.0f} s"]


def main():
    parser = parser_of("faults.py", __doc__, "build")
    parser.add_argument("--faults", type=int, default=0, help="how many")
    parser.add_argument("--fault", action="append", choices=list(ALL), help="only this kind; several times: these")
    parser.add_argument("--list", action="store_true", help="prints the kinds of faults")
    options = options_of(parser)
    if not options.faults and not options.seconds:
        options.faults = 200
    if options.list:
        for name in shown():
            print(f"{name:16} {(ALL[name].__doc__ or '').strip()}")
        return 0
    return run(Faults, options, "check-faults")


if __name__ == "__main__":
    sys.exit(main())
