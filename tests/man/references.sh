#!/bin/sh
# SPDX-License-Identifier: MIT
# A page of this project that another page, a header, a program's text or README.md names is there.
set -u
status=0
references=$(sed 's/\\-/-/g; s/\\f.//g' man/man?/* include/k2hft/*.h lib/config/settings.def examples/* README.md tools/*.c tools/*/*.c |
	grep -oE '(lib)?k2hft[a-z0-9_.-]* ?\([1-8]\)' | tr -d ' ' | sort -u)
for reference in $references; do
	name=${reference%(*}
	section=${reference#*(}
	section=${section%)}
	[ -f "man/man$section/$name.$section" ] || {
		echo "$reference: no such page; named in:"
		grep -lE "$(echo "$name" | sed 's/-/\\\\?-/g') ?\\($section\\)" man/man?/* include/k2hft/*.h lib/config/settings.def \
			examples/* README.md tools/*.c tools/*/*.c | sed 's/^/  /'
		status=1
	}
done
exit $status
