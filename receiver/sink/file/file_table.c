/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "receiver/base/text.h"
#include "receiver/sink/file/internal.h"

static void file_free(struct k2i_outputs *outputs, struct k2i_output_internal *file)
{
	k2i_table_remove(&outputs->table, &file->node);
	(void)pthread_mutex_destroy(&file->mutex);
	free(file);
}

static struct k2i_output_internal *file_find(struct k2i_outputs *outputs, const char *path, uint64_t hash)
{
	struct k2i_table_node *node = NULL;
	struct k2i_output_internal *file;

	while ((node = k2i_table_find(&outputs->table, hash, node)) != NULL) {
		file = K2I_TABLE_ENTRY(node, struct k2i_output_internal, node);
		if (strcmp(file->output.path, path) == 0)
			return file;
	}
	return NULL;
}

static struct k2i_output_internal *file_make(struct k2i_outputs *outputs, const char *path, uint64_t hash)
{
	size_t path_room = strlen(path) + 1;
	struct k2i_output_internal *file = calloc(1, sizeof(*file) + 2 * path_room);

	if (!file)
		return NULL;
	if (k2i_table_insert(&outputs->table, &file->node, hash)) {
		free(file);
		return NULL;
	}
	file->output.path = memcpy((char *)(file + 1), path, path_room);
	file->label = k2i_text_clean(path, (char *)(file + 1) + path_room, path_room);
	file->references = 1;
	file->output.number = outputs->next_number++;
	file->output.descriptor = -1;
	(void)pthread_mutex_init(&file->mutex, NULL);
	return file;
}

void k2i_output_refer(struct k2i_outputs *outputs, struct k2i_output_internal *file)
{
	if (file->references++ == 0)
		k2i_list_remove(&outputs->idle, &file->idle);
}

int k2i_output_acquire(struct k2i_outputs *outputs, const char *path, struct k2i_output_file **output)
{
	uint64_t hash = k2i_table_hash(path, strlen(path));
	struct k2i_output_internal *file;

	(void)pthread_mutex_lock(&outputs->mutex);
	file = file_find(outputs, path, hash);
	if (file)
		k2i_output_refer(outputs, file);
	else
		file = file_make(outputs, path, hash);
	if (file)
		*output = &file->output;
	(void)pthread_mutex_unlock(&outputs->mutex);
	return file ? 0 : -ENOMEM;
}

void k2i_output_release(struct k2i_outputs *outputs, struct k2i_output_file *output)
{
	struct k2i_output_internal *file = k2i_output_internal(output);

	(void)pthread_mutex_lock(&outputs->mutex);
	if (--file->references == 0) {
		file->released_ns = k2i_clock_ns(CLOCK_MONOTONIC_COARSE);
		if (output->descriptor < 0 && !output->open_writer && !file->stale_tail && !atomic_load(&file->due_s))
			file_free(outputs, file);
		else
			k2i_list_add(&outputs->idle, &file->idle);
	}
	(void)pthread_mutex_unlock(&outputs->mutex);
}

void k2i_output_lock(struct k2i_output_file *output)
{
	(void)pthread_mutex_lock(&k2i_output_internal(output)->mutex);
}

void k2i_output_unlock(struct k2i_output_file *output)
{
	atomic_store_explicit(&k2i_output_internal(output)->shown_bytes, output->length, memory_order_relaxed);
	atomic_store_explicit(&k2i_output_internal(output)->shown_error, output->error, memory_order_relaxed);
	(void)pthread_mutex_unlock(&k2i_output_internal(output)->mutex);
}

struct showing {
	void (*each)(void *argument, const struct k2i_output_shown *shown);
	void *argument;
};

static void file_show(void *argument, struct k2i_table_node *node)
{
	struct k2i_output_internal *file = K2I_TABLE_ENTRY(node, struct k2i_output_internal, node);
	const struct showing *showing = argument;
	const struct k2i_output_shown shown = {
		.path = file->output.path,
		.bytes = atomic_load_explicit(&file->shown_bytes, memory_order_relaxed),
		.error = atomic_load_explicit(&file->shown_error, memory_order_relaxed),
	};

	/* An output that knows only how its last record ends is closed. */
	if (file->references > 0 || file->output.descriptor >= 0)
		showing->each(showing->argument, &shown);
}

void k2i_outputs_each(struct k2i_outputs *outputs, void (*each)(void *argument, const struct k2i_output_shown *shown),
		      void *argument)
{
	struct showing showing = {each, argument};

	(void)pthread_mutex_lock(&outputs->mutex);
	k2i_table_each(&outputs->table, file_show, &showing);
	(void)pthread_mutex_unlock(&outputs->mutex);
}
