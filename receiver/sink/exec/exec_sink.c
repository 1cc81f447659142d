/* SPDX-License-Identifier: MIT */
#include "receiver/sink/exec/exec_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crash.h"
#include "receiver/base/text.h"
#include "receiver/sink/exec/internal.h"
#include "receiver/sink/render.h"

/* The rest of a record that takes longer becomes a record of its own. */
#define CARRIED_NS (UINT64_C(300) * K2I_SECOND_NS)

struct exec_thread {
	struct k2i_render render;
	struct k2i_plugin_block *block; /* of the target that is rendered */
	bool deferred;
	int64_t unify_second; /* the second that unify_path is for */
	char unify_path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
};

/* Threads --------------------------------------------------------------------------------------------------------- */

static int rendered_put(void *argument, const char *bytes, size_t byte_count)
{
	struct exec_thread *thread = argument;

	return k2i_plugin_block_put(&thread->block, bytes, byte_count);
}

static int thread_open(struct k2i_sink *sink, void **thread)
{
	struct k2i_exec_sink *exec = k2i_exec_sink(sink);
	struct exec_thread *opened = calloc(1, sizeof(*opened));

	*thread = opened;
	if (!opened)
		return -ENOMEM;
	opened->unify_second = -1;
	opened->render = (struct k2i_render){.format = exec->format,
					     .plain = k2i_format_plain(exec->format),
					     .unify = exec->settings->unify_file != NULL,
					     .put = rendered_put,
					     .argument = opened};
	if (!opened->render.plain)
		opened->render.carry = exec->carry;
	return 0;
}

static void thread_close(struct k2i_sink *sink, void *thread)
{
	struct exec_thread *opened = thread;

	(void)sink;
	k2i_render_free(&opened->render);
	free(opened);
}

/* Groups ---------------------------------------------------------------------------------------------------------- */

static int unify_update(struct k2i_exec_sink *exec, struct exec_thread *thread)
{
	int64_t second = (int64_t)(k2i_clock_ns(CLOCK_REALTIME) / K2I_SECOND_NS);

	if (second == thread->unify_second)
		return 0;
	if (k2i_outputs_unify(exec->outputs, exec->settings->unify_file, thread->unify_path))
		return -EINVAL;
	thread->unify_second = second;
	return 0;
}

static int stream_place(const struct k2i_group *group, const struct k2i_stream *stream, struct k2i_target **target)
{
	struct k2i_exec_sink *exec = k2i_exec_sink(group->sink);
	struct exec_thread *thread = group->thread;
	bool unify = exec->settings->unify_file != NULL;
	int error = unify && group->entry_count == 0 ? unify_update(exec, thread) : 0;

	return error ? error : k2i_exec_target_get(exec, unify ? thread->unify_path : stream->path, target);
}

static void target_release(struct k2i_sink *sink, struct k2i_target *target)
{
	(void)sink;
	k2i_exec_target_put(target);
}

static int target_compare(const void *left, const void *right)
{
	uint64_t left_number = ((const struct k2i_group_target *)left)->target->number;
	uint64_t right_number = ((const struct k2i_group_target *)right)->target->number;

	return left_number < right_number ? -1 : left_number > right_number;
}

/* Whether a file can be opened is found out before its plug-in has records that nothing would take. */
static int target_prepare(struct k2i_group *group, struct k2i_group_target *place)
{
	const struct k2i_exec_sink *exec = k2i_exec_sink(group->sink);
	struct k2i_target *target = place->target;
	int descriptor;

	target->writer_before = target->open_writer;
	if (target->usable)
		return 0;
	descriptor = k2i_output_lend(exec->outputs, target->path);
	if (descriptor >= 0) {
		target->usable = true;
		(void)close(descriptor);
		return 0;
	}
	place->stall_error = descriptor;
	if (!exec->settings->unify_file && k2i_output_error_own(descriptor)) {
		place->error = descriptor;
		return 0;
	}
	group->failed = target->path;
	return descriptor;
}

static int group_begin(struct k2i_group *group, bool deferred)
{
	struct exec_thread *thread = group->thread;
	int error = 0;
	uint32_t i;

	/* Files of beginnings stay until the ledger has what ended them. */
	thread->render.changes.deferred = thread->deferred = deferred;
	thread->render.terminated_records = thread->render.split_records = 0;
	if (group->target_count > 1)
		qsort(group->targets, group->target_count, sizeof(group->targets[0]), target_compare);
	for (i = 0; i < group->target_count; i++)
		(void)pthread_mutex_lock(&group->targets[i].target->mutex);
	for (i = 0; i < group->target_count && !error; i++)
		error = target_prepare(group, &group->targets[i]);
	return error;
}

/* A block for a target, which stays NULL if nothing is to be read. */
static int target_render(struct k2i_group *group, const struct k2i_group_target *place, uint64_t handed)
{
	struct exec_thread *thread = group->thread;
	struct k2i_target *target = place->target;
	const struct k2i_group_entry *entry;
	uint32_t index = place->first;
	bool binary = false;
	int error = 0;

	thread->block = NULL;
	k2i_render_begin(&thread->render);
	do {
		entry = &group->entries[index];
		binary |= thread->render.plain && entry->stream->mode == K2HFT_STREAM_BINARY;
		if (entry->position >= handed)
			error = k2i_render_chunk(&thread->render, entry, &target->open_writer);
		index = entry->next;
	} while (!error && index);
	if (!error)
		error = k2i_render_flush(&thread->render);
	target->block = thread->block;
	if (target->block)
		target->block->binary = binary;
	return error;
}

/* K2I_SINK_WAITS: one of them is full. */
static int targets_await(struct k2i_group *group, const struct k2i_sink_report *report)
{
	for (uint32_t i = 0; i < group->target_count; i++) {
		if (group->targets[i].error || !k2i_exec_target_full(group->targets[i].target))
			continue;
		k2i_exec_target_await(group->targets[i].target, report->owner);
		return K2I_SINK_WAITS;
	}
	return 0;
}

static void blocks_push(struct k2i_group *group, struct k2i_pending_group *pending)
{
	struct k2i_exec_sink *exec = k2i_exec_sink(group->sink);
	struct k2i_target *target;

	for (uint32_t i = 0; i < group->target_count; i++) {
		target = group->targets[i].target;
		if (!target->block)
			continue;
		target->block->owner = pending;
		atomic_fetch_add(&exec->waiting_bytes, target->block->bytes);
		k2i_plugin_push(target->plugin, target->block);
		target->block = NULL;
	}
	K2I_CRASH(exec_pushed);
}

static int group_store(struct k2i_group *group, struct k2i_sink_report *report)
{
	struct k2i_exec_sink *exec = k2i_exec_sink(group->sink);
	uint64_t handed = k2i_pending_taken(&exec->pending, report->ring);
	struct k2i_pending_group *pending;
	unsigned blocks = 0;
	int result = targets_await(group, report);
	uint32_t i;

	for (i = 0; i < group->target_count && !result; i++) {
		if (group->targets[i].error)
			continue;
		result = target_render(group, &group->targets[i], handed);
		blocks += group->targets[i].target->block != NULL;
	}
	if (!result)
		result = k2i_pending_begin(&exec->pending, report, blocks, 0, &pending);
	if (!result) {
		blocks_push(group, pending);
		k2i_pending_done(&exec->pending, pending, 0);
	}
	for (i = 0; i < group->target_count; i++) {
		k2i_plugin_block_free(group->targets[i].target->block);
		group->targets[i].target->block = NULL;
	}
	return result;
}

static void group_end(struct k2i_group *group, bool kept)
{
	struct k2i_exec_sink *exec = k2i_exec_sink(group->sink);
	struct exec_thread *thread = group->thread;
	struct k2i_target *target;

	k2i_carry_settle(exec->carry, &thread->render.changes, kept);
	for (uint32_t i = 0; i < group->target_count; i++) {
		target = group->targets[i].target;
		if (!kept)
			target->open_writer = target->writer_before;
		(void)pthread_mutex_unlock(&target->mutex);
	}
	if (!kept)
		return;
	k2i_count(&exec->counters->terminated_records, thread->render.terminated_records);
	k2i_count(&exec->counters->split_records, thread->render.split_records);
}

/* Beginnings whose rest does not come ----------------------------------------------------------------------------- */

/* Hands one to its plug-in, whose target is locked, as a group of the receiver's own ring. 1: there is none any more. */
static int carried_hand(struct k2i_exec_sink *exec, struct k2i_target *target, uint64_t since_ns, const char *path)
{
	struct exec_thread *thread = exec->thread;
	const uint8_t *own = k2i_ledger_uuid(exec->ledger);
	struct k2i_carried *record = k2i_carry_expired(exec->carry, since_ns, path);
	uint64_t position = k2i_pending_own(&exec->pending);
	struct k2i_pending_group *pending = NULL;
	int error;

	if (!record)
		return 1;
	thread->block = NULL;
	error = k2i_carry_finish(exec->carry, record, own, position);
	if (!error)
		error = k2i_render_carried(&thread->render, record, NULL, 0);
	if (!error)
		error = k2i_render_flush(&thread->render);
	if (!error)
		error = k2i_pending_begin(&exec->pending, NULL, thread->block != NULL, 0, &pending);
	if (!error && thread->block) {
		thread->block->owner = pending;
		atomic_fetch_add(&exec->waiting_bytes, thread->block->bytes);
		k2i_plugin_push(target->plugin, thread->block);
		thread->block = NULL;
	}
	k2i_plugin_block_free(thread->block);
	k2i_carry_settle_expired(exec->carry, record, !error);
	if (!error)
		k2i_pending_done(&exec->pending, pending, 0);
	return error;
}

static int carried_expire_one(struct k2i_exec_sink *exec, uint64_t since_ns, const char *path)
{
	const char *unify_file = exec->settings->unify_file;
	char unified[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	struct k2i_target *target;
	int error = exec->thread ? 0 : thread_open(&exec->sink, &exec->thread);

	if (!error && unify_file && k2i_outputs_unify(exec->outputs, unify_file, unified))
		error = -EINVAL;
	if (!error)
		error = k2i_exec_target_get(exec, unify_file ? unified : path, &target);
	if (error)
		return error;
	(void)pthread_mutex_lock(&target->mutex);
	error = k2i_exec_target_full(target) ? 1 : carried_hand(exec, target, since_ns, path);
	(void)pthread_mutex_unlock(&target->mutex);
	k2i_exec_target_put(target);
	return error;
}

static void carried_expire(struct k2i_exec_sink *exec, uint64_t now_ns)
{
	const uint64_t wait_ns = k2i_format_plain(exec->format) ? 0 : CARRIED_NS;
	const uint64_t since_ns = now_ns > wait_ns ? now_ns - wait_ns : 0;
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	struct k2i_carried *record;
	int error = 0;

	while (!error && (record = k2i_carry_expired(exec->carry, since_ns, NULL)) != NULL) {
		(void)snprintf(path, sizeof(path), "%s", record->origin.path);
		k2i_carry_unlock(exec->carry);
		error = carried_expire_one(exec, since_ns, path);
		if (!error)
			k2i_count(&exec->counters->split_records, 1);
	}
	if (error < 0)
		k2i_log_limited(&exec->carry_limit, now_ns, K2HFT_LOG_ERROR,
				"output: the begin of a record of %s, whose rest has not come, can't be handed to its "
				"plug-in: %s; it is tried again",
				path, k2i_text_error(error));
}

/* Start and others threads ---------------------------------------------------------------------------------------- */

/* FILE_UNIFY's process begins with the receiver. */
static void exec_start(struct k2i_sink *sink)
{
	struct k2i_exec_sink *exec = k2i_exec_sink(sink);
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	struct k2i_target *target;

	if (exec->carry)
		k2i_carry_load(exec->carry);
	if (!exec->settings->unify_file || k2i_outputs_unify(exec->outputs, exec->settings->unify_file, path) ||
	    k2i_exec_target_get(exec, path, &target))
		return;
	k2i_plugin_begin(target->plugin);
	k2i_exec_target_put(target);
}

static int exec_sync(struct k2i_sink *sink)
{
	struct k2i_exec_sink *exec = k2i_exec_sink(sink);
	int error = k2i_outputs_sync(exec->outputs);

	return error || !exec->carry ? error : k2i_carry_sync(exec->carry);
}

static void exec_reload(struct k2i_sink *sink)
{
	k2i_log(K2HFT_LOG_INFO, "receiver: SIGHUP: plug-ins get the end of their input, and others begin");
	k2i_exec_targets_rest(k2i_exec_sink(sink));
}

static int exec_prepare(struct k2i_sink *sink, const struct k2i_settings *settings, char *message, size_t message_room)
{
	return k2i_plugin_command_parse(settings->plugin, &k2i_exec_sink(sink)->next, message, message_room);
}

/* Behind it, `reload` has all processes end. */
static void exec_change(struct k2i_sink *sink, bool take)
{
	struct k2i_exec_sink *exec = k2i_exec_sink(sink);

	if (take && exec->next)
		k2i_plugins_change(exec->plugins, exec->next);
	else
		k2i_plugin_command_free(exec->next);
	exec->next = NULL;
}

static void exec_tick(struct k2i_sink *sink, uint64_t now_ns)
{
	struct k2i_exec_sink *exec = k2i_exec_sink(sink);
	const char *unify_file = exec->settings->unify_file;
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	bool unified = unify_file && k2i_outputs_unify(exec->outputs, unify_file, path) == 0;

	k2i_outputs_tick(exec->outputs, now_ns);
	k2i_exec_targets_tick(exec, now_ns, unified ? path : NULL);
	k2i_pending_tick(&exec->pending, now_ns);
	if (!exec->carry)
		return;
	carried_expire(exec, now_ns);
	k2i_carry_clean(exec->carry);
}

static void exec_show(struct k2i_sink *sink, struct k2i_report *report, unsigned listed_max,
		      struct k2i_sink_state *state)
{
	k2i_exec_targets_show(k2i_exec_sink(sink), report, listed_max, state);
}

static int exec_close(struct k2i_sink *sink, bool sync)
{
	struct k2i_exec_sink *exec = k2i_exec_sink(sink);
	uint64_t waiting = atomic_load(&exec->waiting_bytes);
	int error;

	if (waiting)
		k2i_log(K2HFT_LOG_WARNING,
			"output: %" PRIu64
			" bytes were not read by their plug-ins, and come again after the start; the "
			"plug-ins may have read a part of them",
			waiting);
	k2i_plugins_stop(exec->plugins);
	error = k2i_outputs_free(exec->outputs, sync);
	if (sync && !error && exec->carry)
		error = k2i_carry_sync(exec->carry);
	if (exec->thread)
		thread_close(sink, exec->thread);
	k2i_carry_free(exec->carry);
	k2i_pending_end(&exec->pending, sync);
	k2i_table_free(&exec->targets);
	k2i_plugin_command_free(exec->command);
	free(exec->waiters);
	(void)pthread_mutex_destroy(&exec->mutex);
	free(exec);
	return error;
}

/* Its output is not known by positions, so the rest is the caller's to name. */
static void exec_settled(struct k2i_sink *sink, const struct k2i_ledger_ring *row)
{
	struct k2i_exec_sink *exec = k2i_exec_sink(sink);

	k2i_pending_settled(&exec->pending, row);
	if (exec->carry)
		k2i_carry_settled(exec->carry, row->uuid);
}

static const struct k2i_sink_ops exec_ops = {
	.traits = K2I_SINK_LATER,
	.thread_open = thread_open,
	.thread_close = thread_close,
	.place = stream_place,
	.release = target_release,
	.begin = group_begin,
	.store = group_store,
	.end = group_end,
	.settled = exec_settled,
	.start = exec_start,
	.sync = exec_sync,
	.reload = exec_reload,
	.prepare = exec_prepare,
	.change = exec_change,
	.tick = exec_tick,
	.show = exec_show,
	.close = exec_close,
};

/* Opening --------------------------------------------------------------------------------------------------------- */

static int command_failed(const struct k2i_settings *settings, const char *message)
{
	char at[PATH_MAX + 16];

	k2i_log(K2HFT_LOG_ERROR, "output: %s: PLUGIN = %s: %s",
		k2i_settings_place(settings, K2I_SECTION_K2HFTFUSESVR, "PLUGIN", at, sizeof(at)), settings->plugin,
		message);
	return -EINVAL;
}

static int parts_open(struct k2i_exec_sink *exec, const struct k2i_sink_options *options)
{
	char message[512] = "no memory";
	int error = k2i_plugin_command_parse(options->settings->plugin, &exec->command, message, sizeof(message));

	if (!error)
		error = k2i_exec_plugins_start(exec);
	if (error)
		return command_failed(options->settings, message);
	error = k2i_outputs_open(options, &exec->outputs);
	if (!error && options->state_directory)
		error = k2i_carry_open(options->state_directory, &exec->sink, options->ledger,
				       !k2i_format_plain(options->format), &exec->carry);
	return error;
}

int k2i_exec_sink_open(const struct k2i_sink_options *options, struct k2i_sink **sink)
{
	struct k2i_exec_sink *exec = calloc(1, sizeof(*exec));
	int error;

	if (!exec)
		return k2i_outputs_failed(options->settings, "use", -ENOMEM);
	exec->sink.ops = &exec_ops;
	exec->settings = options->settings;
	exec->format = options->format;
	exec->ledger = options->ledger;
	exec->counters = options->counters;
	exec->targets_max = options->targets_max / 3;
	(void)pthread_mutex_init(&exec->mutex, NULL);
	k2i_pending_start(&exec->pending, &exec->sink, options->ledger);
	error = parts_open(exec, options);
	if (error)
		(void)exec_close(&exec->sink, false);
	else
		*sink = &exec->sink;
	return error;
}
