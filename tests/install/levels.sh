#!/bin/sh
# SPDX-License-Identifier: MIT
# The user who builds it may choose how much is optimised: -O3 and -Og bring no warning, which ends the build unless WERROR is
# empty, and what is counted by vectors is right with -O3.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build LEVEL TARGET...
build()
{
	level=$1
	shift
	eval "${K2HFT_MAKE:-make} -s B=$work/$level CFLAGS=$level $*"
}

build -O3 all "$work/-O3/tests/test_writer"
"$work/-O3/tests/test_writer"
# A function that xxhash.h forces to be inlined.
build -Og "$work/-Og/obj/lib/base/hash.o"
