/* SPDX-License-Identifier: MIT */
#include <netdb.h>
#include <signal.h>
#include <sys/wait.h>

#include <k2hft/config.h>
#include <k2hft/sender.h>

#include "unit.h"
#include "client_peer.h"
#include "client/state.h"
#include "file_help.h"
#include "random_help.h"

CLIENT_TEST(ping_is_answered)
{
	struct k2hft_ping ping = {.token = 4711}, pong;
	uint8_t bytes[128];

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	peer_send(f, bytes, k2hft_ping_encode(K2HFT_FRAME_PING, &ping, bytes, sizeof(bytes)));
	struct peer_frame got = peer_frame(f, K2HFT_FRAME_PONG);
	assert_int_equal(k2hft_ping_decode(got.body, got.frame.body_bytes, &pong), 0);
	assert_int_equal(pong.token, 4711);
}

STATE_TEST(a_quiet_receiver_is_asked_and_then_dead, fixture_open, fixture_close)
{
	struct fixture *f = *state;
	struct k2hft_ping ping;
	uint8_t bytes[128];

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	assert_in_range(k2hft_client_timeout_ms(f->client, f->now_ns), 4900, 5000);
	/* Not before it is time, or it would be called again and again. */
	assert_int_equal(k2hft_client_timeout_ms(f->client, f->client->life.received_ns + K2I_CLIENT_PING_NS - 1), 1);
	f->now_ns += 5000 * MS;
	struct peer_frame got = peer_frame(f, K2HFT_FRAME_PING);
	assert_int_equal(k2hft_ping_decode(got.body, got.frame.body_bytes, &ping), 0);
	peer_send(f, bytes, k2hft_ping_encode(K2HFT_FRAME_PONG, &ping, bytes, sizeof(bytes)));
	peer_quiet(f, 20);
	/* It has as long for what it is sent before it is asked. */
	push(f, "unanswered\n");
	(void)peer_data(f);
	f->now_ns += 5000 * MS;
	(void)peer_frame(f, K2HFT_FRAME_PING);
	peer_quiet(f, 100); /* until the kernel has confirmed it: what is not yet there does not count as unanswered */
	f->now_ns += 9000 * MS;
	peer_quiet(f, 1);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTED);
	time_pass(f, 1100);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_WAITING);
	assert_non_null(strstr(stats_of(f).last_error, "no answer"));
	peer_await_end(f);
}

STATE_TEST(a_client_that_was_stopped_asks_first, fixture_open, fixture_close)
{
	struct fixture *f = *state;

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	f->now_ns += 3600 * 1000 * MS;
	(void)peer_frame(f, K2HFT_FRAME_PING);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTED);
}

/* An answer that a connection owed when it ended is not waited for on the next. */
CLIENT_TEST(each_connection_is_asked)
{
	client_open(f);
	for (unsigned connection = 0; connection < 2; connection++) {
		(void)peer_connect(f, 0, PEER_WINDOW);
		f->now_ns += 5000 * MS;
		(void)peer_frame(f, K2HFT_FRAME_PING);
		peer_close(f);
		state_await(f, K2HFT_CLIENT_WAITING);
	}
}

CLIENT_TEST(bye_means_later)
{
	struct k2hft_ping ping = {0};
	uint8_t bytes[128];

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	peer_send(f, bytes, k2hft_ping_encode(K2HFT_FRAME_BYE, &ping, bytes, sizeof(bytes)));
	peer_await_end(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
}

/* A record is sent and acknowledged by a client that goes on at `position`; what it says when it is closed. */
static uint64_t last_word(struct fixture *f, uint64_t position, bool ring_ends)
{
	struct k2hft_ping bye = {.token = UINT64_MAX};
	struct k2hft_frame frame;
	uint8_t bytes[128];

	f->options.flags = ring_ends ? K2HFT_CLIENT_RING_ENDS : 0;
	client_open(f);
	(void)peer_connect(f, position, PEER_WINDOW);
	push(f, "record\n");
	(void)peer_data(f);
	peer_ack(f, f->end);
	while (stats_of(f).acked < f->end)
		round_go(f);
	k2hft_client_close(f->client);
	f->client = NULL;
	assert_int_equal(recv(f->peer, bytes, sizeof(bytes), 0), 48);
	assert_int_equal(k2hft_frame_header_decode(bytes, 48, 4096, &frame), 0);
	assert_int_equal(frame.type, K2HFT_FRAME_BYE);
	assert_int_equal(k2hft_ping_decode(bytes + K2HFT_FRAME_HEADER_BYTES, frame.body_bytes, &bye), 0);
	assert_int_equal(recv(f->peer, bytes, sizeof(bytes), 0), 0);
	return bye.token;
}

CLIENT_TEST(close_says_bye)
{
	uint64_t word;

	assert_int_equal(last_word(f, 0, false), 0);
	word = last_word(f, f->end, true);
	assert_int_equal(word, f->end);
}

static bool sender_ends_its_ring(const struct fixture *f, const char *path, uint32_t flags)
{
	struct k2hft_sender_options options = {
		.size = sizeof(options), .host = "127.0.0.1", .port = f->port, .ring_path = path, .ring_flags = flags};
	struct k2hft_sender *sender;
	bool ends;

	assert_int_equal(k2hft_sender_open(&options, &sender), 0);
	ends = k2hft_sender_client(sender)->options.flags == K2HFT_CLIENT_RING_ENDS;
	assert_int_equal(k2hft_sender_close(sender, 0), 0);
	return ends;
}

STATE_TEST(a_ring_without_a_name_ends_with_its_sender, fixture_open, fixture_close)
{
	char folder[256], path[300];

	folder_make(folder, sizeof(folder));
	(void)snprintf(path, sizeof(path), "%s/ring", folder);
	assert_true(sender_ends_its_ring(*state, NULL, 0));
	assert_true(sender_ends_its_ring(*state, folder, K2HFT_RING_TEMPORARY));
	assert_false(sender_ends_its_ring(*state, path, 0));
	assert_false(sender_ends_its_ring(*state, path, K2HFT_RING_FRESH));
	folder_remove(folder);
}

CLIENT_TEST(wrong_frames_end_the_connection)
{
	struct k2hft_welcome welcome = welcome_make(0, PEER_WINDOW);
	struct k2hft_discard discard = {.from = 0, .to = 8, .reason = 1};
	uint8_t bytes[512];

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	peer_welcome(f, &welcome); /* a second one */
	(void)peer_frame(f, K2HFT_FRAME_ERROR);
	peer_await_end(f);

	(void)peer_connect(f, 0, PEER_WINDOW);
	peer_send(f, bytes, k2hft_discard_encode(&discard, bytes, sizeof(bytes))); /* from the wrong side */
	(void)peer_frame(f, K2HFT_FRAME_ERROR);
	peer_await_end(f);

	(void)peer_connect(f, 0, PEER_WINDOW);
	int count = k2hft_welcome_encode(&welcome, bytes, sizeof(bytes));
	bytes[45] ^= 1; /* checksum */
	peer_send(f, bytes, count);
	(void)peer_frame(f, K2HFT_FRAME_ERROR);
	peer_await_end(f);

	(void)peer_connect(f, 0, PEER_WINDOW);
	bytes[8] = bytes[9] = 0xff; /* length */
	peer_send(f, bytes, count);
	(void)peer_frame(f, K2HFT_FRAME_ERROR);
	peer_await_end(f);

	peer_accept(f);
	(void)peer_hello(f);
	welcome.features = 1; /* which was not offered */
	peer_welcome(f, &welcome);
	(void)peer_frame(f, K2HFT_FRAME_ERROR);
	peer_await_end(f);

	f->now_ns += 5000 * MS;
	peer_accept(f);
	(void)peer_hello(f);
	peer_ack(f, 0); /* before WELCOME */
	(void)peer_frame(f, K2HFT_FRAME_ERROR);
	peer_await_end(f);
}

/* A frame of one byte, with a checksum that is right. */
static void short_body_send(struct fixture *f, uint8_t type)
{
	struct k2hft_frame frame = {.type = type, .body_bytes = 1, .raw_bytes = 1};
	uint8_t bytes[K2HFT_FRAME_HEADER_BYTES + 1] = {0};

	assert_int_equal(k2hft_frame_header_encode(&frame, bytes + K2HFT_FRAME_HEADER_BYTES, bytes), 0);
	peer_send(f, bytes, sizeof(bytes));
}

CLIENT_TEST(short_bodies_end_the_connection)
{
	static const uint8_t types[] = {K2HFT_FRAME_ACK, K2HFT_FRAME_PING, K2HFT_FRAME_PONG, K2HFT_FRAME_ERROR};

	client_open(f);
	peer_accept(f);
	(void)peer_hello(f);
	short_body_send(f, K2HFT_FRAME_WELCOME);
	(void)peer_frame(f, K2HFT_FRAME_ERROR);
	peer_await_end(f);
	for (size_t at = 0; at < sizeof(types); at++) {
		(void)peer_connect(f, 0, PEER_WINDOW);
		short_body_send(f, types[at]);
		/* A loop that reads its own bytes has no use for another. */
		if (types[at] != K2HFT_FRAME_ERROR)
			(void)peer_frame(f, K2HFT_FRAME_ERROR);
		peer_await_end(f);
	}
}

static void error_send(struct fixture *f, uint16_t code)
{
	struct k2hft_error_message error = {.code = code, .text = "go away"};
	uint8_t bytes[256];

	peer_send(f, bytes, k2hft_error_encode(&error, bytes, sizeof(bytes)));
	peer_await_end(f);
	f->now_ns += 5000 * MS;
}

/* Another name has everything sent again. Only the answer to HELLO that a newer one is there asks for that. */
CLIENT_TEST(a_refused_ring_keeps_its_name)
{
	struct k2hft_hello before, hello;

	client_open(f);
	before = peer_connect(f, 0, PEER_WINDOW);
	error_send(f, K2HFT_ERROR_FENCED);
	peer_accept(f);
	(void)peer_hello(f);
	error_send(f, K2HFT_ERROR_REFUSED);
	hello = peer_connect(f, 0, PEER_WINDOW);
	assert_memory_equal(hello.ring_uuid, before.ring_uuid, sizeof(hello.ring_uuid));
}

/* The answer waits behind what is on its way: as long as that moves, the receiver is alive. */
STATE_TEST(a_slow_link_is_waited_for, fixture_open, fixture_close)
{
	struct fixture *f = *state;
	size_t bytes = 1024u * 1024;
	uint8_t *block = calloc(1, bytes);

	socket_fill(f, 12, block, bytes);
	for (unsigned seconds = 0; seconds < 30; seconds += 10) {
		/* It is woken when there is room. */
		for (int round = 0; !readable(f); round++) {
			assert_true(round < ROUNDS_MAX);
			(void)!recv(f->peer, block, bytes, 0);
			(void)poll(NULL, 0, 1);
		}
		rounds_go(f, 10);
		time_pass(f, 10000);
		assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTED);
	}
	time_pass(f, 10000);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_WAITING);
	assert_non_null(strstr(stats_of(f).last_error, "no answer"));
	/* Nothing of the frame that was on its way goes to the next one before HELLO. */
	(void)peer_connect_data(f, 0);
	free(block);
}

/* A tenth of a second for a piece that a fast network carries in a hundredth of that. */
STATE_TEST(a_slow_link_is_compressed_for, fixture_open, fixture_close)
{
	struct fixture *f = *state;
	size_t bytes = 1024u * 1024;
	uint8_t *block = calloc(1, bytes);

	f->options.compress = K2HFT_COMPRESS_AUTO;
	socket_fill(f, 12, block, bytes);
	assert_int_equal(stats_of(f).compressed_frames, 0);
	for (int round = 0; stats_of(f).compressed_frames == 0; round++) {
		assert_true(round < ROUNDS_MAX);
		(void)!recv(f->peer, block, 256u * 1024, 0);
		time_pass(f, 100);
		assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTED);
	}
	free(block);
}

/* A socket that has taken all and still holds much of it is as good as a full one; one that has sent all is not. */
STATE_TEST(a_slow_link_need_not_fill_the_socket, fixture_open, fixture_close)
{
	struct fixture *f = *state;
	size_t bytes = 256u * 1024;
	uint8_t *block = calloc(1, bytes);

	f->options.compress = K2HFT_COMPRESS_AUTO;
	socket_fill(f, 2, block, bytes);
	for (int round = 0; stats_of(f).compressed_frames == 0; round++) {
		assert_true(round < ROUNDS_MAX);
		assert_false(f->client->output.full);
		(void)!recv(f->peer, block, bytes, 0);
		memset(block, 0, bytes);
		push_to(f, f->stream_id, block, bytes);
		time_pass(f, 100);
		assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTED);
	}
	assert_true(f->client->link.busy_since_ns > 0);
	for (int round = 0; k2i_transport_unsent_bytes(&f->client->dial.transport) > 0; round++) {
		assert_true(round < ROUNDS_MAX);
		(void)!recv(f->peer, block, bytes, 0);
	}
	round_go(f);
	assert_true(f->client->link.busy_since_ns == 0);
	free(block);
}

/* Bytes that the own host takes for it do not count as its life. */
STATE_TEST(who_reads_nothing_is_dead_however_much_comes, fixture_open, fixture_close)
{
	struct fixture *f = *state;
	size_t bytes = 1024u * 1024;
	uint8_t *block = calloc(1, bytes);

	unsigned seconds = 0;

	socket_fill(f, 1, block, bytes);
	for (; seconds < 60 && stats_of(f).state == K2HFT_CLIENT_CONNECTED; seconds++) {
		push(f, "more\n");
		round_go(f);
		time_pass(f, 1000);
	}
	assert_in_range(seconds, 10, 30);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_WAITING);
	free(block);
}

STATE_TEST(who_asks_and_does_not_read_is_left, fixture_open, fixture_close)
{
	struct fixture *f = *state;
	size_t bytes = 1024u * 1024;
	struct k2hft_ping ping = {.token = 1};
	uint8_t *block = calloc(1, bytes);

	socket_fill(f, 12, block, bytes);
	for (int round = 0; k2i_client_control_room(f->client, K2HFT_FRAME_HEADER_BYTES + 64); round++) {
		assert_true(round < ROUNDS_MAX);
		for (unsigned asked = 0; asked < 20; asked++)
			peer_send(f, block, k2hft_ping_encode(K2HFT_FRAME_PING, &ping, block, bytes));
		round_go(f);
	}
	rounds_go(f, 100);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTED);
	time_pass(f, 5000);
	assert_string_equal(stats_of(f).last_error, "the receiver asks and does not read");
	free(block);
}

static size_t receiver_says(uint64_t choice, uint8_t *bytes, size_t room)
{
	struct k2hft_welcome welcome = welcome_make(0, PEER_WINDOW);
	struct k2hft_ack ack = {.position = 0, .window_end = PEER_WINDOW, .level = K2HFT_LEVEL_WRITTEN};
	struct k2hft_error_message error = {.code = 1, .text = "some text"};
	struct k2hft_ping ping = {.token = 3};

	switch (choice % 4) {
	case 0:
		return (size_t)k2hft_welcome_encode(&welcome, bytes, room);
	case 1:
		return (size_t)k2hft_ack_encode(&ack, bytes, room);
	case 2:
		return (size_t)k2hft_error_encode(&error, bytes, room);
	default:
		return (size_t)k2hft_ping_encode(K2HFT_FRAME_PING, &ping, bytes, room);
	}
}

/* With a checksum that is right, so that the body is looked at. */
static void frame_damage(uint8_t *bytes, size_t count, uint64_t random)
{
	struct k2hft_frame frame;
	size_t at = K2HFT_FRAME_HEADER_BYTES + (size_t)(random / 7) % (count - K2HFT_FRAME_HEADER_BYTES);

	assert_int_equal(k2hft_frame_header_decode(bytes, count, 4096, &frame), 0);
	bytes[at] = (uint8_t)(random >> 40);
	assert_int_equal(k2hft_frame_header_encode(&frame, bytes + K2HFT_FRAME_HEADER_BYTES, bytes), 0);
	if (random % 3 == 0)
		bytes[random / 11 % count] ^= (uint8_t)(random >> 32);
}

CLIENT_TEST(no_damage_to_frames_does_harm)
{
	uint64_t seed = 1;

	client_open(f);
	push(f, "kept\n");
	for (unsigned time = 0; time < 300; time++) {
		struct k2hft_welcome welcome = welcome_make(0, PEER_WINDOW);
		uint64_t random = random_next(&seed);
		uint8_t bytes[512];

		peer_accept(f);
		(void)peer_hello(f);
		if (time % 2)
			peer_welcome(f, &welcome);
		size_t count = receiver_says(random >> 8, bytes, sizeof(bytes));
		frame_damage(bytes, count, random);
		peer_send(f, bytes, (int)count);
		rounds_go(f, 3);
		peer_close(f);
		round_go(f);
		f->now_ns += 6000 * MS;
	}
	(void)peer_connect_data(f, 0);
	peer_acks(f, f->end);
}

CLIENT_TEST(close_works_in_every_state)
{
	for (uint32_t wanted = K2HFT_CLIENT_WAITING; wanted <= K2HFT_CLIENT_CONNECTED; wanted++) {
		client_open(f);
		if (wanted == K2HFT_CLIENT_CONNECTED)
			(void)peer_connect(f, 0, PEER_WINDOW);
		else
			state_await(f, wanted);
		k2hft_client_close(f->client);
		f->client = NULL;
		/* A connection that is left in the listener's queue is not the next client's. */
		peer_close(f);
		(void)close(f->listener);
		f->listener = listen_at(0, f->port);
	}
	k2hft_client_close(NULL);
}

/* A child keeps all descriptors open, whatever its parent closes. */
CLIENT_TEST(a_child_that_lives_on_does_not_disturb)
{
	pid_t child;

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		peer_close(f);
		for (;;)
			(void)pause();
	}
	peer_close(f);
	state_await(f, K2HFT_CLIENT_WAITING);
	struct pollfd quiet = {.fd = k2hft_client_descriptor(f->client), .events = POLLIN};
	int ready = poll(&quiet, 1, 0);
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(ready, 0);
}

CLIENT_TEST(errno_is_not_touched)
{
	struct k2hft_tls_options tls = {.size = sizeof(tls), .shared_key_path = "/none"};
	struct k2hft_client_options options = f->options;
	const struct k2hft_sender_options no_port = {
		.size = sizeof(no_port), .host = "127.0.0.1", .port = "99999999999999999999"};
	struct k2hft_sender *sender;

	options.tls = &tls;
	errno = 77;
	assert_int_equal(k2hft_sender_open(&no_port, &sender), -EINVAL);
	assert_int_equal(k2hft_sender_open_config("/none", &sender, NULL, 0), -ENOENT);
	assert_int_equal(k2hft_client_open(f->ring, &options, &f->client), -EINVAL);
	client_open(f);
	assert_int_equal(k2hft_client_process(f->client, f->now_ns), 0); /* connects */
	assert_int_equal(errno, 77);
	(void)peer_connect(f, 0, PEER_WINDOW);
	push(f, "unread\n");
	round_go(f);
	peer_close(f); /* resets the connection */
	errno = 77;
	k2hft_client_close(f->client); /* which can say no good-bye */
	f->client = NULL;
	assert_int_equal(errno, 77);
}

int __real_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **addresses);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **addresses);

/* How many descriptors a program would inherit by execve(2). */
static int descriptors_inherited(void)
{
	int inherited = 0;

	for (int descriptor = 0; descriptor < 1024; descriptor++) {
		int flags = fcntl(descriptor, F_GETFD);

		inherited += flags >= 0 && !(flags & FD_CLOEXEC);
	}
	return inherited;
}

/* While a name was looked up. */
static int inherited_meanwhile;

/* A name with two addresses: this host's, ::1 first where the library sorts as it should. */
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **addresses)
{
	bool two = strcmp(node, "two.example") == 0 && !(hints->ai_flags & AI_NUMERICHOST);

	if (strcmp(node, "none.example") == 0) {
		inherited_meanwhile = descriptors_inherited();
		return EAI_NONAME;
	}
	return __real_getaddrinfo(two ? NULL : node, service, hints, addresses);
}

/* At ::1, on the port of the fixture's receiver. */
static int other_listen(const struct fixture *f)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6,
				       .sin6_port = htons((uint16_t)strtoul(f->port, NULL, 10)),
				       .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int listener = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;

	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 8)) {
		(void)close(listener);
		return -1;
	}
	return listener;
}

/* Something that is no receiver answers at the first address. */
static void other_answers(struct fixture *f, int listener)
{
	static const char text[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
	int receiver = f->listener;

	f->listener = listener;
	peer_accept(f);
	f->listener = receiver;
	assert_int_equal(send(f->peer, text, sizeof(text) - 1, MSG_NOSIGNAL), sizeof(text) - 1);
}

CLIENT_TEST(descriptors_close_on_exec)
{
	int inherited = descriptors_inherited();

	f->options.host = "none.example";
	client_open(f);
	for (int round = 0; stats_of(f).connect_failures == 0; round++) {
		assert_true(round < ROUNDS_MAX);
		round_go(f);
	}
	assert_int_equal(inherited_meanwhile, inherited);
}

CLIENT_TEST(what_is_no_receiver_is_passed_over)
{
	int other = other_listen(f);

	if (other < 0)
		skip();
	f->options.host = "two.example";
	client_open(f);
	other_answers(f, other);
	(void)peer_connect(f, 0, PEER_WINDOW);
	assert_int_equal(stats_of(f).connect_failures, 1);
	assert_null(strstr(f->log, "trying again"));
	(void)close(other);
}

/* That nobody is at the last address does not hide what another has answered. */
CLIENT_TEST(the_error_that_tells_most_is_told)
{
	int other = other_listen(f);

	if (other < 0)
		skip();
	(void)close(f->listener);
	f->options.host = "two.example";
	client_open(f);
	for (unsigned tries = 0; tries < 3; tries++)
		other_answers(f, other);
	state_await(f, K2HFT_CLIENT_WAITING);
	assert_string_equal(stats_of(f).last_error,
			    "what answers is no receiver: is this PORT another program's, or CTLPORT?");
	assert_non_null(strstr(f->log, "two.example"));
	assert_null(strstr(f->log, "refused"));
	/* But not for ever. */
	(void)close(other);
	f->listener = -1;
	for (int round = 0; strcmp(stats_of(f).last_error, "Connection refused") != 0; round++) {
		assert_true(round < ROUNDS_MAX);
		round_go(f);
	}
}

/* The others of the name are tried while there is no receiver, and not instead of the one that was there. */
STATE_TEST(who_was_connected_waits, fixture_open, fixture_close)
{
	struct fixture *f = *state;
	int receiver = f->listener, other = other_listen(f);

	if (other < 0)
		skip();
	f->options.host = "two.example";
	f->listener = other;
	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	peer_close(f);
	for (int round = 0; stats_of(f).state == K2HFT_CLIENT_CONNECTED; round++) {
		assert_true(round < ROUNDS_MAX);
		round_go(f);
	}
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_WAITING);
	assert_int_not_equal(k2hft_client_timeout_ms(f->client, f->now_ns), 0);
	(void)close(receiver);
}
