/* SPDX-License-Identifier: MIT */
#include "receiver/session/commit.h"

#include "receiver/session/report.h"
#include "receiver/session/sync.h"

static const struct k2i_sinks *sinks_of(const struct k2i_session *session)
{
	return &session->shared->committer->destination->sinks;
}

/* All sinks have what was received. */
static void session_taken(struct k2i_session *session)
{
	session->duplicate_count += session->pending_duplicates;
	k2i_count(&session->shared->counters->frames, session->pending_frames);
	if (session->pending_duplicates)
		k2i_session_report_duplicates(session);
	session->pending_frames = session->pending_duplicates = 0;
	session->status = K2HFT_STATUS_OK;
	session->stalled = false;
	session->stall_error = 0;
}

/* With what was there already when nothing was committed: that is acknowledged when what is being synced is. */
static void ack_want(struct k2i_session *session, bool committed)
{
	if (k2i_session_deferred(session) && committed)
		k2i_session_committed(session);
	else
		session->ack_due = true;
}

static uint64_t least_taken(const struct k2i_session *session)
{
	const uint64_t *taken = session->commit.taken;
	uint64_t least = UINT64_MAX;

	K2I_SINKS_EACH(sinks_of(session), sink)
		least = taken[(*sink)->number] < least ? taken[(*sink)->number] : least;
	return least;
}

/* Also after an error: some of the sinks can be further. */
static void sinks_look(struct k2i_session *session)
{
	const struct k2i_ledger_ring *rows = session->ring->rows;

	session->taken = least_taken(session);
	session->committed = k2i_commit_position(rows, sinks_of(session));
	K2I_SINKS_EACH(sinks_of(session), sink) {
		if (session->number < rows[(*sink)->number].number)
			session->number = rows[(*sink)->number].number;
	}
}

/* While the session waits, k2i_session_slow reads it: nothing is changed here that it needs. */
static int commit_entered(struct k2i_session *session)
{
	struct k2i_committer *committer = session->shared->committer;
	int result = 0;

	if (session->reported)
		result = k2i_committer_enter(committer, &session->commit);
	if (!result) {
		session->reported = false;
		if (session->expected != session->taken)
			result = k2i_committer_commit(committer, &session->commit);
	}
	return result;
}

int k2i_session_commit(struct k2i_session *session)
{
	uint64_t committed = session->committed;
	bool entered;
	int result;

	if (session->expected == session->taken && !session->reported) {
		if (!session->pending_frames)
			return 0;
		session_taken(session);
		ack_want(session, false);
		return 0;
	}
	session->commit.rows = session->ring->rows;
	session->commit.position = session->expected;
	session->commit.flags = k2i_session_commit_flags(session);
	k2i_session_wait_begin(session->shared);
	result = k2i_ring_enter(session->ring, session->owner);
	entered = !result;
	if (entered)
		result = commit_entered(session);
	k2i_session_wait_end(session->shared);
	session->fenced = !entered;
	if (entered) {
		sinks_look(session);
		k2i_ring_leave(session->ring);
	}
	if (!result)
		session_taken(session);
	if (session->committed != committed)
		ack_want(session, true);
	return result;
}

void k2i_session_forget(struct k2i_session *session)
{
	k2i_committer_abort(session->shared->committer);
	session->expected = session->taken;
	session->pending_frames = session->pending_duplicates = 0;
}
