/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_FILE_OUTPUT_H
#define K2I_RECEIVER_SINK_FILE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <k2hft/frame.h>

#include "receiver/base/counters.h"
#include "receiver/ledger/ledger.h"
#include "app/store/store.h"
#include "receiver/sink/sink.h"

/*
 * The open output files below the base directory, by path. A file is opened when it is written to first, closed when
 * it has not been written for a while or too many are open, and opened anew when somebody renamed or removed it.
 *
 * Locks, in the order in which they are taken: a ring's (rings.h), an output's (several: by `number`), the table's, the
 * ledger's.
 */
struct k2i_outputs;
struct k2i_carry;
struct k2i_rotation;

enum k2i_output_ledger_state { /* the ledger's knowledge of the senders that write to an open file */
			       K2I_OUTPUT_LEDGER_UNKNOWN,
			       K2I_OUTPUT_LEDGER_DEFERRED, /* they wait for the disk: data behind the checkpoint goes after a power cut */
			       K2I_OUTPUT_LEDGER_KEPT, /* others write to it, too */
};

struct k2i_target;
struct k2i_output_file { /* in the table; `number` and `path` never change; the rest is the lock holder's */
	uint64_t number;
	const char *path;
	int descriptor; /* -1: not open */
	uint64_t device, inode;
	uint64_t birth; /* file_identity.h */
	uint64_t length;
	/* Where what was written last ends: behind `length` if somebody else, or another name of the file, came between. */
	uint64_t reached;
	struct k2i_store_behind behind;
	enum k2i_output_ledger_state ledger_state;
	/* The writer of the last record if it goes on (its hash, 0: the file ends with a whole record). */
	uint64_t open_writer;
	int error; /* why it could not be written; 0: it could */
	/* The state that it goes back to if a commit fails. */
	uint64_t length_before, writer_before;
};

static inline bool k2i_output_device(const char *path)
{
	return *path == '/';
}

/* As a group has it. */
static inline struct k2i_output_file *k2i_output_of(struct k2i_target *target)
{
	return (struct k2i_output_file *)(void *)target;
}

struct k2i_outputs_options {
	const char *base_directory; /* made if missing */
	const char *refused_prefix; /* below it: what streams must not name; NULL: only .k2hft */
	const char
		*state_directory; /* streams must not get there by another name either; must outlive them; NULL: none */
	bool killed;              /* the receiver before may not have brought to the disk what it wrote */
	size_t open_max;          /* files; those in use count but are not closed */
	mode_t file_mode;         /* as in k2i_confine_open, for new files */
	struct k2i_store_options store;
	struct k2i_ledger *ledger; /* it has every file before the file is written; NULL: none */
	struct k2i_counters *counters;
};

/* As a sink's options say. The error was logged. */
int k2i_outputs_open(const struct k2i_sink_options *options, struct k2i_outputs **outputs);
/* Logs that FILE_BASEDIR can't be used, and returns the error. `what`: made, used. */
int k2i_outputs_failed(const struct k2i_settings *settings, const char *what, int error);
/* FILE_UNIFY's name now, or of the file that it leads to. -EINVAL */
int k2i_outputs_unify(struct k2i_outputs *outputs, const char *unify_file, char path[K2HFT_STREAM_PATH_BYTES_MAX + 1]);

/* Locks the base directory: -EWOULDBLOCK another process has it; others as mkdir(2) and open(2). */
int k2i_outputs_create(const struct k2i_outputs_options *options, struct k2i_outputs **outputs);
/*
 * `sync`: all that was written is on the disk when this returns, and what was to be cut off is not; else an error, as
 * fdatasync(2) and ftruncate(2). NULL is allowed.
 */
int k2i_outputs_free(struct k2i_outputs *outputs, bool sync);

/*
 * Data from before this call survives a power cut when it returns, the names of new files too. Writing goes on
 * meanwhile. A single thread. Errors as fdatasync(2) and syncfs(2).
 */
int k2i_outputs_sync(struct k2i_outputs *outputs);

/* How its files are opened and written, and how it is to be from the next open on. Any thread. */
struct k2i_store_options k2i_outputs_store(struct k2i_outputs *outputs);
void k2i_outputs_change(struct k2i_outputs *outputs, mode_t file_mode, const struct k2i_store_options *store);

/* Makes the base directory (its parents too), for files of that mode. Errors as mkdir(2). */
int k2i_outputs_base_make(const char *base_directory, mode_t file_mode);

/*
 * The output for a path, made if there is none; not opened. It stays until it is released. -ENOMEM. Any thread, as all
 * that follow.
 */
int k2i_output_acquire(struct k2i_outputs *outputs, const char *path, struct k2i_output_file **output);
void k2i_output_release(struct k2i_outputs *outputs, struct k2i_output_file *output);

/* Puts in place of the name of a symbolic link below the base the path there that it leads to. -EXDEV: out, or nowhere. */
int k2i_output_follow(const struct k2i_outputs *outputs, char path[K2HFT_STREAM_PATH_BYTES_MAX + 1]);

void k2i_output_lock(struct k2i_output_file *output);
void k2i_output_unlock(struct k2i_output_file *output);

/*
 * Makes a locked output ready: it is open, is what its path names, and `length` is its length. Errors as
 * k2i_confine_open; -EACCES its path is refused; as ftruncate(2) if k2i_output_cut is still refused.
 */
int k2i_output_prepare(struct k2i_outputs *outputs, struct k2i_output_file *output);
/* Seals a locked output if it is due, or if it is left for good; a file that is not there is not made. */
void k2i_output_rotate(struct k2i_outputs *outputs, struct k2i_output_file *output, bool left);
/* Once a second: the same for all; `unify_path` is the name of FILE_UNIFY now, or NULL. */
void k2i_outputs_rotate(struct k2i_outputs *outputs, const char *unify_path);
/* Has files sealed by it, which must outlive them. Before the first is opened. */
void k2i_outputs_rotation(struct k2i_outputs *outputs, struct k2i_rotation *rotation);
/*
 * Tells the ledger of an output that is ready, before it is written: `deferred`, its senders wait for the disk. 1:
 * k2i_ledger_sync must precede the first byte; if that fails, `ledger_state` is K2I_OUTPUT_LEDGER_UNKNOWN again. Errors
 * as pwrite(2).
 */
int k2i_output_tell(struct k2i_outputs *outputs, struct k2i_output_file *output, bool deferred);
/* The bytes that `writer` has written to a locked output. */
void k2i_output_written(struct k2i_outputs *outputs, struct k2i_output_file *output,
			const struct k2i_store_writer *writer);
/* Takes a locked output back to `length`, after a write that failed; never makes it longer. Errors as ftruncate(2). */
int k2i_output_cut(struct k2i_output_file *output, uint64_t length, uint64_t open_writer);
/*
 * A locked output could not be written for a reason of its own: it is opened anew before it is written next, and
 * k2i_output_prepare says whether that is so for good.
 */
void k2i_output_refused(struct k2i_outputs *outputs, struct k2i_output_file *output);
/* Whether a file that could not be made ready, or written, is at fault itself, not the disk or the machine. */
bool k2i_output_error_own(int error);

/* Every file is opened anew before it is written next; those that nobody uses are closed at once. */
void k2i_outputs_reopen(struct k2i_outputs *outputs);
/* Once a second: closes what has not been used lately; notices that the base directory has become another. */
void k2i_outputs_tick(struct k2i_outputs *outputs, uint64_t now_ns);

/*
 * For others who append to it: a descriptor of what a path names, which is made if it is missing. Errors as
 * k2i_output_prepare. Whether it is still that; and that somebody has written there, which is for the next sync.
 */
int k2i_output_lend(struct k2i_outputs *outputs, const char *path);
bool k2i_output_lent_in_place(struct k2i_outputs *outputs, const char *path, int descriptor);
void k2i_outputs_lent_written(struct k2i_outputs *outputs);

/* The status of an output that is open. */
struct k2i_output_shown {
	const char *path;
	uint64_t bytes;
	int error;
};
/* Calls `each` for every output that is open or in use, under the table's lock: it must not wait for anything. */
void k2i_outputs_each(struct k2i_outputs *outputs, void (*each)(void *argument, const struct k2i_output_shown *shown),
		      void *argument);

/*
 * Takes back what is beyond the row's position, as the sink's settle: a file that ends in it is cut, the rest is
 * retracted; so is what the receiver made of a record that `carry`, which can be NULL, had of it.
 */
int k2i_outputs_settle(struct k2i_outputs *outputs, struct k2i_carry *carry, struct k2i_settling *settling);
/* Behind k2i_output_lock, or at the start: a descriptor of a file, wherever in its directory it is now, and its path. */
int k2i_output_find(const struct k2i_outputs *outputs, const struct k2i_ledger_file *file,
		    char path[K2HFT_STREAM_PATH_BYTES_MAX + 1], struct stat *status);

/*
 * After a start: what a ledger's file has beyond its length was not acknowledged and is cut off if `cut`, for good: it does
 * not come back with a power cut. The path of a file that is not there is kept until k2i_outputs_recover_renamed.
 */
void k2i_outputs_recover(struct k2i_outputs *outputs, const struct k2i_ledger_file *file, bool cut);
/* Before that: whether the file is shorter than the ledger says. The path of a missing file is kept, too. */
bool k2i_outputs_short(struct k2i_outputs *outputs, const struct k2i_ledger_file *file);
/*
 * Behind the last call of either: the same for files that were renamed within their directory, which is listed once.
 * Whether one of them is shorter, or none of that name is there.
 */
bool k2i_outputs_recover_renamed(struct k2i_outputs *outputs);
/* Behind that and k2i_ledger_begin, which forgets all files: tells the ledger again of those in which a record goes on. */
void k2i_outputs_recovered(struct k2i_outputs *outputs);

#endif
