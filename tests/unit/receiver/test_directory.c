/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <unistd.h>

#include "unit.h"
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

#define DIRECTORY_TEST(name) FIXTURE_TEST(name, struct place *place, begin, teardown)

DIRECTORY_TEST(test_a_made_one_has_its_name)
{
	char path[300];

	path_in(path, sizeof(path), place->root, "made");
	assert_int_equal(k2i_directory_make(path, K2I_DIRECTORY_PRIVATE), 1);
	assert_int_equal(synced_count, 1);
	assert_true(was_synced(place->root, "."));
	assert_int_equal(k2i_directory_make(path, K2I_DIRECTORY_PRIVATE), 0);
	assert_int_equal(synced_count, 1);
}

DIRECTORY_TEST(test_what_the_disk_says)
{
	char path[300];

	fsync_error = EIO;
	path_in(path, sizeof(path), place->root, "made");
	assert_int_equal(k2i_directory_make(path, K2I_DIRECTORY_PRIVATE), -EIO);
	fsync_error = EINVAL; /* a file system that has no such thing */
	path_in(path, sizeof(path), place->root, "other");
	assert_int_equal(k2i_directory_make(path, K2I_DIRECTORY_PRIVATE), 1);
	fsync_error = 0;
}

DIRECTORY_TEST(test_all_of_the_base_have_their_names)
{
	char path[300];

	path_in(path, sizeof(path), place->root, "some/deep/base");
	assert_int_equal(k2i_outputs_base_make(path, 0600), 0);
	assert_int_equal(synced_count, 3);
	assert_true(was_synced(place->root, "."));
	assert_true(was_synced(place->root, "some"));
	assert_true(was_synced(place->root, "some/deep"));
}

/* A user who may read its files can come there, through all that is made. */
DIRECTORY_TEST(test_modes_of_the_base)
{
	static const char *const paths[] = {"some/deep/base", "some/deep", "some"};
	mode_t mask = umask(0);
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
DIRECTORY_TEST(test_names_of_outputs)
{
	struct k2i_stream stream = stream_make(1, "some/deep/file");

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

DIRECTORY_TEST(test_a_name_that_fails_is_tried_again)
{
	struct k2i_stream stream = stream_make(1, "some/file");

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
STATE_TEST(test_name_of_the_ledger, begin, teardown)
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
DIRECTORY_TEST(test_names_where_there_is_no_such_thing)
{
	struct k2i_stream stream = stream_make(1, "some/file");

	fsync_error = EINVAL;
	place_open(place, "%L", NULL);
	deliver(place, &stream, 0, 1, "one\n");
	assert_int_equal(k2i_outputs_sync(place->outputs), 0);
	place_close(place);
	fsync_error = 0;
}
