#!/bin/sh
# SPDX-License-Identifier: MIT
# Section 3 shows the structures as the headers have them, and each of them in the page that explains it.
exec man/structs.py --check
