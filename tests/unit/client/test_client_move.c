/* SPDX-License-Identifier: MIT */
/* Receivers that take over from each other, settle and get the ring back. Each is called by its place in the list. */
#include <netinet/tcp.h>

#include "unit.h"
#include "client_peer.h"
#include "client/state.h"

#include "ring/ring.h"

#define RECEIVERS 3
#define FAILOVER_MS 1000

struct world {
	struct fixture f; /* its listener and peer are those of `at` */
	unsigned at;
	int listeners[RECEIVERS], peers[RECEIVERS];
	char ports[RECEIVERS][8];
	struct k2hft_target others[RECEIVERS - 1];
};

static struct fixture *use(struct world *world, unsigned at)
{
	world->peers[world->at] = world->f.peer;
	world->listeners[world->at] = world->f.listener;
	world->at = at;
	world->f.peer = world->peers[at];
	world->f.listener = world->listeners[at];
	return &world->f;
}

static int world_open(void **state)
{
	struct fixture *f;
	struct world *world;

	(void)fixture_open((void **)&f);
	world = calloc(1, sizeof(*world));
	world->f = *f;
	free(f);
	*state = world;
	world->f.options.port = world->f.port;
	world->f.options.progress_argument = &world->f;
	k2hft_log_callback_set(log_keep, &world->f, K2HFT_LOG_DEBUG);
	world->listeners[0] = world->f.listener;
	memcpy(world->ports[0], world->f.port, sizeof(world->f.port));
	world->peers[0] = -1;
	for (unsigned at = 1; at < RECEIVERS; at++) {
		world->peers[at] = -1;
		world->listeners[at] = listen_at(0, world->ports[at]);
		world->others[at - 1] = (struct k2hft_target){"127.0.0.1", world->ports[at], NULL};
	}
	world->f.options.others = world->others;
	world->f.options.others_count = RECEIVERS - 1;
	world->f.options.failover_ms = FAILOVER_MS;
	return 0;
}

static int world_close(void **state)
{
	struct world *world = *state;

	(void)use(world, 0);
	for (unsigned at = 1; at < RECEIVERS; at++) {
		if (world->listeners[at] >= 0)
			(void)close(world->listeners[at]);
		if (world->peers[at] >= 0)
			(void)close(world->peers[at]);
	}
	return fixture_close(state);
}

/* The receiver is gone, as after a kill. */
static void receiver_end(struct world *world, unsigned at)
{
	struct fixture *f = use(world, at);

	peer_close(f);
	(void)close(f->listener);
	f->listener = -1;
}

static void receiver_again(struct world *world, unsigned at)
{
	struct fixture *f = use(world, at);
	char port[8];

	f->listener = listen_at((uint16_t)strtoul(world->ports[at], NULL, 10), port);
}

static struct k2hft_welcome welcome_of(unsigned at, uint64_t position)
{
	struct k2hft_welcome welcome = welcome_make(position, PEER_WINDOW);

	welcome.receiver_uuid[0] = (uint8_t)('A' + at);
	return welcome;
}

/* From nothing to a connection with that receiver. */
static struct k2hft_hello connect_to(struct world *world, unsigned at, uint64_t position)
{
	struct fixture *f = use(world, at);
	struct k2hft_welcome welcome = welcome_of(at, position);

	peer_accept(f);
	struct k2hft_hello hello = peer_hello(f);
	peer_welcome(f, &welcome);
	state_await(f, K2HFT_CLIENT_CONNECTED);
	return hello;
}

/* Home has a record that it does not acknowledge. */
static void record_in_doubt(struct world *world)
{
	struct fixture *f = use(world, 0);

	client_open(f);
	(void)connect_to(world, 0, 0);
	push(f, "doubtful\n");
	(void)peer_data(f);
}

static void expect_unsettled(const struct k2hft_hello *hello, uint8_t count, unsigned first, uint64_t position)
{
	assert_int_equal(hello->unsettled_count, count);
	if (count == 0)
		return;
	assert_int_equal(hello->unsettled[0].receiver_uuid[0], 'A' + first);
	assert_int_equal(hello->unsettled[0].position, position);
}

#define CASE(name) FIXTURE_TEST(name, struct world *world, world_open, world_close)

CASE(the_next_takes_over_from_one_that_is_gone)
{
	struct fixture *f = &world->f;

	record_in_doubt(world);
	uint64_t epoch = ring_stats_of(f).epoch, begin_ns = f->now_ns;
	receiver_end(world, 0);
	struct k2hft_hello hello = connect_to(world, 1, 0);
	assert_in_range(f->now_ns - begin_ns, (FAILOVER_MS - 50) * MS, (FAILOVER_MS + 200) * MS);
	assert_int_equal(hello.receiver_uuid[0], 'A');
	assert_int_equal(hello.epoch, epoch);
	assert_int_not_equal(hello.opening, 0);
	expect_unsettled(&hello, 0, 0, 0);
	assert_int_equal(peer_data(f).frame.position, 0);
	struct k2hft_client_stats stats = stats_of(f);
	assert_int_equal(stats.moves, 1);
	assert_int_equal(stats.unsettled, 1);
	assert_int_equal(stats.target, 1);
	assert_int_equal(stats.ledger_lost, 0);
	assert_int_equal(ring_stats_of(f).moves, 1);
	assert_int_equal(ring_stats_of(f).epoch, epoch + 1);
	assert_non_null(strstr(f->log, "has not answered for 1000 ms"));
	assert_non_null(strstr(f->log, "client: moved from receiver 413"));
}

CASE(a_silent_one_is_left)
{
	struct fixture *f = &world->f;

	record_in_doubt(world);
	uint64_t begin_ns = f->now_ns;
	(void)connect_to(world, 1, 0);
	assert_in_range(f->now_ns - begin_ns, (FAILOVER_MS - 50) * MS, (FAILOVER_MS + 200) * MS);
	assert_int_equal(stats_of(f).unsettled, 1);
}

CASE(one_that_does_not_greet_is_left)
{
	struct fixture *f = &world->f;

	client_open(f);
	uint64_t begin_ns = f->now_ns;
	peer_accept(f);
	struct k2hft_hello hello = connect_to(world, 1, 0);
	assert_in_range(f->now_ns - begin_ns, (FAILOVER_MS - 50) * MS, (FAILOVER_MS + 200) * MS);
	assert_true(hello.receiver_uuid[0] == 0);
	/* Nobody was left. */
	assert_int_equal(stats_of(f).moves, 0);
	assert_int_equal(stats_of(f).unsettled, 0);
}

CASE(an_idle_connection_is_asked_in_time)
{
	struct fixture *f = &world->f;

	client_open(f);
	(void)connect_to(world, 0, 0);
	f->now_ns += FAILOVER_MS / 2 * MS;
	(void)peer_frame(f, K2HFT_FRAME_PING);
	f->now_ns += FAILOVER_MS * MS;
	(void)connect_to(world, 1, 0);
}

/* The time of an answer that it owes does not begin with a PONG before, which wants none. */
CASE(an_idle_one_is_not_left)
{
	struct k2hft_ping ping = {.token = 4711};
	struct fixture *f = &world->f;
	uint8_t bytes[128];

	client_open(f);
	(void)connect_to(world, 0, 0);
	for (unsigned turn = 0; turn < 2; turn++) {
		peer_send(f, bytes, k2hft_ping_encode(K2HFT_FRAME_PING, &ping, bytes, sizeof(bytes)));
		(void)peer_frame(f, K2HFT_FRAME_PONG);
		f->now_ns += 2 * FAILOVER_MS * MS;
		push(f, "late\n");
		(void)peer_data(f);
		assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTED);
		peer_acks(f, f->end);
	}
	peer_send(f, bytes, k2hft_ping_encode(K2HFT_FRAME_PING, &ping, bytes, sizeof(bytes)));
	(void)peer_frame(f, K2HFT_FRAME_PONG);
	f->now_ns += K2I_CLIENT_PING_NS;
	(void)peer_frame(f, K2HFT_FRAME_PING);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTED);
}

/* Its sender had no turn, and what ended its wait was no event. */
CASE(one_whose_answer_is_there_is_not_left)
{
	struct fixture *f = &world->f;

	record_in_doubt(world);
	peer_ack(f, f->end);
	struct pollfd answer = {.fd = f->client->dial.transport.descriptor, .events = POLLIN};
	assert_int_equal(poll(&answer, 1, 10000), 1);
	f->now_ns += 2 * FAILOVER_MS * MS;
	assert_int_equal(k2i_client_step(f->client, NULL, 0, f->now_ns), 0);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTED);
	assert_int_equal(ring_stats_of(f).unacked_records, 0);
}

CASE(what_was_acknowledged_is_not_in_doubt)
{
	struct fixture *f = &world->f;

	record_in_doubt(world);
	peer_acks(f, f->end);
	receiver_end(world, 0);
	(void)connect_to(world, 1, f->end);
	assert_int_equal(stats_of(f).moves, 1);
	assert_int_equal(stats_of(f).unsettled, 0);
}

/* It says every second that it waits for its disk. */
STATE_TEST(a_slow_one_is_not_left, world_open, world_close)
{
	struct world *world = *state;
	struct fixture *f = &world->f;

	int one = 1;

	record_in_doubt(world);
	assert_int_equal(setsockopt(f->peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), 0);
	for (int second = 0; second < 20; second++) {
		peer_ack_window(f, 0, PEER_WINDOW, K2HFT_STATUS_FULL);
		rounds_go(f, 2);
		time_pass(f, 1200);
		assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTED);
	}
	f->now_ns += K2I_CLIENT_SLOW_NS;
	(void)connect_to(world, 1, 0);
}

/* All of them in turn, and then after a pause. */
CASE(all_are_tried)
{
	struct fixture *f = &world->f;

	record_in_doubt(world);
	receiver_end(world, 0);
	receiver_end(world, 1);
	uint64_t begin_ns = f->now_ns;
	(void)connect_to(world, 2, 0);
	assert_in_range(f->now_ns - begin_ns, (FAILOVER_MS - 50) * MS, (FAILOVER_MS + 200) * MS);
	assert_int_equal(stats_of(f).target, 2);
	receiver_end(world, 2);
	rounds_go(f, FAILOVER_MS + 100);
	uint64_t failures = stats_of(f).connect_failures;
	uint64_t pauses_ns = f->now_ns;
	while (stats_of(f).connect_failures < failures + 3 * RECEIVERS)
		round_go(f);
	assert_true(f->now_ns - pauses_ns > 10 * MS);
	/* The one that acknowledged last is no move, wherever it is found. */
	receiver_again(world, 2);
	(void)connect_to(world, 2, 0);
	assert_int_equal(stats_of(f).moves, 1);
}

/* More than are tried at a time, and nobody there: pauses are as long as with one, each of all is tried, home most often. */
CASE(many_that_are_away_are_searched_slowly)
{
	enum { MANY = 40, PAUSES = 100 };

	struct fixture *f = &world->f;
	struct k2hft_target others[MANY - 1];
	unsigned tried[MANY] = {0}, pauses = 0;

	for (unsigned at = 0; at < MANY - 1; at++) {
		static char ports[MANY][8];

		(void)snprintf(ports[at], sizeof(ports[at]), "%u", 1 + at);
		others[at] = (struct k2hft_target){"127.0.0.1", ports[at], NULL};
	}
	f->options.others = others;
	f->options.others_count = MANY - 1;
	for (unsigned at = 0; at < RECEIVERS; at++)
		receiver_end(world, at);
	client_open(f);
	while (!f->client->move.searching)
		round_go(f);
	uint64_t begin_ns = f->now_ns;
	for (;;) {
		uint64_t retry_ns = f->client->failure.retry_at_ns, failures = stats_of(f).connect_failures;
		const struct k2i_target *target = f->client->dial.target;

		if (f->client->state == K2HFT_CLIENT_WAITING && retry_ns > f->now_ns) {
			assert_ptr_equal(target, f->client->targets.list);
			/* The tries behind the last one are done. */
			if (pauses++ == PAUSES)
				break;
			f->now_ns = retry_ns;
		}
		round_go(f);
		if (stats_of(f).connect_failures != failures)
			tried[target - f->client->targets.list]++;
	}
	for (unsigned at = 1; at < MANY; at++)
		assert_in_range(tried[at], PAUSES * 3 / (MANY - 1) - 1, PAUSES * 3 / (MANY - 1) + 3);
	assert_true(tried[0] >= PAUSES);
	assert_true(f->now_ns - begin_ns > PAUSES * 1000 * MS);
}

/* Takes what has come to that receiver: answers PINGs, and tells the types of all frames. */
static unsigned frames_take(struct world *world, unsigned at)
{
	struct fixture *f = use(world, at);
	unsigned types = 0;
	uint8_t bytes[128];

	while (f->peer >= 0 && recv(f->peer, bytes, K2HFT_FRAME_HEADER_BYTES, MSG_PEEK) == K2HFT_FRAME_HEADER_BYTES) {
		struct peer_frame got = peer_frame_any(f);
		struct k2hft_ping ping;

		types |= 1u << got.frame.type;
		if (got.frame.type != K2HFT_FRAME_PING)
			continue;
		assert_int_equal(k2hft_ping_decode(got.body, got.frame.body_bytes, &ping), 0);
		peer_send(f, bytes, k2hft_ping_encode(K2HFT_FRAME_PONG, &ping, bytes, sizeof(bytes)));
	}
	return types;
}

/* Receivers live for so long; returns the types of frames that came to `at`. */
static unsigned live(struct world *world, unsigned at, unsigned ms)
{
	unsigned types = 0;

	for (unsigned round = 0; round < ms; round += 20) {
		round_go(&world->f);
		for (unsigned one = 0; one < RECEIVERS; one++)
			types |= frames_take(world, one) * (one == at);
		world->f.now_ns += 19 * MS;
	}
	(void)use(world, at);
	return types;
}

/* The home is back, and greeted beside the connection with the other. Returns its HELLO. */
static struct k2hft_hello home_greets(struct world *world, uint64_t cut_records, uint64_t retracted_records)
{
	struct k2hft_welcome welcome = welcome_of(0, 0);
	struct fixture *f = &world->f;

	receiver_again(world, 0);
	for (int round = 0; f->peer < 0; round++) {
		assert_true(round < ROUNDS_MAX);
		(void)live(world, 0, 20);
		f->peer = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	}
	struct k2hft_hello hello = peer_hello(f);
	welcome.cut_records = cut_records;
	welcome.retracted_records = retracted_records;
	peer_welcome(f, &welcome);
	return hello;
}

CASE(it_settles_and_gets_the_ring_back)
{
	struct fixture *f = &world->f;

	record_in_doubt(world);
	receiver_end(world, 0);
	(void)connect_to(world, 1, 0);
	(void)peer_data(f);
	peer_acks(f, f->end);
	uint64_t epoch = ring_stats_of(f).epoch;
	struct k2hft_hello hello = home_greets(world, 3, 2);
	expect_unsettled(&hello, 1, 0, 0);
	assert_true(hello.epoch > epoch);
	assert_int_equal(hello.receiver_uuid[0], 'B');
	assert_int_equal(hello.epoch, ring_stats_of(f).epoch);
	for (int round = 0; stats_of(f).unsettled; round++) {
		assert_true(round < ROUNDS_MAX);
		round_go(f);
	}
	assert_int_equal(stats_of(f).settled_records, 3);
	assert_int_equal(stats_of(f).retracted_records, 2);
	assert_int_equal(ring_stats_of(f).settled_records, 3);
	assert_non_null(strstr(f->log, "is settled: beyond position 0 it has taken back 3 records, and named 2"));
	(void)live(world, 1, FAILOVER_MS - 100);
	push(f, "for the other\n");
	assert_int_equal(live(world, 1, 100) & 1u << K2HFT_FRAME_DATA, 1u << K2HFT_FRAME_DATA);
	uint64_t end = f->end;
	(void)live(world, 1, FAILOVER_MS);
	/* Nothing new goes to the other, which has not acknowledged everything. */
	push(f, "for home\n");
	assert_int_equal(live(world, 1, FAILOVER_MS) & 1u << K2HFT_FRAME_DATA, 0);
	assert_int_equal(stats_of(f).target, 1);
	peer_ack(f, end);
	(void)peer_frame(f, K2HFT_FRAME_BYE);
	(void)use(world, 0);
	peer_close(f);
	hello = connect_to(world, 0, end);
	assert_int_equal(hello.acked, end);
	expect_unsettled(&hello, 0, 0, 0);
	assert_int_equal(peer_data(f).frame.position, end);
	assert_int_equal(stats_of(f).target, 0);
	assert_int_equal(stats_of(f).moves, 2);
	assert_int_equal(stats_of(f).unsettled, 0);
	assert_non_null(strstr(f->log, "its home answers again"));
}

/* Without anything on its way the other is left at once. */
CASE(an_idle_ring_goes_home)
{
	struct fixture *f = &world->f;

	client_open(f);
	receiver_end(world, 0);
	(void)connect_to(world, 1, 0);
	(void)home_greets(world, 0, 0);
	assert_true(live(world, 1, FAILOVER_MS + 200) & 1u << K2HFT_FRAME_BYE);
	(void)use(world, 0);
	peer_close(f);
	(void)connect_to(world, 0, 0);
	assert_int_equal(stats_of(f).moves, 1);
	assert_int_equal(stats_of(f).target, 0);
}

/* It was home for a moment only. */
STATE_TEST(a_home_that_is_gone_again_gets_nothing, world_open, world_close)
{
	struct world *world = *state;
	struct fixture *f = &world->f;

	client_open(f);
	receiver_end(world, 0);
	(void)connect_to(world, 1, 0);
	(void)home_greets(world, 0, 0);
	(void)live(world, 1, FAILOVER_MS / 2 + 100);
	receiver_end(world, 0);
	assert_false(live(world, 1, 5 * FAILOVER_MS) & 1u << K2HFT_FRAME_BYE);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTED);
	assert_int_equal(stats_of(f).target, 1);
}

CASE(the_next_process_knows_it_all)
{
	struct fixture *f = &world->f;

	record_in_doubt(world);
	receiver_end(world, 0);
	(void)connect_to(world, 1, 0);
	k2hft_client_close(f->client);
	f->client = NULL;
	peer_close(f);
	client_open(f);
	/* At the receiver that it was at, not at its home. */
	receiver_again(world, 0);
	struct k2hft_hello hello = connect_to(world, 1, 0);
	assert_int_equal(hello.receiver_uuid[0], 'B');
	expect_unsettled(&hello, 1, 0, 0);
	assert_int_equal(stats_of(f).moves, 0);
	assert_int_equal(stats_of(f).unsettled, 1);
}

/* A -> B -> C -> A */
CASE(each_that_was_left_is_unsettled)
{
	struct fixture *f = &world->f;

	record_in_doubt(world);
	receiver_end(world, 0);
	(void)connect_to(world, 1, 0);
	(void)peer_data(f);
	receiver_end(world, 1);
	struct k2hft_hello hello = connect_to(world, 2, 0);
	expect_unsettled(&hello, 1, 0, 0);
	(void)peer_data(f);
	receiver_end(world, 2);
	receiver_again(world, 0);
	struct k2hft_welcome welcome = welcome_of(0, 0);
	f = use(world, 0);
	peer_accept(f);
	hello = peer_hello(f);
	assert_int_equal(hello.unsettled_count, 2);
	assert_int_equal(hello.receiver_uuid[0], 'C');
	welcome.cut_records = 1;
	peer_welcome(f, &welcome);
	(void)peer_data(f);
	assert_int_equal(stats_of(f).moves, 3);
	assert_int_equal(stats_of(f).settled_records, 1);
	assert_int_equal(stats_of(f).unsettled, 2);
}

/* The list of unsettled receivers has `count`, of which none is one of the test's. */
static void unsettled_fill(struct fixture *f, uint8_t count)
{
	struct k2i_ring_receivers receivers = {.last = {'A'}, .unsettled_count = count};

	memcpy(receivers.last, welcome_of(0, 0).receiver_uuid, sizeof(receivers.last));
	for (uint8_t at = 0; at < count; at++)
		receivers.unsettled[at].receiver_uuid[0] = (uint8_t)(at + 1);
	assert_int_equal(k2i_ring_receivers_set(f->ring, &receivers), 0);
}

CASE(without_room_for_one_more_it_stays)
{
	struct k2hft_welcome welcome = welcome_of(1, 0);
	struct fixture *f = &world->f;

	unsettled_fill(f, K2HFT_UNSETTLED_MAX);
	receiver_end(world, 1);
	record_in_doubt(world);
	receiver_end(world, 0);
	receiver_again(world, 1);
	peer_accept(f);
	(void)peer_hello(f);
	peer_welcome(f, &welcome);
	peer_await_end(f);
	assert_non_null(strstr(f->log, "8 receivers are unsettled"));
	assert_int_equal(stats_of(f).moves, 0);
	receiver_end(world, 1);
	receiver_end(world, 2);
	receiver_again(world, 0);
	struct k2hft_hello hello = connect_to(world, 0, 0);
	assert_int_equal(hello.unsettled_count, K2HFT_UNSETTLED_MAX);
	assert_int_equal(peer_data(f).frame.position, 0);
}

CASE(one_that_did_not_take_back_is_refused)
{
	struct fixture *f = &world->f;

	record_in_doubt(world);
	uint64_t end = f->end;
	receiver_end(world, 0);
	(void)connect_to(world, 1, 0);
	receiver_end(world, 1);
	receiver_again(world, 0);
	struct k2hft_welcome welcome = welcome_of(0, end);
	f = use(world, 0);
	peer_accept(f);
	(void)peer_hello(f);
	peer_welcome(f, &welcome);
	struct peer_frame got = peer_frame_any(f);
	assert_int_equal(got.frame.type, K2HFT_FRAME_ERROR);
	peer_await_end(f);
	assert_int_equal(stats_of(f).unsettled, 1);
	assert_int_equal(stats_of(f).acked, 0);
}

CASE(two_names_of_a_receiver_are_one)
{
	struct fixture *f = &world->f;

	client_open(f);
	receiver_end(world, 0);
	(void)connect_to(world, 1, 0);
	receiver_again(world, 0);
	struct k2hft_welcome welcome = welcome_of(1, 0);
	f = use(world, 0);
	peer_accept(f);
	(void)peer_hello(f);
	peer_welcome(f, &welcome);
	peer_accept(f);
	(void)peer_hello(f);
	peer_welcome(f, &welcome);
	state_await(f, K2HFT_CLIENT_CONNECTED);
	assert_int_equal(stats_of(f).target, 0);
	assert_int_equal(stats_of(f).moves, 0);
	assert_non_null(strstr(f->log, "are the same receiver"));
}

/* Its machine was set up anew, say. It is no reason to stop, however often. */
CASE(behind_the_only_name_there_can_be_another)
{
	struct k2hft_welcome welcome;
	struct fixture *f = &world->f;

	f->options.others_count = 0;
	unsettled_fill(f, K2HFT_UNSETTLED_MAX - 1);
	record_in_doubt(world);
	for (unsigned at = 1; at < 3; at++) {
		peer_close(f);
		welcome = welcome_of(at, 0);
		peer_accept(f);
		(void)peer_hello(f);
		peer_welcome(f, &welcome);
		(void)peer_data(f);
		assert_int_equal(stats_of(f).moves, at);
		assert_int_equal(stats_of(f).unsettled, K2HFT_UNSETTLED_MAX);
	}
	assert_non_null(strstr(f->log, "was never seen again"));
}

/* A client of one receiver learns of another, which takes over. */
CASE(others_come_later)
{
	struct fixture *f = use(world, 0);

	f->options.others_count = 0;
	record_in_doubt(world);
	assert_int_equal(k2hft_client_others_set(f->client, world->others, 1), 0);
	receiver_end(world, 0);
	(void)connect_to(world, 1, 0);
	(void)peer_data(f);
	assert_int_equal(stats_of(f).target, 1);
	assert_int_equal(stats_of(f).unsettled, 1);
}

/* The one that has the ring is named no more: it is left when it has acknowledged what it was sent, and takes nothing new. */
CASE(one_that_is_named_no_more_is_left)
{
	struct fixture *f;

	f = use(world, 0);
	client_open(f);
	(void)connect_to(world, 0, 0);
	receiver_end(world, 0);
	(void)connect_to(world, 1, 0);
	push(f, "first\n");
	(void)peer_data(f);
	uint64_t end = ring_stats_of(f).tail;
	assert_int_equal(k2hft_client_others_set(f->client, &world->others[1], 1), 0);
	assert_int_equal(stats_of(f).target, 2);
	push(f, "later\n");
	peer_ack(f, end);
	assert_int_equal(peer_frame(f, K2HFT_FRAME_BYE).frame.type, K2HFT_FRAME_BYE);
	struct k2hft_hello hello = connect_to(world, 2, end);
	assert_int_equal(hello.acked, end);
	(void)peer_data(f);
	assert_int_equal(stats_of(f).target, 1);
}
