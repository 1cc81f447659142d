#!/bin/sh
# SPDX-License-Identifier: MIT
# OUTPUTFILE: a local file, a directory of files of the same names, another file of the mount; what is read back.
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
rules="[K2HFTFUSE_RULE]
TARGET = one.log
TRUNS = on
DEFAULTALL = ALLOW
DENY = secret
OUTPUTFILE = $work/new/dir/one.copy
[K2HFTFUSE_RULE_DIR]
TARGET = many
DEFAULTALL = ALLOW
OUTPUTFILE = $work/copies/
[K2HFTFUSE_RULE]
TARGET = chain/first
TRUNS = on
DEFAULTALL = ALLOW
DENY = first
OUTPUTFILE = chain/second
[K2HFTFUSE_RULE]
TARGET = chain/second
TRUNS = on
DEFAULTALL = DENY
ALLOW = \"^(.*)\$\", \"second: \$1\"
OUTPUTFILE = $mnt/chain/third
[K2HFTFUSE_RULE]
TARGET = chain/third
DEFAULTALL = ALLOW
OUTPUTFILE = $work/third.copy"
start_receiver
start_mount
[ -f "$work/new/dir/one.copy" ] || fail "OUTPUTFILE is not made at the start"
quick sh -c "printf 'a\nsecret\nb\n' >'$mnt/one.log'; printf 'c' >>'$mnt/one.log'" || fail write
printf 'a\nb\nc' >"$work/one"
arrives "$work/one" one.log
until_true 20 same "$work/one" "$work/new/dir/one.copy" || fail "the copy of one.log"
quick cat "$mnt/one.log" | cmp - "$work/one" || fail "one.log is not read as its copy"
has_size() { [ "$(quick stat -c %s "$1")" = "$2" ]; }
until_true 20 has_size "$mnt/one.log" 5 || fail "size of one.log"
[ "$(quick tail -c 3 "$mnt/one.log")" = 'b
c' ] || fail "tail of one.log"

quick mkdir -p "$mnt/many/sub" || fail mkdir
quick sh -c "echo x >'$mnt/many/x'; echo y >'$mnt/many/sub/y'" || fail write
[ "$(cat "$work/copies/x" "$work/copies/sub/y" | tr '\n' ' ')" = "x y " ] || fail "copies by name"
[ "$(quick cat "$mnt/many/sub/y")" = y ] || fail "many/sub/y is not read as its copy"
[ "$(quick stat -c %s "$mnt/many/sub/y")" = 2 ] || fail "size of many/sub/y"

# A line that a writer has left without its end comes before the next writer's.
quick python3 - "$mnt/many/two" <<'END' || fail "two writers"
import os, sys
one, other = (os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT) for _ in range(2))
os.write(one, b"left ")
os.close(os.dup(one))
os.write(other, b"other\n")
END
[ "$(cat "$work/copies/two")" = "left other" ] || fail "two writers: $(cat "$work/copies/two")"

quick sh -c "printf 'one\nfirst\ntwo\n' >'$mnt/chain/first'" || fail write
printf 'one\ntwo\n' >"$work/first"
printf 'second: one\nsecond: two\n' >"$work/second"
arrives "$work/first" chain/first
arrives "$work/second" chain/second
cmp "$work/third.copy" "$work/second" || fail "the end of the chain"
quick cat "$mnt/chain/third" | cmp - "$work/second" || fail "chain/third is not read as its copy"
[ "$(quick stat -c %s "$mnt/chain/second")" = 8 ] || fail "size of chain/second: $(stat -c %s "$mnt/chain/second")"
# As long as a file can be made it takes records still.
quick truncate -s 4611686018427387904 "$mnt/chain/second" || fail "truncate chain/second"
quick sh -c "echo three >>'$mnt/chain/first'" || fail write
[ "$(quick stat --cached=never -c %s "$mnt/chain/second")" = 4611686018427387910 ] || fail "chain/second is not longer"
stop_mount || fail "status $? of k2hftfuse"
[ ! -e "$received/many" ] || fail "a rule without TRUNS sends"

# No room for the copy: the writer hears of it only if the rule does not send.
rules='[K2HFTFUSE_RULE]
TARGET = local
DEFAULTALL = ALLOW
OUTPUTFILE = /dev/full
[K2HFTFUSE_RULE]
TARGET = sent
TRUNS = on
DEFAULTALL = ALLOW
OUTPUTFILE = /dev/full
[K2HFTFUSE_RULE]
TARGET = sent too
TRUNS = on
DEFAULTALL = ALLOW
OUTPUTFILE = local'
start_mount
echo x | quick dd of="$mnt/local" conv=notrunc 2>"$work/out" && fail "a local copy without room succeeds"
grep -q 'No space' "$work/out" || fail "$(cat "$work/out")"
quick sh -c "echo x >'$mnt/sent'" || fail "a copy without room stops a sender"
quick sh -c "echo x >'$mnt/sent too'" || fail "a copy's copy without room stops a sender"
[ "$(quick stat -c %s "$mnt/local" "$mnt/sent" | tr '\n' ' ')" = "0 0 " ] || fail "sizes: $(stat "$mnt/local" "$mnt/sent")"
stop_mount || fail "status $? of k2hftfuse"
[ "$(cat "$received/sent")" = x ] || fail "what has no room here did not arrive there"
[ "$(cat "$received/sent too")" = x ] || fail "what a copy's copy has no room for did not arrive once"
grep -q '/dev/full: No space' "$work/mount.err" || fail "no word about the copy"

# A file that is as long as it may be takes no part of a line.
rules="[K2HFTFUSE_RULE]
TARGET = local
DEFAULTALL = ALLOW
OUTPUTFILE = $work/limited
[K2HFTFUSE_RULE]
TARGET = cached
WRITEMODE = cached
DEFAULTALL = ALLOW
OUTPUTFILE = /dev/full"
start_mount
worker_of "$mount_pid" || fail "no worker"
limit() {
	python3 -c "import resource, sys
resource.prlimit(int(sys.argv[1]), resource.RLIMIT_FSIZE, (int(sys.argv[2]), -1))" "$worker" "$1"
}
limit 10
quick sh -c "echo first >'$mnt/local'" || fail "what there is room for"
echo second | quick dd of="$mnt/local" conv=notrunc 2>"$work/out" && fail "a copy that is too long succeeds"
grep -q 'File too large' "$work/out" || fail "$(cat "$work/out")"
limit -1
quick sh -c "echo second >'$mnt/local'" || fail "the same again"
printf 'first\nsecond\n' | cmp - "$work/limited" || fail "a part of a line is there"
! grep 'worker died' "$work/mount.err" || fail "SIGXFSZ"
# Through the page cache who asks for it hears of it, by whatever descriptor, and once.
quick python3 - "$mnt/cached" <<'END' || fail "what was lost after it was accepted"
import errno, os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
other = os.open(sys.argv[1], os.O_RDONLY)
def fails(function, descriptor):
    os.write(file, b"x\n")
    try:
        function(descriptor)
    except OSError as error:
        assert error.errno == errno.ENOSPC, error
    else:
        raise AssertionError(function)
fails(os.fsync, file)
os.fsync(file)
fails(os.fsync, other)
fails(os.close, file)
END
stop_mount && fail "3 lost records are no failure"
grep -q ' 3 records that were accepted are lost' "$work/mount.err" || fail "lost records are not counted"

# Mistakes are found at the start: one in the configuration itself ends it with status 2.
refused() {
	word=$1
	sender_config
	quick "$bin/k2hftfuse" "$mnt" -f -o "conf=$work/slave.ini" >"$work/out" 2>&1
	status=$?
	[ $status = "${2:-2}" ] || fail "$word: status $status"
	grep -q "slave.ini:.*OUTPUTFILE.*$word" "$work/out" || fail "wanted: $word; got: $(cat "$work/out")"
}
rule() {
	printf '[K2HFTFUSE_RULE%s]\nTARGET = %s\nDEFAULTALL = ALLOW\nOUTPUTFILE = %s\n' "$1" "$2" "$3"
}
rules=$(rule '' a nowhere)
refused 'no rule covers'
rules=$(rule '' a "$mnt")
refused 'no path below the mount'
rules=$(rule '' a b; rule '' b a)
refused 'in a circle'
rules=$(rule _DIR a b/; rule _DIR b "$mnt/a/")
refused 'in a circle'
ln -s "$mnt" "$work/link"
rules=$(rule '' a "$work/link/x")
refused 'the mount itself' 1
: >"$work/file"
rules=$(rule '' a "$work/file/x")
refused 'Not a directory' 1
