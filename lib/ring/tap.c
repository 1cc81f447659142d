/* SPDX-License-Identifier: MIT */
/*
 * A look at chunks from outside, which nobody in the ring waits for or knows of. The file is read and not mapped, as in
 * observe.c. A chunk that is acknowledged can be seen for a while: until a claim takes its memory again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/caller.h"
#include "ring/map.h"

/* Chunks that lie further behind the tail are passed over: who looks wants to see what is written now. */
#define RECENT_BYTES (UINT64_C(256) * 1024)
#define STEPS_MAX 65536u /* of one call */

struct k2hft_tap {
	struct k2hft_ring ring; /* without memory; its header is `header` */
	struct k2i_ring_header header;
	struct k2i_stream stream; /* of the last chunk */
	uint64_t place;           /* of the next entry */
	atomic_uint order;
	uint8_t payload[K2HFT_CHUNK_BYTES_MAX];
};

/* Reads before it come before reads behind it: A1, A2 or A9 at its callers. The thread sanitizer knows no fence. */
static void reads_order(struct k2hft_tap *tap)
{
	/* A1, A2, A9 */
	(void)atomic_exchange_explicit(&tap->order, 0, memory_order_seq_cst);
}

static bool bytes_read(const struct k2hft_tap *tap, uint64_t offset, void *to, size_t bytes)
{
	ssize_t got;

	do
		got = pread(tap->ring.descriptor, to, bytes, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)bytes;
}

/* Bytes of the data from a place on, which go on at the begin of its area where that ends. */
static bool data_read(const struct k2hft_tap *tap, uint64_t place, uint64_t skip, void *to, size_t bytes)
{
	const struct k2i_area *area = k2i_area_of(&tap->ring, place);
	uint64_t offset = (k2i_position(place) + skip) & (area->bytes - 1), left = area->bytes - offset;
	size_t first = left < bytes ? (size_t)left : bytes;

	return bytes <= area->bytes && bytes_read(tap, area->file_at + offset, to, first) &&
	       bytes_read(tap, area->file_at, (uint8_t *)to + first, bytes - first);
}

/* relaxed, all of this file: copies, which nobody changes. */
static uint64_t header_word(_Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

/* Positions as they are now; the ring itself is the one that was opened. */
static bool header_read(struct k2hft_tap *tap)
{
	/* A2: the data were read before the positions that judge them. */
	reads_order(tap);
	return bytes_read(tap, 0, &tap->header, sizeof(tap->header));
}

static uint64_t lag_bytes(struct k2hft_tap *tap, uint64_t place)
{
	return k2i_position(header_word(&tap->header.tail)) - k2i_position(place);
}

/*
 * Whether the memory at the place was its own until the header was read. Up to the head nobody claims it. Behind that a
 * claim takes it when the tail has gone round the area; and the tail can have been further than it is now, by a claim that
 * was given back: it was less than three quarters of the area, as no claim of ours is more.
 */
static bool place_kept(struct k2hft_tap *tap, uint64_t place)
{
	uint64_t head = k2i_position(header_word(&tap->header.head)), lag = lag_bytes(tap, place);

	return lag <= INT64_MAX && (k2i_position(place) >= head || lag <= k2i_area_of(&tap->ring, place)->bytes / 4);
}

/* To where the consumer reads: an entry begins there. */
static void place_catch_up(struct k2hft_tap *tap)
{
	tap->place = header_word(&tap->header.read) & ~UINT64_C(1);
}

/* The stream of a chunk; without path if its number has become another's meanwhile. */
static bool stream_read(struct k2hft_tap *tap, uint32_t stream_id)
{
	struct k2i_stream *stream = &tap->stream;
	uint64_t at = K2I_STREAMS_AT + (uint64_t)(stream_id - 1) * sizeof(*stream);
	_Atomic uint32_t generation;

	if (stream_id == 0 || stream_id > K2HFT_STREAM_COUNT_MAX || !bytes_read(tap, at, stream, sizeof(*stream)))
		return false;
	/* A9 */
	reads_order(tap);
	if (!bytes_read(tap, at + offsetof(struct k2i_stream, generation), &generation, sizeof(generation)))
		return false;
	if (atomic_load_explicit(&generation, memory_order_relaxed) !=
		    atomic_load_explicit(&stream->generation, memory_order_relaxed) ||
	    atomic_load_explicit(&generation, memory_order_relaxed) % 2 ||
	    header_word(&stream->declared_at) > k2i_position(tap->place)) {
		stream->path[0] = stream->host[0] = '\0';
		stream->mode = K2HFT_STREAM_TEXT;
		return true;
	}
	stream->path[sizeof(stream->path) - 1] = stream->host[sizeof(stream->host) - 1] = '\0';
	return atomic_load_explicit(&stream->declared, memory_order_relaxed) == 1 &&
	       k2hft_stream_path_check(stream->path, strlen(stream->path)) == 0 &&
	       (stream->mode == K2HFT_STREAM_TEXT || stream->mode == K2HFT_STREAM_BINARY);
}

/* Whether it is a chunk that was whole while it was read. */
static bool chunk_take(struct k2hft_tap *tap, const uint64_t words[4], uint64_t size, struct k2hft_tapped *tapped)
{
	struct k2i_chunk_fields fields = k2i_chunk_decode(le64toh(words[1]), le64toh(words[2]), le64toh(words[3]));
	uint64_t payload_bytes = k2i_chunk_payload_bytes(&fields, size);

	/* A1: the mark was read before the payload that it publishes. */
	reads_order(tap);
	if (!payload_bytes || payload_bytes > sizeof(tap->payload) || !stream_read(tap, fields.stream_id) ||
	    !data_read(tap, tap->place, K2HFT_CHUNK_HEADER_BYTES + fields.lead_bytes, tap->payload,
		       (size_t)payload_bytes) ||
	    !header_read(tap) || !place_kept(tap, tap->place))
		return false;
	tapped->path = tap->stream.path;
	tapped->host = tap->stream.host;
	tapped->mode = tap->stream.mode;
	tapped->chunk = (struct k2hft_chunk){.stream_id = fields.stream_id,
					     .record_count = fields.record_count,
					     .time_ns = fields.time_ns,
					     .writer_pid = fields.writer_pid,
					     .flags = (uint16_t)fields.flags};
	tapped->payload = tap->payload;
	tapped->payload_bytes = (size_t)payload_bytes;
	tapped->position = k2i_position(tap->place);
	return true;
}

int k2hft_tap_next(struct k2hft_tap *tap, struct k2hft_tapped *tapped)
{
	K2I_ERRNO_KEPT;
	uint64_t words[4], size, behind;
	bool taken = false;
	unsigned kind;

	if (!tap || !tapped)
		return -EINVAL;
	*tapped = (struct k2hft_tapped){0};
	if (!header_read(tap))
		return -EPROTO;
	for (unsigned step = 0; step < STEPS_MAX && !taken; step++) {
		if (!place_kept(tap, tap->place)) {
			place_catch_up(tap);
			tapped->missed = 1;
		}
		if (lag_bytes(tap, tap->place) == 0 || lag_bytes(tap, tap->place) > INT64_MAX ||
		    !data_read(tap, tap->place, 0, words, sizeof(words)))
			return 0;
		kind = k2i_mark_read(&tap->ring, tap->place, words[0], &size);
		if (!kind || kind == K2I_KIND_CLAIMED || size > lag_bytes(tap, tap->place))
			return 0;
		behind = k2i_place_behind(tap->place, kind, size);
		if (kind == K2I_KIND_CHUNK) {
			taken = lag_bytes(tap, tap->place) <= RECENT_BYTES && chunk_take(tap, words, size, tapped);
			tapped->missed |= !taken;
		}
		tap->place = behind;
	}
	return taken;
}

/* The right to read a file is not yet the right to read what is sent. */
static int tap_start(struct k2hft_tap *tap, const char *path)
{
	struct stat file;
	int error;

	tap->ring.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (tap->ring.descriptor < 0 || fstat(tap->ring.descriptor, &file) < 0)
		return -errno;
	if (geteuid() != 0 && file.st_uid != geteuid())
		return -EPERM;
	error = k2i_ring_identify(tap->ring.descriptor, &tap->header, NULL);
	if (error)
		return error;
	tap->ring.header = &tap->header;
	tap->ring.capacity = tap->header.capacity;
	tap->ring.seed = tap->header.seed;
	k2i_areas_set(&tap->ring);
	place_catch_up(tap);
	return 0;
}

int k2hft_tap_open(const char *path, struct k2hft_tap **tap)
{
	K2I_ERRNO_KEPT;
	struct k2hft_tap *opened;
	int error;

	if (!path || !tap)
		return -EINVAL;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->ring.descriptor = -1;
	error = tap_start(opened, path);
	if (error)
		k2hft_tap_close(opened);
	else
		*tap = opened;
	return error;
}

void k2hft_tap_close(struct k2hft_tap *tap)
{
	K2I_ERRNO_KEPT;

	if (!tap)
		return;
	if (tap->ring.descriptor >= 0)
		(void)close(tap->ring.descriptor);
	free(tap);
}
