/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_OPS_REQUEST_H
#define K2I_FUSE_OPS_REQUEST_H

#include <stdint.h>

#include "fuse/intake/write.h"

/* Requests that libfuse does not see: WRITE, FSYNC and INTERRUPT. */

/*
 * A WRITE request: answers it, now or when the ring has room for its data. A claim is committed or given back in any
 * case.
 */
void k2i_request_write(struct k2i_mount *mount, const struct k2i_write *write);
/* The kernel's INTERRUPT of a WRITE request that is not queued yet. It comes once, so it is remembered. */
void k2i_request_interrupt(struct k2i_mount *mount, uint64_t unique);
/* An FSYNC request: is answered when all that was written before is acknowledged. */
void k2i_request_sync(struct k2i_mount *mount, uint64_t unique, uint64_t handle);

#endif
