/* SPDX-License-Identifier: MIT */
#include "base/bits.h"
#include "sender/lane.h"

#include <errno.h>
#include <stdlib.h>

#include "base/caller.h"
#include "client/client.h"
#include "ring/ring.h"
#include "sender/sender.h"
#include "sender/target.h"
#include "sender/writer.h"

/* The largest payload is the largest entry without its header and padding. */
#define ENTRY_OVERHEAD_BYTES (K2HFT_CHUNK_HEADER_BYTES + 32u)
/* A wait for room looks around at least this often. */
#define ROOM_WAIT_MS 1000

struct k2i_lane_sizes k2i_lane_sizes(const struct k2i_lane *lane)
{
	size_t ring_bytes = (size_t)k2i_ring_bytes(lane->ring); /* it is mapped */
	size_t payload_bytes_max = k2i_least_bytes(K2HFT_CHUNK_BYTES_MAX, ring_bytes / 4) - ENTRY_OVERHEAD_BYTES;
	size_t piece_bytes_max = k2i_least_bytes(K2I_PIECE_BYTES_MAX, payload_bytes_max / 4 * 3);

	return (struct k2i_lane_sizes){
		.open_bytes_max = k2i_least_bytes(K2I_OPEN_BYTES_MAX, ring_bytes / 16),
		.piece_bytes_max = piece_bytes_max,
		.run_bytes_max = k2i_least_bytes(K2I_RUN_BYTES_MAX, payload_bytes_max - piece_bytes_max),
	};
}

struct k2i_lane *k2i_lane_create(struct k2hft_sender *sender)
{
	K2I_ERRNO_KEPT;
	struct k2i_lane *lane = calloc(1, sizeof(*lane));

	if (!lane)
		return NULL;
	lane->sender = sender;
	/* Before its client's thread, which seals by it. */
	(void)pthread_mutex_lock(&sender->mutex);
	lane->number = ++sender->lane_number;
	(void)pthread_mutex_unlock(&sender->mutex);
	k2i_turnstile_init(&lane->room);
	return lane;
}

int k2i_lane_client_start(struct k2i_lane *lane, const struct k2hft_client_options *options,
			  void (*hook)(void *argument))
{
	int status = k2hft_client_open(lane->ring, options, &lane->client);

	if (status)
		return status;
	k2i_client_claim_hook_set(lane->client, hook, lane);
	k2i_client_claim_busy_set(lane->client, &lane->sender->busy_ns);
	return k2hft_client_thread_start(lane->client);
}

void k2i_lane_end(struct k2i_lane *lane)
{
	k2hft_client_close(lane->client);
	k2hft_ring_close(lane->ring);
	k2i_turnstile_destroy(&lane->room);
	free(lane->ring_path);
	free(lane->archive_path);
}

void k2i_lane_free(struct k2i_lane *lane)
{
	k2i_target_free(&lane->target);
	free(lane);
}

void k2i_lane_close(struct k2i_lane *lane)
{
	k2i_lane_end(lane);
	k2i_lane_free(lane);
}

/* A wait for the turn may have brought room, too. */
int k2i_lane_room_wait(struct k2i_lane *lane, struct k2i_turnstile_place *place, size_t bytes)
{
	int status = k2i_turnstile_enter(&lane->room, place);

	if (status)
		return status < 0 ? status : 0;
	status = lane->client ? k2i_client_room_wait(lane->client, bytes, ROOM_WAIT_MS) : -EBUSY;
	return status == -EBUSY ? k2hft_ring_space_wait(lane->ring, bytes, ROOM_WAIT_MS) : status;
}

bool k2i_lane_connected(const struct k2i_lane *lane)
{
	return lane->client && k2i_client_connected(lane->client);
}

uint64_t k2i_lane_unacked_bytes(const struct k2i_lane *lane)
{
	struct k2hft_ring_stats stats = k2i_ring_stats(lane->ring);

	return stats.tail > stats.head ? stats.tail - stats.head : 0;
}
