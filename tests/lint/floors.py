#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A file includes files of its own floor and of those below, and each library's header has one owner.
import os
import re

from common import code_of, finish, sources

FLOORS = (
    (0, r"lib/crash\.(c|h|def)|lib/(address|bits|wire|hash(_[a-z0-9]+)?|log|version|clock|condition|thread|options|futex|cancel|turnstile|uuid)\.[ch]|include/k2hft/(version|visibility|log)\.h"),
    (1, r"lib/(ring|frame|message)(_\w+)?\.[ch]|include/k2hft/(ring|frame)\.h"),
    (2, r"lib/(batch|client|transport|tls|sender|writer)(_\w+)?\.[ch]|include/k2hft/(client|sender|k2hft)\.h"),
    (3, r"lib/app/\w+\.(c|h|def)"),
    (4, r"(fuse|receiver|tools)/\w+\.[ch]"),
)
OWNERS = (
    (r"xxhash\.h", r"lib/hash_xxh3\.h"),
    (r"lz4\w*\.h", r"lib/frame_lz4\.c"),
    (r"openssl/.*", r"lib/tls\w*\.[ch]"),
    (r"ini\.h", r"lib/app/ini\.c"),
    (r"pcre2\w*\.h", r"lib/app/pattern\.c"),
    (r"yaml\.h", r"lib/app/.*"),
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
        os.path.join(folder, name) for folder in (os.path.dirname(includer), "lib", "lib/app", "include")]
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
    if floor_of(target) == 4 and os.path.dirname(target) != os.path.dirname(path):
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
