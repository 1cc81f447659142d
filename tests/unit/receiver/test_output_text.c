/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "unit.h"
#include "output_place.h"
#include "receiver/sink/file/write.h"

/* A file for all ------------------------------------------------------------------------------------------------- */

PLACE_TEST(test_unified_lines_stay_whole)
{
	struct k2i_stream one = stream_make(1, "one"), two = stream_make(2, "two"), blocks = stream_make(3, "blocks");

	blocks.mode = K2HFT_STREAM_BINARY;
	place_open(place, "%L", "log/all");
	add(place, &one, 0, 1, "a\nb\n");
	add(place, &two, 0, 1, "unterminated");
	add(place, &one, 0, 1, "c\n");
	assert_int_equal(commit(place), 0);
	expect_file(place, "log/all", "a\nb\nunterminated\nc\n");
	/* Pieces of one record, undisturbed, over two groups. */
	deliver(place, &one, K2HFT_CHUNK_CONTINUES, 1, "pie");
	add(place, &one, K2HFT_CHUNK_CONTINUES | K2HFT_CHUNK_CONTINUED, 1, "ce");
	add(place, &one, K2HFT_CHUNK_CONTINUED, 1, "s\n");
	assert_int_equal(commit(place), 0);
	expect_file(place, "log/all", "a\nb\nunterminated\nc\npieces\n");
	/* Disturbed: each part is a line of its own; another process of the same stream is another writer. */
	add(place, &one, K2HFT_CHUNK_CONTINUES, 1, "x");
	add(place, &one, 0, 2, "other\n");
	add(place, &one, K2HFT_CHUNK_CONTINUED, 1, "y\n");
	/* The end of a record alone is none, and disturbs nobody. */
	add(place, &one, K2HFT_CHUNK_CONTINUES, 2, "z");
	add(place, &one, K2HFT_CHUNK_CONTINUED, 1, "\n");
	add(place, &one, K2HFT_CHUNK_CONTINUED, 2, "z\n");
	add(place, &one, K2HFT_CHUNK_CONTINUED, 2, "\n");
	assert_int_equal(commit(place), 0);
	expect_file(place, "log/all", "a\nb\nunterminated\nc\npieces\nx\nother\ny\nzz\n");
	/* Blocks come between, too, and have no line ends of their own. */
	add(place, &one, K2HFT_CHUNK_CONTINUES, 1, "u");
	add(place, &blocks, 0, 1, "[");
	add(place, &blocks, 0, 1, "]\n");
	add(place, &one, K2HFT_CHUNK_CONTINUED, 1, "v\n");
	add(place, &blocks, 0, 1, "block");
	add(place, &blocks, 0, 1, "s");
	assert_int_equal(commit(place), 0);
	expect_file(place, "log/all", "a\nb\nunterminated\nc\npieces\nx\nother\ny\nzz\nu\n[]\nv\nblocks");
}

/* Long records of several processes: no piece gets into the line of another, and none is lost. */
PLACE_TEST(test_unified_pieces)
{
	struct k2i_stream one = stream_make(1, "one");

	place_open(place, "%L", "all");
	add(place, &one, K2HFT_CHUNK_CONTINUES, 1, "a1");
	add(place, &one, K2HFT_CHUNK_CONTINUES, 2, "b1");
	add(place, &one, K2HFT_CHUNK_CONTINUES | K2HFT_CHUNK_CONTINUED, 1, "a2");
	add(place, &one, K2HFT_CHUNK_CONTINUED, 2, "b");
	assert_int_equal(commit(place), 0);
	expect_file(place, "all", "a1\nb1\na2\nb\n");
	assert_int_equal(atomic_load(&place->counters.terminated_records), 1);
	/* A writer that does not go on with its own, since it is another process by now, begins a line as well. */
	add(place, &one, K2HFT_CHUNK_CONTINUES, 1, "c");
	add(place, &one, 0, 1, "d\n");
	assert_int_equal(commit(place), 0);
	expect_file(place, "all", "a1\nb1\na2\nb\nc\nd\n");
}

/* A chunk that is taken back is as if it had never been: the next one still begins a line of its own. */
PLACE_TEST(test_unified_goes_on_after_a_full_disk)
{
	struct k2i_stream one = stream_make(1, "one");

	place_open(place, "%L", "all");
	deliver(place, &one, K2HFT_CHUNK_CONTINUES, 1, "begin");
	file_bytes_limit(8);
	add(place, &one, 0, 2, "other\n");
	assert_int_equal(commit(place), -EFBIG);
	file_bytes_limit(RLIM_INFINITY);
	expect_file(place, "all", "begin");
	deliver(place, &one, 0, 2, "other\n");
	expect_file(place, "all", "begin\nother\n");
}

/* A fault of that file concerns everybody: nothing of it goes to the quarantine. */
PLACE_TEST(test_unified_is_held)
{
	struct k2i_stream one = stream_make(1, "one");
	char path[400];

	place_open(place, "%L", "all");
	path_in(path, sizeof(path), place->base, "all");
	assert_int_equal(mkdir(path, 0700), 0);
	add(place, &one, 0, 1, "record\n");
	assert_int_equal(commit(place), -EISDIR);
	assert_int_equal(atomic_load(&place->counters.quarantined_chunks), 0);
	assert_int_equal(rmdir(path), 0);
	deliver(place, &one, 0, 1, "record\n");
	expect_file(place, "all", "record\n");
}

/*
 * Bytes that were written behind the ledger's back go; a record that goes on does so in the same line, or another
 * begins one.
 */
PLACE_TEST(test_a_record_goes_on_after_a_restart)
{
	struct k2i_stream one = stream_make(1, "one");

	place_open(place, "%L", "all");
	deliver(place, &one, K2HFT_CHUNK_CONTINUES, 1, "begin");
	place_close(place);
	others_append(place, "all", "not acknowledged");
	place_open(place, "%L", "all");
	one = stream_make(1, "one");
	assert_int_equal(atomic_load(&place->counters.cut_bytes), 16);
	add(place, &one, K2HFT_CHUNK_CONTINUED, 1, " end\n");
	add(place, &one, K2HFT_CHUNK_CONTINUES, 1, "begin");
	assert_int_equal(commit(place), 0);
	expect_file(place, "all", "begin end\nbegin");
	place_restart(place, "%L", "all");
	one = stream_make(1, "one");
	deliver(place, &one, 0, 2, "other\n");
	expect_file(place, "all", "begin end\nbegin\nother\n");
}

/* How the file ends is known as long as nothing is written to it, however often the receiver starts. */
PLACE_TEST(test_recovery_again_and_again)
{
	struct k2i_stream one = stream_make(1, "one");

	place_open(place, "%L", "all");
	deliver(place, &one, K2HFT_CHUNK_CONTINUES, 1, "begin");
	place_restart(place, "%L", "all");
	place_restart(place, "%L", "all");
	one = stream_make(1, "one");
	deliver(place, &one, 0, 2, "other\n");
	expect_file(place, "all", "begin\nother\n");
}

/* As logrotate(8) does with copytruncate: there is no line to be ended. */
PLACE_TEST(test_emptied_within_a_record)
{
	struct k2i_stream one = stream_make(1, "one");
	char path[400];

	place_open(place, "%L", "all");
	deliver(place, &one, K2HFT_CHUNK_CONTINUES, 1, "begin");
	path_in(path, sizeof(path), place->base, "all");
	assert_int_equal(truncate(path, 0), 0);
	deliver(place, &one, 0, 2, "other\n");
	expect_file(place, "all", "other\n");
}

static void file_count(void *argument, const struct k2i_ledger_file *file)
{
	unsigned *count = argument;

	(void)file;
	(*count)++;
}

/* A file that is renamed within a record is not kept in mind for ever. */
PLACE_TEST(test_rotated_within_a_record)
{
	struct k2i_stream one = stream_make(1, "one");
	char path[400], rotated[400];
	unsigned rotation, count = 0;

	place_open(place, "%L", "all");
	path_in(path, sizeof(path), place->base, "all");
	for (rotation = 0; rotation < 3; rotation++) {
		(void)snprintf(rotated, sizeof(rotated), "%.300s.%u", path, rotation);
		deliver(place, &one, K2HFT_CHUNK_CONTINUES, 1, "begin");
		assert_int_equal(rename(path, rotated), 0);
	}
	deliver(place, &one, 0, 1, "other\n");
	expect_file(place, "all", "other\n");
	k2i_ledger_files(place->ledger, file_count, &count);
	assert_int_equal(count, 1);
}

static void deferred_take(void *argument, const struct k2i_ledger_file *file)
{
	bool *deferred = argument;

	*deferred = file->deferred;
}

/* A record that goes on in it is no reason for its tail to stay when the machine goes down. */
PLACE_TEST(test_recovery_for_who_waits)
{
	struct k2i_stream one = stream_make(1, "one");
	bool deferred = false;

	place_open(place, "%L", "all");
	place->commit.flags = K2I_LEDGER_DEFERRED;
	deliver(place, &one, K2HFT_CHUNK_CONTINUES, 1, "begin");
	place_restart(place, "%L", "all");
	k2i_ledger_files(place->ledger, deferred_take, &deferred);
	assert_true(deferred);
}

static void shown_count(void *argument, const struct k2i_output_shown *shown)
{
	unsigned *count = argument;

	(void)shown;
	(*count)++;
}

static void expect_shown(struct place *place, unsigned wanted)
{
	unsigned count = 0;

	k2i_outputs_each(place->outputs, shown_count, &count);
	assert_int_equal(count, wanted);
}

/* The end of a file that was closed is still known, which is no reason to show it. */
PLACE_TEST(test_closed_is_not_shown)
{
	struct k2i_stream one = stream_make(1, "one");

	place_open(place, "%L", "all");
	deliver(place, &one, K2HFT_CHUNK_CONTINUES, 1, "begin");
	expect_shown(place, 1);
	k2i_outputs_reopen(place->outputs);
	expect_shown(place, 0);
	add(place, &one, 0, 2, "other\n");
	expect_shown(place, 1);
	assert_int_equal(commit(place), 0);
	expect_file(place, "all", "begin\nother\n");
}

/* A rest that a power cut has left, and that is kept, is no more cut off by the start after that. */
PLACE_TEST(test_recovery_after_a_power_cut)
{
	struct k2i_stream one = stream_make(1, "one");

	place_open(place, "%L", "all");
	deliver(place, &one, K2HFT_CHUNK_CONTINUES, 1, "begin");
	place_close(place);
	others_append(place, "all", " more");
	place_power_cut(place, "%L", "all");
	place_restart(place, "%L", "all");
	expect_file(place, "all", "begin more");
	assert_int_equal(atomic_load(&place->counters.cut_bytes), 0);
}

TEST(test_unify_name)
{
	char path[1024];

	assert_null(k2i_format_unify("log/%Y.log", UINT64_C(1500000000000000000), path));
	assert_string_equal(path, "log/2017.log");
	assert_non_null(k2i_format_unify("../x", 0, path));
	/* A character device, in full: the sink looks at what it is. */
	assert_null(k2i_format_unify("/dev/null", 0, path));
	assert_string_equal(path, "/dev/null");
	assert_non_null(k2i_format_unify("", 0, path));
}

/* With a format -------------------------------------------------------------------------------------------------- */

PLACE_TEST(test_each_record_is_formatted)
{
	struct k2i_stream one = stream_make(1, "d/one");

	place_open(place, "%H %f %P: %l\n", "all");
	add(place, &one, 0, 12, "a\nb\n");
	add(place, &one, 0, 13, "unterminated");
	assert_int_equal(commit(place), 0);
	expect_file(place, "all", "host one 12: a\nhost one 12: b\nhost one 13: unterminated\n");
	assert_int_equal(atomic_load(&place->counters.terminated_records), 1);
}

PLACE_TEST(test_formatted_keeps_lines_apart)
{
	struct k2i_stream one = stream_make(1, "one");

	place_open(place, "> %L", NULL);
	add(place, &one, K2HFT_CHUNK_CONTINUES, 1, "a\nb");
	add(place, &one, K2HFT_CHUNK_CONTINUED, 1, "\n");
	add(place, &one, 0, 1, "\n");
	assert_int_equal(commit(place), 0);
	expect_file(place, "one", "> a\n> b\n> \n");
}

/* A block is what it is, also if it is what ends a line elsewhere. */
PLACE_TEST(test_formatted_blocks)
{
	struct k2i_stream blocks = stream_make(1, "blocks");

	blocks.mode = K2HFT_STREAM_BINARY;
	place_open(place, "<%L>", NULL);
	add(place, &blocks, 0, 1, "block");
	add(place, &blocks, K2HFT_CHUNK_CONTINUED, 1, "\n");
	assert_int_equal(commit(place), 0);
	expect_file(place, "blocks", "<block><\n>");
	assert_int_equal(atomic_load(&place->counters.terminated_records), 0);
}

/* More than is gathered before it is written. */
PLACE_TEST(test_formatted_much)
{
	enum { RECORDS = 26, RECORD_BYTES = 100000 };
	struct k2i_stream one = stream_make(1, "one");
	char *records = malloc((size_t)RECORDS * (RECORD_BYTES + 1)), path[400];
	FILE *file;
	int i, j;

	assert_non_null(records);
	place_open(place, "<%l>", NULL);
	for (i = 0; i < RECORDS; i++) {
		char *record = records + (size_t)i * (RECORD_BYTES + 1);

		memset(record, 'a' + i, RECORD_BYTES - 1);
		memcpy(record + RECORD_BYTES - 1, "\n", 2);
		add(place, &one, 0, 1, record);
	}
	assert_int_equal(commit(place), 0);
	path_in(path, sizeof(path), place->base, "one");
	file = fopen(path, "re");
	assert_non_null(file);
	for (i = 0; i < RECORDS; i++)
		for (j = 0; j <= RECORD_BYTES; j++)
			if (getc(file) != (j == 0 ? '<' : j == RECORD_BYTES ? '>' : 'a' + i))
				fail_msg("record %d, byte %d", i, j);
	assert_int_equal(getc(file), EOF);
	(void)fclose(file);
	free(records);
}

/* However much a FORMAT makes of short records, and however long one is, the memory for it stays bounded. */
PLACE_TEST(test_formatted_in_bounded_memory)
{
	enum { RECORDS = 200000, LITERAL = 110, LONG = 10 << 20 };
	struct k2i_stream one = stream_make(1, "one");
	const struct k2i_format_buffer *buffer;
	char *records = malloc(LONG + 1), format[LITERAL + sizeof("%L%L")], path[400];
	struct stat info;

	assert_non_null(records);
	memset(format, '.', LITERAL);
	memcpy(format + LITERAL, "%L%L", sizeof("%L%L"));
	place_open(place, format, NULL);
	/* The file sink's part of a thread begins with its writer. */
	buffer = &((const struct k2i_output_writer *)place->committer.groups[0].thread)->render.formatted;
	memset(records, '\n', RECORDS);
	records[RECORDS] = '\0';
	deliver(place, &one, 0, 1, records);
	path_in(path, sizeof(path), place->base, "one");
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_size, RECORDS * (LITERAL + 2));
	assert_in_range(buffer->room, 1, 2 << 20);
	memset(records, 'x', LONG);
	memcpy(records + LONG - 1, "\n", 2);
	deliver(place, &one, 0, 1, records);
	assert_in_range(buffer->room, 0, 16 << 20);
	deliver(place, &one, 0, 1, "\n");
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_size, RECORDS * (LITERAL + 2) + LITERAL + 2 * LONG + LITERAL + 2);
	free(records);
}
