/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_DEVICE_READ_BACKOFF_H
#define K2I_FUSE_DEVICE_READ_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether requests stay with the kernel for a moment because the ring has no room for one. A request that is read then
 * has to be queued, and each of its bytes copied three times more; while this thread sends and the receiver takes, room
 * is there before long. Requests behind it in the kernel's queue wait as well, so the moment is short, and there is one
 * for each time that the ring is full: with a receiver that has stopped, requests are queued.
 */
#define K2I_READ_BACKOFF_NS UINT64_C(3000000)

struct k2i_read_backoff {
	uint64_t full_since_ns; /* 0: there was room */
};

/* `room`: for the next request's claim, with nothing queued in front of it; `sending`: room can come by this thread. */
bool k2i_read_backoff_wanted(struct k2i_read_backoff *backoff, bool room, bool sending, uint64_t now_ns);

#endif
