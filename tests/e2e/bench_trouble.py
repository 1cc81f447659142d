#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# k2hft bench: where a program that it started is killed, or its disk is full, it ends and says so instead of waiting for
# ever; so it does where its terminal goes. No process, mount or file stays behind.
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from common.bench_run import K2HFT, MOUNTS

LIMIT_S = 60


def children(process):
    """By the name that the kernel has of them."""
    found = {}
    with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as pids:
        for pid in pids.read().split():
            try:
                with open(f"/proc/{pid}/comm", encoding="ascii") as name:
                    found[name.read().strip()] = int(pid)
            except (FileNotFoundError, ProcessLookupError):
                pass
    return found


def trouble(scratch, arguments, make, why):
    """Makes trouble while records go."""
    with subprocess.Popen([K2HFT, "bench", "--runs", "1", "--size", "1K", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": scratch}) as running:
        end = time.monotonic() + LIMIT_S
        while not any(files for name in os.listdir(scratch)
                      for _, _, files in os.walk(os.path.join(scratch, name, "received", "bench"))):
            assert running.poll() is None and time.monotonic() < end, (arguments, running.stderr.read())
            time.sleep(0.01)
        make(running)
        _, said = running.communicate(timeout=LIMIT_S)
        assert running.returncode == 1 and f"k2hft bench: {why}" in said, (arguments, running.returncode, said)
    assert os.listdir(scratch) == [], (arguments, os.listdir(scratch))
    with open("/proc/mounts", encoding="utf-8") as mounts:
        assert f"{scratch}/" not in mounts.read(), arguments


def killed(name):
    return lambda running: os.kill(children(running.pid)[name], signal.SIGKILL)


STUCK = """#!/usr/bin/env python3
import ctypes, signal, subprocess, sys
asked = lambda *_: open(__file__ + ".asked", "w").close()
signal.signal(signal.SIGTERM, asked)
subprocess.Popen(["{real}", *sys.argv[1:]], preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL))
while True:
    signal.pause()
"""


def pending(pid, number):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return any(int(mask, 16) >> (number - 1) & 1 for mask in re.findall(r"^S\w+Pnd:\s*(\w+)", status.read(), re.M))


def stuck(scratch):
    """A receiver that does not end when it is asked to: the second interrupt does not wait for it."""
    with tempfile.TemporaryDirectory() as place:
        program, receiver = os.path.join(place, "k2hft"), os.path.join(place, "k2hftfusesvr")
        shutil.copy(K2HFT, program)
        libraries = os.path.join(os.path.dirname(os.path.realpath(K2HFT)), os.pardir, "lib")
        with open(receiver, "w", encoding="utf-8") as script:
            script.write(STUCK.format(real=os.path.join(os.path.dirname(os.path.realpath(K2HFT)), "k2hftfusesvr")))
        os.chmod(receiver, 0o755)
        with subprocess.Popen([program, "bench", "--runs", "1", "--size", "1K", "--by", "library", "-n", "10"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "TMPDIR": scratch, "LD_LIBRARY_PATH": libraries}) as running:
            end = time.monotonic() + LIMIT_S
            while not os.path.exists(receiver + ".asked"):
                assert running.poll() is None and time.monotonic() < end, running.stderr.read()
                time.sleep(0.01)
            running.send_signal(signal.SIGINT)
            # Or the two are one.
            while pending(running.pid, signal.SIGINT):
                time.sleep(0.01)
            time.sleep(0.5)
            running.send_signal(signal.SIGINT)
            try:
                _, said = running.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                os.kill(children(running.pid)["python3"], signal.SIGKILL)
                raise
            assert running.returncode == 1 and "interrupted" in said, (running.returncode, said)
    assert os.listdir(scratch) == [], os.listdir(scratch)


def full_disk(scratch):
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "k2hft-test", scratch], check=False,
                      stderr=subprocess.DEVNULL).returncode:
        return
    try:
        for arguments in (["--by", "library"], ["--by", "library", "--sustain", "60"]):
            trouble(scratch, [*arguments, *([] if "--sustain" in arguments else ["--bytes", "1G"])],
                    lambda running: None, f"{scratch}/k2hft-bench.")
        with open(os.path.join(scratch, "ballast"), "wb") as ballast:
            ballast.write(bytes(20 << 20))
        # A record as long as this goes past the buffer, and what is short of it would be read as memory.
        done = subprocess.run([K2HFT, "bench", "--by", "library", "--size", "1M"], capture_output=True, text=True,
                              check=False, timeout=LIMIT_S, env={**os.environ, "TMPDIR": scratch})
        assert done.returncode == 1 and "/block: No space left on device" in done.stderr, done
    finally:
        subprocess.run(["umount", "-l", scratch], check=True)


def small_memory(scratch):
    """tmpfs is much faster than a mount, and need not hold what goes there in the same time."""
    prefix = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=1100m k2hft-test /dev/shm || exit 77; exec "$@"', "sh"]
    done = subprocess.run([*prefix, K2HFT, "bench", "--runs", "1", "--by", "mount-append", "--size", "64K", "--link", "1000",
                           "--seconds", "1"], capture_output=True, text=True, check=False, timeout=LIMIT_S,
                          env={**os.environ, "TMPDIR": scratch})
    assert done.returncode in (0, 77) or "unshare" in done.stderr, done


def first_failures(scratch):
    """Of what fails before a run has begun, or beside it: memory for the files of some senders only, and the plain pipe."""
    command = [K2HFT, "bench", "--runs", "1"]
    for prefix, arguments, why in (
            (["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o nr_inodes=3 k2hft-test /dev/shm || exit 77; exec "$@"', "sh"],
             ["--by", "mount-append", "-g", "3", "-n", "30", "--size", "10"], "/dev/shm: No space left on device"),
            (["strace", "-qq", "-o", "/dev/null", "-e", "inject=connect:error=ECONNREFUSED"],
             ["--by", "library", "-n", "10", "--size", "10"], "pipe: Connection refused"),
            (["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=accept:error=ECONNABORTED"],
             ["--by", "library", "--bytes", "64M", "--size", "1M"], "pipe: "),
            (["prlimit", "--nofile=5"], ["--by", "library", "-r", "localhost"], "senders: Too many open files")):
        if shutil.which(prefix[0]) is None or (prefix[0] == "unshare" and not MOUNTS):
            continue
        # Under strace leaks can't be looked for.
        quiet = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        done = subprocess.run([*prefix, *command, *arguments], capture_output=True, text=True, check=False, timeout=LIMIT_S,
                              env={**os.environ, "TMPDIR": scratch, "ASAN_OPTIONS": quiet})
        assert done.returncode == 77 or (done.returncode == 1 and why in done.stderr), (prefix, done)
    assert os.listdir(scratch) == [], os.listdir(scratch)


def receiver_away(scratch, way):
    """Another's receiver, which is not there: whoever waits is told so, whatever the way."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with subprocess.Popen([K2HFT, "bench", "--runs", "1", "--size", "1K", "-n", "1", "--by", way, "-r",
                               "127.0.0.1:%d" % nobody.getsockname()[1]], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": scratch}) as running:
            # A mount on a kernel before Linux 6.9 says first that this can't send requests again.
            warned = next((line for line in running.stderr if "trying again" in line), "")
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=LIMIT_S)
    assert "Connection refused; trying again" in warned and "interrupted" in said, (way, warned, said)
    assert os.listdir(scratch) == [], os.listdir(scratch)


def mount_away(scratch):
    """Of a mount that ends while another's receiver is away each message is shown once."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with subprocess.Popen([K2HFT, "bench", "--runs", "1", "--size", "1K", "-n", "100000", "--by", "mount", "-r",
                               "127.0.0.1:%d" % nobody.getsockname()[1]], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": scratch}) as running:
            said = [next((line for line in running.stderr if "trying again" in line), "")]
            killed("k2hftfuse")(running)
            said += running.communicate(timeout=LIMIT_S)[1].splitlines(keepends=True)
    assert any("k2hftfuse is gone" in line for line in said) and len(said) == len(set(said)), said
    assert os.listdir(scratch) == [], os.listdir(scratch)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for arguments in (["--by", "library", "--seconds", "600"], ["--by", "push", "--seconds", "600"],
                          ["--by", "library", "--sustain", "600"],
                          ["--by", "library", "--rate", "100", "--seconds", "600"]):
            trouble(scratch, arguments, killed("k2hftfusesvr"), "k2hftfusesvr is gone")
            trouble(scratch, arguments, killed("k2hft"), "sender 0: Killed")
        if MOUNTS:
            for way in ("mount", "mount-append"):
                trouble(scratch, ["--by", way, "--seconds", "600"], killed("k2hftfuse"), "k2hftfuse is gone")
            trouble(scratch, ["--by", "mount", "--seconds", "600"], killed("k2hftfusesvr"), "k2hftfusesvr is gone")
            small_memory(scratch)
        for way in ("library", "mount", "mount-append") if MOUNTS else ("library",):
            receiver_away(scratch, way)
        if MOUNTS:
            mount_away(scratch)
        trouble(scratch, ["--by", "push", "--seconds", "600"], lambda running: running.send_signal(signal.SIGHUP),
                "interrupted")
        stuck(scratch)
        full_disk(scratch)
        first_failures(scratch)


main()
