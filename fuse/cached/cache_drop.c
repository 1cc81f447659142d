/* SPDX-License-Identifier: MIT */
#include "fuse/cached/cache_drop.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuse/base/mount.h"
#include "fuse/tree/nodes.h"
#include "fuse/cached/cache_dropper.h"
#include "fuse/intake/queue.h"

/* A file that is written to has so much undropped before an order: the order costs a few requests. */
#define BUSY_BYTES (UINT64_C(32) << 20)
/* A file that is not written to. */
#define IDLE_BYTES (UINT64_C(1) << 20)
/* No close(2) waits for longer, and then no other one until that order is done: the dropper may have been stopped. */
#define WAIT_NS UINT64_C(1000000000)

struct k2i_cache_drop_wait {
	struct k2i_cache_drop_wait *next;
	fuse_req_t req;
	uint32_t node;
	bool ordered; /* its file has had the order that it waits for */
};

static bool order_is_pending(const struct k2i_mount *mount)
{
	return mount->cache_drop->done < mount->cache_drop->ordered;
}

static uint64_t whole_pages(uint64_t bytes)
{
	return bytes - bytes % (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Bytes of the file up to `end` that are taken and whose pages are not dropped. */
static uint64_t node_undropped_bytes(const struct k2i_node_entry *entry, uint64_t end)
{
	uint64_t taken = whole_pages(end < entry->size ? end : entry->size);

	return taken > entry->dropped ? taken - entry->dropped : 0;
}

/* Counted before it is sent: a successor who finds it under way waits for more than there is, rather than for less. */
static bool order_send(struct k2i_mount *mount, struct k2i_cache_drop_order *order)
{
	size_t bytes = offsetof(struct k2i_cache_drop_order, path) + strlen(order->path) + 1;

	order->number = ++mount->cache_drop->ordered;
	if (send(mount->cache_dropper->fds[K2I_CACHE_DROP_WORKER], order, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) ==
	    (ssize_t)bytes)
		return true;
	mount->cache_drop->ordered--;
	return false;
}

static bool order_give(struct k2i_mount *mount, uint32_t node, uint64_t end, bool keep)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);
	struct k2i_cache_drop_order order = {.node = node, .keep = keep};
	const uint64_t dropped = entry->dropped;
	const uint32_t kept = mount->cache_drop->kept_node;

	/*
	 * While the ring is full the dropper would wait for it. An order to close the file that it has open is given
	 * even so, and any order once the mount is to end.
	 */
	if (atomic_load(&mount->cache_dropper->process) == 0 || order_is_pending(mount) || mount->ending ||
	    (mount->queue->first && !mount->asked && (keep || mount->cache_drop->kept_node != node)))
		return false;
	order.end = dropped + node_undropped_bytes(entry, end);
	k2i_node_keep(entry);
	entry->dropped = order.end;
	if (k2i_node_path(mount->nodes, node, NULL, order.path, sizeof(order.path)) <= 0) {
		/* A file that has no name any more can't be opened. */
		order.path[0] = '\0';
		if (kept != node)
			return false;
	}
	mount->cache_drop->node = node;
	mount->cache_drop->kept_node = keep ? node : K2I_NODE_NONE;
	mount->cache_drop->wait_ends_ns = k2i_clock_now_ns() + WAIT_NS;
	if (order_send(mount, &order))
		return true;
	entry->dropped = dropped;
	mount->cache_drop->kept_node = kept;
	return false;
}

/* Whether something is to be done before its writer is gone. */
static bool node_has_undropped(const struct k2i_mount *mount, uint32_t node)
{
	return mount->cache_drop->kept_node == node ||
	       node_undropped_bytes(k2i_node_at(mount->nodes, node), UINT64_MAX) >= IDLE_BYTES;
}

void k2i_cache_drop_inherit(struct k2i_mount *mount)
{
	struct k2i_cache_drop_order nothing = {.node = K2I_NODE_NONE};

	mount->cache_drop->waits = NULL;
	/*
	 * The last order may never have been sent. This one's answer comes after those of all before it; if it can't be sent,
	 * theirs are not waited for, as they are told from later ones.
	 */
	if (order_is_pending(mount) && !order_send(mount, &nothing))
		mount->cache_drop->done = mount->cache_drop->ordered;
}

void k2i_cache_drop_written(struct k2i_mount *mount, uint32_t node, uint64_t end)
{
	if (node_undropped_bytes(k2i_node_at(mount->nodes, node), end) >= BUSY_BYTES)
		(void)order_give(mount, node, end, true);
}

void k2i_cache_drop_idle(struct k2i_mount *mount, uint32_t node)
{
	if (node_has_undropped(mount, node))
		(void)order_give(mount, node, UINT64_MAX, false);
}

void k2i_cache_drop_write_back(struct k2i_mount *mount, uint32_t node)
{
	/* The dropper closes the file, by which the kernel writes its pages back. */
	(void)order_give(mount, node, 0, false);
}

void k2i_cache_drop_cut(struct k2i_mount *mount, uint32_t node, uint64_t bytes)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);

	if (entry->dropped <= bytes)
		return;
	k2i_node_keep(entry);
	entry->dropped = bytes;
}

/* ---- closes that wait for an order */

static void waits_answer_first(struct k2i_mount *mount)
{
	struct k2i_cache_drop_wait *wait = mount->cache_drop->waits;

	mount->cache_drop->waits = wait->next;
	(void)fuse_reply_err(wait->req, 0);
	free(wait);
}

/* Whether its file gets an order now. */
static bool wait_order(struct k2i_mount *mount, struct k2i_cache_drop_wait *wait)
{
	if (wait->ordered || !node_has_undropped(mount, wait->node))
		return false;
	wait->ordered = true;
	return order_give(mount, wait->node, UINT64_MAX, false);
}

/* A file whose writers are gone although none has closed it, as descriptors go that are on their way in a socket. */
static void orphan_close(struct k2i_mount *mount)
{
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, mount->cache_drop->kept_node);

	if (!entry)
		mount->cache_drop->kept_node = K2I_NODE_NONE;
	else if (!entry->cached)
		(void)order_give(mount, mount->cache_drop->kept_node, UINT64_MAX, false);
}

static void waits_run(struct k2i_mount *mount)
{
	while (mount->cache_drop->waits && !order_is_pending(mount) && !wait_order(mount, mount->cache_drop->waits))
		waits_answer_first(mount);
	orphan_close(mount);
}

void k2i_cache_drop_closed(struct k2i_mount *mount)
{
	waits_run(mount);
}

static bool waits_are_late(const struct k2i_mount *mount, uint64_t now_ns)
{
	return order_is_pending(mount) && now_ns >= mount->cache_drop->wait_ends_ns;
}

void k2i_cache_drop_flush(struct k2i_mount *mount, uint32_t node, fuse_req_t req)
{
	bool dropped = order_is_pending(mount) && mount->cache_drop->node == node;
	struct k2i_cache_drop_wait *wait = NULL, **place;

	if ((dropped || node_has_undropped(mount, node)) && !mount->ending &&
	    !waits_are_late(mount, k2i_clock_now_ns()))
		wait = malloc(sizeof(*wait));
	if (!wait) {
		(void)fuse_reply_err(req, 0);
		return;
	}
	*wait = (struct k2i_cache_drop_wait){.req = req, .node = node};
	for (place = &mount->cache_drop->waits; *place; place = &(*place)->next)
		continue;
	*place = wait;
	waits_run(mount);
}

void k2i_cache_drop_heard(struct k2i_mount *mount)
{
	uint64_t number;

	while (recv(mount->cache_dropper->fds[K2I_CACHE_DROP_WORKER], &number, sizeof(number), MSG_DONTWAIT) ==
	       (ssize_t)sizeof(number))
		mount->cache_drop->done = number > mount->cache_drop->done ? number : mount->cache_drop->done;
	waits_run(mount);
}

int k2i_cache_drop_run(struct k2i_mount *mount)
{
	uint64_t now_ns;

	if (!mount->cache_drop->waits)
		return -1;
	now_ns = k2i_clock_now_ns();
	if (waits_are_late(mount, now_ns))
		k2i_cache_drop_abandon(mount);
	return mount->cache_drop->waits ? (int)((mount->cache_drop->wait_ends_ns - now_ns) / 1000000) + 1 : -1;
}

void k2i_cache_drop_abandon(struct k2i_mount *mount)
{
	while (mount->cache_drop->waits)
		waits_answer_first(mount);
}
