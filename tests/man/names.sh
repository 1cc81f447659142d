#!/bin/sh
# SPDX-License-Identifier: MIT
# Names that an operator copies into a monitoring system or a unit are those of the programs: the metrics that pages name;
# and of environment variables and of the daemons' options, each that a program knows is in its page.
set -u
bin=${B:-build}/bin
status=0
metrics=$("$bin/k2hft" stat --table | awk -F '\t' '{ print "k2hft_" $1 "_" $2 ($3 == "counter" ? "_total" : "") }')
named=$(grep -ohE '\<k2hft_(receiver|mount|ring)_[a-z_]+_(total|bytes|records|now)\>' man/man?/* README.md |
	grep -v '^k2hft_receiver_s\(ender\|tream\|ink\)_' | sort -u) # of which tests/e2e/receiver_status.py sees all
[ -n "$named" ] || {
	echo "no page names a metric"
	status=1
}
for name in $named; do
	echo "$metrics" | grep -qx "$name" || {
		echo "$name: a page has it, k2hft stat --metrics does not"
		status=1
	}
done
# has PAGE FILE...: the page has each variable of k2hft that the files ask for
has()
{
	page=$1
	shift
	for variable in $(grep -hoE '"K2HFT[A-Z]+"' "$@" | tr -d '"' | sort -u); do
		grep -qw "$variable" "$page" || {
			echo "$page: does not have $variable"
			status=1
		}
	done
}
# takes PAGE FILE PATTERN: the page has each option that the pattern finds in the file
takes()
{
	plain=$(sed 's/\\-/-/g; s/\\f.//g' "$1")
	options=$(grep -oE "$3" "$2" | grep -oE -- '-+[a-zA-Z]+')
	[ -n "$options" ] || {
		echo "$2: no option is found there"
		status=1
	}
	for option in $options; do
		printf '%s\n' "$plain" | grep -qE -- "(^|[ \"])$option([ \",]|\$)" || {
			echo "$1: does not have $option, which $2 takes"
			status=1
		}
	done
}
takes man/man8/k2hftfusesvr.8 receiver/daemon/options.c '\{"-+[a-z]+"'
takes man/man8/k2hftfuse.8 fuse/base/options.c 'OPTION\("-+[a-zA-Z]+"'
has man/man8/k2hftfuse.8 fuse/keeper/start.c fuse/base/options.c
has man/man8/k2hftfusesvr.8 receiver/daemon/options.c receiver/main.c
exit $status
