#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts the structures and enumerations of include/k2hft into SYNOPSIS of the pages of section 3 that explain them.
With --check nothing is written: pages that would change are named, and the exit status is 1."""
import glob
import re
import sys
import textwrap

COLUMNS = 72  # of a page that is 80 wide
# The pages, each with what it explains. A structure of a header that none has is an error.
PAGES = {
    "client_open": ["client_options", "target", "tls_options"], "client_stats": ["client_stats", "client_state"],
    "chunk_next": ["chunk_view"], "frame_header_encode": ["frame", "frame_type"],
    "hello_encode": ["hello", "unsettled", "welcome", "stream_message", "ack", "discard", "ping", "error_message"],
    "lease_send": ["lease"], "log_callback_set": ["log_level"], "producer_reserve": ["chunk"],
    "ring_backlog": ["backlog"], "ring_open": ["ring_options"], "ring_read": ["span"], "ring_stats": ["ring_stats"],
    "sender_lane": ["lane"], "sender_open": ["sender_options"], "sender_stats": ["sender_stats"],
    "stream_declare": ["stream"], "tap_open": ["tapped"],
}


def declarations():
    """Name (without k2hft_) and text of each, macros of fields put in."""
    text = ""
    for path in sorted(glob.glob("include/k2hft/*.h")):
        with open(path, encoding="utf-8") as file:
            text += file.read()
    for macro, fields in re.findall(r"^#define (\w+) +\\\n((?:\t.*\\\n)+\t.*\n)", text, re.M):
        fields = re.sub(r" *\\$", "", fields, flags=re.M)
        fields = re.sub(r"( /\*[^*]*\*/)?\n\Z", r";\1\n", fields)
        text = re.sub(rf"^\t{macro};\s*(/\*.*\*/)?\n", lambda use, fields=fields: f"\t{use.group(1) or ''}\n{fields}", text, flags=re.M)
    for found in re.finditer(r"^(?:struct|enum) k2hft_(\w+) \{\n.*?^\};", text, re.M | re.S):
        yield found.group(1), found.group(0)


def narrow(declaration):
    """Lines that fit: a comment that does not stands above its field."""
    text = re.sub(r"\n\s*\*(?!/) ?|\n\s*(?=\*/)", " ", declaration)  # comments of several lines are one
    for line in text.splitlines():
        field, comment = re.fullmatch(r"\s*(.*?)\s*(?:/\*\s*(.*?)\s*\*/)?", line).groups()
        indent = "    " if line.startswith("\t") else ""
        if comment and (not field or len(f"{indent}{field}  /* {comment} */") > COLUMNS):
            wrapped = textwrap.wrap(comment, COLUMNS - len(indent) - 6)
            wrapped[-1] += " */"
            yield from (indent + ("   " if number else "/* ") + part for number, part in enumerate(wrapped))
            comment = None
        if field:
            yield indent + field + (f"  /* {comment} */" if comment else "")


def shown(declaration):
    plain = "\n".join(narrow(declaration))
    return re.sub(r"[\\'^~`-]", lambda found: {"\\": r"\e", "'": r"\(aq", "^": r"\(ha", "~": r"\(ti", "`": r"\(ga",
                                               "-": r"\-"}[found.group(0)], plain)


def with_structures(page, declared):
    begin, end = page.index(".SH SYNOPSIS\n"), page.index(".SH DESCRIPTION\n")
    synopsis = re.sub(r"\.PP\n(?:\.B )?(?:struct|enum) k2hft_\w+ \{\n.*?\};\n", "", page[begin:end], flags=re.S)
    assert synopsis.endswith(".fi\n")
    return page[:begin] + synopsis[:-4] + "".join(f".PP\n{shown(text)}\n" for text in declared) + ".fi\n" + page[end:]


def main():
    found, status = dict(declarations()), 0
    for name in sorted(set(found) ^ {name for names in PAGES.values() for name in names}):
        print(f"k2hft_{name}: in no page of PAGES in man/structs.py, or in no header")
        status = 1
    for page, names in PAGES.items():
        path = f"man/man3/k2hft_{page}.3"
        with open(path, encoding="utf-8") as file:
            old = file.read()
        new = with_structures(old, [found[name] for name in names if name in found])
        if new != old and sys.argv[1:] == ["--check"]:
            print(f"{path}: not as the headers have it: run man/structs.py")
            status = 1
        elif new != old:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
    sys.exit(status)


main()
