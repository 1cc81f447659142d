/* SPDX-License-Identifier: MIT */
#ifndef K2I_SENDER_LANE_H
#define K2I_SENDER_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <k2hft/client.h>
#include <k2hft/ring.h>

#include "base/spread.h"
#include "base/turnstile.h"

struct k2hft_sender;

/*
 * A ring and the receivers that it can go to, the first of which is its home; they are in the options of the client.
 * Records keep their order within it.
 */
struct k2i_lane {
	struct k2hft_sender *sender;
	uint32_t number; /* from 1 on, of all lanes that the sender ever had */
	struct k2hft_ring *ring;
	struct k2hft_client *client; /* NULL: somebody else consumes the ring */
	struct k2i_turnstile room;   /* of writers that wait for room in the ring */
	struct k2hft_target target;  /* the home, a copy; no host: somebody else's */
	char home[K2I_SPREAD_HOME_BYTES];
	char *ring_path;    /* of a file with a name that others find; NULL: there is none */
	char *archive_path; /* likewise */

	/* Under the sender's mutex. */
	bool removed;           /* its home is no receiver of the sender any more: no new chunks, and it ends */
	uint32_t users;         /* writers that have a place in it, and calls that look at it */
	uint64_t changed_at;    /* chunks below are from before the lanes last changed */
	uint64_t away_ns;       /* removed: when its receiver was last seen, or first missed; 0: nobody has looked */
	bool given_up;          /* what is in it goes nowhere */
	struct k2i_lane *ended; /* the next of the sender's ended lanes */
};

/* How much one writer may take, so that several fit into a small ring. */
struct k2i_lane_sizes {
	size_t open_bytes_max;  /* of an open chunk */
	size_t piece_bytes_max; /* of a record that goes in one chunk */
	size_t run_bytes_max;   /* of lines that are handed over at once */
};

/* Free it with k2i_lane_close. NULL: no memory. */
struct k2i_lane *k2i_lane_create(struct k2hft_sender *sender);
struct k2i_lane_sizes k2i_lane_sizes(const struct k2i_lane *lane);
/* Starts its client. `hook` with the lane, see k2i_client_claim_hook_set. Errors as k2hft_client_open's and
 * k2hft_client_thread_start's. */
int k2i_lane_client_start(struct k2i_lane *lane, const struct k2hft_client_options *options,
			  void (*hook)(void *argument));
void k2i_lane_close(struct k2i_lane *lane);
/* All but the lane's names, which a caller of k2hft_sender_lane may still have; k2i_lane_free frees them. */
void k2i_lane_end(struct k2i_lane *lane);
void k2i_lane_free(struct k2i_lane *lane);
/* Waits until there may be room in the ring. 0; -EINTR, -EPIPE and -EIO as k2hft_ring_space_wait. */
int k2i_lane_room_wait(struct k2i_lane *lane, struct k2i_turnstile_place *place, size_t bytes);
/*
 * Whether nobody is to wait for the lane any more: it was removed, its receiver does not answer, and as the others have
 * copies none takes over. To be asked again and again. Any thread.
 */
bool k2i_lane_given_up(struct k2i_lane *lane);
/* Whether its client is connected; bytes in its ring that are not acknowledged. Any thread. */
bool k2i_lane_connected(const struct k2i_lane *lane);
uint64_t k2i_lane_unacked_bytes(const struct k2i_lane *lane);

#endif
