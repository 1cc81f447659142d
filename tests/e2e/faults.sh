#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 300
# Kills, cuts and damage of all kinds under load, for a minute: nothing lost, nothing twice, all in order.
# `make check-faults` is the long run.
exec tests/faults/faults.py --seconds 70
