#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that were linked before go on: the libraries have all functions and types that abi/ has, and what is new stands
# behind it. Who changes the interface on purpose runs make abi, and the change is there to be read.
set -u
command -v abidiff >/dev/null || {
	echo "SKIP: no abidiff"
	exit 77
}
build=${B:-build}
status=0
for library in libk2hft libk2hft-config; do
	[ "$(sed -n "s/.*architecture='\([^']*\)'.*/\1/p;q" "abi/$library.abi")" = "elf-amd-$(uname -m)" ] || {
		echo "SKIP: abi/ is of another architecture"
		exit 77
	}
	abidiff --no-added-syms --suppressions abi/suppressions --headers-dir2 include/k2hft --drop-private-types \
		"abi/$library.abi" "$build/lib/$library.so" || status=1
done
exit $status
