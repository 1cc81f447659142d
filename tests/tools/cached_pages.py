#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much of a file is in the kernel's page cache, for tests that import this: cachestat(2), since mincore(2) wants the
file mapped, at which the kernel drops pages by itself."""
import ctypes
import os
import sys
import time

CACHESTAT = 451
_libc = ctypes.CDLL(None, use_errno=True)


def cached_bytes(descriptor):
    """Ends the program with status 77 on a kernel without cachestat (before Linux 6.5)."""
    everything, counts = (ctypes.c_uint64 * 2)(), (ctypes.c_uint64 * 5)()
    if _libc.syscall(CACHESTAT, descriptor, everything, counts, 0):
        print("SKIP: no cachestat(2):", os.strerror(ctypes.get_errno()))
        sys.exit(77)
    return counts[0] * os.sysconf("SC_PAGESIZE")


def wait_until_left(descriptor, most, seconds=30):
    """Until no more than `most` bytes of it are in the cache."""
    until = time.monotonic() + seconds
    while cached_bytes(descriptor) > most:
        assert time.monotonic() < until, f"{cached_bytes(descriptor)} bytes stay in the page cache"
        time.sleep(0.02)
