/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"
#include "receiver/base/file_identity.h"
#include "receiver/base/confine.h"
#include "config/path.h"
#include "output_place.h"

/* Files ---------------------------------------------------------------------------------------------------------- */

PLACE_TEST(test_streams_have_files)
{
	struct k2i_stream one = stream_make(1, "a/one"), two = stream_make(2, "two"), same = stream_make(3, "two");

	place_open(place, "%L", NULL);
	add(place, &one, 0, 1, "1\n");
	add(place, &two, 0, 1, "2\r\n");
	add(place, &one, 0, 1, "3");
	add(place, &same, 0, 1, "4\n");
	add(place, &two, 0, 1, "5\n");
	assert_int_equal(commit(place), 0);
	expect_file(place, "a/one", "1\n3");
	expect_file(place, "two", "2\r\n4\n5\n");
	assert_int_equal(atomic_load(&place->counters.chunks), 5);
	assert_int_equal(atomic_load(&place->counters.records), 5);
	assert_int_equal(atomic_load(&place->counters.bytes), 10);
}

PLACE_TEST(test_more_streams_than_open_files)
{
	struct k2i_stream streams[20];
	char names[20][8];
	unsigned i, round;

	place_open(place, "%L", NULL);
	for (i = 0; i < 20; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "s%u", i);
		streams[i] = stream_make(i, names[i]);
	}
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 20; i++)
			add(place, &streams[i], 0, 1, "x\n");
		assert_int_equal(commit(place), 0);
	}
	for (i = 0; i < 20; i++)
		expect_file(place, names[i], "x\nx\nx\n");
}

PLACE_TEST(test_a_removed_or_renamed_file_is_made_anew)
{
	struct k2i_stream stream = stream_make(1, "log");
	char path[400], other[400];

	place_open(place, "%L", NULL);
	path_in(path, sizeof(path), place->base, "log");
	path_in(other, sizeof(other), place->base, "log.1");
	deliver(place, &stream, 0, 1, "1\n");
	assert_int_equal(rename(path, other), 0);
	deliver(place, &stream, 0, 1, "2\n");
	expect_file(place, "log.1", "1\n");
	expect_file(place, "log", "2\n");
	assert_int_equal(unlink(path), 0);
	deliver(place, &stream, 0, 1, "3\n");
	expect_file(place, "log", "3\n");
	assert_int_equal(truncate(path, 0), 0);
	deliver(place, &stream, 0, 1, "4\n");
	expect_file(place, "log", "4\n");
	k2i_outputs_reopen(place->outputs);
	deliver(place, &stream, 0, 1, "5\n");
	expect_file(place, "log", "4\n5\n");
}

PLACE_TEST(test_base_directory_replaced)
{
	struct k2i_stream stream = stream_make(1, "d/log");
	char other[400];

	place_open(place, "%L", NULL);
	deliver(place, &stream, 0, 1, "1\n");
	path_in(other, sizeof(other), place->root, "moved");
	assert_int_equal(rename(place->base, other), 0);
	assert_int_equal(mkdir(place->base, 0700), 0);
	k2i_outputs_tick(place->outputs, 1);
	deliver(place, &stream, 0, 1, "2\n");
	expect_file(place, "d/log", "2\n");
}

static void warnings_count(void *argument, enum k2hft_log_level level, const char *text)
{
	(void)level;
	*(unsigned *)argument += strstr(text, "can't be opened any more") != NULL;
}

/* Where files go is said once, and not because this process has no descriptor just now. */
PLACE_TEST(test_base_directory_missing_is_said)
{
	unsigned warnings = 0;
	char moved[400];

	place_open(place, "%L", NULL);
	k2hft_log_callback_set(warnings_count, &warnings, K2HFT_LOG_WARNING);
	descriptors_limit(0);
	k2i_outputs_tick(place->outputs, 1);
	descriptors_limit(RLIM_INFINITY);
	assert_int_equal(warnings, 0);
	path_in(moved, sizeof(moved), place->root, "moved");
	assert_int_equal(rename(place->base, moved), 0);
	k2i_outputs_tick(place->outputs, 1);
	k2i_outputs_tick(place->outputs, 1);
	assert_int_equal(warnings, 1);
	assert_int_equal(rename(moved, place->base), 0);
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
}

/* The lock is on the directory that is written to, and one that another receiver has is left to that. */
PLACE_TEST(test_base_directory_replaced_is_locked)
{
	struct k2i_outputs_options options = {
		.base_directory = place->base, .open_max = 4, .file_mode = 0600, .store = {.write_bytes = 65536}};
	struct k2i_stream stream = stream_make(1, "log");
	struct k2i_outputs *others = NULL;
	char moved[400], path[400];

	options.counters = &place->counters;
	place_open(place, "%L", NULL);
	path_in(moved, sizeof(moved), place->root, "moved");
	assert_int_equal(rename(place->base, moved), 0);
	assert_int_equal(k2i_outputs_create(&options, &others), 0);
	k2i_outputs_tick(place->outputs, 1);
	deliver(place, &stream, 0, 1, "1\n");
	path_in(path, sizeof(path), moved, "log");
	expect_contents(path, "1\n");
	assert_int_equal(k2i_outputs_free(others, false), 0);
	k2i_outputs_tick(place->outputs, 1);
	assert_int_equal(k2i_outputs_create(&options, &others), -EWOULDBLOCK);
	deliver(place, &stream, 0, 1, "2\n");
	expect_file(place, "log", "2\n");
}

PLACE_TEST(test_missing_base_directory_holds)
{
	struct k2i_stream stream = stream_make(1, "log");
	char path[400];

	place_open(place, "%L", NULL);
	deliver(place, &stream, 0, 1, "1\n");
	path_in(path, sizeof(path), place->base, "log");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(place->base), 0);
	add(place, &stream, 0, 1, "2\n");
	assert_int_equal(commit(place), -ENOENT);
	assert_int_equal(mkdir(place->base, 0700), 0);
	k2i_outputs_tick(place->outputs, 1);
	deliver(place, &stream, 0, 1, "3\n");
	expect_file(place, "log", "3\n");
}

/* Files that are open there can't be written any more, though they are the same. Returns what can. */
static int write_refuse(int descriptor)
{
	int writable = dup(descriptor), read_only;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	read_only = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(writable >= 0 && read_only >= 0);
	assert_int_equal(dup2(read_only, descriptor), descriptor);
	(void)close(read_only);
	return writable;
}

static void write_allow(int descriptor, int writable)
{
	assert_int_equal(dup2(writable, descriptor), descriptor);
	(void)close(writable);
}

static void add_to_both(struct place *place, struct k2i_stream *first, struct k2i_stream *second, const char *text)
{
	add(place, first, 0, 1, text);
	add(place, second, 0, 1, text);
}

/* A group that fails leaves nothing of it, in none of its files. */
PLACE_TEST(test_failed_write_is_cut_back)
{
	struct k2i_stream first = stream_make(1, "first"), second = stream_make(2, "second");
	struct k2i_output_file *output;
	int writable;

	place_open(place, "%L", NULL);
	add_to_both(place, &first, &second, "1\n");
	assert_int_equal(commit(place), 0);
	assert_int_equal(k2i_output_acquire(place->outputs, "second", &output), 0);
	writable = write_refuse(output->descriptor);
	add_to_both(place, &first, &second, "2\n");
	assert_int_equal(commit(place), -EBADF);
	/* Nothing has to be cut off of it, which could not be done either. */
	assert_int_equal(atomic_load(&place->counters.uncut_files), 0);
	expect_file(place, "first", "1\n");
	expect_file(place, "second", "1\n");
	write_allow(output->descriptor, writable);
	k2i_output_release(place->outputs, output);
	add_to_both(place, &first, &second, "2\n");
	assert_int_equal(commit(place), 0);
	expect_file(place, "first", "1\n2\n");
	expect_file(place, "second", "1\n2\n");
}

/* The descriptor that this process has of a file. */
static int descriptor_of(const char *path)
{
	struct stat wanted, status;
	int descriptor = 3;

	assert_int_equal(stat(path, &wanted), 0);
	while (fstat(descriptor, &status) < 0 || status.st_ino != wanted.st_ino || status.st_dev != wanted.st_dev)
		assert_true(++descriptor < 64);
	return descriptor;
}

/* Records for the quarantine have no file that could be cut. */
PLACE_TEST(test_what_is_quarantined_is_not_cut)
{
	struct k2i_stream first = stream_make(1, "first"), second = stream_make(2, "second");
	struct k2i_output_file *refused, *output;
	char path[400];
	int writable;

	place_open(place, "%L", NULL);
	path_in(path, sizeof(path), place->base, "first");
	assert_int_equal(mkdir(path, 0700), 0);
	/* It stays the first one of the two. */
	assert_int_equal(k2i_output_acquire(place->outputs, "first", &refused), 0);
	assert_int_equal(k2i_output_acquire(place->outputs, "second", &output), 0);
	add_to_both(place, &first, &second, "1\n");
	assert_int_equal(commit(place), 0);
	writable = write_refuse(output->descriptor);
	add_to_both(place, &first, &second, "2\n");
	assert_int_equal(commit(place), -EBADF);
	assert_int_equal(atomic_load(&place->counters.uncut_files), 0);
	write_allow(output->descriptor, writable);
	k2i_output_release(place->outputs, output);
	k2i_output_release(place->outputs, refused);
	add_to_both(place, &first, &second, "2\n");
	assert_int_equal(commit(place), 0);
	expect_file(place, "second", "1\n2\n");
}

/* So does one that is written but can't be entered in the ledger. */
STATE_TEST(test_failed_ledger_is_cut_back, setup, teardown)
{
	struct place *place = *state;
	struct k2i_stream first = stream_make(1, "first"), second = stream_make(2, "second");
	int ledger, writable;
	char path[400];

	place_open(place, "%L", NULL);
	add_to_both(place, &first, &second, "1\n");
	assert_int_equal(commit(place), 0);
	path_in(path, sizeof(path), place->root, "state/ledger");
	ledger = descriptor_of(path);
	writable = write_refuse(ledger);
	add_to_both(place, &first, &second, "2\n");
	assert_int_equal(commit(place), -EBADF);
	expect_file(place, "first", "1\n");
	expect_file(place, "second", "1\n");
	write_allow(ledger, writable);
	add_to_both(place, &first, &second, "2\n");
	assert_int_equal(commit(place), 0);
	expect_file(place, "first", "1\n2\n");
	expect_file(place, "second", "1\n2\n");
}

STATE_TEST(test_what_has_no_file_is_quarantined, setup, teardown)
{
	static const char *const paths[] = {".k2hft/ledger", "state/ledger", "link", "directory", "good/x"};
	struct place *place = *state;
	struct k2i_stream streams[6];
	struct stat status;
	char path[400];
	unsigned i;

	place_open(place, "%L", NULL);
	path_in(path, sizeof(path), place->base, "link");
	assert_int_equal(symlink("../outside/x", path), 0);
	path_in(path, sizeof(path), place->base, "directory");
	assert_int_equal(mkdir(path, 0700), 0);
	streams[5] = stream_make(9, "good");
	for (i = 0; i < 5; i++)
		streams[i] = stream_make(i, paths[i]);
	deliver(place, &streams[5], 0, 1, "good\n");
	for (i = 0; i < 5; i++)
		add(place, &streams[i], 0, 1, "bad\n");
	add(place, &streams[5], 0, 1, "good\n");
	assert_int_equal(commit(place), 0);
	expect_file(place, "good", "good\ngood\n");
	assert_int_equal(atomic_load(&place->counters.quarantined_chunks), 5);
	assert_int_equal(atomic_load(&place->counters.quarantined_bytes), 20);
	path_in(path, sizeof(path), place->root,
		"quarantine/72696e67-0000-0000-0000-000000000000-00000000000000000064");
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, 4);
	/* Nothing came there. */
	assert_int_equal(rmdir(place->outside), 0);
}

/* After a restart ------------------------------------------------------------------------------------------------ */

static void checkpoint(struct place *place)
{
	uint64_t number;

	assert_int_equal(k2i_ledger_mark(place->ledger, &number), 0);
	assert_int_equal(k2i_outputs_sync(place->outputs), 0);
	assert_int_equal(k2i_ledger_checkpoint(place->ledger), 0);
}

/*
 * Each file of a sender that waits for the disk goes back to the checkpoint, with the record that went on there; files
 * of others don't.
 */
PLACE_TEST(test_recovery_from_power_cut)
{
	struct k2i_stream one = stream_make(1, "one"), two = stream_make(2, "two"), three = stream_make(3, "three");

	place_open(place, "%L", NULL);
	place->commit.flags = K2I_LEDGER_DEFERRED;
	deliver(place, &one, K2HFT_CHUNK_CONTINUES, 1, "begin");
	checkpoint(place);
	add(place, &one, K2HFT_CHUNK_CONTINUED, 1, " of the end\n");
	add(place, &two, 0, 1, "later\n");
	assert_int_equal(commit(place), 0);
	place->commit.flags = 0;
	deliver(place, &three, 0, 1, "acknowledged\n");
	place_power_cut(place, "%L", NULL);
	expect_file(place, "one", "begin");
	expect_file(place, "two", "");
	expect_file(place, "three", "acknowledged\n");
	assert_int_equal(atomic_load(&place->counters.cut_bytes), 18);
}

/* Bytes that somebody else has put there between are not cut off with those that were not acknowledged. */
PLACE_TEST(test_power_cut_of_a_changed_file)
{
	struct k2i_stream one = stream_make(1, "one");

	place_open(place, "%L", NULL);
	place->commit.flags = K2I_LEDGER_DEFERRED;
	deliver(place, &one, 0, 1, "first\n");
	checkpoint(place);
	others_append(place, "one", "other\n");
	deliver(place, &one, 0, 1, "second\n");
	place_power_cut(place, "%L", NULL);
	expect_file(place, "one", "first\nother\n");
}

/* Another file in its place, by whatever it is known, is not cut. */
PLACE_TEST(test_only_the_same_file_is_cut)
{
	struct k2i_ledger_file file = {.path = "one", .length = 1};
	struct stat status;
	char path[400];
	int descriptor;

	place_open(place, "%L", NULL);
	path_in(path, sizeof(path), place->base, "one");
	descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(descriptor, "123", 3), 3);
	assert_int_equal(fstat(descriptor, &status), 0);
	file.birth = k2i_file_birth_ns(descriptor, status.st_dev);
	file.inode = status.st_ino + 1;
	(void)close(descriptor);
	k2i_outputs_recover(place->outputs, &file, true);
	file.inode--;
	file.birth++;
	k2i_outputs_recover(place->outputs, &file, true);
	file.birth--;
	k2i_outputs_recover(place->outputs, &file, false);
	(void)k2i_outputs_recover_renamed(place->outputs);
	expect_file(place, "one", "123");
	k2i_outputs_recover(place->outputs, &file, true);
	expect_file(place, "one", "1");
}

static enum k2i_output_ledger_state commit_told(struct place *place, struct k2i_stream *stream, uint32_t flags,
						const struct k2i_output_file *output)
{
	place->commit.flags = flags;
	deliver(place, stream, 0, 1, "record\n");
	return output->ledger_state;
}

/* The first commit to a file says who writes to it; others then change that, and it stays so while it is open. */
STATE_TEST(test_told_of_who_waits, setup, teardown)
{
	struct place *place = *state;
	struct k2i_stream one = stream_make(1, "one");
	struct k2i_output_file *output;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), ledger, log;
	struct stat before, after;
	char path[400];

	place_open(place, "%L", NULL);
	assert_int_equal(k2i_output_acquire(place->outputs, "one", &output), 0);
	/* No byte is written before the ledger has that on its disk. */
	path_in(path, sizeof(path), place->root, "state/ledger");
	ledger = descriptor_of(path);
	log = dup(ledger);
	assert_true(null >= 0 && log >= 0 && dup2(null, ledger) == ledger);
	(void)close(null);
	place->commit.flags = K2I_LEDGER_DEFERRED;
	add(place, &one, 0, 1, "record\n");
	assert_int_equal(commit(place), -EINVAL);
	expect_file(place, "one", "");
	assert_int_equal(output->ledger_state, K2I_OUTPUT_LEDGER_UNKNOWN);
	write_allow(ledger, log);
	/* Data that a sync has refused is not relied on: the ledger is another. */
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(commit_told(place, &one, K2I_LEDGER_DEFERRED, output), K2I_OUTPUT_LEDGER_DEFERRED);
	assert_int_equal(stat(path, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	assert_int_equal(commit_told(place, &one, 0, output), K2I_OUTPUT_LEDGER_KEPT);
	assert_int_equal(commit_told(place, &one, K2I_LEDGER_DEFERRED, output), K2I_OUTPUT_LEDGER_KEPT);
	k2i_outputs_reopen(place->outputs);
	assert_int_equal(commit_told(place, &one, K2I_LEDGER_DEFERRED, output), K2I_OUTPUT_LEDGER_DEFERRED);
	k2i_output_release(place->outputs, output);
}
