/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SESSION_STALL_H
#define K2I_RECEIVER_SESSION_STALL_H

#include <stdint.h>

#include "receiver/base/counters.h"
#include "base/log.h"

#define K2I_STALL_PLACE_BYTES 256u

/*
 * A connection is stalled while a sink can't take its records: it is not read, and nothing of it is acknowledged. Either
 * something has failed (disk full, directory gone, input/output error): then the same bytes are tried again every
 * second, and the log, the status and the sender say so; users know it as `held`. Or a sink has no room just now and
 * says when it has: nobody hears of that.
 */
struct k2i_stall {
	struct k2i_log_limit *limit; /* for its lines; the rest is zero at first */
	uint64_t since_ns;           /* 0: nothing has failed */
	uint64_t next_log_ns;
	int error;
};

/* At each try that fails; writes a line at the first, and then every now and then. `place`: what can't be written, or "". */
void k2i_stall_begin(struct k2i_stall *stall, const char *host, const char *peer, const char *place, int error,
		     struct k2i_counters *counters, uint64_t now_ns);
void k2i_stall_end(struct k2i_stall *stall, const char *host, const char *peer, uint64_t now_ns);

#endif
