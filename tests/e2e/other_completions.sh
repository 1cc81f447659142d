#!/bin/sh
# SPDX-License-Identifier: MIT
# zsh and fish complete what bash does: commands, all options that a command's help has, values, keys, and files.
set -u
bin=$(cd "${B:-build}/bin" && pwd) || exit 1
PATH=$bin:$PATH
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
shells=
: >"$dir/a.conf"
export HOME="$dir" XDG_CONFIG_HOME="$dir" XDG_DATA_HOME="$dir"

# The functions of zsh that show what is offered print it here, one a line; the last word is being typed.
cat >"$dir/zsh" <<'END'
_describe() { print -l -- ${${(P)2}%%:*} }
compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -l -- "$@" }
compset() { : }
_files() { print -l -- $PREFIX*(N) }
file=$1
shift
words=("$@") CURRENT=$# PREFIX=${@[-1]}
set --
. $file
END
# shellcheck disable=SC2086,SC2317
offered_zsh() { zsh -f "$dir/zsh" "./packaging/completion/$1.zsh" "$1" $2 "$3" | grep -e "^$3" | sort -u; }
# shellcheck disable=SC2317
offered_fish() { fish --no-config -c "source packaging/completion/$1.fish; complete -C '$1${2:+ $2} $3'" | cut -f 1 | sort -u; }
# expect WANTED PROGRAM "WORD..." LAST
expect() {
	wanted=$1
	shift
	for shell in $shells; do
		got=$("offered_$shell" "$@" | paste -s -d '|' -)
		[ "$got" = "$wanted" ] || {
			echo "$shell: $1 $2 $3: got '$got', wanted '$wanted'"
			exit 1
		}
	done
}
for shell in zsh fish; do
	! command -v $shell >/dev/null || shells="$shells $shell"
done
[ -n "$shells" ] || {
	echo "SKIP: neither zsh nor fish"
	exit 77
}

expect check k2hft "" che
expect "received|synced|written" k2hft "push --level" ""
expect "RINGFULL|RINGSIZE" k2hft help RING
expect "unacked_records" k2hft help unack
expect "$dir/a.conf" k2hft check "$dir/a"
for command in bench check key push reload serve stat tap testio verify; do
	expect "$(k2hft help $command | grep -oE '(^| )--[a-z][a-z-]*' | tr -d ' ' | sort -u | paste -s -d '|' -)" \
		k2hft $command --
done
expect "dump|err|msg|silent|wan" k2hftfusesvr -d ""
expect "--listen" k2hftfusesvr "" --l
expect "$dir/a.conf" k2hftfusesvr -conf "$dir/a"
expect "-V" k2hftfuse "" -V
expect "allow_other|allow_root" k2hftfuse "mnt -o" allow_
exit 0
