#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes k2hft.conf(5): its text is in k2hft.conf.5.in, its keys are those of the program's table.
#
#     man/conf-page.sh build/bin/k2hft >man/man5/k2hft.conf.5
set -eu
"${1:?"usage: man/conf-page.sh PROGRAM"}" check --table | awk -F '\t' '
function roff(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	gsub(/\. /, ".\n", text)
	return text
}
function line(text) {
	text = roff(text)
	return text ~ /^[.'"'"']/ ? "\\&" text : text
}
function sentence(text) {
	return line(toupper(substr(text, 1, 1)) substr(text, 2) ".")
}
function limits(text) {
	if ($5 != "")
		text = $5 " to " $6 ($4 != "" ? " " $4 : "")
	if ($7 != "")
		text = text (text != "" ? "; default " : "Default ") $7
	return text
}
FNR == NR && $8 == "setting" {
	value = $3 ~ /\|/ || $3 == "no" || $3 == $7 ? "\" = " $3 "\"" : "\" = \\fI" $3 "\\fP\""
	gsub(/\|/, "\" | \"", value)
	gsub(/" \| "/, " | ", value)
	text = limits("")
	settings[$1] = settings[$1] ".TP\n.BR " $2 " " value "\n" line($9) "\n" (text != "" ? line(text) ".\n" : "")
}
FNR == NR && $8 == "refused" {
	refused = refused ".TP\n.BR " $2 " \" of [" $1 "]\"\n" sentence($9) "\n"
}
FNR == NR && $8 == "none" {
	if (!(($1, $9) in names))
		order[$1] = order[$1] $9 "\n"
	names[$1, $9] = names[$1, $9] (names[$1, $9] != "" ? ", " : "") $2
}
FNR == NR { next }
$0 ~ /^@settings / { printf "%s", settings[substr($0, 11)]; next }
$0 == "@refused" { printf "%s", refused; next }
$0 ~ /^@accepted / {
	section = substr($0, 11)
	count = split(order[section], reasons, "\n")
	for (number = 1; number < count; number++)
		printf ".TP\n.B %s\n%s\n", names[section, reasons[number]], sentence(reasons[number])
	next
}
{ print }' - "$(dirname "$0")/k2hft.conf.5.in"
