# SPDX-License-Identifier: MIT
"""Receivers on hosts of their own at a switch, and the configuration of senders that have all of them."""
import contextlib
import json
import os
import signal
import struct
import subprocess

from .process import Process, Trouble, quiet, wait_until

PORT = 8020
# In a ring's file: two copies of which receivers had it, of which the one with the larger number counts.
RECEIVERS_AT = 12 * 128
RECEIVERS_BYTES = 256
UNSETTLED_AT = 32
READY_S = 30


class Receiver:
    """k2hftfusesvr, with a disk of its own. `process`: the one that runs, or ran last."""

    def __init__(self, programs, folder, host, own_disk=0, general="SSL = no\n", own=""):
        """`own_disk`: of so many bytes, if that is permitted, so that it can be full or be lost; `general`, `own`: lines of
        the configuration."""
        self.programs = programs
        self.host = host
        self.name = host.name
        self.log = os.path.join(folder, f"{self.name}.log")
        self.config = os.path.join(folder, f"{self.name}.ini")
        self.disk = os.path.join(folder, f"{self.name}.disk")
        self.output = os.path.join(self.disk, "out")
        self.process = None
        os.mkdir(self.disk)
        self.own_disk = own_disk and quiet("mount", "-t", "tmpfs", "-o", f"size={own_disk}", "k2hft-disk", self.disk)
        os.mkdir(self.output)
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f"[GLOBAL]\nPORT = {PORT}\n{general}[K2HFTFUSESVR]\nTYPE = file\nFILE_BASEDIR = {self.output}\n"
                       f"{own}")

    def spawn(self):
        self.process = Process(self.name, [os.path.join(self.programs, "k2hftfusesvr"), "-conf", self.config, "--listen",
                                           f"{self.host.address}:{PORT}"], self.log, self.host)

    def ready(self):
        wait_until(lambda: not self.alive() or "listening on" in self.process.said(), READY_S, f"{self.name} listens")
        if not self.alive():
            raise Trouble(f"{self.name} does not start; {self.process.last_lines()}")

    def start(self):
        self.spawn()
        self.ready()

    def alive(self):
        return self.process is not None and self.process.alive()

    def kill(self):
        self.process.kill()

    def term(self):
        self.process.signal(signal.SIGTERM)
        status = self.process.wait(60)
        if status:
            raise Trouble(f"{self.name} ended with status {status}; {self.process.last_lines()}")

    def files(self):
        """Of records, below `output`: {name: path}."""
        found = {}
        for folder, folders, names in os.walk(self.output):
            folders[:] = [name for name in folders if name != ".k2hft"]
            for name in names:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, self.output)] = path
        return found

    def bytes(self):
        """That its files have."""
        total = 0
        for path in self.files().values():
            with contextlib.suppress(FileNotFoundError):
                total += os.stat(path).st_size
        return total

    def retracted(self):
        """Its list, if there is one."""
        path = os.path.join(self.output, ".k2hft", "retracted")
        return path if os.path.exists(path) else None

    @contextlib.contextmanager
    def full_disk(self):
        ballast = os.path.join(self.disk, "ballast")
        descriptor = os.open(ballast, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            block = bytes(1 << 20)
            with contextlib.suppress(OSError):
                while os.write(descriptor, block):
                    pass
            yield
        finally:
            os.close(descriptor)
            os.unlink(ballast)

    def lose_disk(self):
        """For good: the receiver is dead, and what it had is gone."""
        self.kill()
        quiet("find", self.output, "-mindepth", "1", "-delete")

    def close(self):
        if self.own_disk:
            quiet("umount", "-l", self.disk)


def address(receiver):
    return f"{receiver.host.address}:{PORT}"


def sender_config(path, receivers, ring, *words):
    """Of a mount, of k2hft push or a program. `receivers`: Receivers, or "HOST:PORT"; `ring`: None in memory; `words`:
    "SECTION:KEY = VALUE"."""
    sections = {"GLOBAL": [], "K2HTPDTOR": [], "K2HFTFUSE": []}
    for word in words:
        section, line = word.split(":", 1)
        sections[section].append(line)
    if not any(line.startswith("SSL ") for line in sections["GLOBAL"]):
        sections["GLOBAL"].append("SSL = no")
    if ring:
        sections["K2HFTFUSE"] += ["K2HTYPE = file", f"K2HFILE = {ring}", "K2HINIT = no"]
    else:
        sections["K2HFTFUSE"] += ["K2HTYPE = mem"]
    with open(path, "w", encoding="utf-8") as file:
        for one in receivers:
            host, port = (one if isinstance(one, str) else address(one)).rsplit(":", 1)
            file.write(f"[SVRNODE]\nNAME = {host}\nPORT = {port}\n")
        for section, lines in sections.items():
            file.write("".join(f"{line}\n" for line in [f"[{section}]", *lines] if lines))
        file.write("[K2HFTFUSE_RULE_DIR]\nTARGET = senddir\nTRUNS = on\nDEFAULTALL = ALLOW\n")
    return path


def unsettled(ring):
    """How many receivers can have records of this ring file that others have, too."""
    with open(ring, "rb") as file:
        file.seek(RECEIVERS_AT)
        words = file.read(2 * RECEIVERS_BYTES)
    copies = [words[at:at + RECEIVERS_BYTES] for at in (0, RECEIVERS_BYTES)]
    return max((struct.unpack_from("=Q", copy)[0], struct.unpack_from("=Q", copy, UNSETTLED_AT)[0]) for copy in copies)[1]


def verified(programs, files, *options):
    """What k2hft verify says of them, or of nothing."""
    done = subprocess.run([os.path.join(programs, "k2hft"), "verify", "--json", "--limit", "1000", *map(str, options),
                           *(files or [os.devnull])], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=300)
    if done.returncode not in (0, 3):
        raise Trouble(f"k2hft verify: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)


def unmount(mount_point):
    """In any state: requests that nobody answers are ended first."""
    with contextlib.suppress(OSError), open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            words = line.split(" ")
            if words[4] == mount_point:
                number = words[2].split(":")[1]
                with open(f"/sys/fs/fuse/connections/{number}/abort", "w", encoding="ascii") as abort:
                    abort.write("1")
    quiet("umount", "-l", mount_point) or quiet("fusermount3", "-u", "-z", mount_point)
