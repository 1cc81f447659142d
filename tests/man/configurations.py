#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The configurations in the pages, in README.md and in examples/ are right: each whole one, as it is, has no error, and
# k2hft check finds nothing in it that has no effect, unless the page says that it is one of K2HFTFUSE.
import glob
import os
import re
import subprocess
import sys
import tempfile

ESCAPES = {"e": "\\", "-": "-", "(aq": "'", "(ha": "^", "(ti": "~", "(ga": "`"}
# Whole ones: a sender has rules, a receiver a directory.
WHOLE = re.compile(r"^\[K2HFTFUSE_RULE|^FILE_BASEDIR|^  K2HFTFUSE_RULE", re.M)
OLD = "# of K2HFTFUSE\n"


def page_blocks(path):
    if path.endswith("k2hft-tutorial.7"):  # there they are inside of commands, which tutorial.py runs
        return
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for match in re.finditer(r"^\.(?:EX|nf)\n(.*?)^\.(?:EE|fi)", text, re.M | re.S):
        shown = match.group(1).replace('.\\" of K2HFTFUSE\n', OLD)
        lines = [line for line in shown.splitlines(True) if not line.startswith(".")]
        plain = re.sub(r"\\(\(..|.)", lambda found: ESCAPES.get(found.group(1), ""), "".join(lines))
        yield text.count("\n", 0, match.start()) + 1, plain


def readme_blocks(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for match in re.finditer(r"(?:^(?: {4}.*)?\n)+", text, re.M):
        yield text.count("\n", 0, match.start()) + 2, re.sub(r"^ {4}", "", match.group(0), flags=re.M)


def example(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    k2hft = os.path.join(os.environ.get("B", "build"), "bin", "k2hft")
    failed = count = 0
    found = [("README.md", *block) for block in readme_blocks("README.md")]
    for path in sorted(glob.glob("man/man[578]/*")):
        found += [(path, *block) for block in page_blocks(path)]
    found += [(path, 1, example(path)) for path in sorted(glob.glob("examples/*.ini"))]
    with tempfile.TemporaryDirectory() as folder:
        key = os.path.join(folder, "key")
        subprocess.run([k2hft, "key", "-o", key], check=True, capture_output=True)
        headers = os.path.join(folder, "headers")
        with open(os.open(headers, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write("Authorization=Bearer x\n")
        # A block can show several files, each behind what is typed to see it, and what is typed then.
        parts = [(*block[:2], part) for block in found for part in re.split(r"^\$ .*\n", block[2], flags=re.M)]
        for path, line, text in parts:
            if not WHOLE.search(text):
                continue
            name = os.path.join(folder, "it.ini" if text.lstrip().startswith(("[", "#")) else "it.yaml")
            with open(name, "w", encoding="utf-8") as file:
                text = text.replace("/etc/k2hft/key", key).replace("/etc/k2hft/otlp.headers", headers)
                file.write(re.sub(r"^(FILE_BASEDIR\s*=\s*).*", rf"\1{folder}", text, flags=re.M))  # that anybody may use
            count += 1
            strict = [] if text.startswith(OLD) else ["--strict"]
            done = subprocess.run([k2hft, "check", *strict, name], capture_output=True, text=True, check=False)
            if done.returncode or "warning" in done.stdout:
                print(f"{path}:{line}:\n{done.stdout}{done.stderr}")
                failed += 1
    print(f"{count} configurations")
    sys.exit(1 if failed or count < 18 else 0)


main()
