/* SPDX-License-Identifier: MIT */
/*
 * The archive: a file that gets each record once, before it is sent first. The ring remembers how far that went and how
 * long the file was, so what a process that is killed has written beyond that is cut off by the next one, and written again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crash.h"
#include "client/state.h"

#define PIECES_MAX 64
/* As often it is looked whether the file has its name still, and it is tried again to open one. */
#define LOOK_NS K2I_SECOND_NS

static bool file_is(const struct k2i_ring_archive *mark, const struct stat *file)
{
	return mark->device == (uint64_t)file->st_dev && mark->inode == (uint64_t)file->st_ino;
}

/* A program can have closed the descriptor, and opened something else by that number. */
static void file_forget(struct k2i_client_archive *archive)
{
	struct stat file;

	if (archive->descriptor >= 0 && fstat(archive->descriptor, &file) == 0 && file_is(&archive->file, &file))
		(void)close(archive->descriptor);
	archive->descriptor = -1;
}

/*
 * Takes back the last words of a killed process, which it had not sent: no more than a frame. More is not its own, as when
 * the ring's file is an older copy.
 */
static int file_cut(int descriptor, const struct stat *file, const struct k2i_ring_archive *mark)
{
	uint64_t bytes = (uint64_t)file->st_size;

	if (!file_is(mark, file) || bytes <= mark->bytes || bytes - mark->bytes > K2HFT_FRAME_BODY_BYTES_MAX)
		return 0;
	return ftruncate(descriptor, (off_t)mark->bytes) ? -errno : 0;
}

static int file_take(struct k2hft_client *client, int descriptor)
{
	struct k2i_client_archive *archive = &client->archive;
	struct k2i_ring_archive mark;
	struct stat file;
	int error;

	k2i_ring_archive(client->ring, &mark);
	if (flock(descriptor, LOCK_EX | LOCK_NB) || fstat(descriptor, &file))
		return -errno;
	if (!S_ISREG(file.st_mode))
		return -EINVAL;
	error = file_cut(descriptor, &file, &mark);
	if (error == 0) {
		archive->descriptor = descriptor;
		archive->file.device = (uint64_t)file.st_dev;
		archive->file.inode = (uint64_t)file.st_ino;
	}
	return error;
}

/* A file that takes the place of one that was renamed has its permissions. */
static int file_open(struct k2hft_client *client)
{
	struct stat before;
	mode_t mode = 0600;

	if (client->archive.descriptor >= 0 && fstat(client->archive.descriptor, &before) == 0)
		mode = before.st_mode & 0777;
	file_forget(&client->archive);
	int descriptor =
		open(client->archive.path, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, mode);
	if (descriptor < 0)
		return -errno;
	int error = file_take(client, descriptor);
	if (error < 0)
		(void)close(descriptor);
	return error;
}

/* The file that has the name now, as of the last second. */
static int file_look(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2i_client_archive *archive = &client->archive;
	struct stat named;

	if (archive->looked_ns && now_ns - archive->looked_ns < LOOK_NS)
		return archive->error;
	archive->looked_ns = now_ns;
	if (archive->descriptor < 0 || stat(archive->path, &named) || !file_is(&archive->file, &named))
		archive->error = file_open(client);
	return archive->error;
}

static int pieces_write(int descriptor, const struct iovec *pieces, int count, size_t bytes)
{
	ssize_t written = count ? writev(descriptor, pieces, count) : 0;

	if (written < 0)
		return -errno;
	return (size_t)written == bytes ? 0 : -ENOSPC;
}

/* The records of the span that are not there yet, behind each other; `error`: only counts them. */
static int records_write(const struct k2i_client_archive *archive, const struct k2hft_span *span, int error,
			 uint64_t *records, uint64_t *bytes)
{
	struct iovec pieces[PIECES_MAX];
	struct k2hft_chunk_view view;
	size_t offset = 0, waiting = 0;
	int count = 0;

	while (k2hft_chunk_next(span->data, span->bytes, span->position, &offset, &view) > 0) {
		if (view.position < archive->file.position)
			continue;
		*records += view.chunk.record_count;
		*bytes += view.payload_bytes;
		pieces[count++] = (struct iovec){(void *)(uintptr_t)view.payload, view.payload_bytes};
		waiting += view.payload_bytes;
		if (count < PIECES_MAX)
			continue;
		error = error ? error : pieces_write(archive->descriptor, pieces, count, waiting);
		count = 0;
		waiting = 0;
	}
	return error ? error : pieces_write(archive->descriptor, pieces, count, waiting);
}

static void failure_log(struct k2i_client_archive *archive, int error, uint64_t now_ns)
{
	k2i_log_limited(&archive->limit, now_ns, K2HFT_LOG_ERROR, "client: archive %s: %s: records are sent without it",
			archive->path,
			error == -EWOULDBLOCK ? "another sender has it: give each its own"
			: error == -EINVAL    ? "it is no regular file"
					      : strerror(-error));
}

/* Ready to be appended to; `*file` is how it is now. */
static int file_ready(struct k2hft_client *client, struct stat *file, uint64_t now_ns)
{
	struct k2i_client_archive *archive = &client->archive;
	int error = file_look(client, now_ns);

	if (error || (fstat(archive->descriptor, file) == 0 && file_is(&archive->file, file)))
		return error;
	archive->error = file_open(client);
	if (archive->error)
		return archive->error;
	return fstat(archive->descriptor, file) ? -errno : 0;
}

void k2i_client_archive(struct k2hft_client *client, const struct k2hft_span *span, uint64_t now_ns)
{
	struct k2i_client_archive *archive = &client->archive;
	uint64_t end = span->position + span->bytes, records = 0, bytes = 0;
	struct stat file;
	int unready, error;

	if (!archive->path || end <= archive->file.position)
		return;
	K2I_CRASH(archive_before);
	unready = file_ready(client, &file, now_ns);
	error = records_write(archive, span, unready, &records, &bytes);
	if (!unready) {
		archive->file.bytes = (uint64_t)file.st_size + (error ? 0 : bytes);
		if (error)
			(void)!ftruncate(archive->descriptor, file.st_size);
	}
	if (error) {
		k2i_ring_count(client->ring, unarchived_records, records);
		failure_log(archive, error, now_ns);
	}
	K2I_CRASH(archive_written);
	archive->file.position = end;
	k2i_ring_archive_set(client->ring, &archive->file);
	K2I_CRASH(archive_kept);
}

int k2i_client_archive_begin(struct k2hft_client *client)
{
	struct k2i_client_archive *archive = &client->archive;

	if (!client->options.archive_path)
		return 0;
	archive->path = strdup(client->options.archive_path);
	client->options.archive_path = NULL; /* the caller's memory */
	if (!archive->path)
		return -ENOMEM;
	k2i_ring_archive(client->ring, &archive->file);
	archive->error = file_open(client);
	if (archive->error)
		failure_log(archive, archive->error, k2i_clock_ns(CLOCK_MONOTONIC));
	return 0;
}

void k2i_client_archive_end(struct k2hft_client *client)
{
	file_forget(&client->archive);
	free(client->archive.path);
}
