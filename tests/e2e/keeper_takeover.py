#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A mount whose keeper leaves, or is killed, where systemd has its descriptors: the next keeper takes it over. What programs
have open goes on, nothing is lost, and nothing comes twice. A program that does not know the memory of the mount, or has
another configuration, makes the mount anew."""
import errno
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, "tests/e2e")
from common.descriptor_store import Store  # noqa: E402
from common.receiver import BIN, Receiver, WAIT_S, content, wait_for  # noqa: E402


class Systemd:
    """Keeps descriptors for the keeper that is started next."""
    def __init__(self, work):
        self.work, self.store = work, Store(os.path.join(work, "notify"))
        self.point, self.conf = os.path.join(work, "mnt"), os.path.join(work, "sender.ini")
        self.keeper = None
        os.mkdir(self.point)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            self.store.hear()

    def begin(self, options=""):
        return self.store.start([f"{BIN}/k2hftfuse", self.point, "-o", f"conf={self.conf}{options}", "-f"],
                                stderr=open(f"{self.work}/mount.log", "ab"))

    def start(self):
        heard = len(self.store.heard)
        self.keeper = self.begin()
        wait_for("READY=1", lambda: self.keeper.poll() is not None or
                 any(text.startswith("READY=1\n") for text in self.store.heard[heard:]))
        assert self.keeper.poll() is None, self.said()

    def said(self):
        return content(f"{self.work}/mount.log").decode(errors="replace")

    def complete(self, rings=1):
        wait_for("its descriptors", lambda: sorted(self.store.kept) == ["k2hft-journal", "k2hft-kernel"] +
                 [f"k2hft-ring-{at}" for at in range(rings)])

    def ask(self):
        return subprocess.run([f"{BIN}/k2hftfuse", f"--leave={self.keeper.pid}"], capture_output=True, text=True,
                              timeout=WAIT_S)

    def leave(self):
        # As init does: a child that has ended and is not waited for is still there.
        threading.Thread(target=self.keeper.wait, daemon=True).start()
        done = self.ask()
        assert done.returncode == 0, done.stderr + self.said()
        assert self.keeper.wait() == 0

    def end(self):
        self.keeper.terminate()
        assert self.keeper.wait(WAIT_S) == 0, self.said()
        assert not os.path.ismount(self.point)
        wait_for("systemd keeps nothing", lambda: not self.store.kept)


def configure(systemd, ports, more="", rule=""):
    with open(systemd.conf, "w", encoding="utf-8") as file:
        for port in ports:
            file.write(f"[SVRNODE]\nNAME = 127.0.0.1\nPORT = {port}\n")
        file.write(f"[K2HFTFUSE]\nK2HTYPE = {'file' if 'K2HFILE' in more else 'mem'}\n{more}\n"
                   f"[K2HFTFUSE_RULE_DIR]\nTARGET = /\nTRUNS = yes\nDEFAULTALL = ALLOW\n{rule}")


def served(work, rings=1, **more):
    """A receiver, and a mount to it that another keeper could take over."""
    receiver, systemd = Receiver(work), Systemd(work)
    configure(systemd, [receiver.port], **more)
    systemd.start()
    systemd.complete(rings)
    return receiver, systemd


# The process that has the kernel's connection opens nothing on the mount itself: it would wait for itself.
HELD = """
import os, sys
file = open(sys.argv[1], "ab", buffering=0)
for line in sys.stdin.buffer:
    try:
        file.write(line[:-1].decode("unicode_escape").encode())
        os.fsync(file.fileno())
        print(0, flush=True)
    except OSError as error:
        print(error.errno, flush=True)
"""
WRITES = """
import random, select, sys, time
numbers = random.Random(sys.argv[2])
file = open(sys.argv[1], "ab", buffering=0)
while not select.select([sys.stdin], [], [], 0)[0]:
    piece = numbers.randbytes(numbers.choice((3, 100, 5000))).replace(b"\\n", b"\\r\\n")
    assert file.write(piece) == len(piece)
    print(len(piece), flush=True)
    time.sleep(float(sys.argv[3]))
"""


class Held:
    """A file that a process has open."""
    def __init__(self, path):
        self.process = subprocess.Popen([sys.executable, "-c", HELD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def write(self, text):
        """Until it is acknowledged: 0, or errno."""
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(WAIT_S) == 0


class Writer(threading.Thread):
    """Of a process that writes to a file, in pieces that end anywhere."""
    def __init__(self, path, seed, pause_s=0.0):
        super().__init__(daemon=True)
        self.seed, self.pieces, self.bytes = str(seed), 0, 0
        self.process = subprocess.Popen([sys.executable, "-c", WRITES, path, self.seed, str(pause_s)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.start()

    def run(self):
        for line in self.process.stdout:
            self.bytes += int(line)
            self.pieces += 1

    def end(self):
        """All that it has written."""
        self.process.stdin.close()
        assert self.process.wait(WAIT_S) == 0
        self.join()
        numbers = random.Random(self.seed)
        return b"".join(numbers.randbytes(numbers.choice((3, 100, 5000))).replace(b"\n", b"\r\n")
                        for _ in range(self.pieces))


def check_writers(work):
    """A keeper leaves, or is killed, and the next one begins while writers go on; also one that was in a line."""
    folders = [os.path.join(work, name) for name in ("one", "two")]
    for folder in folders:
        os.mkdir(folder)
    receivers = [Receiver(folder) for folder in folders]
    systemd = Systemd(work)
    configure(systemd, [receiver.port for receiver in receivers])
    systemd.start()
    systemd.complete(rings=2)
    idle = Held(f"{systemd.point}/idle.log")
    assert idle.write("begun, ") == 0
    # fsync(2) of another file waits for all of these, too.
    writers = [Writer(f"{systemd.point}/{number}.log", number, pause_s=0.001) for number in range(4)]
    device = os.stat(systemd.point).st_dev
    for turn in range(6):
        time.sleep(random.random() / 5)
        if turn % 2:
            systemd.leave()
        else:
            systemd.keeper.kill()
            systemd.keeper.wait()
        systemd.start()
        assert os.stat(systemd.point).st_dev == device
        assert idle.write(f"{turn}, ") == 0
    assert systemd.said().count("taken over") == 6, systemd.said()
    wanted = {f"{number}.log": writer.end() for number, writer in enumerate(writers)}
    assert idle.write("ended\\r\\n") == 0
    idle.close()
    wanted["idle.log"] = b"begun, 0, 1, 2, 3, 4, 5, ended\r\n"
    systemd.end()
    for name, data in wanted.items():
        found = b"".join(content(f"{folder}/out/{name}") for folder in folders)
        # A line without its end gets one when its file is closed.
        assert found in (data, data + b"\n"), f"{name}: {len(found)} bytes, not {len(data)}"
    for receiver in receivers:
        receiver.end()


def check_away(work):
    """The ring is full, and its receiver away: writes wait over a change of keepers."""
    receiver = Receiver(work)
    receiver.process.kill()
    receiver.process.wait()
    systemd = Systemd(work)
    configure(systemd, [receiver.port], more="RINGSIZE = 64K\nDRAINTIMEOUT = 1")
    systemd.start()
    systemd.complete()
    writer = Writer(f"{systemd.point}/full.log", 7)
    written = -1
    while written < writer.bytes:
        written = writer.bytes
        time.sleep(0.3)
    systemd.leave()
    systemd.start()
    systemd.keeper.kill()
    systemd.keeper.wait()
    systemd.start()
    receiver = Receiver(work, port=receiver.port)
    wait_for("the writer", lambda: writer.bytes > written + 100000)
    wanted = writer.end()
    systemd.end()
    found = content(f"{work}/out/full.log")
    assert found in (wanted, wanted + b"\n"), f"{len(found)} bytes, not {len(wanted)}"
    receiver.end()


def check_plugin(work):
    """What a plug-in writes is sent once: it ends before its mount is left."""
    receiver, systemd = served(work, rings=2, rule="PLUGIN = /bin/cat\nPLUGINTRANS = yes\n")
    writers = [Writer(f"{systemd.point}/{number}.log", number) for number in range(2)]
    for _ in range(3):
        wait_for("the writers", lambda seen=sum(writer.bytes for writer in writers):
                 sum(writer.bytes for writer in writers) > seen + 300000)
        systemd.leave()
        systemd.start()
    wanted = [writer.end() for writer in writers]
    systemd.end()
    for number, data in enumerate(wanted):
        found = content(f"{work}/out/{number}.log")
        assert found in (data, data + b"\n"), f"{number}.log: {len(found)} bytes, not {len(data)}"
    receiver.end()


def check_anew(work):
    """Another version's memory, or configuration, or an end that was begun: it is said, the old mount is gone, and the new one
    works, with the same ring's file."""
    receiver = Receiver(work)
    systemd = Systemd(work)
    ring = f"K2HFILE = {work}/ring\n"
    configure(systemd, [receiver.port], more=ring)
    for number, why in enumerate(("another version", "configuration has changed", "about to end")):
        systemd.start()
        systemd.complete()
        old = Held(f"{systemd.point}/old{number}.log")
        assert old.write("old\\n") == 0
        if number == 1:
            systemd.leave()
            configure(systemd, [receiver.port], more=ring + "DRAINTIMEOUT = 7")
        else:
            if number == 0:
                os.pwrite(systemd.store.kept["k2hft-journal"][0], b"another.", 0)
                asked = systemd.ask()
                assert asked.returncode == 1 and "another version" in asked.stderr, asked
            systemd.keeper.kill()
            systemd.keeper.wait()
        if number == 2:
            os.close(systemd.store.kept.pop("k2hft-journal")[0])
        systemd.start()
        assert why in systemd.said(), systemd.said()
        systemd.complete()
        status = old.write("lost\\n")
        assert status in (errno.ENOTCONN, errno.ECONNABORTED), f"status {status}\n{systemd.said()}"
        old.close()
        with open(f"{systemd.point}/new{number}.log", "ab", buffering=0) as file:
            file.write(b"new\n")
        systemd.end()
        assert content(f"{work}/out/new{number}.log") == b"new\n"
    receiver.end()


def check_waits(work):
    """Starts fail, since the command line is wrong or an OUTPUTFILE can't be had: the mount waits for one that is right. It
    is gone, and that is said, if the configuration is wrong."""
    receiver, systemd = served(work, rule=f"OUTPUTFILE = {work}/copy")
    held = Held(f"{systemd.point}/held.log")
    assert held.write("begun, ") == 0
    systemd.leave()
    os.rename(f"{work}/copy", f"{work}/copied")
    os.mkdir(f"{work}/copy")
    for options in (",umask=9", ",nonsense", "", "", "", "", ""):
        assert systemd.begin(options).wait(WAIT_S) == 1, systemd.said()
    os.rmdir(f"{work}/copy")
    systemd.start()
    assert "taken over" in systemd.said() and "options" not in systemd.said().split("Is a directory")[-1], systemd.said()
    assert held.write("ended\\n") == 0
    status = subprocess.run([f"{BIN}/k2hft", "stat", "--json", systemd.point], capture_output=True, text=True, timeout=WAIT_S)
    assert re.search(r'"worker_deaths": 0\b', status.stdout), status
    systemd.leave()
    configure(systemd, [receiver.port], more="NONSENSE = 1")
    assert systemd.begin().wait(WAIT_S) == 2
    assert "its configuration is wrong" in systemd.said() and not os.path.ismount(systemd.point), systemd.said()
    wait_for("systemd keeps nothing", lambda: not systemd.store.kept)
    held.close()
    assert content(f"{work}/out/held.log") == content(f"{work}/copied") + content(f"{work}/copy") == b"begun, ended\n"
    receiver.end()


def check_ends(work):
    """A keeper that is killed while it ends its mount leaves nothing to take over: the next one's mount is there to stay."""
    receiver, systemd = served(work)
    receiver.process.send_signal(signal.SIGSTOP)
    subprocess.run(["sh", "-c", 'echo waits >>"$0/waits.log"', systemd.point], check=True)
    systemd.keeper.terminate()
    wait_for("systemd has nothing", lambda: not systemd.store.kept)
    systemd.keeper.kill()
    systemd.keeper.wait()
    receiver.process.send_signal(signal.SIGCONT)
    systemd.start()
    stays = Held(f"{systemd.point}/stays.log")
    assert stays.write("stays\\n") == 0, systemd.said()
    stays.close()
    systemd.end()
    receiver.end()


def check_alone(work):
    """Without systemd the keeper stays."""
    receiver, systemd = served(work)
    systemd.end()
    keeper = subprocess.Popen([f"{BIN}/k2hftfuse", systemd.point, "-o", f"conf={systemd.conf}", "-f"],
                              stderr=open(f"{work}/mount.log", "ab"))
    wait_for("the mount", lambda: os.path.ismount(systemd.point))
    systemd.keeper = keeper
    asked = systemd.ask()
    assert asked.returncode == 1 and "it stays" in asked.stderr, asked
    assert "systemd does not keep its descriptors" in systemd.said(), systemd.said()
    with open(f"{systemd.point}/stays.log", "ab", buffering=0) as file:
        file.write(b"stays\n")
    systemd.end()
    assert content(f"{work}/out/stays.log") == b"stays\n"
    asked = subprocess.run([f"{BIN}/k2hftfuse", f"--leave={os.getpid()}"], capture_output=True, text=True)
    assert asked.returncode == 1 and "no process that keeps a mount" in asked.stderr, asked
    receiver.end()


def run(check):
    with tempfile.TemporaryDirectory() as work:
        try:
            check(work)
        finally:
            subprocess.run(["umount", "-l", f"{work}/mnt"], stderr=subprocess.DEVNULL, check=False)


def main():
    if not os.access("/dev/fuse", os.W_OK) or os.geteuid() != 0:
        print("SKIP: no right to use /dev/fuse")
        return 77
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (6, 9):
        print("SKIP: this kernel can't send requests again (Linux 6.9 can)")
        return 77
    processes = [multiprocessing.Process(target=run, args=(check,))
                 for check in (check_writers, check_away, check_plugin, check_anew, check_waits, check_ends, check_alone)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return max(process.exitcode != 0 for process in processes)


sys.exit(main())
