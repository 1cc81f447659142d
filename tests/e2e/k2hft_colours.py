#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Verdicts of check, verify and stat have a colour on a terminal, and nowhere else: not with NO_COLOR, nor on a dumb one.
import os
import pty
import subprocess
import tempfile

K2HFT = os.path.abspath(os.path.join(os.environ.get("B", "build"), "bin", "k2hft"))
RED, GREEN, END = "\033[31m", "\033[32m", "\033[0m"


def shown(*arguments, **environment):
    """What a terminal gets."""
    terminal, side = pty.openpty()
    with subprocess.Popen([K2HFT, *arguments], stdout=side, stderr=side,
                          env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **environment}):
        os.close(side)
        said = b""
        try:
            while part := os.read(terminal, 4096):
                said += part
        except OSError:  # how a terminal ends
            pass
    os.close(terminal)
    return said.decode()


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/conf", "w", encoding="utf-8") as conf:
            conf.write("[GLOBAL]\nPORT = wrong\n")
        subprocess.run([K2HFT, "verify", "--make", "-n", "100", f"{folder}/records"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([K2HFT, "push", "-q", "-r", "127.0.0.1:1", "--ring", f"{folder}/ring", "--timeout", "1"],
                       stdin=subprocess.DEVNULL, check=False)
        commands = ((("check", f"{folder}/conf"), f"{RED}error{END}"), (("verify", f"{folder}/records"), f"{GREEN}fine{END}"),
                    (("verify", f"{folder}/conf"), f"{RED}NOT fine, no records{END}"),
                    (("stat", f"{folder}/ring"), f"{GREEN}fine: nothing waits{END}"))
        for command, verdict in commands:
            assert verdict in shown(*command), (command, shown(*command))
            assert "\033" not in shown(*command, NO_COLOR="1") + shown(*command, TERM="dumb"), command
            assert b"\033" not in subprocess.run([K2HFT, *command], stdout=subprocess.PIPE, check=False).stdout, command


main()
