# SPDX-License-Identifier: MIT
"""k2hft bench, run in a directory of its own, and the results that it saves there."""
import json
import os
import subprocess

from common.receiver import BIN

K2HFT = os.path.join(BIN, "k2hft")
MOUNTS = os.access("/dev/fuse", os.R_OK | os.W_OK)


def bench(work, *arguments, status=0, timeout=300):
    """What it prints, and what it says. Of its temporary files nothing stays behind."""
    scratch = os.path.join(work, "scratch")
    os.makedirs(scratch, exist_ok=True)
    done = subprocess.run([K2HFT, "bench", *arguments], capture_output=True, text=True, timeout=timeout, cwd=work,
                          env={**os.environ, "TMPDIR": scratch})
    assert status is None or done.returncode == status, f"{arguments}: status {done.returncode}\n{done.stdout}{done.stderr}"
    assert os.listdir(scratch) == [], f"{arguments}: {os.listdir(scratch)} stays behind"
    return done.stdout, done.stderr


def measure(work, *arguments):
    """The results of one run each. That as many bytes came as were sent, bench looks after itself."""
    bench(work, "--runs", "1", "--json", "json", *arguments)
    return load(work, "json")["results"]


def load(work, name):
    with open(os.path.join(work, name), encoding="utf-8") as source:
        return json.load(source)


def save(work, name, report):
    with open(os.path.join(work, name), "w", encoding="utf-8") as output:
        json.dump(report, output)
