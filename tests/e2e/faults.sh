#!/bin/sh
# SPDX-License-Identifier: MIT
# Kills, cuts and damage of all kinds under load, for two minutes: nothing lost, nothing twice, all in order.
# `make check-faults` is the long run.
exec tests/faults/faults.py --seconds 120 --jobs 2
