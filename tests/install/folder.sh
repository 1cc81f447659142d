#!/bin/sh
# SPDX-License-Identifier: MIT
# A build in another folder is the same, byte for byte: nothing of it tells where or when that was.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build FOLDER: the library, since everything is compiled in the same way, and without optimising, which is quicker
build()
{
	mkdir -p "$1/receiver"
	cp -R Makefile include lib pkgconfig tests "$1"
	cp receiver/*.mk "$1/receiver"
	(cd "$1" && eval "${K2HFT_MAKE:-make} -s B=build CFLAGS=-g build/lib/libk2hft.so build/lib/libk2hft.a")
}

build "$work/one"
build "$work/it's another"
for library in libk2hft.so libk2hft.a; do
	cmp "$work/one/build/lib/$library" "$work/it's another/build/lib/$library"
done
