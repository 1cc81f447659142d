# SPDX-License-Identifier: MIT
"""All kinds of faults, in the order in which they are listed."""
from . import processes, destinations, links, files, sabotage
from .fault import ALL
