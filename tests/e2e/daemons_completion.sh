#!/bin/bash
# SPDX-License-Identifier: MIT
# bash completes options of k2hftfuse and k2hftfusesvr, those behind -o, their values, and files.
set -eu
# shellcheck source=packaging/completion/k2hftfuse.bash
. packaging/completion/k2hftfuse.bash
# shellcheck source=packaging/completion/k2hftfusesvr.bash
. packaging/completion/k2hftfusesvr.bash
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
: >"$folder/a b.conf"
mkdir "$folder/a d"

offer() { # PROGRAM WORD...: what bash offers for the last word, one a line; "=" is a word of its own, as bash has it
	COMP_WORDS=("${B:-build}/bin/$1" "${@:2}")
	COMP_CWORD=$(($# - 1))
	"_$1"
	((${#COMPREPLY[@]})) || return 0
	printf '%s\n' "${COMPREPLY[@]}" | sort -u
}
expect() {
	local wanted=$1 got
	shift
	got=$(offer "$@" | paste -s -d '|')
	[[ $got == "$wanted" ]] && return
	echo "$*: got '$got', wanted '$wanted'"
	exit 1
}
expect "$folder/a d" k2hftfuse "$folder/a"
expect "conf=" k2hftfuse mnt -o co
expect "$folder/a b.conf|$folder/a d" k2hftfuse mnt -o conf = "$folder/a"
expect "allow_other,conf=" k2hftfuse mnt -o allow_other,co
expect "$folder/a b.conf|$folder/a d" k2hftfuse mnt -o allow_other,conf = "$folder/a"
expect "x.ini,uid=|x.ini,umask=" k2hftfuse mnt -o conf = x.ini,u
expect "dump|err|msg|silent|wan" k2hftfuse mnt -o conf = x.ini,dbglevel =
expect "dump" k2hftfuse mnt -o dbglevel = d
expect "" k2hftfuse mnt -o umask = 0
expect "$folder/a b.conf|$folder/a d" k2hftfusesvr -conf "$folder/a"
expect "$folder/a b.conf|$folder/a d" k2hftfusesvr --config = "$folder/a"
expect "dump|err|msg|silent|wan" k2hftfusesvr -conf x.ini -d ""
expect "wan" k2hftfusesvr --debug = w
expect "" k2hftfusesvr --listen ""
expect "--listen" k2hftfusesvr -conf x.ini --l

# All options that the programs' help has before its explanations, and no others.
all() { # LINES-THAT-BEGIN-SO WHAT-IS-AN-OPTION-THERE PROGRAM WORD...
	local lines=$1 option=$2
	shift 2
	diff <("${B:-build}/bin/$1" --help | sed -n "s/^ *-/-/; s/  .*//; /^$lines/p" | grep -oE -- "$option" | sort -u) \
		<(offer "$@") | sed "s/^/$*: /"
	return "${PIPESTATUS[0]}"
}
all - '--?[a-z]+' k2hftfusesvr -
all - '(^|\B)(-[a-zA-Z]\b|--[a-z]+=)' k2hftfuse -
all -o '[a-z_]{2,}=?' k2hftfuse -o ""
