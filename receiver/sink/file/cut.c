/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "receiver/sink/file/internal.h"

/*
 * A disk that does not tell the length of a file has not moved its descriptor, which stands where the last write ended.
 */
static void stale_tail_set(struct k2i_output_internal *file, off_t end)
{
	if (end > (off_t)file->output.length)
		file->stale_tail = (uint64_t)end;
}

int k2i_output_cut(struct k2i_output_file *output, uint64_t length, uint64_t open_writer)
{
	struct k2i_output_internal *file = k2i_output_internal(output);
	struct stat status;
	bool known = fstat(output->descriptor, &status) == 0;
	int error;

	output->open_writer = open_writer;
	output->length = length;
	k2i_store_behind_set(&output->behind, length);
	/*
	 * Nothing was written, and a file system that is read-only now would refuse to cut. Or somebody has made room:
	 * k2i_output_prepare will see that, and here it would become zeros as long as it was.
	 */
	if (known && (uint64_t)status.st_size <= length)
		return 0;
	if (ftruncate(output->descriptor, (off_t)length) < 0) {
		error = -errno;
		stale_tail_set(file, known ? status.st_size : lseek(output->descriptor, 0, SEEK_CUR));
		return error;
	}
	file->dirty = true;
	return 0;
}

/* Until then it may yet be cut. A tail that is gone with its file is nowhere twice. */
void k2i_output_stale_tail_keep(struct k2i_outputs *outputs, struct k2i_output_internal *file)
{
	if (!file->stale_tail)
		return;
	file->stale_tail = 0;
	k2i_count(&outputs->counters->uncut_files, 1);
	k2i_log_limited(&outputs->stale_limit, k2i_clock_ns(CLOCK_MONOTONIC_COARSE), K2HFT_LOG_ERROR,
			"output: what was to be cut off %s stays: records can be there twice", file->label);
}

int k2i_output_stale_tail_cut(struct k2i_outputs *outputs, struct k2i_output_internal *file)
{
	struct k2i_output_file *output = &file->output;
	struct stat status;
	int error;

	if (!file->stale_tail)
		return 0;
	if (output->descriptor < 0 || fstat(output->descriptor, &status) < 0)
		return -EIO;
	/*
	 * The tail can't be distinguished from what somebody else has written. A tail that can never be cut stays.
	 */
	error = (uint64_t)status.st_size == file->stale_tail ? 0 : -EPERM;
	if (!error && status.st_nlink) {
		error = k2i_output_cut(output, output->length, output->open_writer);
		if (error && !k2i_output_error_own(error))
			return error;
	}
	if (error && status.st_nlink && status.st_size)
		k2i_output_stale_tail_keep(outputs, file);
	file->stale_tail = 0;
	return 0;
}
