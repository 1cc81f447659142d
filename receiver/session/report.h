/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SESSION_REPORT_H
#define K2I_RECEIVER_SESSION_REPORT_H

#include <stdint.h>

#include "receiver/session/session.h"

/* Counts and messages of a session. */

/* As k2i_peer_log_warn, of this session. */
void k2i_session_log(struct k2i_session *session, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Lines that it has begun, and with its sums that it ends: at most 20 of each in ten seconds for one address. */
void k2i_session_report_begin(const struct k2i_session *session);
void k2i_session_report_end(const struct k2i_session *session);
/* A rule that the peer broke, by the code of its ERROR. */
void k2i_session_count_refusal(const struct k2i_session *session, uint16_t code);
/* pending_duplicates, which are committed now. */
void k2i_session_report_duplicates(struct k2i_session *session);
/* A range that the sender gave up. */
void k2i_session_report_discard(struct k2i_session *session, const struct k2hft_discard *discard);

#endif
