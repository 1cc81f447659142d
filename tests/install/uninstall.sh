#!/bin/sh
# SPDX-License-Identifier: MIT
# uninstall leaves nothing of what install put below DESTDIR, wherever the folders are and with blanks in its name, and
# install puts everything where its variables say, for everybody to read, whatever the umask.
set -eu
# Each installation links the programs anew, in the same folder.
exec 9>"${B:-build}/install.lock"
flock 9
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# roundtrip VARIABLE...: install, check, uninstall, look
roundtrip()
{
	(
		umask 077
		eval "${K2HFT_MAKE:-make} -s install B=${B:-build} DESTDIR=\"$root/a d\" $*"
	)
	if [ "$(find "$root/a d" ! -type l ! -perm -044)" ]; then
		find "$root/a d" ! -type l ! -perm -044
		exit 1
	fi
	find "$root/a d" ! -type d | sed "s|^$root/a d||" | sort >"$root/installed"
	eval "${K2HFT_MAKE:-make} -s uninstall B=${B:-build} DESTDIR=\"$root/a d\" $*"
	if [ -e "$root/a d" ] && [ "$(find "$root/a d" -mindepth 1)" ]; then
		find "$root/a d" -mindepth 1
		exit 1
	fi
}

has()
{
	grep -qx "$1" "$root/installed" || {
		echo "not installed: $1"
		cat "$root/installed"
		exit 1
	}
}

roundtrip prefix=/usr
has /usr/lib/libk2hft.so
has /usr/lib/libk2hft.a
has /usr/lib/libk2hft-config.so
has /usr/lib/libk2hft-config.a
has /usr/lib/pkgconfig/k2hft-config.pc
has /usr/lib/pkgconfig/k2hft.pc
has /usr/include/k2hft/k2hft.h
has /usr/share/doc/k2hft/README.md
for program in "${B:-build}"/bin/*; do
	has "/usr/bin/${program##*/}"
	has "/usr/share/bash-completion/completions/${program##*/}"
	has "/usr/share/zsh/site-functions/_${program##*/}"
	has "/usr/share/fish/vendor_completions.d/${program##*/}.fish"
done
for page in man/man?/*; do
	has "/usr/share/$page"
done

# As many other makefiles spell it.
roundtrip PREFIX=/usr
has /usr/lib/libk2hft.so

roundtrip prefix=/p bindir=/b libdir=/l/x86 includedir=/i mandir=/m docdir=/d pkgconfigdir=/c unitdir=/u \
	completiondir=/f zshdir=/z fishdir=/h sysusersdir=/s tmpfilesdir=/t openrcdir=/o
grep -v -e '^/[blimdcufstozh]/' "$root/installed" && exit 1
has /l/x86/libk2hft.so.0
exit 0
