#!/bin/sh
# SPDX-License-Identifier: MIT
# A worker is killed when it has begun to end the mount, before or behind the moment in which it takes the mount point away:
# its successor does the rest, and ends the lines that open files have begun.
. tests/tools/mount.sh
. tests/tools/preload.inc
# Whether a user unmounts is decided by another program.
[ "$(id -u)" = 0 ] || skip "not root"
start_receiver
preload "$bin/k2hftfuse" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct fuse_session;
void fuse_session_unmount(struct fuse_session *session);
void fuse_session_unmount(struct fuse_session *session)
{
	void (*real)(struct fuse_session *) = (void (*)(struct fuse_session *))dlsym(RTLD_NEXT, "fuse_session_unmount");
	const char *when = getenv("KILLED_WHEN"), *once = getenv("KILLED_ONCE");
	int killed = once && open(once, O_CREAT | O_EXCL, 0600) >= 0;

	if (killed && *when == 'b')
		raise(SIGKILL);
	real(session);
	if (killed)
		raise(SIGKILL);
}
END
for when in before behind; do
	export KILLED_WHEN=$when KILLED_ONCE="$work/$when" LD_PRELOAD="$preload"
	start_mount
	unset LD_PRELOAD
	exec 9>"$sent/$when"
	printf 'line\nhalf' >&9
	kill $mount_pid
	wait_mount || fail "$when: status $?"
	exec 9>&-
	[ -e "$work/$when" ] || fail "$when: no worker was killed"
	! mounted || fail "$when: still mounted"
	printf 'line\nhalf' | cmp - "$received/senddir/$when" || fail "$when: an open file's line was not ended"
done
