#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Sizes at which code is still read in one go: functions 60 lines, main 150, files 700, the Makefile 250.
import re

from common import code_of, finish, sources, text_of

FILE_LINES, FUNCTION_LINES, MAIN_LINES, MAKEFILE_LINES = 700, 60, 150, 250


def functions(code):
    """(first line, last line, name) of each function: its braces stand in the first column, as the format has them."""
    lines = code.split("\n")
    begin = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{"):
            begin = number
            while begin > 1 and lines[begin - 2].strip() and not re.search(r"[;}]\s*$|^#", lines[begin - 2]):
                begin -= 1
        elif line.startswith("}") and begin:
            name = re.search(r"(\w+)\s*\(", " ".join(lines[begin - 1:number]))
            yield begin, number, name.group(1) if name else "?"
            begin = None


def main():
    findings = []
    for path in sources(".c", ".h", ".py", ".sh"):
        lines = text_of(path).count("\n")
        if lines > FILE_LINES:
            findings.append(f"{path}: {lines} lines, more than {FILE_LINES}")
        for begin, end, name in functions(code_of(path)) if path.endswith((".c", ".h")) else ():
            limit = MAIN_LINES if name == "main" else FUNCTION_LINES
            if end - begin > limit:
                findings.append(f"{path}:{begin}: {name} has {end - begin} lines, more than {limit}")
    lines = text_of("Makefile").count("\n")
    if lines > MAKEFILE_LINES:
        findings.append(f"Makefile: {lines} lines, more than {MAKEFILE_LINES}")
    finish(findings)


main()
