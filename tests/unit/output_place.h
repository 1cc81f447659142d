/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_OUTPUT_PLACE_H
#define K2I_TESTS_UNIT_OUTPUT_PLACE_H

/*
 * A destination with its ledger and its quarantine in a temporary folder, and a ring whose chunks are committed there. For
 * one test program, which includes cmocka.h and what it needs before.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "receiver/commit/commit.h"
#include "receiver/sink/file/file_sink.h"
#include "file_help.h"

struct place {
	char root[200], base[240], outside[240], state[240];
	uint8_t boot_id[16];
	bool same_boot;
	size_t open_max; /* 0: 4 */
	struct k2i_counters counters;
	struct k2i_ledger *ledger;
	struct k2i_destination destination;
	struct k2i_committer committer;
	struct k2i_format *format;
	struct k2i_outputs *outputs;
	struct k2i_ledger_ring ring;
	struct k2i_commit commit;
};

static void outputs_open(struct place *place)
{
	struct k2i_outputs_options options = {
		.base_directory = place->base,
		.refused_prefix = "state",
		.state_directory = place->state,
		.open_max = place->open_max ? place->open_max : 4,
		.file_mode = 0600,
		.store = {.write_bytes = 65536},
		.ledger = place->ledger,
		.counters = &place->counters,
	};

	assert_int_equal(k2i_outputs_create(&options, &place->outputs), 0);
}

static void file_recover(void *argument, const struct k2i_ledger_file *file)
{
	struct place *place = argument;

	k2i_outputs_recover(place->outputs, file, place->same_boot || file->deferred);
}

static void place_open(struct place *place, const char *format, const char *unify_file)
{
	struct k2i_ledger_report report;
	char quarantine[300], message[200];

	path_in(place->state, sizeof(place->state), place->root, "state");
	path_in(quarantine, sizeof(quarantine), place->root, "quarantine");
	assert_int_equal(k2i_ledger_open(place->state, place->boot_id, &place->ledger, &report), 0);
	outputs_open(place);
	place->same_boot = report.same_boot;
	k2i_ledger_files(place->ledger, file_recover, place);
	(void)k2i_outputs_recover_renamed(place->outputs);
	assert_int_equal(k2i_ledger_begin(place->ledger), 0);
	k2i_outputs_recovered(place->outputs);
	assert_int_equal(
		k2i_quarantine_create(quarantine, UINT64_MAX, &place->counters, &place->destination.quarantine), 0);
	assert_int_equal(k2i_format_compile(format, "%S", &place->format, message, sizeof(message)), 0);
	place->destination.ledger = place->ledger;
	place->destination.counters = &place->counters;
	assert_int_equal(k2i_file_sink_create(place->outputs, place->format, unify_file, place->destination.sinks.list),
			 0);
	place->destination.sinks.count = 1;
	assert_int_equal(k2i_committer_start(&place->committer, &place->destination), 0);
	memcpy(place->ring.uuid, "ring", 4);
	place->commit.rows = &place->ring;
}

/* The sink ends before the ledger does. */
static int sink_close(struct place *place)
{
	if (place->destination.sinks.count)
		k2i_committer_free(&place->committer);
	return k2i_sinks_close(&place->destination.sinks, true);
}

static void place_close(struct place *place)
{
	if (!place->ledger)
		return;
	assert_int_equal(sink_close(place), 0);
	k2i_quarantine_free(place->destination.quarantine);
	k2i_ledger_close(place->ledger, false);
	place->ledger = NULL;
	k2i_format_free(place->format);
}

/* As a receiver does that was killed. */
static inline void place_restart(struct place *place, const char *format, const char *unify_file)
{
	place_close(place);
	place_open(place, format, unify_file);
}

/* As one whose machine lost power. */
static inline void place_power_cut(struct place *place, const char *format, const char *unify_file)
{
	memcpy(place->boot_id, "another", sizeof("another"));
	place_restart(place, format, unify_file);
}

static int setup(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	folder_make(place->root, sizeof(place->root));
	path_in(place->base, sizeof(place->base), place->root, "base");
	path_in(place->outside, sizeof(place->outside), place->root, "outside");
	assert_int_equal(mkdir(place->outside, 0700), 0);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	struct place *place = *state;

	place_close(place);
	folder_remove(place->root);
	free(place);
	return 0;
}

/* A chunk of `text` for a stream; memory of both stays with the caller. */
static void add(struct place *place, struct k2i_stream *stream, unsigned flags, uint32_t pid, const char *text)
{
	struct k2hft_chunk_view view = {
		.chunk = {.record_count = 1, .writer_pid = pid, .flags = (uint16_t)flags, .time_ns = 7000000000u},
		.payload = (const uint8_t *)text,
		.payload_bytes = strlen(text),
	};

	view.position = place->commit.position;
	place->commit.position += 64;
	view.end = place->commit.position;
	assert_int_equal(k2i_committer_add(&place->committer, &place->commit, stream, &view), 0);
}

static int commit(struct place *place)
{
	return k2i_committer_commit(&place->committer, &place->commit);
}

/* A group of one chunk. */
static inline void deliver(struct place *place, struct k2i_stream *stream, unsigned flags, uint32_t pid,
			   const char *text)
{
	add(place, stream, flags, pid, text);
	assert_int_equal(commit(place), 0);
}

static struct k2i_stream stream_make(uint32_t id, const char *path)
{
	static const uint8_t ring[16] = "ring";
	struct k2i_stream stream = {.id = id, .path = path, .host = "host", .ring = ring, .writer_seed = id};

	return stream;
}

/* Bytes that somebody else writes to it. */
static inline void others_append(const struct place *place, const char *name, const char *text)
{
	char path[400];
	FILE *file;

	path_in(path, sizeof(path), place->base, name);
	file = fopen(path, "ae");
	assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void expect_file(const struct place *place, const char *name, const char *wanted)
{
	char path[400];

	path_in(path, sizeof(path), place->base, name);
	expect_contents(path, wanted);
}

#define PLACE_TEST(name) FIXTURE_TEST(name, struct place *place, setup, teardown)

#endif
