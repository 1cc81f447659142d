#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The commands of k2hft-tutorial(7) run word for word, and print what the page says they do, but for times."""
import os
import re
import subprocess
import sys
import tempfile

ESCAPES = {"e": "\\", "-": "-", "(aq": "'"}
BUILD = os.path.abspath(os.environ.get("B", "build"))


def page_lines():
    with open("man/man7/k2hft-tutorial.7", encoding="utf-8") as file:
        text = file.read()
    for block in re.findall(r"^\.EX\n(.*?)^\.EE", text, re.M | re.S):
        for line in block.splitlines():
            yield re.sub(r"\\(\(..|.)", lambda found: ESCAPES[found.group(1)], line).strip("\n").removeprefix("    ")


def commands():
    """Pairs of a command and the lines that it prints."""
    lines, found = list(page_lines()), []
    while lines:
        line = lines.pop(0)
        if line.startswith("$ "):
            command = line[2:]
            if "<<END" in line:
                while not command.endswith("\nEND"):
                    command += "\n" + lines.pop(0)
            found.append((command, []))
        else:
            found[-1][1].append(line)
    return found


def said_as(said, wanted):
    """Times differ."""
    said, wanted = (re.sub(r"since \S+ \(\d+ s\)", "since", text) for text in (said, wanted))
    return said == wanted


def main():
    if not os.access("/dev/fuse", os.W_OK) or os.geteuid():
        print("SKIP: a mount, and a network of its own, need root and /dev/fuse")
        return 77
    if subprocess.run(["unshare", "-npf", "--mount-proc", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("SKIP: no right to make a network namespace")
        return 77
    pairs = commands()
    script = "set -u\nip link set lo up\n"
    for number, (command, _) in enumerate(pairs):
        script += f"echo '@{number}'\n{command}\n"
    with tempfile.TemporaryDirectory() as folder:
        # Whatever becomes of it, its processes end with it.
        run = subprocess.run(["unshare", "-npf", "--mount-proc", "--kill-child", "bash", "-c", script], cwd=folder, timeout=60, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env={**os.environ, "PATH": f"{BUILD}/bin:/usr/sbin:/sbin:{os.environ['PATH']}"})
        subprocess.run(["umount", "-l", f"{folder}/tutorial/mnt"], stderr=subprocess.DEVNULL, check=False)
    parts = dict(re.findall(r"@(\d+)\n(.*?)(?=@\d+\n|\Z)", run.stdout.decode(), re.S))
    for number, (command, wanted) in enumerate(pairs):
        said = parts.get(str(number))
        if said is None or not said_as(said.rstrip("\n"), "\n".join(wanted)):
            print(f"$ {command}\nprints:\n{said}\ninstead of:\n" + "\n".join(wanted))
            print(run.stderr.decode()[-3000:])
            return 1
    return 0


sys.exit(main())
