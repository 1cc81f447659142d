/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "counting_sink.h"
#include "session_world.h"
#include "receiver/connection/loops.h"
#include "receiver/listen/admission.h"

/* Loops with a sink that stores later: its reports come from another thread, and at any time. */

static struct counting_sink sink;
static struct k2i_service service;
static struct k2i_loops *loops;
static int peer;

static int loops_setup(void **state)
{
	static const struct k2i_sink_listener listener = {k2i_loops_stored, k2i_loops_ready};
	struct world *world = world_make();

	memset(&sink, 0, sizeof(sink));
	memset(&service, 0, sizeof(service));
	counting_setup(&sink, K2I_SINK_LATER, 0, &listener);
	world->sinks = (struct k2i_sinks){{&sink.sink}, 1};
	world_open(world);
	sink.ledger = world->ledger;
	session_open(world, UINT64_MAX);
	service.destination = &world->destination;
	service.rings = world->rings;
	service.counters = &world->counters;
	service.receiver_uuid = world->shared.receiver_uuid;
	service.window_bytes = WINDOW_BYTES;
	service.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_DEFAULT;
	service.connections_max = service.streams.count_max = 10;
	service.budget.bytes_max = SIZE_MAX;
	atomic_init(&service.next_id, 1);
	k2i_peers_start(&service.peers);
	k2i_flows_start(&service.streams.flows);
	assert_int_equal(k2i_admission_open(NULL, &k2i_lookup_system, k2i_loops_admit, &service.admission), 0);
	assert_int_equal(k2i_syncer_start(&world->destination, 0, &service.syncer), 0);
	assert_int_equal(k2i_loops_start(&service, 1, &loops), 0);
	*state = world;
	return 0;
}

static int loops_teardown(void **state)
{
	(void)close(peer);
	(void)teardown(state);
	k2i_loops_free(loops);
	k2i_admission_free(service.admission);
	k2i_flows_end(&service.streams.flows);
	k2i_peers_end(&service.peers);
	return 0;
}

/* A connection of which a loop has the other end. */
static void peer_connect(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval patience = {20, 0};
	socklen_t bytes = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM, 0), accepted;

	assert_int_equal(bind(listening, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &bytes), 0);
	peer = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(peer, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	accepted = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(accepted >= 0);
	assert_int_equal(k2i_loops_serve(loops, accepted, (struct sockaddr *)&address, sizeof(address)), 0);
	(void)close(listening);
}

/* The type of the next frame that the loop sends, and its body. */
static unsigned peer_receive(uint8_t body[K2HFT_MESSAGE_BYTES_MAX])
{
	uint8_t header[K2HFT_FRAME_HEADER_BYTES];
	struct k2hft_frame frame;

	assert_int_equal(recv(peer, header, sizeof(header), MSG_WAITALL), sizeof(header));
	assert_int_equal(k2hft_frame_header_decode(header, sizeof(header), K2HFT_MESSAGE_BYTES_MAX, &frame), 0);
	assert_int_equal(recv(peer, body, frame.body_bytes, MSG_WAITALL), frame.body_bytes);
	return frame.type;
}

/* Sends a chunk; when the PONG comes the sink has it. */
static void peer_send(struct world *world)
{
	uint8_t body[K2HFT_MESSAGE_BYTES_MAX];

	put_hello(world, "ring", 1, 0);
	put_stream(world, 1, "one");
	put_data(world, 0, 0, 1, "a");
	put_ping(world);
	assert_int_equal(send(peer, world->input, world->input_bytes, MSG_NOSIGNAL), world->input_bytes);
	assert_int_equal(peer_receive(body), K2HFT_FRAME_WELCOME);
	assert_int_equal(peer_receive(body), K2HFT_FRAME_PONG);
}

static uint64_t ring_position(struct world *world)
{
	struct k2i_ledger_ring row = {0};
	uint8_t uuid[16] = "ring";

	return k2i_ledger_find(world->ledger, uuid, 0, &row) ? row.position : 0;
}

STATE_TEST(test_report_is_acknowledged, loops_setup, loops_teardown)
{
	uint8_t body[K2HFT_MESSAGE_BYTES_MAX];
	struct k2hft_ack ack;

	peer_connect();
	peer_send(*state);
	counting_report(&sink, 0);
	assert_int_equal(peer_receive(body), K2HFT_FRAME_ACK);
	assert_int_equal(k2hft_ack_decode(body, 24, &ack), 0);
	assert_int_equal(ack.position, 40);
	k2i_loops_stop(loops);
	k2i_syncer_stop(service.syncer);
	assert_int_equal(ring_position(*state), 40);
}

#define CASE(name) FIXTURE_TEST(name, struct world *world, loops_setup, loops_teardown)

/* A report that nobody waits for any more changes nothing. The sink's close, in the teardown, hands back another. */
CASE(test_report_after_the_end)
{
	uint8_t body[K2HFT_MESSAGE_BYTES_MAX];
	void *place;

	peer_connect();
	peer_send(world);
	place = sink.reports->owner.place;
	k2i_loops_stop(loops);
	k2i_syncer_stop(service.syncer);
	assert_int_equal(peer_receive(body), K2HFT_FRAME_BYE);
	counting_report(&sink, 0);
	sink.reports = calloc(1, sizeof(*sink.reports));
	assert_non_null(sink.reports);
	sink.reports->owner = (struct k2i_owner){place, 1};
	assert_int_equal(ring_position(world), 0);
}
