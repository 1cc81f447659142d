#!/bin/sh
# SPDX-License-Identifier: MIT
# Every public header compiles alone, as strict C99 and as C++, without a warning of those that strict programs ask for;
# and so does a structure that its initialiser fills.
set -u
status=0
alone()
{
	{
		printf '#include <k2hft/%s>\nextern int k2hft_alone;\n' "${header##*/}"
		sed -n 's/^#define K2HFT_\([A-Z_]*\)_INIT\b.*/\1/p' "$header" | while read -r name; do
			structure=$(printf %s "$name" | tr '[:upper:]' '[:lower:]')
			printf 'extern struct k2hft_%s %s;\nstruct k2hft_%s %s = K2HFT_%s_INIT;\n' \
				"$structure" "$structure" "$structure" "$structure" "$name"
		done
	} |
		"$@" -pedantic -Wall -Wextra -Wshadow -Wconversion -Wcast-qual -Wundef -Werror -Iinclude -fsyntax-only - ||
		status=1
}
for header in include/k2hft/*.h; do
	alone "${CC:-cc}" -std=c99 -xc
	alone "${CXX:-c++}" -std=c++11 -Wold-style-cast -xc++
done
exit $status
