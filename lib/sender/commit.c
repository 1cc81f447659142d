/* SPDX-License-Identifier: MIT */
#include "sender/writer.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "ring/ring.h"
#include "sender/sender.h"

static void count_piece(struct k2hft_writer *writer)
{
	struct k2hft_sender *sender = writer->sender;

	(void)atomic_fetch_add_explicit(&sender->pieces, 1, memory_order_relaxed);
	k2i_ring_count(writer->to->lane->ring, pieces, 1);
	k2i_log_limited(&sender->piece_limit, k2i_clock_ns(CLOCK_MONOTONIC), K2HFT_LOG_INFO,
			"sender: a record over %zu bytes goes in pieces", writer->sender->sizes.piece_bytes_max);
}

/* Only if somebody wrote over the ring's own words; the records can't be saved, the count can. */
static void commit_failed(struct k2hft_writer *writer, int status, uint32_t record_count)
{
	k2i_counter_add(&writer->dropped_records, record_count);
	k2i_ring_count(writer->to->lane->ring, dropped_records, record_count);
	k2i_log_limited(&writer->sender->drop_limit, k2i_clock_ns(CLOCK_MONOTONIC), K2HFT_LOG_ERROR,
			"sender: %u records lost: commit: %s", record_count, strerror(-status));
}

/* The claim was made all the same, so that writers know one way to fill it. */
static int claim_except(struct k2hft_writer *writer, uint32_t record_count, uint16_t flags)
{
	k2i_writer_discard_claim(writer);
	writer->record_goes_on = flags & K2HFT_CHUNK_CONTINUES;
	/* relaxed: nothing else is ordered by a counter. */
	(void)atomic_fetch_add_explicit(&writer->sender->excepted_records, writer->record_goes_on ? 0 : record_count,
					memory_order_relaxed);
	return 0;
}

int k2i_writer_commit_claim(struct k2hft_writer *writer, uint64_t time_ns, uint32_t record_count, uint16_t flags,
			    size_t bytes)
{
	struct k2hft_chunk chunk = {
		.stream_id = writer->to->stream_id,
		.record_count = record_count,
		.time_ns = time_ns,
		.writer_pid = writer->writer_pid,
		.flags = flags,
	};
	int status;

	if (writer->excepted)
		return claim_except(writer, record_count, flags);
	status = writer->copy_count > 1 ? k2i_copies_commit(writer, &chunk, bytes)
					: k2hft_producer_commit(writer->to->producer, &chunk, 0, bytes);

	writer->record_goes_on = flags & K2HFT_CHUNK_CONTINUES;
	if (status == 0 && writer->record_goes_on)
		count_piece(writer);
	if (status == 0)
		return 0;
	k2i_writer_discard_claim(writer);
	commit_failed(writer, status, record_count);
	return status;
}

void k2i_writer_discard_claim(struct k2hft_writer *writer)
{
	if (writer->copy_count > 1)
		k2i_copies_discard(writer);
	else
		(void)k2hft_producer_discard(writer->to->producer);
}

static void open_bytes_adapt(struct k2hft_writer *writer, size_t filled, bool early)
{
	size_t most = writer->sender->sizes.open_bytes_max;

	if (!early)
		writer->open_bytes = writer->open_bytes < most / 2 ? writer->open_bytes * 2 : most;
	else if (filled < writer->open_bytes / 4 && writer->open_bytes > K2I_OPEN_BYTES_FIRST)
		writer->open_bytes /= 2;
}

void k2i_writer_commit_open(struct k2hft_writer *writer, bool early)
{
	uint64_t records = atomic_load_explicit(&writer->records, memory_order_relaxed);
	uint64_t sealed = atomic_load_explicit(&writer->sealed_records, memory_order_relaxed);
	size_t filled = k2i_writer_filled(writer);

	if (!writer->begin)
		return;
	/* A record is in it: whoever opens it goes on to write one before anybody else may come here. */
	(void)k2i_writer_commit_claim(writer, writer->open_time_ns, (uint32_t)(records - sealed), 0, filled);
	open_bytes_adapt(writer, filled, early);
	writer->begin = NULL;
	writer->end_bytes = 0;
	atomic_store_explicit(&writer->sealed_records, records, memory_order_release); /* edge S5 */
	/* relaxed, here and where no claim was to be had: a sealer that comes in vain does no harm. */
	atomic_store_explicit(&writer->open, K2I_OPEN_NONE, memory_order_relaxed);
}
