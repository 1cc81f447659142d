/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_RING_HELP_H
#define K2I_TESTS_UNIT_RING_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <k2hft/frame.h>
#include <k2hft/ring.h>

#include "file_help.h"

#define SMALL K2HFT_RING_BYTES_MIN

static inline struct k2hft_ring *file_ring(const char *path, uint32_t flags)
{
	struct k2hft_ring_options options = {
		.size = sizeof(options), .path = path, .ring_bytes = SMALL, .flags = flags};
	struct k2hft_ring *ring;

	assert_int_equal(k2hft_ring_open(&options, &ring), 0);
	return ring;
}

static inline int attach_answer(const char *path)
{
	struct k2hft_ring *ring;
	int status = k2hft_ring_attach(path, &ring);

	if (status == 0)
		k2hft_ring_close(ring);
	return status;
}

static inline struct k2hft_ring *memory_ring(void)
{
	return file_ring(NULL, 0);
}

/* For tests whose state is a ring in memory. */
static inline int ring_make(void **state)
{
	*state = memory_ring();
	return 0;
}

static inline int ring_end(void **state)
{
	k2hft_ring_close(*state);
	return 0;
}

#define RING_TEST(name) FIXTURE_TEST(name, struct k2hft_ring *ring, ring_make, ring_end)

static inline uint32_t stream_of(struct k2hft_ring *ring, const char *path)
{
	struct k2hft_stream stream = {.path = path};
	uint32_t stream_id = 0;

	assert_int_equal(k2hft_stream_declare(ring, &stream, &stream_id), 0);
	return stream_id;
}

static inline struct k2hft_producer *producer_of(struct k2hft_ring *ring)
{
	struct k2hft_producer *producer;

	assert_int_equal(k2hft_producer_open(ring, &producer), 0);
	return producer;
}

static inline struct k2hft_ring_stats stats_of(const struct k2hft_ring *ring)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};

	assert_int_equal(k2hft_ring_stats(ring, &stats), 0);
	return stats;
}

static inline struct k2hft_chunk chunk_of(uint32_t stream_id)
{
	return (struct k2hft_chunk){.stream_id = stream_id, .record_count = 1, .time_ns = 7, .writer_pid = 8};
}

/* Pushes `text` and answers what push answers. */
static inline int push(struct k2hft_producer *producer, uint32_t stream_id, const char *text)
{
	struct k2hft_chunk chunk = chunk_of(stream_id);

	return k2hft_producer_push(producer, &chunk, text, strlen(text));
}

static inline void *reserve(struct k2hft_producer *producer, size_t bytes)
{
	void *payload = NULL;

	assert_int_equal(k2hft_producer_reserve(producer, bytes, &payload), 0);
	assert_int_equal((uintptr_t)payload % 8, 0);
	return payload;
}

static inline int commit(struct k2hft_producer *producer, uint32_t stream_id, size_t offset, size_t bytes)
{
	struct k2hft_chunk chunk = chunk_of(stream_id);

	return k2hft_producer_commit(producer, &chunk, offset, bytes);
}

/* The next chunk of a span is `text`. */
static inline void assert_chunk(const struct k2hft_span *span, size_t *offset, const char *text)
{
	struct k2hft_chunk_view view;

	assert_int_equal(k2hft_chunk_next(span->data, span->bytes, span->position, offset, &view), 1);
	assert_int_equal(view.payload_bytes, strlen(text));
	assert_memory_equal(view.payload, text, view.payload_bytes);
}

/* Reads one chunk that is `text` and acknowledges it. Returns its gap. */
static inline uint32_t take(struct k2hft_ring *ring, const char *text)
{
	struct k2hft_span span;
	size_t offset = 0;

	assert_int_equal(k2hft_ring_read(ring, 0, 0, &span, NULL), 1);
	assert_chunk(&span, &offset, text);
	assert_int_equal(offset, span.bytes);
	assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
	return span.gap_bytes;
}

/* Nothing can be read: because of a claim, or not. */
static inline void assert_nothing(struct k2hft_ring *ring, int because_claimed)
{
	struct k2hft_span span;
	int claimed = 7;

	assert_int_equal(k2hft_ring_read(ring, SIZE_MAX, 0, &span, &claimed), 0);
	assert_int_equal(claimed, because_claimed);
}

/* Whether the wake descriptor is readable, waiting for it that long. */
static inline int readable(struct k2hft_ring *ring, int timeout_ms)
{
	struct pollfd wait = {.fd = k2hft_ring_wake_descriptor(ring), .events = POLLIN};

	return poll(&wait, 1, timeout_ms);
}

/* State of the tests of ring files. */
struct files {
	char folder[256], path[512], leftover[512]; /* the ring, and its name while it is made */
};

static inline int files_make(void **state)
{
	struct files *files = calloc(1, sizeof(*files));

	folder_make(files->folder, sizeof(files->folder));
	(void)snprintf(files->path, sizeof(files->path), "%s/ring", files->folder);
	(void)snprintf(files->leftover, sizeof(files->leftover), "%s/ring.k2hft-new", files->folder);
	*state = files;
	return 0;
}

static inline int files_remove(void **state)
{
	struct files *files = *state;

	(void)unlink(files->path);
	if (rmdir(files->folder))
		return -1;
	free(files);
	return 0;
}

static inline int open_answer(const char *path, uint32_t flags)
{
	struct k2hft_ring_options options = {
		.size = sizeof(options), .path = path, .ring_bytes = SMALL, .flags = flags};
	struct k2hft_ring *ring;
	int status = k2hft_ring_open(&options, &ring);

	if (status == 0)
		k2hft_ring_close(ring);
	return status;
}

#define FILES_TEST(name) FIXTURE_TEST(name, struct files *files, files_make, files_remove)

#endif
