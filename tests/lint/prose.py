#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A sentence of a comment begins with its subject, a noun that stands in the code: not with What, Who or One, which leave
# the reader to find out which thing is meant.
import re

from common import TOKEN, finish, sources, text_of

HEADLESS = re.compile(r"(?:^|(?<=[.:;?!] )|\n\n)(What|Who|Whose|Whoever|Whatever|One|Of)(?= )")


def comments(text):
    """(first line, text) of each comment; lines of // that follow each other are one."""
    begin, parts, last = 0, [], 0
    for match in TOKEN.finditer(text):
        token = match.group(0)
        if not token.startswith(("//", "/*")):
            continue
        line = text.count("\n", 0, match.start()) + 1
        if token.startswith("/*") or line != last + 1:
            if parts:
                yield begin, "\n".join(parts)
            begin, parts = line, []
        last = line
        if token.startswith("//"):
            parts.append(token[2:].strip())
        else:
            yield line, "\n".join(part.strip().lstrip("*").strip() for part in token[2:-2].strip().split("\n"))
    if parts:
        yield begin, "\n".join(parts)


def main():
    findings = []
    for path in sources(".c", ".h", ".def"):
        for line, comment in comments(text_of(path)):
            flat = re.sub(r"(?<!\n)\n(?!\n)", " ", comment)  # of the same length: places stay
            for match in HEADLESS.finditer(flat):
                at, sentence = line + comment.count("\n", 0, match.start(1)), flat[match.start(1):][:60]
                findings.append(f"{path}:{at}: a headless sentence: {sentence}")
    finish(findings)


main()
