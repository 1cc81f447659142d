/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_OPS_DEFERRED_REQUESTS_H
#define K2I_FUSE_OPS_DEFERRED_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "fuse/base/fuse_api.h"

struct k2i_mount;

/*
 * Opens that wait for a stream's number: all are taken, some by files that are closed and whose records are not
 * acknowledged yet; and appends through the page cache that wait for room, before the kernel has their data
 * (k2i_pull_holds). Such a request is served again, as if it came anew, until it is answered. Each process has its own:
 * what has no answer the kernel sends to a successor again.
 */

struct k2i_deferred_request;

struct k2i_deferred_requests {
	struct k2i_deferred_request *first;
	bool wanted;
	uint64_t head, due_ns;
};

/* The request is not answered now: whoever serves it keeps a copy. */
void k2i_deferred_request_want(fuse_req_t req);
/* Serves a request by libfuse; keeps it if that is wanted. */
void k2i_deferred_requests_serve(struct k2i_mount *mount, const struct fuse_buf *buffer);
/* Serves again what waits, if something was acknowledged since, or after a while. */
void k2i_deferred_requests_run(struct k2i_mount *mount);
/* How many wait. */
unsigned k2i_deferred_requests_count(const struct k2i_mount *mount);
/* The kernel's INTERRUPT. false: no such request waits. */
bool k2i_deferred_requests_interrupt(struct k2i_mount *mount, uint64_t unique);

#endif
