/* SPDX-License-Identifier: MIT */
#include "fuse/cached/writeback_pull.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "fuse/intake/handles.h"
#include "fuse/cached/truncate_probe.h"
#include "fuse/base/mount.h"
#include "fuse/intake/record_route.h"
#include "fuse/copy/outputfile.h"
#include "fuse/intake/advance.h"
#include "fuse/base/reply.h"
#include "app/rules/rules.h"
#include "fuse/base/journal.h"
#include "fuse/intake/write.h"
#include "fuse/intake/queue.h"
#include "fuse/tree/nodes.h"

/* So many answers without anything new in a row, and a file is left alone. */
#define LEAVE_AFTER 40u
/*
 * A write(2) that was under way then can end later, in theory any time later, if it has to wait for the memory that it
 * takes its bytes from. So there are looks, twice as far apart each time, up to this; the files share what that costs.
 */
#define LOOK_MS 1000u
#define LOOK_MS_PER_FILE 50u
/* Questions that are due so soon are asked now: one wake-up for all. */
#define TOGETHER_NS K2I_MILLISECOND_NS

struct k2i_pull_wait {
	struct k2i_pull_wait *next;
	k2i_pull_then *then;
	void *argument;
};

static struct k2i_cached_file *node_cached_file(const struct k2i_mount *mount, uint64_t node)
{
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);

	return entry ? entry->cached : NULL;
}

/* The watermark is the file's size, as the kernel counts it. */
static uint64_t file_watermark(const struct k2i_mount *mount, const struct k2i_cached_file *file)
{
	return k2i_node_at(mount->nodes, file->node)->size;
}

/* ---- open and close */

static void file_set_due(struct k2i_mount *mount, struct k2i_cached_file *file, uint64_t at_ns)
{
	file->due_ns = at_ns;
	if (at_ns < mount->pull->due_ns)
		mount->pull->due_ns = at_ns;
}

static int stream_open(struct k2i_mount *mount, uint32_t node, const char *path, struct k2i_handle **stream)
{
	struct k2i_route *route = NULL;
	int status = k2i_route_open(mount, path, &route);

	if (status == 0)
		status = k2i_handle_open(mount, node, path, route, NULL, stream);
	if (status) {
		k2i_route_close(mount, route);
		return status;
	}
	(*stream)->stream = true;
	/* It is no writer of its own. */
	k2i_node_writers(mount->nodes, node, -1);
	return 0;
}

static int file_begin(struct k2i_mount *mount, uint32_t node, const char *path, struct k2i_cached_file **file)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);
	struct k2i_cached_file *begun = k2i_journal_alloc(sizeof(*begun));
	int status = begun ? 0 : -ENOMEM;

	if (status == 0) {
		memset(begun, 0, sizeof(*begun));
		status = stream_open(mount, node, path, &begun->stream);
	}
	if (status) {
		k2i_journal_free(begun);
		return status;
	}
	k2i_node_keep(entry);
	K2I_JOURNAL_KEEP(&mount->pull->first);
	K2I_JOURNAL_KEEP(&mount->pull->count);
	entry->cached = begun;
	begun->node = node;
	begun->next = mount->pull->first;
	mount->pull->first = begun;
	mount->pull->count++;
	*file = begun;
	return 0;
}

int k2i_pull_open(struct k2i_mount *mount, uint32_t node, const char *path, uint32_t pid, struct k2i_cached_file **file)
{
	int status = 0;

	*file = k2i_node_at(mount->nodes, node)->cached;
	if (*file) {
		/* All that wrote to it have closed it: a record that they left without its end has it. */
		if ((*file)->stream->flushed)
			status = k2i_write_end(mount, (*file)->stream);
		if (status) {
			*file = NULL; /* no writer more */
			return status;
		}
		K2I_JOURNAL_KEEP(*file);
		if ((*file)->writer_pid != pid)
			(*file)->writer_pid = 0;
	} else {
		status = file_begin(mount, node, path, file);
		if (status)
			return status;
		(*file)->writer_pid = pid;
	}
	/* Attributes that the kernel had of it before would let the first append pass. */
	if (k2i_pull_holds_file(mount, node))
		(void)k2i_pull_leave(mount, *file);
	(*file)->writers++;
	(*file)->left = false;
	(*file)->idle = 0;
	file_set_due(mount, *file, k2i_clock_now_ns() + mount->settings->flush_ms * K2I_MILLISECOND_NS);
	return 0;
}

void k2i_pull_flushed(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	if (file->writers == 1)
		k2i_handle_flushed(mount, file->stream);
}

static void file_run_waits(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	while (file->waits) {
		struct k2i_pull_wait *wait = file->waits;

		file->waits = wait->next;
		wait->then(mount, wait->argument);
		free(wait);
	}
}

/* Kept pieces whose turn it is: each goes from there to what is queued, in one step. */
static void file_take_kept(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	struct k2i_cached_part part;

	while (k2i_cached_next(&file->pieces, file_watermark(mount, file), &part)) {
		struct k2i_write write = {
			.writer_pid = file->writer_pid,
			.offset = file_watermark(mount, file),
			.data = part.data,
			.bytes = part.bytes,
		};

		if (k2i_write_queue_cached(mount, file->stream, &write)) {
			k2i_log_limited(&mount->log.wait, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
					"mount: no memory: what was written to %s waits until there is some",
					file->stream->path);
			return;
		}
		k2i_cached_advance(&file->pieces, file_watermark(mount, file));
		k2i_journal_step();
		k2i_queue_run(mount);
	}
	k2i_cached_advance(&file->pieces, file_watermark(mount, file));
}

void k2i_pull_pass_hole(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	file_take_kept(mount, file);
	while (k2i_cached_begin(&file->pieces) > file_watermark(mount, file) && !file->refused) {
		k2i_node_grow(k2i_node_at(mount->nodes, file->node), k2i_cached_begin(&file->pieces));
		file_take_kept(mount, file);
	}
}

/*
 * Data that is still kept was accepted, and comes no more: for it, or for what stands before it, there was no memory.
 */
static void file_lose_kept(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	uint64_t records = k2i_cached_forget(&file->pieces);

	if (records == 0)
		return;
	K2I_JOURNAL_KEEP(&file->stream->lost);
	file->stream->lost = -ENOMEM;
	k2i_mount_count(&mount->counts.lost_records, records);
	k2i_log_limited(&mount->log.lost, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
			"mount: no memory: %llu records of %s are lost", (unsigned long long)records,
			file->stream->path);
}

void k2i_pull_close(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, file->node);
	struct k2i_cached_file **place = &mount->pull->first;

	/* In steps of its own, so before anything of this one: a successor gets the request again and finds the file. */
	if (file->writers == 1) {
		k2i_pull_pass_hole(mount, file);
		file_run_waits(mount, file);
		(void)k2i_write_end(mount, file->stream);
	}
	K2I_JOURNAL_KEEP(file);
	if (--file->writers)
		return;
	file_lose_kept(mount, file);
	while (*place != file)
		place = &(*place)->next;
	K2I_JOURNAL_KEEP(place);
	K2I_JOURNAL_KEEP(&mount->pull->count);
	k2i_node_keep(entry);
	*place = file->next;
	mount->pull->count--;
	entry->cached = NULL;
	k2i_write_release(mount, file->stream);
	k2i_journal_free(file);
}

void k2i_pull_inherit(struct k2i_mount *mount)
{
	uint64_t now_ns = k2i_clock_now_ns();

	mount->pull->due_ns = UINT64_MAX;
	for (struct k2i_queue *queue = mount->queues->first; queue; queue = queue->next)
		queue->holding = false;
	for (struct k2i_cached_file *file = mount->pull->first; file; file = file->next) {
		file->asked = 0;
		file->left = false;
		file->idle = 0;
		file->waits = NULL;
		file_set_due(mount, file, now_ns);
	}
}

/* ---- what comes */

/* Takes what is new of it, and answers it. */
static void file_take(struct k2i_mount *mount, struct k2i_cached_file *file, const struct k2i_write *write)
{
	uint64_t watermark = file_watermark(mount, file);
	struct k2i_write taken = *write;
	struct k2i_cached_part part = {.bytes = 0};
	/* Not after the mount has begun to end: its records have been ended. */
	bool late = mount->ending && write->offset + write->bytes > watermark;
	int status = late ? -ECONNABORTED
			  : k2i_cached_give(&file->pieces, watermark, write->offset, write->data, write->bytes, &part);

	taken.data = part.data;
	taken.bytes = part.bytes;
	taken.offset = watermark;
	taken.writer_pid = file->writer_pid;
	if (status == 0 && part.bytes) {
		k2i_write_take(mount, &taken, file->stream, true);
	} else if (status) {
		k2i_reply_refused(mount, write->unique, status);
	} else {
		k2i_reply_written(mount, write->unique, write->answer_bytes);
	}
	if (write->unique && (status || file_watermark(mount, file) < watermark + part.bytes)) {
		K2I_JOURNAL_KEEP(&file->refused);
		file->refused = true;
	}
	k2i_journal_step();
	file_take_kept(mount, file);
}

void k2i_pull_write(struct k2i_mount *mount, uint64_t node, const struct k2i_write *write)
{
	struct k2i_cached_file *file = node_cached_file(mount, node);

	/* It writes nothing back while a file is being cut. */
	k2i_pull_cut_done(mount, (uint32_t)node);
	if (!file)
		k2i_reply_refused(mount, write->unique, -EBADF);
	else if (!k2i_queue_resent(mount, write->unique))
		file_take(mount, file, write);
}

/* ---- what is asked */

static uint64_t file_pause_ns(const struct k2i_mount *mount, const struct k2i_cached_file *file)
{
	uint64_t pause_ms = mount->settings->flush_ms, look_ms = (uint64_t)mount->pull->count * LOOK_MS_PER_FILE;

	look_ms = look_ms > LOOK_MS ? look_ms : LOOK_MS;
	for (unsigned looks = LEAVE_AFTER; file->left && looks < file->idle && pause_ms < look_ms; looks++)
		pause_ms = pause_ms * 2 < look_ms ? pause_ms * 2 : look_ms;
	return pause_ms * K2I_MILLISECOND_NS;
}

bool k2i_pull_leave(const struct k2i_mount *mount, const struct k2i_cached_file *file)
{
	struct fuse_notify_inval_inode_out attributes = {.ino = file->node, .off = -1};

	return k2i_reply_notify(mount->kernel.fd, FUSE_NOTIFY_INVAL_INODE,
				&(struct iovec){.iov_base = &attributes, .iov_len = sizeof(attributes)}, NULL);
}

/* When to ask again after an answer, which had something new or not. */
static void file_ask_later(struct k2i_mount *mount, struct k2i_cached_file *file, bool news)
{
	if (news && file->left) {
		k2i_mount_count(&mount->counts.late_appends, 1);
		file->left = false;
	}
	file->idle = news ? 0 : file->idle + 1;
	if (!file->left && file->idle >= LEAVE_AFTER)
		file->left = k2i_pull_leave(mount, file);
	file_set_due(mount, file, k2i_clock_now_ns() + file_pause_ns(mount, file));
}

bool k2i_pull_holds(const struct k2i_mount *mount, const struct k2i_queue *queue)
{
	return queue->cached_bytes >= K2I_QUEUE_HOLD_BYTES / mount->queues->count && !k2i_mount_ends(mount);
}

static bool queued_syncs(const struct k2i_queued *item, uint64_t node)
{
	while (item && (item->kind != K2I_QUEUED_SYNC || item->handle->node != node))
		item = item->next;
	return item != NULL;
}

bool k2i_pull_holds_file(const struct k2i_mount *mount, uint64_t node)
{
	const struct k2i_cached_file *file = node_cached_file(mount, node);
	const struct k2i_queue *queue = mount->queues->first;

	if (file && k2i_pull_holds(mount, file->stream->queue))
		return true;
	while (queue && !queued_syncs(queue->first, node))
		queue = queue->next;
	return !k2i_mount_ends(mount) && (queue || queued_syncs(mount->queues->syncs, node));
}

/* Files that are left alone are not believed already. */
static void queue_hold(struct k2i_mount *mount, struct k2i_queue *queue)
{
	bool holds = k2i_pull_holds(mount, queue);

	for (struct k2i_cached_file *file = mount->pull->first; holds && !queue->holding && file; file = file->next) {
		if (!file->left && file->stream->queue == queue)
			(void)k2i_pull_leave(mount, file);
	}
	queue->holding = holds;
}

static void pull_hold(struct k2i_mount *mount)
{
	for (struct k2i_queue *queue = mount->queues->first; queue; queue = queue->next)
		queue_hold(mount, queue);
}

void k2i_pull_announced(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	uint64_t at_ns = k2i_clock_now_ns() + mount->settings->flush_ms * K2I_MILLISECOND_NS;

	file->stream->queue->holding = false;
	if (file->left)
		k2i_mount_count(&mount->counts.announced_appends, 1);
	file->left = false;
	file->idle = 0;
	if (file->due_ns > at_ns)
		file_set_due(mount, file, at_ns);
}

bool k2i_pull_left(const struct k2i_node_entry *entry)
{
	return entry->cached && entry->cached->left;
}

void k2i_pull_cut(struct k2i_mount *mount, uint32_t node, const struct k2i_truncate_probe *probe)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);

	if (entry->cached)
		file_lose_kept(mount, entry->cached);
	k2i_node_keep(entry);
	entry->probe_value = probe->value;
	entry->probe_bytes = probe->bytes;
}

void k2i_pull_cut_done(struct k2i_mount *mount, uint32_t node)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);

	if (!entry || entry->probe_bytes == 0)
		return;
	k2i_node_keep(entry);
	entry->probe_bytes = 0;
}

/* false: there will be no answer. */
static bool file_ask(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	struct fuse_notify_retrieve_out question = {
		.notify_unique = ++mount->pull->questions,
		.nodeid = file->node,
		.offset = file_watermark(mount, file),
		.size = K2I_WRITE_BYTES_MAX,
	};

	if (!k2i_reply_notify(mount->kernel.fd, FUSE_NOTIFY_RETRIEVE,
			      &(struct iovec){.iov_base = &question, .iov_len = sizeof(question)}, NULL))
		return false;
	file->asked = question.notify_unique;
	file->asked_in_time = true;
	file->probe = k2i_node_at(mount->nodes, file->node)->probe_bytes != 0;
	return true;
}

/* All that was there when `waits` came is taken when an answer to a younger question has nothing more. */
static void file_ask_for_waits(struct k2i_mount *mount, struct k2i_cached_file *file, bool nothing)
{
	if (file->waits && ((nothing && file->asked_in_time) || !file_ask(mount, file)))
		file_run_waits(mount, file);
}

static void file_go_on(struct k2i_mount *mount, struct k2i_cached_file *file, uint64_t new_bytes)
{
	file_ask_later(mount, file, new_bytes > 0);
	/*
	 * Not sooner: the kernel can have copied and dropped a page whose WRITE still waits for the answers to others.
	 */
	if (file->left && !file->stream->queue->first)
		k2i_pull_pass_hole(mount, file);
	if (new_bytes >= K2I_WRITE_BYTES_MAX)
		file_set_due(mount, file, 0);
	file_ask_for_waits(mount, file, new_bytes == 0);
}

/* Nothing of it is taken: its length can be the old one and its pages new, as they are read later. */
static void file_take_probe(struct k2i_mount *mount, struct k2i_cached_file *file, const struct k2i_write *write)
{
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, file->node);

	/* Otherwise a later answer tells, or a WRITE. */
	if (k2i_truncate_probe_shows_cut(entry, write->data, write->bytes) > 0)
		k2i_pull_cut_done(mount, file->node);
	file_ask_later(mount, file, false);
	if (entry->probe_bytes == 0) {
		file->idle = 0;
		file_set_due(mount, file, 0);
	}
	file_ask_for_waits(mount, file, write->bytes == 0);
}

void k2i_pull_answer(struct k2i_mount *mount, uint64_t node, uint64_t number, const struct k2i_write *write)
{
	struct k2i_cached_file *file = node_cached_file(mount, node);
	uint64_t before;

	/* The answer to a question of a worker that died since, or about another file. */
	if (!file || file->asked != number)
		return;
	file->asked = 0;
	if (file->probe) {
		file_take_probe(mount, file, write);
		return;
	}
	before = file_watermark(mount, file);
	file_take(mount, file, write);
	file_go_on(mount, file, file_watermark(mount, file) - before);
}

/* Nothing is asked: of no file could it go on. With several lanes others may, see k2i_pull_run. */
static bool pull_rests(const struct k2i_mount *mount)
{
	return !mount->pull->first || mount->ending ||
	       (mount->queues->count == 1 && k2i_queues_wait(mount->queues, UINT64_MAX));
}

void k2i_pull_run(struct k2i_mount *mount, uint64_t now_ns)
{
	pull_hold(mount);
	if (pull_rests(mount) || now_ns < mount->pull->due_ns)
		return;
	mount->pull->due_ns = UINT64_MAX;
	for (struct k2i_cached_file *file = mount->pull->first; file; file = file->next) {
		if (file->asked ||
		    (file->due_ns <= now_ns + TOGETHER_NS && !file->stream->queue->first && file_ask(mount, file)))
			continue;
		file_set_due(mount, file, file->due_ns > now_ns ? file->due_ns : now_ns + file_pause_ns(mount, file));
	}
}

int k2i_pull_timeout_ms(const struct k2i_mount *mount, uint64_t now_ns)
{
	if (pull_rests(mount) || mount->pull->due_ns == UINT64_MAX)
		return -1;
	if (mount->pull->due_ns <= now_ns)
		return 0;
	return (int)((mount->pull->due_ns - now_ns + K2I_MILLISECOND_NS - 1) / K2I_MILLISECOND_NS);
}

void k2i_pull_before(struct k2i_mount *mount, uint32_t node, k2i_pull_then *then, void *argument)
{
	struct k2i_cached_file *file = node_cached_file(mount, node);
	struct k2i_pull_wait *wait, **place;

	wait = file && mount->kernel.fd >= 0 ? malloc(sizeof(*wait)) : NULL;
	if (!wait) {
		then(mount, argument);
		return;
	}
	*wait = (struct k2i_pull_wait){.then = then, .argument = argument};
	for (place = &file->waits; *place; place = &(*place)->next)
		continue;
	*place = wait;
	file->asked_in_time = false;
	if (!file->asked && !file_ask(mount, file))
		file_run_waits(mount, file);
}

void k2i_pull_abandon(struct k2i_mount *mount)
{
	struct k2i_cached_file *file = mount->pull->first, *next;

	for (; file; file = next) {
		next = file->next;
		file_run_waits(mount, file);
	}
}
