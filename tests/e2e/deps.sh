#!/bin/sh
# SPDX-License-Identifier: MIT
# install-deps without the right to install names what is missing and the one line to run, installs nothing and fails; with
# nothing missing it does nothing at all; and where packages can't be fetched it shows why, not only that each is unknown.
# shellcheck source=tests/tools/said.inc
. tests/tools/said.inc

# A PATH where pkg-config knows no module and nobody is root; running apt-get leaves a trace.
for tool in sh mktemp rm tail cat tr cc cut; do
	ln -s "$(command -v $tool)" "$dir/$tool"
done
printf '#!/bin/sh\nexit 1\n' >"$dir/pkg-config"
printf '#!/bin/sh\necho 1000\n' >"$dir/id"
printf '#!/bin/sh\n>%s/installed\n' "$dir" >"$dir/apt-get"
chmod +x "$dir/pkg-config" "$dir/id" "$dir/apt-get"
deps() { # STATUS WHAT
	PATH=$dir pkgconfig/install-deps "$2" >"$dir/said" 2>&1
	got=$?
	[ $got = "$1" ] || fail "status $got"
}
deps 1 build
says '^run as root: apt-get update .*apt-get install .*libfuse3-dev'
[ ! -e "$dir/installed" ] || fail "it installs"

# Everybody is root, and apt-get has no lists and no network.
printf '#!/bin/sh\necho 0\n' >"$dir/id"
cat >"$dir/apt-get" <<'END_OF_APT_GET'
#!/bin/sh
if [ "$1" = update ]; then
	echo "W: Temporary failure resolving 'deb.example.org'"
	exit 0
fi
for word in "$@"; do
	case $word in
	install | -*) ;;
	*) echo "E: Unable to locate package $word" ;;
	esac
done
exit 100
END_OF_APT_GET
deps 1 check
says 'Temporary failure' '^run as root: apt-get update '

printf '#!/bin/sh\necho 1000\n' >"$dir/id"
printf '#!/bin/sh\n>%s/installed\n' "$dir" >"$dir/apt-get"
printf '#!/bin/sh\nexit 0\n' >"$dir/pkg-config"
cp "$dir/pkg-config" "$dir/fusermount3"
deps 0 build
[ ! -s "$dir/said" ] || fail "with nothing missing"
[ ! -e "$dir/installed" ] || fail "it installs what is there"
