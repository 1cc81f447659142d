/* SPDX-License-Identifier: MIT */
#include "batch/batch.h"

#include <errno.h>

#include <k2hft/frame.h>

#include "frame/wire.h"
#include "ring/ring.h"
#include "base/wire.h"

/*
 * LZ4 makes more than 150 MB/s of log lines smaller on any processor; a link on which 256 KiB wait longer than 1.75 ms
 * gains by it. At 1 Gbit/s they wait 2.2 ms: the border keeps clear of that, since measurements scatter by a tenth.
 */
#define LINK_SLOW_NS 1750000.0
#define LINK_SLOW_BYTES (256u * 1024)
/* A socket wakes its writer for some 500 KB at a time: a measurement is several of that. */
#define LINK_MEASURE_BYTES (2u * 1024 * 1024)
#define LINK_MEASURE_NS UINT64_C(100000000)
/*
 * So many more slow measurements than others: once, it can be a receiver that the scheduler kept waiting; and one that
 * seems fast on a slow link, because the socket's buffer grew, is no reason to begin anew. No more are remembered, so that
 * a link that has become fast is soon known to be.
 */
#define LINK_SLOW_COUNT 3u
#define LINK_SLOW_COUNT_MAX 5u
#define LINK_VERDICT_NS UINT64_C(1000000000)
#define LINK_TRIAL_NS UINT64_C(1000000000)
/* A frame of a few records does not shrink much whatever they are: it says nothing of others. */
#define LINK_TRIAL_BYTES (16u * 1024)

int k2i_chunk_glance(const uint8_t *data, size_t bytes, struct k2i_chunk_glance *glance)
{
	if (bytes < K2I_CHUNK_BYTES_MIN)
		return -EBADMSG;
	glance->bytes = (size_t)(k2i_wire_u64(data + K2I_CHUNK_MARK_AT) & K2I_MARK_SIZE_MASK);
	if (glance->bytes < K2I_CHUNK_BYTES_MIN || glance->bytes % 8 || glance->bytes > bytes)
		return -EBADMSG;
	glance->stream_id = k2i_wire_u32(data + K2I_CHUNK_STREAM_AT);
	glance->record_count = k2i_wire_u32(data + K2I_CHUNK_RECORDS_AT);
	glance->time_ns = k2i_wire_u64(data + K2I_CHUNK_TIME_AT);
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
static void join(const struct k2hft_ring *ring, struct k2hft_span *span, const struct k2hft_span *more)
{
	span->data = k2i_ring_at(ring, span->position);
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
		join(ring, span, &more);
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
static bool joins(const struct k2hft_span *cut, const struct k2i_chunk_glance *next,
		  const struct k2i_batch_limits *limits, bool cut_expired)
{
	if (cut->chunk_count == 0)
		return true;
	if ((next->time_ns < limits->expired_before_ns) != cut_expired)
		return false;
	return cut->bytes + next->bytes <= limits->frame_bytes_max &&
	       (limits->records_max == 0 || cut->record_count + next->record_count <= limits->records_max);
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
	cut->bytes = 0;
	cut->record_count = 0;
	cut->chunk_count = 0;
	while (cut->bytes < span->bytes) {
		if (k2i_chunk_glance((const uint8_t *)span->data + cut->bytes, span->bytes - cut->bytes, &next) < 0)
			return -EBADMSG;
		if (span_end(cut) + next.bytes > limits->window_end || !joins(cut, &next, limits, expired))
			break;
		expired = next.time_ns < limits->expired_before_ns;
		cut->bytes += next.bytes;
		cut->record_count += next.record_count;
		cut->chunk_count++;
	}
	*kind = cut->bytes == 0 ? K2I_BATCH_WINDOW : expired ? K2I_BATCH_EXPIRED : K2I_BATCH_CHUNKS;
	return 0;
}

int k2i_batch_shorten(struct k2hft_span *cut, size_t bytes)
{
	struct k2hft_span shorter = *cut;
	struct k2i_chunk_glance next;

	shorter.bytes = 0;
	shorter.record_count = 0;
	shorter.chunk_count = 0;
	while (shorter.bytes < bytes) {
		if (k2i_chunk_glance((const uint8_t *)cut->data + shorter.bytes, bytes - shorter.bytes, &next) < 0)
			return -EBADMSG;
		shorter.bytes += next.bytes;
		shorter.record_count += next.record_count;
		shorter.chunk_count++;
	}
	*cut = shorter;
	return 0;
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

bool k2i_batch_hold(const struct k2i_batch *batch, const struct k2hft_span *cut, size_t frames_on_the_way,
		    uint64_t since_last_ns)
{
	return frames_on_the_way >= K2I_BATCH_HOLD_FRAMES && cut->bytes < K2I_BATCH_HOLD_BYTES &&
	       since_last_ns < K2I_BATCH_HOLD_NS && cut->bytes == batch->span.bytes && batch->behind.bytes == 0;
}

void k2i_link_sent(struct k2i_link *link, size_t bytes)
{
	if (link->busy_since_ns)
		link->busy_bytes += bytes;
}

void k2i_link_full(struct k2i_link *link, uint64_t now_ns)
{
	if (link->busy_since_ns)
		return;
	link->busy_since_ns = now_ns;
	link->busy_bytes = 0;
}

void k2i_link_idle(struct k2i_link *link)
{
	link->busy_since_ns = 0;
}

bool k2i_link_measured(const struct k2i_link *link, uint64_t now_ns)
{
	return link->busy_since_ns &&
	       (link->busy_bytes >= LINK_MEASURE_BYTES || now_ns - link->busy_since_ns >= LINK_MEASURE_NS);
}

void k2i_link_judge(struct k2i_link *link, uint64_t peer_limited_ns, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - link->busy_since_ns;
	uint64_t limited_ns = peer_limited_ns - link->peer_limited_ns;
	double per_block_ns = (double)elapsed_ns * LINK_SLOW_BYTES / (double)(link->busy_bytes + 1);

	/* A receiver that does not read is no matter of the network: compressing would only give it more to do. */
	if (per_block_ns <= LINK_SLOW_NS || limited_ns >= elapsed_ns / 2)
		link->slow_count -= link->slow_count > 0;
	else if (link->slow_count < LINK_SLOW_COUNT_MAX)
		link->slow_count++;
	if (link->slow_count >= LINK_SLOW_COUNT)
		link->slow_until_ns = now_ns + LINK_VERDICT_NS;
	link->busy_since_ns = now_ns;
	link->busy_bytes = 0;
	link->peer_limited_ns = peer_limited_ns;
}

bool k2i_link_compress(const struct k2i_link *link, uint32_t mode, uint64_t now_ns)
{
	if (mode != K2HFT_COMPRESS_AUTO)
		return mode == K2HFT_COMPRESS_ALWAYS;
	return now_ns < link->slow_until_ns && now_ns >= link->trial_at_ns;
}

void k2i_link_compressed(struct k2i_link *link, size_t raw_bytes, size_t compressed_bytes, uint64_t now_ns)
{
	if (raw_bytes >= LINK_TRIAL_BYTES && (compressed_bytes == 0 || compressed_bytes >= raw_bytes - raw_bytes / 10))
		link->trial_at_ns = now_ns + LINK_TRIAL_NS;
}
