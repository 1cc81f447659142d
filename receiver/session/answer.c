/* SPDX-License-Identifier: MIT */
#include "receiver/session/answer.h"

#include <stdarg.h>
#include <stdio.h>

#include "receiver/base/text.h"
#include "receiver/session/report.h"
#include "receiver/session/sync.h"

/* So often a peer is asked whether it has got them: see the ranges of ledger.h. */
#define PROOF_ACKS 32u

void k2i_answer_added(struct k2i_session *session, int length)
{
	/* The caller has seen to room: an answer that does not fit is not worth more than the connection. */
	if (length < 0)
		session->state = K2I_SESSION_ENDED;
	else
		session->output_bytes += (size_t)length;
}

uint8_t *k2i_answer_at(struct k2i_session *session)
{
	return session->output + session->output_bytes;
}

size_t k2i_answer_room(const struct k2i_session *session)
{
	return sizeof(session->output) - session->output_bytes;
}

void k2i_session_refuse(struct k2i_session *session, uint16_t code, const char *text)
{
	struct k2hft_error_message error = {.code = code};

	(void)k2i_text_clean(text, error.text, sizeof(error.text));
	k2i_answer_added(session, k2hft_error_encode(&error, k2i_answer_at(session), k2i_answer_room(session)));
	session->state = K2I_SESSION_ENDED;
}

void k2i_session_fail(struct k2i_session *session, uint16_t code, const char *format, ...)
{
	char text[256]; /* short, so that it always fits */
	va_list arguments;

	if (session->state == K2I_SESSION_ENDED)
		return;
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	k2i_session_log(session, "refused: %s", text);
	k2i_session_refuse(session, code, text);
}

/* A frame with a token, if the session is open and there is room. */
static void token_answer(struct k2i_session *session, uint8_t type, uint64_t token)
{
	struct k2hft_ping message = {.token = token};

	if (session->state == K2I_SESSION_OPEN && k2i_answer_room(session) >= K2I_SESSION_ANSWER_BYTES)
		k2i_answer_added(session,
				 k2hft_ping_encode(type, &message, k2i_answer_at(session), k2i_answer_room(session)));
}

void k2i_session_bye(struct k2i_session *session)
{
	token_answer(session, K2HFT_FRAME_BYE, 0);
	session->state = K2I_SESSION_ENDED;
}

void k2i_session_ping(struct k2i_session *session)
{
	token_answer(session, K2HFT_FRAME_PING, session->told);
}

uint64_t k2i_answer_acknowledged(const struct k2i_session *session)
{
	return k2i_session_deferred(session) ? session->durable : session->committed;
}

void k2i_session_slow(struct k2i_session *session)
{
	if (session->status == K2HFT_STATUS_OK)
		session->status = K2HFT_STATUS_SLOW;
	k2i_session_ack(session);
}

void k2i_session_ack(struct k2i_session *session)
{
	struct k2hft_ack ack = {
		.position = k2i_answer_acknowledged(session), .level = session->level, .status = session->status};

	if (session->state != K2I_SESSION_OPEN)
		return;
	/* The peer does not read now: its next PING brings it, if nothing else does. */
	if (k2i_answer_room(session) < K2I_SESSION_ANSWER_BYTES) {
		session->ack_due = true;
		return;
	}
	/* A destination that can't take what is there gets no more than it was promised. */
	if (session->status == K2HFT_STATUS_OK)
		session->window_end = session->committed + session->shared->window_bytes;
	ack.window_end = session->window_end;
	k2i_answer_added(session, k2hft_ack_encode(&ack, k2i_answer_at(session), k2i_answer_room(session)));
	session->ack_due = false;
	session->told = ack.position;
	if (++session->ack_count < PROOF_ACKS || session->proving)
		return;
	session->proving = true;
	k2i_session_ping(session);
}
