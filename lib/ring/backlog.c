/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/caller.h"
#include "ring/map.h"

/* Bytes of data that are read at once: the headers of many small chunks. */
#define WINDOW_BYTES ((size_t)256 * 1024)

struct sum {
	uint64_t records, bytes, oldest_ns;
};

struct backlog_walk {
	const struct k2hft_ring *ring;
	struct sum sums[K2HFT_STREAM_COUNT_MAX];
	uint64_t from, bytes; /* the part of the file that `window` has */
	uint8_t window[WINDOW_BYTES];
};

/* Copies `bytes` at an offset of the file, which the window is moved to if they are not in it. false: the file ends. */
static bool window_copy(struct backlog_walk *walk, uint64_t offset, void *to, size_t bytes)
{
	ssize_t got;

	if (offset < walk->from || offset + bytes > walk->from + walk->bytes) {
		do
			got = pread(walk->ring->descriptor, walk->window, WINDOW_BYTES, (off_t)offset);
		while (got < 0 && errno == EINTR);
		walk->from = offset;
		walk->bytes = got > 0 ? (uint64_t)got : 0;
	}
	if (walk->bytes < bytes)
		return false;
	memcpy(to, walk->window + (offset - walk->from), bytes);
	return true;
}

/* A chunk goes on at the beginning of the data where these end, also within its header. */
static bool header_copy(struct backlog_walk *walk, uint64_t place, uint8_t header[K2HFT_CHUNK_HEADER_BYTES])
{
	const struct k2i_area *area = k2i_area_of(walk->ring, place);
	uint64_t offset = place & area->mask, left = area->bytes - offset;
	size_t first = left < K2HFT_CHUNK_HEADER_BYTES ? (size_t)left : K2HFT_CHUNK_HEADER_BYTES;

	return area->bytes && window_copy(walk, area->file_at + offset, header, first) &&
	       (first == K2HFT_CHUNK_HEADER_BYTES ||
		window_copy(walk, area->file_at, header + first, K2HFT_CHUNK_HEADER_BYTES - first));
}

static uint64_t word_get(const uint8_t *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof(word));
	return word;
}

static void chunk_add(struct backlog_walk *walk, const uint8_t *header, uint64_t size)
{
	struct k2i_chunk_fields fields = k2i_chunk_decode(le64toh(word_get(header + K2I_CHUNK_STREAM_AT)),
							  le64toh(word_get(header + K2I_CHUNK_TIME_AT)),
							  le64toh(word_get(header + K2I_CHUNK_PID_AT)));
	uint64_t payload_bytes = k2i_chunk_payload_bytes(&fields, size);
	struct sum *sum;

	if (!payload_bytes || !k2i_stream_declared(walk->ring, fields.stream_id))
		return;
	sum = &walk->sums[fields.stream_id - 1];
	if (!sum->records)
		sum->oldest_ns = fields.time_ns;
	sum->records += fields.record_count;
	sum->bytes += payload_bytes;
}

/*
 * From head to tail, as they were in the copy. Chunks that the consumer releases meanwhile can be written over: a mark is
 * valid at its own position only, so the walk ends there.
 */
static void backlog_sum(struct backlog_walk *walk)
{
	const struct k2hft_ring *ring = walk->ring;
	/* relaxed: a copy, which nobody changes. */
	uint64_t place = atomic_load_explicit(&ring->header->head, memory_order_relaxed) & ~UINT64_C(1);
	uint64_t tail = k2i_tail_load(ring), size;
	uint8_t header[K2HFT_CHUNK_HEADER_BYTES];
	unsigned kind;

	for (; k2i_position(place) < tail && header_copy(walk, place, header);
	     place = k2i_place_behind(place, kind, size)) {
		kind = k2i_mark_read(ring, place, word_get(header), &size);
		if (!kind)
			return;
		if (kind == K2I_KIND_CHUNK)
			chunk_add(walk, header, size);
	}
}

static void backlog_tell(const struct backlog_walk *walk,
			 void (*each)(void *argument, const struct k2hft_backlog *backlog), void *argument)
{
	for (uint32_t at = 0; at < K2HFT_STREAM_COUNT_MAX; at++) {
		struct k2i_stream *stream = &walk->ring->streams[at];
		const struct sum *sum = &walk->sums[at];
		struct k2hft_backlog backlog = {stream->path, stream->host, sum->records, sum->bytes, sum->oldest_ns};

		stream->path[sizeof(stream->path) - 1] = stream->host[sizeof(stream->host) - 1] = '\0';
		if (sum->records)
			each(argument, &backlog);
	}
}

int k2hft_ring_backlog(const char *path, void (*each)(void *argument, const struct k2hft_backlog *backlog),
		       void *argument)
{
	K2I_ERRNO_KEPT;
	struct backlog_walk *walk;
	struct k2hft_ring seen;
	int error;

	if (!path || !each)
		return -EINVAL;
	walk = calloc(1, sizeof(*walk));
	if (!walk)
		return -ENOMEM;
	error = k2i_observed_open(path, &seen);
	if (!error) {
		walk->ring = &seen;
		backlog_sum(walk);
		backlog_tell(walk, each, argument);
	}
	k2i_observed_close(&seen);
	free(walk);
	return error;
}
