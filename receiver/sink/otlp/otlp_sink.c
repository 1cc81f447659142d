/* SPDX-License-Identifier: MIT */
#include "receiver/sink/otlp/otlp_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "receiver/base/text.h"
#include "receiver/sink/otlp/peer.h"

/* A batch, and a request before compression: collectors take 20 MiB, a proxy in front of one perhaps 1 MiB. */
#define BATCH_BYTES (512u * 1024)
#define BATCH_PIECES 1024u
#define REQUEST_BYTES (1024u * 1024 - 16384)

struct otlp {
	struct k2i_otlp_peer *peer;
	struct k2i_counters *counters;
	bool gzip;
	struct k2i_otlp_request request;
	size_t bytes_max; /* of a request, as the peer takes them */
	size_t bytes_now; /* as they arrive in time */
	struct k2i_log_limit limit;
};

/* Pieces ---------------------------------------------------------------------------------------------------------- */

/* The peer has the request, and so the first `progress` bytes of the piece behind those that ended in it. */
static void request_stored(const struct k2i_otlp_request *request, struct k2i_remote_piece *const *pieces)
{
	for (size_t i = 0; i < request->ended; i++)
		pieces[i]->fate = K2I_REMOTE_STORED;
	if (request->rest)
		pieces[request->ended]->progress = (unsigned)request->rest;
}

/* The peer never will have it, or not all of it. A piece goes to the quarantine as a whole. */
static void request_refused(const struct otlp *otlp, struct k2i_remote_piece *const *pieces,
			    struct k2i_remote_batch *batch, const char *reason)
{
	size_t count = otlp->request.ended + (otlp->request.rest > 0);

	(void)snprintf(batch->refusal, sizeof(batch->refusal), "%s", reason);
	for (size_t i = 0; i < count; i++)
		pieces[i]->fate = K2I_REMOTE_REFUSED;
}

/* Answers --------------------------------------------------------------------------------------------------------- */

static void answer_rejected(struct otlp *otlp, const struct k2i_otlp_answer *answer,
			    char reason[K2I_REMOTE_REASON_BYTES])
{
	size_t sent = otlp->request.record_count;
	/* It can't have rejected what it did not get. */
	uint64_t rejected = answer->rejected < sent ? answer->rejected : sent;

	k2i_count(&otlp->counters->otlp_rejected_records, rejected);
	(void)snprintf(reason, K2I_REMOTE_REASON_BYTES, "it rejects %" PRIu64 " of %zu records: %.160s", rejected, sent,
		       answer->reason);
}

static void answer_warned(struct otlp *otlp, const struct k2i_otlp_answer *answer)
{
	char text[K2I_REMOTE_REASON_BYTES];

	k2i_log_limited(&otlp->limit, k2i_clock_now_ns(), K2HFT_LOG_WARNING, "otlp: %s has taken records, and says: %s",
			k2i_otlp_peer_url(otlp->peer), k2i_text_clean(answer->reason, text, sizeof(text)));
}

/* A smaller request, and whether there is one. */
static bool request_halve(const struct otlp *otlp, size_t *bytes)
{
	*bytes = otlp->request.raw_bytes / 2;
	return otlp->request.record_count > 1;
}

/* False: the rest of the batch has to wait. */
static bool answer_take(struct otlp *otlp, const struct k2i_otlp_answer *answer, struct k2i_remote_piece *const *pieces,
			struct k2i_remote_batch *batch)
{
	char reason[K2I_REMOTE_REASON_BYTES];

	switch (answer->verdict) {
	case K2I_OTLP_STORED:
		request_stored(&otlp->request, pieces);
		if (*answer->reason)
			answer_warned(otlp, answer);
		otlp->bytes_now = 2 * otlp->bytes_now < otlp->bytes_max ? 2 * otlp->bytes_now : otlp->bytes_max;
		return true;
	case K2I_OTLP_REJECTED:
		answer_rejected(otlp, answer, reason);
		request_refused(otlp, pieces, batch, reason);
		return true;
	case K2I_OTLP_TOO_LARGE:
		if (request_halve(otlp, &otlp->bytes_max)) {
			otlp->bytes_now = otlp->bytes_max;
			return true;
		}
		request_refused(otlp, pieces, batch, answer->reason);
		return true;
	case K2I_OTLP_REFUSED:
		request_refused(otlp, pieces, batch, answer->reason);
		return true;
	case K2I_OTLP_SLOW:
		(void)request_halve(otlp, &otlp->bytes_now);
		break;
	case K2I_OTLP_LATER:
		break;
	}
	batch->after_ms = answer->after_ms;
	(void)snprintf(batch->reason, sizeof(batch->reason), "%s", answer->reason);
	return false;
}

/* Batches --------------------------------------------------------------------------------------------------------- */

/* The first request of `pieces`. False: the rest has to wait. */
static bool request_send(struct otlp *otlp, struct k2i_remote_piece *const *pieces, size_t count,
			 struct k2i_remote_batch *batch)
{
	struct k2i_otlp_answer answer;
	int error =
		k2i_otlp_request_make(&otlp->request, pieces, count, pieces[0]->progress, otlp->bytes_now, otlp->gzip);

	if (error) {
		(void)snprintf(batch->reason, sizeof(batch->reason), "%s", k2i_text_error(error));
		return false;
	}
	if (k2i_otlp_peer_post(otlp->peer, &otlp->request, batch->stop, &answer))
		return false;
	return answer_take(otlp, &answer, pieces, batch);
}

static void otlp_deliver(void *argument, struct k2i_remote_batch *batch)
{
	struct otlp *otlp = argument;
	size_t at = 0;

	if (batch->renew)
		k2i_otlp_peer_renew(otlp->peer);
	do {
		while (at < batch->count && batch->pieces[at]->fate != K2I_REMOTE_LEFT)
			at++;
	} while (at < batch->count && request_send(otlp, batch->pieces + at, batch->count - at, batch));
}

static void otlp_free(void *argument)
{
	struct otlp *otlp = argument;

	k2i_otlp_peer_free(otlp->peer);
	k2i_otlp_request_free(&otlp->request);
	free(otlp);
}

int k2i_otlp_sink_open(const struct k2i_sink_options *options, struct k2i_sink **sink)
{
	struct otlp *otlp = calloc(1, sizeof(*otlp));
	struct k2i_counters *counters = options->counters;
	struct k2i_remote_kind kind = {.name = "otlp",
				       .batch_bytes = BATCH_BYTES,
				       .batch_pieces = BATCH_PIECES,
				       .deliver = otlp_deliver,
				       .free = otlp_free,
				       .argument = otlp,
				       .records = &counters->otlp_records,
				       .retries = &counters->otlp_retries,
				       .waiting_bytes = &counters->otlp_waiting_bytes,
				       .waiting_seconds = &counters->otlp_waiting_seconds};
	int error;

	if (!otlp)
		return -ENOMEM;
	error = k2i_otlp_peer_open(options->settings, &otlp->peer);
	if (error) {
		free(otlp);
		return error;
	}
	otlp->counters = counters;
	otlp->gzip = options->settings->otlp_gzip;
	otlp->bytes_max = otlp->bytes_now = REQUEST_BYTES;
	kind.peer = k2i_otlp_peer_url(otlp->peer);
	return k2i_remote_open(&kind, options, sink);
}
