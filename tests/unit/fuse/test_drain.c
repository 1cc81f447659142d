/* SPDX-License-Identifier: MIT */
/* When a mount that was told to end has ended. */
#include "unit.h"
#include "mounted_help.h"

#include "fuse/device/drain.h"
#include "fuse/intake/queue.h"
#include "fuse/base/mount_point.h"
#include "uncached_help.h"

void k2i_mount_point_unmount(struct k2i_mount *mount)
{
	(void)mount;
}

/* The ring's chunks are acknowledged as soon as somebody looks. */
int __wrap_k2hft_client_drain(struct k2hft_client *client, int timeout_ms);

int __wrap_k2hft_client_drain(struct k2hft_client *client, int timeout_ms)
{
	(void)client;
	(void)timeout_ms;
	return 0;
}

static void mounted_drain(struct mounted *mounted)
{
	mounted_anew(mounted);
	mounted->settings.drain_timeout_s = 10;
	k2i_drain_ask(&mounted->mount);
	assert_true(mounted->mount.ending);
}

/* A request that has come is answered, although there is nothing to be acknowledged. */
MOUNTED_TEST(who_has_asked_is_answered)
{
	char asked;

	mounted_drain(mounted);
	assert_int_equal(send(mounted->device, "?", 1, 0), 1);
	assert_false(k2i_drain_done(&mounted->mount));
	assert_int_equal(recv(mounted->mount.kernel.fd, &asked, 1, 0), 1);
	assert_true(k2i_drain_done(&mounted->mount));
}

/* Not for ever, nor when somebody does not want to wait, nor where the kernel has ended the mount. */
MOUNTED_TEST(who_asks_on_and_on_keeps_no_mount)
{
	int device_fd;

	for (int way = 0; way < 3; way++) {
		mounted_drain(mounted);
		device_fd = mounted->mount.kernel.fd;
		assert_int_equal(send(mounted->device, "?", 1, 0), 1);
		for (int asked = 0; asked < 5; asked++)
			assert_false(k2i_drain_done(&mounted->mount));
		if (way == 0)
			mounted_clock_ns += 1000000000;
		else if (way == 1)
			mounted->mount.drain->deadline_ns = 0;
		else
			mounted->mount.kernel.fd = -1;
		assert_true(k2i_drain_done(&mounted->mount));
		mounted->mount.kernel.fd = device_fd;
	}
}
