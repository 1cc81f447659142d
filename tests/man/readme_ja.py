#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""README.ja.md has the commands and configurations of README.md, word for word and in the same order, and no others."""
import re
import sys

BLOCK = re.compile(r"(?:^ {4}.*\n(?:\n(?= {4}))?)+|^```c\n(?:.*\n)*?```\n", re.M)
COMMAND = re.compile(r"`((?:k2hft|make|sync|umount|fusermount3|chown|systemd-\w+|dpkg-\w+|tests/bench/[^\s`]+)(?: [^`]*)?)`")


def main():
    texts = []
    for path in ("README.md", "README.ja.md"):
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    blocks, commands = [BLOCK.findall(text) for text in texts], [set(COMMAND.findall(text)) for text in texts]
    for number, block in enumerate(blocks[0]):
        if number >= len(blocks[1]) or blocks[1][number] != block:
            print(f"README.ja.md: block {number + 1} is not that of README.md:\n{block}")
            return 1
    for command in sorted(commands[0] ^ commands[1]):
        print(f"`{command}` is in one of README.md and README.ja.md only")
    return 1 if commands[0] != commands[1] or len(blocks[0]) != len(blocks[1]) or len(blocks[0]) < 8 else 0


sys.exit(main())
