/* SPDX-License-Identifier: MIT */
#include "fuse/ops/deferred_opens.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/base/mount.h"
#include "fuse/base/reply.h"
#include "app/program/ring_stats.h"
#include "fuse/base/journal.h"

/* A file that is closed with nothing to be acknowledged gives its number back unheard. */
#define PAUSE_NS UINT64_C(100000000)

struct k2i_deferred_open {
	struct k2i_deferred_open *next;
	size_t bytes;
	struct fuse_in_header request[]; /* its begin */
};

void k2i_deferred_open_want(fuse_req_t req)
{
	struct k2i_mount *mount = fuse_req_userdata(req);

	mount->deferred_opens->wanted = true;
	fuse_reply_none(req);
}

static void open_keep(struct k2i_mount *mount, const struct fuse_in_header *request, size_t bytes)
{
	struct k2i_deferred_open **place = &mount->deferred_opens->first, *kept = malloc(sizeof(*kept) + bytes);

	if (!kept) {
		k2i_reply_status(mount, request->unique, -ENOMEM);
		return;
	}
	kept->next = NULL;
	kept->bytes = bytes;
	memcpy(kept->request, request, bytes);
	while (*place)
		place = &(*place)->next;
	*place = kept;
}

/* Whether it was answered. */
static bool request_serve(struct k2i_mount *mount, const struct fuse_buf *buffer)
{
	mount->deferred_opens->wanted = false;
	fuse_session_process_buf(mount->kernel.session, buffer);
	return !mount->deferred_opens->wanted;
}

void k2i_deferred_opens_serve(struct k2i_mount *mount, const struct fuse_buf *buffer)
{
	if (!request_serve(mount, buffer))
		open_keep(mount, buffer->mem, buffer->size);
}

static void open_drop(struct k2i_deferred_open **place)
{
	struct k2i_deferred_open *dropped = *place;

	*place = dropped->next;
	free(dropped);
}

static bool open_serve_first(struct k2i_mount *mount)
{
	struct k2i_deferred_open *first = mount->deferred_opens->first;
	bool answered = request_serve(mount, &(struct fuse_buf){.size = first->bytes, .mem = first->request});

	k2i_journal_step();
	if (answered)
		open_drop(&mount->deferred_opens->first);
	return answered;
}

void k2i_deferred_opens_run(struct k2i_mount *mount)
{
	uint64_t now_ns, head;

	if (!mount->deferred_opens->first)
		return;
	now_ns = k2i_clock_now_ns();
	head = k2i_ring_stats_get(mount->lane.ring).head;
	if (head == mount->deferred_opens->head && now_ns < mount->deferred_opens->due_ns && !mount->ending)
		return;
	mount->deferred_opens->head = head;
	mount->deferred_opens->due_ns = now_ns + PAUSE_NS;
	while (mount->deferred_opens->first && open_serve_first(mount))
		continue;
}

bool k2i_deferred_opens_interrupt(struct k2i_mount *mount, uint64_t unique)
{
	struct k2i_deferred_open **place = &mount->deferred_opens->first;

	while (*place && (*place)->request->unique != unique)
		place = &(*place)->next;
	if (!*place)
		return false;
	open_drop(place);
	k2i_reply_status(mount, unique, -EINTR);
	return true;
}
