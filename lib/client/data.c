/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "client/state.h"
#include "base/clock.h"
#include "base/crash.h"
#include "ring/ring.h"

/*
 * A claim is looked at again soon, then less and less often: a commit wakes anyway. Whether its producer still lives is
 * asked only after a while.
 */
#define CLAIM_FIRST_NS K2I_MILLISECOND_NS
#define CLAIM_RECOVER_NS (100 * K2I_MILLISECOND_NS)

#define MEMORY_RETRY_NS (100 * K2I_MILLISECOND_NS)

static int pause_until(struct k2hft_client *client, enum k2i_client_pause pause, uint64_t until_ns)
{
	client->data.pause = pause;
	client->data.pause_until_ns = until_ns;
	return 0;
}

/*
 * Tells the receiver that [announced, to) never comes. There is room: the caller begins with an empty queue. -ESTALE: the
 * original of a copy may still send it.
 */
static int discard_announce(struct k2hft_client *client, uint64_t to, uint64_t record_count, uint8_t reason)
{
	struct k2hft_discard discard = {
		.from = client->positions.announced, .to = to, .record_count = record_count, .reason = reason};
	uint8_t *room = k2i_client_control_room(client, K2I_CLIENT_SHORT_ROOM);
	int bytes = room ? k2hft_discard_encode(&discard, room, K2I_CLIENT_SHORT_ROOM) : -ENOBUFS;

	if (k2i_client_name_old(client))
		return -ESTALE;
	if (bytes < 0)
		return -EIO;
	K2I_CRASH(discard_before);
	k2i_client_control_add(client, (size_t)bytes);
	k2i_client_sent_add(client, to);
	client->positions.announced = to;
	if (client->positions.sent_max < to)
		client->positions.sent_max = to;
	client->stats.discarded_ranges++;
	K2I_CRASH(discard_announced);
	return 0;
}

static int span_discard(struct k2hft_client *client, const struct k2hft_span *span, uint8_t reason)
{
	int error = discard_announce(client, span->position + span->bytes, span->record_count, reason);

	k2i_batch_take(&client->data.batch, span);
	return error < 0 ? error : 1;
}

/*
 * Records of the span that were not given up on an earlier connection already, which may have cut it differently. `known`
 * counts for a single reason: records in front of them that were sent can be given up for another reason later.
 */
static uint64_t given_up_count(uint64_t *known, const struct k2hft_span *span)
{
	struct k2i_chunk_glance chunk;
	uint64_t records = 0;
	size_t at = 0;

	for (; at < span->bytes; at += chunk.bytes) {
		if (k2i_chunk_glance(span, at, &chunk) < 0)
			break;
		records += span->position + at >= *known ? chunk.record_count : 0;
	}
	if (*known < span->position + span->bytes)
		*known = span->position + span->bytes;
	return records;
}

static int expired_discard(struct k2hft_client *client, const struct k2hft_span *span, uint64_t now_ns)
{
	uint64_t records = given_up_count(&client->data.expired, span);

	if (records)
		k2i_log_limited(&client->data.expired_limit, now_ns, K2HFT_LOG_ERROR,
				"client: %" PRIu64 " records at positions %" PRIu64 " to %" PRIu64
				" are older than %" PRIu32 " s and given up",
				records, span->position, span->position + span->bytes, client->options.expire_s);
	client->stats.expired_records += records;
	k2i_ring_count(client->ring, expired_records, records);
	return span_discard(client, span, K2HFT_DISCARD_EXPIRED);
}

static int undeclared_discard(struct k2hft_client *client, const struct k2hft_span *span, uint64_t now_ns)
{
	uint64_t records = given_up_count(&client->data.undeclared, span);

	if (records)
		k2i_log_limited(&client->data.repair_limit, now_ns, K2HFT_LOG_ERROR,
				"client: the stream of the chunk at position %" PRIu64
				" is not known to the ring: %" PRIu64 " records are given up",
				span->position, records);
	client->stats.unknown_records += records;
	k2i_ring_count(client->ring, unknown_records, records);
	return span_discard(client, span, K2HFT_DISCARD_REPAIRED);
}

/*
 * A chunk that can't be read becomes a hole. Only the first of several places that are mended at once is known, so
 * every hole up to the tail of now counts as damage then: better to announce one too many.
 */
static int ring_repair(struct k2hft_client *client, uint64_t now_ns)
{
	uint64_t begin = client->positions.announced;
	int places = k2hft_ring_repair(client->ring);
	struct k2hft_ring_stats stats = k2i_ring_stats(client->ring);

	if (places < 0 || ++client->data.repairs > K2I_CLIENT_REPAIRS_MAX)
		return -EIO;
	if (k2hft_ring_rewind(client->ring, begin) < 0) {
		/*
		 * A chunk that was sent is damaged, too, so there is no way from it to here: WELCOME shows where to go
		 * on.
		 */
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "the ring was damaged and is mended");
		return 0;
	}
	k2i_batch_reset(&client->data.batch, begin);
	if (client->positions.repaired_to <= client->positions.acked)
		client->positions.repaired_from = begin;
	uint64_t to = places > 1 ? stats.tail : stats.read + 1;
	if (client->positions.repaired_to < to)
		client->positions.repaired_to = to;
	k2i_log_limited(&client->data.repair_limit, now_ns, K2HFT_LOG_ERROR,
			"client: the ring is damaged at position %" PRIu64 ": %d places mended, %" PRIu64
			" bytes skipped up to now",
			stats.read, places, stats.damaged_bytes);
	return 1;
}

/* A hole in front of the span that the header of DATA, or a DISCARD for another reason, can't or shall not explain. */
static int hole_announce(struct k2hft_client *client, const struct k2hft_span *span)
{
	uint64_t gap = span->position - client->positions.announced;
	bool damage = client->positions.announced < client->positions.repaired_to &&
		      span->position > client->positions.repaired_from;

	if (gap == 0 || (!damage && gap <= UINT32_MAX))
		return 0;
	return discard_announce(client, span->position, 0, K2HFT_DISCARD_REPAIRED);
}

/* The largest frame is one chunk of the largest size. A span that another process makes longer goes as it is. */
#define COMPRESSED_ROOM k2hft_frame_compress_bound(K2HFT_CHUNK_BYTES_MAX)

static bool compressed_make(struct k2hft_client *client)
{
	if (!client->data.compressed)
		client->data.compressed = malloc(COMPRESSED_ROOM);
	return client->data.compressed != NULL;
}

static void body_compress(struct k2hft_client *client, struct k2hft_frame *frame, uint64_t now_ns)
{
	struct k2i_client_output *output = &client->output;

	if (!k2i_link_compress(&client->link, client->options.compress, now_ns) || !compressed_make(client))
		return;
	int bytes = k2hft_frame_compress(output->body, output->body_bytes, client->data.compressed, COMPRESSED_ROOM);
	k2i_link_compressed(&client->link, output->body_bytes, bytes > 0 ? (size_t)bytes : 0, now_ns);
	if (bytes <= 0)
		return;
	output->body = client->data.compressed;
	output->body_bytes = (size_t)bytes;
	frame->flags = K2HFT_FRAME_LZ4;
	frame->body_bytes = (uint32_t)bytes;
	client->stats.compressed_frames++;
}

static int frame_set(struct k2hft_client *client, const struct k2hft_span *span, uint64_t now_ns)
{
	struct k2i_client_output *output = &client->output;
	uint64_t end = span->position + span->bytes;
	struct k2hft_frame frame = {.type = K2HFT_FRAME_DATA,
				    .body_bytes = (uint32_t)span->bytes,
				    .raw_bytes = (uint32_t)span->bytes,
				    .gap_bytes = (uint32_t)(span->position - client->positions.announced),
				    .position = span->position};

	k2i_client_archive(client, span, now_ns);
	output->body = span->data;
	output->body_bytes = span->bytes;
	body_compress(client, &frame, now_ns);
	if (k2hft_frame_header_encode(&frame, output->body, output->header) < 0)
		return -EIO;
	output->position = span->position;
	output->end = end;
	output->record_count = span->record_count;
	output->frame_sent = 0;
	output->frame = true;
	client->positions.announced = end;
	client->data.cut_ns = now_ns;
	k2i_batch_take(&client->data.batch, span);
	return 1;
}

/* The records stay in the ring: memory that is short now is no reason to lose them. */
static int memory_wait(struct k2hft_client *client, uint64_t now_ns)
{
	k2i_log_limited(&client->data.memory_limit, now_ns, K2HFT_LOG_WARNING,
			"client: no memory to declare a stream; trying again");
	return pause_until(client, K2I_CLIENT_PAUSE_MEMORY, now_ns + MEMORY_RETRY_NS);
}

static int chunks_send(struct k2hft_client *client, struct k2hft_span *span, uint64_t now_ns)
{
	int error = hole_announce(client, span);

	if (error < 0)
		return error;
	int64_t bytes = k2i_client_streams_declare(client, span);
	if (bytes == -ENOMEM)
		return memory_wait(client, now_ns);
	/* The queue goes out first, then the same span is cut again. */
	if (bytes == -ENOBUFS)
		return 1;
	if (bytes < 0)
		return (int)bytes;
	if (bytes == 0) {
		struct k2i_chunk_glance first;

		if (k2i_chunk_glance(span, 0, &first) < 0)
			return -EBADMSG;
		error = k2i_batch_shorten(span, first.bytes);
		return error < 0 ? error : undeclared_discard(client, span, now_ns);
	}
	if ((uint64_t)bytes < span->bytes) {
		error = k2i_batch_shorten(span, (size_t)bytes);
		if (error < 0)
			return error;
	}
	return frame_set(client, span, now_ns);
}

static int claim_wait(struct k2hft_client *client, uint64_t now_ns)
{
	if (client->data.claim_recover_ns == 0) {
		client->data.claim_recover_ns = now_ns + CLAIM_RECOVER_NS;
		client->data.claim_retry_ns = CLAIM_FIRST_NS;
	}
	if (now_ns >= client->data.claim_recover_ns) {
		int gone = k2hft_ring_recover(client->ring);

		client->data.claim_recover_ns = now_ns + CLAIM_RECOVER_NS;
		if (gone > 0) {
			k2i_log_limited(
				&client->data.claim_limit, now_ns, K2HFT_LOG_WARNING,
				"client: what a process reserved in the ring and did not finish before it ended "
				"is discarded");
			return 1;
		}
	}
	uint64_t until_ns = now_ns + client->data.claim_retry_ns;
	if (client->data.claim_retry_ns < CLAIM_RECOVER_NS)
		client->data.claim_retry_ns *= 2;
	return pause_until(client, K2I_CLIENT_PAUSE_CLAIM, until_ns);
}

static void limits_set(const struct k2hft_client *client, struct k2i_batch_limits *limits)
{
	uint64_t expire_ns = client->options.expire_s * K2I_SECOND_NS;

	*limits = (struct k2i_batch_limits){.window_end = client->positions.window_end,
					    .frame_bytes_max = K2I_BATCH_FRAME_BYTES,
					    .records_max = client->options.batch_records_max};
	if (limits->frame_bytes_max > client->positions.frame_bytes_max)
		limits->frame_bytes_max = client->positions.frame_bytes_max;
	if (client->resume.name.end < limits->window_end)
		limits->window_end = client->resume.name.end;
	if (client->options.expire_s == 0 || k2i_client_name_old(client))
		return;
	uint64_t now_ns = k2i_clock_ns(CLOCK_REALTIME);
	if (now_ns > expire_ns)
		limits->expired_before_ns = now_ns - expire_ns;
}

static int batch_fill(struct k2hft_client *client, const struct k2i_batch_limits *limits, int *claimed, uint64_t now_ns)
{
	int error = k2i_batch_fill(&client->data.batch, client->ring, limits, claimed);

	if (error < 0 || !*claimed || client->data.batch.span.bytes || !client->claims.hook ||
	    now_ns < k2i_client_claims_ask_at(client))
		return error;
	k2i_client_claims_ask(client);
	return k2i_batch_fill(&client->data.batch, client->ring, limits, claimed);
}

static int cut_handle(struct k2hft_client *client, enum k2i_batch_kind kind, struct k2hft_span *cut, uint64_t now_ns)
{
	if (kind == K2I_BATCH_WINDOW)
		return pause_until(client, K2I_CLIENT_PAUSE_WINDOW, 0);
	if (kind == K2I_BATCH_EXPIRED) {
		int error = hole_announce(client, cut);

		return error < 0 ? error : expired_discard(client, cut, now_ns);
	}
	if (k2i_batch_gather(&client->data.batch, cut, client->sent.count, now_ns - client->data.cut_ns))
		return pause_until(client, K2I_CLIENT_PAUSE_GATHER, client->data.cut_ns + K2I_BATCH_GATHER_NS);
	client->data.repairs = 0;
	return chunks_send(client, cut, now_ns);
}

static int frame_next(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2i_batch_limits limits;
	enum k2i_batch_kind kind;
	struct k2hft_span cut;
	int claimed;

	limits_set(client, &limits);
	int error = batch_fill(client, &limits, &claimed, now_ns);
	if (error == 0)
		error = k2i_batch_cut(&client->data.batch, &limits, &kind, &cut);
	if (error < 0)
		return error;
	if (kind == K2I_BATCH_EMPTY && claimed)
		return claim_wait(client, now_ns);
	client->data.claim_recover_ns = 0;
	if (kind != K2I_BATCH_EMPTY)
		return cut_handle(client, kind, &cut, now_ns);
	bool window_shut = client->data.batch.read >= limits.window_end;
	return pause_until(client, window_shut ? K2I_CLIENT_PAUSE_WINDOW : K2I_CLIENT_PAUSE_RING, 0);
}

int k2i_client_frame_next(struct k2hft_client *client, uint64_t now_ns)
{
	if (client->move.returning)
		return pause_until(client, K2I_CLIENT_PAUSE_WINDOW, 0);
	int done = frame_next(client, now_ns);
	if (done == -EBADMSG)
		done = ring_repair(client, now_ns);
	if (done == -ESTALE) {
		k2i_client_name_drop(client, now_ns);
		return 0;
	}
	return done < 0 ? -EIO : done;
}

/*
 * A writer that begins a chunk when this thread is awake does not wake it. It may have begun it after the ring was last
 * read: so the hook is asked once more, now that writers see that the client sleeps.
 */
static void claims_ask(struct k2hft_client *client, uint64_t now_ns)
{
	if (!client->claims.hook)
		return;
	uint64_t at_ns = k2i_client_claims_ask_at(client);
	if (now_ns >= at_ns)
		k2i_client_claims_ask(client);
	else
		(void)pause_until(client, K2I_CLIENT_PAUSE_CLAIM, at_ns);
}

int k2i_client_ring_sleep(struct k2hft_client *client, uint64_t now_ns)
{
	bool empty = client->data.pause == K2I_CLIENT_PAUSE_RING;

	if (!empty && client->data.pause != K2I_CLIENT_PAUSE_CLAIM)
		return 0;
	int quiet = k2hft_ring_sleep(client->ring);
	if (quiet == 0)
		client->data.pause = K2I_CLIENT_PAUSE_NONE;
	if (quiet > 0 && empty)
		claims_ask(client, now_ns);
	return quiet < 0 ? quiet : 0;
}
