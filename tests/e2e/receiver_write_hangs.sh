#!/bin/sh
# SPDX-License-Identifier: MIT
# While a write to a file does not return, all connections of its thread hear every second that the receiver is slow, also
# within TLS, and go on when it returns.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/preload.inc
. tests/tools/preload.inc
# shellcheck source=tests/tools/tls.inc
. tests/tools/tls.inc

# What is written to $dir/out/stuck waits while $dir/hold exists; $dir/asked says that somebody writes there.
preload "$server" -ldl <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static void stuck(int descriptor)
{
	struct stat status, slow;

	while (access(getenv("HOLD"), F_OK) == 0 && fstat(descriptor, &status) == 0 &&
	       stat(getenv("STUCK"), &slow) == 0 && status.st_ino == slow.st_ino) {
		(void)close(open(getenv("ASKED"), O_CREAT | O_WRONLY, 0600));
		(void)usleep(10000);
	}
}

ssize_t write(int descriptor, const void *bytes, size_t byte_count)
{
	ssize_t (*real)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");

	stuck(descriptor);
	return real(descriptor, bytes, byte_count);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
	ssize_t (*real)(int, const struct iovec *, int) =
		(ssize_t(*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");

	stuck(descriptor);
	return real(descriptor, parts, count);
}
END
booted="env LD_PRELOAD=$preload HOLD=$dir/hold STUCK=$dir/out/stuck ASKED=$dir/asked"

receiver_config ""
sed -i 's/^SOCKTHREADCNT.*/SOCKTHREADCNT = 1/' "$dir/conf"
receiver_start
sends 'first 1 0' stuck one

# runs RING COMMAND...: wire's output is in $dir/RING.
runs() {
	ring=$1
	shift
	printf '%s\n' "hello $ring 1 0" welcome "$@" | wire >"$dir/$ring" 2>&1
}
runs other 'stream 1 text other' 'chunk 1 0 two\n' flush ack 'status 1' 'status 1' 'status 1' 'status 0' \
	'chunk 1 0 four\n' flush ack bye &
other=$!
wait_until arrived other 4
: >"$dir/hold"
runs writer 'stream 1 text stuck' 'chunk 1 0 three\n' flush 'status 1' 'status 1' ack bye &
writer=$!
wait_until [ -e "$dir/asked" ]
told() { [ "$(grep -c '^status 1' "$dir/$1")" = "$2" ]; }
wait_until told other 3
wait_until told writer 2
rm "$dir/hold"
wait "$other" || fail "the other: $(cat "$dir/other")"
wait "$writer" || fail "the writer: $(cat "$dir/writer")"
printf 'one\nthree\n' | cmp - "$dir/out/stuck" || fail "the file that was stuck"
printf 'two\nfour\n' | cmp - "$dir/out/other" || fail "the other file"
receiver_stop TERM

# Senders that connect meanwhile are served by another thread.
receiver_config ""
rm "$dir/asked"
receiver_start
: >"$dir/hold"
runs writer 'stream 1 text stuck' 'chunk 1 0 more\n' flush 'status 1' ack bye &
writer=$!
wait_until [ -e "$dir/asked" ]
wait_until told writer 1
peers=
for name in one two three four; do
	{
		printf '%s\n' "hello $name 1 0" welcome "stream 1 text $name" 'chunk 1 0 x\n' flush ack
		while [ -e "$dir/hold" ]; do
			sleep 0.05
		done
		echo bye
	} | wire >"$dir/$name" 2>&1 &
	peers="$peers $!"
	wait_until arrived "$name" 2
done
rm "$dir/hold"
for peer in $writer $peers; do
	wait "$peer" || fail "a sender: $(cat "$dir/writer" "$dir/one" "$dir/two" "$dir/three" "$dir/four")"
done
receiver_stop TERM

(umask 077 && openssl rand -hex 32 >"$dir/key")
tls_config 'SOCKTHREADCNT = 1' "PSKFILE = $dir/key"
rm "$dir/asked"
mkfifo "$dir/stuck" "$dir/other.in"
receiver_start
for stream in stuck other.in; do
	"${B:-build}/bin/k2hft" push -r "127.0.0.1:$port" --psk "$dir/key" -t "$stream" "$dir/$stream" 2>"$dir/$stream.log" &
	eval "push_${stream%.*}=$!"
done
exec 3>"$dir/stuck" 4>"$dir/other.in"
echo four >&3
echo one >&4
wait_until arrived stuck 20
wait_until arrived other.in 4
: >"$dir/hold"
echo five >&3
wait_until [ -e "$dir/asked" ]
wait_until grep -q 'is slow' "$dir/stuck.log"
wait_until grep -q 'is slow' "$dir/other.in.log"
rm "$dir/hold"
echo two >&4
exec 3>&- 4>&-
# shellcheck disable=SC2154 # by eval
wait "$push_stuck" || fail "push: $(cat "$dir/stuck.log")"
# shellcheck disable=SC2154
wait "$push_other" || fail "push: $(cat "$dir/other.in.log")"
printf '%s\n' one three more four five | cmp - "$dir/out/stuck" || fail "the file that was stuck, by TLS"
printf 'one\ntwo\n' | cmp - "$dir/out/other.in" || fail "the other file, by TLS"
receiver_stop TERM
