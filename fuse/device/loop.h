/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_DEVICE_LOOP_H
#define K2I_FUSE_DEVICE_LOOP_H

#include <stdint.h>

struct k2i_mount;

/*
 * Serves the kernel until the mount has ended, by a signal or from outside, and everything is acknowledged or
 * DRAINTIMEOUT is over. 0; -ENODATA: records are lost; -EMFILE: another worker is to go on, this one can't.
 */
int k2i_loop_run(struct k2i_mount *mount);

/*
 * Before the loop: makes libfuse ready, and what a worker that died left unanswered is asked for and done. 0 or -errno:
 * the kernel can't send it again.
 */
int k2i_loop_prepare(struct k2i_mount *mount);

/* k2hft_client_progress; `mount` is a struct k2i_mount. Any thread. */
void k2i_loop_progress(void *mount, uint64_t acked);

#endif
