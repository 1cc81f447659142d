/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SESSION_COMMIT_H
#define K2I_RECEIVER_SESSION_COMMIT_H

#include "receiver/session/session.h"

/*
 * Commits the chunks that were received. 0; K2I_SINK_WAITS; or an error of the destination, which can be any of a file
 * system; `fenced` is set if the destination was not asked.
 */
int k2i_session_commit(struct k2i_session *session);
/* Chunks that were received and not committed will be read again. */
void k2i_session_forget(struct k2i_session *session);

/* Around a call that can wait for a ring's lock or the disk: `serving` is given back meanwhile. */
static inline void k2i_session_wait_begin(struct k2i_session_shared *shared)
{
	shared->wait_count++;
	(void)pthread_mutex_unlock(&shared->serving);
}

static inline void k2i_session_wait_end(struct k2i_session_shared *shared)
{
	(void)pthread_mutex_lock(&shared->serving);
}

#endif
