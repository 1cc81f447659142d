/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_EXEC_INTERNAL_H
#define K2I_RECEIVER_SINK_EXEC_INTERNAL_H

#include <pthread.h>

#include "app/plugin/plugins.h"
#include "receiver/base/table.h"
#include "receiver/sink/carry.h"
#include "receiver/sink/file/output.h"
#include "receiver/sink/pending.h"
#include "receiver/sink/sink.h"

/*
 * Declarations that the files of the sink share. Locks, in the order in which they are taken: a ring's (rings.h), a
 * target's (several: by `number`), the sink's.
 */

struct k2i_exec_sink {
	struct k2i_sink sink;
	struct k2i_outputs *outputs;
	const struct k2i_settings *settings;
	const struct k2i_format *format;
	struct k2i_ledger *ledger;
	struct k2i_counters *counters;
	struct k2i_plugin_command *command, *next; /* next: of a reload that is prepared */
	struct k2i_plugins_options options;
	struct k2i_plugins *plugins;
	size_t targets_max;
	struct k2i_carry *carry; /* NULL: the receiver has no state */
	void *thread;            /* for the beginnings whose rest has not come */
	struct k2i_log_limit carry_limit;
	atomic_uint_fast64_t waiting_bytes; /* of all */
	struct k2i_pending pending;         /* groups that plug-ins have not read */
	/* Guards what follows. */
	pthread_mutex_t mutex;
	struct k2i_table targets;
	uint64_t next_number;
	struct k2i_exec_waiter *waiters;
	size_t waiter_count, waiter_room;
};

struct k2i_target { /* a file, with the plug-in that writes it */
	struct k2i_table_node node;
	struct k2i_exec_sink *sink;
	struct k2i_plugin *plugin;
	uint64_t number;
	unsigned references;
	uint64_t used_ns;
	pthread_mutex_t mutex;               /* guards what follows */
	bool usable;                         /* its file could be opened */
	uint64_t open_writer, writer_before; /* as an output file's */
	struct k2i_plugin_block *block;      /* what a group has for it */
	char path[];
};

struct k2i_exec_waiter { /* an owner that was told K2I_SINK_WAITS, because of a target that is full */
	struct k2i_owner owner;
	const struct k2i_target *target;
};

static inline struct k2i_exec_sink *k2i_exec_sink(struct k2i_sink *sink)
{
	return (struct k2i_exec_sink *)(void *)sink;
}

/* Starts the thread of the plug-ins. As k2i_plugins_start. */
int k2i_exec_plugins_start(struct k2i_exec_sink *exec);

/* Targets: reference and release are the sink's place and release. */
int k2i_exec_target_get(struct k2i_exec_sink *exec, const char *path, struct k2i_target **target);
void k2i_exec_target_put(struct k2i_target *target);
/* Whether it takes no more now. */
bool k2i_exec_target_full(const struct k2i_target *target);
/* The owner is told when the target has room again. */
void k2i_exec_target_await(struct k2i_target *target, struct k2i_owner owner);
/* Ends processes that have had nothing to do for long, or whose file is FILE_UNIFY's no more; NULL: there is none. */
void k2i_exec_targets_tick(struct k2i_exec_sink *exec, uint64_t now_ns, const char *unify_path);
/* All of them end their processes and start others. */
void k2i_exec_targets_rest(struct k2i_exec_sink *exec);
void k2i_exec_targets_show(struct k2i_exec_sink *exec, struct k2i_report *report, unsigned listed_max,
			   struct k2i_sink_state *state);

#endif
