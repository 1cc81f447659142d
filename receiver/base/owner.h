/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_BASE_OWNER_H
#define K2I_RECEIVER_BASE_OWNER_H

#include <stdint.h>

/* A session, as other threads know it: its loop, and a number that no other session of this receiver has had. */
struct k2i_owner {
	void *place;
	uint64_t id; /* not 0 */
};

#endif
