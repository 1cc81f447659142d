/* SPDX-License-Identifier: MIT */
#include "receiver/connection/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "receiver/listen/admission.h"
#include "base/clock.h"
#include "receiver/connection/memory_pressure.h"
#include "receiver/connection/state.h"
#include "base/crash.h"
#include "receiver/listen/secure.h"
#include "receiver/session/report.h"
#include "net/tls/tls.h"

#define GREETING_NS (10 * K2I_SECOND_NS)
#define PING_NS (5 * K2I_SECOND_NS)
#define DEAD_NS (15 * K2I_SECOND_NS)
#define LINGER_NS (2 * K2I_SECOND_NS)
#define PROVED_NS (2 * K2I_SECOND_NS) /* a sender whose records were written is preferred so long */

#define EXACT_BYTES ((size_t)256 * 1024) /* a frame from this length on is received to its end and no further */
#define ROUNDS_MAX 4                     /* calls of recv(2) before others have their turn */

#define refusal_log(connection, ...)                                                                                   \
	k2i_peer_log_warn(&(connection)->loop->shared.peer_log, k2i_clock_now_ns(), (connection)->session.host,        \
			  (connection)->peer, __VA_ARGS__)

#define CROWDED "refused: there are as many connections as CONNMAX allows"

/*
 * Ungreeted: connections that have a place and sent no HELLO yet, the oldest first -----------------------------------
 */

static void ungreeted_add(struct k2i_connection *connection)
{
	connection->ungreeted = true;
	atomic_fetch_add(&connection->loop->ungreeted_count, 1);
	k2i_list_add(&connection->loop->ungreeted, &connection->ungreeted_link);
}

static void ungreeted_remove(struct k2i_connection *connection)
{
	if (!connection->ungreeted)
		return;
	connection->ungreeted = false;
	atomic_fetch_sub(&connection->loop->ungreeted_count, 1);
	k2i_list_remove(&connection->loop->ungreeted, &connection->ungreeted_link);
}

/* Anybody can connect and stay silent, even without the right to send: that must not keep out senders that greet. */
static bool ungreeted_end(struct k2i_loop *loop)
{
	struct k2i_connection *first = K2I_LIST_ENTRY(loop->ungreeted.oldest, struct k2i_connection, ungreeted_link);

	if (!first)
		return false;
	refusal_log(first, CROWDED ", and it has not greeted");
	k2i_connection_free(first);
	return true;
}

/* Making and ending ---------------------------------------------------------------------------------------------- */

void k2i_connection_free(struct k2i_connection *connection)
{
	struct k2i_loop *loop = connection->loop;

	ungreeted_remove(connection);
	k2i_peer_remove(&loop->service->peers, &connection->shown);
	k2i_session_end(&connection->session);
	if (connection->readable)
		event_free(connection->readable);
	if (connection->writable)
		event_free(connection->writable);
	k2i_transport_close(&connection->transport);
	k2i_list_remove(&loop->connections, &connection->link);
	k2i_memory_pressure_set(connection, false);
	k2i_buffer_release(&loop->buffers, &connection->buffer);
	free(connection);
	k2i_loop_left(loop);
	if (loop->stopping && !loop->connections.oldest)
		(void)event_base_loopbreak(loop->base);
}

struct k2i_connection *k2i_connection_find(const struct k2i_loop *loop, uint64_t id)
{
	struct k2i_connection *connection = k2i_connection_next(loop, NULL);

	while (connection && (connection->session.owner.id != id || connection->lingering))
		connection = k2i_connection_next(loop, connection);
	return connection;
}

/* Sending -------------------------------------------------------------------------------------------------------- */

/* 0, or -EPIPE: the peer is gone. */
static int output_send(struct k2i_connection *connection)
{
	struct k2i_session *session = &connection->session;
	ssize_t sent;

	while (session->output_bytes > 0) {
		K2I_CRASH(answer_before);
		sent = k2i_transport_write(&connection->transport,
					   &(struct iovec){session->output, session->output_bytes}, 1);
		if (sent < 0)
			return sent == -EAGAIN ? 0 : -EPIPE;
		K2I_CRASH(answer_sent);
		session->output_bytes -= (size_t)sent;
		memmove(session->output, session->output + sent, session->output_bytes);
	}
	return k2i_transport_flush(&connection->transport) < 0 ? -EPIPE : 0;
}

static bool output_left(const struct k2i_connection *connection)
{
	return connection->session.output_bytes > 0 || k2i_transport_waiting(&connection->transport);
}

/* Sets the events that the connection can go on with. A peer that does not read its answers is not read. */
static void events_update(struct k2i_connection *connection)
{
	bool blocked = output_left(connection);

	if (blocked)
		(void)event_add(connection->writable, NULL);
	else
		(void)event_del(connection->writable);
	if ((blocked || connection->stalled || connection->starved || connection->admitting ||
	     connection->loop->stopping) &&
	    !connection->lingering)
		(void)event_del(connection->readable);
	else
		(void)event_add(connection->readable, NULL);
	/* Bytes that TLS has received already make no event. */
	if (!blocked && !connection->stalled && !connection->starved && !connection->admitting &&
	    !connection->loop->stopping && k2i_transport_more(&connection->transport))
		event_active(connection->readable, EV_READ, 1);
}

/*
 * A socket that is closed with unread input is reset, and the reset can overtake the last answer. So its end is only
 * announced, and input thrown away until the peer has closed, too.
 */
static void linger_begin(struct k2i_connection *connection)
{
	if (!output_left(connection))
		k2i_transport_end(&connection->transport);
	if (connection->lingering)
		return;
	connection->lingering = true;
	connection->stalled = false;
	connection->linger_end_ns = k2i_clock_now_ns() + LINGER_NS;
	/* The ring is free for the next connection from now on, and the line in the log is about what was received. */
	k2i_session_end(&connection->session);
	k2i_memory_pressure_set(connection, false);
	k2i_buffer_release(&connection->loop->buffers, &connection->buffer);
	connection->wanted = 1;
}

/* Receiving ------------------------------------------------------------------------------------------------------ */

static void stall_update(struct k2i_connection *connection, enum k2i_session_result result)
{
	struct k2i_session *session = &connection->session;

	if (result == K2I_SESSION_STALL) {
		connection->stalled = true;
		if (!session->stall_error)
			return;
		k2i_stall_begin(&connection->stall, session->host, connection->peer, session->stall_place,
				session->stall_error, connection->loop->service->counters, k2i_clock_now_ns());
		k2i_session_ack(session);
	} else if (connection->stalled) {
		connection->stalled = false;
		connection->heard_ns = k2i_clock_now_ns();
		if (result == K2I_SESSION_MORE)
			k2i_stall_end(&connection->stall, session->host, connection->peer, connection->heard_ns);
	}
}

/* Hands the received bytes to the session. */
static enum k2i_session_result input_take(struct k2i_connection *connection)
{
	struct k2i_buffer *buffer = &connection->buffer;
	uint64_t bytes = connection->session.commit.counts.bytes;
	enum k2i_session_result result;
	size_t consumed;

	result = k2i_session_input(&connection->session, buffer->bytes, buffer->used, &consumed, &connection->wanted);
	buffer->used -= consumed;
	if (consumed > 0)
		connection->frame_ns = connection->moved_ns = k2i_clock_now_ns();
	if (connection->session.state == K2I_SESSION_GREETED || connection->session.state == K2I_SESSION_OPEN)
		ungreeted_remove(connection);
	if (connection->session.commit.counts.bytes != bytes) {
		connection->proved_ns = k2i_clock_now_ns();
		k2i_peer_wrote(&connection->shown, connection->proved_ns);
	}
	if (consumed > 0 && buffer->used > 0)
		memmove(buffer->bytes, buffer->bytes + consumed, buffer->used);
	stall_update(connection, result);
	k2i_peer_update(&connection->loop->service->peers, &connection->shown, &connection->session,
			connection->stalled);
	return result;
}

/*
 * Sends, and goes on with frames that waited until there was room for their answers, until something else has to happen
 * first. -EPIPE: the peer is gone.
 */
static int connection_advance(struct k2i_connection *connection)
{
	const struct k2i_session *session = &connection->session;

	for (;;) {
		if (output_send(connection))
			return -EPIPE;
		if (session->output_bytes > 0 || session->state == K2I_SESSION_ENDED || connection->stalled ||
		    connection->wanted > 0)
			return 0;
		(void)input_take(connection);
	}
}

/* Sends, and ends a connection whose session has ended. The connection can be gone afterwards. */
static void connection_settle(struct k2i_connection *connection)
{
	if (connection_advance(connection)) {
		k2i_connection_free(connection);
		return;
	}
	if (connection->session.state == K2I_SESSION_ENDED)
		linger_begin(connection);
	k2i_buffer_settle(&connection->loop->buffers, &connection->buffer);
	events_update(connection);
}

static size_t receive_room(const struct k2i_connection *connection)
{
	const struct k2i_buffer *buffer = &connection->buffer;
	size_t room = buffer->capacity - buffer->used, exact;

	if (connection->wanted < EXACT_BYTES)
		return room;
	/* To the end of a large frame and the next header: bytes behind that would have to be moved. */
	exact = connection->wanted - buffer->used + K2HFT_FRAME_HEADER_BYTES;
	return exact < room ? exact : room;
}

/* 0: there is room in the buffer; -ENOBUFS not now; -ENOMEM the session has ended. */
static int room_make(struct k2i_connection *connection)
{
	int error = k2i_memory_pressure_room(connection);

	if (error == -ENOMEM) {
		k2i_session_count_refusal(&connection->session, K2HFT_ERROR_LIMIT);
		k2i_session_fail(&connection->session, K2HFT_ERROR_LIMIT, "no memory for a frame");
	}
	return error;
}

/* 1: something came and more may be there; 0: nothing more now; -EPIPE: the connection is over. */
static int input_receive(struct k2i_connection *connection)
{
	struct k2i_buffer *buffer = &connection->buffer;
	size_t room;
	ssize_t got;

	if (room_make(connection))
		return 0;
	if (buffer->used == 0)
		connection->frame_ns = connection->moved_ns = k2i_clock_now_ns();
	room = receive_room(connection);
	if (room == 0)
		return 0;
	got = k2i_transport_read(&connection->transport, buffer->bytes + buffer->used, room);
	if (got == -EAGAIN)
		return 0;
	if (got == -EPROTO)
		refusal_log(connection, "breaks off: %s", k2i_transport_reason(&connection->transport, -EPROTO));
	if (got <= 0)
		return -EPIPE;
	buffer->used += (size_t)got;
	connection->heard_ns = k2i_clock_now_ns();
	k2i_memory_pressure_moved(connection, (size_t)got);
	return (size_t)got == room || k2i_transport_more(&connection->transport);
}

/* Reads and processes once. As input_receive; 0 also if it can't go on now. */
static int connection_round(struct k2i_connection *connection)
{
	int more = input_receive(connection);

	if (more < 0 || connection->buffer.used < connection->wanted)
		return more;
	(void)input_take(connection);
	if (connection_advance(connection))
		return -EPIPE;
	if (connection->stalled || connection->session.state == K2I_SESSION_ENDED || connection->session.output_bytes)
		return 0;
	return more;
}

/* Reads and processes. The connection can be gone afterwards. */
static void connection_pump(struct k2i_connection *connection)
{
	int more = 1, rounds = 0;

	connection->buffer.proved = connection->proved_ns > 0 && k2i_clock_now_ns() < connection->proved_ns + PROVED_NS;
	k2i_buffer_widen(&connection->loop->buffers, &connection->buffer);
	while (more > 0 && rounds++ < ROUNDS_MAX)
		more = connection_round(connection);
	if (more < 0)
		k2i_connection_free(connection);
	else
		connection_settle(connection);
}

static void input_discard(struct k2i_connection *connection)
{
	char bytes[16384];
	ssize_t got = recv(connection->transport.descriptor, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		k2i_connection_free(connection);
}

/* Admitting ------------------------------------------------------------------------------------------------------ */

/* The peer gets no other reason; the receiver's own log says why. The connection can be gone afterwards. */
static void admission_refuse(struct k2i_connection *connection, enum k2i_verdict verdict, const char *reason)
{
	k2i_count(&connection->loop->service->counters->not_admitted, 1);
	connection->admitting = false;
	if (verdict == K2I_VERDICT_BUSY) {
		refusal_log(connection, "refused: %s", reason);
		k2i_session_refuse(&connection->session, K2HFT_ERROR_LIMIT, "too many senders connect at once");
	} else {
		refusal_log(connection, "refused: no NAME of [SLVNODE] is for it: %s", reason);
		k2i_session_refuse(&connection->session, K2HFT_ERROR_REFUSED,
				   "this host may not connect: NAME of [SLVNODE] at the receiver says who may");
	}
	connection_settle(connection);
}

/* Goes on with a peer that may connect. The connection can be gone afterwards. */
static void admission_step(struct k2i_connection *connection)
{
	struct k2i_admission *admission = connection->loop->service->admission;
	enum k2i_verdict verdict;
	char reason[K2I_ADMISSION_REASON_ROOM];
	struct sockaddr_storage peer = {0};
	socklen_t peer_bytes = sizeof(peer);

	if (getpeername(connection->transport.descriptor, (struct sockaddr *)&peer, &peer_bytes) < 0) {
		k2i_connection_free(connection);
		return;
	}
	verdict = k2i_admission_ask(admission, (struct sockaddr *)&peer, connection->transport.tls,
				    connection->session.owner, reason);
	connection->admitting = verdict == K2I_VERDICT_LATER;
	if (verdict == K2I_VERDICT_ADMITTED)
		connection_pump(connection);
	else if (verdict == K2I_VERDICT_LATER)
		events_update(connection);
	else
		admission_refuse(connection, verdict, reason);
}

void k2i_connection_admit(struct k2i_connection *connection)
{
	if (connection->admitting)
		admission_step(connection);
}

/* Securing ------------------------------------------------------------------------------------------------------- */

/* The connection can be gone afterwards. */
static void secure_refuse(struct k2i_connection *connection, const char *reason)
{
	k2i_count(&connection->loop->service->counters->tls_refused, 1);
	refusal_log(connection, "refused: %s", reason);
	connection->securing = false;
	connection->session.state = K2I_SESSION_ENDED;
	connection_settle(connection);
}

/* A sender without TLS gets an answer that it understands. */
static void unencrypted_refuse(struct k2i_connection *connection)
{
	k2i_count(&connection->loop->service->counters->tls_refused, 1);
	connection->securing = false;
	k2i_session_fail(&connection->session, K2HFT_ERROR_REFUSED,
			 "this receiver wants TLS: set SSL = yes at the sender (k2hft push: --tls)");
	connection_settle(connection);
}

/* Looks at how the peer begins before TLS does. 0; -EAGAIN nothing has come; -EPIPE the connection is refused. */
static int secure_begin(struct k2i_connection *connection)
{
	struct k2i_tls_context *context;
	unsigned char first;
	ssize_t got = recv(connection->transport.descriptor, &first, 1, MSG_DONTWAIT | MSG_PEEK);
	int error;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (got > 0 && !k2i_tls_begins(&first, 1)) {
		unencrypted_refuse(connection);
		return -EPIPE;
	}
	context = k2i_secure_context(connection->loop->service->secure);
	error = got > 0 ? k2i_transport_secure(&connection->transport, context, NULL) : -ECONNRESET;
	k2i_tls_context_release(context);
	if (!error)
		return 0;
	k2i_connection_free(connection);
	return -EPIPE;
}

/* The connection can be gone afterwards. */
static void secure_step(struct k2i_connection *connection)
{
	int error = connection->transport.tls ? 0 : secure_begin(connection);

	if (error)
		return;
	error = k2i_transport_handshake(&connection->transport);
	if (error == -EAGAIN) {
		events_update(connection);
	} else if (error) {
		secure_refuse(connection, k2i_transport_reason(&connection->transport, error));
	} else {
		connection->securing = false;
		admission_step(connection);
	}
}

static void on_readable(evutil_socket_t descriptor, short what, void *argument)
{
	struct k2i_connection *connection = argument;

	(void)descriptor;
	(void)what;
	if (connection->lingering)
		input_discard(connection);
	else if (connection->securing)
		secure_step(connection);
	else
		connection_pump(connection);
}

static void on_writable(evutil_socket_t descriptor, short what, void *argument)
{
	struct k2i_connection *connection = argument;

	(void)descriptor;
	(void)what;
	if (connection->securing && !connection->lingering)
		secure_step(connection);
	else
		connection_settle(connection);
}

/* Contract ------------------------------------------------------------------------------------------------------- */

static int connection_events(struct k2i_connection *connection)
{
	struct event_base *base = connection->loop->base;

	connection->readable =
		event_new(base, connection->transport.descriptor, EV_READ | EV_PERSIST, on_readable, connection);
	connection->writable =
		event_new(base, connection->transport.descriptor, EV_WRITE | EV_PERSIST, on_writable, connection);
	if (!connection->readable || !connection->writable)
		return -ENOMEM;
	return event_add(connection->readable, NULL) ? -ENOMEM : 0;
}

void k2i_connection_start(struct k2i_loop *loop, int descriptor, const char *peer, bool crowded)
{
	struct k2i_connection *connection = calloc(1, sizeof(*connection));
	struct k2i_owner owner = {loop, atomic_fetch_add(&loop->service->next_id, 1)};
	int on = 1;

	if (!connection) {
		k2i_count(&loop->service->counters->accept_errors, 1);
		k2i_peer_log_warn(&loop->shared.peer_log, k2i_clock_now_ns(), "", peer, "refused: no memory");
		(void)close(descriptor);
		k2i_loop_left(loop);
		return;
	}
	/* An acknowledgement must not wait for the next one. */
	(void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	connection->loop = loop;
	connection->transport.descriptor = descriptor;
	connection->securing = loop->service->secure != NULL;
	connection->started_ns = connection->heard_ns = k2i_clock_now_ns();
	(void)snprintf(connection->peer, sizeof(connection->peer), "%s", peer);
	k2i_session_start(&connection->session, &loop->shared, owner, connection->peer);
	connection->session.commit.latency = &connection->shown.latency;
	connection->session.crowded = crowded && !ungreeted_end(loop);
	connection->stall.limit =
		k2i_peer_log_limit(&loop->shared.peer_log, connection->peer, "hold", K2I_PEER_LOG_VISIT_LINES);
	connection->wanted = 1;
	k2i_list_add(&loop->connections, &connection->link);
	k2i_peer_add(&loop->service->peers, &connection->shown, connection->peer, connection->started_ns);
	if (crowded)
		k2i_count(&loop->service->counters->refused_connections, 1);
	if (connection->session.crowded)
		refusal_log(connection, CROWDED);
	else
		ungreeted_add(connection);
	if (connection_events(connection)) {
		k2i_count(&loop->service->counters->accept_errors, 1);
		refusal_log(connection, "refused: no memory");
		k2i_connection_free(connection);
	} else if (!connection->securing) {
		admission_step(connection);
	}
}

static void connection_end(struct k2i_connection *connection)
{
	if (connection->session.state != K2I_SESSION_ENDED)
		k2i_session_bye(&connection->session);
	connection_settle(connection);
}

void k2i_connection_fence(struct k2i_connection *connection)
{
	k2i_count(&connection->loop->service->counters->fenced, 1);
	k2i_session_fail(&connection->session, K2HFT_ERROR_FENCED, "this ring has connected again");
	connection_end(connection);
}

void k2i_connection_finish(struct k2i_connection *connection)
{
	/* A stalled connection keeps its bytes: nothing of them was acknowledged. */
	if (!connection->lingering && !connection->stalled && connection->buffer.used > 0)
		(void)input_take(connection);
	events_update(connection);
}

bool k2i_connection_waits(const struct k2i_connection *connection)
{
	return connection->session.state == K2I_SESSION_OPEN &&
	       connection->session.taken != connection->session.committed;
}

void k2i_connection_bye(struct k2i_connection *connection)
{
	if (connection->lingering)
		return;
	if (k2i_session_sync_wait(&connection->session))
		k2i_session_ack(&connection->session);
	connection_end(connection);
}

void k2i_connection_stored(struct k2i_connection *connection, const struct k2i_sink_report *report)
{
	k2i_session_stored(&connection->session, report);
	(void)input_take(connection);
	connection_settle(connection);
}

void k2i_connection_ready(struct k2i_connection *connection)
{
	if (!connection->stalled)
		return;
	(void)input_take(connection);
	connection_settle(connection);
}

void k2i_connection_synced(struct k2i_connection *connection)
{
	if (!connection->lingering && k2i_session_synced(&connection->session))
		connection_settle(connection);
}

/* The loop's thread can be in the middle of this very connection: nothing is read, freed or ended. */
void k2i_connection_slow(struct k2i_connection *connection)
{
	if (connection->lingering || connection->session.state != K2I_SESSION_OPEN || output_left(connection))
		return;
	k2i_session_slow(&connection->session);
	if (!output_send(connection) && output_left(connection))
		(void)event_add(connection->writable, NULL);
}

static void connection_time_out(struct k2i_connection *connection, const char *text)
{
	k2i_count(&connection->loop->service->counters->timeouts, 1);
	if (connection->securing) {
		secure_refuse(connection, "no TLS handshake within 10 s");
		return;
	}
	k2i_session_fail(&connection->session, K2HFT_ERROR_LIMIT, "%s", text);
	connection_end(connection);
}

/* A connection can wait long for memory; a connection that has memory must use it while others wait. */
static void memory_tick(struct k2i_connection *connection, uint64_t now_ns)
{
	if (k2i_memory_pressure_over(connection, now_ns)) {
		connection_time_out(connection,
				    "memory for frames is short (BUFFERMAX), and this frame took longer than 5 s");
		return;
	}
	connection->heard_ns = now_ns;
	connection_pump(connection);
}

static void idle_tick(struct k2i_connection *connection, uint64_t now_ns)
{
	uint64_t idle_ns = now_ns > connection->heard_ns ? now_ns - connection->heard_ns : 0;

	if (idle_ns >= DEAD_NS) {
		connection_time_out(connection, "nothing came for 15 s");
		return;
	}
	if (connection->session.status == K2HFT_STATUS_SLOW) {
		connection->session.status = K2HFT_STATUS_OK;
		k2i_session_ack(&connection->session);
		connection_settle(connection);
		return;
	}
	if (idle_ns >= PING_NS && now_ns - connection->pinged_ns >= PING_NS) {
		connection->pinged_ns = now_ns;
		k2i_session_ping(&connection->session);
		connection_settle(connection);
	}
}

void k2i_connection_tick(struct k2i_connection *connection, uint64_t now_ns, uint64_t late_ns)
{
	k2i_peer_tick(&connection->shown, now_ns);
	/* While the loop stood still nobody could be heard. */
	connection->heard_ns += late_ns;
	connection->started_ns += late_ns;
	connection->frame_ns += late_ns;
	connection->moved_ns += late_ns;
	if (now_ns >= connection->frame_ns + K2I_SECOND_NS)
		k2i_buffer_fit(&connection->loop->buffers, &connection->buffer);
	if (connection->lingering) {
		if (now_ns >= connection->linger_end_ns)
			k2i_connection_free(connection);
	} else if (connection->stalled) {
		(void)input_take(connection);
		connection_settle(connection);
	} else if (connection->session.state == K2I_SESSION_NEW) {
		if (now_ns >= connection->started_ns + GREETING_NS)
			connection_time_out(connection, connection->admitting ? "its name was not found out within 10 s"
									      : "no HELLO came within 10 s");
	} else if (k2i_memory_pressure_shared(connection, now_ns)) {
		memory_tick(connection, now_ns);
	} else {
		idle_tick(connection, now_ns);
	}
}
