/* SPDX-License-Identifier: MIT */
#include "tools/verify/tally.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

static int sequence_compare(const void *one, const void *other)
{
	const struct verify_sequence *a = one, *b = other;

	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	return a->producer < b->producer ? -1 : a->producer > b->producer;
}

void verify_tally_init(struct verify_tally *tally, const struct verify_options *options)
{
	*tally = (struct verify_tally){.options = options};
}

void verify_tally_free(struct verify_tally *tally)
{
	for (size_t at = 0; at < tally->sequence_count; at++) {
		(void)tdelete(tally->sequences[at], &tally->tree, sequence_compare);
		verify_gaps_free(&tally->sequences[at]->gaps);
		free(tally->sequences[at]);
	}
	free(tally->sequences);
	free(tally->findings);
}

/* The array with room for one more element of `size` bytes behind `count`; NULL: no memory, it is as it was. */
static void *with_room(void *array, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? *room * 2 : 16;
	void *grown;

	if (count < *room)
		return array;
	grown = reallocarray(array, wanted, size);
	if (grown)
		*room = wanted;
	return grown;
}

static void expectation_set(const struct verify_options *options, struct verify_sequence *sequence)
{
	sequence->expects = options->expected_all != VERIFY_ANY_NUMBER;
	sequence->last = options->first - 1 + options->expected_all;
	for (size_t at = 0; at < options->expected_count; at++) {
		if (options->expected[at].producer != sequence->producer)
			continue;
		sequence->expects = true;
		sequence->last = options->first - 1 + options->expected[at].count;
	}
}

static struct verify_sequence *sequence_add(struct verify_tally *tally, uint32_t run, uint32_t producer)
{
	struct verify_sequence *sequence, **sequences;

	sequences = with_room(tally->sequences, tally->sequence_count, &tally->sequence_room, sizeof(sequence));
	if (!sequences)
		return NULL;
	tally->sequences = sequences;
	sequence = calloc(1, sizeof(*sequence));
	if (!sequence)
		return NULL;
	sequence->run = run;
	sequence->producer = producer;
	if (!tsearch(sequence, &tally->tree, sequence_compare)) {
		free(sequence);
		return NULL;
	}
	sequence->finding = VERIFY_NO_FINDING;
	verify_gaps_init(&sequence->gaps, tally->options->first);
	expectation_set(tally->options, sequence);
	tally->sequences[tally->sequence_count++] = sequence;
	return sequence;
}

static struct verify_sequence *sequence_of(struct verify_tally *tally, uint32_t run, uint32_t producer)
{
	const struct verify_sequence wanted = {.run = run, .producer = producer};
	struct verify_sequence **found;

	if (tally->current && sequence_compare(tally->current, &wanted) == 0)
		return tally->current;
	found = tfind(&wanted, &tally->tree, sequence_compare);
	tally->current = found ? *found : sequence_add(tally, run, producer);
	return tally->current;
}

static int finding_add(struct verify_tally *tally, const struct verify_finding *finding)
{
	struct verify_finding *findings;

	if (tally->finding_count >= tally->options->limit) {
		tally->findings_left_out++;
		return 0;
	}
	findings = with_room(tally->findings, tally->finding_count, &tally->finding_room, sizeof(*findings));
	if (!findings)
		return -ENOMEM;
	tally->findings = findings;
	tally->findings[tally->finding_count++] = *finding;
	return 0;
}

static int line_odd(struct verify_tally *tally, const struct verify_line *line, enum verify_kind kind, uint64_t bytes)
{
	const struct verify_finding finding = {
		.kind = kind, .file = line->file, .offset = line->offset, .bytes = bytes};

	tally->lines[kind]++;
	return kind == VERIFY_KIND_FOREIGN && !tally->options->only ? 0 : finding_add(tally, &finding);
}

static int record_odd(struct verify_tally *tally, struct verify_sequence *sequence, enum verify_kind kind,
		      uint64_t counter, const struct verify_line *line)
{
	const struct verify_finding added = {.kind = kind,
					     .file = line->file,
					     .offset = line->offset,
					     .bytes = line->count,
					     .run = sequence->run,
					     .producer = sequence->producer,
					     .from = counter,
					     .to = counter};

	if (sequence->finding != VERIFY_NO_FINDING) {
		struct verify_finding *last = tally->findings + sequence->finding;

		if (last->kind == kind && last->to + 1 == counter) {
			last->to = counter;
			return 0;
		}
	}
	sequence->finding = tally->finding_count < tally->options->limit ? tally->finding_count : VERIFY_NO_FINDING;
	return finding_add(tally, &added);
}

static enum verify_kind odd_count(struct verify_sequence *sequence, int arrival)
{
	switch (arrival) {
	case VERIFY_REPEATED:
		sequence->repeated++;
		return VERIFY_KIND_REPEATED;
	case VERIFY_LATE:
		sequence->late++;
		return VERIFY_KIND_LATE;
	default:
		sequence->extra++;
		return VERIFY_KIND_EXTRA;
	}
}

/* Whether a record that fills a gap is in its order nevertheless. */
static bool is_in_order(const struct verify_options *options, const struct verify_sequence *sequence, const char *file,
			uint64_t counter)
{
	return options->order == VERIFY_ORDER_NONE ||
	       (options->order == VERIFY_ORDER_FILE && (sequence->file != file || counter > sequence->highest_in_file));
}

static int record_take(struct verify_tally *tally, const struct verify_record *record, const struct verify_line *line)
{
	struct verify_sequence *sequence = sequence_of(tally, record->run, record->producer);
	int arrival;

	if (!sequence)
		return -ENOMEM;
	/* A record that nobody expects is kept away from the gaps: it would make one up to there. */
	arrival = sequence->expects && record->counter > sequence->last
			  ? VERIFY_BEFORE
			  : verify_gaps_take(&sequence->gaps, record->counter);
	if (arrival < 0)
		return arrival;
	if (arrival == VERIFY_LATE && is_in_order(tally->options, sequence, line->file, record->counter))
		arrival = VERIFY_IN_ORDER;
	if (sequence->file != line->file || record->counter > sequence->highest_in_file)
		sequence->highest_in_file = record->counter;
	sequence->file = line->file;
	sequence->records++;
	sequence->bytes += line->count + 1;
	if (sequence->records == 1 || record->counter < sequence->lowest)
		sequence->lowest = record->counter;
	if (record->counter > sequence->highest)
		sequence->highest = record->counter;
	if (arrival == VERIFY_IN_ORDER) {
		sequence->finding = VERIFY_NO_FINDING;
		return 0;
	}
	return record_odd(tally, sequence, odd_count(sequence, arrival), record->counter, line);
}

/* A run that is not asked for is somebody else's. */
static bool line_decode(const struct verify_tally *tally, const struct verify_line *line, struct verify_record *record,
			bool *other)
{
	bool whole = verify_record_decode(line->bytes, line->count, record);

	*other = whole && tally->options->run_text && record->run != tally->options->run;
	return whole;
}

/*
 * A line that is not one whole record. Records may be in it nevertheless: they are taken, since they have arrived, and
 * the line is damaged.
 */
static int odd_line(struct verify_tally *tally, const struct verify_line *line)
{
	const char *end = line->bytes + line->count, *at = line->bytes;
	unsigned whole = 0, torn = 0;
	bool begins = verify_record_begins(at, line->count), other;
	enum verify_kind kind;

	if (!begins)
		at = verify_record_find(line->bytes, line->count);
	while (at) {
		const char *next = verify_record_find(at, (size_t)(end - at));
		struct verify_line piece = *line;
		struct verify_record record;

		piece.bytes = at;
		piece.count = (size_t)((next ? next : end) - at);
		piece.offset += (uint64_t)(at - line->bytes);
		if (!line_decode(tally, &piece, &record, &other))
			torn++;
		else if (++whole && !other && record_take(tally, &record, &piece))
			return -ENOMEM;
		at = next;
	}
	if (!begins && !whole && !torn)
		kind = verify_record_marker_changed(line->bytes, line->count) ? VERIFY_KIND_MARKER
									      : VERIFY_KIND_FOREIGN;
	else if (!line->ended && whole + torn == 1 && begins)
		kind = whole ? VERIFY_KIND_UNENDED : VERIFY_KIND_CUT;
	else
		kind = torn ? VERIFY_KIND_TORN : begins ? VERIFY_KIND_JOINED : VERIFY_KIND_BEHIND;
	return line_odd(tally, line, kind, line->count);
}

/* A line that may have other text before and behind its record. */
static int inside_take(struct verify_tally *tally, const struct verify_line *line)
{
	const char *end = line->bytes + line->count, *at = line->bytes;
	bool other = false, others = false;
	unsigned whole = 0, torn = 0;
	struct verify_line piece = *line;
	struct verify_record record;

	for (; (at = verify_record_inside(at, (size_t)(end - at), &piece.count)); at += piece.count) {
		piece.bytes = at;
		piece.offset = line->offset + (uint64_t)(at - line->bytes);
		if (!line_decode(tally, &piece, &record, &other))
			torn++;
		else if (++whole && !other && record_take(tally, &record, &piece))
			return -ENOMEM;
		others |= other;
	}
	if (whole == 1 && !torn && !others && line->ended)
		return 0;
	return line_odd(tally, line,
			whole + torn == 0 || (others && whole == 1 && !torn) ? VERIFY_KIND_FOREIGN
			: !line->ended && whole + torn == 1 ? whole ? VERIFY_KIND_UNENDED : VERIFY_KIND_CUT
			: torn                              ? VERIFY_KIND_TORN
							    : VERIFY_KIND_JOINED,
			line->count);
}

int verify_tally_line(struct verify_tally *tally, const struct verify_line *line)
{
	struct verify_line rest = *line;
	struct verify_record record;
	const char *at;
	bool other;

	if (tally->options->inside)
		return inside_take(tally, line);
	if (tally->options->prefix && !verify_record_begins(line->bytes, line->count)) {
		at = verify_record_find(line->bytes, line->count);
		rest.bytes = at ? at : line->bytes;
		rest.count -= (size_t)(rest.bytes - line->bytes);
	}
	if (!line->ended || !line_decode(tally, &rest, &record, &other))
		return odd_line(tally, &rest);
	return other ? line_odd(tally, line, VERIFY_KIND_FOREIGN, line->count) : record_take(tally, &record, &rest);
}

int verify_tally_long_line(struct verify_tally *tally, const struct verify_line *line, uint64_t bytes)
{
	bool record = verify_record_begins(line->bytes, line->count);

	return line_odd(tally, line, record ? VERIFY_KIND_LONG : VERIFY_KIND_FOREIGN, bytes);
}

static int by_run_and_producer(const void *one, const void *other)
{
	return sequence_compare(*(struct verify_sequence *const *)one, *(struct verify_sequence *const *)other);
}

static void sequences_sort(struct verify_tally *tally)
{
	if (tally->sequence_count)
		qsort(tally->sequences, tally->sequence_count, sizeof(struct verify_sequence *), by_run_and_producer);
}

/* The producers that are expected are in each run, even if nothing of them came. */
static int expected_add(struct verify_tally *tally, uint32_t run)
{
	const struct verify_options *options = tally->options;

	for (uint64_t producer = 1; producer <= options->producers; producer++)
		if (!sequence_of(tally, run, (uint32_t)producer))
			return -ENOMEM;
	for (size_t at = 0; at < options->expected_count; at++)
		if (!sequence_of(tally, run, (uint32_t)options->expected[at].producer))
			return -ENOMEM;
	return 0;
}

static int expected_add_all(struct verify_tally *tally)
{
	size_t count = tally->sequence_count;
	int status = 0;

	if (tally->options->run_text || !count)
		return expected_add(tally, tally->options->run_text ? tally->options->run : VERIFY_RUN_NONE);
	for (size_t at = 0; at < count && status == 0; at++)
		if (at == 0 || tally->sequences[at]->run != tally->sequences[at - 1]->run)
			status = expected_add(tally, tally->sequences[at]->run);
	return status;
}

static int sequence_end(struct verify_tally *tally, struct verify_sequence *sequence)
{
	uint64_t next = sequence->gaps.next;

	if (sequence->expects && sequence->last >= next) {
		sequence->missing_tail = sequence->last - next + 1;
		if (verify_gaps_end(&sequence->gaps, sequence->last))
			return -ENOMEM;
	}
	sequence->missing = verify_gaps_missing(&sequence->gaps);
	tally->records += sequence->records;
	tally->record_bytes += sequence->bytes;
	tally->missing += sequence->missing;
	tally->missing_tail += sequence->missing_tail;
	tally->repeated += sequence->repeated;
	tally->late += sequence->late;
	tally->extra += sequence->extra;
	return 0;
}

static bool is_fine(const struct verify_tally *tally)
{
	const struct verify_options *options = tally->options;
	uint64_t allowed_damaged = 0, allowed_missing = 0;

	if (options->allow_missing_tail) {
		allowed_damaged = tally->lines[VERIFY_KIND_CUT] + tally->lines[VERIFY_KIND_UNENDED];
		allowed_missing = tally->missing_tail;
	}
	/* Nothing at all is no proof of anything, unless it is what was to be expected: so many of each of no producers is not. */
	if (!tally->records && options->expected_all != 0 && !options->expected_count && !options->allow_missing_tail)
		return false;
	return tally->missing == allowed_missing && !tally->repeated && !tally->late && !tally->extra &&
	       tally->damaged == allowed_damaged && !(options->only && tally->foreign);
}

int verify_tally_end(struct verify_tally *tally)
{
	int status;

	sequences_sort(tally);
	status = expected_add_all(tally);
	for (size_t at = 0; at < tally->sequence_count && status == 0; at++)
		status = sequence_end(tally, tally->sequences[at]);
	if (status)
		return status;
	sequences_sort(tally);
	tally->foreign = tally->lines[VERIFY_KIND_FOREIGN];
	for (size_t kind = 0; kind < VERIFY_KIND_FOREIGN; kind++)
		tally->damaged += tally->lines[kind];
	tally->fine = is_fine(tally);
	return 0;
}
