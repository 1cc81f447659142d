#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/tools/interrupted_write.py FILE: a writer that a signal handler interrupts while its write(2) waits. Exit status 0
# if that ended the write and nothing of it was taken.
import os
import signal
import sys


class Alarm(Exception):
    pass


def ring(*_):
    raise Alarm


signal.signal(signal.SIGALRM, ring)
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
try:
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    os.write(descriptor, b"third\n")
    sys.exit("written")
except Alarm:
    sys.exit(0 if os.fstat(descriptor).st_size == 0 else "taken")
