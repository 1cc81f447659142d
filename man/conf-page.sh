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
# Keys of a section of which the same is to be said stand together.
function gather(lists, section, text, key) {
	if (!((section, text) in lists))
		order[section] = order[section] text "\n"
	lists[section, text] = lists[section, text] (lists[section, text] != "" ? ", " : "") key
}
function gathered(lists, section,    reasons, count, number, all) {
	count = split(order[section], reasons, "\n")
	for (number = 1; number < count; number++)
		if ((section, reasons[number]) in lists)
			all = all ".TP\n.B " lists[section, reasons[number]] "\n" sentence(reasons[number]) "\n"
	return all
}
FNR == NR && $8 == "setting" {
	text = limits("")
	all = $3 FS $9 FS text
	if ($1 == "K2HFTFUSE_RULE")
		rule[$2] = all
	if ($1 == "K2HFTFUSE_RULE_DIR" && rule[$2] == all) {
		gather(same, $1, "as in K2HFTFUSE_RULE", $2)
		next
	}
	if ($9 ~ /^As in / && text == "") {
		sub(/\.$/, "", $9)
		gather(same, $1, $9, $2)
		next
	}
	value = $3 ~ /\|/ || $3 == "no" || $3 == $7 ? "\" = " $3 "\"" : "\" = \\fI" $3 "\\fP\""
	gsub(/\|/, "\" | \"", value)
	gsub(/" \| "/, " | ", value)
	settings[$1] = settings[$1] ".TP\n.BR " $2 " " value "\n" line($9) "\n" (text != "" ? line(text) ".\n" : "")
}
FNR == NR && $8 == "refused" { gather(refused, "", $9, $2 " of [" $1 "]") }
FNR == NR && $8 == "none" { gather(idle, $1, $9, $2) }
FNR == NR { next }
$0 ~ /^@settings / { printf "%s%s", settings[substr($0, 11)], gathered(same, substr($0, 11)); next }
$0 == "@refused" { printf "%s", gathered(refused, ""); next }
$0 ~ /^@accepted / { printf "%s", gathered(idle, substr($0, 11)); next }
{ print }' - "$(dirname "$0")/k2hft.conf.5.in"
