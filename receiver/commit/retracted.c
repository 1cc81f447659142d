/* SPDX-License-Identifier: MIT */
#include "receiver/commit/retracted.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/uuid.h"
#include "receiver/base/directory.h"
#include "receiver/base/text.h"

#define LINE_ROOM (PATH_MAX + K2HFT_STREAM_PATH_BYTES_MAX + 256u)

static int line_add(struct k2i_retracted *retracted, const char *line, size_t bytes)
{
	size_t room = retracted->room ? retracted->room : LINE_ROOM;
	char *lines;

	while (room < retracted->bytes + bytes)
		room *= 2;
	lines = room == retracted->room ? retracted->lines : realloc(retracted->lines, room);
	if (!lines)
		return -ENOMEM;
	retracted->lines = lines;
	retracted->room = room;
	memcpy(lines + retracted->bytes, line, bytes);
	retracted->bytes += bytes;
	return 0;
}

int k2i_retracted_add(struct k2i_retracted *retracted, const uint8_t ring[16], const struct k2i_retraction *retraction)
{
	char base[PATH_MAX] = "-", path[K2HFT_STREAM_PATH_BYTES_MAX + 1] = "-", place[64] = "-\t-", checksum[32] = "-";
	char uuid[K2I_UUID_TEXT_BYTES], line[LINE_ROOM];
	int bytes, error;

	if (retraction->path) {
		(void)k2i_text_clean(retraction->base, base, sizeof(base));
		(void)k2i_text_clean(retraction->path, path, sizeof(path));
	}
	if (!retraction->loose)
		(void)snprintf(place, sizeof(place), "%" PRIu64 "\t%" PRIu64, retraction->offset, retraction->bytes);
	if (retraction->hashed)
		(void)snprintf(checksum, sizeof(checksum), "%016" PRIx64, retraction->checksum);
	bytes = snprintf(line, sizeof(line), "%s\t%s\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n", base, path,
			 place, k2i_uuid_text(ring, uuid), retraction->from, retraction->to, retraction->records,
			 checksum);
	error = line_add(retracted, line, (size_t)bytes);
	if (error)
		return error;
	retracted->ranges++;
	retracted->records += retraction->records;
	return 0;
}

static int list_read(int file, char **list)
{
	struct stat status;
	ssize_t got;

	if (fstat(file, &status) < 0)
		return -errno;
	*list = malloc((size_t)status.st_size + 2);
	if (!*list)
		return -ENOMEM;
	/* Each line has one end in front of it and one behind it. */
	(*list)[0] = '\n';
	got = pread(file, *list + 1, (size_t)status.st_size, 0);
	(*list)[got < 0 ? 0 : got + 1] = '\0';
	return got < 0 ? -errno : 0;
}

static bool line_known(const char *list, const char *line, size_t bytes)
{
	char wanted[LINE_ROOM + 2];

	(void)snprintf(wanted, sizeof(wanted), "\n%.*s", (int)bytes, line);
	return strstr(list, wanted) != NULL;
}

static int line_write(int file, const char *line, size_t bytes)
{
	ssize_t put = write(file, line, bytes);

	return put == (ssize_t)bytes ? 0 : put < 0 ? -errno : -ENOSPC;
}

/* The lines that are not in `list`. A kill or a full disk can have cut its last one. */
static int lines_write(const struct k2i_retracted *retracted, int file, const char *list)
{
	const char *line = retracted->lines, *end = line + retracted->bytes, *next;
	size_t list_bytes = strlen(list);
	int error = list[list_bytes - 1] == '\n' ? 0 : line_write(file, "\n", 1);

	for (; line < end && !error; line = next) {
		next = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
		if (!line_known(list, line, (size_t)(next - line)))
			error = line_write(file, line, (size_t)(next - line));
		K2I_CRASH(settle_listed);
	}
	return error;
}

/* With its name. */
static int list_sync(int file, const char *path)
{
	char directory_path[PATH_MAX];
	int directory, error = fdatasync(file) < 0 ? -errno : 0;

	(void)snprintf(directory_path, sizeof(directory_path), "%.*s", (int)(strrchr(path, '/') - path), path);
	directory = error ? -1 : open(directory_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return error ? error : -errno;
	error = k2i_directory_sync(directory);
	(void)close(directory);
	return error;
}

int k2i_retracted_write(const struct k2i_retracted *retracted, const char *path)
{
	char *list = NULL;
	int file, error;

	if (!retracted->bytes)
		return 0;
	file = open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (file < 0)
		return -errno;
	error = list_read(file, &list);
	if (!error)
		error = lines_write(retracted, file, list);
	if (!error)
		error = list_sync(file, path);
	free(list);
	(void)close(file);
	return error;
}

void k2i_retracted_free(struct k2i_retracted *retracted)
{
	free(retracted->lines);
	memset(retracted, 0, sizeof(*retracted));
}
