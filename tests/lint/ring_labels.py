#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The ring's synchronisation can be audited: each release and acquire carries the label of its edge in the table of
# lib/ring/ring.c, each edge has both ends in the code, and each relaxed access says why that is enough.
import re

from common import code_of, finish, sources, text_of

ESSAY = "lib/ring/ring.c"
NEAR = 5  # lines from the end of an access back to its label
ORDER = re.compile(r"memory_order_(\w+)")
PLAIN = re.compile(r"\batomic_(load|store|exchange|fetch_[a-z]+|compare_exchange_(weak|strong))\s*\(")
LABEL = re.compile(r"\b([RA])(\d+)\b")
NEEDS = {"acquire": "A", "release": "R", "acq_rel": "RA", "seq_cst": "", "relaxed": ""}


def comments_of(path):
    """Lines of the file with all but its comments blanked."""
    text, code = text_of(path), code_of(path)
    kept = (c if code[at] != c or c == "\n" else " " for at, c in enumerate(text))
    return "".join(kept).split("\n")


def functions(code):
    """(first, last) line of each function body, 1-based."""
    start = None
    for number, line in enumerate(code.split("\n"), 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            yield start, number
            start = None


def check_orders(path, found, findings):
    comments, code = comments_of(path), code_of(path)
    whole = any("relaxed, all of this file:" in line for line in comments)
    for first, last in functions(code):
        excused = whole or any("relaxed" in line for line in comments[first - 1:last])
        for number in range(first, last + 1):
            if PLAIN.search(code.split("\n")[number - 1]):
                findings.append(f"{path}:{number}: an atomic access that does not name its order")
            for order in ORDER.findall(code.split("\n")[number - 1]):
                near = "\n".join(comments[max(first - 1, number - 1 - NEAR):number])
                labels = LABEL.findall(near)
                ends = {end for end, _ in labels}
                if order == "relaxed" and not excused:
                    findings.append(f"{path}:{number}: a relaxed access without its reason")
                if not set(NEEDS.get(order, "?")) <= ends or (order == "seq_cst" and not ends):
                    findings.append(f"{path}:{number}: memory_order_{order} without the label of its edge")
                if order != "relaxed":
                    found.update((end, int(edge)) for end, edge in labels)


def main():
    findings, found = [], set()
    for path in sources(".c", ".h", folders=("lib",)):
        if re.fullmatch(r"lib/ring/\w+\.[ch]", path):
            check_orders(path, found, findings)
    table = {int(number) for number in re.findall(r"^ \*\s+(\d+)   \w", text_of(ESSAY), re.M)}
    for edge in sorted(table | {edge for _, edge in found}):
        if edge not in table:
            findings.append(f"{ESSAY}: edge {edge} is not in the table")
        for end in "RA":
            if (end, edge) not in found:
                findings.append(f"lib/ring: edge {edge} has no {end}{edge} in the code")
    if len(table) < 2:
        findings.append(f"{ESSAY}: the table of edges was not found")
    finish(findings)


main()
