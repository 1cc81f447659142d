#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# k2hft verify counts what a simple model counts, for files whose lines were dropped, repeated and moved by chance.
import json
import os
import random
import subprocess
import sys
import tempfile

K2HFT = os.path.join(os.environ.get("B", "build"), "bin", "k2hft")
ROUNDS = 40


def made(folder, producers, count):
    path = os.path.join(folder, "made")
    subprocess.run([K2HFT, "verify", "--make", "-q", "--producers", str(producers), "--shared", "--append-each", "-n",
                    str(count), path], check=True)
    with open(path, "rb") as file:
        lines = file.readlines()
    os.unlink(path)
    return lines


def spoil(lines):
    for _ in range(random.randrange(8)):
        if not lines:
            break
        begin = random.randrange(len(lines))
        end = min(len(lines), begin + random.choice((1, 1, 2, 10, 300)))
        some, at = lines[begin:end], random.randrange(len(lines))
        what = random.choice(("drop", "repeat", "move", "reverse"))
        if what == "reverse":
            lines[begin:end] = some[::-1]
        elif what == "repeat":
            lines[at:at] = some
        else:
            del lines[begin:end]
            if what == "move":
                lines[at:at] = some
    return lines


def model(lines, expected):
    counts = {}
    for line in lines:
        _, producer, number, _, _ = line.split(b",")
        producer, number = int(producer), int(number)
        count = counts.setdefault(producer, {"seen": set(), "highest": 0, "repeated": 0, "late": 0, "records": 0})
        count["records"] += 1
        if number in count["seen"]:
            count["repeated"] += 1
        elif number < count["highest"]:
            count["late"] += 1
        count["seen"].add(number)
        count["highest"] = max(number, count["highest"])
    for count in counts.values():
        count["missing"] = sorted(set(range(1, expected + 1)) - count["seen"])
    return counts


def compare(report, counts):
    fine = True
    assert len(report["producers"]) == len(counts)
    for producer in report["producers"]:
        count = counts[producer["producer"]]
        for name in ("records", "repeated", "late"):
            assert producer[name] == count[name], (name, producer, count[name])
        ranges = [number for begin, end in producer["missing_ranges"] for number in range(begin, end + 1)]
        assert ranges == count["missing"] and producer["missing"] == len(ranges), producer
        fine = fine and not (count["repeated"] or count["late"] or ranges)
    assert report["fine"] == fine


def main():
    seed = int(os.environ.get("K2HFT_SEED") or random.randrange(1 << 32))
    print(f"seed {seed}")
    random.seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        for _ in range(ROUNDS):
            producers, expected = random.randrange(1, 5), random.randrange(1, 1000)
            lines = spoil(made(folder, producers, expected))
            if not lines:
                continue
            with open(path, "wb") as file:
                file.writelines(lines)
            done = subprocess.run([K2HFT, "verify", "--json", "--limit", "5000", "--expect-all", str(expected), path],
                                  capture_output=True, text=True, check=False)
            report = json.loads(done.stdout)
            compare(report, model(lines, expected))
            if done.returncode != (0 if report["fine"] else 3):
                sys.exit(f"status {done.returncode}, and fine is {report['fine']}")


main()
