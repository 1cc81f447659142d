/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_WRITER_HELP_H
#define K2I_TESTS_UNIT_WRITER_HELP_H

/* For tests of writers: a sender without a client, and what comes out of its ring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <k2hft/frame.h>
#include <k2hft/sender.h>

#include "sender/sender.h"

#define MEBI (1024u * 1024)

static inline struct k2hft_sender *sender_make(uint64_t ring_bytes, uint32_t full)
{
	struct k2hft_ring_options options = {.size = sizeof(options), .ring_bytes = ring_bytes};
	struct k2hft_sender *sender;

	assert_int_equal(k2i_sender_create(&options, full, &sender), 0);
	return sender;
}

static inline struct k2hft_writer *writer_make(struct k2hft_sender *sender)
{
	struct k2hft_writer *writer;

	assert_int_equal(k2hft_writer_open(sender, "a/b.log", &writer), 0);
	return writer;
}

/* Fills the ring with pieces of a line, to the last place in which one more, be it the line's end, finds room. */
static inline void pieces_fill(struct k2hft_writer *writer)
{
	struct k2hft_chunk piece = {.stream_id = writer->to->stream_id,
				    .record_count = 1,
				    .flags = K2HFT_CHUNK_CONTINUED | K2HFT_CHUNK_CONTINUES};

	while (k2hft_producer_push(writer->to->producer, &piece, "l", 1) == 0)
		continue;
}

/* Chunks that came out of a ring. */
struct taken {
	uint8_t *bytes;
	size_t byte_count, room;
	uint64_t records, chunks;
	struct k2hft_chunk first, last; /* chunks */
	int open;                       /* a record goes on */
};

static inline void taken_add(struct taken *taken, const struct k2hft_chunk_view *view)
{
	if (taken->byte_count + view->payload_bytes > taken->room) {
		taken->room = (taken->byte_count + view->payload_bytes) * 2;
		taken->bytes = realloc(taken->bytes, taken->room);
		assert_non_null(taken->bytes);
	}
	memcpy(taken->bytes + taken->byte_count, view->payload, view->payload_bytes);
	taken->byte_count += view->payload_bytes;
	if (!taken->chunks++)
		taken->first = view->chunk;
	taken->last = view->chunk;
	/* A chunk that goes on is continued by the next, and only then. */
	assert_int_equal(!!(view->chunk.flags & K2HFT_CHUNK_CONTINUED), taken->open);
	taken->open = !!(view->chunk.flags & K2HFT_CHUNK_CONTINUES);
	taken->records += view->chunk.record_count - (taken->open ? 1 : 0);
}

/* Takes and releases all that is committed. */
static inline void take_committed(struct k2hft_sender *sender, struct taken *taken)
{
	struct k2hft_span span;

	while (k2hft_ring_read(sender->lanes[0]->ring, MEBI, 0, &span, NULL) > 0) {
		struct k2hft_chunk_view view;
		size_t offset = 0;

		while (k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view) == 1)
			taken_add(taken, &view);
		assert_int_equal(offset, span.bytes);
		assert_int_equal(k2hft_ring_release(sender->lanes[0]->ring, span.position + span.bytes), 0);
	}
}

static inline void take(struct k2hft_sender *sender, struct taken *taken)
{
	(void)k2i_sender_seal(sender);
	take_committed(sender, taken);
}

static inline void assert_taken(const struct taken *taken, const char *text)
{
	assert_int_equal(taken->byte_count, strlen(text));
	assert_memory_equal(taken->bytes, text, taken->byte_count);
}

#endif
