/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/caller.h"
#include "ring/map.h"

/* The part in front of the data is read and not mapped: a file that is cut meanwhile would be a SIGBUS. */
static int front_read(int descriptor, uint8_t *front)
{
	size_t got = 0;
	ssize_t bytes;

	while (got < K2I_DATA_AT) {
		bytes = pread(descriptor, front + got, K2I_DATA_AT - got, (off_t)got);
		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes <= 0)
			return bytes ? -errno : -EPROTO;
		got += (size_t)bytes;
	}
	return 0;
}

int k2i_observed_open(const char *path, struct k2hft_ring *seen)
{
	struct k2i_ring_header header;
	uint8_t *front;
	int error;

	*seen = (struct k2hft_ring){.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
	error = seen->descriptor < 0 ? -errno : k2i_ring_identify(seen->descriptor, &header, NULL);
	if (error)
		return error;
	front = aligned_alloc(K2I_PAGE_BYTES_MAX, K2I_DATA_AT);
	if (!front)
		return -ENOMEM;
	seen->header = (struct k2i_ring_header *)(void *)front;
	seen->slots = (struct k2i_slot *)(void *)(front + K2I_SLOTS_AT);
	seen->streams = (struct k2i_stream *)(void *)(front + K2I_STREAMS_AT);
	seen->capacity = header.capacity;
	seen->seed = header.seed;
	k2i_areas_set(seen);
	return front_read(seen->descriptor, front);
}

void k2i_observed_close(struct k2hft_ring *seen)
{
	free(seen->header);
	if (seen->descriptor >= 0)
		(void)close(seen->descriptor);
}

int k2hft_ring_observe(const char *path, struct k2hft_ring_stats *stats, int *served)
{
	K2I_ERRNO_KEPT;
	struct k2hft_ring seen;
	int error = k2i_observed_open(path, &seen);

	if (!error)
		error = k2hft_ring_stats(&seen, stats);
	if (!error && served)
		*served = k2i_consumer_alive(seen.descriptor, seen.header);
	k2i_observed_close(&seen);
	return error;
}

uint64_t k2i_ring_waiting(const struct k2hft_ring_options *options)
{
	struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT;
	int served;

	if (options->path && (options->flags & (K2HFT_RING_FRESH | K2HFT_RING_TEMPORARY)) == K2HFT_RING_FRESH &&
	    k2hft_ring_observe(options->path, &stats, &served) == 0 && !served)
		return stats.unacked_records;
	return 0;
}
