#!/bin/bash
# SPDX-License-Identifier: MIT
# packaging/ has this version, its files are read by their tools, and the RPM's packages share out everything that is installed.
set -eu
# Each installation links the programs anew, in the same folder.
exec 9>"${B:-build}/install.lock"
flock 9
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
status=0
wrong()
{
	echo "$*"
	status=1
}

version=$(sed -n 's/^.define K2HFT_VERSION_STRING "\(.*\)"/\1/p' include/k2hft/version.h)
spec=packaging/rpm/k2hft.spec
grep -qx "Version: *$version" "$spec" || wrong "$spec does not have version $version"
for file in packaging/alpine/APKBUILD packaging/arch/PKGBUILD; do
	(
		# shellcheck disable=SC1090
		. "./$file"
		# shellcheck disable=SC2154
		[ "$pkgver" = "$version" ]
	) || wrong "$file does not have version $version"
done

eval "${K2HFT_MAKE:-make} -s install B=${B:-build} DESTDIR=$root/d prefix=/usr libdir=/usr/lib64 docdir=/usr/share/doc/k2hft \
	pythondir=/usr/lib/python3/site-packages"
sed -n -e '/^%files/,/^# /p' "$spec" | sed -n -e 's|%{_bindir}|usr/bin|; s|%{_docdir}/%{name}|usr/share/doc/k2hft|
	s|%{_datadir}|usr/share|; s|%{_mandir}|usr/share/man|; s|%{_libdir}|usr/lib64|; s|%{_includedir}|usr/include|
	s|%{_sysusersdir}|usr/lib/sysusers.d|; s|%{_tmpfilesdir}|usr/lib/tmpfiles.d|
	s|%{python3_sitelib}|usr/lib/python3/site-packages|; s|%{_prefix}|usr|; s|^%doc ||; /^usr/p' >"$root/globs"
[ -s "$root/globs" ] || wrong "$spec: no files found"
(
	cd "$root/d"
	find . ! -type d | sed 's|^\./||' | sort >"$root/installed"
	while read -r glob; do
		# shellcheck disable=SC2086
		find $glob ! -type d >>"$root/packaged" 2>/dev/null || echo "nothing is installed as $glob" >>"$root/wrong"
	done <"$root/globs"
)
[ ! -e "$root/wrong" ] || wrong "$(cat "$root/wrong")"
sort "$root/packaged" | uniq -d >"$root/twice"
sort -u "$root/packaged" | comm -23 "$root/installed" - >"$root/nowhere"
[ ! -s "$root/twice" ] || wrong "in two packages:" "$(cat "$root/twice")"
[ ! -s "$root/nowhere" ] || wrong "in no package:" "$(cat "$root/nowhere")"

if command -v rpmspec >"$root/out"; then
	rpmspec -P "$spec" >"$root/out" 2>&1 || wrong "$(cat "$root/out")"
fi
if command -v rpmlint >"$root/out"; then
	rpmlint -r "${spec%.spec}.rpmlintrc" "$spec" >"$root/out" 2>&1 || wrong "$(cat "$root/out")"
fi
exit $status
