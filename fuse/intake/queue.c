/* SPDX-License-Identifier: MIT */
#include "fuse/intake/queue.h"

#include <errno.h>
#include <string.h>

#include "fuse/intake/handles.h"
#include "fuse/mount.h"
#include "fuse/intake/record_route.h"
#include "fuse/base/reply.h"
#include "app/program/ring_stats.h"
#include "fuse/base/journal.h"
#include "fuse/intake/write.h"

int k2i_queue_add(struct k2i_mount *mount, const struct k2i_queued *item, const char *data)
{
	struct k2i_queue *queue = &mount->queue;
	size_t data_bytes = data ? item->bytes : 0;
	struct k2i_queued *added = k2i_journal_alloc(sizeof(*added) + data_bytes);

	if (!added)
		return -ENOMEM;
	*added = *item;
	added->next = NULL;
	added->data = NULL;
	if (data_bytes)
		added->data = memcpy(added + 1, data, data_bytes);
	K2I_JOURNAL_KEEP(queue);
	K2I_JOURNAL_KEEP(item->handle);
	if (queue->last) {
		K2I_JOURNAL_KEEP(&queue->last->next);
		queue->last->next = added;
	} else
		queue->first = added;
	queue->last = added;
	*(item->cached ? &queue->cached_bytes : &queue->bytes) += data_bytes;
	item->handle->queued++;
	if (item->kind == K2I_QUEUED_WRITE)
		item->handle->unended = true;
	else if (item->kind == K2I_QUEUED_END || item->kind == K2I_QUEUED_SO_FAR)
		item->handle->unended = false;
	return 0;
}

static void free_item(struct k2i_mount *mount, struct k2i_queued *item)
{
	struct k2i_handle *handle = item->handle;

	K2I_JOURNAL_KEEP(&mount->queue);
	K2I_JOURNAL_KEEP(&handle->queued);
	if (item->data)
		*(item->cached ? &mount->queue.cached_bytes : &mount->queue.bytes) -= item->bytes;
	k2i_journal_free(item);
	handle->queued--;
	k2i_handle_free_if_done(mount, handle);
}

static void answer(struct k2i_mount *mount, const struct k2i_queued *item, int status)
{
	bool data = item->kind == K2I_QUEUED_WRITE;
	/* What was taken of a synchronous write is not acknowledged: its writer must not take it for that. */
	bool some = data && item->taken && !item->synchronous;

	if (some || (status == 0 && (data || item->answer_bytes)))
		k2i_reply_written(mount, item->unique, item->answer_bytes ? item->answer_bytes : item->taken);
	else
		k2i_reply_status(mount, item->unique, status);
}

/* A writer who is told that some was taken comes again with the rest. What the page cache gave is lost instead. */
static bool is_refusal(const struct k2i_queued *item)
{
	return item->kind == K2I_QUEUED_WRITE && item->unique && item->taken == 0 && !item->cached;
}

/* The item goes with its answer, in one step. */
static void finish(struct k2i_mount *mount, struct k2i_queued *item, int status)
{
	struct k2i_queued answered = *item;

	if (status && is_refusal(item))
		k2i_mount_count_refused(mount, status);
	free_item(mount, item);
	answer(mount, &answered, status);
}

/* What was taken counts from here on; its writer hears of it when that is acknowledged. */
static void finish_synchronous(struct k2i_mount *mount, struct k2i_queued *item)
{
	uint64_t unique = item->unique;
	int status = k2i_write_add_sync(mount, item->handle, unique, item->taken);

	K2I_JOURNAL_KEEP(item);
	item->unique = 0;
	finish(mount, item, 0);
	if (status)
		k2i_reply_status(mount, unique, status);
}

/* The position that ends all that is in the ring now. */
static void begin_sync(struct k2i_mount *mount, struct k2i_queued *item)
{
	K2I_JOURNAL_KEEP(&mount->queue);
	K2I_JOURNAL_KEEP(item);
	item->position = k2i_ring_stats_get(mount->ring).tail;
	item->next = mount->queue.syncs;
	mount->queue.syncs = item;
}

static void run_syncs(struct k2i_mount *mount)
{
	struct k2hft_ring_stats stats;
	struct k2i_queued **place = &mount->queue.syncs;

	if (!*place)
		return;
	stats = k2i_ring_stats_get(mount->ring);
	while (*place) {
		struct k2i_queued *item = *place;

		/* The tail that was seen goes back with a claim that is given back: all is there when the ring is empty. */
		if (stats.head < item->position && stats.head < stats.tail) {
			place = &item->next;
			continue;
		}
		K2I_JOURNAL_KEEP(place);
		*place = item->next;
		finish(mount, item, k2i_handle_lost(item->handle));
	}
}

static struct k2i_queued *take_first(struct k2i_queue *queue)
{
	struct k2i_queued *item = queue->first;

	K2I_JOURNAL_KEEP(queue);
	queue->first = item->next;
	if (!queue->first)
		queue->last = NULL;
	return item;
}

/* Records that were accepted: nobody waits to hear of them, but who asks later does. */
static void lose(struct k2i_mount *mount, struct k2i_handle *handle, uint64_t records, int status)
{
	K2I_JOURNAL_KEEP(&handle->lost);
	handle->lost = status;
	k2i_mount_count(&mount->counts.lost_records, records);
	k2i_log_limited(&mount->lost_limit, k2i_mount_clock_ns(), K2HFT_LOG_ERROR, "mount: records of %s are lost: %s",
			handle->path, strerror(-status));
}

static uint64_t untaken_records(const struct k2i_queued *item)
{
	if (item->kind != K2I_QUEUED_WRITE || !item->data)
		return 1;
	return k2i_lines_count(item->data + item->taken, item->bytes - item->taken);
}

/* Some of it has been taken, which is to be sent before what came later: its place stays. */
static void fail_rest(struct k2i_mount *mount, struct k2i_queued *item, int status)
{
	struct k2i_queued answered = *item;

	if (item->unique == 0 || item->cached)
		lose(mount, item->handle, untaken_records(item), status);
	K2I_JOURNAL_KEEP(item);
	item->unique = 0;
	item->kind = K2I_QUEUED_REST;
	answer(mount, &answered, status);
}

static void run_queue(struct k2i_mount *mount)
{
	struct k2i_queue *queue = &mount->queue;

	while (queue->first) {
		struct k2i_queued *item = queue->first;
		int status = item->kind == K2I_QUEUED_SYNC ? 0 : k2i_write_advance(mount, item);

		if (status == -EAGAIN)
			return;
		if (status && item->kind == K2I_QUEUED_WRITE && item->taken) {
			fail_rest(mount, item, status);
			continue;
		}
		(void)take_first(queue);
		if (item->kind == K2I_QUEUED_SYNC) {
			begin_sync(mount, item);
		} else if (status == 0 && item->synchronous && item->unique) {
			finish_synchronous(mount, item);
		} else {
			if (status && (item->unique == 0 || item->cached))
				lose(mount, item->handle, untaken_records(item), status);
			finish(mount, item, status);
		}
	}
}

void k2i_queue_run(struct k2i_mount *mount)
{
	if (mount->resuming)
		return;
	/* Without room for a line end there is none for anything else. */
	(void)k2i_routes_terminate(mount);
	run_queue(mount);
	run_syncs(mount);
}

static struct k2i_queued *take_sync(struct k2i_queue *queue, uint64_t unique)
{
	for (struct k2i_queued **place = &queue->syncs; *place; place = &(*place)->next) {
		struct k2i_queued *item = *place;

		if (item->unique != unique || item->unseen)
			continue;
		K2I_JOURNAL_KEEP(place);
		*place = item->next;
		return item;
	}
	return NULL;
}

/* Its place stays: what of it has been taken must be sent before what came later. */
static void forget_request(struct k2i_queued *item)
{
	K2I_JOURNAL_KEEP(item);
	item->unique = 0;
	if ((item->kind == K2I_QUEUED_WRITE && !item->cached) || item->kind == K2I_QUEUED_SYNC)
		item->kind = K2I_QUEUED_REST;
}

void k2i_queue_interrupt(struct k2i_mount *mount, uint64_t unique)
{
	struct k2i_queued *item = unique ? take_sync(&mount->queue, unique) : NULL, answered = {.next = NULL};

	if (item) {
		finish(mount, item, -EINTR);
		return;
	}
	for (item = mount->queue.first; item; item = item->next) {
		/* No answer reaches a request that has not come again yet; the kernel repeats this behind it. */
		if (unique == 0 || item->unique != unique || item->unseen)
			continue;
		if (is_refusal(item))
			k2i_mount_count_refused(mount, -EINTR);
		answered.unique = item->unique;
		answered.kind = item->kind;
		answered.taken = item->taken;
		answered.synchronous = item->synchronous;
		forget_request(item);
		answer(mount, &answered, -EINTR);
		return;
	}
	k2i_write_interrupt(mount, unique);
}

void k2i_queue_resume_begin(struct k2i_mount *mount)
{
	mount->resuming = true;
	for (struct k2i_queued *item = mount->queue.first; item; item = item->next)
		item->unseen = true;
	for (struct k2i_queued *item = mount->queue.syncs; item; item = item->next)
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
	return unique & K2I_UNIQUE_RESENT && (see(mount->queue.first, unique) || see(mount->queue.syncs, unique));
}

void k2i_queue_resume_end(struct k2i_mount *mount)
{
	for (struct k2i_queued *item = mount->queue.first; item; item = item->next) {
		if (item->unseen && item->unique)
			forget_request(item);
	}
	mount->resuming = false;
}

/*
 * Of those that were accepted, however their writers were answered: what is pending and held, and all out of the page cache.
 * What is held behind a write of which all was taken has an end of its own in the queue.
 */
static uint64_t accepted_records(struct k2i_mount *mount, const struct k2i_queued *item)
{
	struct k2i_handle *handle = item->handle;
	uint64_t records = k2i_route_forget_pending(mount, handle->route);

	if (item->kind == K2I_QUEUED_WRITE && item->cached && item->taken < item->bytes)
		records += untaken_records(item);
	else if (item->kind == K2I_QUEUED_END && handle->line.held_bytes)
		records++;
	else
		return records;
	/* It was the begin of the first of them, or all of it. */
	k2i_line_buffer_let_go(&handle->line);
	return records;
}

/* Off its list and answered in one step: a successor finds the others where they were. */
static void abandon(struct k2i_mount *mount, struct k2i_queued *item, int error)
{
	uint64_t records = accepted_records(mount, item);

	if (records)
		lose(mount, item->handle, records, error);
	finish(mount, item, error);
}

void k2i_queue_abandon(struct k2i_mount *mount, int error)
{
	struct k2i_queue *queue = &mount->queue;

	while (queue->first)
		abandon(mount, take_first(queue), error);
	while (queue->syncs) {
		struct k2i_queued *item = queue->syncs;

		K2I_JOURNAL_KEEP(queue);
		queue->syncs = item->next;
		abandon(mount, item, error);
	}
}

bool k2i_queue_is_empty(const struct k2i_mount *mount)
{
	return !mount->queue.first && !mount->queue.syncs && !mount->missing_newline_first;
}
