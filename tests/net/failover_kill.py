#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A receiver is killed, and its streams go on at another one; it comes back, and they come home. Writers see nothing; in
the end each record is there once."""
from bed.bed import run
from bed.failover import scenario_of

run(scenario_of(lambda receiver: receiver.kill(), lambda receiver: receiver.start()))
