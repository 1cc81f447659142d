/* SPDX-License-Identifier: MIT */
#include "fuse/intake/queue.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fuse/intake/handles.h"
#include "fuse/base/mount.h"
#include "fuse/intake/record_route.h"
#include "fuse/base/reply.h"
#include "app/program/ring_stats.h"
#include "fuse/base/journal.h"
#include "fuse/intake/write.h"

/* Data out of the page cache: so much, or a part of the machine's memory. */
#define CACHED_BYTES (UINT64_C(64) << 20)
#define CACHED_PART 256u

int k2i_queue_add(struct k2i_mount *mount, const struct k2i_queued *item, const char *data)
{
	struct k2i_queue *queue = item->handle->queue;
	size_t data_bytes = data ? item->bytes : 0;
	struct k2i_queued *added = k2i_journal_alloc(sizeof(*added) + data_bytes);

	if (!added)
		return -ENOMEM;
	*added = *item;
	added->next = NULL;
	added->data = NULL;
	if (data_bytes)
		added->data = memcpy(added + 1, data, data_bytes);
	K2I_JOURNAL_KEEP(mount->queues);
	K2I_JOURNAL_KEEP(queue);
	K2I_JOURNAL_KEEP(item->handle);
	if (queue->last) {
		K2I_JOURNAL_KEEP(&queue->last->next);
		queue->last->next = added;
	} else
		queue->first = added;
	queue->last = added;
	*(item->cached ? &mount->queues->cached_bytes : &mount->queues->bytes) += data_bytes;
	queue->cached_bytes += item->cached ? data_bytes : 0;
	item->handle->queued++;
	if (item->kind == K2I_QUEUED_WRITE)
		item->handle->unended = true;
	else if (item->kind == K2I_QUEUED_END || item->kind == K2I_QUEUED_SO_FAR)
		item->handle->unended = false;
	return 0;
}

/* Its place stays: what of it has been taken must be sent before what came later. */
void k2i_queued_forget_request(struct k2i_queued *item)
{
	K2I_JOURNAL_KEEP(item);
	item->unique = 0;
	if ((item->kind == K2I_QUEUED_WRITE && !item->cached) || item->kind == K2I_QUEUED_SYNC)
		item->kind = K2I_QUEUED_REST;
}

void k2i_queued_free(struct k2i_mount *mount, struct k2i_queued *item)
{
	struct k2i_handle *handle = item->handle;

	size_t data_bytes = item->data ? item->bytes : 0;

	K2I_JOURNAL_KEEP(mount->queues);
	K2I_JOURNAL_KEEP(handle->queue);
	K2I_JOURNAL_KEEP(&handle->queued);
	*(item->cached ? &mount->queues->cached_bytes : &mount->queues->bytes) -= data_bytes;
	handle->queue->cached_bytes -= item->cached ? data_bytes : 0;
	k2i_journal_free(item);
	handle->queued--;
	k2i_handle_free_if_done(mount, handle);
}

void k2i_queue_resume_begin(struct k2i_mount *mount)
{
	mount->queues->resuming = true;
	for (struct k2i_queue *queue = mount->queues->first; queue; queue = queue->next) {
		for (struct k2i_queued *item = queue->first; item; item = item->next)
			item->unseen = true;
	}
	for (struct k2i_queued *item = mount->queues->syncs; item; item = item->next)
		item->unseen = true;
}

static bool see(struct k2i_queued *item, uint64_t unique)
{
	for (; item; item = item->next) {
		if (item->unique == 0 || ((item->unique ^ unique) & ~K2I_UNIQUE_RESENT) != 0)
			continue;
		K2I_JOURNAL_KEEP(item);
		item->unique = unique;
		item->unseen = false;
		return true;
	}
	return false;
}

bool k2i_queue_resent(struct k2i_mount *mount, uint64_t unique)
{
	const struct k2i_queue *queue = mount->queues->first;

	if (!(unique & K2I_UNIQUE_RESENT))
		return false;
	while (queue && !see(queue->first, unique))
		queue = queue->next;
	return queue || see(mount->queues->syncs, unique);
}

void k2i_queue_resume_end(struct k2i_mount *mount)
{
	for (struct k2i_queue *queue = mount->queues->first; queue; queue = queue->next) {
		for (struct k2i_queued *item = queue->first; item; item = item->next) {
			if (item->unseen && item->unique)
				k2i_queued_forget_request(item);
		}
	}
	mount->queues->resuming = false;
}

uint64_t k2i_queue_cached_bytes_max(void)
{
	uint64_t part = (uint64_t)sysconf(_SC_PHYS_PAGES) / CACHED_PART * (uint64_t)sysconf(_SC_PAGESIZE);

	return part > CACHED_BYTES ? part : CACHED_BYTES;
}

bool k2i_queue_is_empty(const struct k2i_mount *mount)
{
	return !k2i_queues_wait(mount->queues, UINT64_MAX) && !mount->queues->syncs && !mount->routes->listed;
}
