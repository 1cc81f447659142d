/* SPDX-License-Identifier: MIT */
#define UNIT_OWN_MAIN
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/log.h>

#include "base/clock.h"
#include "output_place.h"
#include "wrapped_names.h"

static int write_error, cut_error; /* 0: it works */
static int write_refused = -1;     /* the descriptor that write_error is for */
static bool write_part;            /* before it one byte is written */

ssize_t __real_writev(int descriptor, const struct iovec *vectors, int count);
ssize_t __wrap_writev(int descriptor, const struct iovec *vectors, int count);
ssize_t __wrap_writev(int descriptor, const struct iovec *vectors, int count)
{
	if (!write_error || descriptor != write_refused)
		return __real_writev(descriptor, vectors, count);
	if (write_part) {
		write_part = false;
		return write(descriptor, vectors[0].iov_base, 1);
	}
	errno = write_error;
	return -1;
}

int __real_ftruncate(int descriptor, off_t length);
int __wrap_ftruncate(int descriptor, off_t length);
int __wrap_ftruncate(int descriptor, off_t length)
{
	if (!cut_error)
		return __real_ftruncate(descriptor, length);
	errno = cut_error;
	return -1;
}

static bool length_with_cut; /* fstat(2) fails as ftruncate(2) does */

int __real_fstat(int descriptor, struct stat *status);
int __wrap_fstat(int descriptor, struct stat *status);
int __wrap_fstat(int descriptor, struct stat *status)
{
	if (!length_with_cut || !cut_error)
		return __real_fstat(descriptor, status);
	errno = EIO;
	return -1;
}

static int look_error;

int __real_fstatat(int directory, const char *path, struct stat *status, int flags);
int __wrap_fstatat(int directory, const char *path, struct stat *status, int flags);
int __wrap_fstatat(int directory, const char *path, struct stat *status, int flags)
{
	if (!look_error)
		return __real_fstatat(directory, path, status, flags);
	errno = look_error;
	return -1;
}

static unsigned twice_said;

static void message(void *argument, enum k2hft_log_level level, const char *text)
{
	(void)argument;
	(void)level;
	twice_said += strstr(text, "there twice") != NULL;
}

/* In so many files what was to be cut off stays: that is counted, and said then and not before. */
static void expect_uncut(const struct place *place, unsigned wanted)
{
	assert_int_equal(atomic_load(&place->counters.uncut_files), wanted);
	assert_int_equal(twice_said, wanted);
}

static atomic_uint files_synced; /* several at once */

int __real_fdatasync(int descriptor);
int __wrap_fdatasync(int descriptor);
int __wrap_fdatasync(int descriptor)
{
	atomic_fetch_add(&files_synced, 1);
	return __real_fdatasync(descriptor);
}

static int commit_both(struct place *place, const char *text)
{
	struct k2i_stream first = stream_make(1, "first"), second = stream_make(2, "second");

	add(place, &first, 0, 1, text);
	add(place, &second, 0, 1, text);
	return commit(place);
}

/* A group that got into its first file only, and there it stays, because `error` ends the attempt to cut it off. */
static void leave_uncut(struct place *place, int error)
{
	struct k2i_output_file *second;

	twice_said = 0;
	place_open(place, "%L", NULL);
	assert_int_equal(commit_both(place, "1\n"), 0);
	assert_int_equal(k2i_output_acquire(place->outputs, "second", &second), 0);
	write_refused = second->descriptor;
	write_error = cut_error = error;
	assert_int_equal(commit_both(place, "2\n"), -error);
	/* It can still be cut. */
	expect_uncut(place, 0);
	expect_file(place, "first", "1\n2\n");
	expect_file(place, "second", "1\n");
	write_error = 0;
	k2i_output_release(place->outputs, second);
}

/* A disk that is read-only for a while: nothing is written behind what is to be cut off, until it can be. */
PLACE_TEST(test_cut_later)
{
	leave_uncut(place, EROFS);
	assert_int_equal(commit_both(place, "2\n"), -EROFS);
	expect_file(place, "first", "1\n2\n");
	expect_file(place, "second", "1\n");
	cut_error = 0;
	assert_int_equal(commit_both(place, "2\n"), 0);
	assert_int_equal(commit_both(place, "3\n"), 0);
	expect_file(place, "first", "1\n2\n3\n");
	expect_file(place, "second", "1\n2\n3\n");
	assert_int_equal(atomic_load(&place->counters.changed_files), 0);
	expect_uncut(place, 0);
}

/* Also when the disk did not tell how long the file was: that is not what somebody else has written. */
PLACE_TEST(test_cut_later_of_unknown_length)
{
	length_with_cut = true;
	leave_uncut(place, EIO);
	length_with_cut = false;
	cut_error = 0;
	assert_int_equal(commit_both(place, "2\n"), 0);
	expect_file(place, "first", "1\n2\n");
	assert_int_equal(atomic_load(&place->counters.changed_files), 0);
	expect_uncut(place, 0);
}

/* A file that can only grow holds nobody for ever. */
PLACE_TEST(test_what_can_never_be_cut_holds_nobody)
{
	leave_uncut(place, EPERM);
	assert_int_equal(commit_both(place, "2\n"), 0);
	expect_file(place, "first", "1\n2\n2\n");
	expect_file(place, "second", "1\n2\n");
	expect_uncut(place, 1);
	cut_error = 0;
}

/* With somebody else's bytes behind it, it can't be told from them. */
PLACE_TEST(test_others_are_not_cut)
{
	leave_uncut(place, EROFS);
	others_append(place, "first", "other\n");
	cut_error = 0;
	assert_int_equal(commit_both(place, "2\n"), 0);
	expect_file(place, "first", "1\n2\nother\n2\n");
	expect_uncut(place, 1);
}

/* Opened anew, it is still known that it is to be cut. */
PLACE_TEST(test_cut_after_reopening)
{
	leave_uncut(place, EROFS);
	k2i_outputs_reopen(place->outputs);
	assert_int_equal(commit_both(place, "2\n"), -EROFS);
	cut_error = 0;
	assert_int_equal(commit_both(place, "2\n"), 0);
	expect_file(place, "first", "1\n2\n");
	expect_uncut(place, 0);
}

/* Nobody may come again who writes there: it is tried as long as the file is open, which costs nobody else his place. */
PLACE_TEST(test_cut_when_idle)
{
	struct k2i_outputs *outputs;
	uint64_t later_ns = k2i_clock_ns(CLOCK_MONOTONIC) + 20 * K2I_SECOND_NS;
	unsigned tick;

	leave_uncut(place, EROFS);
	outputs = place->outputs;
	for (tick = 0; tick < 2; tick++)
		k2i_outputs_tick(outputs, later_ns);
	assert_int_equal(atomic_load(&place->counters.files_open), 1);
	expect_file(place, "first", "1\n2\n");
	cut_error = 0;
	k2i_outputs_tick(outputs, later_ns);
	assert_int_equal(atomic_load(&place->counters.files_open), 0);
	expect_file(place, "first", "1\n");
	expect_uncut(place, 0);
}

PLACE_TEST(test_removed)
{
	char path[400];

	leave_uncut(place, EROFS);
	path_in(path, sizeof(path), place->base, "first");
	assert_int_equal(remove(path), 0);
	assert_int_equal(commit_both(place, "2\n"), 0);
	expect_file(place, "first", "2\n");
	expect_uncut(place, 0);
	cut_error = 0;
}

PLACE_TEST(test_emptied)
{
	char path[400];

	leave_uncut(place, EROFS);
	path_in(path, sizeof(path), place->base, "first");
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(commit_both(place, "2\n"), 0);
	expect_file(place, "first", "2\n");
	expect_uncut(place, 0);
	cut_error = 0;
}

/* Renamed, it is cut before another takes its place. */
PLACE_TEST(test_cut_when_renamed)
{
	char from[400], to[400];

	leave_uncut(place, EROFS);
	path_in(from, sizeof(from), place->base, "first");
	path_in(to, sizeof(to), place->base, "first.1");
	assert_int_equal(rename(from, to), 0);
	cut_error = 0;
	assert_int_equal(commit_both(place, "2\n"), 0);
	expect_file(place, "first.1", "1\n");
	expect_file(place, "first", "2\n");
	expect_uncut(place, 0);
}

/* Closed, and the receiver ends before it can be cut: the ledger still knows. */
PLACE_TEST(test_cut_after_a_restart)
{
	leave_uncut(place, EROFS);
	k2i_outputs_reopen(place->outputs);
	assert_int_equal(atomic_load(&place->counters.files_open), 0);
	(void)sink_close(place);
	place_close(place);
	cut_error = 0;
	place_open(place, "%L", NULL);
	expect_file(place, "first", "1\n");
}

/* In what a receiver says was left in order its next start cuts nothing. */
PLACE_TEST(test_cut_at_the_end)
{
	leave_uncut(place, EROFS);
	cut_error = 0;
	place_close(place);
	expect_file(place, "first", "1\n");
}

/* After an end in order, with a power cut behind it, the start does not cut again. */
PLACE_TEST(test_a_cut_gets_to_the_disk)
{
	struct k2i_stream stream = stream_make(1, "file");
	struct k2i_output_file *output;

	place_open(place, "%L", NULL);
	deliver(place, &stream, 0, 1, "1\n");
	assert_int_equal(k2i_outputs_sync(place->outputs), 0);
	assert_int_equal(k2i_output_acquire(place->outputs, "file", &output), 0);
	write_refused = output->descriptor;
	write_error = ENOSPC;
	write_part = true;
	add(place, &stream, 0, 1, "2\n");
	assert_int_equal(commit(place), -ENOSPC);
	write_error = 0;
	k2i_output_release(place->outputs, output);
	expect_file(place, "file", "1\n");
	atomic_store(&files_synced, 0);
	assert_int_equal(k2i_outputs_sync(place->outputs), 0);
	assert_int_equal(atomic_load(&files_synced), 1);
}

static void end_uncut(struct place *place, int error, bool reopened, int wanted)
{
	leave_uncut(place, error);
	if (reopened)
		k2i_outputs_reopen(place->outputs);
	assert_int_equal(sink_close(place), wanted);
	place_close(place);
	cut_error = 0;
}

STATE_TEST(test_no_end_in_order, setup, teardown)
{
	end_uncut(*state, EROFS, false, -EROFS);
}

STATE_TEST(test_end_never_cut, setup, teardown)
{
	end_uncut(*state, EPERM, false, 0);
}

STATE_TEST(test_end_never_cut_and_closed, setup, teardown)
{
	end_uncut(*state, EPERM, true, 0);
}

/* Nobody has renamed a file of a disk that does not answer. */
PLACE_TEST(test_not_seen)
{
	struct k2i_stream stream = stream_make(1, "seen");

	place_open(place, "%L", NULL);
	deliver(place, &stream, 0, 1, "1\n");
	look_error = EIO;
	deliver(place, &stream, 0, 1, "2\n");
	assert_int_equal(atomic_load(&place->counters.replaced_files), 0);
	look_error = ENOENT;
	deliver(place, &stream, 0, 1, "3\n");
	assert_int_equal(atomic_load(&place->counters.replaced_files), 1);
	look_error = 0;
	deliver(place, &stream, 0, 1, "4\n");
	expect_file(place, "seen", "1\n2\n3\n4\n");
}

int main(void)
{
	k2hft_log_callback_set(message, NULL, K2HFT_LOG_ERROR);
	return unit_run();
}
