/* SPDX-License-Identifier: MIT */
#include "fuse/ops/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/base/reply.h"
#include "fuse/cached/writeback_pull.h"
#include "fuse/intake/advance.h"
#include "fuse/intake/handles.h"
#include "fuse/base/mount.h"
#include "fuse/tree/nodes.h"
#include "fuse/intake/queue.h"

/* -EBADF not open for writing, -ECONNABORTED the mount is ending. */
static int request_writer(struct k2i_mount *mount, const struct k2i_write *write, struct k2i_handle **handle)
{
	*handle = k2i_handle_at(mount, write->handle);
	/* A cached file is written past the cache when its program has set O_DIRECT since it was opened. */
	if (*handle && (*handle)->cached)
		*handle = (*handle)->cached->stream;
	else if (!*handle || !(*handle)->route || (*handle)->stream)
		return -EBADF;
	if (write->offset > K2I_FILE_BYTES_MAX)
		return -EFBIG;
	return mount->ending ? -ECONNABORTED : 0;
}

static void request_take(struct k2i_mount *mount, const struct k2i_write *write)
{
	struct k2i_handle *handle;
	int status = request_writer(mount, write, &handle);

	if (status)
		k2i_reply_refused(mount, write->unique, status);
	else
		k2i_write_take(mount, write, handle, false);
}

/* By which others, perhaps, write to the same file through the cache; NULL: nobody does. */
static struct k2i_cached_file *handle_cached_file(const struct k2i_mount *mount, const struct k2i_handle *handle)
{
	return handle ? k2i_node_at(mount->nodes, handle->node)->cached : NULL;
}

/* A request that waits for what was written before through the cache; a WRITE's data is behind it. */
struct k2i_deferred_write {
	struct k2i_deferred_write *next;
	struct k2i_write write;
	bool sync; /* it is an FSYNC */
	bool interrupted;
};

static void sync_begin(struct k2i_mount *mount, uint64_t unique, uint64_t number)
{
	struct k2i_handle *handle = k2i_handle_at(mount, number);
	struct k2i_cached_file *cached = handle_cached_file(mount, handle);
	int status = 0;

	if (cached) {
		k2i_pull_pass_hole(mount, cached);
		handle = cached->stream;
	}
	if (handle)
		status = k2i_queue_add_sync(mount, handle, unique, 0);
	/* Without a handle it is of .k2hft-stat, of which nothing is sent. */
	if (status || !handle)
		k2i_reply_status(mount, unique, status);
	k2i_queue_run(mount);
	/* Appends from here on wait for attributes, rather than for the lock that the kernel keeps meanwhile. */
	if (cached && k2i_pull_holds_file(mount, cached->node))
		(void)k2i_pull_leave(mount, cached);
}

static void deferred_take(struct k2i_mount *mount, void *argument)
{
	struct k2i_deferred_write *deferred = argument, **place = &mount->deferred_writes;

	while (*place != deferred)
		place = &(*place)->next;
	*place = deferred->next;
	if (deferred->interrupted && deferred->sync)
		k2i_reply_status(mount, deferred->write.unique, -EINTR);
	else if (deferred->interrupted)
		k2i_reply_refused(mount, deferred->write.unique, -EINTR);
	else if (deferred->sync)
		sync_begin(mount, deferred->write.unique, deferred->write.handle);
	else
		request_take(mount, &deferred->write);
	free(deferred);
}

/* false: no memory. */
static bool request_defer(struct k2i_mount *mount, uint32_t node, const struct k2i_write *write, bool sync)
{
	struct k2i_deferred_write *deferred = malloc(sizeof(*deferred) + write->bytes);

	if (deferred) {
		*deferred = (struct k2i_deferred_write){.next = mount->deferred_writes, .write = *write, .sync = sync};
		deferred->write.claim = NULL;
		if (write->bytes)
			deferred->write.data = memcpy(deferred + 1, write->data, write->bytes);
		mount->deferred_writes = deferred;
	}
	k2i_pull_cut_done(mount, node);
	if (deferred)
		k2i_pull_before(mount, node, deferred_take, deferred);
	return deferred != NULL;
}

void k2i_request_interrupt(struct k2i_mount *mount, uint64_t unique)
{
	struct k2i_deferred_write *deferred = mount->deferred_writes;

	if (k2i_queue_interrupt(mount, unique))
		return;
	while (deferred && deferred->write.unique != unique)
		deferred = deferred->next;
	if (deferred)
		deferred->interrupted = true;
}

void k2i_request_write(struct k2i_mount *mount, const struct k2i_write *write)
{
	const struct k2i_handle *handle = k2i_handle_at(mount, write->handle);

	if (k2i_queue_resent(mount, write->unique))
		return;
	if (!handle_cached_file(mount, handle))
		request_take(mount, write);
	else if (!request_defer(mount, handle->node, write, false))
		k2i_reply_refused(mount, write->unique, -ENOMEM);
}

void k2i_request_sync(struct k2i_mount *mount, uint64_t unique, uint64_t number)
{
	const struct k2i_write request = {.unique = unique, .handle = number};
	const struct k2i_handle *handle = k2i_handle_at(mount, number);

	if (k2i_queue_resent(mount, unique))
		return;
	/* For a write with O_DSYNC the kernel has not written back what was appended before it. */
	if (!handle_cached_file(mount, handle))
		sync_begin(mount, unique, number);
	else if (!request_defer(mount, handle->node, &request, true))
		k2i_reply_status(mount, unique, -ENOMEM);
}
