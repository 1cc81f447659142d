#!/bin/sh
# SPDX-License-Identifier: MIT
# WRITEMODE of the mount and of rules; OUTPUTFILE, whose size stat(2) tells unless WRITEMODE = cached; a full ring, which
# appends through the cache fill last, and what is said if the mount ends with it.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
. tests/tools/returns.sh
append='os.O_WRONLY | os.O_APPEND'
rule() {
	printf '[K2HFTFUSE_RULE]\nTARGET = %s\nTRUNS = on\nDEFAULTALL = ALLOW\n%s\n' "$1" "$2"
}
start_receiver
settings='WRITEMODE = direct'
rules=$(rule plain ''; rule cached 'WRITEMODE = cached')
start_mount
returns "$mnt/plain" "$append" && fail "WRITEMODE = direct caches"
returns "$mnt/cached" "$append" || fail "WRITEMODE = cached of a rule does not"
stop_mount || fail "status $? of k2hftfuse"

settings=
rules=$(rule plain ''; rule copied "OUTPUTFILE = $work/copy")
start_mount
returns "$mnt/plain" "$append" && fail "with an OUTPUTFILE outside the kernel caches"
echo more >>"$work/copy"
echo line >>"$mnt/copied" || fail append
[ "$(quick stat -c %s "$mnt/copied")" = 10 ] || fail "size: $(stat "$mnt/copied")"
stop_mount || fail "status $? of k2hftfuse"

# Nor a file that gets another one's records.
rules=$(rule fed ''; rule feeds 'OUTPUTFILE = fed')
start_mount
returns "$mnt/fed" "$append" || fail "a file that could get records, and does not, is not cached"
exec 3>>"$mnt/feeds"
returns "$mnt/fed" "$append" && fail "a file that gets another one's records is cached"
exec 3>&-
stop_mount || fail "status $? of k2hftfuse"

rules=$(rule plain ''; rule copied "OUTPUTFILE = $work/copy
WRITEMODE = cached")
start_mount
returns "$mnt/copied" "$append" || fail "WRITEMODE = cached with an OUTPUTFILE does not cache"
stop_mount || fail "status $? of k2hftfuse"
grep -q '^second$' "$work/copy" || fail "OUTPUTFILE: $(cat "$work/copy")"

# The ring is full: 5 MB beside it are no reason to wait, and they arrive.
rules=$(rule full '')
settings='RINGSIZE = 1M'
stop_receiver
fixed_port=yes
start_mount
seq 1 700000 >"$work/full"
quick sh -c "cat '$work/full' >>'$mnt/full'" || fail "an append to a full ring"
start_receiver
arrives "$work/full" full 60
stop_receiver
settings='RINGSIZE = 1M
DRAINTIMEOUT = 0'
stop_mount || fail "status $? of k2hftfuse"
start_mount
quick sh -c "cat '$work/full' >>'$mnt/full'" || fail "an append to a full ring"
stop_mount && fail "status 0 although records are lost"
grep -q '[1-9][0-9]* records that were accepted are lost' "$work/mount.err" || fail "no word about them"
