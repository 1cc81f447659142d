# SPDX-License-Identifier: MIT
"""A scenario: a switch, a host of senders, hosts of receivers, and the verdict over all that they wrote."""
import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from bed.systemd import Systemd
from parts.fleet import Receiver, unmount, unsettled, verified
from parts.harness import interrupted, own_mounts
from parts.network import Switch
from parts.process import Process, Trouble, no_fuse, wait_until

DISK_BYTES = 1 << 30
SETTLED_S = 60


class Skip(Exception):
    """Why the scenario is not to be had here."""


class Bed:
    def __init__(self, options):
        build = os.path.abspath(os.environ.get("B", "build"))
        self.programs = os.path.join(build, "bin")
        self.tools = os.path.join(build, "tests", "tools")
        self.long = options.long
        self.seed = options.seed
        self.random = random.Random(options.seed)
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="k2hft-net."))
        self.switch = Switch(self.path("hosts.log"))
        self.machine = None
        self.mounts = []
        self.receivers = []
        self.producers = 0
        self.problems = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self):
        self.sender = self.switch.host("senders")

    def receiver(self, name, loss=0, started=True):
        receiver = Receiver(self.programs, self.folder, self.switch.host(name, loss), DISK_BYTES)
        self.receivers.append(receiver)
        if started:
            receiver.start()
        return receiver

    def systemd(self):
        self.machine = Systemd(self.programs, self.folder)
        self.machine.start()
        if self.machine.problem:
            raise Skip(self.machine.problem)
        return self.machine

    def producers_take(self, count):
        self.producers += count
        return self.producers - count + 1

    def say(self, text):
        print(f"  {text}", flush=True)

    def expect(self, condition, text):
        if not condition:
            self.problems.append(text)
            self.say(f"FAIL {text}")

    def pause(self, seconds):
        time.sleep(seconds)

    def grows(self, receiver, than):
        wait_until(lambda: receiver.bytes() > than, 60, f"{receiver.name} gets records")

    @staticmethod
    def finish(senders):
        """What they made: {producer: count}."""
        return {producer: count for sender in senders for producer, count in sender.finish().items()}

    def settled(self, senders):
        """Every receiver has given back what others have, too. To be asked while the senders go on."""
        rings = [ring for sender in senders for ring in sender.rings()]
        wait_until(lambda: not any(map(unsettled, rings)), SETTLED_S, "all receivers are settled")

    # The verdict

    def whole(self, stream, producer, count, receivers):
        """Each of these has all of it."""
        for one in receivers:
            found = verified(self.programs, [one.files()[stream]], "--expect", f"{producer}={count}")
            self.expect(found["fine"], f"{stream} at {one.name}: {found['records']} of {count}")

    def verify(self, made, receivers=None, order="file"):
        """Over all files of these receivers, less what is retracted, there is once and in order what was made."""
        receivers = receivers or self.receivers
        lists = [word for one in receivers if one.retracted() for word in ("--retracted", one.retracted())]
        files = [path for one in receivers for _, path in sorted(one.files().items())]
        found = verified(self.programs, files, *lists, "--order", order,
                         *(word for producer, count in made.items() for word in ("--expect", f"{producer}={count}")))
        self.expect(found["fine"], f"{found['records']} of {sum(made.values())} records, {found['missing']} missing, "
                    f"{found['repeated']} repeated, {found['late']} out of order, {found['extra']} too many, "
                    f"{found['damaged']} damaged")
        if not found["fine"]:
            for finding in found["findings"][:5]:
                self.say(str(finding))
            for one in [one for one in found["producers"] if one["missing"]][:5]:
                self.say(f"producer {one['producer']}: {one['missing_ranges'][:5]} missing, last {one['last']}")
        if receivers is self.receivers:
            self.say(f"{found['records']} records, {retracted_count(receivers)} ranges retracted")
        return found

    def whole_on_one(self, senders, receivers):
        """The files of each stream, of which there is one."""
        for sender in senders:
            for stream in sender.streams():
                there = [one.name for one in receivers if stream in one.files()]
                self.expect(len(there) == 1, f"{stream} is on {there or 'no receiver'}")

    def identical(self, senders, receivers, copies):
        """Each stream has so many copies, and they are the same bytes."""
        for stream in [name for sender in senders for name in sender.streams()]:
            files = [one.files()[stream] for one in receivers if stream in one.files()]
            self.expect(len(files) == copies, f"{stream} has {len(files)} copies, not {copies}")
            for other in files[1:]:
                same = subprocess.run(["cmp", files[0], other], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                      check=False)
                self.expect(same.returncode == 0, same.stdout.strip())

    def close(self):
        if self.machine:
            self.machine.close()
        for process in list(Process.all):
            process.go_on()
        for mount in self.mounts:
            unmount(mount)
        Process.end_all()
        for receiver in self.receivers:
            receiver.close()
        if self.problems:
            self.keep_logs()
        shutil.rmtree(self.folder, ignore_errors=True)

    def keep_logs(self):
        target = os.path.join(os.path.dirname(self.programs), "net", os.path.basename(sys.argv[0]).removesuffix(".py"))
        shutil.rmtree(target, ignore_errors=True)
        with contextlib.suppress(OSError, shutil.Error):
            shutil.copytree(self.folder, target, symlinks=True, ignore=shutil.ignore_patterns("*.ring*", "*.mnt", "*.pipe"))
            self.say(f"kept: {target}")


def retracted_count(receivers):
    count = 0
    for receiver in receivers:
        if receiver.retracted():
            with open(receiver.retracted(), encoding="utf-8") as file:
                count += sum(1 for line in file if line.strip() and not line.startswith("#"))
    return count


def run(body, mounts=True):
    """The program of a scenario: `body` has a Bed. Exit status 0, 1 something was wrong, 77 skipped."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--long", action="store_true", default=os.environ.get("K2HFT_NET") == "long",
                        help="with the sizes and times of make check-net")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("K2HFT_SEED") or random.randrange(1 << 32)))
    options = parser.parse_args()
    if mounts and no_fuse():
        print(f"SKIP: {no_fuse()}")
        sys.exit(77)
    own_mounts()
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGINT, interrupted)
    print(f"seed {options.seed}", flush=True)
    bed = Bed(options)
    try:
        if bed.switch.problem:
            raise Skip(bed.switch.problem)
        bed.start()
        body(bed)
    except Skip as skip:
        print(f"SKIP: {skip}")
        sys.exit(77)
    except Trouble as trouble:
        bed.problems.append(str(trouble))
        print(f"FAIL {trouble}")
    except (OSError, ValueError, KeyError, subprocess.SubprocessError, KeyboardInterrupt):
        bed.problems.append("an exception")
        traceback.print_exc(file=sys.stdout)
    finally:
        bed.close()
    sys.exit(1 if bed.problems else 0)
