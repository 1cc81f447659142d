/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "receiver/base/file_identity.h"
#include "receiver/base/confine.h"
#include "base/crash.h"
#include "base/log.h"
#include "base/clock.h"
#include "receiver/sink/file/internal.h"
#include "receiver/base/text.h"

/* A record that went on when the receiver ended goes on in the same file. */
static void writer_keep(struct k2i_outputs *outputs, const struct k2i_ledger_file *file)
{
	struct k2i_output_file *output;

	if (!file->open_writer || k2i_output_acquire(outputs, file->path, &output))
		return;
	output->birth = file->birth;
	output->inode = file->inode;
	output->open_writer = file->open_writer;
	output->ledger_state = file->deferred ? K2I_OUTPUT_LEDGER_DEFERRED : K2I_OUTPUT_LEDGER_KEPT;
	k2i_output_release(outputs, output);
}

static void writer_tell(struct k2i_outputs *outputs, struct k2i_output_file *output)
{
	bool deferred = output->ledger_state == K2I_OUTPUT_LEDGER_DEFERRED;

	k2i_output_lock(output);
	if (!k2i_output_prepare(outputs, output) && output->open_writer)
		(void)k2i_output_tell(outputs, output, deferred);
	/* Again before it is written. */
	output->ledger_state = K2I_OUTPUT_LEDGER_UNKNOWN;
	k2i_output_unlock(output);
}

/* No other thread is there yet, and no file but those of writer_keep. A released output is the newest. */
void k2i_outputs_recovered(struct k2i_outputs *outputs)
{
	size_t count = outputs->table.count;
	struct k2i_output_internal *file;

	for (; count > 0 && outputs->idle.oldest; count--) {
		file = K2I_LIST_ENTRY(outputs->idle.oldest, struct k2i_output_internal, idle);
		k2i_output_refer(outputs, file);
		writer_tell(outputs, &file->output);
		k2i_output_release(outputs, &file->output);
	}
}

/* On the disk, too, since the ledger is about to forget it. */
static int length_set(int descriptor, uint64_t length)
{
	return ftruncate(descriptor, (off_t)length) < 0 || fdatasync(descriptor) < 0 ? -errno : 0;
}

/* A full disk can refuse to make a file shorter (Btrfs does); it is waited for, as it is for the ledger. */
static int length_set_waiting(int descriptor, const char *label, uint64_t length)
{
	struct timespec second = {1, 0};
	int error = length_set(descriptor, length);

	if (error == -ENOSPC || error == -EDQUOT)
		k2i_log(K2HFT_LOG_ERROR,
			"output: there is no room to cut %s back to what was acknowledged; the receiver waits for it",
			label);
	while (error == -ENOSPC || error == -EDQUOT) {
		(void)nanosleep(&second, NULL);
		error = length_set(descriptor, length);
	}
	return error;
}

static void tail_cut(struct k2i_outputs *outputs, int descriptor, const char *label, uint64_t wanted, uint64_t length)
{
	int error;

	K2I_CRASH(tail_cut_before);
	error = length_set_waiting(descriptor, label, wanted);
	if (error) {
		k2i_count(&outputs->counters->uncut_files, 1);
		k2i_log_limited(&outputs->stale_limit, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
				"output: %s can't be cut back by %" PRIu64 " bytes (%s): they will be there twice",
				label, length - wanted, k2i_text_error(error));
		return;
	}
	K2I_CRASH(tail_cut);
	k2i_count(&outputs->counters->cut_bytes, length - wanted);
	k2i_log_limited(&outputs->recover_limit, k2i_clock_now_ns(), K2HFT_LOG_WARNING,
			"output: %s cut back by %" PRIu64 " bytes that were not acknowledged; they come again", label,
			length - wanted);
}

static void length_check(struct k2i_outputs *outputs, int descriptor, const char *label, uint64_t wanted,
			 uint64_t length, bool cut)
{
	if (length < wanted) {
		k2i_count(&outputs->counters->short_files, 1);
		k2i_log_limited(&outputs->recover_limit, k2i_clock_now_ns(), K2HFT_LOG_WARNING,
				"output: %s is %" PRIu64 " bytes shorter than it was committed", label,
				wanted - length);
	} else if (length > wanted && cut) {
		tail_cut(outputs, descriptor, label, wanted, length);
	} else if (length > wanted) {
		k2i_count(&outputs->counters->uncertain_bytes, length - wanted);
		k2i_log_limited(&outputs->recover_limit, k2i_clock_now_ns(), K2HFT_LOG_WARNING,
				"output: %s keeps %" PRIu64 " bytes that may not have been acknowledged", label,
				length - wanted);
	}
}

/* Whether the name leads to nothing, or to what no output can be, or to another file. */
static bool is_gone(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -ENXIO || error == -EISDIR ||
	       error == -EXDEV || error == -ESTALE;
}

static int same_open(const struct k2i_outputs *outputs, const char *path, const struct k2i_ledger_file *file,
		     struct stat *status)
{
	int descriptor = k2i_confine_open(outputs->base, path, 0, 0);

	if (descriptor < 0)
		return descriptor;
	if (fstat(descriptor, status) == 0 && status->st_ino == file->inode &&
	    k2i_file_birth_ns(descriptor, status->st_dev) == file->birth)
		return descriptor;
	(void)close(descriptor);
	return -ESTALE;
}

/* Without a length nothing was committed: a power cut can have taken the name of such a file. */
static void not_found(struct k2i_outputs *outputs, const struct k2i_ledger_file *file, bool cut)
{
	char label[256];

	(void)k2i_text_clean(file->path, label, sizeof(label));
	if (!cut || file->length == 0) {
		k2i_log_limited(&outputs->recover_limit, k2i_clock_now_ns(), K2HFT_LOG_INFO,
				"output: %s is gone, or another file now", label);
		return;
	}
	k2i_count(&outputs->counters->uncut_files, 1);
	k2i_log_limited(&outputs->recover_limit, k2i_clock_now_ns(), K2HFT_LOG_WARNING,
			"output: %s is gone, or another file now, and the one of %" PRIu64
			" bytes is not in its directory: if it is elsewhere, what was not acknowledged in it will be "
			"there twice; if its disk has lost it, so are its records",
			label, file->length);
}

static void not_opened(struct k2i_outputs *outputs, const struct k2i_ledger_file *file, int error, bool cut)
{
	char label[256];

	(void)k2i_text_clean(file->path, label, sizeof(label));
	if (cut)
		k2i_count(&outputs->counters->uncut_files, 1);
	k2i_log_limited(&outputs->stale_limit, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
			"output: %s can't be opened (%s): %s", label, k2i_text_error(error),
			cut ? "what was not acknowledged in it can't be cut off, and will be there twice"
			    : "how long it is can't be compared");
}

enum found_deed { FOUND_LOOK, FOUND_KEEP, FOUND_CUT };

/* Closes the file. Whether it is behind. */
static bool found_take(struct k2i_outputs *outputs, const struct k2i_ledger_file *file, const char *path,
		       int descriptor, const struct stat *status, enum found_deed deed)
{
	bool cut = deed == FOUND_CUT;
	char label[256];

	(void)k2i_text_clean(path, label, sizeof(label));
	/* The process that wrote it may not have brought all of it to the disk. */
	if (cut)
		k2i_output_unsynced(outputs, path, descriptor, status->st_dev);
	if (deed != FOUND_LOOK)
		length_check(outputs, descriptor, label, file->length, (uint64_t)status->st_size, cut);
	(void)close(descriptor);
	return (uint64_t)status->st_size < file->length;
}

/* Renamed files -------------------------------------------------------------------------------------------------- */

/*
 * Rotation goes on while no receiver runs, and what was not acknowledged is in the renamed file then. The new name is
 * looked for where rotation leaves it, beside the old one; once for all files of a directory, since that can be huge.
 */
struct k2i_output_moved {
	struct k2i_ledger_file file; /* its path is the ledger's, which has it until k2i_ledger_begin */
	size_t above_bytes;          /* the length of its directory, in the path */
	enum found_deed deed;        /* once it is found */
	bool found;
};

static size_t above_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

static int moved_add(struct k2i_outputs *outputs, const struct k2i_ledger_file *file, enum found_deed deed)
{
	size_t bytes = (outputs->moved_count + 1) * sizeof(*outputs->moved);
	struct k2i_output_moved *moved = realloc(outputs->moved, bytes);

	if (!moved)
		return -ENOMEM;
	outputs->moved = moved;
	moved[outputs->moved_count++] = (struct k2i_output_moved){*file, above_bytes(file->path), deed, false};
	return 0;
}

static int directory_compare(const struct k2i_output_moved *one, const struct k2i_output_moved *other)
{
	if (one->above_bytes != other->above_bytes)
		return one->above_bytes < other->above_bytes ? -1 : 1;
	return memcmp(one->file.path, other->file.path, one->above_bytes);
}

static int moved_compare(const void *first, const void *second)
{
	const struct k2i_output_moved *one = first, *other = second;
	int order = directory_compare(one, other);

	return order ? order : (one->file.inode > other->file.inode) - (one->file.inode < other->file.inode);
}

/* The first of `moved` .. `end` with this inode or a later one. */
static struct k2i_output_moved *inode_find(struct k2i_output_moved *moved, struct k2i_output_moved *end, uint64_t inode)
{
	struct k2i_output_moved *middle;

	while (moved < end) {
		middle = moved + (end - moved) / 2;
		if (middle->file.inode < inode)
			moved = middle + 1;
		else
			end = middle;
	}
	return moved;
}

/* Whether it has that name now, and is behind. */
static bool moved_try(struct k2i_outputs *outputs, struct k2i_output_moved *moved, const char *name)
{
	size_t at = moved->above_bytes ? moved->above_bytes + 1 : 0;
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	struct stat status;
	int descriptor;

	if (moved->found || at + strlen(name) > K2HFT_STREAM_PATH_BYTES_MAX)
		return false;
	memcpy(path, moved->file.path, at);
	memcpy(path + at, name, strlen(name) + 1);
	descriptor = same_open(outputs, path, &moved->file, &status);
	if (descriptor < 0)
		return false;
	moved->found = true;
	return found_take(outputs, &moved->file, path, descriptor, &status, moved->deed);
}

static DIR *directory_list(const struct k2i_outputs *outputs, const struct k2i_output_moved *moved)
{
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	int directory;
	DIR *list;

	memcpy(path, moved->file.path, moved->above_bytes);
	path[moved->above_bytes] = '\0';
	directory = k2i_confine_directory(outputs->base, path);
	list = directory < 0 ? NULL : fdopendir(directory);
	if (!list && directory >= 0)
		(void)close(directory);
	return list;
}

/* All of one directory. Whether one is behind: the disk can have lost a new file's name, or a rename, too. */
static bool directory_search(struct k2i_outputs *outputs, struct k2i_output_moved *first, struct k2i_output_moved *end)
{
	DIR *list = directory_list(outputs, first);
	struct k2i_output_moved *moved;
	const struct dirent *entry;
	bool behind = false;

	while (list && (entry = readdir(list)) != NULL) {
		moved = inode_find(first, end, entry->d_ino);
		for (; moved < end && moved->file.inode == entry->d_ino; moved++)
			behind |= moved_try(outputs, moved, entry->d_name);
	}
	if (list)
		(void)closedir(list);
	for (moved = first; moved < end; moved++) {
		behind |= !moved->found;
		if (!moved->found && moved->deed != FOUND_LOOK)
			not_found(outputs, &moved->file, moved->deed == FOUND_CUT);
	}
	return behind;
}

/* Behind a rename, once. */
static int renamed_find(const struct k2i_outputs *outputs, const struct k2i_ledger_file *file,
			char path[K2HFT_STREAM_PATH_BYTES_MAX + 1], struct stat *status)
{
	const struct k2i_output_moved moved = {*file, above_bytes(file->path), FOUND_LOOK, false};
	DIR *list = directory_list(outputs, &moved);
	const struct dirent *entry;
	int descriptor = -ENOENT;

	while (list && descriptor < 0 && (entry = readdir(list)) != NULL) {
		if (entry->d_ino == file->inode &&
		    snprintf(path, K2HFT_STREAM_PATH_BYTES_MAX + 1, "%.*s%s%s", (int)moved.above_bytes, file->path,
			     moved.above_bytes ? "/" : "", entry->d_name) <= (int)K2HFT_STREAM_PATH_BYTES_MAX)
			descriptor = same_open(outputs, path, file, status);
	}
	if (list)
		(void)closedir(list);
	return descriptor;
}

int k2i_output_find(const struct k2i_outputs *outputs, const struct k2i_ledger_file *file,
		    char path[K2HFT_STREAM_PATH_BYTES_MAX + 1], struct stat *status)
{
	int descriptor = same_open(outputs, file->path, file, status);

	(void)snprintf(path, K2HFT_STREAM_PATH_BYTES_MAX + 1, "%s", file->path);
	return is_gone(descriptor) ? renamed_find(outputs, file, path, status) : descriptor;
}

bool k2i_outputs_recover_renamed(struct k2i_outputs *outputs)
{
	struct k2i_output_moved *moved = outputs->moved, *end, *next;
	bool behind = false;

	if (!moved)
		return false;
	qsort(moved, outputs->moved_count, sizeof(*moved), moved_compare);
	for (end = moved + outputs->moved_count; moved < end; moved = next) {
		for (next = moved + 1; next < end && directory_compare(moved, next) == 0; next++)
			continue;
		behind |= directory_search(outputs, moved, next);
	}
	free(outputs->moved);
	outputs->moved = NULL;
	outputs->moved_count = 0;
	return behind;
}

/* A lack of memory may make records come again, and takes none. */
bool k2i_outputs_short(struct k2i_outputs *outputs, const struct k2i_ledger_file *file)
{
	struct stat status;
	int descriptor = same_open(outputs, file->path, file, &status);

	if (descriptor >= 0)
		return found_take(outputs, file, file->path, descriptor, &status, FOUND_LOOK);
	return is_gone(descriptor) && moved_add(outputs, file, FOUND_LOOK);
}

void k2i_outputs_recover(struct k2i_outputs *outputs, const struct k2i_ledger_file *file, bool cut)
{
	enum found_deed deed = cut ? FOUND_CUT : FOUND_KEEP;
	struct stat status;
	int descriptor = same_open(outputs, file->path, file, &status), error = descriptor;

	if (descriptor >= 0) {
		writer_keep(outputs, file);
		(void)found_take(outputs, file, file->path, descriptor, &status, deed);
		return;
	}
	if (is_gone(error))
		error = moved_add(outputs, file, deed);
	if (error)
		not_opened(outputs, file, error, cut);
}
