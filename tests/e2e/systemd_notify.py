#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What systemd hears: that a receiver and a mount are ready, reload, end and make progress. A worker that hangs is replaced
in time, and what was written arrives. Of a receiver with a thread that hangs it hears no more progress, and then all of it
again. A receiver takes the sockets that systemd has opened for it, and no others."""
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BIN = os.path.abspath(os.path.join(os.environ.get("B", "build"), "bin"))
LIMIT_S = 30


class Systemd:
    def __init__(self, folder, name, watchdog_s):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.path = os.path.join(folder, name)
        self.socket.bind(self.path)
        self.heard = []
        self.environment = {**os.environ, "NOTIFY_SOCKET": self.path, "WATCHDOG_USEC": str(int(watchdog_s * 1000000))}

    def listen(self, wanted, count=1):
        """Until so many more messages match; anything else may come between."""
        until = time.monotonic() + LIMIT_S
        while count:
            left = until - time.monotonic()
            if left < 0 or not select.select([self.socket], [], [], left)[0]:
                sys.exit(f"FAILED: systemd does not hear {wanted}, but {self.heard[-20:]}")
            self.heard.append(self.socket.recv(4096).decode())
            count -= bool(re.search(wanted, self.heard[-1]))

    def deaf(self, seconds):
        self.socket.settimeout(seconds)
        try:
            while True:
                if "WATCHDOG" in self.socket.recv(4096).decode():
                    return False
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(None)


def wait_for(what, text):
    until = time.monotonic() + LIMIT_S
    while not what():
        if time.monotonic() > until:
            sys.exit(f"FAILED: {text}")
        time.sleep(0.02)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def receiver(folder, environment, *, before="", descriptors=()):
    """As systemd does it: the process that gets the sockets is the one that LISTEN_PID names."""
    log = open(os.path.join(folder, "log"), "w", encoding="utf-8")
    program = subprocess.Popen(["sh", "-c", f'{before} exec "$0" "$@"', f"{BIN}/k2hftfusesvr", "-conf",
                                f"{folder}/server.ini"], env=environment, stderr=log, pass_fds=descriptors)
    return program


def port_of(folder):
    wait_for(lambda: "listening on" in text_of(f"{folder}/log"), "it does not listen: " + text_of(f"{folder}/log"))
    return re.search(r"listening on 127\.0\.0\.1:(\d+)", text_of(f"{folder}/log")).group(1)


def check_receiver(folder):
    systemd = Systemd(folder, "receiver.socket", 0.8)
    program = receiver(folder, systemd.environment)
    systemd.listen(rf"^READY=1\nMAINPID={program.pid}$")
    systemd.listen(r"^STATUS=0 senders are connected")
    systemd.listen(r"^WATCHDOG=1$", 2)
    program.send_signal(signal.SIGHUP)
    systemd.listen(r"^RELOADING=1\nMONOTONIC_USEC=\d+$")
    systemd.listen(r"^READY=1$")
    program.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    while select.select([systemd.socket], [], [], 0)[0]:
        systemd.socket.recv(4096)
    assert systemd.deaf(0.8), "a receiver that is stopped says that it makes progress"
    program.send_signal(signal.SIGCONT)
    program.terminate()
    systemd.listen(r"^STOPPING=1$")
    assert program.wait(LIMIT_S) == 0


HANGS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
ssize_t recv(int descriptor, void *bytes, size_t room, int flags)
{
	while (access(getenv("HOLD"), F_OK) == 0)
		(void)usleep(10000);
	return ((ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv"))(descriptor, bytes, room, flags);
}
"""


def check_hang(folder):
    """The thread of a connection is kept in recv(2), which is no wait for a disk; the others go on."""
    with open(f"{BIN}/k2hftfusesvr", "rb") as file:
        if not shutil.which("cc") or b"__asan_init" in (program := file.read()) or b"__tsan_init" in program:
            return
    subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-o", f"{folder}/hangs.so", "-", "-ldl"], input=HANGS, text=True, check=True)
    hold = os.path.join(folder, "hold")
    systemd = Systemd(folder, "hang.socket", 0.8)
    program = receiver(folder, {**systemd.environment, "LD_PRELOAD": f"{folder}/hangs.so", "HOLD": hold})
    systemd.listen(r"^WATCHDOG=1$", 2)
    port = port_of(folder)
    open(hold, "w", encoding="utf-8").close()
    with socket.create_connection(("127.0.0.1", int(port))) as stranger:
        stranger.send(b"K2HF")
        # Only a thread that hangs for 10 s counts.
        wait_for(lambda: systemd.deaf(1.5), "a receiver with a thread that hangs says that it makes progress")
        os.unlink(hold)
        systemd.listen(r"^WATCHDOG=1$", 2)
    program.terminate()
    assert program.wait(LIMIT_S) == 0


def check_sockets(folder):
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    number = listener.fileno()
    move = f"exec 3<&{number};"
    mine = move + " LISTEN_FDS=1 LISTEN_PID=$$; export LISTEN_FDS LISTEN_PID;"
    program = receiver(folder, os.environ, before=mine, descriptors=(number,))
    assert port_of(folder) == str(port)
    subprocess.run([f"{BIN}/k2hft", "push", "-q", "-r", f"127.0.0.1:{port}", "-t", "by.socket"], input=b"one\n", check=True)
    program.terminate()
    assert program.wait(LIMIT_S) == 0
    assert text_of(f"{folder}/out/by.socket") == "one\n"
    # Those of another process it leaves alone.
    program = receiver(folder, os.environ, before=mine.replace("$$", "1"), descriptors=(number,))
    assert port_of(folder) != str(port)
    program.terminate()
    program.wait(LIMIT_S)
    # A file is no socket.
    program = receiver(folder, os.environ, before=mine.replace(move, "exec 3</dev/null;"))
    assert program.wait(LIMIT_S) == 1
    assert "descriptor 3 of systemd is no TCP socket" in text_of(f"{folder}/log")


def worker_of(mount):
    return int(text_of(f"/proc/{mount.pid}/task/{mount.pid}/children").split()[0])


def check_mount(folder):
    systemd = Systemd(folder, "mount.socket", 2)
    program = receiver(folder, os.environ)
    point = os.path.join(folder, "mnt")
    os.mkdir(point)
    with open(f"{folder}/sender.ini", "w", encoding="utf-8") as file:
        file.write(f"[SVRNODE]\nNAME = 127.0.0.1\nPORT = {port_of(folder)}\n[K2HFTFUSE]\nK2HTYPE = mem\n"
                   "[K2HFTFUSE_RULE_DIR]\nTARGET = /\nTRUNS = yes\nDEFAULTALL = ALLOW\n")
    mount = subprocess.Popen([f"{BIN}/k2hftfuse", point, "-o", f"conf={folder}/sender.ini", "-f"],
                             env=systemd.environment, stderr=subprocess.DEVNULL)
    try:
        systemd.listen(rf"^READY=1\nMAINPID={mount.pid}$")
        systemd.listen(r"^STATUS=.* is mounted, and served by worker 1$")
        systemd.listen(r"^WATCHDOG=1$", 2)
        mount.send_signal(signal.SIGUSR1)
        systemd.listen(r"^RELOADING=1\nMONOTONIC_USEC=\d+$")
        systemd.listen(r"^READY=1$")
        with open(f"{point}/x.log", "a", encoding="utf-8") as file:
            file.write("before\n")
            file.flush()
            os.kill(worker_of(mount), signal.SIGSTOP)
            if resends():
                systemd.listen(r"^STATUS=.* is mounted, and served by worker 2$")
                systemd.listen(r"^WATCHDOG=1$", 2)
                file.write("behind\n")
                file.flush()
                wait_for(lambda: os.path.exists(f"{folder}/out/x.log") and
                         text_of(f"{folder}/out/x.log") == "before\nbehind\n", "not all lines have arrived")
            else:
                wait_for(lambda: systemd.deaf(1.5), "a mount whose worker is stopped says that it makes progress")
                os.kill(worker_of(mount), signal.SIGCONT)
        mount.terminate()
        systemd.listen(r"^STOPPING=1$")
        assert mount.wait(LIMIT_S) == 0
    finally:
        subprocess.run(["umount", "-l", point], stderr=subprocess.DEVNULL, check=False)
        mount.kill()
        program.terminate()
        program.wait(LIMIT_S)


def resends():
    """FUSE_NOTIFY_RESEND, of Linux 6.9."""
    return tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (6, 9)


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/server.ini", "w", encoding="utf-8") as file:
            file.write(f"[GLOBAL]\nPORT = {free_port()}\n[K2HFTFUSESVR]\nFILE_BASEDIR = {folder}/out\n")
        check_receiver(folder)
        check_hang(folder)
        check_sockets(folder)
        if not os.access("/dev/fuse", os.W_OK):
            print("SKIP: no right to use /dev/fuse")
            return 77
        check_mount(folder)
    return 0


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


sys.exit(main())
