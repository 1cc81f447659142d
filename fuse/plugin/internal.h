/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_PLUGIN_INTERNAL_H
#define K2I_FUSE_PLUGIN_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include <k2hft/ring.h>

#include "app/plugin/plugins.h"
#include "fuse/base/lane.h"

/* Declarations that the files of the folder share. */

/* Output of a plug-in that waits for the loop: beyond it, the plug-in waits. */
#define K2I_FED_WRITTEN_MAX ((size_t)1024 * 1024)

struct k2i_fed {              /* a plug-in, of one file */
	struct k2i_fed *next; /* in its lane */
	struct k2i_fed_lane *lane;
	struct k2i_plugin *plugin;
	bool piped; /* what it writes comes back here */
	/* The feeder's. */
	uint32_t stream_id, generation; /* 0: no record has come */
	bool closing;
	/* The mutex guards what follows. */
	bool closed; /* its plug-in is gone */
	int reads;   /* where its output comes from; -1: it has no process */
	char *written;
	size_t written_bytes;
	bool in_line, broken; /* what it wrote last has no end; and will get none from its process */
	bool handle_open;     /* the loop's, for what it wrote */
	uint32_t handle;
	char path[];
};

struct k2i_fed_span { /* of a ring: released when all that was pushed of it, and before it, is read */
	struct k2i_fed_span *next;
	uint64_t end;
	unsigned unread; /* blocks; the mutex guards it */
};

struct k2i_fed_lane { /* a rule */
	struct k2i_fed_lane *next;
	struct k2i_feeder *feeder;
	struct k2i_mount_lane *lane;
	bool begun;          /* its turn has come */
	atomic_bool leaving; /* it has ended */
	struct k2i_plugin_command *command;
	struct k2i_plugins_options options;
	struct k2i_plugins *plugins;
	struct k2i_fed_span *first, **last;
	struct k2i_fed *streams[K2HFT_STREAM_COUNT_MAX]; /* by their numbers less 1 */
	struct k2i_fed *fed;                             /* the mutex guards it */
};

struct k2i_feeder {
	struct k2i_mount *mount;
	int wake, loop_wake;
	pthread_t thread;
	bool started, binary;
	atomic_bool stopping, ending;
	atomic_uint_fast64_t starts, deaths, refed_bytes;
	struct pollfd *polled;
	size_t polled_room;
	pthread_mutex_t mutex;
	struct k2i_fed_lane *lanes; /* the feeder's; the mutex is for others, who look at it */
};

static inline void k2i_feeder_wake(const struct k2i_feeder *feeder)
{
	uint64_t one = 1;

	(void)!write(feeder->wake, &one, sizeof(one));
}

/* Reads the output of a plug-in, as much as there is and may wait; with the mutex. Whether there is something new. */
bool k2i_fed_read(struct k2i_fed *fed);
/* The pipe of the next process's output; the end to write to, or -errno. */
int k2i_fed_pipe(struct k2i_fed *fed);

#endif
