#!/bin/sh
# SPDX-License-Identifier: MIT
# The sample configurations are right, and every key in them does something.
set -eu
set -- examples/*.ini
[ -f "$1" ]
"${B:-build}/bin/k2hft" check --strict "$@"
