/* SPDX-License-Identifier: MIT */
/*
 * The receiver's connections on their loop, fed over sockets by peers that send what the input says, at their speed,
 * and read answers or do not. When a connection ends, the rest of the input comes over the next one.
 */
#include <sys/socket.h>

#include <event2/event.h>

#include "base/clock.h"
#include "receiver/listen/admission.h"
#include "receiver/connection/connection.h"
#include "receiver/connection/loops.h"
#include "receiver_world.h"

#define PEERS 2u
#define CONNECTIONS_MAX 8u
#define STEPS_MAX 100u
#define FILL_BYTES (3u * 1024 * 1024)
#define SECOND_NS UINT64_C(1000000000)
#define SECONDS_MAX 20u

/* Requests of the control byte, beside the WORLD_ and FRAMES_ ones. */
#define TWINS 16u   /* two peers send the same bytes in turn */
#define BLOCKED 32u /* peers do not read their answers */
#define TICKS 64u   /* a second goes by after each step */
#define FILL 128u   /* a frame that is not complete in the end goes on with zeros */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return frames_mutate(data, size, max_size, seed);
}

struct peer {
	const uint8_t *bytes;
	size_t byte_count, given;
	int descriptor; /* -1: not connected */
	unsigned connections;
	uint8_t answers[2 * K2I_SESSION_OUTPUT_BYTES];
	size_t answer_bytes;
};

struct site {
	struct world world;
	struct k2i_service service;
	struct k2i_loop loop;
	uint64_t now_ns;
	struct peer peers[PEERS];
};

static void site_open(struct site *site, const uint8_t *control)
{
	world_begin(&site->world, control);
	site->service.destination = &site->world.destination;
	site->service.rings = site->world.rings;
	site->service.counters = &site->world.counters;
	site->service.receiver_uuid = site->world.shared.receiver_uuid;
	site->service.window_bytes = site->world.shared.window_bytes;
	site->service.frame_bytes_max = site->world.shared.frame_bytes_max;
	site->service.connections_max = PEERS;
	site->service.budget.bytes_max = 1024u * 1024;
	site->service.next_id = 1;
	fuzz_check(k2i_admission_open(NULL, &k2i_lookup_system, k2i_loops_admit, &site->service.admission) == 0);
	k2i_peers_start(&site->service.peers);
	site->loop.service = &site->service;
	k2i_buffer_pool_start(&site->loop.buffers, &site->service.budget);
	site->loop.shared = site->world.shared;
	site->loop.base = event_base_new();
	fuzz_check(site->loop.base);
	site->now_ns = k2i_clock_now_ns();
}

static void loop_turn(struct site *site)
{
	for (unsigned turns = 0; turns < 2; turns++) {
		struct k2i_connection *fenced;

		fuzz_check(event_base_loop(site->loop.base, EVLOOP_NONBLOCK | EVLOOP_ONCE) >= 0);
		/* As a message of another loop would. */
		fenced = fenced_id ? k2i_connection_find(&site->loop, fenced_id) : NULL;
		fenced_id = 0;
		if (fenced)
			k2i_connection_fence(fenced);
		fuzz_check(site->world.committer.groups[0].entry_count == 0);
	}
}

static void second_pass(struct site *site)
{
	struct k2i_connection *connection, *next;

	site->now_ns += SECOND_NS;
	for (connection = k2i_connection_next(&site->loop, NULL); connection; connection = next) {
		next = k2i_connection_next(&site->loop, connection);
		k2i_connection_tick(connection, site->now_ns, 0);
	}
}

static void site_close(struct site *site)
{
	struct k2i_connection *connection, *next;

	for (connection = k2i_connection_next(&site->loop, NULL); connection; connection = next) {
		next = k2i_connection_next(&site->loop, connection);
		k2i_connection_bye(connection);
	}
	loop_turn(site);
	while (site->loop.connections.oldest)
		k2i_connection_free(k2i_connection_next(&site->loop, NULL));
	fuzz_check(atomic_load(&site->service.connections) == 0);
	k2i_buffer_pool_free(&site->loop.buffers);
	fuzz_check(atomic_load(&site->service.budget.taken) == 0);
	k2i_admission_stop(site->service.admission);
	k2i_admission_free(site->service.admission);
	event_base_free(site->loop.base);
	site->world.shared = site->loop.shared; /* its memory */
	world_end(&site->world);
}

/* Peers ---------------------------------------------------------------------------------------------------------- */

static void peer_connect(struct site *site, struct peer *peer)
{
	int ends[2], bytes = 2048;

	fuzz_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
	if (site->world.control & BLOCKED)
		fuzz_check(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) == 0);
	peer->descriptor = ends[0];
	peer->answer_bytes = 0;
	peer->connections++;
	atomic_fetch_add(&site->service.connections, 1);
	k2i_connection_start(&site->loop, ends[1], "peer", peer->connections % 8 == 0);
}

static void peer_disconnect(struct peer *peer)
{
	if (peer->descriptor >= 0)
		(void)close(peer->descriptor);
	peer->descriptor = -1;
}

/* Answers are whole frames with right checksums, in any pieces. */
static void answers_check(struct peer *peer)
{
	struct k2hft_frame frame;
	size_t at = 0;

	while (at < peer->answer_bytes) {
		const uint8_t *bytes = peer->answers + at;
		int error = k2hft_frame_header_decode(bytes, peer->answer_bytes - at, K2HFT_MESSAGE_BYTES_MAX, &frame);

		if (error == -EAGAIN)
			break;
		fuzz_check(error == 0);
		if (peer->answer_bytes - at < K2HFT_FRAME_HEADER_BYTES + frame.body_bytes)
			break;
		fuzz_check(k2hft_frame_verify(bytes, &frame, bytes + K2HFT_FRAME_HEADER_BYTES) == 0);
		at += K2HFT_FRAME_HEADER_BYTES + frame.body_bytes;
	}
	memmove(peer->answers, peer->answers + at, peer->answer_bytes - at);
	peer->answer_bytes -= at;
}

static void peer_read(struct peer *peer)
{
	ssize_t count = 1;

	while (peer->descriptor >= 0 && count > 0) {
		count = recv(peer->descriptor, peer->answers + peer->answer_bytes,
			     sizeof(peer->answers) - peer->answer_bytes, 0);
		if (count > 0)
			peer->answer_bytes += (size_t)count;
		answers_check(peer);
	}
	if (count == 0 || (count < 0 && errno != EAGAIN))
		peer_disconnect(peer);
}

static bool peer_step(struct site *site, struct peer *peer, size_t step)
{
	const uint8_t *bytes = peer->bytes + peer->given;
	size_t left = peer->byte_count - peer->given;
	ssize_t sent;

	if (left == 0 || (peer->descriptor < 0 && peer->connections == CONNECTIONS_MAX))
		return false;
	if (peer->descriptor < 0)
		peer_connect(site, peer);
	if (step == 0)
		step = frames_length(bytes, left);
	if (step == 0 || step > left)
		step = left;
	sent = send(peer->descriptor, bytes, step, MSG_NOSIGNAL);
	/* Bytes that a connection does not take, since it is over or stuck, are lost. */
	peer->given += sent > 0 ? (size_t)sent : step;
	loop_turn(site);
	if (!(site->world.control & BLOCKED))
		peer_read(peer);
	if (sent < 0)
		peer_disconnect(peer);
	return true;
}

static void peers_run(struct site *site, uint8_t speed)
{
	uint64_t random = speed | UINT64_C(0x100000000);
	bool more = true;

	for (unsigned steps = 0; more; steps++) {
		size_t step = speed & WORLD_STEP_MASK ? 1 + (size_t)fuzz_random(&random) % (1u << (speed & 15)) : 0;

		if (speed & WORLD_AT_ONCE || (speed & WORLD_STEP_MASK && steps > STEPS_MAX))
			step = SIZE_MAX;
		more = false;
		for (unsigned index = 0; index < (site->world.control & TWINS ? PEERS : 1); index++)
			more |= peer_step(site, &site->peers[index], step);
		if (site->world.control & TICKS)
			second_pass(site);
	}
}

static void peers_fill(struct site *site)
{
	static const uint8_t zeros[64 * 1024];

	for (size_t filled = 0; filled < FILL_BYTES; filled += sizeof(zeros)) {
		for (unsigned index = 0; index < PEERS; index++) {
			struct peer *peer = &site->peers[index];

			if (peer->descriptor >= 0 && send(peer->descriptor, zeros, sizeof(zeros), MSG_NOSIGNAL) < 0 &&
			    errno != EAGAIN)
				peer_disconnect(peer);
			loop_turn(site);
			peer_read(peer);
		}
		if (site->peers[0].descriptor < 0 && site->peers[1].descriptor < 0)
			return;
	}
}

/* Nobody says anything, until the receiver has had enough of everybody. */
static void silence(struct site *site)
{
	for (unsigned seconds = 0; seconds < SECONDS_MAX && site->loop.connections.oldest; seconds++) {
		second_pass(site);
		loop_turn(site);
		for (unsigned index = 0; index < PEERS; index++)
			peer_read(&site->peers[index]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct site site;
	uint8_t *bytes;

	if (size < FRAMES_CONTROL_BYTES)
		return 0;
	bytes = fuzz_copy(data + FRAMES_CONTROL_BYTES, size - FRAMES_CONTROL_BYTES);
	frames_mend(bytes, size - FRAMES_CONTROL_BYTES, data[0]);
	memset(&site, 0, sizeof(site));
	site_open(&site, data);
	for (unsigned index = 0; index < PEERS; index++)
		site.peers[index] =
			(struct peer){.bytes = bytes, .byte_count = size - FRAMES_CONTROL_BYTES, .descriptor = -1};
	peers_run(&site, data[1]);
	if (data[0] & FILL)
		peers_fill(&site);
	if (data[0] & TICKS)
		silence(&site);
	for (unsigned index = 0; index < PEERS; index++)
		peer_disconnect(&site.peers[index]);
	loop_turn(&site);
	site_close(&site);
	free(bytes);
	return 0;
}
