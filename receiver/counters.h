/* SPDX-License-Identifier: MIT */
#ifndef K2I_COUNTERS_H
#define K2I_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "log.h"

/* What the receiver counts: name, what it means. Each is only ever added to, by any thread. */
/* clang-format off */
#define K2I_COUNTERS(each) \
	each(connections, "connections accepted") \
	each(refused_connections, "connections refused: as many as CONNMAX allows are there") \
	each(sessions, "connections that greeted") \
	each(fenced, "connections ended because the same ring connected again") \
	each(timeouts, "connections ended because nothing came, or too slowly while memory was short") \
	each(starved, "times that a connection waited for memory") \
	each(protocol_errors, "connections ended because the peer broke a rule") \
	each(checksum_errors, "connections ended because a frame's checksum was wrong") \
	each(tls_refused, "connections refused because TLS was not agreed upon") \
	each(frames, "DATA frames committed") \
	each(chunks, "chunks committed") \
	each(records, "records committed") \
	each(bytes, "payload bytes committed") \
	each(duplicate_chunks, "chunks skipped because they were committed before") \
	each(quarantined_chunks, "chunks put aside because their stream can't be stored") \
	each(quarantined_bytes, "payload bytes of those") \
	each(quarantine_full, "times that the quarantine had no room and a sender was held") \
	each(held, "times that an output could not be written and its sender was held") \
	each(discarded_records, "records that senders gave up and announced") \
	each(discarded_ranges, "ranges that senders gave up and announced") \
	each(ledger_lost, "rings that were acknowledged further than the ledger says") \
	each(ledger_damaged, "ledgers with a damaged record") \
	each(uncertain_ranges, "rings whose position is uncertain because the machine went down") \
	each(cut_bytes, "bytes cut off files at start because they were not acknowledged") \
	each(short_files, "files found shorter than the ledger says") \
	each(commits, "commit groups")
/* clang-format on */

struct k2i_counters {
#define K2I_COUNTER_FIELD(name, meaning) atomic_uint_fast64_t name;
	K2I_COUNTERS(K2I_COUNTER_FIELD)
#undef K2I_COUNTER_FIELD
};

static inline void k2i_count(atomic_uint_fast64_t *counter, uint64_t add)
{
	/* Nothing else is ordered by a counter. */
	atomic_fetch_add_explicit(counter, add, memory_order_relaxed);
}

/* One log line with all of them. */
void k2i_counters_log(struct k2i_counters *counters, enum k2hft_log_level level);

#endif
