#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes k2hft-stat(1): its text is in k2hft-stat.1.in, its counters are those of the program's table.
#
#     man/stat-page.sh build/bin/k2hft >man/man1/k2hft-stat.1
set -eu
"${1:?"usage: man/stat-page.sh PROGRAM"}" stat --table | awk -F '\t' '
function roff(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	return text
}
FNR == NR {
	text = toupper(substr($5, 1, 1)) substr($5, 2) "."
	kind = ($3 == "gauge" ? "gauge" : "") ($4 == "loss" ? "loss" : "")
	counters[$1] = counters[$1] ".TP\n.BR " $2 (kind != "" ? " \" (" kind ")\"" : "") "\n" roff(text) "\n"
	next
}
$0 ~ /^@counters / { printf "%s", counters[substr($0, 11)]; next }
{ print }' - "$(dirname "$0")/k2hft-stat.1.in"
