/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SESSION_STREAMS_H
#define K2I_RECEIVER_SESSION_STREAMS_H

#include "receiver/session/session.h"

/* The streams that a session's sender has declared. */

/* NULL: there is none of that id. */
struct k2i_stream *k2i_session_stream_find(struct k2i_session *session, uint32_t id);
/*
 * In place of one of the same id, which goes in any case. -ENOSPC the session has too many; -EDQUOT all together have;
 * -ENOMEM.
 */
int k2i_session_stream_declare(struct k2i_session *session, const struct k2hft_stream_message *message);
void k2i_session_streams_free(struct k2i_session *session);

#endif
