/* SPDX-License-Identifier: MIT */
#include "fuse/base/counts.h"

#include <string.h>

#include "fuse/base/mount.h"

void k2i_mount_count_refused(struct k2i_mount *mount, int status)
{
	k2i_mount_count(&mount->counts.refused_writes, 1);
	k2i_log_limited(&mount->log.refused, k2i_clock_now_ns(), K2HFT_LOG_WARNING, "mount: a write is refused: %s",
			strerror(-status));
}
