# SPDX-License-Identifier: MIT
"""What the lint scripts share: the list of sources, C text without comments and strings, how findings are told."""
import os
import re
import sys

FOLDERS = ("include", "lib", "fuse", "receiver", "tools", "tests", "examples")
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)


def sources(*endings, folders=FOLDERS):
    """Paths below the project's folders, sorted."""
    found = []
    for folder in folders:
        for where, _, names in os.walk(folder):
            found += [os.path.join(where, name) for name in names if name.endswith(endings)]
    return sorted(found)


def text_of(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def code_of(path, strings=False):
    """The text of a C file with comments blanked, and strings too unless they are wanted; line numbers stay."""

    def blank(match):
        token = match.group(0)
        if strings and token[0] in "\"'":
            return token
        keep = token[0] if token[0] in "\"'" else " "
        return keep + re.sub(r"[^\n]", " ", token[1:-1]) + keep

    return TOKEN.sub(blank, text_of(path))


def finish(findings):
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)
