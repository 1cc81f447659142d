#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Pages fit a terminal of 80 columns, and what programs print as help one of 100.
import glob
import os
import re
import shutil
import subprocess
import sys

BIN = os.path.join(os.environ.get("B", "build"), "bin")
HELP = [["k2hft", "help", command] for command in ("bench", "check", "push", "stat", "testio", "verify", "version")] + [
    ["k2hft", "--help"], ["k2hftfuse", "--help"], ["k2hftfusesvr", "--help"]]
UNBROKEN = " fuse.k2hftfuse "  # a line of fstab(5) can't be continued


def wide(text, columns):
    # A letter, a step back and the letter again: mandoc's bold.
    return [line for line in re.sub(".\b", "", text).splitlines() if len(line) > columns and UNBROKEN not in line]


def main():
    failed = 0
    for command in HELP:
        done = subprocess.run([os.path.join(BIN, command[0]), *command[1:]], capture_output=True, text=True, check=True)
        for line in wide(done.stdout, 100):
            print(f"{' '.join(command)}: {len(line)} columns: {line}")
            failed += 1
    pages = sorted(glob.glob("man/man?/*")) if shutil.which("mandoc") else []
    for page in pages:
        done = subprocess.run(["mandoc", "-Tutf8", "-Owidth=80", page], capture_output=True, encoding="utf-8", check=False)
        for line in wide(done.stdout, 80):
            print(f"{page}: {len(line)} columns: {line}")
            failed += 1
    if failed:
        sys.exit(1)
    if not pages:
        print("SKIP: no mandoc")
        sys.exit(77)


main()
