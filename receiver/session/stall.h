/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SESSION_STALL_H
#define K2I_RECEIVER_SESSION_STALL_H

#include <stdint.h>

#include "receiver/base/counters.h"
#include "base/log.h"

#define K2I_HOLD_PLACE_BYTES 256u

/*
 * A connection whose records can't be written now (disk full, directory gone, input/output error) is held: it is not
 * read, nothing of it is acknowledged, and the same bytes are tried again every second until they are written.
 */
struct k2i_hold {
	struct k2i_log_limit *limit; /* of its lines; the rest is zero at first */
	uint64_t since_ns;           /* 0: it is not held */
	uint64_t next_log_ns;
	int error;
};

/* At each try that fails; writes a line at the first, and then every now and then. `place`: what can't be written, or "". */
void k2i_hold_begin(struct k2i_hold *hold, const char *host, const char *peer, const char *place, int error,
		    struct k2i_counters *counters, uint64_t now_ns);
void k2i_hold_end(struct k2i_hold *hold, const char *host, const char *peer, uint64_t now_ns);

#endif
