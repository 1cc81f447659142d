/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_FILE_INTERNAL_H
#define K2I_RECEIVER_SINK_FILE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include <k2hft/frame.h>

#include "base/log.h"
#include "receiver/sink/file/output.h"
#include "receiver/base/list.h"
#include "receiver/sink/rotation/rotation.h"
#include "receiver/base/table.h"

/* Declarations that the files of the sink share. */

struct k2i_output_internal { /* the whole of a struct k2i_output_file */
	struct k2i_output_file output;
	const char *label; /* the path as a log can take it */
	pthread_mutex_t mutex;
	unsigned generation; /* the table's when the file was opened */
	/* Since the last sync it was written or cut (read without its lock), or made. */
	atomic_bool dirty;
	bool fresh;
	int lost; /* an error of the disk that a write has reported, and fdatasync(2) does not; 0: none */
	uint64_t
		stale_tail; /* the file's length with the tail of a failed commit that is still to be cut off; 0: none */
	struct k2i_log_limit changed_limit, replaced_limit;
	/* Rotation: when the file was begun, by which period that makes it due, and since when; 0: never. */
	uint64_t begun_s, period_s, sealed_ns;
	atomic_uint_fast64_t due_s, seal_retry_ns;
	/* Copies for the status, which does not wait for the lock: a write can take long. */
	atomic_uint_fast64_t shown_bytes;
	atomic_int shown_error;
	/* The table's lock guards what follows. */
	struct k2i_table_node node;
	unsigned references;
	struct k2i_output_internal *collected; /* behind it in a sync */
	struct k2i_link idle;                  /* without references */
	uint64_t released_ns;
};

static inline struct k2i_output_internal *k2i_output_internal(struct k2i_output_file *output)
{
	return (struct k2i_output_internal *)(void *)output;
}

/* A file system that is mounted below the base: files of it that are not on its disk yet were closed. */
struct k2i_output_mount {
	uint64_t device;
	char directory[K2HFT_STREAM_PATH_BYTES_MAX + 1]; /* of one of its files, below the base */
};
#define K2I_OUTPUT_MOUNTS_MAX 8u /* more are synced when a file of them is closed */

/* Closed ones of which more is known than their file tells. */
#define K2I_OUTPUTS_KEPT_MAX 1024u

struct k2i_outputs {
	char *base_path;
	char *refused_prefix;
	const char *state_directory;
	size_t open_max;
	struct k2i_ledger *ledger;
	struct k2i_counters *counters;
	struct k2i_log_limit recover_limit, stale_limit; /* files can be many, above all at the start */
	struct k2i_rotation *rotation;                   /* NULL: none */
	struct k2i_log_limit base_limit, disk_limit, link_limit, rotation_limit;
	struct k2i_output_moved *moved; /* from k2i_outputs_recover to k2i_outputs_recover_renamed */
	size_t moved_count;
	bool base_missing; /* its path leads nowhere; the tick's */
	atomic_uint generation;
	atomic_bool unsynced; /* data may not be on the disk that no open file knows of */
	atomic_int lost;      /* the last error of files that were closed */
	/* Held for reading while `base` is used. */
	pthread_rwlock_t base_lock;
	int base; /* locked by flock(2) */
	atomic_uint_fast64_t base_device;
	uint64_t base_inode;
	pthread_mutex_t other_mounts_mutex;
	struct k2i_output_mount other_mounts[K2I_OUTPUT_MOUNTS_MAX]; /* `unsynced` is set, too */
	unsigned other_mount_count;
	/* Guards what follows. */
	pthread_mutex_t mutex;
	mode_t file_mode;
	struct k2i_store_options store;
	struct k2i_table table;
	struct k2i_list idle; /* files without references, the one that was released first in front */
	uint64_t next_number;
};

/* Opens and locks the base directory. As k2i_outputs_create. */
int k2i_output_base_open(struct k2i_outputs *outputs);
/*
 * Whether its path leads to another one now, which was made in its place, or mounted over it: files go where the path
 * leads.
 */
void k2i_output_base_check(struct k2i_outputs *outputs);
/* Whether no stream may have this name. */
bool k2i_output_refused_path(const struct k2i_outputs *outputs, const char *path);
/* Whether a path leads to the receiver's own files, though it is not refused by name. */
bool k2i_output_leads_to_state(const struct k2i_outputs *outputs, const char *path);

/* Adds a reference; under the table's lock. */
void k2i_output_refer(struct k2i_outputs *outputs, struct k2i_output_internal *file);

/* The tail that a failed commit left in a file, if any, is not cut off any more: it is counted and logged. */
void k2i_output_stale_tail_keep(struct k2i_outputs *outputs, struct k2i_output_internal *file);
/*
 * Tries to cut that off a locked file, which may not have its name any more: the next open would not find it. Errors
 * as ftruncate(2): it is still to be cut.
 */
int k2i_output_stale_tail_cut(struct k2i_outputs *outputs, struct k2i_output_internal *file);

/* A file that was just opened: when it is due. */
void k2i_output_begun(const struct k2i_outputs *outputs, struct k2i_output_internal *file, const struct stat *status);
/* Whether a locked file has to be sealed, and can be. */
bool k2i_output_due(const struct k2i_outputs *outputs, struct k2i_output_internal *file);
/*
 * Gives a locked file, which is what its name says, the name `path`; k2i_rotation_end follows when it is closed. An error
 * was logged, and the file goes on.
 */
int k2i_output_seal(struct k2i_outputs *outputs, struct k2i_output_internal *file,
		    char path[K2HFT_STREAM_PATH_BYTES_MAX + 1]);

/* An open file of which not all may be on the disk is about to be closed. */
void k2i_output_unsynced(struct k2i_outputs *outputs, const char *path, int descriptor, uint64_t device);

#endif
