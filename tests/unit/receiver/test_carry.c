/* SPDX-License-Identifier: MIT */
/* Records that come in pieces, where a FORMAT makes one record of them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "unit.h"
#include "base/clock.h"
#include "output_place.h"
#include "receiver/sink/carry.h"

#define BEGIN K2HFT_CHUNK_CONTINUES
#define MIDDLE (K2HFT_CHUNK_CONTINUES | K2HFT_CHUNK_CONTINUED)
#define END K2HFT_CHUNK_CONTINUED

static struct k2i_sink *sink_of(const struct place *place)
{
	return place->destination.sinks.list[0];
}

static void open_formatted(struct place *place, const char *unify_file)
{
	place_open(place, "<%J>\n", unify_file);
	sink_of(place)->ops->start(sink_of(place));
}

/* A sender declares its stream again. */
static void restart(struct place *place, struct k2i_stream *stream, const char *format)
{
	place_restart(place, format, NULL);
	sink_of(place)->ops->start(sink_of(place));
	*stream = stream_make(stream->id, stream->path);
}

/* The files of records that have ended are kept until the sender knows that. */
static unsigned files_carried(const struct place *place)
{
	char path[400];
	DIR *directory;
	unsigned count = 0;

	k2i_ledger_prove(place->ledger, place->ring.uuid, place->commit.position);
	sink_of(place)->ops->tick(sink_of(place), 0);
	path_in(path, sizeof(path), place->state, "carried");
	directory = opendir(path);
	assert_non_null(directory);
	while (readdir(directory))
		count++;
	(void)closedir(directory);
	return count - 2;
}

static uint64_t split(struct place *place)
{
	return atomic_load(&place->counters.split_records);
}

/* Over groups, with records of others between, of the same stream too. */
PLACE_TEST(test_pieces_are_one_record)
{
	struct k2i_stream one = stream_make(1, "one"), two = stream_make(2, "two"), blocks = stream_make(3, "blocks");

	blocks.mode = K2HFT_STREAM_BINARY;
	open_formatted(place, "all");
	deliver(place, &one, BEGIN, 1, "a\nb\xe6");
	assert_int_equal(files_carried(place), 1);
	deliver(place, &two, 0, 1, "two\n");
	deliver(place, &one, BEGIN, 2, "x");
	add(place, &one, MIDDLE, 1, "\xbc");
	add(place, &blocks, BEGIN, 1, "[\n");
	add(place, &one, MIDDLE, 1, "\xa2 c\nd");
	add(place, &one, END, 2, "\n");
	assert_int_equal(commit(place), 0);
	assert_int_equal(files_carried(place), 2);
	add(place, &one, END, 1, "e\nf\n");
	add(place, &one, BEGIN, 1, "g");
	add(place, &one, END, 1, "h");
	add(place, &blocks, END, 1, "\n]");
	assert_int_equal(commit(place), 0);
	expect_file(place, "all", "<a>\n<two>\n<b\xe6\xbc\xa2 c>\n<x>\n<de>\n<f>\n<gh>\n<[\\n\\n]>\n");
	assert_int_equal(files_carried(place), 0);
	assert_int_equal(split(place), 0);
}

PLACE_TEST(test_a_killed_receiver_goes_on)
{
	struct k2i_stream one = stream_make(1, "one");
	uint64_t before;

	open_formatted(place, NULL);
	deliver(place, &one, BEGIN, 1, "a");
	deliver(place, &one, MIDDLE, 1, "b");
	restart(place, &one, "<%J>\n");
	deliver(place, &one, MIDDLE, 1, "c");
	restart(place, &one, "<%J>\n");
	restart(place, &one, "<%J>\n");
	/* A piece that comes again, since its acknowledgement did not arrive. */
	before = place->commit.position;
	place->commit.position -= 64;
	place->commit.taken[0] = place->commit.position;
	add(place, &one, MIDDLE, 1, "c");
	assert_int_equal(place->commit.position, before);
	assert_int_equal(commit(place), 0);
	deliver(place, &one, END, 1, "d\n");
	restart(place, &one, "<%J>\n");
	deliver(place, &one, END, 1, "e\n");
	expect_file(place, "one", "<abcd>\n<e>\n");
	assert_int_equal(files_carried(place), 0);
	assert_int_equal(atomic_load(&place->counters.cut_bytes), 0);
}

/* The ledger does not have what was written last: it comes again. */
PLACE_TEST(test_a_group_that_was_not_committed)
{
	struct k2i_stream one = stream_make(1, "one"), two = stream_make(2, "two");
	uint64_t position;

	open_formatted(place, NULL);
	deliver(place, &one, BEGIN, 1, "a");
	deliver(place, &two, BEGIN, 1, "x");
	position = place->commit.position;
	for (int time = 0; time < 2; time++) {
		file_bytes_limit(time ? 1 << 30 : 0);
		place->commit.position = position;
		add(place, &one, MIDDLE, 1, "b");
		add(place, &one, MIDDLE, 1, "c");
		add(place, &two, END, 1, "y\n");
		add(place, &two, BEGIN, 1, "z");
		if (time == 0)
			assert_int_not_equal(commit(place), 0);
	}
	file_bytes_limit(1 << 30);
	assert_int_equal(commit(place), 0);
	deliver(place, &one, END, 1, "d\n");
	deliver(place, &two, END, 1, "\n");
	expect_file(place, "one", "<abcd>\n");
	expect_file(place, "two", "<xy>\n<z>\n");
	assert_int_equal(files_carried(place), 0);
}

/* The receiver died before its first commit of a ring was in the ledger: the sender sends all of it again. */
PLACE_TEST(test_a_ring_that_was_not_committed)
{
	struct k2i_stream one = stream_make(1, "one");

	for (int time = 0; time < 2; time++) {
		open_formatted(place, NULL);
		place->commit.position = place->commit.taken[0] = place->ring.position = 0;
		one = stream_make(1, "one");
		deliver(place, &one, BEGIN, 1, "a");
		/* As if it had not been. */
		if (time == 0)
			k2i_ledger_forget(place->ledger, place->ring.uuid);
		if (time == 0)
			place_close(place);
	}
	deliver(place, &one, MIDDLE, 1, "b\nc");
	deliver(place, &one, END, 1, "d\n");
	expect_file(place, "one", "<ab>\n<cd>\n");
	assert_int_equal(files_carried(place), 0);
}

/* A sender that ended in order had its acknowledgement, and the ledger forgot its ring, before the receiver died. */
PLACE_TEST(test_a_ring_that_ended)
{
	struct k2i_stream one = stream_make(1, "one");
	const struct k2i_sink *sink;

	open_formatted(place, NULL);
	deliver(place, &one, BEGIN, 1, "the last");
	k2i_ledger_forget(place->ledger, place->ring.uuid);
	restart(place, &one, "<%J>\n");
	assert_int_equal(files_carried(place), 1);
	sink = place->destination.sinks.list[0];
	sink->ops->tick(place->destination.sinks.list[0], k2i_clock_now_ns() + 301 * K2I_SECOND_NS);
	expect_file(place, "one", "<the last>\n");
}

/* An output that is as long as it can be: its chunks are put aside, and no beginning ends with them. */
PLACE_TEST(test_an_end_that_is_put_aside)
{
	struct k2i_stream one = stream_make(1, "one"), two = stream_make(2, "two");
	char text[1020] = "";

	memset(text, 'o', 1000);
	open_formatted(place, NULL);
	deliver(place, &one, BEGIN, 1, "a");
	deliver(place, &two, BEGIN, 1, "x");
	others_append(place, "one", text);
	file_bytes_limit(1000);
	add(place, &one, END, 1, "b\n");
	add(place, &one, BEGIN, 1, "c");
	add(place, &two, END, 1, "y\n");
	assert_int_equal(commit(place), 0);
	file_bytes_limit(1 << 30);
	assert_int_equal(atomic_load(&place->counters.quarantined_chunks), 2);
	expect_file(place, "two", "<xy>\n");
	restart(place, &one, "<%J>\n");
	assert_int_equal(files_carried(place), 1);
	others_append(place, "one", "\n");
	deliver(place, &one, 0, 1, "d\n");
	memcpy(text + 1000, "\n<a>\n<d>\n", 10);
	expect_file(place, "one", text);
}

/* A writer that died, one that begins anew, and one whose record is longer than the bound. */
PLACE_TEST(test_records_that_do_not_end)
{
	struct k2i_stream one = stream_make(1, "one");
	const struct k2i_sink *sink;
	char *piece = malloc(K2I_CARRIED_BYTES_MAX / 2 + 1), path[400];
	struct stat info;

	open_formatted(place, NULL);
	sink = place->destination.sinks.list[0];
	deliver(place, &one, BEGIN, 1, "begun");
	deliver(place, &one, 0, 1, "anew\n");
	expect_file(place, "one", "<begun>\n<anew>\n");
	assert_int_equal(split(place), 1);
	deliver(place, &one, BEGIN, 1, "died");
	sink->ops->tick(place->destination.sinks.list[0], k2i_clock_now_ns());
	expect_file(place, "one", "<begun>\n<anew>\n");
	restart(place, &one, "<%J>\n");
	sink = place->destination.sinks.list[0];
	sink->ops->tick(place->destination.sinks.list[0], k2i_clock_now_ns() + 301 * K2I_SECOND_NS);
	expect_file(place, "one", "<begun>\n<anew>\n<died>\n");
	assert_int_equal(split(place), 2);
	restart(place, &one, "<%J>\n");
	expect_file(place, "one", "<begun>\n<anew>\n<died>\n");
	assert_int_equal(files_carried(place), 0);
	deliver(place, &one, END, 1, "rest\n");
	assert_non_null(piece);
	memset(piece, 'x', K2I_CARRIED_BYTES_MAX / 2);
	piece[K2I_CARRIED_BYTES_MAX / 2] = '\0';
	deliver(place, &one, BEGIN, 1, piece);
	deliver(place, &one, MIDDLE, 1, piece);
	deliver(place, &one, MIDDLE, 1, piece);
	deliver(place, &one, END, 1, "\n");
	path_in(path, sizeof(path), place->base, "one");
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_size, 29 + 2 * 3 + 3 * (K2I_CARRIED_BYTES_MAX / 2));
	assert_int_equal(split(place), 3);
	assert_int_equal(files_carried(place), 0);
	free(piece);
}

/* A FORMAT that takes records as they are goes on in the same line, and lets nothing lie. */
PLACE_TEST(test_another_format)
{
	struct k2i_stream one = stream_make(1, "one");

	open_formatted(place, NULL);
	deliver(place, &one, BEGIN, 1, "begin");
	restart(place, &one, "%L");
	sink_of(place)->ops->tick(sink_of(place), k2i_clock_now_ns());
	expect_file(place, "one", "begin\n");
	deliver(place, &one, END, 1, " end\n");
	expect_file(place, "one", "begin\n end\n");
	assert_int_equal(files_carried(place), 0);
}

/* Level synced: a power cut goes back to the checkpoint, before the record's end. */
PLACE_TEST(test_a_power_cut)
{
	struct k2i_stream one = stream_make(1, "one");
	uint64_t position, number;

	open_formatted(place, NULL);
	place->commit.flags = K2I_LEDGER_DEFERRED;
	deliver(place, &one, BEGIN, 1, "a");
	assert_int_equal(k2i_ledger_mark(place->ledger, &number), 0);
	assert_int_equal(sink_of(place)->ops->sync(sink_of(place)), 0);
	assert_int_equal(k2i_ledger_checkpoint(place->ledger), 0);
	position = place->commit.position;
	deliver(place, &one, END, 1, "b\n");
	expect_file(place, "one", "<ab>\n");
	/* The end is in no checkpoint. */
	assert_int_equal(files_carried(place), 1);
	place_power_cut(place, "<%J>\n", NULL);
	sink_of(place)->ops->start(sink_of(place));
	one = stream_make(1, "one");
	expect_file(place, "one", "");
	place->commit.position = place->commit.taken[0] = place->ring.position = position;
	deliver(place, &one, END, 1, "b\n");
	expect_file(place, "one", "<ab>\n");
	assert_int_equal(k2i_ledger_mark(place->ledger, &number), 0);
	assert_int_equal(sink_of(place)->ops->sync(sink_of(place)), 0);
	assert_int_equal(k2i_ledger_checkpoint(place->ledger), 0);
	sink_of(place)->ops->tick(sink_of(place), k2i_clock_now_ns());
	assert_int_equal(files_carried(place), 0);
}

STATE_TEST(test_damage, setup, teardown)
{
	struct place *place = *state;
	struct k2i_stream one = stream_make(1, "one");
	char carried[64];
	const char zeros[200] = "garbage", *names[] = {"other", carried};
	char path[400];
	int directory, file;

	open_formatted(place, NULL);
	deliver(place, &one, BEGIN, 1, "a");
	place_close(place);
	path_in(path, sizeof(path), place->state, "carried");
	(void)snprintf(carried, sizeof(carried), "%016" PRIx64 "-%016x",
		       k2i_group_writer(&(struct k2i_group_entry){.stream = &one, .writer_pid = 1}), 0u);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(directory >= 0 && mkdirat(directory, "d", 0700) == 0 && symlinkat("/", directory, "l") == 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		file = openat(directory, names[i], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		assert_true(file >= 0 && write(file, zeros, sizeof(zeros)) == sizeof(zeros) && close(file) == 0);
	}
	(void)close(directory);
	restart(place, &one, "<%J>\n");
	deliver(place, &one, END, 1, "b\n");
	expect_file(place, "one", "<ab>\n");
	restart(place, &one, "<%J>\n");
	expect_file(place, "one", "<ab>\n");
}
