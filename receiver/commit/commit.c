/* SPDX-License-Identifier: MIT */
#include "receiver/commit/commit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define QUARANTINE "the quarantine" /* in `failed`, beside K2I_GROUP_LEDGER and what a sink says */

static const struct k2i_sinks *sinks_of(const struct k2i_committer *committer)
{
	return &committer->destination->sinks;
}

int k2i_committer_start(struct k2i_committer *committer, const struct k2i_destination *destination)
{
	int error = 0;

	memset(committer, 0, sizeof(*committer));
	committer->destination = destination;
	K2I_SINKS_EACH(&destination->sinks, sink)
		error = error ? error : k2i_group_start(&committer->groups[(*sink)->number], *sink);
	return error;
}

void k2i_committer_free(struct k2i_committer *committer)
{
	for (uint32_t i = 0; i < K2I_SINKS_MAX; i++) {
		if (committer->groups[i].sink)
			k2i_group_free(&committer->groups[i]);
	}
}

int k2i_committer_add(struct k2i_committer *committer, const struct k2i_commit *commit, struct k2i_stream *stream,
		      const struct k2hft_chunk_view *view)
{
	uint32_t failed = 0;
	int error = 0;

	K2I_SINKS_EACH(sinks_of(committer), sink) {
		failed = (*sink)->number;
		if (view->end > commit->taken[failed])
			error = k2i_group_add(&committer->groups[failed], stream, view);
		if (error)
			break;
	}
	if (!error)
		return 0;
	/* The sinks before it have it in a group that ends before it. */
	K2I_SINKS_EACH(sinks_of(committer), sink) {
		if ((*sink)->number < failed && view->end > commit->taken[(*sink)->number])
			k2i_group_remove_last(&committer->groups[(*sink)->number], stream);
	}
	return error;
}

uint64_t k2i_commit_position(const struct k2i_ledger_ring *rows, const struct k2i_sinks *sinks)
{
	uint64_t least = UINT64_MAX;

	K2I_SINKS_EACH(sinks, sink)
		least = rows[(*sink)->number].position < least ? rows[(*sink)->number].position : least;
	return least;
}

static void counts_add(struct k2i_commit_counts *sum, const struct k2i_commit_counts *counts)
{
	sum->position = counts->position;
	sum->chunks += counts->chunks;
	sum->records += counts->records;
	sum->bytes += counts->bytes;
	if (!sum->written_ns || counts->written_ns < sum->written_ns)
		sum->written_ns = counts->written_ns;
}

static uint64_t group_written_ns(const struct k2i_group *group)
{
	uint64_t first_ns = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < group->entry_count; i++)
		first_ns = group->entries[i].time_ns < first_ns ? group->entries[i].time_ns : first_ns;
	return first_ns;
}

/* That of the sink that was furthest behind has all chunks. */
static const struct k2i_group *group_most(const struct k2i_committer *committer)
{
	const struct k2i_group *most = &committer->groups[0];

	K2I_SINKS_EACH(sinks_of(committer), sink) {
		if (committer->groups[(*sink)->number].entry_count > most->entry_count)
			most = &committer->groups[(*sink)->number];
	}
	return most;
}

/* The groups of all sinks are taken. */
static void group_wait(const struct k2i_group *most, struct k2i_commit *commit)
{
	const struct k2i_commit_counts counts = {commit->position, most->entry_count, most->record_count,
						 most->payload_bytes, group_written_ns(most)};

	if (commit->waiting_count < K2I_COMMIT_WAITING_MAX)
		commit->waiting[commit->waiting_count++] = counts;
	else
		counts_add(&commit->waiting[K2I_COMMIT_WAITING_MAX - 1], &counts);
}

/* Counts groups that every sink has committed. */
static void groups_count(const struct k2i_committer *committer, struct k2i_commit *commit)
{
	struct k2i_counters *counters = committer->destination->counters;
	uint64_t position = k2i_commit_position(commit->rows, sinks_of(committer));
	struct k2i_commit_counts sum = {0};
	unsigned done = 0;

	while (done < commit->waiting_count && commit->waiting[done].position <= position)
		counts_add(&sum, &commit->waiting[done++]);
	if (!done)
		return;
	commit->waiting_count -= done;
	memmove(commit->waiting, commit->waiting + done, commit->waiting_count * sizeof(commit->waiting[0]));
	counts_add(&commit->counts, &sum);
	k2i_count(&counters->chunks, sum.chunks);
	k2i_count(&counters->records, sum.records);
	k2i_count(&counters->bytes, sum.bytes);
	k2i_counters_latency(counters, commit->latency, sum.chunks, sum.written_ns);
}

/*
 * A run of chunks of one stream counts at once, with the age of its first. The histogram has those that every sink has
 * stored by now: chunks are no longer here when a sink stores LATER.
 */
static void streams_count(const struct k2i_group *group, bool stored)
{
	uint64_t now_ns = k2i_clock_ns(CLOCK_REALTIME);

	for (uint32_t at = 0, from; at < group->entry_count;) {
		const struct k2i_group_entry *entry = &group->entries[at];
		struct k2i_flow *flow = entry->stream->flow;
		uint64_t records = 0, bytes = 0;

		for (from = at; at < group->entry_count && group->entries[at].stream == entry->stream; at++) {
			records += group->entries[at].record_count;
			bytes += group->entries[at].payload_bytes;
		}
		if (!flow)
			continue;
		k2i_count(&flow->records, records);
		k2i_count(&flow->bytes, bytes);
		atomic_store_explicit(&flow->last_ns, now_ns, memory_order_relaxed);
		if (stored)
			k2i_histogram_add(&flow->latency, at - from,
					  now_ns > entry->time_ns ? now_ns - entry->time_ns : 0);
	}
}

void k2i_committer_abort(struct k2i_committer *committer)
{
	K2I_SINKS_EACH(sinks_of(committer), sink)
		k2i_group_clear(&committer->groups[(*sink)->number]);
}

static int quarantine_put(const struct k2i_destination *destination, struct k2i_group *group, const uint8_t uuid[16])
{
	struct k2i_group_target *target;
	int error = 0;

	for (target = group->targets; target < group->targets + group->target_count && !error; target++) {
		if (!target->error)
			continue;
		error = k2i_quarantine_put(destination->quarantine, uuid, group, target);
		if (error) {
			target->stall_error = error;
			group->failed = QUARANTINE;
		}
	}
	return error;
}

static int ledger_enter(const struct k2i_destination *destination, struct k2i_ledger_ring *row,
			const struct k2i_commit *commit, uint64_t position, struct k2i_group *group)
{
	struct k2i_ledger_file marks[K2I_LEDGER_FILES_MAX];
	struct k2i_ledger_ring wanted = *row;
	size_t mark_count = 0;
	int error;

	wanted.position = position;
	wanted.flags = commit->flags;
	wanted.proven = commit->proven;
	if (group && group->sink->ops->traits & K2I_SINK_UNDO)
		mark_count = group->sink->ops->marks(group, marks);
	error = k2i_ledger_commit(destination->ledger, &wanted, mark_count ? marks : NULL, mark_count);
	if (!error)
		*row = wanted;
	else if (group)
		group->failed = K2I_GROUP_LEDGER;
	return error;
}

/*
 * A ring that the ledger does not know has ended in order: beginnings of records, which are committed before the rest is
 * stored, would go with the first look at them.
 */
static int ring_make_known(const struct k2i_destination *destination, const struct k2i_commit *commit,
			   struct k2i_group *group)
{
	struct k2i_ledger_ring *row = &commit->rows[group->sink->number], known;
	int error = 0;

	if (!k2i_ledger_find(destination->ledger, row->uuid, group->sink->number, &known))
		error = ledger_enter(destination, row, commit, row->position, NULL);
	if (error)
		group->failed = K2I_GROUP_LEDGER;
	return error;
}

/* A sink that has a copy can't give it back; any other may find a target at fault only when it stores. */
static int group_store_later(const struct k2i_destination *destination, struct k2i_group *group,
			     const struct k2i_commit *commit)
{
	struct k2i_sink_report *report = malloc(sizeof(*report));
	int result = report ? ring_make_known(destination, commit, group) : -ENOMEM;

	if (!result)
		result = quarantine_put(destination, group, commit->rows[group->sink->number].uuid);
	if (!result) {
		*report = (struct k2i_sink_report){
			.owner = commit->owner, .sink = group->sink->number, .position = commit->position};
		memcpy(report->ring, commit->rows[group->sink->number].uuid, sizeof(report->ring));
		result = group->sink->ops->store(group, report);
	}
	if (result)
		free(report);
	return result;
}

/* Between the sink's begin and end. */
static int group_store(const struct k2i_destination *destination, struct k2i_group *group,
		       const struct k2i_commit *commit)
{
	const struct k2i_sink_ops *ops = group->sink->ops;
	struct k2i_ledger_ring *row = &commit->rows[group->sink->number];
	int result;

	if (ops->traits & K2I_SINK_LATER)
		return group_store_later(destination, group, commit);
	result = ops->store(group, NULL);
	if (result)
		return result;
	result = quarantine_put(destination, group, row->uuid);
	if (!result)
		result = ledger_enter(destination, row, commit, commit->position, group);
	if (result && ops->traits & K2I_SINK_UNDO)
		ops->undo(group);
	return result;
}

static int group_commit(const struct k2i_destination *destination, struct k2i_group *group, struct k2i_commit *commit)
{
	const struct k2i_sink_ops *ops = group->sink->ops;
	int result;

	group->failed = NULL;
	group->owner = commit->owner;
	result = ops->begin ? ops->begin(group, commit->flags & K2I_LEDGER_DEFERRED) : 0;
	if (!result)
		result = group_store(destination, group, commit);
	if (ops->end)
		ops->end(group, !result);
	if (result)
		return result;
	commit->taken[group->sink->number] = commit->position;
	k2i_count(&destination->counters->commits, 1);
	return 0;
}

int k2i_committer_commit(struct k2i_committer *committer, struct k2i_commit *commit)
{
	const struct k2i_destination *destination = committer->destination;
	struct k2i_group *group;
	int result, worst = 0;

	committer->failed[0] = '\0';
	K2I_SINKS_EACH(sinks_of(committer), sink) {
		group = &committer->groups[(*sink)->number];
		/* A sink that was not held with the others is ahead. */
		if (commit->taken[(*sink)->number] >= commit->position)
			continue;
		result = group_commit(destination, group, commit);
		if (!result || worst < 0 || (worst && result > 0))
			continue;
		worst = result;
		if (group->failed)
			(void)snprintf(committer->failed, sizeof(committer->failed), "%s", group->failed);
	}
	if (!worst) {
		group_wait(group_most(committer), commit);
		groups_count(committer, commit);
		streams_count(group_most(committer), !commit->waiting_count);
	}
	k2i_committer_abort(committer);
	return worst;
}

int k2i_committer_enter(struct k2i_committer *committer, struct k2i_commit *commit)
{
	int error = 0;
	uint32_t i;

	committer->failed[0] = '\0';
	K2I_SINKS_EACH(sinks_of(committer), sink) {
		i = (*sink)->number;
		if (!error && commit->stored[i] > commit->rows[i].position)
			error = ledger_enter(committer->destination, &commit->rows[i], commit, commit->stored[i], NULL);
	}
	groups_count(committer, commit);
	if (error)
		(void)snprintf(committer->failed, sizeof(committer->failed), K2I_GROUP_LEDGER);
	return error;
}
