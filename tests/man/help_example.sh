#!/bin/sh
# SPDX-License-Identifier: MIT
# The example of k2hft(1) shows what `k2hft help KEY` prints.
set -eu
page=$(sed -n '/^\.EX/,/^\.EE/p' man/man1/k2hft.1 | sed '/^\.E/d; s/\\-/-/g')
key=$(printf '%s\n' "$page" | sed -n 's/^\$ k2hft help //p')
printed=$("${B:-build}/bin/k2hft" help "$key")
[ "$(printf '%s\n' "$page" | sed 1d)" = "$printed" ] && exit
printf 'k2hft(1) does not show what k2hft help %s prints:\n%s\n' "$key" "$printed"
exit 1
