#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 300
# What was acknowledged at level synced survives a power cut, at whatever moment. `make check-power-cut` is the long run.
exec tests/faults/power_cut.py --cuts 15 --seconds 40 --level synced
