# SPDX-License-Identifier: MIT
"""Several hosts: what the scenarios of tests/net have in common. Hosts and processes are those of tests/faults/parts."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "faults"))
