#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# On a terminal testio asks for everything if there are no arguments, shows its progress, and ends at Ctrl-C.
import json
import os
import pty
import sys
import tempfile

K2HFT = os.environ.get("B", "build") + "/bin/k2hft"


class Terminal:
    def __init__(self, *arguments):
        self.pid, self.side = pty.fork()
        if self.pid == 0:
            os.execv(K2HFT, ["k2hft", "testio", *arguments])
        self.said = ""

    def await_text(self, text):
        """Reads until it is there, and forgets what was before it."""
        print(f"awaits {text!r}", flush=True)  # the last one is where it stands
        while text not in self.said:
            try:
                more = os.read(self.side, 4096).decode()
            except OSError:
                more = ""
            if not more:
                sys.exit(f"no {text!r} in {self.said!r}")
            self.said += more
        self.said = self.said[self.said.index(text) + len(text):]

    def answer(self, question, text):
        self.await_text(question)
        os.write(self.side, (text + "\n").encode())

    def end(self):
        try:
            while more := os.read(self.side, 4096):
                self.said += more.decode()
        except OSError:
            pass
        os.close(self.side)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def main():
    # In memory: what others have on the way to the disk can hold up for minutes who syncs a file there.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        terminal = Terminal("--ask-all")
        for question, text in (("Directory to test (test.io is made there): ", folder), ("MB [500]: ", "0"),
                               ("is needed", ""), ("seconds [60]: ", ""), ("setting [5]: ", "1"),
                               ("KB [64,128,256,512,1024,2048,4096]: ", "64"), ("Threads [1,2,4,6,8]: ", "1,2"),
                               ("than threads [1]: ", "2"), ("cache [no]: ", ""), ("sync [buffered]: ", "rw"),
                               ("keep [drop]: ", ""), ("both [write]: ", "")):
            if question == "is needed":  # 0 MB are none: it asks again
                terminal.answer("MB [500]: ", "1")
            else:
                terminal.answer(question, text)
        terminal.await_text("# of THREADS |1        |2")
        terminal.await_text("WRITEBUF = 65536")
        assert terminal.end() == 0

        terminal = Terminal("-s", "100", "-n", "1000", "-t", "3600", "-b", "4", "-w", "1", "-o", "dsync", folder)
        terminal.await_text("write, 4 KB, 1 threads, run 1 of 1000: ")
        os.write(terminal.side, b"\x03")
        status = terminal.end()
        assert status == 130, status
        assert not os.listdir(folder), os.listdir(folder)

        # Cells that were measured before it are printed.
        with tempfile.TemporaryDirectory() as saved:
            tsv, results = os.path.join(saved, "tsv"), os.path.join(saved, "json")
            terminal = Terminal("-s", "100", "-n", "40", "-b", "16384,4", "-w", "1", "--tsv", tsv, "--json", results,
                                folder)
            terminal.await_text("write, 4 KB, 1 threads, run ")
            os.write(terminal.side, b"\x03")
            terminal.await_text("16384        |")
            terminal.await_text("4            |- ")
            terminal.await_text("best write: 16384 KB, 1 threads, ")
            status = terminal.end()
            assert status == 130, status
            with open(tsv, encoding="utf-8") as table:
                assert [line.split("\t")[1] for line in table] == ["buffer_kb", "16384"]
            with open(results, encoding="utf-8") as report:
                assert [cell["buffer_kb"] for cell in json.load(report)["results"]] == [16384]


main()
