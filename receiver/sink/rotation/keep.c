/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "receiver/sink/rotation/internal.h"

/* Entries that nothing is to be done to any more: the list does not grow for ever. */
#define DONE_MAX 65536u

/* The files of one name stand together, the newest first. */
static int name_compare(const void *first, const void *second)
{
	const struct k2i_sealed *one = *(const struct k2i_sealed *const *)first;
	const struct k2i_sealed *other = *(const struct k2i_sealed *const *)second;
	int order = strcmp(one->name, other->name);

	return order ? order : (one->time_ns < other->time_ns) - (one->time_ns > other->time_ns);
}

static void count_enforce(struct k2i_rotation *rotation, uint64_t keep_count)
{
	struct k2i_sealed **files = malloc((rotation->table.count + 1) * sizeof(struct k2i_sealed *)), *sealed;
	size_t count = 0, i;
	uint64_t number = 0;

	for (sealed = k2i_sealed_at(rotation->sealed.oldest); files && sealed;
	     sealed = k2i_sealed_at(sealed->link.newer))
		files[count++] = sealed;
	if (count)
		qsort(files, count, sizeof(struct k2i_sealed *), name_compare);
	for (i = 0; i < count; i++) {
		number = i && strcmp(files[i - 1]->name, files[i]->name) == 0 ? number + 1 : 0;
		files[i]->surplus |= number >= keep_count;
	}
	free(files);
}

static uint64_t bytes_of(const struct k2i_sealed *sealed)
{
	return sealed->packed ? sealed->packed_bytes : sealed->length;
}

static void surplus_find(struct k2i_rotation *rotation, const struct k2i_keep *keep)
{
	const uint64_t now_ns = k2i_clock_ns(CLOCK_REALTIME);
	uint64_t bytes = 0;
	struct k2i_sealed *sealed;

	if (keep->count)
		count_enforce(rotation, keep->count);
	for (sealed = k2i_sealed_at(rotation->sealed.newest); sealed; sealed = k2i_sealed_at(sealed->link.older)) {
		bytes += bytes_of(sealed);
		sealed->surplus |= keep->bytes && bytes > keep->bytes;
		sealed->surplus |= keep->seconds && now_ns > sealed->time_ns &&
				   (now_ns - sealed->time_ns) / K2I_SECOND_NS >= keep->seconds;
	}
}

/* The file is as it was sealed, and nobody else's: else it stays, and is forgotten. */
static int file_remove(struct k2i_rotation *rotation, const struct k2i_sealed *sealed)
{
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	const char *name;
	uint64_t length;
	int directory, file, error;

	k2i_sealed_name(sealed, path);
	directory = k2i_sealed_directory(rotation, path, &name);
	if (directory < 0)
		return directory;
	file = k2i_sealed_open(directory, name, sealed->packed ? sealed->packed_birth : sealed->birth,
			       sealed->packed ? sealed->packed_inode : sealed->inode, &length);
	error = file < 0 ? file : length > bytes_of(sealed) ? -ESTALE : unlinkat(directory, name, 0) < 0 ? -errno : 0;
	if (file >= 0)
		(void)close(file);
	(void)close(directory);
	return error;
}

static void surplus_remove(struct k2i_rotation *rotation, struct k2i_sealed *sealed)
{
	int error = file_remove(rotation, sealed);

	sealed->surplus = false;
	if (error && error != -ENOENT && error != -ENOTDIR && error != -ESTALE && error != -ELOOP) {
		k2i_sealed_failed(rotation, sealed, "can't be removed", error);
		return;
	}
	k2i_sealed_forget(rotation, sealed);
}

/* A file of which the ledger may have to take back something after a power cut stays until that is over. */
static bool is_needed(struct k2i_rotation *rotation, struct k2i_sealed *sealed)
{
	const uint64_t birth = sealed->birth, inode = sealed->inode;
	bool needed;

	(void)pthread_mutex_unlock(&rotation->mutex);
	needed = k2i_ledger_file_deferred(rotation->options.ledger, birth, inode);
	(void)pthread_mutex_lock(&rotation->mutex);
	return needed;
}

static struct k2i_sealed *surplus_next(struct k2i_rotation *rotation)
{
	struct k2i_sealed *sealed = k2i_sealed_at(rotation->sealed.oldest);

	while (sealed && !(sealed->surplus && sealed->done))
		sealed = k2i_sealed_at(sealed->link.newer);
	return sealed;
}

static void done_forget(struct k2i_rotation *rotation)
{
	struct k2i_sealed *sealed = k2i_sealed_at(rotation->sealed.oldest), *next;

	for (; sealed && rotation->table.count > DONE_MAX; sealed = next) {
		next = k2i_sealed_at(sealed->link.newer);
		if (!sealed->done)
			continue;
		k2i_sealed_forget(rotation, sealed);
	}
}

void k2i_keep_enforce(struct k2i_rotation *rotation)
{
	const struct k2i_keep keep = rotation->rules->keep;
	struct k2i_sealed *sealed;

	if (!keep.count && !keep.seconds && !keep.bytes) {
		done_forget(rotation);
		return;
	}
	surplus_find(rotation, &keep);
	while (!rotation->stopping && (sealed = surplus_next(rotation)) != NULL) {
		rotation->working = sealed;
		if (is_needed(rotation, sealed))
			sealed->surplus = false;
		rotation->working = NULL;
		if (sealed->given)
			free(sealed);
		else if (sealed->surplus)
			surplus_remove(rotation, sealed);
	}
}
