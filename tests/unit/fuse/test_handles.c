/* SPDX-License-Identifier: MIT */
/* Open files: their numbers, and what a worker that takes over has of them. */
#include "unit.h"
#include "mounted_help.h"

#include <errno.h>
#include <sys/wait.h>

#include "fuse/intake/advance.h"
#include "ring/handle.h"
#include "uncached_help.h"

/* A process that opens and closes files for ever comes to no end of them. */
MOUNTED_TEST(numbers_are_used_again)
{
	struct k2i_handle *kept, *handle;
	uint32_t room;

	room = mounted->mount.handles->room;
	for (uint32_t opens = 0; opens < 2 * room; opens++) {
		assert_int_equal(
			k2i_handle_open(&mounted->mount, mounted->handle->node, mounted_path, NULL, NULL, &kept), 0);
		assert_int_equal(
			k2i_handle_open(&mounted->mount, mounted->handle->node, mounted_path, NULL, NULL, &handle), 0);
		kept->released = handle->released = true;
		k2i_handle_free_if_done(&mounted->mount, kept);
		k2i_handle_free_if_done(&mounted->mount, handle);
		k2i_journal_step();
	}
	assert_int_equal(mounted->mount.handles->room, room);
	assert_int_equal(mounted->mount.handles->open_count, 1);
}

/* The answer that tells it is the end of the step: who dies before has told nobody. */
MOUNTED_TEST(what_was_lost_is_told_by_the_next_worker)
{
	pid_t worker;

	mounted->handle->lost = -EIO;
	k2i_journal_step();
	worker = fork();
	if (worker == 0)
		_exit(k2i_handle_lost(mounted->handle) == -EIO ? EXIT_SUCCESS : EXIT_FAILURE);
	assert_int_equal(waitpid(worker, NULL, 0), worker);
	k2i_journal_settle((const struct k2hft_ring *[]){mounted->mount.lanes.lane[0].ring});
	assert_int_equal(k2i_handle_lost(mounted->handle), -EIO);
	assert_int_equal(k2i_handle_lost(mounted->handle), 0);
}

/* It misses a newline, and had a descriptor of the worker before; the ring has forgotten who declared its stream. */
MOUNTED_TEST(a_file_that_is_closed_is_taken_over)
{
	struct k2i_route *route;

	route = mounted->handle->route;
	list_stream(mounted);
	route->streams->missing_newline = true;
	k2i_write_release(&mounted->mount, mounted->handle);
	assert_true(route->closed);
	k2i_routes_release_streams();
	assert_int_equal(stats_of(mounted->mount.lanes.lane[0].ring).streams, 1);
	assert_int_equal(k2hft_stream_withdraw(mounted->mount.lanes.lane[0].ring, route->streams->id), 0);
	mounted->mount.lanes.lane[0].streams_forgotten = true;
	k2i_rule_scratch_free(route->scratch);
	route->scratch = (struct k2i_rule_scratch *)(uintptr_t)1;
	route->output = (struct k2i_outputfile *)(uintptr_t)1;
	assert_int_equal(k2i_handles_inherit(&mounted->mount), 0);
	assert_int_equal(stats_of(mounted->mount.lanes.lane[0].ring).streams, 1);
	k2i_queue_run(&mounted->mount);
	k2i_routes_release_streams();
	assert_true(k2i_queue_is_empty(&mounted->mount));
	assert_sent(mounted, "\n");
}
