#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 1800
"""A mount whose files go by two receivers with TYPE = kafka into a topic of a real broker: receivers and the broker are killed
again and again, and lanes move from one receiver to the other and back. Consumers of committed records see each once, in the
order of its file. K2HFT_KAFKA is the folder of Kafka's jars (bed/kafka.py); long, with K2HFT_NET=long, as in make check-net.
"""
import os
import random
import re
import subprocess
import tempfile
import time

from bed.kafka import BIN, JAVA, broker, gateway, skip_without_kafka
from parts.fleet import sender_config, unmount
from parts.harness import own_mounts
from parts.process import Process, Trouble, no_fuse, quiet, wait_until

LONG = os.environ.get("K2HFT_NET") == "long"
FILES, COUNT, KILLS, MOVES, BROKER_KILLS = (300, 3334, 20, 2, 3) if LONG else (20, 2000, 3, 1, 1)
PAUSE_S = 4
MOVED_S = 60
MOVED = "client: moved from receiver"
END_S = 600


def lane_move(gateways, mount):
    """The gateway that a lane has connected to last stays dead until the lane goes to the other one."""
    address = re.findall(r"connected to (\S+:\d+)", mount.said())[-1]
    (victim,) = (one for one in gateways if one.address == address)
    moved = mount.said().count(MOVED)
    victim.kill()
    wait_until(lambda: mount.said().count(MOVED) > moved, MOVED_S, f"a lane of {victim.name} moves")
    victim.start()


def hurt(kafka, gateways, mount, chance):
    for number in range(KILLS):
        time.sleep(chance.uniform(0.5, PAUSE_S))
        if (number + 1) * MOVES // KILLS > number * MOVES // KILLS:
            lane_move(gateways, mount)
        else:
            gateways[number % 2].kill()
            gateways[number % 2].start()
        if (number + 1) * BROKER_KILLS // KILLS > number * BROKER_KILLS // KILLS:
            kafka.kill()
            kafka.start()
            kafka.ready()


def topic_check(kafka, topic, producers, count):
    subprocess.run([f"{BIN}/k2hft", "verify", "--kafka", kafka.address, "--producers", str(producers), "--expect-all", str(count),
                    "-q", "--only", topic], check=True, timeout=END_S)
    print(f"{producers * count} records of {producers} files are there once, in order", flush=True)


def quota(work, kafka):
    """A broker that takes 1 MB/s lets the receiver wait, and this one its sender."""
    subprocess.run([*JAVA, "kafka.admin.ConfigCommand", "--bootstrap-server", kafka.address, "--alter", "--entity-type", "clients",
                    "--entity-default", "--add-config", "producer_byte_rate=1000000"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=120)
    began = time.monotonic()
    subprocess.run([f"{BIN}/k2hft", "verify", "--make", "-q", "--size", "1000", "-n", "12000", "--timeout", "120", "-t", "stream", "-r",
                    gateway(work, "gateway3", kafka.address, "quota").address], check=True, timeout=END_S)
    took = time.monotonic() - began
    print(f"12 MB in {took:.1f} s", flush=True)
    assert took > 4, "the broker has no quota"
    topic_check(kafka, "quota", 1, 12000)


def mount_open(work, gateways):
    """Its process, when it is there."""
    point = f"{work}/mnt"
    os.mkdir(point)
    conf = sender_config(f"{work}/sender.ini", [one.address for one in gateways], None, "K2HFTFUSE:FAILOVERTIME = 1",
                         f"K2HFTFUSE:DRAINTIMEOUT = {END_S}")
    process = Process("mount", [f"{BIN}/k2hftfuse", point, "-f", "-o", f"conf={conf}"], f"{work}/mount.log")
    wait_until(lambda: not process.alive() or os.path.ismount(point), 30, "the mount comes")
    return point, process


def run(work, chance):
    kafka = broker(work)
    gateways = [gateway(work, name, kafka.address) for name in ("gateway1", "gateway2")]
    point, mount = mount_open(work, gateways)
    try:
        maker = Process("maker", [f"{BIN}/k2hft", "verify", "--make", "-q", "--append", "--producers", FILES, "-n", COUNT,
                                  "--rate", max(1, COUNT // (2 * KILLS * PAUSE_S)), f"{point}/senddir/stream"], f"{work}/maker.log")
        hurt(kafka, gateways, mount, chance)
        taken_over = sum(one.said().count("is taken over from") for one in gateways)
        print(f"{KILLS} receivers and {BROKER_KILLS} brokers killed, {mount.said().count(MOVED)} lanes moved, {taken_over} rings taken "
              f"over; records {'go on' if maker.alive() else 'have ended'}", flush=True)
        if maker.wait(END_S) or not quiet("umount", point) or mount.wait(END_S):
            raise Trouble(f"not everything is acknowledged; {maker.last_lines()} {mount.last_lines()}")
    finally:
        unmount(point)
    topic_check(kafka, "logs", FILES, COUNT)
    quota(work, kafka)


def main():
    skip_without_kafka()
    if no_fuse():
        print(f"SKIP: {no_fuse()}")
        return 77
    own_mounts()
    seed = int(os.environ.get("K2HFT_SEED") or random.randrange(1 << 32))
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as work:
        try:
            run(work, random.Random(seed))
        except (AssertionError, Trouble, subprocess.SubprocessError) as trouble:
            print(f"FAIL {trouble}")
            for name in ("gateway1", "gateway2", "broker", "mount"):
                with open(f"{work}/{name}.log", encoding="utf-8", errors="replace") as log:
                    print(f"{name}:", log.read()[-6000:])
            return 1
        finally:
            Process.end_all()
    return 0


raise SystemExit(main())
