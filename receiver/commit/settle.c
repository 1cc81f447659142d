/* SPDX-License-Identifier: MIT */
#include "receiver/commit/settle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/uuid.h"
#include "receiver/base/text.h"
#include "receiver/commit/retracted.h"

struct settling {
	const struct k2i_destination *destination;
	struct k2i_settlement *settlement;
	struct k2i_retracted retracted;
	uint64_t records; /* beyond the position, in files */
	uint64_t kept;    /* of these, retracted */
	bool any;
};

static int range_retract(void *argument, const struct k2i_retraction *retraction)
{
	struct settling *settling = argument;

	return k2i_retracted_add(&settling->retracted, settling->settlement->ring, retraction);
}

/* The row of a sink; false: it has nothing beyond the position. */
static bool row_find(const struct settling *settling, const struct k2i_sink *sink, struct k2i_ledger_ring *row)
{
	const struct k2i_settlement *settlement = settling->settlement;

	return k2i_ledger_find(settling->destination->ledger, settlement->ring, sink->number, row) &&
	       row->position > settlement->position;
}

/* Positions whose place the ledger does not know. */
static int unknown_retract(struct settling *settling, uint64_t from, uint64_t to)
{
	const struct k2i_retraction unknown = {.loose = true, .from = from, .to = to};

	return from < to ? range_retract(settling, &unknown) : 0;
}

static int ranges_settle(struct settling *settling, struct k2i_sink *sink, const struct k2i_ledger_ring *row)
{
	struct k2i_settling task = {.row = row, .retract = range_retract, .argument = settling};
	int error = k2i_ledger_ranges(settling->destination->ledger, row->uuid, row->sink, row->position, &task.ranges,
				      &task.range_count);

	for (size_t i = 0; i < task.range_count; i++)
		settling->records += task.ranges[i].records;
	if (!error)
		error = sink->ops->settle(sink, &task);
	free(task.ranges);
	return error;
}

static int sink_settle(struct settling *settling, struct k2i_sink *sink)
{
	const uint64_t position = settling->settlement->position;
	struct k2i_ledger_ring row;
	uint64_t end;
	int error;

	if (!row_find(settling, sink, &row))
		return 0;
	settling->any = true;
	end = row.position;
	row.position = position;
	if (!sink->ops->settle)
		return unknown_retract(settling, position, end);
	error = unknown_retract(settling, position, row.proven);
	return error ? error : ranges_settle(settling, sink, &row);
}

/* The ledger has it: sinks that are settled once more have nothing to do. */
static int rows_settle(const struct settling *settling)
{
	struct k2i_ledger *ledger = settling->destination->ledger;
	struct k2i_ledger_ring row;
	int error = 0;

	K2I_SINKS_EACH(&settling->destination->sinks, sink) {
		if (error || !row_find(settling, *sink, &row))
			continue;
		row.position = settling->settlement->position;
		row.epoch = settling->settlement->epoch;
		error = k2i_ledger_settle(ledger, &row);
		if (!error && (*sink)->ops->settled)
			(*sink)->ops->settled(*sink, &row);
	}
	return error ? error : k2i_ledger_sync(ledger);
}

static void settled_report(const struct settling *settling)
{
	const struct k2i_settlement *settlement = settling->settlement;
	struct k2i_counters *counters = settling->destination->counters;
	char uuid[K2I_UUID_TEXT_BYTES];

	k2i_count(&counters->settlements, 1);
	k2i_count(&counters->settled_records, settlement->cut_records);
	k2i_count(&counters->retracted_records, settlement->retracted_records);
	k2i_count(&counters->retracted_ranges, settling->retracted.ranges);
	k2i_log(settling->retracted.ranges ? K2HFT_LOG_WARNING : K2HFT_LOG_INFO,
		"settlement: ring %s went on at another receiver from %" PRIu64 ": %" PRIu64
		" records behind that are cut off here, %" PRIu64 " stay in %" PRIu64 " ranges, which are named in %s",
		k2i_uuid_text(settlement->ring, uuid), settlement->position, settlement->cut_records,
		settlement->retracted_records, settling->retracted.ranges, settling->destination->retracted_path);
}

static int ring_settle(struct settling *settling)
{
	struct k2i_settlement *settlement = settling->settlement;
	int error = 0;

	K2I_SINKS_EACH(&settling->destination->sinks, sink) {
		if (!error)
			error = sink_settle(settling, *sink);
	}
	/* Chunks in the quarantine are beside those in files. */
	settling->kept = settling->retracted.records;
	if (!error && settling->any)
		error = k2i_quarantine_settle(settling->destination->quarantine, settlement->ring, settlement->position,
					      range_retract, settling);
	if (!error)
		error = k2i_retracted_write(&settling->retracted, settling->destination->retracted_path);
	K2I_CRASH(settle_enter_before);
	if (!error && settling->any)
		error = rows_settle(settling);
	K2I_CRASH(settle_entered);
	if (error)
		return error;
	settlement->retracted_records = settling->retracted.records;
	settlement->cut_records = settling->records > settling->kept ? settling->records - settling->kept : 0;
	if (settling->any)
		settled_report(settling);
	return 0;
}

int k2i_settle(const struct k2i_destination *destination, struct k2i_settlement *settlement)
{
	struct settling settling = {.destination = destination, .settlement = settlement};
	int error = ring_settle(&settling);

	k2i_retracted_free(&settling.retracted);
	return error;
}
