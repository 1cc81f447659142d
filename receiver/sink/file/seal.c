/* SPDX-License-Identifier: MIT */
/*
 * Rotation by the receiver: between two groups, with the file's lock, the file gets another name. It has only whole
 * records then. The ledger knows it by its identity, and finds it beside its old name.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crash.h"
#include "receiver/base/confine.h"
#include "receiver/base/text.h"
#include "receiver/sink/file/internal.h"

#define TRIES_MAX 1000u
#define RETRY_NS (10 * K2I_SECOND_NS)
#define STAMP_NS UINT64_C(1000) /* between two names */
/* File systems without a time of birth say a device in its place. */
#define BIRTH_LEAST_NS (UINT64_C(365) * 86400 * K2I_SECOND_NS)

static uint64_t now_s(void)
{
	return k2i_clock_ns(CLOCK_REALTIME_COARSE) / K2I_SECOND_NS;
}

void k2i_output_begun(const struct k2i_outputs *outputs, struct k2i_output_internal *file, const struct stat *status)
{
	uint64_t birth_ns = file->output.birth;

	if (!outputs->rotation)
		return;
	file->begun_s = birth_ns >= BIRTH_LEAST_NS ? birth_ns / K2I_SECOND_NS : (uint64_t)status->st_mtime;
	file->period_s = k2i_rotation_period_s(outputs->rotation);
	atomic_store(&file->due_s, k2i_rotation_due_s(outputs->rotation, file->begun_s));
}

bool k2i_output_due(const struct k2i_outputs *outputs, struct k2i_output_internal *file)
{
	const struct k2i_output_file *output = &file->output;
	uint64_t bytes, due_s, period_s;

	if (!outputs->rotation)
		return false;
	bytes = k2i_rotation_bytes(outputs->rotation);
	period_s = k2i_rotation_period_s(outputs->rotation);
	if (period_s != file->period_s) {
		file->period_s = period_s;
		atomic_store(&file->due_s, k2i_rotation_due_s(outputs->rotation, file->begun_s));
	}
	due_s = atomic_load(&file->due_s);
	return output->descriptor >= 0 && output->length && !output->open_writer && !file->stale_tail &&
	       ((bytes && output->length >= bytes) || (due_s && now_s() >= due_s)) &&
	       k2i_clock_ns(CLOCK_MONOTONIC_COARSE) >= atomic_load(&file->seal_retry_ns);
}

/* Where a file system can't rename without taking another's place, a second name does it. */
static int name_change(int directory, const char *name, const char *sealed_name)
{
	if (renameat2(directory, name, directory, sealed_name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(directory, name, directory, sealed_name, 0) < 0)
		return -errno;
	return unlinkat(directory, name, 0) < 0 ? -errno : 0;
}

static int file_rename(const struct k2i_outputs *outputs, const char *path, const char *sealed_path)
{
	char above[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	const char *slash = strrchr(path, '/');
	size_t at = slash ? (size_t)(slash - path) + 1 : 0;
	int directory, error;

	(void)snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - path) : 0, path);
	directory = k2i_confine_directory(outputs->base, above);
	if (directory < 0)
		return directory;
	error = name_change(directory, path + at, sealed_path + at);
	(void)close(directory);
	return error;
}

/* The name is free, or the next is tried. */
static int stamp_try(struct k2i_outputs *outputs, struct k2i_output_internal *file, uint64_t time_ns,
		     char path[K2HFT_STREAM_PATH_BYTES_MAX + 1])
{
	const struct k2i_output_file *output = &file->output;
	const struct k2i_sealing sealing = {.name = output->path,
					    .path = path,
					    .birth = output->birth,
					    .inode = output->inode,
					    .length = output->length,
					    .time_ns = time_ns};
	int error = k2i_sealed_path(output->path, time_ns, path);

	if (!error)
		error = k2i_rotation_begin(outputs->rotation, &sealing);
	if (error)
		return error;
	K2I_CRASH(rotation_begun);
	error = file_rename(outputs, output->path, path);
	K2I_CRASH(rotation_renamed);
	if (error)
		k2i_rotation_end(outputs->rotation, path, false);
	return error;
}

int k2i_output_seal(struct k2i_outputs *outputs, struct k2i_output_internal *file,
		    char path[K2HFT_STREAM_PATH_BYTES_MAX + 1])
{
	uint64_t time_ns = k2i_clock_ns(CLOCK_REALTIME);
	unsigned tries = 0;
	int error;

	do {
		if (time_ns < file->sealed_ns + STAMP_NS)
			time_ns = file->sealed_ns + STAMP_NS;
		error = stamp_try(outputs, file, time_ns, path);
		file->sealed_ns = time_ns;
	} while (error == -EEXIST && ++tries < TRIES_MAX);
	if (!error) {
		k2i_count(&outputs->counters->rotated_files, 1);
		return 0;
	}
	atomic_store(&file->seal_retry_ns, k2i_clock_ns(CLOCK_MONOTONIC_COARSE) + RETRY_NS);
	k2i_count(&outputs->counters->rotation_errors, 1);
	k2i_log_limited(&outputs->rotation_limit, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
			"output: %s can't be rotated: %s; it goes on, and that is tried again", file->label,
			k2i_text_error(error));
	return error;
}
