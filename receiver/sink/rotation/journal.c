/* SPDX-License-Identifier: MIT */
/*
 * STATEDIR/rotated: a line for each thing that happened to a sealed file, by its path. Fields have tabs between them; bytes
 * of a path that would be in the way are %XX.
 */
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
#include "receiver/base/directory.h"
#include "receiver/base/text.h"
#include "receiver/sink/rotation/internal.h"

#define NAME "rotated"
#define PATH_ROOM (3 * K2HFT_STREAM_PATH_BYTES_MAX + 1)
#define LINE_ROOM (2 * PATH_ROOM + 256)
#define SPARE_LINES 4096u

static const char *escape(const char *path, char text[PATH_ROOM])
{
	static const char digits[] = "0123456789ABCDEF";
	char *to = text;

	for (; *path; path++) {
		unsigned char byte = (unsigned char)*path;

		if (byte > ' ' && byte != '%' && byte != 0x7f) {
			*to++ = *path;
			continue;
		}
		*to++ = '%';
		*to++ = digits[byte >> 4];
		*to++ = digits[byte & 15];
	}
	*to = '\0';
	return text;
}

/* In its place. */
static void unescape(char *text)
{
	char *to = text, hex[3] = "";

	for (; *text; text++) {
		if (*text == '%' && text[1] && text[2]) {
			memcpy(hex, text + 1, 2);
			*to++ = (char)strtoul(hex, NULL, 16);
			text += 2;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* Writing ----------------------------------------------------------------------------------------------------------- */

static int line_append(struct k2i_rotation_journal *journal, const char *line)
{
	size_t bytes = strlen(line);
	ssize_t put = write(journal->file, line, bytes);
	int error = put < 0 ? -errno : -ENOSPC;

	if (put == (ssize_t)bytes) {
		journal->bytes += bytes;
		journal->lines++;
		return 0;
	}
	/* The next line must not go on with half of this one. */
	if (ftruncate(journal->file, (off_t)journal->bytes) < 0)
		error = -errno;
	return error;
}

static int seal_append(struct k2i_rotation_journal *journal, const struct k2i_sealed *sealed)
{
	char line[LINE_ROOM], path[PATH_ROOM], name[PATH_ROOM];

	(void)snprintf(line, sizeof(line), "S\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n",
		       escape(sealed->path, path), sealed->birth, sealed->inode, sealed->length, sealed->time_ns,
		       escape(sealed->name, name));
	return line_append(journal, line);
}

static int pack_append(struct k2i_rotation_journal *journal, const struct k2i_sealed *sealed)
{
	char line[LINE_ROOM], path[PATH_ROOM];

	(void)snprintf(line, sizeof(line), "Z\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%u\n",
		       escape(sealed->path, path), sealed->packed_birth, sealed->packed_inode, sealed->packed_bytes,
		       (unsigned)sealed->packing);
	return line_append(journal, line);
}

static int short_append(struct k2i_rotation_journal *journal, const struct k2i_sealed *sealed, char deed)
{
	char line[LINE_ROOM], path[PATH_ROOM];

	(void)snprintf(line, sizeof(line), "%c\t%s\n", deed, escape(sealed->path, path));
	return line_append(journal, line);
}

int k2i_journal_seal(struct k2i_rotation *rotation, const struct k2i_sealed *sealed)
{
	return seal_append(&rotation->journal, sealed);
}

int k2i_journal_pack(struct k2i_rotation *rotation, const struct k2i_sealed *sealed)
{
	int error = pack_append(&rotation->journal, sealed);

	return error ? error : fdatasync(rotation->journal.file) < 0 ? -errno : 0;
}

void k2i_journal_done(struct k2i_rotation *rotation, const struct k2i_sealed *sealed)
{
	(void)short_append(&rotation->journal, sealed, 'D');
}

void k2i_sealed_forget(struct k2i_rotation *rotation, struct k2i_sealed *sealed)
{
	(void)short_append(&rotation->journal, sealed, 'R');
	k2i_sealed_remove(rotation, sealed);
}

static int lines_write(struct k2i_rotation *rotation, struct k2i_rotation_journal *made)
{
	struct k2i_sealed *sealed = k2i_sealed_at(rotation->sealed.oldest);
	int error = 0;

	for (; sealed && !error; sealed = k2i_sealed_at(sealed->link.newer)) {
		error = seal_append(made, sealed);
		if (!error && sealed->packed_inode)
			error = pack_append(made, sealed);
		if (!error && sealed->done)
			error = short_append(made, sealed, 'D');
	}
	return error ? error : fdatasync(made->file) < 0 ? -errno : 0;
}

static int journal_rewrite(struct k2i_rotation *rotation)
{
	struct k2i_rotation_journal *journal = &rotation->journal, made = *journal;
	char path[PATH_MAX], new_path[PATH_MAX];
	int error;

	(void)snprintf(path, sizeof(path), "%s/" NAME, journal->directory);
	(void)snprintf(new_path, sizeof(new_path), "%s/" NAME ".new", journal->directory);
	made.file = open(new_path, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (made.file < 0)
		return -errno;
	made.bytes = made.lines = 0;
	error = lines_write(rotation, &made);
	if (!error && rename(new_path, path) < 0)
		error = -errno;
	if (error) {
		(void)close(made.file);
		(void)unlink(new_path);
		return error;
	}
	if (journal->file >= 0)
		(void)close(journal->file);
	*journal = made;
	K2I_CRASH(rotation_list_written);
	return 0;
}

/* A list that can't be written anew goes on growing. */
void k2i_journal_trim(struct k2i_rotation *rotation)
{
	if (rotation->journal.lines > 3 * rotation->table.count + SPARE_LINES)
		(void)journal_rewrite(rotation);
}

/* Reading ----------------------------------------------------------------------------------------------------------- */

/* The fields of a line: how many. */
static unsigned line_split(char *line, char *fields[7])
{
	unsigned count = 0;

	while (line && count < 7) {
		fields[count++] = line;
		line = strchr(line, '\t');
		if (line)
			*line++ = '\0';
	}
	return count;
}

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 10);
}

/* A path that no stream can have is of nobody's making, and leads out of the base directory maybe. */
static bool path_valid(char *text)
{
	unescape(text);
	return strlen(text) <= K2HFT_STREAM_PATH_BYTES_MAX && !k2hft_stream_path_check(text, strlen(text));
}

static int seal_apply(struct k2i_rotation *rotation, char *fields[7])
{
	const struct k2i_sealing sealing = {.path = fields[1],
					    .birth = number(fields[2]),
					    .inode = number(fields[3]),
					    .length = number(fields[4]),
					    .time_ns = number(fields[5]),
					    .name = fields[6]};

	unescape(fields[6]);
	return k2i_sealed_add(rotation, &sealing) ? 0 : -ENOMEM;
}

/* A line that is not whole, or not ours, is passed over. */
static int line_apply(struct k2i_rotation *rotation, char *line)
{
	char *fields[7];
	unsigned count = line_split(line, fields);
	struct k2i_sealed *sealed;

	if (count < 2 || !path_valid(fields[1]))
		return 0;
	sealed = k2i_sealed_find(rotation, fields[1]);
	if (*line == 'S' && count == 7 && !sealed)
		return seal_apply(rotation, fields);
	if (*line == 'Z' && count == 6 && sealed) {
		sealed->packed_birth = number(fields[2]);
		sealed->packed_inode = number(fields[3]);
		sealed->packed_bytes = number(fields[4]);
		sealed->packing = number(fields[5]) == K2I_ROTATE_COMPRESS_GZIP ? K2I_ROTATE_COMPRESS_GZIP
										: K2I_ROTATE_COMPRESS_ZSTD;
	} else if (*line == 'D' && sealed) {
		k2i_sealed_done(rotation, sealed);
	} else if (*line == 'R' && sealed) {
		k2i_sealed_remove(rotation, sealed);
	}
	return 0;
}

static int journal_read(struct k2i_rotation *rotation)
{
	char path[PATH_MAX], *line = NULL;
	size_t room = 0;
	ssize_t bytes;
	int error = 0, file;
	FILE *list;

	(void)snprintf(path, sizeof(path), "%s/" NAME, rotation->journal.directory);
	file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	list = file < 0 ? NULL : fdopen(file, "r");
	if (!list) {
		error = errno == ENOENT ? 0 : -errno;
		if (file >= 0)
			(void)close(file);
		return error;
	}
	while (!error && (bytes = getline(&line, &room, list)) > 0) {
		if (line[bytes - 1] != '\n')
			break;
		rotation->journal.bytes += (uint64_t)bytes;
		rotation->journal.lines++;
		line[bytes - 1] = '\0';
		error = line_apply(rotation, line);
	}
	if (!error && ferror(list))
		error = -EIO;
	free(line);
	(void)fclose(list);
	return error;
}

/* The list that was read goes on, as on a full disk, which has no room for another one. */
static int journal_continue(struct k2i_rotation_journal *journal)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/" NAME, journal->directory);
	journal->file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return journal->file < 0 || ftruncate(journal->file, (off_t)journal->bytes) < 0 ? -errno : 0;
}

int k2i_journal_open(struct k2i_rotation *rotation)
{
	int error;

	rotation->journal.directory = rotation->options.state_directory;
	rotation->journal.file = -1;
	error = journal_read(rotation);
	if (!error && journal_rewrite(rotation) < 0)
		error = journal_continue(&rotation->journal);
	if (error)
		k2i_log(K2HFT_LOG_ERROR, "rotation: %s/" NAME " can't be used: %s", rotation->journal.directory,
			k2i_text_error(error));
	return error;
}

void k2i_journal_close(struct k2i_rotation *rotation)
{
	if (rotation->journal.file >= 0)
		(void)close(rotation->journal.file);
}
