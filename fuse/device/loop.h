/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_DEVICE_LOOP_H
#define K2I_FUSE_DEVICE_LOOP_H

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

#include <k2hft/client.h>

#include "fuse/device/read_backoff.h"

struct k2i_mount;

/*
 * The keeper's order to end, with the signal that it got, negative where a worker before was told already. It is a
 * real-time signal since those queue: a SIGTERM from elsewhere that is still pending would swallow the keeper's. With SIGUSR1
 * it asks for a reload, with SIGUSR2 that the worker ends for another keeper's, and with SIGCONT whether the worker serves:
 * that counts in keeper.answers of the mount.
 */
#define K2I_SIGNAL_END SIGRTMIN

/* The worker's own. */
struct k2i_loop {
	int progress_fd; /* eventfd: room came free or something was acknowledged */
	int signal_fd;
	atomic_uint waiting;      /* 1: the loop wants progress_fd */
	struct k2hft_lease lease; /* to send what is much, with a single lane */
	struct k2i_read_backoff backoff;
	char *request;        /* one whole request that does not go to the ring */
	char *body;           /* its data, K2I_REQUEST_HEAD_BYTES behind */
	unsigned large_ahead; /* so many requests get room for the largest */
	bool reloads;         /* the keeper has asked for it */
	bool leaves;          /* the same: takes no more requests, and ends when plug-ins have read all and ended */
	uint64_t looked_ns;   /* at lanes that empty */
	unsigned in_a_row;    /* requests that came one behind the other, nothing between */
};

/* Begins the loop anew: this worker has nothing of the last one's. k2i_loop_close is for one that was opened. */
int k2i_loop_open(struct k2i_mount *mount);
void k2i_loop_close(struct k2i_mount *mount);

/*
 * Serves the kernel until the mount has ended, by a signal or from outside, and everything is acknowledged or
 * DRAINTIMEOUT is over. 0; -ENODATA: records are lost; -EMFILE: another worker is to go on, this one can't. -ERESTART: the
 * keeper asks for a reload, and nothing has ended. -ECANCELED: another keeper is to go on.
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
