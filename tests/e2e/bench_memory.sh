#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft bench --memory-limit, in a control group of version 2 that has no other process, as systemd-run --scope makes one.
# Where version 1 has the memory, huge pages stand for it: the same holds for them.
set -u
k2hft=${B:-build}/bin/k2hft
dir=$(mktemp -d)
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=$root/k2hft-test.$$
clean() {
	rmdir "$group"/*/ "$group" 2>/dev/null
	[ -z "${enabled-}" ] || echo "-$enabled" >"$root/cgroup.subtree_control"
	rm -rf "$dir"
}
fail() {
	echo "$*"
	exit 1
}
trap clean EXIT
trap 'exit 1' INT TERM
if [ -z "$root" ] || ! mkdir "$group" 2>/dev/null; then
	echo "SKIP: no control group can be made"
	exit 77
fi
has() { grep -qw "$1" "$group/cgroup.controllers"; }
if ! has memory && ! has hugetlb; then
	for controller in memory hugetlb; do
		echo "+$controller" >"$root/cgroup.subtree_control" && enabled=$controller && break
	done 2>/dev/null
fi
if has memory; then
	preload=
	limit=memory.max
elif has hugetlb; then
	# shellcheck source=tests/tools/preload.inc
	. tests/tools/preload.inc
	for file in "$group"/hugetlb.*B.max; do
		limit=${file##*/}
	done
	preload "$k2hft" "-DLIMIT=\"$limit\"" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int open(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	const char *end = strstr(path, "/memory.max");
	char other[4096];

	(void)snprintf(other, sizeof(other), "%.*s/" LIMIT, (int)(end ? end - path : 0), path);
	return real(end ? other : path, flags, 0600);
}

ssize_t write(int descriptor, const void *bytes, size_t count)
{
	ssize_t (*real)(int, const void *, size_t) = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	char other[32];

	if (count != 7 || memcmp((const char *)bytes + 1, "memory", 6) != 0)
		return real(descriptor, bytes, count);
	(void)snprintf(other, sizeof(other), "%chugetlb", *(const char *)bytes);
	return real(descriptor, other, 8) == 8 ? 7 : -1;
}
END
else
	echo "SKIP: no controller of version 2 can be used"
	exit 77
fi

LD_PRELOAD=$preload sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$group" "$k2hft" bench -q --by library \
	--size 1K --seconds 1 --runs 2 --memory-limit 1G >"$dir/printed" 2>"$dir/said" &
measuring=$!
# Each of the runs has its group, which is gone in the end.
until [ "$(cat "$group"/k2hft-bench.*/"$limit" 2>/dev/null)" = 1073741824 ]; do
	kill -0 $measuring || fail "no limit: $(cat "$dir/said")"
	sleep 0.05
done
wait $measuring || fail "status $?: $(cat "$dir/said")"
rmdir "$group" || fail "it leaves $(ls -d "$group"/*/)"
