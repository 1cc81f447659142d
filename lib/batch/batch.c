/* SPDX-License-Identifier: MIT */
#include "batch/batch.h"

#include <errno.h>

#include "frame/chunk.h"
#include "ring/ring.h"
#include "base/byte_order.h"

int k2i_chunk_glance(const struct k2hft_span *span, size_t at, struct k2i_chunk_glance *glance)
{
	const uint8_t *data = (const uint8_t *)span->data + at;
	size_t bytes = span->bytes - at;
	struct k2i_chunk_fields fields;

	if (bytes < K2I_CHUNK_BYTES_MIN)
		return -EBADMSG;
	glance->bytes = (size_t)(k2i_wire_u64(data + K2I_CHUNK_MARK_AT) & K2I_MARK_SIZE_MASK);
	if (glance->bytes < K2I_CHUNK_BYTES_MIN || glance->bytes % 8 || glance->bytes > bytes)
		return -EBADMSG;
	fields = k2i_chunk_decode(k2i_wire_u64(data + K2I_CHUNK_STREAM_AT), k2i_wire_u64(data + K2I_CHUNK_TIME_AT), 0);
	glance->stream_id = fields.stream_id;
	glance->record_count = fields.record_count;
	glance->time_ns = fields.time_ns;
	return 0;
}

void k2i_batch_reset(struct k2i_batch *batch, uint64_t read)
{
	*batch = (struct k2i_batch){.read = read};
}

static uint64_t span_end(const struct k2hft_span *span)
{
	return span->position + span->bytes;
}

/*
 * Ring memory is mapped twice in a row, so what follows in position follows in memory, for a lap from the first view on.
 * The rest of a cut span can begin in the second one.
 */
static void span_join(const struct k2hft_ring *ring, struct k2hft_span *span, const struct k2hft_span *more)
{
	span->data = k2i_ring_first_view(ring, span->data);
	span->bytes += more->bytes;
	span->record_count += more->record_count;
	span->chunk_count += more->chunk_count;
}

int k2i_batch_fill(struct k2i_batch *batch, struct k2hft_ring *ring, const struct k2i_batch_limits *limits,
		   int *claimed)
{
	struct k2hft_span *span = &batch->span, more;
	uint64_t records_max = limits->records_max;

	*claimed = 0;
	if (batch->behind.bytes || span->bytes >= limits->frame_bytes_max ||
	    (records_max && span->record_count >= records_max) || batch->read >= limits->window_end)
		return 0;
	int chunks = k2hft_ring_read(ring, limits->frame_bytes_max - span->bytes,
				     records_max ? records_max - span->record_count : 0, &more, claimed);
	if (chunks <= 0)
		return span->bytes ? 0 : chunks;
	batch->read = span_end(&more);
	if (span->bytes == 0)
		*span = more;
	else if (more.position == span_end(span))
		span_join(ring, span, &more);
	else
		batch->behind = more;
	return 0;
}

static bool whole_span_fits(const struct k2hft_span *span, const struct k2i_batch_limits *limits)
{
	return span_end(span) <= limits->window_end && span->bytes <= limits->frame_bytes_max &&
	       (limits->records_max == 0 || span->record_count <= limits->records_max) &&
	       limits->expired_before_ns == 0;
}

/* Chunks of several producers are only about in the order of their times: a run ends where old turns to young. */
static bool chunk_joins(const struct k2hft_span *cut, const struct k2i_chunk_glance *next,
			const struct k2i_batch_limits *limits, bool cut_expired)
{
	if (cut->chunk_count == 0)
		return true;
	if ((next->time_ns < limits->expired_before_ns) != cut_expired)
		return false;
	return cut->bytes + next->bytes <= limits->frame_bytes_max &&
	       (limits->records_max == 0 || cut->record_count + next->record_count <= limits->records_max);
}

/* Nothing of it, where it begins. */
static struct k2hft_span span_begin(const struct k2hft_span *span)
{
	return (struct k2hft_span){.data = span->data, .position = span->position, .gap_bytes = span->gap_bytes};
}

static void span_extend(struct k2hft_span *span, const struct k2i_chunk_glance *next)
{
	span->bytes += next->bytes;
	span->record_count += next->record_count;
	span->chunk_count++;
}

int k2i_batch_cut(const struct k2i_batch *batch, const struct k2i_batch_limits *limits, enum k2i_batch_kind *kind,
		  struct k2hft_span *cut)
{
	const struct k2hft_span *span = &batch->span;
	struct k2i_chunk_glance next;
	bool expired = false;

	*cut = *span;
	*kind = span->bytes ? K2I_BATCH_CHUNKS : K2I_BATCH_EMPTY;
	if (span->bytes == 0 || whole_span_fits(span, limits))
		return 0;
	*cut = span_begin(span);
	while (cut->bytes < span->bytes) {
		if (k2i_chunk_glance(span, cut->bytes, &next) < 0)
			return -EBADMSG;
		if (span_end(cut) + next.bytes > limits->window_end || !chunk_joins(cut, &next, limits, expired))
			break;
		expired = next.time_ns < limits->expired_before_ns;
		span_extend(cut, &next);
	}
	*kind = cut->bytes == 0 ? K2I_BATCH_WINDOW : expired ? K2I_BATCH_EXPIRED : K2I_BATCH_CHUNKS;
	return 0;
}

int k2i_batch_shorten(struct k2hft_span *cut, size_t bytes)
{
	struct k2hft_span shorter = span_begin(cut);
	struct k2i_chunk_glance next;

	while (shorter.bytes < bytes) {
		if (k2i_chunk_glance(cut, shorter.bytes, &next) < 0)
			return -EBADMSG;
		span_extend(&shorter, &next);
	}
	*cut = shorter;
	return shorter.bytes == bytes ? 0 : -EBADMSG;
}

void k2i_batch_take(struct k2i_batch *batch, const struct k2hft_span *cut)
{
	struct k2hft_span *span = &batch->span;

	if (cut->bytes >= span->bytes) {
		*span = batch->behind;
		batch->behind = (struct k2hft_span){0};
		return;
	}
	span->data = (const uint8_t *)span->data + cut->bytes;
	span->bytes -= cut->bytes;
	span->position += cut->bytes;
	/* Both come from memory that others can write to: a count that changed meanwhile must not wrap. */
	span->record_count -= cut->record_count < span->record_count ? cut->record_count : span->record_count;
	span->chunk_count -= cut->chunk_count < span->chunk_count ? cut->chunk_count : span->chunk_count;
}

bool k2i_batch_gather(const struct k2i_batch *batch, const struct k2hft_span *cut, size_t frames_on_the_way,
		      uint64_t since_last_ns)
{
	return frames_on_the_way >= K2I_BATCH_GATHER_FRAMES && cut->bytes < K2I_BATCH_GATHER_BYTES &&
	       since_last_ns < K2I_BATCH_GATHER_NS && cut->bytes == batch->span.bytes && batch->behind.bytes == 0;
}
