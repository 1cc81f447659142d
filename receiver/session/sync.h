/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SESSION_SYNC_H
#define K2I_RECEIVER_SESSION_SYNC_H

#include "receiver/session/session.h"

/*
 * A session of level synced acknowledges what is on the disk, which is later than its commit: the syncer says when. It
 * waits for one range of commits, and later commits are the next range.
 */
uint8_t k2i_session_level_grant(const struct k2i_session *session, uint8_t wanted);
/* Whether acknowledgements wait. */
static inline bool k2i_session_deferred(const struct k2i_session *session)
{
	return session->level == K2HFT_LEVEL_SYNCED && session->shared->syncer;
}
/* After a commit. */
void k2i_session_committed(struct k2i_session *session);
/* Asks for what was committed, unless something was asked for before. */
void k2i_session_sync_want(struct k2i_session *session);
/* k2i_session_synced of an open one. */
bool k2i_session_sync_end(struct k2i_session *session);
/*
 * The flags of a commit: that it waits for the disk, whether one before may have failed to get there, and whether it is a
 * copy's.
 */
uint32_t k2i_session_commit_flags(const struct k2i_session *session);

#endif
