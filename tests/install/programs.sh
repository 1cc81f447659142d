#!/bin/sh
# SPDX-License-Identifier: MIT
# The programs use libk2hft.so as applications do, and start from wherever they are installed; where the loader looks for
# the library by itself they have no path to it.
set -eu
# Each installation links the programs anew, in the same folder.
exec 9>"${B:-build}/install.lock"
flock 9
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
build=${B:-build}
unset LD_LIBRARY_PATH

# started FOLDER LIBRARIES: each program runs, with the library of that folder
started()
{
	for program in k2hftfuse k2hftfusesvr k2hft; do
		"$1/$program" --version >/dev/null
		found=$(ldd "$1/$program" | sed -n 's/.*libk2hft\.so[.0-9]* => \([^ ]*\).*/\1/p')
		[ "$(realpath "${found%/*}")" = "$(realpath "$2")" ] || {
			echo "$1/$program: libk2hft.so is ${found:-not there}"
			exit 1
		}
	done
}

installed()
{
	eval "${K2HFT_MAKE:-make} -s install B=$build $*"
}

started "$build/bin" "$build/lib"
installed "DESTDIR=$root/staged" prefix=/opt/k2hft
started "$root/staged/opt/k2hft/bin" "$root/staged/opt/k2hft/lib"
installed "prefix=$root/home"
started "$root/home/bin" "$root/home/lib"
installed "prefix=$root/two" "libdir=$root/two/libraries/k2hft"
started "$root/two/bin" "$root/two/libraries/k2hft"
installed "DESTDIR=$root/system" prefix=/usr
for program in "$root"/system/usr/bin/*; do
	! readelf -d "$program" | grep -E 'RPATH|RUNPATH' || exit 1
done
