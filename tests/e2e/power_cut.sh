#!/bin/sh
# SPDX-License-Identifier: MIT
# After a power cut at whatever moment all is there at level synced, once. `make check-power-cut` is the long run.
exec tests/faults/power_cut.py --cuts 15 --seconds 40 --level synced
