/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SESSION_ANSWER_H
#define K2I_RECEIVER_SESSION_ANSWER_H

#include "receiver/session/session.h"

/* The answers of a session, which wait in `output` for the connection to send them. */

/* The place for the next answer, and how much room there is. */
uint8_t *k2i_answer_at(struct k2i_session *session);
size_t k2i_answer_room(const struct k2i_session *session);
/* An answer of this length was put there; an error ends the session. */
void k2i_answer_added(struct k2i_session *session, int length);

/* The position that ACK tells now. */
uint64_t k2i_answer_acknowledged(const struct k2i_session *session);

#endif
