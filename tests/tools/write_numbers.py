#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""write_numbers.py FILE: writes a million lines to it, until a write fails. Prints what was accepted."""
import os
import sys

data = b"".join(b"%d\n" % number for number in range(1000000))
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
at = 0
try:
    while at < len(data):
        at += os.write(file, data[at:at + (1 << 20)])
except OSError:
    pass
sys.stdout.buffer.write(data[:at])
