#!/bin/sh
# SPDX-License-Identifier: MIT
# Text that is copied out of an example is what was meant: roff makes typographic characters of a plain - ' ` ^ and ~.
set -u
# shellcheck disable=SC2016
found=$(awk '
FNR == 1 || /^\.(EE|fi)/ { inside = 0 }
/^\.(EX|nf)/ { inside = 1; next }
inside && !/^\./ {
	text = $0
	gsub(/\\-|\\\((aq|ga|ha|ti)/, "", text)
	if (text ~ /[-'"'"'`^~]/)
		print FILENAME ":" FNR ": " $0
}' man/*.in man/man?/*)
[ -z "$found" ] || printf '%s\n' "$found" 'write \-, \(aq, \(ga, \(ha and \(ti in examples'
[ -z "$found" ]
