/* SPDX-License-Identifier: MIT */
#include "receiver/sink/remote/remote.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "receiver/base/directory.h"
#include "receiver/base/text.h"
#include "receiver/sink/remote/internal.h"

/* The rest of a record that takes longer becomes a record of its own. */
#define CARRIED_NS (UINT64_C(300) * K2I_SECOND_NS)

struct remote_thread {
	struct k2i_render render;
	struct k2i_remote_piece *first, **last; /* of the group that is stored */
	unsigned count;
	uint64_t bytes;
	/* The next piece's. */
	const uint8_t *ring;
	uint64_t position;
};

static struct k2i_remote *remote_of(struct k2i_sink *sink)
{
	return (struct k2i_remote *)(void *)sink;
}

/* Pieces ---------------------------------------------------------------------------------------------------------- */

static uint32_t records_count(const char *records, size_t bytes)
{
	const char *end = records + bytes;
	uint32_t count = 0;

	while (records < end && (records = memchr(records, '\n', (size_t)(end - records))) != NULL) {
		records++;
		count++;
	}
	return count;
}

static int records_take(void *argument, const struct k2i_format_origin *origin, bool binary, const char *records,
			size_t bytes)
{
	struct remote_thread *thread = argument;
	size_t path_room = strlen(origin->path) + 1, host_room = strlen(origin->host) + 1;
	size_t room = sizeof(struct k2i_remote_piece) + bytes + path_room + host_room;
	struct k2i_remote_piece *piece = malloc(room);

	if (!piece)
		return -ENOMEM;
	*piece = (struct k2i_remote_piece){.position = thread->position++,
					   .origin = *origin,
					   .binary = binary,
					   .record_count = binary ? 1 : records_count(records, bytes),
					   .taken_ns = k2i_clock_now_ns(),
					   .bytes = bytes,
					   .room = room};
	memcpy(piece->ring, thread->ring, sizeof(piece->ring));
	memcpy(piece->records, records, bytes);
	piece->origin.path = memcpy(piece->records + bytes, origin->path, path_room);
	piece->origin.host = memcpy(piece->records + bytes + path_room, origin->host, host_room);
	*thread->last = piece;
	thread->last = &piece->next;
	thread->count++;
	thread->bytes += room;
	return 0;
}

static void pieces_forget(struct remote_thread *thread)
{
	struct k2i_remote_piece *piece;

	while ((piece = thread->first) != NULL) {
		thread->first = piece->next;
		free(piece);
	}
	thread->last = &thread->first;
	thread->count = 0;
	thread->bytes = 0;
}

/* The pieces of a thread become a group. -ENOMEM */
static int pieces_hand(struct k2i_remote *remote, struct remote_thread *thread, struct k2i_sink_report *report)
{
	struct k2i_pending_group *pending;
	int error = k2i_pending_begin(&remote->pending, report, thread->count, thread->bytes, &pending);

	if (error)
		return error;
	for (struct k2i_remote_piece *piece = thread->first; piece; piece = piece->next)
		piece->group = pending;
	k2i_remote_queue_push(remote, thread->first);
	thread->first = NULL;
	pieces_forget(thread);
	k2i_pending_done(&remote->pending, pending, 0);
	return 0;
}

/* Threads --------------------------------------------------------------------------------------------------------- */

static int thread_open(struct k2i_sink *sink, void **thread)
{
	struct remote_thread *opened = calloc(1, sizeof(*opened));

	*thread = opened;
	if (!opened)
		return -ENOMEM;
	opened->render = (struct k2i_render){.take = records_take, .argument = opened, .carry = remote_of(sink)->carry};
	opened->last = &opened->first;
	return 0;
}

static void thread_close(struct k2i_sink *sink, void *thread)
{
	struct remote_thread *opened = thread;

	(void)sink;
	k2i_render_free(&opened->render);
	free(opened);
}

/* Groups ---------------------------------------------------------------------------------------------------------- */

static int group_begin(struct k2i_group *group, bool deferred)
{
	struct remote_thread *thread = group->thread;

	thread->render.changes.deferred = deferred;
	thread->render.split_records = 0;
	return 0;
}

static int group_render(struct k2i_remote *remote, struct k2i_group *group)
{
	struct remote_thread *thread = group->thread;
	uint64_t taken = k2i_pending_taken(&remote->pending, thread->ring), open_writer = 0;
	const struct k2i_group_entry *entry = group->entries;
	int error = 0;

	for (; entry < group->entries + group->entry_count && !error; entry++) {
		thread->position = entry->position;
		if (entry->position >= taken)
			error = k2i_render_chunk(&thread->render, entry, &open_writer);
	}
	return error;
}

static int group_store(struct k2i_group *group, struct k2i_sink_report *report)
{
	struct k2i_remote *remote = remote_of(group->sink);
	struct remote_thread *thread = group->thread;
	int error;

	if (k2i_pending_full(&remote->pending, report->ring, &report->owner))
		return K2I_SINK_WAITS;
	thread->ring = report->ring;
	error = group_render(remote, group);
	if (!error)
		error = pieces_hand(remote, thread, report);
	pieces_forget(thread);
	return error;
}

static void group_end(struct k2i_group *group, bool kept)
{
	struct k2i_remote *remote = remote_of(group->sink);
	struct remote_thread *thread = group->thread;

	if (remote->carry)
		k2i_carry_settle(remote->carry, &thread->render.changes, kept);
	if (kept)
		k2i_count(&remote->counters->split_records, thread->render.split_records);
}

/* Beginnings whose rest does not come ----------------------------------------------------------------------------- */

/* As a group of the receiver's own ring. */
static int carried_hand(struct k2i_remote *remote, struct k2i_carried *record)
{
	struct remote_thread *thread = remote->thread;
	int error;

	thread->ring = k2i_ledger_uuid(remote->ledger);
	thread->position = k2i_pending_own(&remote->pending);
	error = k2i_carry_finish(remote->carry, record, thread->ring, thread->position);
	if (!error)
		error = k2i_render_carried(&thread->render, record, NULL, 0);
	if (!error)
		error = pieces_hand(remote, thread, NULL);
	pieces_forget(thread);
	return error;
}

static void carried_expire(struct k2i_remote *remote, uint64_t now_ns)
{
	const uint64_t since_ns = now_ns > CARRIED_NS ? now_ns - CARRIED_NS : 0;
	struct k2i_carried *record;
	int error = remote->thread ? 0 : thread_open(&remote->sink, &remote->thread);

	while (!error && !k2i_pending_full(&remote->pending, k2i_ledger_uuid(remote->ledger), NULL) &&
	       (record = k2i_carry_expired(remote->carry, since_ns, NULL)) != NULL) {
		error = carried_hand(remote, record);
		k2i_carry_settle_expired(remote->carry, record, !error);
		k2i_count(&remote->counters->split_records, !error);
	}
	if (error)
		k2i_log_limited(&remote->limit, now_ns, K2HFT_LOG_ERROR,
				"%s: the begin of a record, whose rest has not come, can't be delivered: %s; it is "
				"tried again",
				remote->kind.name, k2i_text_error(error));
}

/* Start and other threads ----------------------------------------------------------------------------------------- */

static void remote_start(struct k2i_sink *sink)
{
	struct k2i_remote *remote = remote_of(sink);

	if (remote->carry)
		k2i_carry_load(remote->carry);
}

static void remote_settled(struct k2i_sink *sink, const struct k2i_ledger_ring *row)
{
	struct k2i_remote *remote = remote_of(sink);

	k2i_pending_settled(&remote->pending, row);
	if (remote->carry)
		k2i_carry_settled(remote->carry, row->uuid);
}

static int remote_sync(struct k2i_sink *sink)
{
	const struct k2i_remote *remote = remote_of(sink);

	return remote->carry ? k2i_carry_sync(remote->carry) : 0;
}

static void remote_reload(struct k2i_sink *sink)
{
	atomic_store(&remote_of(sink)->renew, true);
}

static void remote_tick(struct k2i_sink *sink, uint64_t now_ns)
{
	struct k2i_remote *remote = remote_of(sink);

	k2i_remote_queue_tick(remote, now_ns);
	k2i_pending_tick(&remote->pending, now_ns);
	if (!remote->carry)
		return;
	carried_expire(remote, now_ns);
	k2i_carry_clean(remote->carry);
}

static void remote_show(struct k2i_sink *sink, struct k2i_report *report, unsigned listed_max,
			struct k2i_sink_state *state)
{
	(void)listed_max;
	k2i_remote_queue_show(remote_of(sink), report, k2i_clock_now_ns(), state);
}

static int remote_close(struct k2i_sink *sink, bool sync)
{
	struct k2i_remote *remote = remote_of(sink);
	int error;

	k2i_remote_queue_end(remote);
	k2i_pending_end(&remote->pending, sync);
	error = sync && remote->carry ? k2i_carry_sync(remote->carry) : 0;
	if (remote->thread)
		thread_close(sink, remote->thread);
	k2i_carry_free(remote->carry);
	remote->kind.free(remote->kind.argument);
	free(remote);
	return error;
}

static const struct k2i_sink_ops remote_ops = {
	.traits = K2I_SINK_LATER,
	.thread_open = thread_open,
	.thread_close = thread_close,
	.begin = group_begin,
	.store = group_store,
	.end = group_end,
	.settled = remote_settled,
	.start = remote_start,
	.sync = remote_sync,
	.reload = remote_reload,
	.tick = remote_tick,
	.show = remote_show,
	.close = remote_close,
};

/* Opening --------------------------------------------------------------------------------------------------------- */

/* Each sink has a folder of its own for the beginnings of records. */
static int carry_open(struct k2i_remote *remote, const struct k2i_sink_options *options)
{
	char directory[PATH_MAX];
	int error;

	(void)snprintf(directory, sizeof(directory), "%s/%s", options->state_directory, remote->kind.name);
	error = k2i_directory_make(directory, K2I_DIRECTORY_PRIVATE);
	return error < 0 ? error : k2i_carry_open(directory, &remote->sink, options->ledger, true, &remote->carry);
}

int k2i_remote_open(const struct k2i_remote_kind *kind, const struct k2i_sink_options *options, struct k2i_sink **sink)
{
	struct k2i_remote *remote = calloc(1, sizeof(*remote));
	int error = remote ? 0 : -ENOMEM;

	if (remote) {
		remote->sink.ops = &remote_ops;
		remote->kind = *kind;
		remote->ledger = options->ledger;
		remote->counters = options->counters;
		remote->quarantine = options->quarantine;
		remote->quarantine_argument = options->quarantine_argument;
		k2i_pending_start(&remote->pending, &remote->sink, options->ledger);
		remote->pending.room.bytes_max = options->settings->buffer_bytes;
		error = k2i_remote_queue_start(remote);
	}
	if (!error && options->state_directory)
		error = carry_open(remote, options);
	if (!error) {
		*sink = &remote->sink;
		return 0;
	}
	k2i_log(K2HFT_LOG_ERROR, "%s: can't start: %s", kind->name, k2i_text_error(error));
	if (remote)
		(void)remote_close(&remote->sink, false);
	else
		kind->free(kind->argument);
	return error;
}
