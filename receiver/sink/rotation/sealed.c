/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "receiver/base/confine.h"
#include "receiver/base/file_identity.h"
#include "receiver/base/text.h"
#include "receiver/sink/rotation/internal.h"

/* Zeros in front make names stand in the order of time, which is UTC, that is set back nowhere. */
int k2i_sealed_path(const char *name, uint64_t time_ns, char path[K2HFT_STREAM_PATH_BYTES_MAX + 1])
{
	const struct timespec time = k2i_timespec(time_ns);
	const char *slash = strrchr(name, '/');
	char stamp[32];
	struct tm parts;

	if (strlen(name) + K2I_SEALED_SUFFIX_BYTES > K2HFT_STREAM_PATH_BYTES_MAX ||
	    strlen(slash ? slash + 1 : name) + K2I_SEALED_SUFFIX_BYTES > NAME_MAX)
		return -ENAMETOOLONG;
	(void)gmtime_r(&time.tv_sec, &parts);
	(void)strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &parts);
	(void)snprintf(path, K2HFT_STREAM_PATH_BYTES_MAX + 1, "%s.%s-%06ld", name, stamp, time.tv_nsec / 1000);
	return 0;
}

const char *k2i_packed_suffix(enum k2i_rotate_compress packing)
{
	return packing == K2I_ROTATE_COMPRESS_GZIP ? ".gz" : packing == K2I_ROTATE_COMPRESS_ZSTD ? ".zst" : "";
}

void k2i_sealed_name(const struct k2i_sealed *sealed, char path[K2HFT_STREAM_PATH_BYTES_MAX + 1])
{
	(void)snprintf(path, K2HFT_STREAM_PATH_BYTES_MAX + 1, "%s%s", sealed->path,
		       sealed->packed ? k2i_packed_suffix(sealed->packing) : "");
}

struct k2i_sealed *k2i_sealed_find(struct k2i_rotation *rotation, const char *path)
{
	uint64_t hash = k2i_table_hash(path, strlen(path));
	struct k2i_table_node *node = NULL;
	struct k2i_sealed *sealed;

	while ((node = k2i_table_find(&rotation->table, hash, node)) != NULL) {
		sealed = K2I_TABLE_ENTRY(node, struct k2i_sealed, node);
		if (strcmp(sealed->path, path) == 0)
			return sealed;
	}
	return NULL;
}

struct k2i_sealed *k2i_sealed_add(struct k2i_rotation *rotation, const struct k2i_sealing *sealing)
{
	size_t path_room = strlen(sealing->path) + 1, name_room = strlen(sealing->name) + 1;
	struct k2i_sealed *sealed = calloc(1, sizeof(*sealed) + path_room + name_room);

	if (!sealed)
		return NULL;
	memcpy(sealed->path, sealing->path, path_room);
	sealed->name = memcpy(sealed->path + path_room, sealing->name, name_room);
	sealed->birth = sealing->birth;
	sealed->inode = sealing->inode;
	sealed->length = sealing->length;
	sealed->time_ns = sealing->time_ns;
	if (k2i_table_insert(&rotation->table, &sealed->node, k2i_table_hash(sealed->path, path_room - 1))) {
		free(sealed);
		return NULL;
	}
	k2i_list_add(&rotation->sealed, &sealed->link);
	atomic_fetch_add(&rotation->waiting, 1);
	return sealed;
}

void k2i_sealed_done(struct k2i_rotation *rotation, struct k2i_sealed *sealed)
{
	if (!sealed->done)
		atomic_fetch_sub(&rotation->waiting, 1);
	sealed->done = true;
}

void k2i_sealed_remove(struct k2i_rotation *rotation, struct k2i_sealed *sealed)
{
	k2i_sealed_done(rotation, sealed);
	k2i_table_remove(&rotation->table, &sealed->node);
	k2i_list_remove(&rotation->sealed, &sealed->link);
	sealed->given = true;
	if (rotation->working != sealed)
		free(sealed);
}

int k2i_sealed_open(int directory, const char *name, uint64_t birth, uint64_t inode, uint64_t *length)
{
	int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (file < 0)
		return -errno;
	if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == inode &&
	    k2i_file_birth_ns(file, status.st_dev) == birth) {
		*length = (uint64_t)status.st_size;
		return file;
	}
	(void)close(file);
	return -ESTALE;
}

/* By its path: the base directory can be another than at the start. */
int k2i_sealed_directory(const struct k2i_rotation *rotation, const char *path, const char **name)
{
	int base = open(rotation->options.base_directory, O_PATH | O_DIRECTORY | O_CLOEXEC), directory;
	char above[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	const char *slash = strrchr(path, '/');

	if (base < 0)
		return -errno;
	(void)snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - path) : 0, path);
	*name = slash ? slash + 1 : path;
	directory = k2i_confine_directory(base, above);
	(void)close(base);
	return directory;
}

void k2i_sealed_failed(struct k2i_rotation *rotation, const struct k2i_sealed *sealed, const char *what, int error)
{
	char label[256];

	k2i_count(&rotation->options.counters->rotation_errors, 1);
	k2i_log_limited(&rotation->limit, k2i_clock_now_ns(), K2HFT_LOG_ERROR, "rotation: %s %s: %s",
			k2i_text_clean(sealed->path, label, sizeof(label)), what, k2i_text_error(error));
}
