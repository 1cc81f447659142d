/* SPDX-License-Identifier: MIT */
#include "receiver/session/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/uuid.h"

void k2i_session_log(struct k2i_session *session, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	k2i_peer_log_warn(&session->shared->peer_log, k2i_clock_ns(CLOCK_MONOTONIC_COARSE), session->host,
			  session->peer, "%s", text);
}

static struct k2i_log_limit *visit_limit(const struct k2i_session *session, const char *kind)
{
	return k2i_peer_log_limit(&session->shared->peer_log, session->peer, kind, K2I_PEER_LOG_VISIT_LINES);
}

void k2i_session_report_begin(const struct k2i_session *session)
{
	char uuid[K2I_UUID_TEXT_BYTES];

	k2i_log_limited(visit_limit(session, "begin"), k2i_clock_ns(CLOCK_MONOTONIC_COARSE), K2HFT_LOG_INFO,
			"session: %s (%s) connected, ring %s at %" PRIu64, session->host, session->peer,
			k2i_uuid_text(session->ring->uuid, uuid), session->committed);
}

void k2i_session_report_end(const struct k2i_session *session)
{
	k2i_log_limited(visit_limit(session, "end"), k2i_clock_ns(CLOCK_MONOTONIC_COARSE), K2HFT_LOG_INFO,
			"session: %s (%s) disconnected at %" PRIu64 ": %" PRIu64 " records, %" PRIu64 " bytes, %" PRIu64
			" chunks, %" PRIu64 " that came again",
			session->host, session->peer, session->committed, session->commit.counts.records,
			session->commit.counts.bytes, session->commit.counts.chunks, session->duplicate_count);
}

void k2i_session_count_refusal(const struct k2i_session *session, uint16_t code)
{
	struct k2i_counters *counters = session->shared->counters;

	k2i_count(&counters->protocol_errors, 1);
	if (code == K2HFT_ERROR_VERSION)
		k2i_count(&counters->version_errors, 1);
	else if (code == K2HFT_ERROR_LIMIT)
		k2i_count(&counters->limit_errors, 1);
	else if (code == K2HFT_ERROR_POSITION)
		k2i_count(&counters->position_errors, 1);
	else if (code == K2HFT_ERROR_FENCED)
		k2i_count(&counters->stale_epochs, 1);
}

void k2i_session_report_duplicates(struct k2i_session *session)
{
	char uuid[K2I_UUID_TEXT_BYTES];

	k2i_count(&session->shared->counters->duplicate_chunks, session->pending_duplicates);
	k2i_log_limited(&session->shared->duplicate_limit, k2i_clock_ns(CLOCK_MONOTONIC_COARSE), K2HFT_LOG_INFO,
			"session: %s (%s), ring %s: %" PRIu64 " chunks below %" PRIu64
			" were committed before and are skipped",
			session->host, session->peer, k2i_uuid_text(session->ring->uuid, uuid),
			session->pending_duplicates, session->expected);
}

/* A sender that gives up one chunk after the other says so each time. */
void k2i_session_report_discard(struct k2i_session *session, const struct k2hft_discard *discard)
{
	static const char *const reasons[] = {
		[K2HFT_DISCARD_REPAIRED] = "the ring was damaged",
		[K2HFT_DISCARD_FULL] = "the ring was full",
		[K2HFT_DISCARD_EXPIRED] = "they waited longer than EXPIRE",
	};
	char uuid[K2I_UUID_TEXT_BYTES];

	k2i_log_limited(&session->shared->discard_limit, k2i_clock_ns(CLOCK_MONOTONIC_COARSE), K2HFT_LOG_WARNING,
			"session: %s (%s), ring %s gave up positions %" PRIu64 " to %" PRIu64 " (%" PRIu64
			" records, 0 if that is not known): %s",
			session->host, session->peer, k2i_uuid_text(session->ring->uuid, uuid), discard->from,
			discard->to, discard->record_count, reasons[discard->reason]);
}
