/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_DEVICE_READ_BACKOFF_H
#define K2I_FUSE_DEVICE_READ_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether requests stay with the kernel for a moment because the ring has no room for one, or its small areas have none.
 * A request that is read in a full ring has to be queued, and each of its bytes copied three times more; one that goes
 * beyond the small areas touches memory that no cache holds. While a receiver takes records, room is there before long.
 *
 * Requests behind it in the kernel's queue wait as well, so the moment is short, and one is read between two moments. A
 * receiver that takes what the ring has in twice the time of a measurement is soon done with it, so its writers are kept
 * to the small areas. From one that is slower, or has stopped, they have all of the ring after the first measurement.
 */
#define K2I_READ_BACKOFF_NS UINT64_C(3000000)
/* Processes that share a busy processor stand still for some milliseconds. */
#define K2I_READ_BACKOFF_MEASURE_NS UINT64_C(20000000)
#define K2I_READ_BACKOFF_MEASURES 2u
/* The loop looks again after that. */
#define K2I_READ_BACKOFF_LOOK_MS 1

struct k2i_read_backoff {
	uint64_t since_ns; /* the moment's begin; 0: there was room */
	uint64_t measured_ns, measured_head;
	bool slow;   /* the receiver, when it was measured last */
	bool wanted; /* the last answer */
};

/*
 * There is no room, or something is queued in front of the next request. `head`: up to where the ring is free, `used`:
 * behind that; `comes`: room will come if nothing more is read.
 */
bool k2i_read_backoff_wanted(struct k2i_read_backoff *backoff, uint64_t head, uint64_t used, bool comes,
			     uint64_t now_ns);

#endif
