#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft: no command, an unknown one, a wrong option: status 2 and what to do; help and version: status 0.
set -u
k2hft=${B:-build}/bin/k2hft
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
expect() {
	status=$1 word=$2
	shift 2
	"$@" >"$dir/out" 2>&1
	got=$?
	[ $got = "$status" ] && grep -q -- "$word" "$dir/out" && return
	echo "$*: status $got, wanted $status and: $word"
	cat "$dir/out"
	exit 1
}
expect 2 'usage: k2hft COMMAND' "$k2hft"
expect 2 'unknown command chek; did you mean check?' "$k2hft" chek
expect 2 'unknown command nothing-like-it; "k2hft help" lists them' "$k2hft" nothing-like-it
expect 2 "k2hft check: unrecognized option '--foo'" "$k2hft" check --foo
expect 2 'k2hft check: a file is needed' "$k2hft" check
for command in bench check key push serve stat testio verify; do
	expect 2 "^Try 'k2hft $command --help'" "$k2hft" $command --foo
done
expect 0 'usage: k2hft COMMAND' "$k2hft" --help
expect 0 'usage: k2hft COMMAND' "$k2hft" help
expect 0 'usage: k2hft check' "$k2hft" help check
expect 0 'RINGSIZE in \[K2HFTFUSE\]' "$k2hft" help ringsize
expect 2 'k2hft help: RINGSIZ is neither a command, a key of the configuration nor a counter; did you mean RINGSIZE?' \
	"$k2hft" help RINGSIZ
expect 0 'unacked_records, a gauge of a ring' "$k2hft" help unacked_records
expect 0 'dropped_records, a counter of a ring' "$k2hft" help k2hft_ring_dropped_records_total
expect 0 'Above 0, records are, or may be, missing' "$k2hft" help dropped_records
expect 2 'did you mean unacked_records?' "$k2hft" help unaked_records
expect 2 'k2hft help: chek is neither .*; did you mean check?' "$k2hft" help chek
expect 2 'nothing-like-it is neither .*; "k2hft help" lists the commands, k2hft.conf(5) the keys, k2hft-stat(1) the counters' \
	"$k2hft" help nothing-like-it
expect 2 'k2hft help: push: one command, key or counter' "$k2hft" help check push
expect 2 'k2hft help: --foo is neither' "$k2hft" help --foo
expect 0 '^usage: k2hft version' "$k2hft" help version
for argument in extra --foo check; do
	expect 2 "k2hft version: $argument: it takes no arguments" "$k2hft" version $argument
	expect 2 "^Try 'k2hft version --help'" "$k2hft" version $argument
done
# As options they are the same.
expect 0 'usage: k2hft check' "$k2hft" --help check
expect 2 'k2hft help: push: one command, key or counter' "$k2hft" -h check push
expect 2 'k2hft version: extra: it takes no arguments' "$k2hft" --version extra
# The name of a file can be anything.
name=$(printf 'a\033[2J\nb')
for command in 'push -r localhost' verify 'testio --json x' 'stat' 'bench --from'; do
	# shellcheck disable=SC2086
	expect 1 '^k2hft [a-z]*: a?\[2J?b: ' "$k2hft" $command "$name"
done
echo line >"$dir/$name"
expect 3 '/a?\[2J?b: byte 0: not a record' "$k2hft" verify --only "$dir/$name"
expect 2 'k2hft check: --table checks no file' "$k2hft" check --table "$dir/out"
expect 2 'k2hft check: --table checks no file' "$k2hft" check "$dir/out" --table
expect 2 'k2hft check: --table stands alone' "$k2hft" check --table --quiet
expect 0 '^GLOBAL	PORT	' "$k2hft" check --table
expect 0 '^k2hft [0-9]*\.[0-9]*\.[0-9]*$' "$k2hft" --version
for option in --version -v -V; do
	[ "$("$k2hft" $option)" = "$("$k2hft" version)" ] || exit 1
done
