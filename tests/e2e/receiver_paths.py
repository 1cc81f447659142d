#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile stream paths, over 40 of them, and links that come and go meanwhile: nothing is written outside FILE_BASEDIR, the
connection's other stream is stored if the path was no broken rule, and no line of the log is forged."""
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

from common.receiver import Receiver

BUILD = os.environ.get("B", "build")
REFUSED, ASIDE, STORED = "refused", "put aside", "stored"
LONG = b"n" * 255

PATHS = [
    (b"..", REFUSED), (b"../outside", REFUSED), (b"../outside/x", REFUSED), (b"a/../../outside/x", REFUSED),
    (b"a/..", REFUSED), (b"a/../b", REFUSED), (b"a/b/../../../x", REFUSED), (b".", REFUSED), (b"./x", REFUSED),
    (b"a/./b", REFUSED), (b"a/.", REFUSED), (b"", REFUSED), (b"/", REFUSED), (b"//", REFUSED), (b"/x", REFUSED),
    (b"//x", REFUSED), (b"x/", REFUSED), (b"a//b", REFUSED), (b"/etc/passwd", REFUSED), (b"/dev/stdin", REFUSED),
    (b"/proc/self/cwd/x", REFUSED), (b"@OUTSIDE@/x", REFUSED), (b"x\0", REFUSED), (b"\0", REFUSED),
    (b"good\0/../../outside/x", REFUSED), (b"n" * 256, REFUSED), (b"a/" + b"n" * 300 + b"/b", REFUSED),
    (b"n" * 4000, REFUSED), (b"d/" * 512 + b"x", REFUSED),
    (b"link", ASIDE), (b"link/x", ASIDE), (b"absolute/x", ASIDE), (b"self/x", ASIDE), (b"up/outside/x", ASIDE),
    (b"d/link/x", ASIDE), (b"d/e/link/x", ASIDE), (b"d/e/file-link", ASIDE), (b"dangling", ASIDE), (b"proc/x", ASIDE),
    (b"stdin", ASIDE), (b"fifo", ASIDE), (b"socket", ASIDE), (b"directory", ASIDE), (b"file/x", ASIDE),
    (b"null", ASIDE), (b"d/" * 40 + b"x", ASIDE), (b".k2hft/ledger", ASIDE), (b".k2hft/x/y", ASIDE), (b".k2hft", ASIDE),
    (b"...", STORED), (b"..x", STORED), (b"a\\..\\b", STORED), (b"~root", STORED), (b"$(touch x)", STORED),
    (b"-rf", STORED), (b"%2e%2e%2foutside", STORED), (b"*", STORED), (b"LINK", STORED), (b"Link/x", STORED),
    (b"line\nk2hftfusesvr: session: forged", STORED), (b"\x1b]0;title\x07\x1b[2J", STORED), (b"\r\t\x7f", STORED),
    (b"\xc2\x9b31m", STORED), (b"\xff\xfe", STORED), (b"\xe2\x80\xae\xe2\x80\x8b", STORED),
    (b"\xc0\xae\xc0\xae/x", STORED), (b"\xef\xbc\x8e\xef\xbc\x8e/x", STORED), (b"sp ace/ ", STORED),
    (LONG, STORED), (b"/".join([b"m" * 255] * 3), STORED), (b"d/" * 31 + b"deep", STORED),
]


def fail(text):
    print("FAILED:", text)
    sys.exit(1)


def tree(directory):
    """Everything in it, what it is and what it says."""
    found = {}
    for parent, directories, files in os.walk(directory):
        for name in directories + files:
            path = os.path.join(parent, name)
            status = os.lstat(path)
            content = None
            if stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            found[path] = (status.st_mode, status.st_size if content is not None else 0, content)
    return found


def furnish(out, outside):
    """What an earlier life or a local user may have left below the base."""
    for directory in ("d/e", "directory"):
        os.makedirs(os.path.join(out, directory))
    links = {"link": "../outside", "absolute": outside, "self": ".", "up": "..", "d/link": "../../outside",
             "d/e/link": "../../../outside", "d/e/file-link": "../../../outside/target", "dangling": "../outside/new",
             "proc": "/proc/self/cwd", "stdin": "/dev/stdin", "null": "/dev/null"}
    for name, target in links.items():
        os.symlink(target, os.path.join(out, name))
    os.mkfifo(os.path.join(out, "fifo"))
    listener = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(out)
    listener.bind("socket")
    os.chdir(here)
    with open(os.path.join(out, "file"), "wb") as file:
        file.write(b"file\n")
    if os.geteuid() == 0:
        try:
            os.mknod(os.path.join(out, "device"), stat.S_IFCHR | 0o600, os.makedev(1, 3))
            PATHS.append((b"device", ASIDE))
        except PermissionError:
            print("no device: it can't be made here")


def send(receiver, ring, lines):
    script = "\n".join([f"connect {receiver.port}", f"hello {ring} 1 0", "welcome", *lines]) + "\n"
    return subprocess.run([f"{BUILD}/tests/tools/wire_send"], input=script.encode(), capture_output=True, check=False)


def path_try(receiver, out, number, path, expected):
    good = f"good{number}"
    last = ["error", "closed"] if expected == REFUSED else ["ack"]
    sent = send(receiver, f"ring{number}", [f"path 1 {path.hex()}", f"stream 2 text {good}", f"chunk 1 0 bad{number}\\n",
                                            "chunk 2 0 good\\n", "flush", *last])
    if sent.returncode:
        fail(f"{path} is not {expected}: {sent.stdout} {sent.stderr}")
    if expected == REFUSED:
        if b"error 1 STREAM is malformed" not in sent.stdout:
            fail(f"{path}: {sent.stdout}")
        return
    with open(os.path.join(out, good), "rb") as file:
        if file.read() != b"good\n":
            fail(f"{path}: the stream beside it is not stored")
    if expected == STORED:
        with open(os.path.join(out.encode(), path), "rb") as file:
            if file.read() != f"bad{number}\n".encode():
                fail(f"{path} is not stored")


def swap(out, outside, ending):
    """Each level of swap/a/b is a directory now and a link to the outside then."""
    levels = [os.path.join(out, level) for level in ("swap", "swap/a", "swap/a/b")]
    while not ending.is_set():
        for level in levels:
            try:
                os.makedirs(level, exist_ok=True)
                os.rename(level, level + ".away")
                os.symlink(outside, level)
                time.sleep(0.0005)
                os.unlink(level)
                os.rename(level + ".away", level)
            except OSError:
                # The receiver has made it anew meanwhile.
                subprocess.run(["rm", "-rf", level, level + ".away"], check=True)


def swaps_try(receiver, out, outside):
    ending = threading.Event()
    thread = threading.Thread(target=swap, args=(out, outside, ending))
    thread.start()
    try:
        for turn in range(30):
            lines = [f"stream {stream} text swap/a/b/s{turn}-{stream}" for stream in range(1, 11)]
            for _ in range(20):
                lines += [f"chunk {stream} 0 bad\\n" for stream in range(1, 11)] + ["flush"]
            sent = send(receiver, f"swap{turn}", lines + ["ack"])
            if sent.returncode:
                fail(f"swap {turn}: {sent.stdout} {sent.stderr}")
    finally:
        ending.set()
        thread.join()


def main():
    with tempfile.TemporaryDirectory() as directory:
        out, outside = os.path.join(directory, "out"), os.path.join(directory, "outside")
        os.mkdir(out)
        os.mkdir(outside)
        with open(os.path.join(outside, "target"), "wb") as file:
            file.write(b"as it was\n")
        furnish(out, outside)
        before = tree(outside)
        receiver = Receiver(directory, "SOCKTHREADCNT = 2\nSSL = no")
        try:
            for number, (path, expected) in enumerate(PATHS):
                path_try(receiver, out, number, path.replace(b"@OUTSIDE@", outside.encode()), expected)
            swaps_try(receiver, out, outside)
            receiver.process.send_signal(signal.SIGUSR1)
            receiver.logged(rb" quarantined_chunks=[1-9]")
            receiver.end()
        finally:
            receiver.kill()
        if tree(outside) != before:
            fail(f"outside: {sorted(tree(outside))}")
        if sorted(os.listdir(directory)) != ["conf", "log", "out", "outside"]:
            fail(f"beside the base: {os.listdir(directory)}")
        for line in receiver.said().split(b"\n")[:-1]:
            if not line.startswith(b"k2hftfusesvr: ") or re.search(rb"[\x00-\x1f\x7f]", line):
                fail(f"a forged line: {line}")
        print(f"{len(PATHS)} paths")


main()
