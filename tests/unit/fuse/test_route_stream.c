/* SPDX-License-Identifier: MIT */
/* When a file gives its stream back: once, and whoever wants its number waits for that. */
#include "unit.h"
#include "mounted_help.h"

#include <sys/wait.h>

#include "ring/layout.h"
#include "uncached_help.h"

/* A step that is not done is done again; the other one who writes to the stream has it still. */
MOUNTED_TEST(a_stream_is_released_once_by_a_worker_that_dies)
{
	struct k2i_handle *closed;
	pid_t worker;

	closed = mounted->handle;
	mounted->handle = handle_make(mounted, closed->node);
	k2i_journal_step();
	worker = fork();
	if (worker == 0) {
		k2i_write_release(&mounted->mount, closed);
		_exit(EXIT_SUCCESS);
	}
	assert_int_equal(waitpid(worker, NULL, 0), worker);
	k2i_journal_settle((const struct k2hft_ring *[]){mounted->mount.lanes.lane[0].ring});
	k2i_write_release(&mounted->mount, closed);
	k2i_journal_step();
	k2i_routes_release_streams();
	assert_int_equal(mounted->mount.handles->open_count, 1);
	assert_int_equal(stats_of(mounted->mount.lanes.lane[0].ring).streams, 1);
}

/* It has its number until the step is done: who wants one waits for that. */
MOUNTED_TEST(the_number_of_a_closed_file_is_waited_for)
{
	static char all[] = "";
	char path[16];
	struct k2i_route *route;

	mounted_rule.directory = true;
	mounted_rule.target = all;
	mounted_anew(mounted);
	for (unsigned stream = 1; stream < K2HFT_STREAM_COUNT_MAX; stream++) {
		(void)snprintf(path, sizeof(path), "%u", stream);
		(void)stream_of(mounted->mount.lanes.lane[0].ring, path);
	}
	assert_int_equal(k2i_route_open(&mounted->mount, "other", &route), -ENFILE);
	k2i_write_release(&mounted->mount, mounted->handle);
	assert_int_equal(k2i_route_open(&mounted->mount, "other", &route), -EAGAIN);
	k2i_journal_step();
	k2i_routes_release_streams();
	assert_int_equal(k2i_route_open(&mounted->mount, "other", &route), 0);
	k2i_route_close(&mounted->mount, route);
	mounted_rule.directory = false;
	mounted_rule.target = mounted_path;
}
