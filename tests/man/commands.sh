#!/bin/sh
# SPDX-License-Identifier: MIT
# Every program and every subcommand of k2hft has a page, its page knows each long option that --help knows, and of a
# subcommand --help knows each option that the page explains.
set -u
bin=${B:-build}/bin
status=0

# options_in PAGE COMMAND...: long options of `COMMAND --help` that PAGE does not have
options_in()
{
	page=$1
	shift
	plain=$(sed 's/\\-/-/g; s/\\f.//g; s/\\f\[[A-Z]*\]//g' "$page")
	for option in $("$@" --help 2>&1 | grep -oE '(^|[ ,[|])--[a-z][a-z-]+' | sed 's/^[^-]*//' | sort -u); do
		printf '%s\n' "$plain" | grep -qE -- "(^|[^a-z-])$option([^a-z-]|\$)" || {
			echo "$page: does not have $option"
			status=1
		}
	done
}

# options_of PAGE COMMAND...: options that begin a paragraph of PAGE and that `COMMAND --help` does not have
options_of()
{
	page=$1
	shift
	explained=$(sed 's/\\-/-/g; s/\\f\[[A-Z]*\]//g; s/\\f.//g' "$page" | awk '/^\.TP/ { getline; print }' |
		grep -oE '[ ",]--?[a-z][a-z-]*' | tr -d ' ",' | sort -u)
	for option in ${explained:-"no options"}; do
		"$@" --help | grep -qE -- "(^|[ ,])$option([ ,=]|\$)" || {
			echo "$* --help: does not have $option of $page"
			status=1
		}
	done
}

# has_page PAGE COMMAND...
has_page()
{
	if [ -f "$1" ]; then
		options_in "$@"
		case $1 in
		*/k2hft-*) options_of "$@" ;;
		esac
	else
		echo "no $1"
		status=1
	fi
}

for program in "$bin"/*; do
	case $program in
	*/k2hft) has_page man/man1/k2hft.1 "$program" ;;
	*) has_page "man/man8/${program##*/}.8" "$program" ;;
	esac
done
commands=$("$bin/k2hft" help | sed -n 's/^  \([a-z]*\)  *.*/\1/p')
[ "$commands" ] || {
	echo "k2hft help names no command"
	exit 1
}
for command in $commands; do
	grep -q "$command" man/man1/k2hft.1 || {
		echo "man/man1/k2hft.1: does not have $command"
		status=1
	}
	case $command in
	help | version) ;;
	*) has_page "man/man1/k2hft-$command.1" "$bin/k2hft" "$command" ;;
	esac
done
exit $status
