#!/bin/sh
# SPDX-License-Identifier: MIT
# Every page is well formed, and named as its title line says.
set -u
cd man || exit 1
status=0
for page in man?/*; do
	case $(head -n 1 "$page") in
	.so\ *)
		target=$(sed -n 's/^\.so //p' "$page")
		[ -f "$target" ] || {
			echo "$page: $target does not exist"
			status=1
		}
		continue
		;;
	esac
	name=${page##*/}
	title=$(sed -n 's/^\.TH "*\([^ "]*\)"* "*\([1-8]\).*/\1.\2/p' "$page" | tr '[:upper:]' '[:lower:]')
	[ "$title" = "$(echo "$name" | tr '[:upper:]' '[:lower:]')" ] || {
		echo "$page: .TH says $title"
		status=1
	}
	# A search for a key, a counter or a few words finds them: groff would hyphenate some, and put blanks between others.
	[ "$(grep -h -B 1 -A 1 '^\.TH ' "$page" | grep -v '^\.TH ')" = ".nr HY 0
.ad l" ] || {
		echo "$page: .nr HY 0 has to be before .TH, .ad l behind it"
		status=1
	}
done
command -v mandoc >/dev/null || {
	[ $status = 0 ] || exit $status
	echo "SKIP: no mandoc"
	exit 77
}
# The pages carry the version, not a date.
if mandoc -T lint -W warning man?/* | grep -v -e 'missing date, using ""' -e '\.so is fragile'; then
	status=1
fi
exit $status
