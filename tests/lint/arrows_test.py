#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Self-test of arrows.py, in a small made-up tree: what is right passes, and a call upwards, a circle of calls, a private
# header, a hidden name of the library and a circle in the table are each named.
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = """fuse | | fuse/low include/k2hft lib/base
fuse/low | low.h | lib/base
include/k2hft | |
lib/ring | <k2hft/ring.h> | lib/base
lib/base | base.h |
"""
TREE = {
    "tests/lint/arrows.txt": TABLE,
    "lib/k2hft.map": "K2HFT_0 {\n\tk2hft_ring;\n};\n",
    "include/k2hft/ring.h": "int k2hft_ring(void);\n",
    "lib/base/base.h": "int k2i_base(void);\n",
    "lib/base/base.c": '#include "base/base.h"\nint k2i_base(void) { return 0; }\n',
    "lib/ring/ring.c": '#include <k2hft/ring.h>\n#include "base/base.h"\nint k2i_hidden(void);\n'
                       "int k2i_hidden(void) { return 1; }\nint k2hft_ring(void) { return k2i_base(); }\n",
    "fuse/low/low.h": "#pragma once\nint k2i_low(void);\n",
    "fuse/low/private.h": '#pragma once\n#include "fuse/low/low.h"\nint k2i_private(void);\n',
    "fuse/low/low.c": '#include "fuse/low/low.h"\n#include "fuse/low/private.h"\n#include "base/base.h"\n'
                      "int k2i_low(void) { return k2i_private() + k2i_base(); }\n",
    "fuse/low/private.c": '#include "fuse/low/private.h"\nint k2i_private(void) { return 2; }\n',
    "fuse/main.c": '#include <k2hft/ring.h>\n#include "base/base.h"\n#include "fuse/low/low.h"\nint k2i_top(void);\n'
                   "int k2i_top(void) { return 3; }\n"
                   "int main(void) { return k2i_low() + k2hft_ring() + k2i_base(); }\n",
}
BASE = "int k2i_base(void) { return 0; }\n"
CASES = {  # name: file, its text, what is said
    "a call upwards": ("lib/base/base.c", "int k2i_top(void);\nint k2i_low(void);\nint k2i_base(void);\n"
                       "int k2i_base(void) { return k2i_top(); }\n",
                       "lib/base/base.c: calls k2i_top, which nothing that is linked with it defines"),
    "a call upwards in a program": ("fuse/low/private.c", "int k2i_top(void);\nint k2i_private(void);\n"
                                    "int k2i_private(void) { return k2i_top(); }\n",
                                    "fuse/low/private.c: calls k2i_top of fuse/main.c: fuse/low does not use fuse"),
    "a circle of calls": ("fuse/low/private.c", "int k2i_low(void);\nint k2i_private(void);\n"
                          "int k2i_private(void) { return k2i_low(); }\n",
                          "a circle of 2 files: fuse/low/low.c calls k2i_private of fuse/low/private.c, "
                          "which calls k2i_low of fuse/low/low.c"),
    "a circle of includes": ("fuse/low/low.h", '#pragma once\n#include "fuse/low/private.h"\nint k2i_low(void);\n',
                             "a circle of 2 files: fuse/low/low.h includes fuse/low/private.h, "
                             "which includes fuse/low/low.h"),
    "a private header": ("fuse/main.c", '#include "fuse/low/private.h"\n' + TREE["fuse/main.c"],
                         "fuse/main.c:1: fuse/low/private.h is private to fuse/low"),
    "an include upwards": ("lib/base/base.c", '#include "fuse/low/low.h"\n' + TREE["lib/base/base.c"],
                           "lib/base/base.c:1: includes fuse/low/low.h: lib/base does not use fuse/low"),
    "a hidden name": ("fuse/main.c", "int k2i_hidden(void);\n" + TREE["fuse/main.c"].replace("3;", "k2i_hidden();"),
                      "fuse/main.c: calls k2i_hidden of lib/ring/ring.c: fuse does not use lib/ring"),
    "a circle of folders": ("tests/lint/arrows.txt", TABLE.replace("base.h |", "base.h | lib/ring"),
                            "tests/lint/arrows.txt: lib/base uses lib/ring, which is no folder of a line below"),
    "an arrow too many": ("tests/lint/arrows.txt", TABLE.replace("| fuse/low inc", "| lib/ring fuse/low inc"),
                          "tests/lint/arrows.txt: nothing of fuse uses lib/ring"),
    "a foreign header": ("fuse/main.c", "#include <event.h>\n" + TREE["fuse/main.c"],
                         "fuse/main.c:1: <event.h> belongs to (receiver|tools/serve)/.*"),
}


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as file:
        file.write(text)


def said(root):
    for path in (path for path in TREE if path.endswith(".c")):
        out = os.path.join(root, "build/obj", path[:-1] + "o")
        os.makedirs(os.path.dirname(out), exist_ok=True)
        code = subprocess.run(["sed", "/<event.h>/d", path], cwd=root, stdout=subprocess.PIPE, check=True).stdout
        subprocess.run([os.environ.get("CC", "cc"), "-Iinclude", "-iquote", "lib", "-iquote", ".", "-xc", "-c", "-o", out,
                        "-"], cwd=root, input=code, check=True)
    run = subprocess.run([sys.executable, os.path.join(HERE, "arrows.py")], cwd=root, stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "B": "build"}, check=False)
    return run.returncode, run.stdout.splitlines()


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as root:
        for path, text in TREE.items():
            write(root, path, text)
        if said(root) != (0, []):
            failed += 1
            print(f"the tree itself: {said(root)}")
        for name, (path, text, wanted) in CASES.items():
            write(root, path, text)
            status, lines = said(root)
            write(root, path, TREE[path])
            if status != 1 or wanted not in lines:
                failed += 1
                print(f"{name}: {status} {lines}")
    sys.exit(1 if failed else 0)


main()
