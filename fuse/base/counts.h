/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_BASE_COUNTS_H
#define K2I_FUSE_BASE_COUNTS_H

#include <stdint.h>

#include "app/program/counters.h"
#include "base/log.h"
#include "fuse/base/journal.h"

/*
 * The counters of the mount: counters.def. They are in the memory that outlives a worker. Counts of a step that is not
 * done when the worker dies are taken back with it, since the next one does it again. Gauges are set when somebody
 * asks. A single thread.
 */
struct k2i_mount_counts {
#define K2I_MOUNT_COUNTER(name, kind, loss, help) uint64_t name;
#include "app/program/counters.def"
#undef K2I_MOUNT_COUNTER
};

enum {
#define K2I_MOUNT_COUNTER(name, kind, loss, help) K2I_MOUNT_##name,
#include "app/program/counters.def"
#undef K2I_MOUNT_COUNTER
	K2I_MOUNT_COUNTER_COUNT
};

static inline void k2i_mount_count(uint64_t *counter, uint64_t add)
{
	if (add == 0)
		return;
	K2I_JOURNAL_KEEP(counter);
	*counter += add;
}

/* How often the mount says each thing. */
struct k2i_mount_log {
	struct k2i_log_limit full, lost, held, long_record, rule, output, refused, piece, filter, open, wait, short_of;
};

#endif
