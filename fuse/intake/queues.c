/* SPDX-License-Identifier: MIT */
#include "fuse/base/journal.h"
#include "fuse/base/mount.h"
#include "fuse/intake/queue.h"

struct k2i_queue *k2i_queue_of(struct k2i_mount *mount, uint64_t lanes)
{
	struct k2i_queues *queues = mount->queues;
	struct k2i_queue *queue = queues->first;

	while (queue && queue->lanes != lanes)
		queue = queue->next;
	if (queue)
		return queue;
	queue = k2i_journal_alloc(sizeof(*queue));
	if (!queue)
		return NULL;
	*queue = (struct k2i_queue){.next = queues->first, .lanes = lanes};
	K2I_JOURNAL_KEEP(queues);
	queues->first = queue;
	queues->count++;
	return queue;
}

bool k2i_queues_wait(const struct k2i_queues *queues, uint64_t lanes)
{
	const struct k2i_queue *queue = queues->first;

	while (queue && !(queue->first && queue->lanes & lanes))
		queue = queue->next;
	return queue != NULL;
}

static void items_leave(struct k2i_queued *item, uint64_t lanes)
{
	for (; item; item = item->next)
		item->lanes &= ~lanes;
}

void k2i_queues_leave(struct k2i_queues *queues, uint64_t lanes)
{
	for (struct k2i_queue *queue = queues->first; queue; queue = queue->next)
		items_leave(queue->first, lanes);
	items_leave(queues->syncs, lanes);
}
