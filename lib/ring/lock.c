/* SPDX-License-Identifier: MIT */
#include "ring/handle.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cancel.h"

/*
 * Locks on single bytes of the file, of the kind that belongs to the open file: the kernel ends them with the last
 * descriptor, whatever the process died of, and no other open or close of the file in this process disturbs them.
 */
static int lock_set(int descriptor, int command, short type, unsigned lock)
{
	struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)lock, .l_len = 1};
	int kept = errno, error = 0, cancel_state = k2i_cancel_disable();

	do {
		error = fcntl(descriptor, command, &range) ? -errno : 0;
	} while (error == -EINTR);
	k2i_cancel_restore(cancel_state);
	errno = kept;
	return error == -EACCES || error == -EAGAIN ? -EBUSY : error;
}

int k2i_ring_lock(int descriptor, unsigned lock)
{
	return lock_set(descriptor, F_OFD_SETLKW, F_WRLCK, lock);
}

int k2i_ring_lock_try(int descriptor, unsigned lock)
{
	return lock_set(descriptor, F_OFD_SETLK, F_WRLCK, lock);
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
