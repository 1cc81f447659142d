/* SPDX-License-Identifier: MIT */
#include "ring/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "base/caller.h"
#include "base/clock.h"
#include "base/log.h"

/* A lock that waits in the kernel would wait for ever for any process that may read the file and locks it. */
#define LOCK_WAIT_NS K2I_SECOND_NS
#define LOCK_PAUSE_NS K2I_MILLISECOND_NS

/*
 * Locks on single bytes of the file, of the kind that belongs to the open file: the kernel ends them with the last
 * descriptor, whatever the process died of, and no other open or close of the file in this process disturbs them.
 */
static int lock_set(int descriptor, int command, short type, unsigned lock)
{
	struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)lock, .l_len = 1};
	int error;
	K2I_CANCEL_DISABLED;
	K2I_ERRNO_KEPT;

	do {
		error = fcntl(descriptor, command, &range) ? -errno : 0;
	} while (error == -EINTR);
	return error == -EACCES || error == -EAGAIN ? -EBUSY : error;
}

int k2i_ring_lock_try(int descriptor, unsigned lock)
{
	return lock_set(descriptor, F_OFD_SETLK, F_WRLCK, lock);
}

int k2i_ring_lock(int descriptor, unsigned lock, const char *path)
{
	uint64_t begin_ns = k2i_clock_now_ns();
	struct timespec pause = k2i_timespec(LOCK_PAUSE_NS);
	int error = k2i_ring_lock_try(descriptor, lock);
	K2I_CANCEL_DISABLED;
	K2I_ERRNO_KEPT;

	while (error == -EBUSY && k2i_clock_now_ns() - begin_ns < LOCK_WAIT_NS) {
		(void)nanosleep(&pause, NULL);
		error = k2i_ring_lock_try(descriptor, lock);
	}
	if (error == -EBUSY)
		k2i_log(K2HFT_LOG_ERROR, "ring: another process keeps a lock on byte %u of %s", lock, path);
	return error;
}

void k2i_ring_unlock(int descriptor, unsigned lock)
{
	(void)lock_set(descriptor, F_OFD_SETLK, F_UNLCK, lock);
}

bool k2i_ring_locked(int descriptor, unsigned lock)
{
	struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)lock, .l_len = 1};

	return fcntl(descriptor, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}
