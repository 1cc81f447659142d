#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 600
"""How fast a receiver with TYPE = kafka writes records of 1 KiB to a real broker, beside a plain transactional producer with
the same batches and commit interval, in turns: rates, their ratio, and CPU seconds of each for a gigabyte.

    K2HFT_KAFKA=FOLDER tests/net/kafka_rate.py [RUNS [MIB [RINGSIZE]]]

FOLDER is as bed/kafka.py has it. The median is printed last.
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from bed.kafka import BIN, broker, gateway, skip_without_kafka
from parts.process import Process

# A transaction has no more than a ring holds, as nothing of it is acknowledged before.
RUNS, MIB, RING = (sys.argv[1:] + ["5", "128", "64M"][len(sys.argv) - 1:])[:3]
PLAIN = f"{os.path.dirname(BIN)}/tests/tools/kafka_plain"
SIZE, COMMIT_MS = 1024, 100  # KAFKA_COMMITMS as it is


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def plain_run(brokers):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([PLAIN, brokers, "plain", str(int(MIB) << 20), str(SIZE), str(COMMIT_MS)], check=True, capture_output=True,
                          timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return float(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def receiver_run(work, receiver):
    before = cpu_s(receiver.process.pid)
    subprocess.run([f"{BIN}/k2hft", "bench", "-q", "-r", receiver.address, "--by", "library", "--size", str(SIZE),
                    "--bytes", f"{MIB}M", "--ring", RING, "--runs", "1", "--json", f"{work}/json"],
                   check=True, stdout=subprocess.DEVNULL, timeout=300)
    with open(f"{work}/json", encoding="utf-8") as results:
        (result,) = json.load(results)["results"]
    os.unlink(f"{work}/json")
    return result["elapsed_s"], cpu_s(receiver.process.pid) - before


def turns(work):
    kafka = broker(work)
    receiver, megabytes, ratios = gateway(work, "receiver", kafka.address), (int(MIB) << 20) / 1e6, []
    for number in range(int(RUNS) + 1):
        plain_s, plain_cpu = plain_run(kafka.address)
        receiver_s, receiver_cpu = receiver_run(work, receiver)
        if number == 0:  # the broker has made the topics, and is warm
            time.sleep(1)
            continue
        ratios.append(plain_s / receiver_s)
        print(f"producer {megabytes / plain_s:.1f} MB/s, {plain_cpu / megabytes * 1e3:.2f} s/GB; receiver "
              f"{megabytes / receiver_s:.1f} MB/s, {receiver_cpu / megabytes * 1e3:.2f} s/GB; ratio {ratios[-1]:.2f}", flush=True)
    print(f"median of the ratios: {statistics.median(ratios):.2f}")


def main():
    skip_without_kafka()
    with tempfile.TemporaryDirectory() as work:
        try:
            turns(work)
        finally:
            Process.end_all()


main()
