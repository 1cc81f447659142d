/* SPDX-License-Identifier: MIT */
#include "receiver/commit/commit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "receiver/connection/loops.h"
#include "receiver/base/text.h"

/* Beside output files, what can fail. */
#define LEDGER "the ledger"
#define QUARANTINE "the quarantine"

int k2i_committer_start(struct k2i_committer *committer, const struct k2i_destination *destination)
{
	memset(committer, 0, sizeof(*committer));
	committer->destination = destination;
	committer->unify_second = -1;
	k2i_group_start(&committer->group, destination->outputs);
	return k2i_output_writer_start(&committer->writer, destination->format, destination->unify_file != NULL,
				       k2i_outputs_store(destination->outputs));
}

void k2i_committer_free(struct k2i_committer *committer)
{
	k2i_group_free(&committer->group);
	k2i_output_writer_free(&committer->writer);
}

static int unify_update(struct k2i_committer *committer)
{
	uint64_t now_ns = k2i_clock_ns(CLOCK_REALTIME);
	int64_t second = (int64_t)(now_ns / K2I_SECOND_NS);

	if (second == committer->unify_second)
		return 0;
	if (k2i_format_unify(committer->destination->unify_file, now_ns, committer->unify_path))
		return -EINVAL;
	committer->unify_second = second;
	return 0;
}

int k2i_committer_add(struct k2i_committer *committer, struct k2i_stream *stream, const struct k2hft_chunk_view *view)
{
	int error;

	if (!committer->destination->unify_file)
		return k2i_group_add(&committer->group, stream, stream->path, view);
	/* One name for a whole group, so that it rolls over between groups. */
	error = committer->group.entry_count == 0 ? unify_update(committer) : 0;
	return error ? error : k2i_group_add(&committer->group, stream, committer->unify_path, view);
}

void k2i_committer_abort(struct k2i_committer *committer)
{
	k2i_group_clear(&committer->group);
}

static int failed_at(struct k2i_committer *committer, const char *place, int error)
{
	(void)snprintf(committer->failed, sizeof(committer->failed), "%s", place);
	return error;
}

/* Makes a file ready, with what is wrong with itself in `error`; 1: as files_prepare. */
static int file_prepare(struct k2i_committer *committer, struct k2i_group_file *file, bool deferred)
{
	const struct k2i_destination *destination = committer->destination;
	struct k2i_output_file *output = file->output;
	int told = 0, error = k2i_output_prepare(destination->outputs, output);

	/* A unified file is not one sender's choice: whatever is wrong with it concerns everybody. */
	if (error && !destination->unify_file && k2i_output_error_own(error))
		file->error = error;
	else if (error)
		told = failed_at(committer, output->path, error);
	else
		told = k2i_output_tell(destination->outputs, output, deferred);
	if (told < 0 && !error)
		(void)failed_at(committer, LEDGER, told);
	output->error = told < 0 ? told : error;
	file->length_before = output->length;
	file->writer_before = output->open_writer;
	return told;
}

/* 1: the ledger has to be synced before anything is written. */
static int files_prepare(struct k2i_committer *committer, bool deferred)
{
	struct k2i_group_file *file = committer->group.files, *end = file + committer->group.file_count;
	int result, told = 0;

	for (; file < end; file++) {
		result = file_prepare(committer, file, deferred);
		if (result < 0)
			return result;
		told |= result;
	}
	return told;
}

/* One sync for all files, that no byte gets to the disk of which the ledger does not know there. */
static int files_begin(struct k2i_committer *committer, const struct k2i_ledger_ring *ring)
{
	struct k2i_group *group = &committer->group;
	int error = files_prepare(committer, ring->flags & K2I_LEDGER_DEFERRED);
	uint32_t i;

	if (error > 0) {
		error = k2i_ledger_sync(committer->destination->ledger);
		if (error)
			(void)failed_at(committer, LEDGER, error);
	}
	for (i = 0; error && i < group->file_count; i++)
		group->files[i].output->told = K2I_OUTPUT_UNTOLD;
	return error;
}

/* Files 0 .. file_count - 1 were written, the last of them perhaps in part. */
static void files_cut(struct k2i_committer *committer, uint32_t file_count)
{
	struct k2i_group *group = &committer->group;
	struct k2i_group_file *file;
	int error;

	for (file = group->files; file < group->files + file_count; file++) {
		if (file->error)
			continue;
		error = k2i_output_cut(file->output, file->length_before, file->writer_before);
		if (!error)
			continue;
		k2i_log_limited(&committer->uncut_limit, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
				"output: %s can't be cut back to %" PRIu64
				" bytes (%s); that is tried again before anything else is written to it",
				file->output->path, file->length_before, k2i_text_error(error));
	}
}

static int file_store(struct k2i_committer *committer, const struct k2i_ledger_ring *ring, struct k2i_group_file *file)
{
	int error = file->error ? 0 : k2i_output_write(&committer->writer, &committer->group, file);

	/* To open a file anew would not tell that it is as long as it can be. */
	if (error == -EFBIG && !committer->destination->unify_file) {
		error = k2i_output_cut(file->output, file->length_before, file->writer_before);
		file->error = error ? 0 : -EFBIG;
	}
	if (error || !file->error)
		return error;
	return k2i_quarantine_put(committer->destination->quarantine, ring->uuid, &committer->group, file);
}

static int files_store(struct k2i_committer *committer, const struct k2i_ledger_ring *ring)
{
	const struct k2i_destination *destination = committer->destination;
	struct k2i_group *group = &committer->group;
	uint32_t i;
	int error;

	for (i = 0; i < group->file_count; i++) {
		error = file_store(committer, ring, &group->files[i]);
		if (error) {
			group->files[i].output->error = error;
			files_cut(committer, i + 1);
			if (!group->files[i].error && k2i_output_error_own(error))
				k2i_output_refused(destination->outputs, group->files[i].output);
			return failed_at(committer, group->files[i].error ? QUARANTINE : group->files[i].output->path,
					 error);
		}
	}
	return 0;
}

static int ledger_enter(struct k2i_committer *committer, struct k2i_ledger_ring *ring)
{
	struct k2i_ledger_file files[K2I_LEDGER_FILES_MAX];
	const struct k2i_group *group = &committer->group;
	const struct k2i_output_file *output;
	size_t file_count = 0;
	uint32_t i;

	for (i = 0; i < group->file_count; i++) {
		if (group->files[i].error)
			continue;
		output = group->files[i].output;
		files[file_count++] = (struct k2i_ledger_file){.birth = output->birth,
							       .inode = output->inode,
							       .length = output->reached,
							       .open_writer = output->open_writer};
	}
	return k2i_ledger_commit(committer->destination->ledger, ring, files, file_count);
}

static int commit_locked(struct k2i_committer *committer, struct k2i_ledger_ring *ring)
{
	int error = files_begin(committer, ring);

	if (!error)
		error = files_store(committer, ring);
	if (error)
		return error;
	error = ledger_enter(committer, ring);
	if (error)
		files_cut(committer, committer->group.file_count);
	return error ? failed_at(committer, LEDGER, error) : 0;
}

int k2i_committer_commit(struct k2i_committer *committer, struct k2i_ledger_ring *ring)
{
	struct k2i_counters *counters = committer->destination->counters;
	struct k2i_group *group = &committer->group;
	int error;

	committer->writer.terminated_records = 0;
	committer->failed[0] = '\0';
	k2i_group_lock(group);
	error = commit_locked(committer, ring);
	k2i_group_unlock(group);
	if (!error) {
		k2i_count(&counters->commits, 1);
		k2i_count(&counters->chunks, group->entry_count);
		k2i_count(&counters->records, group->record_count);
		k2i_count(&counters->bytes, group->payload_bytes);
		k2i_count(&counters->terminated_records, committer->writer.terminated_records);
	}
	k2i_group_clear(group);
	return error;
}
