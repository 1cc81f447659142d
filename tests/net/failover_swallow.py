#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A link swallows everything, and its streams go on at another receiver; it is mended, and they come home. Writers see
nothing; in the end each record is there once."""
from bed.bed import run
from bed.failover import scenario_of

run(scenario_of(lambda receiver: receiver.host.swallow(), lambda receiver: receiver.host.mend()))
