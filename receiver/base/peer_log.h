/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_BASE_PEER_LOG_H
#define K2I_RECEIVER_BASE_PEER_LOG_H

#include <stdint.h>

#include "base/log.h"

/*
 * Limits for lines about peers that connect, are refused or break off: anybody who can connect could cause thousands.
 */
#define K2I_PEER_LOG_LIMITS 64u
/*
 * Lines of one kind in ten seconds about one address, for events that programs of a host cause in ordinary operation.
 */
#define K2I_PEER_LOG_VISIT_LINES 20u

struct k2i_peer_log {
	struct k2i_log_limit limits[K2I_PEER_LOG_LIMITS]; /* by address and text; zero at first */
};

/* The limit for lines of the kind `text` about the address of `peer`, "ADDRESS:PORT": `burst` lines in ten seconds. */
struct k2i_log_limit *k2i_peer_log_limit(struct k2i_peer_log *log, const char *peer, const char *text, uint32_t burst);

/*
 * Logs "session: HOST (PEER) TEXT", or "session: PEER TEXT" while `host` is "". A text comes at most four times in ten
 * seconds for one address, from whatever ports. A single thread at a time. `now_ns` as k2i_log_limited's.
 */
void k2i_peer_log_warn(struct k2i_peer_log *log, uint64_t now_ns, const char *host, const char *peer,
		       const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
