#!/bin/bash
# SPDX-License-Identifier: MIT
# bash completes commands, a command's options, configuration keys and files.
set -eu
# shellcheck source=packaging/completion/k2hft.bash
. packaging/completion/k2hft.bash
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
expect "check checksum_errors" help che
expect "received written synced" push --level ""
expect "auto always" push --compress a
expect "$folder/a b.conf" check "$folder/a"
# All long options of a command that its help has, and no others.
for command in bench check key push serve stat tap testio verify; do
	COMP_WORDS=("$program" "$command" --)
	COMP_CWORD=2
	_k2hft
	offered=$(printf '%s\n' "${COMPREPLY[@]}" | sort -u)
	wanted=$("$program" help $command | grep -oE '(^| )--[a-z][a-z-]*' | tr -d ' ' | sort -u)
	[[ "$offered" == "$wanted" ]] && continue
	diff <(echo "$offered") <(echo "$wanted") | sed "s/^/k2hft $command: /"
	exit 1
done
