#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A reload of a relay takes what TRANSCONF says: next stages come and leave while it is written to, by each way to spread.
Over all stages every record is there once, and each has its part of a stream in order. What can't be taken changes nothing."""
import glob
import json
import os
import subprocess
import sys
import tempfile

from common.receiver import BIN, wait_for
from common.relay import Stage

# So many that there is one for each end, whatever the ports that decide it.
STREAMS = 40


def k2hft(*words, status=0):
    run = subprocess.run([f"{BIN}/k2hft", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
    assert run.returncode == status, (words, run)
    return run.stdout.decode() + run.stderr.decode()


def reload(relay, status=0, said=""):
    text = k2hft("reload", f"{relay.work}/state", status=status)
    assert said in text, text


def grows(stage):
    def size():
        return sum(os.path.getsize(path) for path in glob.glob(f"{stage.work}/out/*"))
    before = size()
    wait_for("a stage gets records", lambda: size() > before)


def once_check(work, general, own, file_ring):
    """`general`: of TRANSCONF; `own`: of the relay."""
    ends = [Stage(f"{work}/end{at}") for at in range(4)]
    relay = Stage(f"{work}/relay", own, ends[:2], file_ring=file_ring)
    relay.goes_to(ends[:2], general)
    relay.kill()
    with subprocess.Popen([f"{BIN}/k2hft", "verify", "--make", "--json", "--producers", str(STREAMS), "-n", str(1 << 40),
                           "--rate", "500", "-r", f"127.0.0.1:{relay.port}", "-t", "s"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as making:
        grows(ends[0])
        for those in (ends[:3], ends[1:3], [ends[3]], ends[2:], ends[1:]):
            wait_for("the last change is over", lambda those=those: (relay.goes_to(those, general), subprocess.run(
                [f"{BIN}/k2hft", "reload", f"{relay.work}/state"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, timeout=60, check=False))[1].returncode == 0)
            for end in those:
                grows(end)
        relay.goes_to(ends[1:], general + "COMPRESSION = perhaps\n")
        reload(relay, 1, "/relay/next:")
        relay.goes_to(ends[1:], general + "[K2HFTFUSE]\nCOMPRESS = always\n")
        reload(relay, 1, "COMPRESS changed, which needs a restart")
        relay.goes_to(ends[1:], general)
        reload(relay)
        if file_ring:
            relay.kill()
        making.terminate()
        made = json.loads(making.communicate(timeout=120)[0])["producers"]
        assert making.returncode == 0
    files = [path for end in ends for path in glob.glob(f"{end.work}/out/*")]
    expected = [word for one in made for word in ("--expect", f"{one['producer']}={one['records']}")]
    wait_for("all", lambda: subprocess.run([f"{BIN}/k2hft", "verify", "-q", "--order", "file", *expected, *files],
                                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode == 0)
    relay.end()
    for end in ends:
        end.end()


def main():
    for general, own, file_ring in (("", "", True), ("DELIVERMODE = random\n", "ACKEND = yes", False)):
        with tempfile.TemporaryDirectory() as work:
            once_check(work, general, own, file_ring)


sys.exit(main())
