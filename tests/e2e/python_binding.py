#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python module: a program of ten lines logs 100,000 records that arrive once; a child, several threads, blocks and
errors; and its structures have the layout of the headers."""
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.getcwd()
BUILD = os.path.abspath(os.environ.get("B", "build"))
if os.environ.get("SANITIZER"):
    print("SKIP: a sanitizer's library needs a program that was built with it")
    sys.exit(77)
if os.environ.get("PYTHONPATH") != f"{ROOT}/bindings/python":
    os.environ.update(PYTHONPATH=f"{ROOT}/bindings/python", LD_LIBRARY_PATH=f"{BUILD}/lib", PYTHONDONTWRITEBYTECODE="1")
    os.execv(sys.executable, [sys.executable, *sys.argv])
import k2hft  # noqa: E402  (found by the line above)

PROGRAM = """
import logging, sys, k2hft
logging.basicConfig(handlers=[k2hft.Handler(sys.argv[1], "app/app.log")], format="%(message)s", level=logging.INFO)
for number in range(100000):
    logging.info("record %d", number)
"""
LAYOUT = """
#include <stdio.h>
#include <k2hft/k2hft.h>
#define FIELD(type, field) printf("%s %s %zu\\n", #type, #field, offsetof(struct type, field));
int main(void)
{
	printf("k2hft_sender_options - %zu\\n", sizeof(struct k2hft_sender_options));
	printf("k2hft_sender_stats - %zu\\n", sizeof(struct k2hft_sender_stats));
	printf("k2hft_tls_options - %zu\\n", sizeof(struct k2hft_tls_options));
	printf("k2hft_target - %zu\\n", sizeof(struct k2hft_target));
	@FIELDS@
	printf("level %u %u %u\\n", K2HFT_LEVEL_RECEIVED, K2HFT_LEVEL_WRITTEN, K2HFT_LEVEL_SYNCED);
	printf("compress %u %u %u\\n", K2HFT_COMPRESS_AUTO, K2HFT_COMPRESS_NEVER, K2HFT_COMPRESS_ALWAYS);
	printf("full %u %u %u\\n", K2HFT_FULL_BLOCK, K2HFT_FULL_FAIL, K2HFT_FULL_DROP);
	printf("spread %u %u %u\\n", K2HFT_SPREAD_HASH, K2HFT_SPREAD_RANDOM, K2HFT_SPREAD_ALL);
	return 0;
}
"""
STRUCTURES = {"k2hft_sender_options": k2hft._Options, "k2hft_sender_stats": k2hft._Stats,
              "k2hft_tls_options": k2hft._Tls, "k2hft_target": k2hft._Target}


class Receiver:
    def __init__(self, folder):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.folder, self.output = folder, f"{folder}/out"
        os.makedirs(self.output)
        with open(f"{folder}/conf", "w", encoding="ascii") as conf:
            conf.write(f"[GLOBAL]\nPORT = {self.port}\n[K2HFTFUSESVR]\nTYPE = file\nLISTEN = 127.0.0.1\n"
                       f"FILE_BASEDIR = {self.output}\n")
        self.process = subprocess.Popen([f"{BUILD}/bin/k2hftfusesvr", "-conf", f"{folder}/conf", "-d", "err"])
        for _ in range(1000):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except OSError:
                time.sleep(0.02)
        self.name = f"127.0.0.1:{self.port}"

    def read(self, path):
        with open(f"{self.output}/{path}", "rb") as file:
            return file.read()


def check_layout(folder):
    fields = "\n".join(f"FIELD({name}, {field[0]})" for name, kind in STRUCTURES.items() for field in kind._fields_)
    with open(f"{folder}/layout.c", "w", encoding="ascii") as source:
        source.write(LAYOUT.replace("@FIELDS@", fields))
    subprocess.run(["cc", "-I", f"{ROOT}/include", "-o", f"{folder}/layout", f"{folder}/layout.c"], check=True)
    said = subprocess.run([f"{folder}/layout"], check=True, stdout=subprocess.PIPE).stdout.decode().split("\n")
    import ctypes
    mine = [f"{name} - {ctypes.sizeof(STRUCTURES[name])}" for name in STRUCTURES]
    mine += [f"{name} {field[0]} {getattr(kind, field[0]).offset}" for name, kind in STRUCTURES.items()
             for field in kind._fields_]
    mine += ["level {received} {written} {synced}".format(**k2hft.LEVEL),
             "compress {auto} {never} {always}".format(**k2hft.COMPRESS),
             "full {block} {fail} {drop}".format(**k2hft.FULL),
             "spread {hash} {random} {all}".format(**k2hft.SPREAD), ""]
    assert said == mine, set(said) ^ set(mine)


def check_handler(receiver):
    subprocess.run([sys.executable, "-c", PROGRAM, receiver.name], check=True, timeout=120)
    assert receiver.read("app/app.log") == b"".join(b"record %d\n" % number for number in range(100000))


def check_child(receiver):
    program = """
import logging, os, sys, k2hft
handler = k2hft.Handler(sys.argv[1], "child.log")
logging.basicConfig(handlers=[handler], format="%(message)s")
logging.warning("parent")
child = os.fork()
if child == 0:
    logging.warning("child")
    try:
        1 / 0
    except ZeroDivisionError:
        logging.exception("of the child")
    logging.shutdown()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
logging.warning("parent again")
"""
    subprocess.run([sys.executable, "-c", program, receiver.name], check=True, timeout=120)
    lines = receiver.read("child.log").split(b"\n")
    assert lines[-1] == b"" and lines.count(b"parent") == lines.count(b"child") == lines.count(b"parent again") == 1, lines
    assert b"ZeroDivisionError: division by zero" in lines and b"of the child" in lines, lines


def check_threads(receiver):
    with k2hft.Sender(receiver.name) as sender:
        writer = sender.writer("threads.log")
        threads = [threading.Thread(target=lambda name=name: [writer.write(f"{name} {number}") for number in range(5000)])
                   for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        blocks = sender.writer("blocks", binary=True)
        blocks.write(b"\0\1\n")
        blocks.write(b"\xff")
        with sender.writer("lines") as lines:
            lines.lines("cut ")
            lines.lines("anywhere\nno end")
        sender.flush(60)
        assert sender.stats()["unacked_records"] == 0 and sender.stats()["written_records"] == 20004, sender.stats()
    lines = receiver.read("threads.log").decode().splitlines()
    for name in "abcd":
        assert [line for line in lines if line[0] == name] == [f"{name} {number}" for number in range(5000)]
    assert receiver.read("blocks") == b"\0\1\n\xff" and receiver.read("lines") == b"cut anywhere\nno end"


def raised(kind, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except kind as error:
        return error
    raise AssertionError((function, arguments, options))


def check_errors(receiver, folder):
    assert k2hft.receiver_split("[::1]:7") == ("::1", "7") and k2hft.receiver_split("::1") == ("::1", "8020")
    assert k2hft.receiver_split("host") == ("host", "8020")
    raised(ValueError, k2hft.Sender, "[::1")
    raised(ValueError, k2hft.Sender, receiver.name, full="sometimes")
    assert raised(OSError, k2hft.Sender, receiver.name, ring_path=f"{folder}/no/where").errno == 2
    sender = k2hft.Sender(receiver.name, full="fail", ring_bytes=65536)
    assert raised(OSError, sender.writer, "../up").errno == 22
    writer = sender.writer("errors")
    assert raised(OSError, writer.write, "a\nb").errno == 22 and "lines()" in str(raised(OSError, writer.write, "a\n"))
    sender.close()
    raised(ValueError, writer.write, "late")
    raised(ValueError, sender.flush)
    sender.close()
    away = k2hft.Sender("127.0.0.1:1", full="fail", ring_bytes=65536)
    writer = away.writer("full")
    assert raised(OSError, lambda: [writer.write("x" * 1000) for _ in range(1000)]).errno == 11
    assert isinstance(raised(OSError, away.flush, 0.01), TimeoutError)
    raised(TimeoutError, away.close, 0)


def check_several(folder):
    receivers = [Receiver(f"{folder}/{name}") for name in "ab"]
    try:
        with k2hft.Sender([receiver.name for receiver in receivers], spread="all") as sender:
            sender.writer("copy").write("to both")
        for receiver in receivers:
            assert receiver.read("copy") == b"to both\n"
    finally:
        for receiver in receivers:
            receiver.process.kill()
            receiver.process.wait()


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_layout(folder)
        receiver = Receiver(f"{folder}/receiver")
        try:
            check_handler(receiver)
            check_child(receiver)
            check_threads(receiver)
            check_errors(receiver, folder)
            check_several(folder)
        finally:
            receiver.process.terminate()
            assert receiver.process.wait() == 0


main()
