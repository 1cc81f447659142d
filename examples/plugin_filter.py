#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A plug-in: lets records pass that have a text, in capital letters.

PLUGIN = /usr/local/bin/plugin_filter.py error
"""
import sys

text = sys.argv[1].encode()
# Not more than a record is read ahead, and each is written at once: what is read and not written is lost if this dies.
while record := sys.stdin.buffer.readline():
    if text in record:
        sys.stdout.buffer.write(record.upper())
        sys.stdout.buffer.flush()
