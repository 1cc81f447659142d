/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_COUNTING_SINK_H
#define K2I_TESTS_UNIT_COUNTING_SINK_H

/*
 * A sink that stores nothing but how much it was given, and can be told to fail, to have no room, and to store later.
 * Its targets are streams' paths. With UNDO it marks each in the ledger, and keeps what it has over a restart, as a
 * disk would. For one test program, which includes cmocka.h and what it needs before.
 */
#include <pthread.h>

#include "receiver/ledger/ledger.h"
#include "receiver/sink/sink.h"

#define COUNTING_TARGETS_MAX 64u

struct k2i_target {
	char path[32];
	uint64_t identity; /* in the ledger */
	uint64_t chunks, chunks_before;
	bool told;
	char text[4096]; /* their payloads */
	size_t bytes, bytes_before;
	unsigned references;
};

struct counting_sink {
	struct k2i_sink sink;
	struct k2i_sink_ops ops;
	struct k2i_ledger *ledger;
	struct k2i_target targets[COUNTING_TARGETS_MAX];
	unsigned target_count;
	bool one_target;       /* all streams have the first */
	int result;            /* of store: 0, K2I_SINK_WAITS, or an error */
	const char *refuses;   /* a target that is at fault itself */
	pthread_mutex_t mutex; /* guards the reports: of LATER groups that are not stored yet */
	struct k2i_sink_report *reports, **last_report;
	unsigned begun, ended, undone, stored, synced, recovered;
	atomic_int sync_result; /* the syncer reads it */
};

static struct counting_sink *counting(struct k2i_sink *sink)
{
	return (struct counting_sink *)(void *)sink;
}

static int counting_thread_open(struct k2i_sink *sink, void **thread)
{
	*thread = sink;
	return 0;
}

static void counting_thread_close(struct k2i_sink *sink, void *thread)
{
	assert_ptr_equal(sink, thread);
}

static struct k2i_target *counting_target(struct counting_sink *counting_sink, const char *path)
{
	struct k2i_target *target = counting_sink->targets;

	for (; target < counting_sink->targets + counting_sink->target_count; target++) {
		if (counting_sink->one_target || strcmp(target->path, path) == 0)
			return target;
	}
	assert_true(counting_sink->target_count < COUNTING_TARGETS_MAX);
	(void)snprintf(target->path, sizeof(target->path), "%s", path);
	target->identity = ++counting_sink->target_count;
	return target;
}

static int counting_place(const struct k2i_group *group, const struct k2i_stream *stream, struct k2i_target **target)
{
	*target = counting_target(counting(group->sink), stream->path);
	(*target)->references++;
	return 0;
}

static void counting_release(struct k2i_sink *sink, struct k2i_target *target)
{
	(void)sink;
	assert_true(target->references > 0);
	target->references--;
}

static int counting_tell(struct counting_sink *counting_sink, struct k2i_target *target, bool deferred)
{
	const struct k2i_ledger_file mark = {.birth = 1000 + counting_sink->sink.number,
					     .inode = target->identity,
					     .length = target->chunks,
					     .path = target->path,
					     .deferred = deferred,
					     .sink = counting_sink->sink.number};
	int result = target->told ? 0 : k2i_ledger_file_opened(counting_sink->ledger, &mark);

	target->told = result >= 0;
	return result > 0 ? k2i_ledger_sync(counting_sink->ledger) : result;
}

static int counting_begin(struct k2i_group *group, bool deferred)
{
	struct counting_sink *counting_sink = counting(group->sink);
	struct k2i_target *target;
	int error = 0;

	counting_sink->begun++;
	for (uint32_t i = 0; i < group->target_count && !error; i++) {
		target = group->targets[i].target;
		target->chunks_before = target->chunks;
		target->bytes_before = target->bytes;
		if (counting_sink->refuses && strcmp(target->path, counting_sink->refuses) == 0)
			group->targets[i].error = -EPERM;
		else if (counting_sink->ops.traits & K2I_SINK_UNDO)
			error = counting_tell(counting_sink, target, deferred);
	}
	return error;
}

static void counting_take(struct k2i_group *group, const struct k2i_group_target *from)
{
	const struct k2i_group_entry *entry;
	uint32_t index = from->first;

	do {
		entry = &group->entries[index];
		assert_true(from->target->bytes + entry->payload_bytes < sizeof(from->target->text));
		memcpy(from->target->text + from->target->bytes, entry->payload, entry->payload_bytes);
		from->target->bytes += entry->payload_bytes;
		from->target->chunks++;
		index = entry->next;
	} while (index);
}

static int counting_store(struct k2i_group *group, struct k2i_sink_report *report)
{
	struct counting_sink *counting_sink = counting(group->sink);

	if (counting_sink->result) {
		group->failed = "counting";
		return counting_sink->result;
	}
	for (uint32_t i = 0; i < group->target_count; i++) {
		if (!group->targets[i].error)
			counting_take(group, &group->targets[i]);
	}
	assert_int_equal(report != NULL, (counting_sink->ops.traits & K2I_SINK_LATER) != 0);
	if (report) {
		report->next = NULL;
		(void)pthread_mutex_lock(&counting_sink->mutex);
		*counting_sink->last_report = report;
		counting_sink->last_report = &report->next;
		(void)pthread_mutex_unlock(&counting_sink->mutex);
	}
	counting_sink->stored++;
	return 0;
}

/* Hands all reports back. */
static void counting_report(struct counting_sink *counting_sink, int error)
{
	struct k2i_sink_report *report, *next;

	(void)pthread_mutex_lock(&counting_sink->mutex);
	report = counting_sink->reports;
	counting_sink->reports = NULL;
	counting_sink->last_report = &counting_sink->reports;
	(void)pthread_mutex_unlock(&counting_sink->mutex);
	for (; report; report = next) {
		next = report->next;
		k2i_sink_stored(&counting_sink->sink, report, error);
	}
}

static void counting_end(struct k2i_group *group, bool kept)
{
	(void)kept;
	counting(group->sink)->ended++;
}

static size_t counting_marks(const struct k2i_group *group, struct k2i_ledger_file marks[K2I_LEDGER_FILES_MAX])
{
	size_t count = 0;

	for (uint32_t i = 0; i < group->target_count; i++) {
		if (group->targets[i].error)
			continue;
		marks[count++] = (struct k2i_ledger_file){.birth = 1000 + group->sink->number,
							  .inode = group->targets[i].target->identity,
							  .length = group->targets[i].target->chunks};
	}
	return count;
}

static void counting_undo(struct k2i_group *group)
{
	struct k2i_target *target;

	counting(group->sink)->undone++;
	for (uint32_t i = 0; i < group->target_count; i++) {
		target = group->targets[i].target;
		target->chunks = target->chunks_before;
		target->bytes = target->bytes_before;
	}
}

static bool counting_is_behind(struct k2i_sink *sink, const struct k2i_ledger_file *mark)
{
	return counting_target(counting(sink), mark->path)->chunks < mark->length;
}

/* Each chunk has one byte. */
static void counting_recover(struct k2i_sink *sink, const struct k2i_ledger_file *mark, bool cut)
{
	struct k2i_target *target = counting_target(counting(sink), mark->path);

	counting(sink)->recovered++;
	assert_int_equal(mark->sink, sink->number);
	if (cut && target->chunks > mark->length)
		target->chunks = target->bytes = mark->length;
}

static bool counting_recover_end(struct k2i_sink *sink)
{
	(void)sink;
	return false;
}

static void counting_start(struct k2i_sink *sink)
{
	struct counting_sink *counting_sink = counting(sink);

	for (unsigned i = 0; i < counting_sink->target_count; i++)
		counting_sink->targets[i].told = false;
}

static int counting_sync(struct k2i_sink *sink)
{
	counting(sink)->synced++;
	return counting(sink)->sync_result;
}

static int counting_close(struct k2i_sink *sink, bool sync)
{
	struct counting_sink *counting_sink = counting(sink);

	counting_report(counting_sink, -ECANCELED);
	assert_int_equal(counting_sink->begun, counting_sink->ended);
	for (unsigned i = 0; i < counting_sink->target_count; i++)
		assert_int_equal(counting_sink->targets[i].references, 0);
	return sync ? counting_sink->sync_result : 0;
}

static void counting_setup(struct counting_sink *counting_sink, unsigned traits, uint32_t number,
			   const struct k2i_sink_listener *listener)
{
	counting_sink->ops = (struct k2i_sink_ops){
		.traits = traits,
		.thread_open = counting_thread_open,
		.thread_close = counting_thread_close,
		.place = counting_place,
		.release = counting_release,
		.begin = counting_begin,
		.store = counting_store,
		.end = counting_end,
		.marks = counting_marks,
		.undo = counting_undo,
		.is_behind = counting_is_behind,
		.recover = counting_recover,
		.recover_end = counting_recover_end,
		.start = counting_start,
		.sync = counting_sync,
		.close = counting_close,
	};
	if (!(traits & K2I_SINK_UNDO)) {
		counting_sink->ops.marks = NULL;
		counting_sink->ops.undo = NULL;
		counting_sink->ops.is_behind = NULL;
		counting_sink->ops.recover = NULL;
		counting_sink->ops.recover_end = NULL;
	}
	counting_sink->last_report = &counting_sink->reports;
	counting_sink->sink.ops = &counting_sink->ops;
	counting_sink->sink.listener = listener;
	counting_sink->sink.number = number;
}

static inline void expect_counted(struct counting_sink *counting_sink, const char *path, const char *text)
{
	struct k2i_target *target = counting_target(counting_sink, path);

	target->text[target->bytes] = '\0';
	assert_string_equal(target->text, text);
}

#endif
