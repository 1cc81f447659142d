/* SPDX-License-Identifier: MIT */
#include "fuse/cached/cache_drop.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuse/mount.h"
#include "fuse/tree/nodes.h"
#include "fuse/cached/cache_dropper.h"

/* Of a file that is written to: an order costs some requests, which is little beside so much. */
#define BUSY_BYTES (UINT64_C(32) << 20)
/* Of one that is not. */
#define IDLE_BYTES (UINT64_C(1) << 20)
/* No close(2) waits for longer, and no other one at all until that sweep is done: the sweeper may have been stopped. */
#define WAIT_NS UINT64_C(1000000000)

struct k2i_cache_drop_wait {
	struct k2i_cache_drop_wait *next;
	fuse_req_t req;
	uint32_t node;
	bool ordered; /* the sweep that it came for */
};

static bool busy(const struct k2i_mount *mount)
{
	return mount->cache_drop.done < mount->cache_drop.ordered;
}

static uint64_t whole_pages(uint64_t bytes)
{
	return bytes - bytes % (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What is taken of the file up to `end`, and not swept. */
static uint64_t undropped(const struct k2i_node_entry *entry, uint64_t end)
{
	uint64_t taken = whole_pages(end < entry->size ? end : entry->size);

	return taken > entry->dropped ? taken - entry->dropped : 0;
}

/* Counted before it is sent: a successor who finds it under way waits for more than there is, rather than for less. */
static bool send_order(struct k2i_mount *mount, struct k2i_cache_drop_order *order)
{
	size_t bytes = offsetof(struct k2i_cache_drop_order, path) + strlen(order->path) + 1;

	order->number = ++mount->cache_drop.ordered;
	if (send(mount->cache_dropper.fds[K2I_CACHE_DROP_WORKER], order, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) ==
	    (ssize_t)bytes)
		return true;
	mount->cache_drop.ordered--;
	return false;
}

static bool give_order(struct k2i_mount *mount, uint32_t node, uint64_t end, bool keep)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);
	struct k2i_cache_drop_order order = {.node = node, .keep = keep};
	const uint64_t dropped = entry->dropped;
	const uint32_t kept = mount->cache_drop.kept_node;

	/*
	 * While the ring is full the sweeper would wait for it; what it has open it is to close even so, and in the end nothing
	 * else comes for it to do.
	 */
	if (atomic_load(&mount->cache_dropper.process) == 0 || busy(mount) || mount->ending ||
	    (mount->queue.first && !mount->asked && (keep || mount->cache_drop.kept_node != node)))
		return false;
	order.end = dropped + undropped(entry, end);
	k2i_node_keep(entry);
	entry->dropped = order.end;
	if (k2i_node_path(mount->nodes, node, NULL, order.path, sizeof(order.path)) <= 0) {
		/* One that has no name any more can't be opened. */
		order.path[0] = '\0';
		if (kept != node)
			return false;
	}
	mount->cache_drop.node = node;
	mount->cache_drop.kept_node = keep ? node : K2I_NODE_NONE;
	mount->cache_drop.wait_ends_ns = k2i_clock_now_ns() + WAIT_NS;
	if (send_order(mount, &order))
		return true;
	entry->dropped = dropped;
	mount->cache_drop.kept_node = kept;
	return false;
}

/* Whether something is to be done before its writer is gone. */
static bool has_rest(const struct k2i_mount *mount, uint32_t node)
{
	return mount->cache_drop.kept_node == node ||
	       undropped(k2i_node_at(mount->nodes, node), UINT64_MAX) >= IDLE_BYTES;
}

void k2i_cache_drop_inherit(struct k2i_mount *mount)
{
	struct k2i_cache_drop_order nothing = {.node = K2I_NODE_NONE};

	mount->cache_drop.waits = NULL;
	/*
	 * The last order may never have been sent. This one's answer comes after those of all before it; if it can't be sent,
	 * theirs are not waited for, as they are told from later ones.
	 */
	if (busy(mount) && !send_order(mount, &nothing))
		mount->cache_drop.done = mount->cache_drop.ordered;
}

void k2i_cache_drop_written(struct k2i_mount *mount, uint32_t node, uint64_t end)
{
	if (undropped(k2i_node_at(mount->nodes, node), end) >= BUSY_BYTES)
		(void)give_order(mount, node, end, true);
}

void k2i_cache_drop_idle(struct k2i_mount *mount, uint32_t node)
{
	if (has_rest(mount, node))
		(void)give_order(mount, node, UINT64_MAX, false);
}

void k2i_cache_drop_write_back(struct k2i_mount *mount, uint32_t node)
{
	/* Whoever closes a file has the kernel do that. */
	(void)give_order(mount, node, 0, false);
}

void k2i_cache_drop_cut(struct k2i_mount *mount, uint32_t node, uint64_t bytes)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);

	if (entry->dropped <= bytes)
		return;
	k2i_node_keep(entry);
	entry->dropped = bytes;
}

/* ---- who waits for a sweep */

static void answer_first(struct k2i_mount *mount)
{
	struct k2i_cache_drop_wait *wait = mount->cache_drop.waits;

	mount->cache_drop.waits = wait->next;
	(void)fuse_reply_err(wait->req, 0);
	free(wait);
}

/* Whether its file is swept now: it came before it was, or there is more since. */
static bool sweeps(struct k2i_mount *mount, struct k2i_cache_drop_wait *wait)
{
	if (wait->ordered || !has_rest(mount, wait->node))
		return false;
	wait->ordered = true;
	return give_order(mount, wait->node, UINT64_MAX, false);
}

/* A file whose writers are gone although none has closed it, as descriptors go that are on their way in a socket. */
static void close_orphan(struct k2i_mount *mount)
{
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, mount->cache_drop.kept_node);

	if (!entry)
		mount->cache_drop.kept_node = K2I_NODE_NONE;
	else if (!entry->cached)
		(void)give_order(mount, mount->cache_drop.kept_node, UINT64_MAX, false);
}

static void go_on(struct k2i_mount *mount)
{
	while (mount->cache_drop.waits && !busy(mount) && !sweeps(mount, mount->cache_drop.waits))
		answer_first(mount);
	close_orphan(mount);
}

void k2i_cache_drop_closed(struct k2i_mount *mount)
{
	go_on(mount);
}

static bool late(const struct k2i_mount *mount, uint64_t now_ns)
{
	return busy(mount) && now_ns >= mount->cache_drop.wait_ends_ns;
}

void k2i_cache_drop_flush(struct k2i_mount *mount, uint32_t node, fuse_req_t req)
{
	bool dropped = busy(mount) && mount->cache_drop.node == node;
	struct k2i_cache_drop_wait *wait = NULL, **place;

	if ((dropped || has_rest(mount, node)) && !mount->ending && !late(mount, k2i_clock_now_ns()))
		wait = malloc(sizeof(*wait));
	if (!wait) {
		(void)fuse_reply_err(req, 0);
		return;
	}
	*wait = (struct k2i_cache_drop_wait){.req = req, .node = node};
	for (place = &mount->cache_drop.waits; *place; place = &(*place)->next)
		continue;
	*place = wait;
	go_on(mount);
}

void k2i_cache_drop_heard(struct k2i_mount *mount)
{
	uint64_t number;

	while (recv(mount->cache_dropper.fds[K2I_CACHE_DROP_WORKER], &number, sizeof(number), MSG_DONTWAIT) ==
	       (ssize_t)sizeof(number))
		mount->cache_drop.done = number > mount->cache_drop.done ? number : mount->cache_drop.done;
	go_on(mount);
}

int k2i_cache_drop_run(struct k2i_mount *mount)
{
	uint64_t now_ns;

	if (!mount->cache_drop.waits)
		return -1;
	now_ns = k2i_clock_now_ns();
	if (late(mount, now_ns))
		k2i_cache_drop_abandon(mount);
	return mount->cache_drop.waits ? (int)((mount->cache_drop.wait_ends_ns - now_ns) / 1000000) + 1 : -1;
}

void k2i_cache_drop_abandon(struct k2i_mount *mount)
{
	while (mount->cache_drop.waits)
		answer_first(mount);
}
