#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A file includes files of its own floor and of those below, and each library's header has one owner.
import os
import re

from common import code_of, finish, sources

FLOORS = (
    (0, r"lib/base/\w+\.(c|h|def)|include/k2hft/(version|visibility|log|tls)\.h"),
    (1, r"lib/(ring|frame)/\w+\.[ch]|include/k2hft/(ring|frame|chunk)\.h"),
    (2, r"lib/(batch|client|net|net/tls|sender)/\w+\.[ch]|include/k2hft/(client|sender|k2hft)\.h"),
    (3, r"lib/(config|app/\w+)/\w+\.(c|h|def)|include/k2hft/config\.h"),
    (4, r"(fuse|receiver|tools)/(\w+/)*\w+\.(c|h|def)"),
)
OWNERS = (
    (r"xxhash\.h", r"lib/base/hash_xxh3\.h"),
    (r"lz4\w*\.h", r"lib/frame/lz4\.c"),
    (r"openssl/.*", r"lib/net/tls/\w+\.[ch]"),
    (r"ini\.h", r"lib/config/ini\.c"),
    (r"pcre2\w*\.h", r"lib/app/rules/pattern\.c"),
    (r"yaml\.h", r"lib/config/.*"),
    (r"fuse\w*\.h|fuse3/.*", r"fuse/.*"),
    (r"event\w*\.h|event2/.*", r"receiver/.*"),
    (r"stdatomic\.h|linux/futex\.h|threads\.h", r".*"),
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def floor_of(path):
    for floor, pattern in FLOORS:
        if re.fullmatch(pattern, path):
            return floor
    return None


def resolve(includer, form, name):
    """The project's file that an include names, or None for one of the system's."""
    candidates = [os.path.join("include", name)] if form == "<" else [
        os.path.join(folder, name) for folder in (os.path.dirname(includer), "lib", ".")]
    for candidate in candidates:
        if os.path.exists(candidate):
            return os.path.normpath(candidate)
    return None


def check_include(path, line, form, name):
    place = f"{path}:{line}"
    target = resolve(path, form, name)
    if target is None:
        return [f"{place}: <{name}> belongs to {owner}" for pattern, owner in OWNERS
                if re.fullmatch(pattern, name) and not re.fullmatch(owner, path)]
    if floor_of(target) is None:
        return [f"{place}: {target} is on no floor"]
    if floor_of(target) > floor_of(path):
        return [f"{place}: floor {floor_of(path)} includes {target} of floor {floor_of(target)}"]
    if floor_of(target) == 4 and target.split("/")[0] != path.split("/")[0]:
        return [f"{place}: one program includes {target} of another"]
    return []


def main():
    findings = []
    for path in sources(".c", ".h", ".def", folders=("include", "lib", "fuse", "receiver", "tools")):
        if floor_of(path) is None:
            findings.append(f"{path}: is on no floor (tests/lint/floors.py has the list)")
            continue
        code = code_of(path, strings=True)
        for match in INCLUDE.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            findings += check_include(path, line, match.group(1), match.group(2))
    finish(findings)


main()
