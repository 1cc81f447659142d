/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "receiver/sink/file/internal.h"

/* Files that are due though nobody writes to them: in one second at most so many. */
#define FILES_MAX 256u

struct collection {
	struct k2i_outputs *outputs;
	const char *unify_path;
	uint64_t bytes, period_s, now_s, now_ns;
	struct k2i_output_internal *files[FILES_MAX];
	size_t count;
};

/* A file that FILE_UNIFY does not name any more. */
static bool is_left(const struct collection *collection, const struct k2i_output_internal *file)
{
	return collection->unify_path && file->output.descriptor >= 0 && !k2i_output_device(file->output.path) &&
	       strcmp(file->output.path, collection->unify_path) != 0;
}

/* A rough look: k2i_output_due is for whoever has the lock. */
static void file_collect(void *argument, struct k2i_table_node *node)
{
	struct k2i_output_internal *file = K2I_TABLE_ENTRY(node, struct k2i_output_internal, node);
	struct collection *collection = argument;
	uint64_t due_s = atomic_load(&file->due_s);

	if (collection->count == FILES_MAX || collection->now_ns < atomic_load(&file->seal_retry_ns))
		return;
	if ((due_s && (collection->now_s >= due_s || !collection->period_s)) ||
	    (collection->bytes && atomic_load(&file->shown_bytes) >= collection->bytes) ||
	    (collection->unify_path && strcmp(file->output.path, collection->unify_path) != 0)) {
		k2i_output_refer(collection->outputs, file);
		collection->files[collection->count++] = file;
	}
}

/* A file that is being written is sealed by its writer. */
static void file_rotate(const struct collection *collection, struct k2i_output_internal *file)
{
	struct k2i_outputs *outputs = collection->outputs;

	if (pthread_mutex_trylock(&file->mutex) == 0) {
		if (collection->unify_path && strcmp(file->output.path, collection->unify_path) == 0)
			(void)k2i_output_prepare(outputs, &file->output);
		else
			k2i_output_rotate(outputs, &file->output, is_left(collection, file));
		k2i_output_unlock(&file->output);
	}
	k2i_output_release(outputs, &file->output);
}

void k2i_outputs_rotate(struct k2i_outputs *outputs, const char *unify_path)
{
	struct collection collection = {.outputs = outputs, .unify_path = unify_path};

	if (!outputs->rotation)
		return;
	collection.bytes = k2i_rotation_bytes(outputs->rotation);
	collection.period_s = k2i_rotation_period_s(outputs->rotation);
	collection.now_s = k2i_clock_ns(CLOCK_REALTIME) / K2I_SECOND_NS;
	collection.now_ns = k2i_clock_ns(CLOCK_MONOTONIC_COARSE);
	if (!collection.bytes && !collection.period_s)
		collection.unify_path = NULL;
	(void)pthread_mutex_lock(&outputs->mutex);
	k2i_table_each(&outputs->table, file_collect, &collection);
	(void)pthread_mutex_unlock(&outputs->mutex);
	for (size_t i = 0; i < collection.count; i++)
		file_rotate(&collection, collection.files[i]);
}
