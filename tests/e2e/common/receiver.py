# SPDX-License-Identifier: MIT
"""A receiver in a folder: what it writes is in `out` there, what it says in `log`."""
import atexit
import os
import re
import signal
import subprocess
import time

BIN = os.path.abspath(os.path.join(os.environ.get("B", "build"), "bin"))
MODULES = os.path.join(BIN, "../lib/k2hft")
WAIT_S = 60


def wait_for(what, condition):
    """What the condition becomes, which is true."""
    end = time.monotonic() + WAIT_S
    while not (found := condition()):
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)
    return found


def size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def content(path):
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


def memory(pid, field="VmRSS"):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))


class Ended(Exception):
    """With what it said."""


class Receiver:
    def __init__(self, work, general="", own="", port=0, kind="file"):
        self.log = os.path.join(work, "log")
        with open(os.path.join(work, "conf"), "w", encoding="utf-8") as conf:
            kind = "" if "TYPE = " in own else f"TYPE = {kind}\n"
            conf.write(f"[GLOBAL]\nPORT = 8020\n{general}\n[K2HFTFUSESVR]\n{kind}FILE_BASEDIR = {work}/out\n{own}\n")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([f"{BIN}/k2hftfusesvr", "-conf", f"{work}/conf", "--listen", f"127.0.0.1:{port}"],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        atexit.register(self.process.kill)
        self.port = int(self.logged(rb"listening on 127\.0\.0\.1:(\d+)\n").group(1))

    def said(self):
        with open(self.log, "rb") as log:
            return log.read()

    def logged(self, pattern):
        """Waits for it."""
        def found():
            ended = self.process.poll() is not None
            match = re.search(pattern, self.said())
            if ended and not match:
                raise Ended(self.said().decode(errors="replace"))
            return match
        return wait_for(pattern, found)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(WAIT_S) == 0, self.said()

    def kill(self):
        """Also of one that has ended."""
        self.process.kill()
        self.process.wait()
