#!/bin/sh
# SPDX-License-Identifier: MIT
# debian/ goes with the rest: it has this version, wants what building needs, its packages share out everything that is
# installed, and what runs is stopped before its program is removed.
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
packaged=$(sed -n '1s/^k2hft (\([^)]*\)).*/\1/p' debian/changelog)
[ "$version" = "$packaged" ] || wrong "debian/changelog has version $packaged, not $version"
# A line for each exported function, so that a package that uses a newer one depends on it.
for library in k2hft k2hft-config; do
	sed -n 's/^\t\(k2hft_[a-z0-9_]*\);$/\1/p' "lib/$library.map" | sort >"$root/exported"
	sed -n 's/^ \(k2hft_[a-z0-9_]*\)@K2HFT_[0-9.]* [0-9.]*$/\1/p' "debian/lib${library}0.symbols" | sort >"$root/listed"
	diff "$root/exported" "$root/listed" || wrong "debian/lib${library}0.symbols: not the functions of lib/$library.map: run make abi"
done

# The compiler, which pkgconfig/install-deps names for building, is there wherever packages are built.
sed -n "/^wanted_for_build=/,/^'/s/^[a-z]*:[^ ]*  *\([^ ]*\).*/\1/p" pkgconfig/install-deps |
	grep -v -x -e gcc -e libc6-dev -e fuse3 >"$root/wanted"
[ -s "$root/wanted" ] || wrong "pkgconfig/install-deps names nothing"
while read -r package; do
	sed -n '/^Build-Depends:/,/^Standards/p' debian/control | grep -q "[ :]$package\(,\| \|$\)" ||
		wrong "debian/control: Build-Depends does not have $package"
done <"$root/wanted"

# A warning of a newer compiler does not end the package's build; here it is a macro that is defined twice.
grep -q '^export WERROR =$' debian/rules || wrong "debian/rules: warnings are errors"
# Flags that make was given can have blanks.
eval "CPPFLAGS=-DK2HFT_VERSION_STRING=0 WERROR= ${K2HFT_MAKE:-make} -s B=$root/b $root/b/obj/lib/base/version.o" 2>/dev/null ||
	wrong "a warning is an error, whatever WERROR says"

# A distribution's own level of hardening is not defined twice.
eval "${K2HFT_MAKE:-make} -s B=$root/b CPPFLAGS=-D_FORTIFY_SOURCE=3 $root/b/obj/lib/base/log.o" || wrong "not with _FORTIFY_SOURCE=3"

eval "${K2HFT_MAKE:-make} -s install B=${B:-build} DESTDIR=$root/d prefix=/usr libdir=/usr/lib/here \
	unitdir=/lib/systemd/system zshdir=/usr/share/zsh/vendor-completions pythondir=/usr/lib/python3/dist-packages"
(
	cd "$root/d"
	find . ! -type d | sed 's|^\./||' | sort >"$root/installed"
	# Globs, each with what is below it.
	while read -r glob _; do
		# shellcheck disable=SC2086
		find $glob ! -type d >>"$root/packaged" 2>/dev/null || echo "nothing is installed as $glob" >>"$root/wrong"
	done
) <<END
$(cat debian/*.install debian/not-installed)
END
[ ! -e "$root/wrong" ] || wrong "$(cat "$root/wrong")"
sort "$root/packaged" | uniq -d >"$root/twice"
sort -u "$root/packaged" | comm -23 "$root/installed" - >"$root/nowhere"
[ ! -s "$root/twice" ] || wrong "in two packages:" "$(cat "$root/twice")"
[ ! -s "$root/nowhere" ] || wrong "in no package:" "$(cat "$root/nowhere")"

# systemd tries again for as long as it takes: five tries in as many seconds, and the next only by hand, are its default.
for unit in packaging/systemd/*.service.in; do
	sed -n '/^\[Unit\]$/,/^$/p' "$unit" | grep -qx 'StartLimitIntervalSec=0' || wrong "$unit: it is given up"
done

# Each package with a unit stops it, or all instances of it, when it is removed, and leaves it running in an upgrade.
mkdir "$root/bin" "$root/systemd" "$root/elsewhere"
printf '#!/bin/sh\necho "$*" >>"%s/stopped"\n' "$root" >"$root/bin/deb-systemd-invoke"
chmod +x "$root/bin/deb-systemd-invoke"
for unit in packaging/systemd/*.service.in; do
	unit=${unit##*/}
	unit=${unit%.in}
	packages=$(grep -l "/$unit\$" debian/*.install)
	script=${packages%.install}.prerm
	[ -e "$script" ] || { wrong "$script: there is none"; continue; }
	case $unit in
	*@.service) unit="${unit%.service}*.service" ;;
	k2hftfusesvr.service) unit="k2hftfusesvr.socket $unit" ;;
	esac
	sed "s|/run/systemd/system|$root/systemd|; /^#DEBHELPER#\$/d" "$script" >"$root/prerm"
	for call in 'remove' 'upgrade 1' 'deconfigure in-favour other 1'; do
		: >"$root/stopped"
		# shellcheck disable=SC2086
		(cd "$root/elsewhere" && : >k2hftfuse@a.service && PATH=$root/bin:$PATH sh "$root/prerm" $call)
		wanted=
		[ "$call" != remove ] || wanted="stop $unit"
		[ "$(cat "$root/stopped")" = "$wanted" ] || wrong "$script $call: $(cat "$root/stopped")"
	done
done

# needrestart, which reads this as a program in Perl, restarts receivers and leaves mounts alone.
command -v perl >"$root/out" && {
	# shellcheck disable=SC2016
	perl -e 'our %nrconf = (override_rc => {}); local $/; my $text = <STDIN>; eval $text; die $@ if $@;
		for my $unit (@ARGV) { for (keys %{$nrconf{override_rc}}) { print "$unit\n" if $unit =~ /$_/ } }' \
		k2hftfuse@var-log.service k2hftfusesvr.service <debian/k2hftfuse.needrestart >"$root/left"
	[ "$(cat "$root/left")" = k2hftfuse@var-log.service ] || wrong "needrestart leaves alone: $(cat "$root/left")"
}
exit $status
