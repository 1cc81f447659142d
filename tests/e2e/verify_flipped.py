#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# k2hft verify finds every bit that changes in a file, in both forms of records.
import os
import random
import subprocess
import sys
import tempfile

K2HFT = os.path.join(os.environ.get("B", "build"), "bin", "k2hft")


def flip(folder, size, count, rounds):
    path = os.path.join(folder, "file")
    subprocess.run([K2HFT, "verify", "--make", "-q", "--size", size, "-n", str(count), path], check=True)
    with open(path, "rb") as file:
        whole = file.read()
    for _ in range(rounds):
        at, bit = random.randrange(len(whole)), random.randrange(8)
        changed = bytearray(whole)
        changed[at] ^= 1 << bit
        with open(path, "wb") as file:
            file.write(changed)
        done = subprocess.run([K2HFT, "verify", "--only", path], capture_output=True, text=True, check=False)
        if done.returncode != 3 or f"{path}: byte " not in done.stdout:
            sys.exit(f"bit {bit} of byte {at} of {len(whole)}: status {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    seed = int(os.environ.get("K2HFT_SEED") or random.randrange(1 << 32))
    print(f"seed {seed}")
    random.seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        flip(folder, "24-60", 5, 150)
        flip(folder, "100-1000", 50, 50)
        # Short checksums do not see everything: one change of 262,144 passes them.
        flip(folder, "15-20", 10, 100)


main()
