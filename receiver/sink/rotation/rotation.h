/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_ROTATION_ROTATION_H
#define K2I_RECEIVER_SINK_ROTATION_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

#include <k2hft/frame.h>

#include "config/settings.h"
#include "receiver/base/counters.h"
#include "receiver/ledger/ledger.h"

/*
 * Sealed files: output files that got a name of their own, and that nobody writes to any more. A thread of low priority
 * compresses them, runs POSTROTATE for them and removes those that ROTATE_KEEP does not keep.
 *
 * STATEDIR/rotated lists them, since their names don't tell: a stream can have a name that looks like theirs, and its file
 * is nobody's to remove. Each step is written there before it is done, or can be done again.
 *
 * Any thread. An output's lock is taken before the lock in here, and the ledger's behind it.
 */
struct k2i_rotation;

#define K2I_SEALED_SUFFIX_BYTES 29u /* .YYYYMMDD-HHMMSS-UUUUUU.zst, at most, and the end of the text */

struct k2i_rotation_options {
	const char *base_directory, *state_directory; /* must outlive it, as the rest */
	struct k2i_ledger *ledger;
	struct k2i_counters *counters;
	const struct k2i_settings *settings; /* only until it is open */
};

/* Reads the list. -ENOMEM; others as open(2), and as k2i_plugin_command_parse: all were logged. */
int k2i_rotation_open(const struct k2i_rotation_options *options, struct k2i_rotation **rotation);
/* When the ledger has begun, and files are as it says. Errors as pthread_create(3). */
int k2i_rotation_start(struct k2i_rotation *rotation);
/* The thread gives up its work, which is done again after the next start. NULL is allowed. */
void k2i_rotation_close(struct k2i_rotation *rotation);

/* As those of a sink. */
int k2i_rotation_prepare(struct k2i_rotation *rotation, const struct k2i_settings *settings);
void k2i_rotation_change(struct k2i_rotation *rotation, bool take);

/* The limits of now: a file is due that has as many bytes; 0: none. */
uint64_t k2i_rotation_bytes(const struct k2i_rotation *rotation);
uint64_t k2i_rotation_period_s(const struct k2i_rotation *rotation);
/* The second from which on a file is due that was begun in this one; 0: never. */
uint64_t k2i_rotation_due_s(const struct k2i_rotation *rotation, uint64_t begun_s);

struct k2i_sealing {
	const char *name, *path; /* before, and afterwards: below the base directory */
	uint64_t birth, inode, length;
	uint64_t time_ns;
};
/* A name for a file that is sealed now. -ENAMETOOLONG */
int k2i_sealed_path(const char *name, uint64_t time_ns, char path[K2HFT_STREAM_PATH_BYTES_MAX + 1]);
/* A file is about to get its other name. Errors as write(2). */
int k2i_rotation_begin(struct k2i_rotation *rotation, const struct k2i_sealing *sealing);
/* It has it, and whoever wrote to it has closed it; or it has not. */
void k2i_rotation_end(struct k2i_rotation *rotation, const char *path, bool sealed);

/* A stream's file is going to be opened: if it has the name of a sealed one, that is the stream's from now on. */
void k2i_rotation_give(struct k2i_rotation *rotation, const char *path);

/*
 * For settlement, of a sealed file: true if it may be cut, and then it is not touched until k2i_rotation_release. Else
 * it was compressed, or POSTROTATE has it, and `path` is its name; "": it is none.
 */
bool k2i_rotation_hold(struct k2i_rotation *rotation, uint64_t birth, uint64_t inode,
		       char path[K2HFT_STREAM_PATH_BYTES_MAX + 1]);
void k2i_rotation_release(struct k2i_rotation *rotation, uint64_t birth, uint64_t inode, uint64_t length);

/* How many files are yet to be compressed, or to be given to POSTROTATE. Waits for nothing. */
uint64_t k2i_rotation_waiting(const struct k2i_rotation *rotation);

#endif
