/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "receiver/base/directory.h"
#include "output_place.h"

/* Names that have to be on the disk: a file is lost to who looks for it after a power cut as long as its name is not. */
#define SYNCS_MAX 16u

static int fsync_error;
static struct stat synced[SYNCS_MAX]; /* what was */
static size_t synced_count;

/* Named by the linker. */
int __real_fsync(int descriptor);
int __wrap_fsync(int descriptor);
int __wrap_fsync(int descriptor)
{
	assert_true(synced_count < SYNCS_MAX);
	assert_int_equal(fstat(descriptor, &synced[synced_count++]), 0);
	errno = fsync_error;
	return fsync_error ? -1 : __real_fsync(descriptor);
}

static bool was_synced(const char *folder, const char *name)
{
	struct stat status;
	char path[400];
	size_t at;

	path_in(path, sizeof(path), folder, name);
	assert_int_equal(stat(path, &status), 0);
	for (at = 0; at < synced_count; at++)
		if (synced[at].st_dev == status.st_dev && synced[at].st_ino == status.st_ino)
			return true;
	return false;
}

static int begin(void **state)
{
	fsync_error = 0;
	synced_count = 0;
	return setup(state);
}

static void test_a_made_one_has_its_name(void **state)
{
	struct place *place = *state;
	char path[300];

	path_in(path, sizeof(path), place->root, "made");
	assert_int_equal(k2i_directory_make(path, K2I_DIRECTORY_PRIVATE), 1);
	assert_int_equal(synced_count, 1);
	assert_true(was_synced(place->root, "."));
	assert_int_equal(k2i_directory_make(path, K2I_DIRECTORY_PRIVATE), 0);
	assert_int_equal(synced_count, 1);
}

static void test_what_the_disk_says(void **state)
{
	struct place *place = *state;
	char path[300];

	fsync_error = EIO;
	path_in(path, sizeof(path), place->root, "made");
	assert_int_equal(k2i_directory_make(path, K2I_DIRECTORY_PRIVATE), -EIO);
	fsync_error = EINVAL; /* a file system that has no such thing */
	path_in(path, sizeof(path), place->root, "other");
	assert_int_equal(k2i_directory_make(path, K2I_DIRECTORY_PRIVATE), 1);
	fsync_error = 0;
}

static void test_all_of_the_base_have_their_names(void **state)
{
	struct place *place = *state;
	char path[300];

	path_in(path, sizeof(path), place->root, "some/deep/base");
	assert_int_equal(k2i_outputs_base_make(path, 0600), 0);
	assert_int_equal(synced_count, 3);
	assert_true(was_synced(place->root, "."));
	assert_true(was_synced(place->root, "some"));
	assert_true(was_synced(place->root, "some/deep"));
}

/* A user who may read its files can come there, through all that is made. */
static void test_modes_of_the_base(void **state)
{
	static const char *const paths[] = {"some/deep/base", "some/deep", "some"};
	mode_t mask = umask(0);
	struct place *place = *state;
	struct stat status;
	char path[300];
	size_t i;

	path_in(path, sizeof(path), place->root, paths[0]);
	assert_int_equal(k2i_outputs_base_make(path, 0640), 0);
	(void)umask(mask);
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		path_in(path, sizeof(path), place->root, paths[i]);
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(status.st_mode & 07777, 0750);
	}
}

/* A new file, and the directories that were made for it; what has its name needs no second sync. */
static void test_names_of_outputs(void **state)
{
	struct k2i_stream stream = stream_make(1, "some/deep/file");
	struct place *place = *state;

	place_open(place, "%L", NULL);
	deliver(place, &stream, 0, 1, "one\n");
	synced_count = 0;
	assert_int_equal(k2i_outputs_sync(place->outputs), 0);
	assert_true(was_synced(place->base, "some/deep"));
	assert_true(was_synced(place->base, "some"));
	assert_true(was_synced(place->base, "."));
	synced_count = 0;
	deliver(place, &stream, 0, 1, "two\n");
	assert_int_equal(k2i_outputs_sync(place->outputs), 0);
	assert_int_equal(synced_count, 0);
	expect_file(place, "some/deep/file", "one\ntwo\n");
}

static void test_a_name_that_fails_is_tried_again(void **state)
{
	struct k2i_stream stream = stream_make(1, "some/file");
	struct place *place = *state;

	place_open(place, "%L", NULL);
	deliver(place, &stream, 0, 1, "one\n");
	fsync_error = EIO;
	assert_int_equal(k2i_outputs_sync(place->outputs), -EIO);
	fsync_error = 0;
	synced_count = 0;
	assert_int_equal(k2i_outputs_sync(place->outputs), 0);
	assert_true(was_synced(place->base, "some"));
}

/* The ledger's, when it is begun and when it is written anew. */
static void test_name_of_the_ledger(void **state)
{
	struct place *place = *state;
	char path[300];

	place_open(place, "%L", NULL);
	assert_true(was_synced(place->root, "state"));
	path_in(path, sizeof(path), place->root, "state/ledger");
	assert_int_equal(unlink(path), 0);
	synced_count = 0;
	assert_int_equal(k2i_ledger_check(place->ledger), 1);
	assert_true(was_synced(place->root, "state"));
}

/* Where directories can't be synced: names of files get to the disk as those of directories do. */
static void test_names_where_there_is_no_such_thing(void **state)
{
	struct k2i_stream stream = stream_make(1, "some/file");
	struct place *place = *state;

	fsync_error = EINVAL;
	place_open(place, "%L", NULL);
	deliver(place, &stream, 0, 1, "one\n");
	assert_int_equal(k2i_outputs_sync(place->outputs), 0);
	place_close(place);
	fsync_error = 0;
}

int main(void)
{
#define DIRECTORY_TEST(name) cmocka_unit_test_setup_teardown(name, begin, teardown)
	const struct CMUnitTest tests[] = {
		DIRECTORY_TEST(test_a_made_one_has_its_name),
		DIRECTORY_TEST(test_what_the_disk_says),
		DIRECTORY_TEST(test_all_of_the_base_have_their_names),
		DIRECTORY_TEST(test_modes_of_the_base),
		DIRECTORY_TEST(test_names_of_outputs),
		DIRECTORY_TEST(test_a_name_that_fails_is_tried_again),
		DIRECTORY_TEST(test_name_of_the_ledger),
		DIRECTORY_TEST(test_names_where_there_is_no_such_thing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
