#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Constructs that the project does without, and what is used instead.
import re

from common import code_of, finish, sources, text_of

PROGRAMS = ("include", "lib", "fuse", "receiver", "tools", "examples")
LIBRARY = ("lib/",)
BANNED = (  # pattern, where, why
    (r"\bvolatile\b", None, "C11 atomics say what is meant"),
    (r"\b__(atomic|sync)_\w+", None, "<stdatomic.h>"),
    (r"\b(asm|__asm__|__asm)\b", None, "no assembler"),
    (r"\b(sprintf|vsprintf|strcpy|strcat|gets|stpcpy)\s*\(", None, "a function that knows how much room there is"),
    (r"\b(alloca|strdupa|strtok)\s*\(", None, "memory of known size; strtok_r"),
    (r"\b(system|popen)\s*\(", None, "no shell"),
    (r"\b(rand|srand|random|drand48)\s*\(", None, "getrandom(2)"),
    (r"\b(atoi|atol|atoll|atof)\s*\(", None, "a conversion that reports errors"),
    (r"\b(close_range|strerror\w+_np|pthread_cond_clockwait)\s*\(", None,
     "musl has it not: syscall(2), strerror, pthread_condattr_setclock"),
    (r"\btypedef\s+(struct|union)\b", None, "struct names are written out"),
    (r"\b(printf|puts|putchar|perror|vprintf)\s*\(|\bstderr\b|\bstdout\b", LIBRARY, "a library prints nothing"),
    (r"\b(exit|_exit|abort|quick_exit)\s*\(", LIBRARY, "a library never exits"),
)
# Names that glibc's headers have and musl's do not: pattern, the header that has them everywhere.
NEEDED = ((r"\bFALLOC_FL_(?!KEEP_SIZE\b|PUNCH_HOLE\b)\w+", "<linux/falloc.h>"),)
# The first prints, exits and logs: that is its job. The second has a child that exits.
EXCEPTIONS = (r"lib/app/program/daemon\.c", r"lib/app/plugin/process\.c")
MARKERS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def guard_of(path):
    """A header's guard says its path: two headers with one guard hide each other."""
    inner = re.sub(r"^lib/", "k2i/", path) if path.startswith("lib/") else "k2i/" + path
    return re.sub(r"\W", "_", re.sub(r"^k2i/include/", "", inner)).upper()


def crash_points():
    """K2I_CRASH dies by name: a name that no table has would never be tried."""
    tabled = {name for path in sources(".def") for name in re.findall(r"^K2I_CRASH_POINT\((\w+)", text_of(path), re.M)}
    used = {name for path in sources(".c", folders=PROGRAMS) for name in re.findall(r"\bK2I_CRASH\((\w+)\)", text_of(path))}
    return [f"{name}: a crash point without a row in a crash.def, or a row without one" for name in tabled ^ used]


def main():
    findings = crash_points()
    for path in sources(".h"):
        if f"#ifndef {guard_of(path)}\n#define {guard_of(path)}\n" not in text_of(path):
            findings.append(f"{path}: its guard is not {guard_of(path)}")
    for path in sources(".c", ".h", ".def", folders=PROGRAMS + ("tests",)):
        code = code_of(path)
        for pattern, where, instead in BANNED:
            if where and (not path.startswith(where) or any(re.fullmatch(e, path) for e in EXCEPTIONS)):
                continue
            for match in re.finditer(pattern, code):
                line = code.count("\n", 0, match.start()) + 1
                findings.append(f"{path}:{line}: {match.group(0).strip()}: {instead}")
        for pattern, header in NEEDED:
            match = re.search(pattern, code)
            if match and header not in code:
                line = code.count("\n", 0, match.start()) + 1
                findings.append(f"{path}:{line}: {match.group(0)}: without {header}, which musl needs")
        if not text_of(path).startswith("/* SPDX-License-" "Identifier: MIT */"):
            findings.append(f"{path}:1: no line that names the licence")
    for path in sources(".c", ".h", ".def", ".sh", ".py") + ["Makefile", "tests/run", "pkgconfig/install-deps"]:
        if path == "tests/lint/constructs.py":
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if MARKERS.search(line):
                findings.append(f"{path}:{number}: unfinished: {line.strip()}")
            if re.search(r"[ \t]+$", line):
                findings.append(f"{path}:{number}: blanks at the end of the line")
    finish(findings)


main()
