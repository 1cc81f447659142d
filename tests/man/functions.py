#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Every exported function has a page in section 3 that shows its prototype as the headers have it and names the errors that
# the comment before it names, and that comment says since when it is there; no page is about a function that is not there.
import glob
import os
import re
import sys


def page_text(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    link = re.match(r"\.so (\S+)", text)
    return page_text(os.path.join("man", link.group(1))) if link else text


def plain(roff):
    """Text without requests' names, fonts and escapes, blanks joined: what a reader sees, roughly."""
    text = re.sub(r"\\f(\[\w*\]|.)", "", roff)
    text = re.sub(r'^[.\'](BI|BR|IB|IR|RB|RI|B|I|SM|SB)\s+(.*)$', lambda m: re.sub(
        r'"([^"]*)"|(\S+)\s*', lambda a: a.group(1) if a.group(1) is not None else a.group(2), m.group(2)), text, flags=re.M)
    text = re.sub(r"\\[&|^/,]", "", text)
    text = re.sub(r"\\-", "-", text)
    return re.sub(r"\s+", "", text)


def prototypes():
    found = {}
    for path in glob.glob("include/k2hft/*.h"):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        for match in re.finditer(r"K2HFT_API\s+([^;]*?\b(k2hft_\w+)\([^;]*\));", text):
            found[match.group(2)] = re.sub(r"\s+", "", match.group(1))
    return found


def declarations():
    """(header's text, comment, functions that are declared behind it)"""
    for path in glob.glob("include/k2hft/*.h"):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for comment, declared in re.findall(r"/\*((?:(?!\*/).)*)\*/((?:\s*K2HFT_API[^;/]*;)+)", text, re.S):
            yield text, comment, re.findall(r"\b(k2hft_\w+)\(", declared)


def undated():
    """Functions without "since VERSION", in the comment before them or for the whole header in an earlier one."""
    for text, comment, functions in declarations():
        if not re.search(r"All of them since \d+\.\d+\.\d+\.", text) and not re.search(r"Since \d+\.\d+\.\d+\.", comment):
            yield from (f"{name}: since when is it there?" for name in functions)


def errors_missing():
    """Errors that a header names and the page does not."""
    for _, comment, functions in declarations():
        for name in functions:
            path = f"man/man3/{name}.3"
            page = plain(page_text(path)) if os.path.exists(path) else comment
            yield from (f"{path}: no {error}" for error in re.findall(r"-E[A-Z]{3,}", comment) if error not in page)


def main():
    exported = []
    for path in glob.glob("lib/*.map"):
        with open(path, encoding="utf-8") as file:
            exported += re.findall(r"^\t(k2hft_\w+);", file.read(), re.M)
    findings = list(undated()) + list(errors_missing())
    declared = prototypes()
    for function in exported:
        path = f"man/man3/{function}.3"
        if not os.path.exists(path):
            findings.append(f"{function}: no {path}")
            continue
        text = page_text(path)
        seen = plain(text)
        name_section = re.search(r'^\.SH "?NAME"?\n(.*?)^\.SH', text, re.S | re.M)
        if not name_section or function not in plain(name_section.group(1)):
            findings.append(f"{path}: NAME does not name {function}")
        if function in declared and declared[function] not in seen:
            findings.append(f"{path}: SYNOPSIS does not have: {declared[function]}")
    for path in glob.glob("man/man3/k2hft_*.3"):
        if os.path.basename(path)[:-2] not in exported:
            findings.append(f"{path}: no such function is exported")
    print("\n".join(findings))
    sys.exit(1 if findings or not exported else 0)


main()
