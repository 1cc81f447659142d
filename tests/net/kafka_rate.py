#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 600
"""k2hft bench --sink kafka before a real broker: records of 1 KiB, with a small ring and with a large one, beside a plain
transactional producer. A long run has one before it that does not count: Java compiles what the broker does often.
K2HFT_KAFKA is the folder of Kafka's jars (bed/kafka.py); options of k2hft bench may follow."""
import json
import os
import subprocess
import sys
import tempfile

from bed.kafka import BIN, broker, skip_without_kafka
from parts.process import Process

QUICK = [] if os.environ.get("K2HFT_NET") == "long" or sys.argv[1:] else ["--runs", "1", "--bytes", "16M"]


def bench(address, *options):
    subprocess.run([f"{BIN}/k2hft", "bench", "-q", "--by", "library", "--size", "1K", "--ring", "2M,64M", "--sink", "kafka",
                    "--brokers", address, *options], check=True)


def main():
    skip_without_kafka()
    with tempfile.TemporaryDirectory() as work:
        try:
            address = broker(work).address
            if not QUICK:
                bench(address, "--runs", "1")
            bench(address, "--json", f"{work}/json", *QUICK, *sys.argv[1:])
            with open(f"{work}/json", encoding="utf-8") as results:
                found = json.load(results)["results"]
        finally:
            Process.end_all()
    assert len(found) == 2 and all(one["sink"] == "kafka" and one["committed_of_pipe"] > 0 for one in found), found


main()
