#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 900
"""Senders, two relays with ring files, and a receiver; SIGKILL of each of the four in turn. At the end each record is there
once and in order, with the host, path, pid and time of its origin; the second relay, which writes files, too, has the same.

    tests/net/relay_kills.py [KILLS]
"""
import filecmp
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
# pylint: disable=wrong-import-position
from common.receiver import BIN, WAIT_S, wait_for
from common.relay import Stage

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 100 if os.environ.get("K2HFT_NET") == "long" else 8
RATE = 20000
FORMAT = 'FORMAT = "%H:%F(%P)[%T] %L"\nFILE_TIMEFORM = "%s.%-"'
LINE = re.compile(rb"([^:]*):([^(]*)\((\d+)\)\[(\d+)\.(\d+)\] ~k2[^,]*,\d+,(\d+),")
# Senders that have another name than the relays.
NAMED = subprocess.run(["unshare", "-u", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0
ORIGIN = "origin.example" if NAMED else socket.gethostname()


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=WAIT_S).stdout


def ring_stat(ring):
    return json.loads(run(f"{BIN}/k2hft", "stat", "--json", ring))


def empty(ring):
    state = ring_stat(ring)["ring_state"]
    return state["head"] == state["tail"]


class Sender:
    """`k2hft verify --make` with this way to send; `pids`: of all of its processes."""

    def __init__(self, work, way):
        self.work, self.way, self.pids, self.count = work, way, [], 0

    def spawn(self, *command, **other):
        return subprocess.Popen(["unshare", "-u", "sh", "-c", f'hostname {ORIGIN} && exec "$@"', "sh", *command] if NAMED
                                else command, stdin=subprocess.DEVNULL, **other)

    def make(self):
        self.maker = self.spawn(f"{BIN}/k2hft", "verify", "--make", "--json", "--seed", "1", "--first", str(self.count + 1), "-n",
                                str(1 << 40), "--rate", str(RATE), "--size", "24-400", "--timeout", str(WAIT_S), *self.way,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.pids.append(self.maker.pid)

    def drop(self):
        self.maker.kill()
        self.maker.wait()

    def end(self):
        self.maker.send_signal(signal.SIGTERM)
        said, error = self.maker.communicate(timeout=2 * WAIT_S)
        assert self.maker.returncode == 0, error
        self.count = json.loads(said)["producers"][0]["records"] + self.count


class Library(Sender):
    """Killed, it goes on behind what its ring had, which arrives before."""
    name = "a/library.log"

    def __init__(self, work, port):
        super().__init__(work, ["-r", f"127.0.0.1:{port}", "--ring", f"{work}/ring", "-t", self.name])
        self.port = port
        self.make()

    def kill(self, stages):
        self.maker.send_signal(signal.SIGSTOP)
        accepted = ring_stat(f"{self.work}/ring")["ring"]["committed_records"]
        self.maker.kill()
        self.maker.communicate()
        rest = self.spawn(f"{BIN}/k2hft", "push", "-q", f"-r127.0.0.1:{self.port}", "--ring", f"{self.work}/ring", "/dev/null")
        assert rest.wait(WAIT_S) == 0
        for stage in stages:
            wait_for("a relay is empty", lambda ring=f"{stage.work}/ring": empty(ring))
        self.count = last_number(f"{stages[0].work}/../last/out/{self.name}")
        assert self.count >= accepted, (self.count, accepted)
        self.make()


class Mount(Sender):
    """Its worker is killed, and its writer sees nothing."""
    name = "senddir/mount.log"

    def __init__(self, work, port):
        os.makedirs(f"{work}/mnt")
        super().__init__(work, ["--append", f"{work}/mnt/{self.name}"])
        with open(f"{work}/conf", "w", encoding="utf-8") as conf:
            conf.write(f"[GLOBAL]\nPORT = {port}\n[SVRNODE]\nNAME = 127.0.0.1\n[K2HFTFUSE]\nK2HTYPE = file\nK2HFILE = "
                       f"{work}/ring\n[K2HFTFUSE_RULE_DIR]\nTARGET = senddir\nTRUNS = on\nDEFAULTALL = ALLOW\n")
        self.mount = self.spawn(f"{BIN}/k2hftfuse", f"{work}/mnt", "-f", "-o", f"conf={work}/conf", stderr=subprocess.PIPE)
        wait_for("the mount", lambda: os.path.ismount(f"{work}/mnt") or self.mount.poll() is not None)
        self.make()

    def kill(self, _stages):
        with open(f"/proc/{self.mount.pid}/task/{self.mount.pid}/children", encoding="ascii") as children:
            for child in children.read().split():
                os.kill(int(child), signal.SIGKILL)

    def end(self):
        super().end()
        run("umount", f"{self.work}/mnt")
        assert self.mount.wait(WAIT_S) == 0, self.mount.stderr.read()

    def drop(self):
        super().drop()
        if self.mount.poll() is None:
            subprocess.run(["umount", "-l", f"{self.work}/mnt"], stderr=subprocess.DEVNULL, check=False)
            self.mount.kill()
            self.mount.wait()


def last_number(path):
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 4096))
        lines = file.read().split(b"\n")
        return int(LINE.match(lines[-2]).group(6)) if len(lines) > 1 else 0


def origin_check(path, sender, began):
    latest = began
    with open(path, "rb") as file:
        for line in file:
            host, name, pid, seconds, fraction, _ = LINE.match(line).groups()
            at = int(seconds) + int(fraction) / 1e9
            assert host.decode() == ORIGIN and name.decode() == sender.name and int(pid) in sender.pids, line
            assert latest <= at <= time.time(), line
            latest = at


def check(stages, senders, began):
    for sender in senders:
        paths = [f"{stage.work}/out/{sender.name}" for stage in stages[1:]]
        said = run(f"{BIN}/k2hft", "verify", "--prefix", "--only", "--expect", f"1={sender.count}", paths[1])
        print(f"{sender.name}: {sender.count} records, {len(sender.pids)} processes: {said.decode().split(chr(10), 1)[1]}", end="")
        origin_check(paths[1], sender, began)
        assert filecmp.cmp(*paths, shallow=False), paths


def scenario(work):
    began = time.time()
    last = Stage(f"{work}/last", FORMAT)
    second = Stage(f"{work}/second", FORMAT, [last], both=True)
    first = Stage(f"{work}/first", to=[second])
    stages, cut = [first, second, last], 0
    senders = [Library(f"{work}", first.port)]
    try:
        if os.access("/dev/fuse", os.R_OK | os.W_OK):
            senders.append(Mount(f"{work}/mount", first.port))
        for kill in range(KILLS):
            time.sleep(0.1 + kill * 37 % 100 / 500)
            if kill % 4 == 3:
                for sender in senders:
                    sender.kill(stages[:2])
                continue
            stage = stages[kill % 4]
            cut += b"is cut back" in stage.receiver.said()
            stage.kill()
        for sender in senders:
            path = f"{last.work}/out/{sender.name}"
            wait_for("it goes on", lambda path=path, count=sender.count: os.path.exists(path) and last_number(path) > count)
            sender.end()
        for stage in stages:
            wait_for("it is empty", lambda ring=f"{stage.work}/ring": stage is last or empty(ring))
            stage.end()
        print(f"{KILLS} kills, {cut} rings cut back")
        check(stages, senders, began)
    finally:
        for sender in senders:
            sender.drop()
        for stage in stages:
            stage.receiver.kill()


with tempfile.TemporaryDirectory() as folder:
    scenario(folder)
