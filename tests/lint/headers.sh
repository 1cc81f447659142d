#!/bin/sh
# SPDX-License-Identifier: MIT
# Every public header compiles alone, as strict C99 and as C++, without a warning of those that strict programs ask for.
set -u
status=0
alone()
{
	printf '#include <k2hft/%s>\nextern int k2hft_alone;\n' "${header##*/}" |
		"$@" -pedantic -Wall -Wextra -Wshadow -Wconversion -Wcast-qual -Wundef -Werror -Iinclude -fsyntax-only - ||
		status=1
}
for header in include/k2hft/*.h; do
	alone "${CC:-cc}" -std=c99 -xc
	alone "${CXX:-c++}" -std=c++11 -Wold-style-cast -xc++
done
exit $status
