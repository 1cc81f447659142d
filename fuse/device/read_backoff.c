/* SPDX-License-Identifier: MIT */
#include "fuse/device/read_backoff.h"

bool k2i_read_backoff_wanted(struct k2i_read_backoff *backoff, bool room, bool sending, uint64_t now_ns)
{
	if (room) {
		backoff->full_since_ns = 0;
		return false;
	}
	if (backoff->full_since_ns == 0)
		backoff->full_since_ns = now_ns;
	return sending && now_ns - backoff->full_since_ns < K2I_READ_BACKOFF_NS;
}
