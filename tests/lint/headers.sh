#!/bin/sh
# SPDX-License-Identifier: MIT
# Every public header compiles alone, as strict C99 and as C++.
set -u
status=0
alone()
{
	printf '#include <k2hft/%s>\nextern int k2hft_alone;\n' "${header##*/}" |
		"$@" -pedantic -Wall -Wextra -Werror -fsyntax-only -Iinclude - || status=1
}
for header in include/k2hft/*.h; do
	alone "${CC:-cc}" -std=c99 -xc
	alone "${CXX:-c++}" -std=c++11 -xc++
done
exit $status
