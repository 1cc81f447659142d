/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_KEEPER_WORKER_H
#define K2I_FUSE_KEEPER_WORKER_H

#include <signal.h>

/*
 * A worker's word to its keeper, with a k2i_worker_word. It is one of those signals, too: SIGUSR1 is what others ask a reload
 * with.
 */
#define K2I_SIGNAL_WORD (SIGRTMIN + 1)
enum k2i_worker_word {
	K2I_WORD_READY,
	K2I_WORD_RELOADED,
	K2I_WORD_RING,  /* one is handed over */
	K2I_WORD_LANES, /* one has ended */
};

struct k2i_mount;
struct k2i_setup;

/*
 * The process that serves a mount until it has ended: rings, clients, requests. It goes on where another that died left
 * off. Returns its exit status.
 */
int k2i_worker_run(struct k2i_mount *mount, const struct k2i_setup *setup);

#endif
