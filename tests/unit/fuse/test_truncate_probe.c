/* SPDX-License-Identifier: MIT */
/* Pages that a cut leaves in the kernel's cache, probed by processes that are waited for, but not for ever. */
#include "unit.h"
#include "mounted_help.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "fuse/cached/truncate_probe.h"
#include "uncached_help.h"
#include "fuse/tree/nodes.h"

static void go_on(struct k2i_mount *mount, void *gone_on)
{
	(void)mount;
	*(bool *)gone_on = true;
}

/* Other processes leave them, one after the other. */
static void marks_prepare(struct k2i_mount *mount)
{
	mount->kernel.writeback = true;
	assert_int_equal(k2i_truncate_probe_prepare(mount), 0);
}

/* A page of the two can be dropped: the rest of the mark would be taken for a record. */
MOUNTED_TEST(the_mark_of_a_cut_is_in_one_page)
{
	static const struct {
		uint64_t before, after, bytes;
	} cuts[] = {{5000, 0, 8}, {5000, 4088, 8}, {5000, 4089, 7}, {5000, 4095, 1}, {5000, 4096, 8}, {3, 0, 3}};
	struct {
		struct fuse_out_header header;
		struct fuse_notify_store_out place;
		char bytes[8];
	} probe;

	marks_prepare(&mounted->mount);
	for (size_t at = 0; at < sizeof(cuts) / sizeof(cuts[0]); at++) {
		bool gone_on = false;
		struct k2i_truncate_probe cut = {.then = go_on, .argument = &gone_on};

		k2i_node_at(mounted->mount.nodes, mounted->handle->node)->size = cuts[at].before;
		k2i_truncate_probe_leave(&mounted->mount, mounted->handle->node, cuts[at].after, &cut);
		assert_true(recv(mounted->device, &probe, sizeof(probe), 0) > 0);
		assert_int_equal(probe.place.offset, cuts[at].after);
		assert_int_equal(probe.place.size, cuts[at].bytes);
		while (!gone_on)
			k2i_truncate_probes_ended(&mounted->mount);
		assert_int_equal(cut.bytes, cuts[at].bytes);
	}
}

/* The kernel takes no mark: somebody has the page. */
static void stop_device(const struct mounted *mounted)
{
	char byte = 0;

	while (send(mounted->mount.kernel.fd, &byte, sizeof(byte), MSG_DONTWAIT) > 0)
		continue;
	assert_int_equal(errno, EAGAIN);
}

/* In vain first by a process that can be killed, then by one that can't: a cut is waited for no longer. */
MOUNTED_TEST(a_mark_that_takes_too_long_is_not_waited_for)
{
	marks_prepare(&mounted->mount);
	stop_device(mounted);
	for (int can_be_killed = 1; can_be_killed >= 0; can_be_killed--) {
		bool gone_on = false;
		struct k2i_truncate_probe cut = {.then = go_on, .argument = &gone_on};

		k2i_node_at(mounted->mount.nodes, mounted->handle->node)->size = 8;
		k2i_truncate_probe_leave(&mounted->mount, mounted->handle->node, 0, &cut);
		assert_true(k2i_truncate_probes_run(&mounted->mount) > 0);
		k2i_truncate_probes_ended(&mounted->mount);
		assert_false(gone_on);
		/* The clock stands still here. */
		cut.until_ns = can_be_killed ? 0 : UINT64_MAX - UINT64_C(999999999);
		(void)k2i_truncate_probes_run(&mounted->mount);
		while (can_be_killed && !gone_on)
			k2i_truncate_probes_ended(&mounted->mount);
		assert_true(gone_on);
		assert_int_equal(cut.bytes, UINT8_MAX);
		assert_int_equal(k2i_truncate_probes_run(&mounted->mount), -1);
		if (!can_be_killed) {
			assert_int_equal(kill(cut.process, SIGKILL), 0);
			assert_int_equal(waitpid(cut.process, NULL, 0), cut.process);
		}
	}
}

/* A probe of a worker that died can come late, and its bytes would be in the data behind the next cut. */
MOUNTED_TEST(a_mark_waits_for_those_before)
{
	bool gone_on[2] = {false, false};
	struct k2i_truncate_probe cuts[2] = {{.then = go_on, .argument = &gone_on[0]},
					     {.then = go_on, .argument = &gone_on[1]}};
	struct k2i_mount *mount = &mounted->mount;
	struct pollfd device = {.events = POLLIN};
	int ends[2];

	marks_prepare(mount);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	device.fd = ends[1];
	k2i_node_at(mount->nodes, mounted->handle->node)->size = 8;
	stop_device(mounted);
	k2i_truncate_probe_leave(mount, mounted->handle->node, 0, &cuts[0]);
	while (pthread_mutex_trylock(&mount->probes->lock) == 0)
		assert_int_equal(pthread_mutex_unlock(&mount->probes->lock), 0);
	assert_int_equal(dup2(ends[0], mount->kernel.fd), mount->kernel.fd);
	assert_int_equal(close(ends[0]), 0);
	k2i_truncate_probe_leave(mount, mounted->handle->node, 0, &cuts[1]);
	assert_int_equal(poll(&device, 1, 50), 0);
	assert_int_equal(kill(cuts[0].process, SIGKILL), 0);
	while (!gone_on[0] || !gone_on[1])
		k2i_truncate_probes_ended(mount);
	assert_int_equal(cuts[0].bytes, UINT8_MAX);
	assert_int_equal(cuts[1].bytes, 8);
	assert_int_equal(poll(&device, 1, 0), 1);
	assert_int_equal(close(ends[1]), 0);
}
