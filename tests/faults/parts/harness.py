# SPDX-License-Identifier: MIT
"""What faults.py and crash.py have in common: worlds with laps in them, in jobs beside each other, and what came of it."""
import argparse
import ctypes
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import time

from .lap import COUNTS, Lap
from .process import Process, Trouble, die_with_parent, libc, no_fuse, quiet

OWN_MOUNTS = "K2HFT_FAULTS_OWN_MOUNTS"
FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULT = os.path.join(FOLDER, "RESULT.md")
CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000


class Tally:
    """Of one kind of fault."""

    def __init__(self):
        self.laps = self.injected = self.failed = self.not_injected = self.records = 0
        self.counts = dict.fromkeys(COUNTS, 0)
        self.excused = dict.fromkeys(COUNTS, 0)
        self.longest = 0.0

    def add_lap(self, lap, injected):
        self.laps += 1
        self.injected += injected
        self.records += lap.records
        self.failed += bool(lap.problems)
        self.not_injected += bool(lap.not_injected)
        for what in COUNTS:
            self.counts[what] += lap.counts[what]
            self.excused[what] += lap.excused[what]
        self.longest = max(self.longest, lap.seconds)

    def add(self, other):
        for field in ("laps", "injected", "failed", "not_injected", "records"):
            setattr(self, field, getattr(self, field) + getattr(other, field))
        for what in COUNTS:
            self.counts[what] += other.counts[what]
            self.excused[what] += other.excused[what]
        self.longest = max(self.longest, other.longest)


class Harness:
    """`schedule` is what is done, whatever the number of jobs: world n goes to job n modulo jobs, and all chance in a
    world or a lap comes from the seed and its number."""

    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.tallies = {}
        self.reasons = {}
        self.failures = []
        self.pid = os.getpid()
        self.started = time.monotonic()
        self.prefix = ""

    # Messages of faults.py and crash.py

    def schedule(self):
        """[(kind of world, [class of fault...])...]"""
        raise NotImplementedError

    def world_of(self, kind, chance):
        raise NotImplementedError

    def title(self, fault):
        """In the line of a lap."""
        return fault.name

    def injected(self, _world, lap):
        """How many times, in a lap that went well or not."""
        return 0 if lap.not_injected else 1

    def report(self):
        """Lines at the end, the last of which is the sum."""
        raise NotImplementedError

    # The parent

    def run(self):
        """In any case in processes of their own: a job has namespaces of its own, where that is permitted."""
        worlds, laps = [], 0
        for kind, faults in self.schedule():
            worlds.append((len(worlds) + 1, kind, [(str(laps + n), fault) for n, fault in enumerate(faults, 1)]))
            laps += len(faults)
        count = max(1, min(self.options.jobs, len(worlds)))
        jobs = [self.job_start(n + 1, worlds[n::count], count) for n in range(count)]
        on_signals(lambda *_: [process.terminate() for process, _ in jobs])
        for number, (process, pipe) in enumerate(jobs, 1):
            self.job_end(number, process, pipe)

    def job_start(self, number, worlds, count):
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe(duplex=False)
        self.prefix = f"{number}| " if count > 1 else ""
        process = context.Process(target=self.job, args=(worlds, theirs))
        process.start()
        theirs.close()
        return process, ours

    def job_end(self, number, process, pipe):
        try:
            self.merge(*pipe.recv())
        except EOFError:
            self.failures.append(f"job {number} ended before it was done")
        process.join()

    def merge(self, tallies, reasons, failures):
        for name, tally in tallies.items():
            self.tallies.setdefault(name, Tally()).add(tally)
        self.reasons.update(reasons)
        self.failures += failures

    def total(self):
        total = Tally()
        for tally in self.tallies.values():
            total.add(tally)
        return total

    def seconds(self):
        return time.monotonic() - self.started

    # A job

    def job(self, worlds, pipe):
        die_with_parent(self.pid, signal.SIGTERM)
        own_namespaces()
        try:
            for number, kind, laps in worlds:
                self.run_worlds(number, kind, laps)
        except KeyboardInterrupt:
            pass
        finally:
            Process.end_all()
        if Interrupt.came:
            self.failures.append("interrupted")
        pipe.send((self.tallies, self.reasons, self.failures))

    def over(self):
        return Interrupt.came or self.options.seconds and self.seconds() > self.options.seconds

    def say(self, text):
        # With its line end in one write, also where PYTHONUNBUFFERED is set: other jobs write there, too.
        sys.stdout.write(f"{self.prefix}{text}\n")
        sys.stdout.flush()

    def run_worlds(self, number, kind, laps):
        """A world in which something went wrong ends; another of its kind goes on with what is left."""
        for again in range(len(laps) + 1):
            if laps and not self.over():
                self.run_world(kind, laps, random.Random(f"{self.options.seed}/world {number}/{again}"))
        if laps and not self.over():
            self.fail(f"world {number}: {len(laps)} laps were not made")

    def run_world(self, kind, laps, chance):
        """Takes from `laps` what it has done."""
        world = self.world_of(kind, chance)
        fine = False
        self.say(f"-- {world.describe()}")
        try:
            world.start()
            fine = True
            while laps and fine and not self.over():
                fine = self.run_lap(world, laps, *laps.pop(0))
            if fine:
                world.finish()
                for line in world.problems_said():
                    raise Trouble(line)
        except Trouble as trouble:
            fine = False
            self.fail(f"world: {trouble}")
        finally:
            kept = world.close(keep=not fine and not self.options.no_keep)
            if kept:
                self.say(f"  kept: {kept}")

    def run_lap(self, world, laps, number, fault):
        lap = Lap(world, random.Random(f"{self.options.seed}/{number}"), number, fault)
        fine = lap.run()
        self.tallies.setdefault(fault.name, Tally()).add_lap(lap, self.injected(world, lap))
        excused = excused_of(lap)
        state = "ok" if fine else "FAIL"
        if lap.not_injected:
            self.reasons[fault.name] = lap.not_injected
            state = "not injected: " + lap.not_injected
            if not number.endswith("b"):
                laps.append((number + "b", fault))
        self.say(f"{number:>5} {self.title(fault):16} {lap.records:8} records {lap.seconds:5.1f} s  {state}"
                 f"{' (as documented: ' + excused + ')' if excused else ''}")
        for note in lap.notes if not fine or self.options.verbose else []:
            self.say(f"        {note}")
        if not fine:
            self.fail(f"lap {number}, {self.title(fault)}: " + "; ".join(lap.problems))
        return fine

    def fail(self, text):
        self.failures.append(text)
        self.say(f"  FAIL {text}")


def excused_of(lap_or_tally):
    return ", ".join(f"{count} {what}" for what, count in lap_or_tally.excused.items() if count)


def own_namespaces():
    """Of network, so that nobody else takes a port while its receiver is down, and of mounts."""
    if quiet("unshare", "-m", "-n", "ip", "link", "set", "lo", "up"):
        if libc.unshare(CLONE_NEWNS | CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        quiet("ip", "link", "set", "lo", "up")


# Programs -------------------------------------------------------------------------------------------------------------

def parser_of(program, description, build):
    """With the options that faults.py and crash.py have both; `options_of` reads them."""
    parser = argparse.ArgumentParser(prog=f"tests/faults/{program}", description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=0, help="no lap begins later")
    parser.add_argument("--jobs", type=int, default=1, help="so many worlds beside each other (1)")
    parser.add_argument("--record", action="store_true", help="writes its part of tests/faults/RESULT.md")
    parser.add_argument("--no-keep", action="store_true", help="keeps no logs of a lap that failed")
    parser.add_argument("-v", "--verbose", action="store_true", help="tells what each fault did")
    parser.set_defaults(build=os.environ.get("B", build))
    return parser


def options_of(parser):
    options = parser.parse_args()
    if options.seed is None:
        options.seed = int(os.environ.get("K2HFT_SEED") or random.SystemRandom().randrange(1 << 32))
    return options


class Interrupt:
    """Beside the exception, which Python loses where a signal comes while it runs a destructor."""
    came = False


def on_signals(handler):
    signal.signal(signal.SIGTERM, handler)
    signal.signal(signal.SIGINT, handler)


def interrupted(*_):
    on_signals(signal.SIG_IGN)
    Interrupt.came = True
    raise KeyboardInterrupt


def own_mounts():
    """Goes on in a mount namespace of its own: its mounts end with it, and nobody else's copies keep them."""
    if os.environ.get(OWN_MOUNTS) or not quiet("unshare", "-m", "true"):
        return
    os.environ[OWN_MOUNTS] = "yes"
    command = os.path.join(FOLDER, "..", "tools", "own_mounts.sh")
    os.execv(command, [command, sys.executable] + sys.argv)


def run(harness_of, options, target):
    """`target`: of make, whose part of RESULT.md it is. Returns the exit status."""
    if no_fuse():
        print(f"SKIP: {no_fuse()}")
        return 77
    own_mounts()
    on_signals(interrupted)
    print(f"seed {options.seed}", flush=True)
    harness = harness_of(options)
    harness.run()
    lines = harness.report()
    print("\n".join(lines), flush=True)
    status = 1 if harness.failures else 0
    if options.record:
        record(harness, target, lines, status)
    return status


# The record -----------------------------------------------------------------------------------------------------------

def output(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def command_line(options):
    """With which the same laps are made again."""
    words = [word for word in sys.argv[1:] if word != "--record"]
    if not any(word.startswith("--seed") for word in words):
        words += ["--seed", str(options.seed)]
    return " ".join(["tests/faults/" + os.path.basename(sys.argv[0])] + words)


def record(harness, target, lines, status):
    """Writes this target's part of RESULT.md; the others' stay."""
    text = (f"## make {target}\n\n"
            f"- date: {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC\n"
            f"- commit: {output('git', 'describe', '--always', '--dirty')}\n"
            f"- machine: {os.cpu_count()} processors, Linux {os.uname().release}, load {os.getloadavg()[1]:.1f} at the "
            "end\n"
            f"- seed: {harness.options.seed}; worlds beside each other: {harness.options.jobs}\n"
            f"- command: `{command_line(harness.options)}`, exit status {status}\n\n"
            "```\n" + "\n".join(lines) + "\n```\n")
    if harness.failures:
        text += "\nFailures:\n\n" + "".join(f"- {failure}\n" for failure in harness.failures)
    with open(RESULT, encoding="utf-8") as file:
        before, *parts = re.split(r"^(?=## )", file.read(), flags=re.M)
    kept = [part.rstrip("\n") + "\n" for part in parts if not part.startswith(f"## make {target}\n")]
    with open(RESULT, "w", encoding="utf-8") as file:
        file.write("\n".join([before.rstrip("\n") + "\n"] + sorted(kept + [text], reverse=True)))
