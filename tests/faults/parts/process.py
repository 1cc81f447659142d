# SPDX-License-Identifier: MIT
"""Processes that end with the harness."""
import contextlib
import ctypes
import functools
import os
import re
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
STORE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e", "common", "descriptor_store.py")
libc = ctypes.CDLL(None, use_errno=True)


class Trouble(Exception):
    """What k2hft should not have done, or the harness could not."""


def die_with_parent(parent, number=signal.SIGKILL):
    """In a child of `parent`, which may have gone before it could say so."""
    libc.prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def wait_until(condition, seconds, what):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise Trouble(f"waited {seconds} s in vain: {what}")
        time.sleep(0.01)


class Process:
    """A child. Only the main thread may start one: children go when the thread that started them goes.

    `extra`: what it has in its environment beside the harness's own.
    """
    all = []

    def __init__(self, name, command, log, host=None, stdin=subprocess.DEVNULL, stdout=None, extra=None):
        self.name = name
        self.log = log
        prefix = host.prefix() if host else []
        with open(log, "ab") as output:
            self.log_from = output.tell()
            # pylint: disable-next=subprocess-popen-preexec-fn,consider-using-with
            self.child = subprocess.Popen(prefix + [str(word) for word in command], stdin=stdin,
                                          stdout=output if stdout is None else stdout, stderr=output,
                                          start_new_session=True, preexec_fn=functools.partial(die_with_parent, os.getpid()),
                                          env={**os.environ, **extra} if extra else None)
        self.pid = self.child.pid
        Process.all.append(self)

    def alive(self):
        return self.child.poll() is None

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            if self.alive():
                os.kill(self.pid, number)

    def stop(self):
        self.signal(signal.SIGSTOP)

    def go_on(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait(20)

    def wait(self, seconds):
        try:
            status = self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Trouble(f"{self.name} does not end within {seconds:.0f} s; {self.last_lines()}") from None
        if self in Process.all:
            Process.all.remove(self)
        return status

    def said(self):
        with open(self.log, "rb") as file:
            file.seek(self.log_from)
            return file.read().decode(errors="replace")

    def last_lines(self):
        return f"{self.name} said: " + " | ".join(self.said().splitlines()[-4:])

    @classmethod
    def end_all(cls):
        for process in list(cls.all):
            with contextlib.suppress(ProcessLookupError, Trouble):
                process.kill()


class Kept(Process):
    """What a process with the descriptors that it has left starts again. Signals are for the one that is there now."""

    def __init__(self, name, command, log, **more):
        place = f"{log}.notify"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place)
        super().__init__(name, [sys.executable, STORE, place, *command], log, **more)

    @property
    def pid(self):
        found = []
        wait_until(lambda: found.extend(children_of(self.child.pid)) or found or not self.alive(), 20, f"{self.name} is there")
        return found[0] if found else self.child.pid

    @pid.setter
    def pid(self, pid):
        pass

    def kill(self):
        """With what it has left."""
        last = self.pid
        self.child.kill()
        self.wait(20)
        wait_until(lambda: not os.path.exists(f"/proc/{last}/exe"), 20, f"{self.name} ends")


def children_of(pid):
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [int(child) for child in file.read().split()]
    return found


def signal_all(pids, number):
    """Those that are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def name_of(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()
    return ""


def quiet(*command):
    try:
        return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False, timeout=30).returncode == 0
    except FileNotFoundError:
        return False


def no_takeover():
    """Why no keeper can take a mount over; None: one can."""
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (6, 9):
        return "this kernel can't send requests again (Linux 6.9 can)"
    return None if os.geteuid() == 0 else "only root's mounts are taken over"


def no_fuse():
    """Why there can be no mount; None: there can."""
    return None if os.access("/dev/fuse", os.R_OK | os.W_OK) else "no right to use /dev/fuse"
