/* SPDX-License-Identifier: MIT */
#include "fuse/device/read_backoff.h"

bool k2i_hold_wanted(struct k2i_hold *hold, bool room, bool sending, uint64_t now_ns)
{
	if (room) {
		hold->full_since_ns = 0;
		return false;
	}
	if (hold->full_since_ns == 0)
		hold->full_since_ns = now_ns;
	return sending && now_ns - hold->full_since_ns < K2I_HOLD_NS;
}
