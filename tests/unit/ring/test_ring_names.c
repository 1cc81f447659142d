/* SPDX-License-Identifier: MIT */
/* Names that a ring is not opened by: what is there can be another's. */
#include "unit.h"
#include "ring_help.h"

#include <sys/stat.h>
#include <unistd.h>

FILES_TEST(links_are_not_followed)
{
	assert_int_equal(symlink("nothing", files->path), 0);
	assert_int_equal(open_answer(files->path, 0), -ELOOP);
	assert_int_equal(open_answer(files->path, K2HFT_RING_FRESH), -ELOOP);
	k2hft_ring_close(file_ring(files->leftover, 0));
	assert_int_equal(unlink(files->path), 0);
	assert_int_equal(symlink(files->leftover, files->path), 0);
	assert_int_equal(open_answer(files->path, 0), -ELOOP);
	assert_int_equal(open_answer(files->path, K2HFT_RING_FRESH), -ELOOP);
	assert_int_equal(unlink(files->leftover), 0);
}

/* Between two consumers, as a mount is between its start and its first worker. */
FILES_TEST(a_ring_that_is_kept_is_nobody_elses)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	int keeper = k2hft_ring_keep(ring);
	char link[32];

	assert_true(keeper >= 0);
	k2hft_ring_close(ring);
	assert_int_equal(open_answer(files->path, 0), -EBUSY);
	assert_int_equal(open_answer(files->path, K2HFT_RING_FRESH), -EBUSY);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", keeper);
	assert_int_equal(open_answer(link, 0), 0);
	(void)close(keeper);
	assert_int_equal(open_answer(files->path, 0), 0);
}

/* In a directory that anybody may write, or that is another user's, whoever put it there could have put any there. */
FILES_TEST(another_users_ring_is_not_taken)
{
	if (geteuid() != 0)
		skip();
	k2hft_ring_close(file_ring(files->path, 0));
	assert_int_equal(chown(files->path, 65534, 65534), 0);
	assert_int_equal(open_answer(files->path, 0), 0);
	assert_int_equal(chmod(files->folder, 01777), 0);
	assert_int_equal(open_answer(files->path, 0), -EPERM);
	assert_int_equal(open_answer(files->path, K2HFT_RING_FRESH), -EPERM);
	assert_int_equal(chmod(files->folder, 0700), 0);
	assert_int_equal(chown(files->folder, 65534, 65534), 0);
	assert_int_equal(open_answer(files->path, 0), -EPERM);
	assert_int_equal(chown(files->path, 0, 0), 0);
	assert_int_equal(open_answer(files->path, 0), 0);
}
