/* SPDX-License-Identifier: MIT */
#include "receiver/sink/file/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "receiver/base/file_identity.h"
#include "base/clock.h"
#include "receiver/base/confine.h"
#include "base/crash.h"
#include "base/log.h"
#include "receiver/sink/file/internal.h"
#include "config/path.h"
#include "receiver/base/table.h"
#include "receiver/base/text.h"

#define RECOVER_LINES 100u /* in ten seconds */
#define IDLE_CLOSE_NS UINT64_C(10000000000)

/* FILE_UNIFY alone can be one, since no stream has such a path: it has no length, and nothing to be synced or cut. */
static bool is_device(const struct k2i_output_file *output)
{
	return k2i_output_device(output->path);
}

/* Opening and closing -------------------------------------------------------------------------------------------- */

static struct k2i_store_options store_get(struct k2i_outputs *outputs, mode_t *file_mode)
{
	struct k2i_store_options store;

	(void)pthread_mutex_lock(&outputs->mutex);
	store = outputs->store;
	*file_mode = outputs->file_mode;
	(void)pthread_mutex_unlock(&outputs->mutex);
	return store;
}

struct k2i_store_options k2i_outputs_store(struct k2i_outputs *outputs)
{
	mode_t file_mode;

	return store_get(outputs, &file_mode);
}

void k2i_outputs_change(struct k2i_outputs *outputs, mode_t file_mode, const struct k2i_store_options *store)
{
	(void)pthread_mutex_lock(&outputs->mutex);
	outputs->store = *store;
	outputs->file_mode = file_mode;
	(void)pthread_mutex_unlock(&outputs->mutex);
}

struct closing { /* a descriptor that no output has any more */
	int descriptor;
	uint64_t length;
	struct k2i_store_behind behind;
};

/* The length of an open file. The caller holds the output's lock. */
static struct closing descriptor_take(struct k2i_outputs *outputs, struct k2i_output_internal *file)
{
	const struct closing closing = {file->output.descriptor, file->output.length, file->output.behind};

	(void)k2i_output_stale_tail_cut(outputs, file);
	if (file->dirty)
		k2i_output_unsynced(outputs, file->output.path, file->output.descriptor, file->output.device);
	if (file->lost)
		atomic_store(&outputs->lost, file->lost);
	file->dirty = false;
	file->lost = 0;
	file->output.descriptor = -1;
	/* A record that goes on must find its file again after a restart, too, and so must a tail that is to be cut. */
	if (outputs->ledger && !file->output.open_writer && !file->stale_tail && !is_device(&file->output))
		k2i_ledger_file_closed(outputs->ledger, file->output.birth, file->output.inode);
	return closing;
}

/* Waits for the disk. */
static void descriptor_close(struct k2i_outputs *outputs, struct closing *closing)
{
	const struct k2i_store_options store = k2i_outputs_store(outputs);

	k2i_store_behind_end(&closing->behind, &store, closing->descriptor, closing->length);
	(void)close(closing->descriptor);
	atomic_fetch_sub(&outputs->counters->files_open, 1);
}

/* The caller holds the output's lock. */
static void file_close(struct k2i_outputs *outputs, struct k2i_output_internal *file)
{
	struct closing closing = descriptor_take(outputs, file);

	descriptor_close(outputs, &closing);
}

/*
 * State that descriptor_take has left open in the ledger is not looked for any more: a record that goes on, a rest to
 * be cut.
 */
static void closed_drop(struct k2i_outputs *outputs, struct k2i_output_internal *file, bool emptied)
{
	struct k2i_output_file *output = &file->output;

	if (outputs->ledger && (output->open_writer || file->stale_tail))
		k2i_ledger_file_closed(outputs->ledger, output->birth, output->inode);
	output->open_writer = 0;
	atomic_store(&file->due_s, 0);
	if (!emptied)
		k2i_output_stale_tail_keep(outputs, file);
	file->stale_tail = 0;
}

/*
 * The first open output of those without references. The others' knowledge of a record that goes on is kept, but not
 * for ever: FILE_UNIFY's name can be another one each minute. The first of too many of them.
 */
static struct k2i_output_internal *idle_first(const struct k2i_outputs *outputs)
{
	struct k2i_output_internal *first = K2I_LIST_ENTRY(outputs->idle.oldest, struct k2i_output_internal, idle);
	struct k2i_output_internal *file = first;
	unsigned kept = 0;

	for (; file && file->output.descriptor < 0;
	     file = K2I_LIST_ENTRY(file->idle.newer, struct k2i_output_internal, idle))
		if (++kept > K2I_OUTPUTS_KEPT_MAX)
			return first;
	return file;
}

/*
 * The next of the outputs that nobody has referred to since then, with its lock: nobody else can have that, and a
 * thread that refers to the output from now on waits for it.
 */
static struct k2i_output_internal *idle_take(struct k2i_outputs *outputs, uint64_t released_ns)
{
	struct k2i_output_internal *file;

	(void)pthread_mutex_lock(&outputs->mutex);
	file = idle_first(outputs);
	if (file && file->output.descriptor >= 0 && file->released_ns > released_ns)
		file = NULL;
	if (file) {
		k2i_output_refer(outputs, file);
		(void)pthread_mutex_trylock(&file->mutex);
	}
	(void)pthread_mutex_unlock(&outputs->mutex);
	return file;
}

/*
 * Without the table's lock: the ledger can be waiting for the disk, and a close can. A file of which something is still to
 * be cut off stays open, unless it is in the way, since nobody would try again. False: there is no other, or it stays.
 */
static bool idle_close(struct k2i_outputs *outputs, uint64_t released_ns, bool in_the_way)
{
	struct k2i_output_internal *file = idle_take(outputs, released_ns);
	struct closing closing = {.descriptor = -1};
	bool stays = false;

	if (!file)
		return false;
	if (file->output.descriptor < 0)
		closed_drop(outputs, file, false);
	else if (in_the_way || k2i_output_stale_tail_cut(outputs, file) == 0)
		closing = descriptor_take(outputs, file);
	else
		stays = true;
	k2i_output_unlock(&file->output);
	k2i_output_release(outputs, &file->output);
	if (closing.descriptor >= 0)
		descriptor_close(outputs, &closing);
	return !stays;
}

static void room_make(struct k2i_outputs *outputs)
{
	while (atomic_load(&outputs->counters->files_open) >= outputs->open_max &&
	       idle_close(outputs, UINT64_MAX, true))
		continue;
}

static int device_open(struct k2i_outputs *outputs, struct k2i_output_file *output)
{
	int descriptor = open(output->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (descriptor < 0)
		return -errno;
	if (fstat(descriptor, &status) < 0 || !S_ISCHR(status.st_mode)) {
		(void)close(descriptor);
		return -ENXIO;
	}
	output->descriptor = descriptor;
	atomic_fetch_add(&outputs->counters->files_open, 1);
	return 0;
}

static int file_open(struct k2i_outputs *outputs, struct k2i_output_internal *file)
{
	struct k2i_output_file *output = &file->output;
	struct k2i_store_options store;
	struct stat status;
	uint64_t birth;
	mode_t file_mode;
	int descriptor;
	bool same;

	if (k2i_output_leads_to_state(outputs, output->path))
		return -EACCES;
	if (outputs->rotation)
		k2i_rotation_give(outputs->rotation, output->path);
	room_make(outputs);
	file->generation = atomic_load(&outputs->generation);
	store = store_get(outputs, &file_mode);
	descriptor =
		k2i_confine_open(outputs->base, output->path, O_APPEND | O_CREAT | k2i_store_flags(&store), file_mode);
	if (descriptor < 0)
		return descriptor;
	if (fstat(descriptor, &status) < 0) {
		(void)close(descriptor);
		return -EIO;
	}
	birth = k2i_file_birth_ns(descriptor, status.st_dev);
	same = birth == output->birth && status.st_ino == output->inode;
	if (!same || status.st_size == 0)
		closed_drop(outputs, file, same);
	output->birth = birth;
	output->device = status.st_dev;
	output->inode = status.st_ino;
	if (!file->stale_tail || (uint64_t)status.st_size != file->stale_tail) {
		output->length = (uint64_t)status.st_size;
		k2i_output_stale_tail_keep(outputs, file);
	}
	k2i_store_behind_set(&output->behind, output->length);
	output->descriptor = descriptor;
	output->ledger_state = K2I_OUTPUT_LEDGER_UNKNOWN;
	k2i_output_begun(outputs, file, &status);
	file->fresh = true;
	atomic_fetch_add(&outputs->counters->files_open, 1);
	K2I_CRASH(output_opened);
	return 0;
}

/*
 * Somebody else wrote to the file or cut it (logrotate's copytruncate). The length is the base of what is cut off after
 * a failure, so that must not take what is not ours.
 */
static void file_changed(struct k2i_outputs *outputs, struct k2i_output_internal *file, uint64_t length)
{
	k2i_count(&outputs->counters->changed_files, 1);
	k2i_log_limited(&file->changed_limit, k2i_clock_ns(CLOCK_MONOTONIC_COARSE), K2HFT_LOG_WARNING,
			"output: %s was changed by somebody else from %" PRIu64 " to %" PRIu64 " bytes", file->label,
			file->output.length, length);
	if (length == 0)
		file->output.open_writer = 0;
	file->output.length = length;
	file->output.ledger_state = K2I_OUTPUT_LEDGER_UNKNOWN;
	k2i_store_behind_set(&file->output.behind, length);
}

/*
 * The tail that a failed commit left in the file is cut off before anything is written behind it. If the machine still
 * refuses that, as a disk does that is read-only for a while, the writer is held; only a tail that can never be cut
 * stays.
 */
static int length_settle(struct k2i_outputs *outputs, struct k2i_output_internal *file, uint64_t length)
{
	int error = length == file->output.length ? 0 : -EPERM;

	if (error && file->stale_tail && file->stale_tail == length)
		error = k2i_output_cut(&file->output, file->output.length, file->output.open_writer);
	if (error && !k2i_output_error_own(error))
		return error;
	if (error && length)
		k2i_output_stale_tail_keep(outputs, file);
	file->stale_tail = 0;
	if (error)
		file_changed(outputs, file, length);
	return 0;
}

/* 0: the open file is what its path names; 1: it is not; an error: a disk that fails, say, does not tell. */
static int file_elsewhere(const struct k2i_outputs *outputs, const struct k2i_output_internal *file, uint64_t *length)
{
	const struct k2i_output_file *output = &file->output;
	struct stat status;

	if (file->generation != atomic_load(&outputs->generation))
		return 1;
	if (fstatat(outputs->base, output->path, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 1 : -errno;
	*length = (uint64_t)status.st_size;
	return status.st_dev != output->device || status.st_ino != output->inode;
}

/* After SIGHUP, and when the base directory is another, that is no news. */
static void file_replaced(struct k2i_outputs *outputs, struct k2i_output_internal *file)
{
	if (file->generation == atomic_load(&outputs->generation)) {
		k2i_count(&outputs->counters->replaced_files, 1);
		k2i_log_limited(&file->replaced_limit, k2i_clock_ns(CLOCK_MONOTONIC_COARSE), K2HFT_LOG_INFO,
				"output: %s was removed or renamed by somebody: it is begun anew", file->label);
	}
	file_close(outputs, file);
}

bool k2i_output_refused_path(const struct k2i_outputs *outputs, const char *path)
{
	return k2i_path_below(path, K2I_STATE_NAME) ||
	       (outputs->refused_prefix && k2i_path_below(path, outputs->refused_prefix));
}

/* With the base's lock. */
static int file_ready(struct k2i_outputs *outputs, struct k2i_output_internal *file)
{
	struct k2i_output_file *output = &file->output;
	uint64_t length = 0;
	int error = 0;

	if (output->descriptor >= 0)
		error = file_elsewhere(outputs, file, &length);
	if (error > 0)
		file_replaced(outputs, file);
	else if (error)
		file_close(outputs, file);
	if (output->descriptor < 0) {
		error = file_open(outputs, file);
		length = file->stale_tail ? file->stale_tail : output->length;
	}
	return error ? error : length_settle(outputs, file, length);
}

/* Likewise: a file that is ready is sealed and closed; false: it goes on. */
static bool file_seal(struct k2i_outputs *outputs, struct k2i_output_internal *file)
{
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];

	if (k2i_output_seal(outputs, file, path))
		return false;
	file_close(outputs, file);
	atomic_store(&file->due_s, 0);
	file->output.length = 0;
	K2I_CRASH(rotation_closed);
	k2i_rotation_end(outputs->rotation, path, true);
	return true;
}

int k2i_output_prepare(struct k2i_outputs *outputs, struct k2i_output_file *output)
{
	struct k2i_output_internal *file = k2i_output_internal(output);
	int error;

	if (is_device(output))
		return output->descriptor < 0 ? device_open(outputs, output) : 0;
	if (k2i_output_refused_path(outputs, output->path))
		return -EACCES;
	(void)pthread_rwlock_rdlock(&outputs->base_lock);
	error = file_ready(outputs, file);
	if (!error && k2i_output_due(outputs, file) && file_seal(outputs, file))
		error = file_ready(outputs, file);
	(void)pthread_rwlock_unlock(&outputs->base_lock);
	return error;
}

void k2i_output_rotate(struct k2i_outputs *outputs, struct k2i_output_file *output, bool left)
{
	struct k2i_output_internal *file = k2i_output_internal(output);
	struct stat status;

	(void)pthread_rwlock_rdlock(&outputs->base_lock);
	if (fstatat(outputs->base, output->path, &status, AT_SYMLINK_NOFOLLOW) < 0 || file_ready(outputs, file)) {
		atomic_store(&file->due_s, 0);
	} else if (k2i_output_due(outputs, file) || (left && output->length)) {
		/* Nobody goes on with its last record there. */
		output->open_writer = 0;
		(void)file_seal(outputs, file);
	}
	(void)pthread_rwlock_unlock(&outputs->base_lock);
}

void k2i_outputs_rotation(struct k2i_outputs *outputs, struct k2i_rotation *rotation)
{
	outputs->rotation = rotation;
}

int k2i_output_tell(struct k2i_outputs *outputs, struct k2i_output_file *output, bool deferred)
{
	const struct k2i_ledger_file file = {.birth = output->birth,
					     .inode = output->inode,
					     .length = output->length,
					     .open_writer = output->open_writer,
					     .path = output->path,
					     .deferred = deferred};
	int result;

	/* A file can't go back to its checkpoint with records in its tail that were acknowledged at once. */
	if (!outputs->ledger || is_device(output) ||
	    output->ledger_state == (deferred ? K2I_OUTPUT_LEDGER_DEFERRED : K2I_OUTPUT_LEDGER_KEPT) ||
	    output->ledger_state == K2I_OUTPUT_LEDGER_KEPT)
		return 0;
	result = k2i_ledger_file_opened(outputs->ledger, &file);
	if (result < 0)
		file_close(outputs, k2i_output_internal(output));
	else
		output->ledger_state = deferred ? K2I_OUTPUT_LEDGER_DEFERRED : K2I_OUTPUT_LEDGER_KEPT;
	return result;
}

/* At level synced the next round says it again, and those records come again; at level written this is all that is said. */
static void disk_refused(struct k2i_outputs *outputs, struct k2i_output_internal *file, int error)
{
	file->lost = error;
	k2i_count(&outputs->counters->disk_errors, 1);
	k2i_log_limited(&outputs->disk_limit, k2i_clock_ns(CLOCK_MONOTONIC_COARSE), K2HFT_LOG_ERROR,
			"output: the disk refuses what %s had: %s; what was acknowledged at level written may be lost",
			file->label, k2i_text_error(error));
}

void k2i_output_written(struct k2i_outputs *outputs, struct k2i_output_file *output,
			const struct k2i_store_writer *writer)
{
	struct k2i_output_internal *file = k2i_output_internal(output);
	off_t end = writer->written_bytes ? lseek(output->descriptor, 0, SEEK_CUR) : 0;
	int error;

	output->length += writer->written_bytes;
	if (is_device(output))
		return;
	output->reached = end > (off_t)output->length ? (uint64_t)end : output->length;
	file->dirty = true;
	error = k2i_store_behind_advance(&output->behind, &writer->options, output->descriptor, output->length);
	if (error)
		disk_refused(outputs, file, error);
}

void k2i_output_refused(struct k2i_outputs *outputs, struct k2i_output_file *output)
{
	k2i_output_internal(output)->generation = atomic_load(&outputs->generation) - 1;
}

static void idle_close_before(struct k2i_outputs *outputs, uint64_t released_ns, bool in_the_way)
{
	while (idle_close(outputs, released_ns, in_the_way))
		continue;
}

void k2i_outputs_reopen(struct k2i_outputs *outputs)
{
	atomic_fetch_add(&outputs->generation, 1);
	/* Files that are used from now on are opened anew already, and senders that are busy would keep this going. */
	idle_close_before(outputs, k2i_clock_ns(CLOCK_MONOTONIC_COARSE), true);
}

void k2i_outputs_tick(struct k2i_outputs *outputs, uint64_t now_ns)
{
	k2i_output_base_check(outputs);
	if (now_ns > IDLE_CLOSE_NS)
		idle_close_before(outputs, now_ns - IDLE_CLOSE_NS, false);
}

/* Start and end -------------------------------------------------------------------------------------------------- */

int k2i_outputs_create(const struct k2i_outputs_options *options, struct k2i_outputs **outputs)
{
	struct k2i_outputs *made = calloc(1, sizeof(*made));
	int error;

	if (!made)
		return -ENOMEM;
	made->open_max = options->open_max;
	made->file_mode = options->file_mode;
	made->store = options->store;
	made->ledger = options->ledger;
	made->counters = options->counters;
	made->recover_limit.burst = made->stale_limit.burst = RECOVER_LINES;
	made->base = -1;
	atomic_store(&made->unsynced, options->killed);
	made->next_number = 1;
	(void)pthread_rwlock_init(&made->base_lock, NULL);
	(void)pthread_mutex_init(&made->mutex, NULL);
	(void)pthread_mutex_init(&made->other_mounts_mutex, NULL);
	made->base_path = strdup(options->base_directory);
	made->refused_prefix = options->refused_prefix ? strdup(options->refused_prefix) : NULL;
	made->state_directory = options->state_directory;
	error = made->base_path && (made->refused_prefix || !options->refused_prefix)
			? k2i_outputs_base_make(made->base_path, made->file_mode)
			: -ENOMEM;
	if (!error)
		error = k2i_output_base_open(made);
	if (error)
		(void)k2i_outputs_free(made, false);
	else
		*outputs = made;
	return error;
}

struct settling {
	struct k2i_outputs *outputs;
	int error;
};

/* A start cuts nothing if the receiver before it ended in order. */
static void file_settle(void *argument, struct k2i_table_node *node)
{
	struct settling *settling = argument;
	int error =
		k2i_output_stale_tail_cut(settling->outputs, K2I_TABLE_ENTRY(node, struct k2i_output_internal, node));

	if (error)
		settling->error = error;
}

/* Not descriptor_take: the ledger's last word on these files is their length. */
static void file_end(void *argument, struct k2i_table_node *node)
{
	struct k2i_output_internal *file = K2I_TABLE_ENTRY(node, struct k2i_output_internal, node);

	(void)argument;
	if (file->output.descriptor >= 0)
		(void)close(file->output.descriptor);
	(void)pthread_mutex_destroy(&file->mutex);
	free(file);
}

int k2i_outputs_free(struct k2i_outputs *outputs, bool sync)
{
	struct settling settling = {outputs, 0};
	int error;

	if (!outputs)
		return 0;
	if (sync)
		k2i_table_each(&outputs->table, file_settle, &settling);
	error = sync ? k2i_outputs_sync(outputs) : 0;
	if (!error)
		error = settling.error;
	k2i_table_each(&outputs->table, file_end, NULL);
	k2i_table_free(&outputs->table);
	if (outputs->base >= 0)
		(void)close(outputs->base);
	(void)pthread_rwlock_destroy(&outputs->base_lock);
	(void)pthread_mutex_destroy(&outputs->mutex);
	(void)pthread_mutex_destroy(&outputs->other_mounts_mutex);
	free(outputs->base_path);
	free(outputs->refused_prefix);
	free(outputs);
	return error;
}
