/* SPDX-License-Identifier: MIT */
#include "fuse/ops/deferred_requests.h"

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

struct k2i_deferred_request {
	struct k2i_deferred_request *next;
	size_t bytes;
	struct fuse_in_header request[]; /* its begin */
};

void k2i_deferred_request_want(fuse_req_t req)
{
	struct k2i_mount *mount = fuse_req_userdata(req);

	mount->deferred_requests->wanted = true;
	fuse_reply_none(req);
}

static void request_keep(struct k2i_mount *mount, const struct fuse_in_header *request, size_t bytes)
{
	struct k2i_deferred_request **place = &mount->deferred_requests->first, *kept = malloc(sizeof(*kept) + bytes);

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
	mount->deferred_requests->wanted = false;
	fuse_session_process_buf(mount->kernel.session, buffer);
	return !mount->deferred_requests->wanted;
}

void k2i_deferred_requests_serve(struct k2i_mount *mount, const struct fuse_buf *buffer)
{
	if (!request_serve(mount, buffer))
		request_keep(mount, buffer->mem, buffer->size);
}

static void request_drop(struct k2i_deferred_request **place)
{
	struct k2i_deferred_request *dropped = *place;

	*place = dropped->next;
	free(dropped);
}

/* Opens wait for one thing and appends for another: as long as the first of them waits, so do the others behind it. */
static void requests_serve(struct k2i_mount *mount)
{
	struct k2i_deferred_request **place = &mount->deferred_requests->first;
	bool waits[2] = {false, false};

	while (*place) {
		const struct k2i_deferred_request *kept = *place;
		bool appends = kept->request->opcode == FUSE_GETATTR;

		waits[appends] =
			waits[appends] ||
			!request_serve(mount, &(struct fuse_buf){.size = kept->bytes, .mem = (void *)kept->request});
		k2i_journal_step();
		if (waits[appends])
			place = &(*place)->next;
		else
			request_drop(place);
	}
}

void k2i_deferred_requests_run(struct k2i_mount *mount)
{
	uint64_t now_ns, head;

	if (!mount->deferred_requests->first)
		return;
	now_ns = k2i_clock_now_ns();
	head = k2i_lanes_room(&mount->lanes).head;
	if (head == mount->deferred_requests->head && now_ns < mount->deferred_requests->due_ns && !mount->ending)
		return;
	mount->deferred_requests->head = head;
	mount->deferred_requests->due_ns = now_ns + PAUSE_NS;
	requests_serve(mount);
}

unsigned k2i_deferred_requests_count(const struct k2i_mount *mount)
{
	unsigned count = 0;

	for (const struct k2i_deferred_request *kept = mount->deferred_requests->first; kept; kept = kept->next)
		count++;
	return count;
}

bool k2i_deferred_requests_interrupt(struct k2i_mount *mount, uint64_t unique)
{
	struct k2i_deferred_request **place = &mount->deferred_requests->first;

	while (*place && (*place)->request->unique != unique)
		place = &(*place)->next;
	if (!*place)
		return false;
	request_drop(place);
	k2i_reply_status(mount, unique, -EINTR);
	return true;
}
