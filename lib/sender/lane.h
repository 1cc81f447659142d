/* SPDX-License-Identifier: MIT */
#ifndef K2I_SENDER_LANE_H
#define K2I_SENDER_LANE_H

#include <stddef.h>

#include <k2hft/client.h>
#include <k2hft/ring.h>

#include "base/turnstile.h"

/*
 * A ring and the one receiver that it goes to, which is in the options of the client. Records keep their order within
 * it.
 */
struct k2i_lane {
	struct k2hft_ring *ring;
	struct k2hft_client *client; /* NULL: somebody else consumes the ring */
	size_t open_bytes_max;       /* of an open chunk */
	size_t piece_bytes_max;      /* of a record that goes in one chunk */
	size_t run_bytes_max;        /* of lines that are handed over at once */
	struct k2i_turnstile room;   /* of writers that wait for room in the ring */
};

/* For a lane whose ring is not opened yet, too, k2i_lane_close must be called. */
void k2i_lane_init(struct k2i_lane *lane);
/* Errors as k2hft_ring_open's and k2hft_ring_attach's. */
int k2i_lane_open(struct k2i_lane *lane, const struct k2hft_ring_options *options);
int k2i_lane_attach(struct k2i_lane *lane, const char *ring_path);
/* `hook` as for k2i_client_claim_hook_set. Errors as k2hft_client_open's and k2hft_client_thread_start's. */
int k2i_lane_client_start(struct k2i_lane *lane, const struct k2hft_client_options *options,
			  void (*hook)(void *argument), void *argument);
void k2i_lane_close(struct k2i_lane *lane);
/* Waits until there may be room in the ring. 0; -EINTR, -EPIPE and -EIO as k2hft_ring_space_wait. */
int k2i_lane_room_wait(struct k2i_lane *lane, struct k2i_turnstile_place *place, size_t bytes);

#endif
