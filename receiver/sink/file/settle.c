/* SPDX-License-Identifier: MIT */
/*
 * Settlement: what files have of a ring beyond a position. Only the end of a file can be cut off. The ledger says first
 * how long the file will be, so that a start after a kill does not miss what is gone, and keeps the ranges until all is
 * done, so that it can be done again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/hash.h"
#include "receiver/sink/render.h"
#include "receiver/sink/file/internal.h"

#define RANGE_OWN 0x10000u /* of ranges that are in the row of the receiver's own ring */

/* A file of which ranges are settled, the newest first. */
struct settled {
	struct k2i_outputs *outputs;
	struct k2i_settling *settling;
	struct k2i_ledger_range *ranges;
	size_t count;
	int descriptor; /* -1: it is not there, or can't be opened */
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
};

/* Those whose place is not known come last. */
static int range_compare(const void *first, const void *second)
{
	const struct k2i_ledger_range *one = first, *other = second;
	uint32_t loose = (one->flags ^ other->flags) & K2I_LEDGER_RANGE_LOOSE;

	if (one->inode != other->inode)
		return one->inode < other->inode ? -1 : 1;
	if (one->birth != other->birth)
		return one->birth < other->birth ? -1 : 1;
	if (loose)
		return one->flags & K2I_LEDGER_RANGE_LOOSE ? 1 : -1;
	return (one->offset < other->offset) - (one->offset > other->offset);
}

/* Whether the range is gone if the file is cut to `at`, which it moves; `cut` has the file as it is then. */
static bool range_ends(const struct k2i_ledger_range *range, struct k2i_ledger_file *cut)
{
	if (range->flags & K2I_LEDGER_RANGE_LOOSE)
		return false;
	if (range->flags & K2I_LEDGER_RANGE_CUT && cut->length <= range->offset)
		return true;
	if (range->offset + range->bytes != cut->length)
		return false;
	cut->length = range->offset;
	cut->open_writer = range->open_writer;
	return true;
}

/* How many ranges are at the file's end, which is cut there: then they are in `cut`. */
static size_t ending_count(const struct settled *settled, struct k2i_ledger_file *cut)
{
	size_t count = 0;

	while (count < settled->count && range_ends(&settled->ranges[count], cut))
		count++;
	return count;
}

/* In the row of each ring that has ranges there. */
static int cut_enter(const struct settled *settled, const struct k2i_ledger_file *cut)
{
	struct k2i_ledger *ledger = settled->outputs->ledger;
	struct k2i_ledger_ring own = *settled->settling->row;

	memcpy(own.uuid, k2i_ledger_uuid(ledger), sizeof(own.uuid));
	for (size_t i = 0; i < settled->count; i++) {
		int error = settled->ranges[i].flags & RANGE_OWN ? k2i_ledger_cut(ledger, &own, cut) : 0;

		if (error)
			return error;
	}
	return k2i_ledger_cut(ledger, settled->settling->row, cut);
}

static int file_cut(const struct settled *settled, struct k2i_output_internal *file, const struct k2i_ledger_file *cut)
{
	struct k2i_output_file *output = &file->output;
	int error = cut_enter(settled, cut);

	K2I_CRASH(settle_cut_before);
	if (!error && (ftruncate(settled->descriptor, (off_t)cut->length) < 0 || fdatasync(settled->descriptor) < 0))
		error = -errno;
	K2I_CRASH(settle_cut);
	if (error || output->birth != cut->birth || output->inode != cut->inode)
		return error;
	output->length = output->reached = cut->length;
	output->open_writer = cut->open_writer;
	k2i_store_behind_set(&output->behind, cut->length);
	return 0;
}

/* The file of these ranges, locked; as many of them as it ends in are cut off. */
static int ending_cut(struct settled *settled, struct k2i_output_internal *file, const struct stat *status,
		      size_t *cut_count)
{
	struct k2i_ledger_file cut = {
		.birth = settled->ranges->birth, .inode = settled->ranges->inode, .length = (uint64_t)status->st_size};

	*cut_count = ending_count(settled, &cut);
	return cut.length < (uint64_t)status->st_size ? file_cut(settled, file, &cut) : 0;
}

/* The descriptor is for writing alone. */
static void range_hash(const struct settled *settled, struct k2i_retraction *retraction)
{
	char name[64], *bytes = malloc(retraction->bytes + 1);
	int descriptor;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", settled->descriptor);
	descriptor = settled->descriptor < 0 ? -1 : open(name, O_RDONLY | O_CLOEXEC);
	retraction->hashed =
		bytes && descriptor >= 0 &&
		pread(descriptor, bytes, retraction->bytes, (off_t)retraction->offset) == (ssize_t)retraction->bytes;
	if (retraction->hashed)
		retraction->checksum = k2i_hash(bytes, retraction->bytes);
	if (descriptor >= 0)
		(void)close(descriptor);
	free(bytes);
}

static int range_retract(const struct settled *settled, const struct k2i_ledger_range *range)
{
	struct k2i_retraction retraction = {.base = settled->outputs->base_path,
					    .path = settled->path,
					    .offset = range->offset,
					    .bytes = range->bytes,
					    .loose = range->flags & K2I_LEDGER_RANGE_LOOSE,
					    .from = range->from,
					    .to = range->to,
					    .records = range->records};

	if (!retraction.loose)
		range_hash(settled, &retraction);
	return settled->settling->retract(settled->settling->argument, &retraction);
}

/* Whether an error says that a file can't be opened, not that the disk fails. */
static bool stays(int error)
{
	return error == -ENOENT || error == -ESTALE || k2i_output_error_own(error);
}

/*
 * A file that has another name now. A sealed one is cut as any other, unless it is compressed, or POSTROTATE has it. A
 * file that somebody else has renamed is his: it is being rotated, or compressed.
 */
static int renamed_settle(struct settled *settled, struct k2i_output_internal *file, struct stat *status,
			  size_t *cut_count)
{
	struct k2i_rotation *rotation = settled->outputs->rotation;
	const uint64_t birth = settled->ranges->birth, inode = settled->ranges->inode;
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1] = "";
	int error = 0;

	if (rotation && k2i_rotation_hold(rotation, birth, inode, path)) {
		if (settled->descriptor >= 0 && strcmp(settled->path, path) == 0)
			error = ending_cut(settled, file, status, cut_count);
		/* Nothing is known of it if that fails; it is as long as the list says, or is let alone. */
		if (settled->descriptor < 0 || fstat(settled->descriptor, status) < 0)
			status->st_size = 0;
		k2i_rotation_release(rotation, birth, inode, (uint64_t)status->st_size);
	}
	if (*path)
		(void)snprintf(settled->path, sizeof(settled->path), "%s", path);
	return error;
}

static int file_settle(struct settled *settled, struct k2i_output_internal *file)
{
	const struct k2i_ledger_file wanted = {
		.birth = settled->ranges->birth, .inode = settled->ranges->inode, .path = settled->ranges->path};
	struct stat status;
	size_t cut_count = 0;
	int error = file->output.descriptor < 0 ? 0 : k2i_output_stale_tail_cut(settled->outputs, file);

	if (error)
		return error;
	(void)pthread_rwlock_rdlock(&settled->outputs->base_lock);
	settled->descriptor = k2i_output_find(settled->outputs, &wanted, settled->path, &status);
	(void)pthread_rwlock_unlock(&settled->outputs->base_lock);
	if (settled->descriptor >= 0 && strcmp(settled->path, wanted.path) == 0)
		error = ending_cut(settled, file, &status, &cut_count);
	else if (settled->descriptor >= 0 || stays(settled->descriptor))
		error = renamed_settle(settled, file, &status, &cut_count);
	else
		error = settled->descriptor;
	for (size_t i = cut_count; i < settled->count && !error; i++) {
		if (settled->ranges[i].bytes)
			error = range_retract(settled, &settled->ranges[i]);
	}
	if (settled->descriptor >= 0)
		(void)close(settled->descriptor);
	return error;
}

static int ranges_settle(struct settled *settled)
{
	struct k2i_output_file *output;
	int error = k2i_output_acquire(settled->outputs, settled->ranges->path, &output);

	if (error)
		return error;
	k2i_output_lock(output);
	error = file_settle(settled, k2i_output_internal(output));
	k2i_output_unlock(output);
	k2i_output_release(settled->outputs, output);
	return error;
}

static int files_settle(struct k2i_outputs *outputs, struct k2i_settling *settling)
{
	struct k2i_ledger_range *range = settling->ranges, *end = range + settling->range_count, *next;
	int error = 0;

	qsort(range, settling->range_count, sizeof(*range), range_compare);
	for (; range < end && !error; range = next) {
		struct settled settled = {.outputs = outputs, .settling = settling, .ranges = range};

		for (next = range; next < end && next->inode == range->inode && next->birth == range->birth; next++)
			settled.count++;
		error = ranges_settle(&settled);
	}
	return error;
}

/* The place of a record that ended at a position of the receiver's own ring. */
static int own_add(struct k2i_settling *settling, const struct k2i_ledger_range *own, size_t own_count, uint64_t end,
		   uint64_t from, uint64_t to)
{
	const struct k2i_retraction unknown = {.loose = true, .from = from, .to = to, .records = 1};
	struct k2i_ledger_range *added = settling->ranges + settling->range_count;

	while (own_count && own->from != end)
		own++, own_count--;
	if (!own_count)
		return settling->retract(settling->argument, &unknown);
	*added = *own;
	added->from = from;
	added->to = to;
	added->flags |= RANGE_OWN;
	settling->range_count++;
	return 0;
}

int k2i_outputs_settle(struct k2i_outputs *outputs, struct k2i_carry *carry, struct k2i_settling *settling)
{
	const struct k2i_ledger_ring *row = settling->row;
	struct k2i_settling all = *settling;
	struct k2i_ledger_range *own;
	uint64_t end = UINT64_MAX, from, to;
	size_t own_count;
	int error =
		k2i_ledger_ranges(outputs->ledger, k2i_ledger_uuid(outputs->ledger), row->sink, 0, &own, &own_count);

	if (error)
		return error;
	all.ranges = malloc((settling->range_count + own_count + 1) * sizeof(*all.ranges));
	if (!all.ranges)
		error = -ENOMEM;
	else if (settling->range_count)
		memcpy(all.ranges, settling->ranges, settling->range_count * sizeof(*all.ranges));
	while (!error && carry && k2i_carry_ended_early(carry, row->uuid, row->position, &end, &from, &to))
		error = own_add(&all, own, own_count, end, from, to);
	if (!error)
		error = files_settle(outputs, &all);
	free(all.ranges);
	free(own);
	return error;
}
