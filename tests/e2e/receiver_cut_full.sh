#!/bin/sh
# SPDX-License-Identifier: MIT
# A start on a full disk that refuses even to make a file shorter, as Btrfs can: what was not acknowledged is cut off when
# there is room, before it comes again.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
# shellcheck source=tests/tools/preload.inc
. tests/tools/preload.inc
preload "$server" <<'END'
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int ftruncate(int file, off_t length)
{
	if (access(getenv("FULL"), F_OK) == 0) {
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_ftruncate, file, length);
}

int ftruncate64(int file, off_t length)
{
	return ftruncate(file, length);
}
END
receiver_config ""
receiver_start
wire >"$dir/said" <<'END' || fail "sending: $(cat "$dir/said")"
hello ring 1 0
welcome
stream 1 text f
chunk 1 0 one\n
flush
ack
END
receiver_stop KILL
# As if it had died within a commit group.
printf 'two\n' >>"$dir/out/f"

: >"$dir/full"
: >"$dir/log"
LD_PRELOAD=$preload FULL=$dir/full "$server" -conf "$dir/conf" --listen "127.0.0.1:$port" 2>"$dir/log" &
pid=$!
wait_until logged 'there is no room to cut f back to what was acknowledged; the receiver waits for it'
rm "$dir/full"
wait_until receiver_ready
logged 'f cut back by 4 bytes' || fail "not cut back"
printf 'one\n' | cmp - "$dir/out/f" || fail "file after the start"
receiver_stop TERM

