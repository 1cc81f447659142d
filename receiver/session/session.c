/* SPDX-License-Identifier: MIT */
#include "receiver/session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <k2hft/version.h>

#include "base/log.h"
#include "receiver/session/answer.h"
#include "receiver/session/commit.h"
#include "receiver/session/peers.h"
#include "receiver/session/report.h"
#include "receiver/session/streams.h"
#include "receiver/session/sync.h"
#include "receiver/commit/syncer.h"
#include "receiver/base/text.h"
#include "net/tls/tls.h"

#define POSITION_AT_ITS_END "the ring's position is at its end"
#define SOFTWARE "k2hftfusesvr " K2HFT_VERSION_STRING

/* Failing -------------------------------------------------------------------------------------------------------- */

/* `error`: or K2I_SINK_WAITS. */
static int destination_failed(struct k2i_session *session, int error)
{
	k2i_session_forget(session);
	if (session->fenced) {
		k2i_count(&session->shared->counters->fenced, 1);
		k2i_session_fail(session, K2HFT_ERROR_FENCED, "this ring has connected again");
		return -EPIPE;
	}
	session->stalled = true;
	session->stall_error = error < 0 ? error : 0;
	session->stall_place[0] = '\0';
	if (error == -ENOSPC || error == -EDQUOT)
		session->status = K2HFT_STATUS_FULL;
	else
		session->status = error < 0 ? K2HFT_STATUS_FAILED : K2HFT_STATUS_OK;
	return -EAGAIN;
}

static int commit_failed(struct k2i_session *session, int error)
{
	int result = destination_failed(session, error);

	(void)snprintf(session->stall_place, sizeof(session->stall_place), "%.*s",
		       (int)sizeof(session->stall_place) - 1, session->shared->committer->failed);
	return result;
}

/* Frames --------------------------------------------------------------------------------------------------------- */

/*
 * Each frame's function gives 0, -EAGAIN stall, or -EPIPE the session has ended. Chunks of the frames before a broken
 * rule are good, and acknowledged.
 */
static int session_refuse(struct k2i_session *session, uint16_t code, const char *text)
{
	if (k2i_session_commit(session) == 0 && session->ack_due)
		k2i_session_ack(session);
	k2i_committer_abort(session->shared->committer);
	k2i_session_fail(session, code, "%s", text);
	return -EPIPE;
}

static int rule_broken(struct k2i_session *session, uint16_t code, const char *text)
{
	k2i_session_count_refusal(session, code);
	return session_refuse(session, code, text);
}

static int greeting_check(struct k2i_session *session, const struct k2hft_hello *hello)
{
	if (hello->version_min > K2HFT_FRAME_VERSION || hello->version_max < K2HFT_FRAME_VERSION)
		return rule_broken(session, K2HFT_ERROR_VERSION, "this receiver speaks version 1 of the protocol");
	if (hello->features_required)
		return rule_broken(session, K2HFT_ERROR_VERSION,
				   "this receiver has none of the features that the sender requires");
	return 0;
}

/* Only a peer that invents positions gets there. Behind it there is no room for a window. */
static bool at_its_end(const struct k2i_session *session, uint64_t position)
{
	return position > UINT64_MAX - session->shared->window_bytes;
}

static uint32_t frame_bytes_grant(const struct k2i_session *session, uint32_t wanted)
{
	uint32_t granted = wanted < session->shared->frame_bytes_max ? wanted : session->shared->frame_bytes_max;

	return granted < K2HFT_FRAME_BODY_BYTES_MIN ? K2HFT_FRAME_BODY_BYTES_MIN : granted;
}

static void session_welcome(struct k2i_session *session)
{
	const struct k2i_session_greeting *greeting = &session->greeting;
	struct k2hft_welcome message = {
		.version = K2HFT_FRAME_VERSION,
		.position = session->committed,
		.level = session->level,
		.flags = (greeting->known ? K2HFT_WELCOME_KNOWN : 0) | (greeting->copied ? K2HFT_WELCOME_COPIED : 0),
		.frame_bytes_max = frame_bytes_grant(session, greeting->frame_bytes_max),
		.software = SOFTWARE,
	};

	session->state = K2I_SESSION_OPEN;
	session->frame_bytes = message.frame_bytes_max;
	session->window_end = message.window_end = session->committed + session->shared->window_bytes;
	message.cut_records = greeting->cut_records;
	message.retracted_records = greeting->retracted_records;
	/* A sender that sends a chunk has seen it. */
	session->told = session->commit.proven = session->committed;
	memcpy(message.receiver_uuid, session->shared->receiver_uuid, sizeof(message.receiver_uuid));
	k2i_answer_added(session, k2hft_welcome_encode(&message, k2i_answer_at(session), k2i_answer_room(session)));
	k2i_count(&session->shared->counters->sessions, 1);
	k2i_session_report_begin(session);
}

/*
 * WELCOME acknowledges, too: what an earlier connection has committed must be on the disk, also if only that one waited for
 * it, since a start can go back to what is there. Without waiting here, which would keep all other connections of the loop.
 */
static int welcome_try(struct k2i_session *session)
{
	struct k2i_syncer *syncer = session->shared->syncer;
	bool waits = session->greeting.deferred || (k2i_session_deferred(session) && session->greeting.known);

	/* First: a later success says nothing about what was to get there before. */
	if (waits && k2i_syncer_rounds_failed(syncer) != session->greeting.rounds_failed)
		return session_refuse(session, K2HFT_ERROR_LIMIT, "what came before can't be synced to the disk");
	if (waits && k2i_syncer_done(syncer) < session->greeting.number) {
		session->state = K2I_SESSION_GREETED;
		k2i_syncer_want(syncer);
		return 0;
	}
	session_welcome(session);
	return 0;
}

/* An older connection of the same ring is about to end, whether it is known to be dead or not. */
static bool host_full(const struct k2i_session *session, const struct k2hft_hello *hello)
{
	const struct k2i_session_shared *shared = session->shared;

	return shared->host_connections_max &&
	       !k2i_peers_take_place(shared->peers, session->peer, hello->ring_uuid, shared->host_connections_max);
}

static struct k2i_ring_greeting greeting_of(const struct k2i_session *session, const struct k2hft_hello *hello)
{
	const uint8_t *own = session->shared->receiver_uuid;
	struct k2i_ring_greeting greeting = {
		.epoch = hello->epoch,
		.acked = hello->acked,
		.opening = hello->opening,
		.attempt = hello->attempt,
		.acked_here = memcmp(hello->receiver_uuid, own, 16) == 0,
		.begins = hello->flags & K2HFT_HELLO_BEGINS,
		.copy = hello->flags & K2HFT_HELLO_COPY,
	};

	memcpy(greeting.uuid, hello->ring_uuid, sizeof(greeting.uuid));
	for (uint8_t at = 0; at < hello->unsettled_count && !greeting.copy; at++) {
		if (memcmp(hello->unsettled[at].receiver_uuid, own, 16) != 0)
			continue;
		greeting.unsettled = session->shared->committer->destination;
		greeting.settled = hello->unsettled[at].position;
	}
	return greeting;
}

static int attach_refused(struct k2i_session *session, int error)
{
	char text[128];

	if (error == -ESTALE)
		return rule_broken(session, K2HFT_ERROR_FENCED, "a newer epoch of this ring was connected");
	if (error == -EEXIST)
		return rule_broken(session, K2HFT_ERROR_FENCED, "this ring is open twice: one of them is a copy");
	if (error == -ENOMEM)
		return rule_broken(session, K2HFT_ERROR_LIMIT, "no memory for one more ring");
	(void)snprintf(text, sizeof(text), "what came before can't be taken back: %s", k2i_text_error(error));
	return session_refuse(session, K2HFT_ERROR_LIMIT, text);
}

static int ring_attach(struct k2i_session *session, const struct k2hft_hello *hello)
{
	const struct k2i_ring_greeting greeting = greeting_of(session, hello);
	struct k2i_ring_place place = {0};
	int error;

	if (session->shared->syncer)
		session->greeting.rounds_failed = k2i_syncer_rounds_failed(session->shared->syncer);
	session->greeting.copy = greeting.copy;
	k2i_session_wait_begin(session->shared);
	error = k2i_ring_attach(session->shared->rings, &greeting, session->owner, &session->ring, &place);
	k2i_session_wait_end(session->shared);
	if (error)
		return attach_refused(session, error);
	if (at_its_end(session, place.position))
		return rule_broken(session, K2HFT_ERROR_LIMIT, POSITION_AT_ITS_END);
	session->level = k2i_session_level_grant(session, hello->level);
	/* Also while it waits: the status shows it. */
	session->committed = session->durable = session->expected = session->taken = place.position;
	memcpy(session->commit.taken, place.positions, sizeof(place.positions));
	memcpy(session->commit.stored, place.positions, sizeof(place.positions));
	session->greeting.cut_records = place.cut_records;
	session->greeting.retracted_records = place.retracted_records;
	session->greeting.known = place.known;
	session->greeting.copied = place.copied;
	session->greeting.number = place.number;
	session->greeting.deferred = place.deferred && session->shared->syncer;
	session->greeting.frame_bytes_max = hello->frame_bytes_max;
	return 0;
}

static int hello_take(struct k2i_session *session, const uint8_t *body, size_t body_bytes)
{
	struct k2hft_hello hello;
	int error;

	if (k2hft_hello_decode(body, body_bytes, &hello))
		return rule_broken(session, K2HFT_ERROR_PROTOCOL, "HELLO is malformed");
	(void)snprintf(session->host, sizeof(session->host), "%s", hello.host[0] ? hello.host : session->peer);
	error = greeting_check(session, &hello);
	if (error)
		return error;
	if (session->crowded) {
		/* Counted and logged, with a limit, where it was accepted. */
		k2i_session_refuse(session, K2HFT_ERROR_LIMIT,
				   "too many senders are connected: CONNMAX of the receiver");
		return -EPIPE;
	}
	if (host_full(session, &hello)) {
		k2i_count(&session->shared->counters->refused_connections, 1);
		return session_refuse(session, K2HFT_ERROR_LIMIT,
				      "too many senders of one host are connected: CONNMAXHOST of the receiver");
	}
	error = ring_attach(session, &hello);
	return error ? error : welcome_try(session);
}

void k2i_session_stored(struct k2i_session *session, const struct k2i_sink_report *report)
{
	uint64_t *stored = &session->commit.stored[report->sink];

	if (session->state != K2I_SESSION_OPEN)
		return;
	/* Chunks that the sink has lost come again: the sender is asked to, where they were acknowledged. */
	if (report->error)
		k2i_session_bye(session);
	else if (*stored < report->position)
		*stored = report->position;
	session->reported = true;
}

bool k2i_session_synced(struct k2i_session *session)
{
	if (session->state != K2I_SESSION_GREETED)
		return k2i_session_sync_end(session);
	(void)welcome_try(session);
	return session->state != K2I_SESSION_GREETED;
}

static int stream_take(struct k2i_session *session, const uint8_t *body, size_t body_bytes)
{
	struct k2hft_stream_message message;

	if (k2hft_stream_decode(body, body_bytes, &message))
		return rule_broken(session, K2HFT_ERROR_PROTOCOL,
				   "STREAM is malformed, or names a path that is not allowed");
	switch (k2i_session_stream_declare(session, &message)) {
	case 0:
		return 0;
	case -ENOSPC:
		return rule_broken(session, K2HFT_ERROR_LIMIT, "more than 4096 streams");
	case -EDQUOT:
		k2i_count(&session->shared->counters->refused_streams, 1);
		return rule_broken(session, K2HFT_ERROR_LIMIT,
				   "senders have more streams together than STREAMMAX of the receiver allows");
	default:
		return rule_broken(session, K2HFT_ERROR_LIMIT, "no memory for one more stream");
	}
}

static int discard_take(struct k2i_session *session, const uint8_t *body, size_t body_bytes)
{
	struct k2i_counters *counters = session->shared->counters;
	struct k2hft_discard discard;
	int error;

	if (k2hft_discard_decode(body, body_bytes, &discard))
		return rule_broken(session, K2HFT_ERROR_PROTOCOL, "DISCARD is malformed");
	if (discard.from > session->expected)
		return rule_broken(session, K2HFT_ERROR_POSITION, "DISCARD leaves a hole before it");
	if (discard.to <= session->expected)
		return 0;
	if (at_its_end(session, discard.to))
		return rule_broken(session, K2HFT_ERROR_LIMIT, POSITION_AT_ITS_END);
	session->expected = discard.to;
	error = k2i_session_commit(session);
	if (error)
		return commit_failed(session, error);
	k2i_count(&counters->discarded_ranges, 1);
	k2i_count(&counters->discarded_records, discard.record_count);
	k2i_session_report_discard(session, &discard);
	return 0;
}

static void bye_take(struct k2i_session *session, uint64_t position)
{
	/* To wait for the disk would keep all other connections of the loop, and a sender that leaves seldom listens. */
	k2i_session_ack(session);
	/*
	 * A sender that knows that it was acknowledged all that is in the ledger goes on there without it: even if its
	 * ring came again, nothing would be there twice.
	 */
	if (position > 0 && position == session->committed && position == k2i_answer_acknowledged(session)) {
		k2i_session_wait_begin(session->shared);
		k2i_ring_end(session->shared->rings, session->ring, session->owner);
		k2i_session_wait_end(session->shared);
	}
	session->state = K2I_SESSION_ENDED;
}

/* The peer has got the ACK in front of a PING: no settlement of the ring goes back before that. */
static void pong_take(struct k2i_session *session, uint64_t token)
{
	session->proving = false;
	session->ack_count = 0;
	if (token > session->told || token <= session->commit.proven)
		return;
	session->commit.proven = token;
	k2i_session_wait_begin(session->shared);
	k2i_ledger_prove(session->shared->committer->destination->ledger, session->ring->uuid, token);
	k2i_session_wait_end(session->shared);
}

/* PING, PONG and BYE. */
static int token_take(struct k2i_session *session, uint8_t type, const uint8_t *body, size_t body_bytes)
{
	struct k2hft_ping message;

	if (k2hft_ping_decode(body, body_bytes, &message))
		return rule_broken(session, K2HFT_ERROR_PROTOCOL, "PING, PONG or BYE is malformed");
	if (type == K2HFT_FRAME_PING)
		k2i_answer_added(session, k2hft_ping_encode(K2HFT_FRAME_PONG, &message, k2i_answer_at(session),
							    k2i_answer_room(session)));
	/* A peer that is silent is not asked by the connection if it asks first. */
	if (type == K2HFT_FRAME_PING && session->told > session->commit.proven)
		k2i_session_ping(session);
	if (type == K2HFT_FRAME_PONG)
		pong_take(session, message.token);
	if (type != K2HFT_FRAME_BYE)
		return 0;
	bye_take(session, message.token);
	return -EPIPE;
}

static int error_take(struct k2i_session *session, const uint8_t *body, size_t body_bytes)
{
	struct k2hft_error_message error;

	k2i_count(&session->shared->counters->peer_errors, 1);
	if (k2hft_error_decode(body, body_bytes, &error) == 0)
		k2i_session_log(session, "closes: %s (code %u)", error.text, error.code);
	session->state = K2I_SESSION_ENDED;
	return -EPIPE;
}

/* All of a frame is looked at before any of it is taken. */
static int chunks_check(struct k2i_session *session, const struct k2hft_frame *frame, const uint8_t *raw)
{
	struct k2hft_chunk_view view;
	size_t offset = 0;
	int result;

	while ((result = k2hft_chunk_next(raw, frame->raw_bytes, frame->position, &offset, &view)) > 0) {
		if (view.position < session->expected && view.end > session->expected)
			return rule_broken(session, K2HFT_ERROR_PROTOCOL, "a chunk overlaps what was received before");
		if (!k2i_session_stream_find(session, view.chunk.stream_id))
			return rule_broken(session, K2HFT_ERROR_PROTOCOL, "a chunk of a stream that was not declared");
	}
	return result < 0 ? rule_broken(session, K2HFT_ERROR_PROTOCOL, "a chunk is malformed") : 0;
}

static int chunk_add(struct k2i_session *session, const struct k2hft_chunk_view *view)
{
	struct k2i_committer *committer = session->shared->committer;
	struct k2i_stream *stream = k2i_session_stream_find(session, view->chunk.stream_id);
	int error = k2i_committer_add(committer, &session->commit, stream, view);

	/* A full group is committed in the middle of its frame: chunks have positions of their own. */
	if (error == -ENOBUFS) {
		error = k2i_session_commit(session);
		session->reread_end = session->taken;
		if (error)
			return commit_failed(session, error);
		error = k2i_committer_add(committer, &session->commit, stream, view);
	}
	return error ? destination_failed(session, error) : 0;
}

static int chunks_take(struct k2i_session *session, const struct k2hft_frame *frame, const uint8_t *raw)
{
	struct k2hft_chunk_view view;
	size_t offset = 0;
	int error;

	while (k2hft_chunk_next(raw, frame->raw_bytes, frame->position, &offset, &view) > 0) {
		if (view.end <= session->expected) {
			session->pending_duplicates += view.end > session->reread_end;
			continue;
		}
		error = chunk_add(session, &view);
		if (error)
			return error;
		session->expected = view.end;
	}
	session->pending_frames++;
	return 0;
}

static int raw_room(struct k2i_session_shared *shared, size_t room)
{
	uint8_t *raw;

	if (room <= shared->raw_room)
		return 0;
	raw = realloc(shared->raw, room);
	if (!raw)
		return -ENOMEM;
	shared->raw = raw;
	shared->raw_room = room;
	return 0;
}

static int data_decompress(struct k2i_session *session, const struct k2hft_frame *frame, const uint8_t *body)
{
	/* There is one buffer for it, which chunks of the group may still be in. */
	int error = k2i_session_commit(session);

	if (error)
		return commit_failed(session, error);
	error = raw_room(session->shared, frame->raw_bytes);
	if (error)
		return destination_failed(session, error);
	if (k2hft_frame_decompress(body, frame->body_bytes, session->shared->raw, frame->raw_bytes))
		return rule_broken(session, K2HFT_ERROR_PROTOCOL, "DATA does not decompress to its length");
	return 0;
}

static int data_take(struct k2i_session *session, const struct k2hft_frame *frame, const uint8_t *body)
{
	const uint8_t *raw = body;
	int error = 0;

	if (frame->position - frame->gap_bytes > session->expected)
		return rule_broken(session, K2HFT_ERROR_POSITION, "DATA leaves a hole before it");
	if (frame->position + frame->raw_bytes > session->window_end)
		return rule_broken(session, K2HFT_ERROR_LIMIT, "DATA goes beyond the window");
	if (at_its_end(session, frame->position + frame->raw_bytes))
		return rule_broken(session, K2HFT_ERROR_LIMIT, POSITION_AT_ITS_END);
	if (frame->flags & K2HFT_FRAME_LZ4) {
		error = data_decompress(session, frame, body);
		raw = session->shared->raw;
	}
	if (!error)
		error = chunks_check(session, frame, raw);
	return error ? error : chunks_take(session, frame, raw);
}

static int message_take(struct k2i_session *session, const struct k2hft_frame *frame, const uint8_t *body)
{
	/* Messages are rare; with everything before them committed each is dealt with once, whatever comes. */
	int error = k2i_session_commit(session);

	if (error)
		return commit_failed(session, error);
	switch (frame->type) {
	case K2HFT_FRAME_STREAM:
		return stream_take(session, body, frame->body_bytes);
	case K2HFT_FRAME_DISCARD:
		return discard_take(session, body, frame->body_bytes);
	case K2HFT_FRAME_PING:
	case K2HFT_FRAME_PONG:
	case K2HFT_FRAME_BYE:
		return token_take(session, frame->type, body, frame->body_bytes);
	case K2HFT_FRAME_ERROR:
		return error_take(session, body, frame->body_bytes);
	default:
		return rule_broken(session, K2HFT_ERROR_PROTOCOL, "a frame that a sender does not send");
	}
}

static int frame_take(struct k2i_session *session, const struct k2hft_frame *frame, const uint8_t *body)
{
	if (session->state == K2I_SESSION_NEW) {
		if (frame->type != K2HFT_FRAME_HELLO)
			return rule_broken(session, K2HFT_ERROR_PROTOCOL, "the first frame is not HELLO");
		return hello_take(session, body, frame->body_bytes);
	}
	if (session->state == K2I_SESSION_GREETED && frame->type != K2HFT_FRAME_ERROR)
		return rule_broken(session, K2HFT_ERROR_PROTOCOL, "a frame before WELCOME");
	return frame->type == K2HFT_FRAME_DATA ? data_take(session, frame, body) : message_take(session, frame, body);
}

static int header_refused(struct k2i_session *session, const uint8_t *bytes, size_t byte_count, int error)
{
	if (error == -EMSGSIZE)
		return rule_broken(session, K2HFT_ERROR_LIMIT, "a frame is longer than allowed");
	if (error != -EPROTO || session->state != K2I_SESSION_NEW)
		return rule_broken(session, K2HFT_ERROR_PROTOCOL, "a frame's header is malformed");
	/* It would not understand an ERROR either. */
	k2i_count(&session->shared->counters->protocol_errors, 1);
	if (k2i_tls_begins(bytes, byte_count)) {
		k2i_count(&session->shared->counters->tls_refused, 1);
		k2i_session_log(
			session,
			"refused: it wants TLS, and this receiver has SSL = no: set SSL the same on both sides");
	} else {
		k2i_session_log(session, "refused: it speaks another protocol");
	}
	session->state = K2I_SESSION_ENDED;
	return -EPIPE;
}

/* The frame at the begin of `bytes`: its length, 0 it is not complete, or as frame_take. */
static int64_t frame_next(struct k2i_session *session, const uint8_t *bytes, size_t byte_count, size_t *wanted)
{
	uint32_t limit = session->state == K2I_SESSION_OPEN ? session->frame_bytes : K2HFT_MESSAGE_BYTES_MAX;
	struct k2hft_frame frame;
	int error = k2hft_frame_header_decode(bytes, byte_count, limit, &frame);

	*wanted = K2HFT_FRAME_HEADER_BYTES;
	if (error == -EAGAIN)
		return 0;
	if (error)
		return header_refused(session, bytes, byte_count, error);
	*wanted = K2HFT_FRAME_HEADER_BYTES + frame.body_bytes;
	if (byte_count < *wanted)
		return 0;
	if (k2hft_frame_verify(bytes, &frame, bytes + K2HFT_FRAME_HEADER_BYTES)) {
		k2i_count(&session->shared->counters->checksum_errors, 1);
		return session_refuse(session, K2HFT_ERROR_CHECKSUM, "a frame's checksum is wrong");
	}
	error = frame_take(session, &frame, bytes + K2HFT_FRAME_HEADER_BYTES);
	return error ? error : (int64_t)*wanted;
}

size_t k2i_session_input_max(const struct k2i_session *session)
{
	return K2HFT_FRAME_HEADER_BYTES +
	       (session->state == K2I_SESSION_OPEN ? session->frame_bytes : K2HFT_MESSAGE_BYTES_MAX);
}

enum k2i_session_result k2i_session_input(struct k2i_session *session, const uint8_t *bytes, size_t byte_count,
					  size_t *consumed, size_t *wanted)
{
	size_t offset = 0;
	int64_t length = 1;

	*consumed = *wanted = 0;
	while (length > 0 && session->state != K2I_SESSION_ENDED) {
		*wanted = 0;
		if (k2i_answer_room(session) < 2 * K2I_SESSION_ANSWER_BYTES)
			break;
		length = frame_next(session, bytes + offset, byte_count - offset, wanted);
		if (length > 0)
			offset += (size_t)length;
		/* Up to here nothing has to be read again. */
		if (length > 0 && session->expected == session->taken && !session->pending_frames)
			*consumed = offset;
	}
	if (length >= 0 && session->state == K2I_SESSION_OPEN) {
		int error = k2i_session_commit(session);

		length = error ? commit_failed(session, error) : 0;
	}
	/* Also of what came before a stall. */
	if (k2i_session_deferred(session))
		k2i_session_sync_want(session);
	if (length < 0 || session->state == K2I_SESSION_ENDED)
		return length == -EAGAIN ? K2I_SESSION_STALL : K2I_SESSION_CLOSE;
	/* Without room for answers nothing was tried. */
	if (session->stalled)
		return K2I_SESSION_STALL;
	*consumed = offset;
	session->reread_end = 0;
	if (session->ack_due)
		k2i_session_ack(session);
	return K2I_SESSION_MORE;
}

void k2i_session_start(struct k2i_session *session, struct k2i_session_shared *shared, struct k2i_owner owner,
		       const char *peer)
{
	memset(session, 0, offsetof(struct k2i_session, output));
	session->output_bytes = 0;
	session->shared = shared;
	session->owner = session->commit.owner = owner;
	session->peer = peer;
}

void k2i_session_end(struct k2i_session *session)
{
	if (session->ring) {
		/* A sender that was not welcomed was not connected. */
		if (session->frame_bytes > 0)
			k2i_session_report_end(session);
		k2i_session_wait_begin(session->shared);
		k2i_ring_detach(session->shared->rings, session->ring, session->owner);
		k2i_session_wait_end(session->shared);
		session->ring = NULL;
	}
	k2i_session_streams_free(session);
}
