/* SPDX-License-Identifier: MIT */
#include "receiver/sink/file/file_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "receiver/base/text.h"
#include "receiver/sink/file/file_rules.h"
#include "receiver/sink/file/internal.h"
#include "receiver/sink/file/write.h"
#include "receiver/sink/rotation/rotation.h"

/* The rest of a record that takes longer becomes a record of its own. */
#define CARRIED_NS (UINT64_C(300) * K2I_SECOND_NS)

/* Records that the receiver ended itself, whose place in a file it knows. */
#define OWN_RANGES_MAX 64u

struct file_sink {
	struct k2i_sink sink;
	struct k2i_outputs *outputs;
	struct k2i_file_rules_place rules;
	struct k2i_rotation *rotation; /* NULL: none */
	struct k2i_carry *carry;       /* NULL: the receiver has no state */
	void *thread;                  /* for the beginnings whose rest has not come */
	struct k2i_log_limit carry_limit;
};

struct file_thread {
	struct k2i_output_writer writer;
	struct k2i_file_rules *rules;
	struct k2i_log_limit stale_limit; /* while a sender is held it is tried again and again */
	int64_t unify_second;             /* the second that unify_path is for */
	char unify_path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
};

static struct file_sink *file_sink(struct k2i_sink *sink)
{
	return (struct file_sink *)(void *)sink;
}

/* Groups ---------------------------------------------------------------------------------------------------------- */

/* A thread goes by the rules of now from here on. -ENOMEM: by those of before. */
static int thread_take_rules(struct file_sink *file, struct file_thread *thread)
{
	struct k2i_file_rules *rules = k2i_file_rules_get(&file->rules);
	struct k2i_output_writer writer;
	int error = k2i_output_writer_start(&writer, rules->format, rules->unify_file != NULL, &rules->store);

	if (error) {
		k2i_file_rules_put(rules);
		return error;
	}
	k2i_output_writer_free(&thread->writer);
	k2i_file_rules_put(thread->rules);
	thread->rules = rules;
	thread->writer = writer;
	thread->writer.render.argument = &thread->writer;
	thread->writer.render.carry = file->carry;
	thread->unify_second = -1;
	return 0;
}

static int thread_open(struct k2i_sink *sink, void **thread)
{
	struct file_thread *opened = calloc(1, sizeof(*opened));

	*thread = opened;
	return opened ? thread_take_rules(file_sink(sink), opened) : -ENOMEM;
}

static void thread_close(struct k2i_sink *sink, void *thread)
{
	struct file_thread *opened = thread;

	(void)sink;
	k2i_output_writer_free(&opened->writer);
	k2i_file_rules_put(opened->rules);
	free(opened);
}

static int unify_update(struct file_sink *file, struct file_thread *thread)
{
	int64_t second = (int64_t)(k2i_clock_ns(CLOCK_REALTIME) / K2I_SECOND_NS);

	if (second == thread->unify_second)
		return 0;
	if (k2i_outputs_unify(file->outputs, thread->rules->unify_file, thread->unify_path))
		return -EINVAL;
	thread->unify_second = second;
	return 0;
}

static int stream_place(const struct k2i_group *group, const struct k2i_stream *stream, struct k2i_target **target)
{
	struct file_sink *file = file_sink(group->sink);
	struct file_thread *thread = group->thread;
	struct k2i_output_file *output;
	int error = 0;

	/* Without memory for others the group goes by those of before, and the next tries again. */
	if (group->entry_count == 0 && file->rules.now != thread->rules)
		(void)thread_take_rules(file, thread);
	/* A single name for a whole group, so that it rolls over between groups. */
	if (thread->rules->unify_file && group->entry_count == 0)
		error = unify_update(file, thread);
	if (!error)
		error = k2i_output_acquire(file->outputs, thread->rules->unify_file ? thread->unify_path : stream->path,
					   &output);
	if (!error)
		*target = (struct k2i_target *)(void *)output;
	return error;
}

static void target_release(struct k2i_sink *sink, struct k2i_target *target)
{
	k2i_output_release(file_sink(sink)->outputs, k2i_output_of(target));
}

static int target_compare(const void *left, const void *right)
{
	uint64_t left_number = k2i_output_of(((const struct k2i_group_target *)left)->target)->number;
	uint64_t right_number = k2i_output_of(((const struct k2i_group_target *)right)->target)->number;

	return left_number < right_number ? -1 : left_number > right_number;
}

/* The same order for everybody, so that two groups with the same files can't wait for each other. */
static void group_lock(struct k2i_group *group)
{
	uint32_t i;

	/* The streams' indexes are wrong then; nothing is added to a group that is being committed. */
	if (group->target_count > 1)
		qsort(group->targets, group->target_count, sizeof(group->targets[0]), target_compare);
	for (i = 0; i < group->target_count; i++)
		k2i_output_lock(k2i_output_of(group->targets[i].target));
}

/* Makes a file ready, with what is wrong with itself in `error`; 1: as targets_prepare. */
static int target_prepare(struct k2i_group *group, struct k2i_group_target *target, bool deferred)
{
	const struct file_sink *file = file_sink(group->sink);
	const struct file_thread *thread = group->thread;
	struct k2i_output_file *output = k2i_output_of(target->target);
	int result = 0, error = k2i_output_prepare(file->outputs, output);

	/* A unified file is not one sender's choice: whatever is wrong with it concerns everybody. */
	if (error && !thread->rules->unify_file && k2i_output_error_own(error)) {
		target->error = error;
	} else if (error) {
		group->failed = output->path;
		result = error;
	} else {
		result = k2i_output_tell(file->outputs, output, deferred);
		if (result < 0)
			group->failed = K2I_GROUP_LEDGER;
	}
	target->stall_error = result < 0 ? result : error;
	output->length_before = output->length;
	output->writer_before = output->open_writer;
	return result;
}

/* 1: the ledger has to be synced before anything is written. */
static int targets_prepare(struct k2i_group *group, bool deferred)
{
	int result, all = 0;
	uint32_t i;

	for (i = 0; i < group->target_count; i++) {
		result = target_prepare(group, &group->targets[i], deferred);
		if (result < 0)
			return result;
		all |= result;
	}
	return all;
}

/* A single sync for all files, so that no byte gets to the disk that the ledger does not know there. */
static int group_begin(struct k2i_group *group, bool deferred)
{
	const struct file_sink *file = file_sink(group->sink);
	struct file_thread *thread = group->thread;
	int error;
	uint32_t i;

	thread->writer.render.changes.deferred = deferred;
	group_lock(group);
	error = targets_prepare(group, deferred);
	if (error > 0) {
		error = k2i_ledger_sync(file->outputs->ledger);
		if (error)
			group->failed = K2I_GROUP_LEDGER;
	}
	for (i = 0; error && i < group->target_count; i++)
		k2i_output_of(group->targets[i].target)->ledger_state = K2I_OUTPUT_LEDGER_UNKNOWN;
	return error;
}

static int target_undo(const struct k2i_group *group, const struct k2i_group_target *target)
{
	struct k2i_output_file *output = k2i_output_of(target->target);
	struct file_thread *thread = group->thread;
	int error = k2i_output_cut(output, output->length_before, output->writer_before);

	if (error)
		k2i_log_limited(&thread->stale_limit, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
				"output: %s can't be cut back to %" PRIu64
				" bytes (%s); that is tried again before anything else is written to it",
				output->path, output->length_before, k2i_text_error(error));
	return error;
}

/* Files 0 .. target_count - 1 were written. */
static void targets_undo(const struct k2i_group *group, uint32_t target_count)
{
	const struct k2i_group_target *target;

	for (target = group->targets; target < group->targets + target_count; target++) {
		if (!target->error)
			(void)target_undo(group, target);
	}
}

static void group_undo(struct k2i_group *group)
{
	targets_undo(group, group->target_count);
}

/* A file that is as long as it can be is at fault itself, and to open it anew would not tell. */
static int target_store(struct k2i_group *group, struct k2i_group_target *target)
{
	struct file_sink *file = file_sink(group->sink);
	struct file_thread *thread = group->thread;
	size_t changes = thread->writer.render.changes.count;
	int error = k2i_output_write(&thread->writer, file->outputs, group, target);

	if (!error)
		return 0;
	k2i_carry_undo(file->carry, &thread->writer.render.changes, changes);
	target->stall_error = error;
	if (target_undo(group, target) == 0 && error == -EFBIG && !thread->rules->unify_file) {
		target->error = error;
		return 0;
	}
	if (k2i_output_error_own(error))
		k2i_output_refused(file->outputs, k2i_output_of(target->target));
	return error;
}

static int group_store(struct k2i_group *group, struct k2i_sink_report *report)
{
	struct file_thread *thread = group->thread;
	uint32_t i;
	int error = 0;

	(void)report;
	thread->writer.render.terminated_records = thread->writer.render.split_records = 0;
	for (i = 0; i < group->target_count && !error; i++) {
		if (group->targets[i].error)
			continue;
		error = target_store(group, &group->targets[i]);
		if (error) {
			group->failed = k2i_output_of(group->targets[i].target)->path;
			targets_undo(group, i);
		}
	}
	return error;
}

static size_t group_marks(const struct k2i_group *group, struct k2i_ledger_file marks[K2I_LEDGER_FILES_MAX])
{
	const struct k2i_output_file *output;
	size_t count = 0;
	uint32_t i;

	for (i = 0; i < group->target_count; i++) {
		output = k2i_output_of(group->targets[i].target);
		if (group->targets[i].error || k2i_output_device(output->path))
			continue;
		marks[count++] = (struct k2i_ledger_file){.birth = output->birth,
							  .inode = output->inode,
							  .length = output->reached,
							  .open_writer = output->open_writer,
							  .bytes = output->length - output->length_before,
							  .records = group->targets[i].record_count};
	}
	return count;
}

static void group_end(struct k2i_group *group, bool kept)
{
	struct file_sink *file = file_sink(group->sink);
	struct file_thread *thread = group->thread;
	struct k2i_output_file *output;
	uint32_t i;

	k2i_carry_settle(file->carry, &thread->writer.render.changes, kept);
	for (i = 0; i < group->target_count; i++) {
		output = k2i_output_of(group->targets[i].target);
		output->error = group->targets[i].stall_error;
		k2i_output_unlock(output);
	}
	if (!kept)
		return;
	k2i_count(&file->outputs->counters->terminated_records, thread->writer.render.terminated_records);
	k2i_count(&file->outputs->counters->split_records, thread->writer.render.split_records);
}

/* Settlement ------------------------------------------------------------------------------------------------------ */

static int file_settle(struct k2i_sink *sink, struct k2i_settling *settling)
{
	return k2i_outputs_settle(file_sink(sink)->outputs, file_sink(sink)->carry, settling);
}

static void file_settled(struct k2i_sink *sink, const struct k2i_ledger_ring *row)
{
	if (file_sink(sink)->carry)
		k2i_carry_settled(file_sink(sink)->carry, row->uuid);
}

/* Start ----------------------------------------------------------------------------------------------------------- */

static bool file_is_behind(struct k2i_sink *sink, const struct k2i_ledger_file *mark)
{
	return k2i_outputs_short(file_sink(sink)->outputs, mark);
}

static void file_recover(struct k2i_sink *sink, const struct k2i_ledger_file *mark, bool cut)
{
	k2i_outputs_recover(file_sink(sink)->outputs, mark, cut);
}

static bool files_recover_end(struct k2i_sink *sink)
{
	return k2i_outputs_recover_renamed(file_sink(sink)->outputs);
}

/* So that `tail -f` has something to open, and that what is in the way is said at once. */
static void unify_make(struct file_sink *file, const struct k2i_file_rules *rules)
{
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	struct k2i_output_file *output;
	int error;

	if (k2i_outputs_unify(file->outputs, rules->unify_file, path) ||
	    k2i_output_acquire(file->outputs, path, &output))
		return;
	k2i_output_lock(output);
	error = k2i_output_prepare(file->outputs, output);
	k2i_output_unlock(output);
	k2i_output_release(file->outputs, output);
	if (error)
		k2i_log(K2HFT_LOG_ERROR,
			"output: FILE_UNIFY %s can't be written: %s; senders will be held until it can", path,
			k2i_text_error(error));
}

static void file_start(struct k2i_sink *sink)
{
	struct file_sink *file = file_sink(sink);

	k2i_outputs_recovered(file->outputs);
	if (file->carry)
		k2i_carry_load(file->carry);
	if (file->rules.now->unify_file)
		unify_make(file, file->rules.now);
	if (file->rotation && k2i_rotation_start(file->rotation))
		k2i_log(K2HFT_LOG_ERROR,
			"rotation: its thread can't be started: sealed files are neither compressed nor removed");
}

/* Other threads --------------------------------------------------------------------------------------------------- */

static int file_sync(struct k2i_sink *sink)
{
	struct file_sink *file = file_sink(sink);
	int error = k2i_outputs_sync(file->outputs);

	return error || !file->carry ? error : k2i_carry_sync(file->carry);
}

static void file_reload(struct k2i_sink *sink)
{
	k2i_log(K2HFT_LOG_INFO, "receiver: SIGHUP: output files are opened anew");
	k2i_outputs_reopen(file_sink(sink)->outputs);
}

static int file_prepare(struct k2i_sink *sink, const struct k2i_settings *settings, char *message, size_t message_room)
{
	struct file_sink *file = file_sink(sink);
	int error = k2i_file_rules_prepare(&file->rules, settings);

	(void)message;
	(void)message_room;
	if (!error && file->rotation)
		error = k2i_rotation_prepare(file->rotation, settings);
	if (error || !file->carry)
		return error;
	return k2i_carry_make(file->carry, file->outputs->state_directory,
			      !k2i_format_plain(file->rules.prepared->format));
}

static void file_change(struct k2i_sink *sink, bool take)
{
	struct file_sink *file = file_sink(sink);

	if (take)
		k2i_outputs_change(file->outputs, file->rules.prepared->file_mode, &file->rules.prepared->store);
	k2i_file_rules_change(&file->rules, take);
	if (file->rotation)
		k2i_rotation_change(file->rotation, take);
	if (take && file->rules.now->unify_file)
		unify_make(file, file->rules.now);
}

/* In the ledger it is a commit of the receiver's own ring, whose position counts such records. */
static int carried_commit(struct file_sink *file, struct k2i_output_file *output, struct k2i_carried *record)
{
	struct file_thread *thread = file->thread;
	struct k2i_ledger *ledger = file->outputs->ledger;
	struct k2i_ledger_ring row = {.sink = file->sink.number};
	struct k2i_ledger_file mark = {.birth = output->birth, .inode = output->inode, .records = 1};
	uint64_t length = output->length;
	int error;

	memcpy(row.uuid, k2i_ledger_uuid(ledger), sizeof(row.uuid));
	(void)k2i_ledger_find(ledger, row.uuid, row.sink, &row);
	error = k2i_carry_finish(file->carry, record, row.uuid, row.position);
	if (!error)
		error = k2i_output_write_carried(&thread->writer, file->outputs, output, record);
	if (error)
		goto fail;
	row.position++;
	row.flags = K2I_LEDGER_DEFERRED;
	row.proven = row.position > OWN_RANGES_MAX ? row.position - OWN_RANGES_MAX : 0;
	mark.length = output->reached;
	mark.bytes = output->length - length;
	mark.open_writer = output->open_writer;
	error = k2i_ledger_commit(ledger, &row, &mark, !k2i_output_device(output->path));
	if (!error)
		return 0;
fail:
	(void)k2i_output_cut(output, length, output->open_writer);
	return error;
}

/* The output is locked. 1: there is no such beginning any more. */
static int carried_give_up(struct file_sink *file, struct k2i_output_file *output, uint64_t since_ns, const char *path)
{
	struct k2i_carried *record;
	int error = k2i_output_prepare(file->outputs, output);

	if (!error)
		error = k2i_output_tell(file->outputs, output, false);
	if (error > 0)
		error = k2i_ledger_sync(file->outputs->ledger);
	record = k2i_carry_expired(file->carry, since_ns, path);
	if (!record)
		return 1;
	if (!error)
		error = carried_commit(file, output, record);
	k2i_carry_settle_expired(file->carry, record, !error);
	return error;
}

/* The beginnings whose rest does not come, one after the other. */
static void carried_expire(struct file_sink *file, uint64_t now_ns)
{
	/* After a reload the rest comes on the same connection, and finds its beginning. */
	const uint64_t wait_ns = k2i_file_rules_plain_at_start(file->rules.now) ? 0 : CARRIED_NS;
	const uint64_t since_ns = now_ns > wait_ns ? now_ns - wait_ns : 0;
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1], unified[sizeof(path)];
	struct k2i_carried *record;
	struct k2i_output_file *output;
	int error = 0;

	while (!error && (record = k2i_carry_expired(file->carry, since_ns, NULL)) != NULL) {
		(void)snprintf(path, sizeof(path), "%s", record->origin.path);
		k2i_carry_unlock(file->carry);
		if (!file->thread)
			error = thread_open(&file->sink, &file->thread);
		else if (((struct file_thread *)file->thread)->rules != file->rules.now)
			error = thread_take_rules(file, file->thread);
		if (!error && file->rules.now->unify_file &&
		    k2i_outputs_unify(file->outputs, file->rules.now->unify_file, unified))
			error = -EINVAL;
		if (!error)
			error = k2i_output_acquire(file->outputs, file->rules.now->unify_file ? unified : path,
						   &output);
		if (error)
			break;
		k2i_output_lock(output);
		error = carried_give_up(file, output, since_ns, path);
		k2i_output_unlock(output);
		k2i_output_release(file->outputs, output);
		if (!error)
			k2i_count(&file->outputs->counters->split_records, 1);
	}
	if (error < 0)
		k2i_log_limited(
			&file->carry_limit, now_ns, K2HFT_LOG_ERROR,
			"output: the begin of a record of %s, whose rest has not come, can't be written: %s; it is "
			"tried again",
			path, k2i_text_error(error));
}

static void files_rotate(struct file_sink *file)
{
	struct k2i_file_rules *rules = k2i_file_rules_get(&file->rules);
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	bool unified = rules->unify_file && k2i_outputs_unify(file->outputs, rules->unify_file, path) == 0;

	if (unified || !rules->unify_file)
		k2i_outputs_rotate(file->outputs, unified ? path : NULL);
	k2i_file_rules_put(rules);
}

static void file_tick(struct k2i_sink *sink, uint64_t now_ns)
{
	struct file_sink *file = file_sink(sink);

	k2i_outputs_tick(file->outputs, now_ns);
	if (file->rotation)
		files_rotate(file);
	if (!file->carry)
		return;
	carried_expire(file, now_ns);
	k2i_carry_clean(file->carry);
}

struct listing {
	struct k2i_report *report;
	struct k2i_sink_state *state;
	unsigned count, count_max;
};

static void output_show(void *argument, const struct k2i_output_shown *shown)
{
	struct listing *listing = argument;
	struct k2i_report *report = listing->report;
	const char *held = shown->error ? k2i_text_error(shown->error) : "";

	k2i_sink_state_add(listing->state, held, 0, 0);
	if (listing->count++ >= listing->count_max)
		return;
	k2i_report_open(report, NULL, '{');
	k2i_report_text(report, "path", shown->path);
	k2i_report_number(report, "bytes", shown->bytes);
	k2i_report_text(report, "held", held);
	k2i_report_close(report, '}');
}

static void file_show(struct k2i_sink *sink, struct k2i_report *report, unsigned listed_max,
		      struct k2i_sink_state *state)
{
	struct listing listing = {report, state, 0, listed_max};

	state->name = "file";
	k2i_report_open(report, "files", '[');
	k2i_outputs_each(file_sink(sink)->outputs, output_show, &listing);
	k2i_report_close(report, ']');
	if (file_sink(sink)->rotation)
		k2i_report_number(report, "sealed_waiting", k2i_rotation_waiting(file_sink(sink)->rotation));
}

static int file_close(struct k2i_sink *sink, bool sync)
{
	struct file_sink *file = file_sink(sink);
	int error;

	k2i_rotation_close(file->rotation);
	error = k2i_outputs_free(file->outputs, sync);
	if (sync && !error && file->carry)
		error = k2i_carry_sync(file->carry);
	if (file->thread)
		thread_close(sink, file->thread);
	k2i_carry_free(file->carry);
	k2i_file_rules_place_free(&file->rules);
	free(file);
	return error;
}

static const struct k2i_sink_ops file_ops = {
	.traits = K2I_SINK_UNDO,
	.thread_open = thread_open,
	.thread_close = thread_close,
	.place = stream_place,
	.release = target_release,
	.begin = group_begin,
	.store = group_store,
	.end = group_end,
	.marks = group_marks,
	.undo = group_undo,
	.settle = file_settle,
	.settled = file_settled,
	.is_behind = file_is_behind,
	.recover = file_recover,
	.recover_end = files_recover_end,
	.start = file_start,
	.sync = file_sync,
	.reload = file_reload,
	.prepare = file_prepare,
	.change = file_change,
	.tick = file_tick,
	.show = file_show,
	.close = file_close,
};

/* Opening --------------------------------------------------------------------------------------------------------- */

int k2i_file_sink_create(struct k2i_outputs *outputs, const struct k2i_format *format, const char *unify_file,
			 struct k2i_sink **sink)
{
	struct file_sink *made = calloc(1, sizeof(*made));
	struct k2i_file_rules *rules = NULL;
	int error = made ? k2i_file_rules_make(format, unify_file, &rules) : -ENOMEM;

	if (!error && outputs->state_directory)
		error = k2i_carry_open(outputs->state_directory, &made->sink, outputs->ledger,
				       !k2i_format_plain(format), &made->carry);
	if (error) {
		k2i_file_rules_put(rules);
		free(made);
		return error;
	}
	made->sink.ops = &file_ops;
	made->outputs = outputs;
	rules->store = k2i_outputs_store(outputs);
	k2i_file_rules_place_start(&made->rules, rules);
	*sink = &made->sink;
	return 0;
}

int k2i_file_sink_base_make(const struct k2i_settings *settings)
{
	int error = settings->base_directory ? k2i_outputs_base_make(settings->base_directory, settings->file_mode) : 0;

	return error ? k2i_outputs_failed(settings, "make", error) : 0;
}

static int rotation_open(const struct k2i_sink_options *options, struct file_sink *file)
{
	const struct k2i_rotation_options rotation_options = {.base_directory = options->settings->base_directory,
							      .state_directory = options->state_directory,
							      .ledger = options->ledger,
							      .counters = options->counters,
							      .settings = options->settings};
	int error = k2i_rotation_open(&rotation_options, &file->rotation);

	if (!error)
		k2i_outputs_rotation(file->outputs, file->rotation);
	return error;
}

int k2i_file_sink_open(const struct k2i_sink_options *options, struct k2i_sink **sink)
{
	struct k2i_outputs *outputs;
	int error = k2i_outputs_open(options, &outputs);

	if (error)
		return error;
	error = k2i_file_sink_create(outputs, options->format, options->settings->unify_file, sink);
	if (error) {
		(void)k2i_outputs_free(outputs, false);
		return k2i_outputs_failed(options->settings, "use", error);
	}
	if (options->state_directory)
		error = rotation_open(options, file_sink(*sink));
	if (error)
		(void)file_close(*sink, false);
	return error;
}
