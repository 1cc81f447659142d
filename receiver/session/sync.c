/* SPDX-License-Identifier: MIT */
#include "receiver/session/sync.h"

#include "receiver/commit/syncer.h"

uint8_t k2i_session_level_grant(const struct k2i_session *session, uint8_t wanted)
{
	bool synced = wanted == K2HFT_LEVEL_SYNCED || session->shared->sync_always;

	return synced && session->shared->syncer ? K2HFT_LEVEL_SYNCED : K2HFT_LEVEL_WRITTEN;
}

/* Whether a commit that is waited for may have failed to get to the disk. */
static bool sync_failed(const struct k2i_session *session)
{
	uint64_t first = session->syncing.first ? session->syncing.first : session->waiting.first;

	return first && k2i_syncer_failed(session->shared->syncer) >= first;
}

uint32_t k2i_session_commit_flags(const struct k2i_session *session)
{
	return (k2i_session_deferred(session) ? K2I_LEDGER_DEFERRED : 0) |
	       (sync_failed(session) ? K2I_LEDGER_UNCERTAIN : 0) | (session->greeting.copy ? K2I_LEDGER_COPY : 0);
}

void k2i_session_committed(struct k2i_session *session)
{
	if (!session->waiting.first)
		session->waiting.first = session->number;
	session->waiting.last = session->number;
	session->waiting.position = session->committed;
}

void k2i_session_sync_want(struct k2i_session *session)
{
	if (session->syncing.first || !session->waiting.first)
		return;
	session->syncing = session->waiting;
	session->waiting = (struct k2i_session_range){0};
	k2i_syncer_want(session->shared->syncer);
}

bool k2i_session_sync_end(struct k2i_session *session)
{
	struct k2i_syncer *syncer = session->shared->syncer;

	if (!session->syncing.first || session->state != K2I_SESSION_OPEN)
		return false;
	if (k2i_syncer_failed(syncer) >= session->syncing.first) {
		/* It comes again, and is asked where it was acknowledged. */
		k2i_session_bye(session);
		return true;
	}
	if (k2i_syncer_done(syncer) < session->syncing.last)
		return false;
	session->durable = session->syncing.position;
	session->syncing = (struct k2i_session_range){0};
	k2i_session_sync_want(session);
	k2i_session_ack(session);
	return true;
}

bool k2i_session_sync_wait(struct k2i_session *session)
{
	uint64_t last = session->waiting.last ? session->waiting.last : session->syncing.last;

	if (session->state != K2I_SESSION_OPEN || !last || k2i_syncer_wait(session->shared->syncer, last) ||
	    sync_failed(session))
		return false;
	session->durable = session->committed;
	session->syncing = session->waiting = (struct k2i_session_range){0};
	return true;
}
