#!/bin/bash
# SPDX-License-Identifier: MIT
# bash completes commands, a command's options, configuration keys and files.
set -eu
# shellcheck source=tools/k2hft.bash
. tools/k2hft.bash
program=${B:-build}/bin/k2hft
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
: >"$folder/a b.conf"

expect() { # what bash offers for the words after it; the last one is being typed
	local wanted=$1
	shift
	COMP_WORDS=("$program" "$@")
	COMP_CWORD=$#
	_k2hft
	[[ "${COMPREPLY[*]-}" == "$wanted" ]] && return
	echo "k2hft $*: got '${COMPREPLY[*]-}', wanted '$wanted'"
	exit 1
}
expect check che
expect "--version" --v
expect "--print" check --pr
expect "--table" check --t
expect "RINGFULL RINGSIZE" help RING
expect "RINGSIZE" help rings
expect "check" help che
expect "$folder/a b.conf" check "$folder/a"
