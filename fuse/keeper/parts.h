/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_KEEPER_PARTS_H
#define K2I_FUSE_KEEPER_PARTS_H

#include "fuse/base/mount.h"
#include "fuse/cached/truncate_probe.h"
#include "fuse/cached/writeback_pull.h"
#include "fuse/device/drain.h"
#include "fuse/device/loop.h"
#include "fuse/intake/handles.h"
#include "fuse/intake/line_buffer.h"
#include "fuse/intake/queue.h"
#include "fuse/intake/record_route.h"
#include "fuse/ops/deferred_requests.h"
#include "fuse/ops/stat.h"

/* A mount's parts, in shared memory beside it. */
struct k2i_mount_parts {
	struct k2i_loop loop;
	struct k2i_drain drain;
	struct k2i_deferred_requests deferred_requests;
	struct k2i_stat_texts stat;
	struct k2i_pull pull;
	struct k2i_truncate_probes probes;
	struct k2i_handle_table handles;
	struct k2i_routes routes;
	struct k2i_queues queues;
	struct k2i_line_limits line_limits;
};

static inline void k2i_mount_parts_join(struct k2i_mount *mount, struct k2i_mount_parts *parts)
{
	mount->loop = &parts->loop;
	mount->drain = &parts->drain;
	mount->deferred_requests = &parts->deferred_requests;
	mount->stat = &parts->stat;
	mount->pull = &parts->pull;
	mount->probes = &parts->probes;
	mount->handles = &parts->handles;
	mount->routes = &parts->routes;
	mount->queues = &parts->queues;
	mount->line_limits = &parts->line_limits;
}

#endif
