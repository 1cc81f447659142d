/* SPDX-License-Identifier: MIT */
/* How a client that has no connection goes on, and what it says of it. */
#include "unit.h"
#include "client_peer.h"

#include <netdb.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

#include "client/state.h"
#include "ring/handle.h"

TEST(backoff_grows_to_five_seconds)
{
	assert_in_range(k2i_client_backoff_ns(1, UINT64_MAX), 0, 100 * MS);
	assert_in_range(k2i_client_backoff_ns(1, 90 * MS), 90 * MS, 100 * MS);
	assert_in_range(k2i_client_backoff_ns(3, 0), 1, 100 * MS);
	for (uint64_t random = 0; random < 5000 * MS; random += 7919 * MS / 10)
		assert_in_range(k2i_client_backoff_ns(UINT32_MAX, random), 1, 5010 * MS);
	assert_in_range(k2i_client_backoff_ns(3, 380 * MS), 300 * MS, 400 * MS);
}

/* A further attempt comes to nothing, at this time. */
static void failure_at(struct fixture *f, uint64_t now_ns)
{
	uint64_t before = stats_of(f).connect_failures;
	struct pollfd descriptor = {.fd = k2hft_client_descriptor(f->client), .events = POLLIN};

	f->client->failure.retry_at_ns = f->now_ns = now_ns;
	for (int round = 0; stats_of(f).connect_failures == before; round++) {
		assert_true(round < ROUNDS_MAX);
		assert_int_equal(k2hft_client_process(f->client, now_ns), 0);
		(void)poll(&descriptor, 1, 1);
	}
}

CLIENT_TEST(pauses_grow_with_the_failures)
{
	uint64_t longest_ns = 0;

	(void)close(f->listener);
	f->listener = -1;
	client_open(f);
	for (uint32_t failures = 1; failures <= 20; failures++) {
		failure_at(f, f->now_ns + MS);
		assert_int_equal(f->client->failure.count, failures);
		uint64_t pause_ns = f->client->failure.retry_at_ns - f->now_ns;
		assert_in_range(pause_ns, 10 * MS, 5000 * MS);
		longest_ns = pause_ns > longest_ns ? pause_ns : longest_ns;
	}
	/* Each is random; of so many one is longer than the first can be. */
	assert_true(longest_ns > 100 * MS);
}

/* A receiver that is back is not to be waited for. */
CLIENT_TEST(pauses_stay_short_while_records_wait)
{
	struct k2hft_chunk chunk = {.stream_id = f->stream_id, .record_count = 1};

	(void)close(f->listener);
	f->listener = -1;
	client_open(f);
	assert_int_equal(k2hft_producer_push(f->producer, &chunk, "x", 1), 0);
	for (uint32_t failures = 1; failures <= 40; failures++) {
		failure_at(f, f->now_ns + MS);
		assert_in_range(f->client->failure.retry_at_ns - f->now_ns, 10 * MS, 400 * MS);
	}
}

CLIENT_TEST(a_client_is_observed_by_its_ring)
{
	struct k2hft_client_stats stats = K2HFT_CLIENT_STATS_INIT;
	char receiver[K2HFT_RECEIVER_BYTES_MAX + 1], expected[32], path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", k2hft_ring_descriptor(f->ring));
	(void)snprintf(expected, sizeof(expected), "127.0.0.1:%s", f->port);
	assert_int_equal(k2hft_client_observe(path, &stats, receiver, sizeof(receiver)), -ENODATA);
	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	assert_int_equal(k2hft_client_observe(path, &stats, receiver, sizeof(receiver)), 0);
	assert_string_equal(receiver, expected);
	assert_int_equal(stats.state, K2HFT_CLIENT_CONNECTED);
	assert_string_equal(stats.last_error, "");
	peer_close(f);
	(void)close(f->listener);
	f->listener = -1;
	state_await(f, K2HFT_CLIENT_WAITING);
	failure_at(f, f->now_ns + MS);
	assert_int_equal(k2hft_client_observe(path, &stats, receiver, sizeof(receiver)), 0);
	assert_int_equal(stats.state, K2HFT_CLIENT_WAITING);
	assert_string_equal(stats.last_error, "Connection refused");
	assert_int_equal(k2hft_client_observe(path, &stats, receiver, 5), 0);
	assert_string_equal(receiver, "127.");
	/* A producer can write there, too. */
	k2i_ring_connection_set(f->ring, &(struct k2i_ring_connection){.receiver = "a\033[2Jb:1", .error = "\n"});
	assert_int_equal(k2hft_client_observe(path, &stats, receiver, sizeof(receiver)), 0);
	assert_string_equal(receiver, "a?[2Jb:1");
	assert_string_equal(stats.last_error, "?");
	f->ring->header->connection[1] ^= 1;
	assert_int_equal(k2hft_client_observe(path, &stats, receiver, sizeof(receiver)), -ENODATA);
	k2hft_client_close(f->client);
	f->client = NULL;
	assert_int_equal(k2hft_client_observe(path, &stats, receiver, sizeof(receiver)), -ENODATA);
	assert_int_equal(k2hft_client_observe("/nowhere", &stats, receiver, sizeof(receiver)), -ENOENT);
	assert_int_equal(k2hft_client_observe(path, NULL, receiver, sizeof(receiver)), -EINVAL);
	assert_int_equal(k2hft_client_observe(path, &stats, receiver, 0), -EINVAL);
}

/* The connection ends when it has held for so long. */
static void connection_ends_after(struct fixture *f, uint64_t held_ns)
{
	struct pollfd descriptor = {.events = POLLIN};

	(void)peer_connect(f, 0, PEER_WINDOW);
	peer_close(f);
	descriptor.fd = k2hft_client_descriptor(f->client);
	assert_int_equal(poll(&descriptor, 1, 10000), 1);
	f->now_ns = f->client->failure.connected_ns + held_ns;
	assert_int_equal(k2hft_client_process(f->client, f->now_ns), 0);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_WAITING);
}

/* A receiver that takes a connection and ends it must not be asked ten times a second for ever. */
CLIENT_TEST(only_a_connection_that_held_begins_anew)
{
	client_open(f);
	for (uint32_t failures = 1; failures <= 3; failures++) {
		connection_ends_after(f, K2I_CLIENT_PING_NS - 1);
		assert_int_equal(f->client->failure.count, failures);
	}
	connection_ends_after(f, K2I_CLIENT_PING_NS);
	assert_int_equal(f->client->failure.count, 1);
	assert_int_equal(stats_of(f).connect_failures, 0);
}

/* Nobody takes connections off the listener's queue, which is full. */
STATE_TEST(no_connection_in_time_is_the_end, fixture_open, fixture_close)
{
	struct fixture *f = *state;
	struct sockaddr_in address;
	socklen_t address_bytes = sizeof(address);
	int others[2];

	assert_int_equal(listen(f->listener, 0), 0);
	assert_int_equal(getsockname(f->listener, (struct sockaddr *)&address, &address_bytes), 0);
	for (unsigned at = 0; at < 2; at++) {
		others[at] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(others[at], (struct sockaddr *)&address, sizeof(address));
	}
	client_open(f);
	rounds_go(f, 20);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTING);
	assert_in_range(k2hft_client_timeout_ms(f->client, f->now_ns), 9900, 10000);
	time_pass(f, 10000);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_WAITING);
	assert_string_equal(stats_of(f).last_error, "Connection timed out");
	for (unsigned at = 0; at < 2; at++)
		(void)close(others[at]);
}

/* How long the one before took does not count. */
STATE_TEST(the_greeting_has_a_time_of_its_own, fixture_open, fixture_close)
{
	struct fixture *f = *state;

	client_open(f);
	round_go(f);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTING);
	f->now_ns += 5000 * MS;
	state_await(f, K2HFT_CLIENT_GREETING);
	assert_int_equal(k2hft_client_timeout_ms(f->client, f->now_ns), 10000);
}

CLIENT_TEST(each_network_is_judged_anew)
{
	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	f->client->link = (struct k2i_link){.peer_limited_ns = 1, .slow_count = 1, .slow_until_ns = UINT64_MAX};
	(void)peer_connect(f, 0, PEER_WINDOW);
	assert_int_equal(f->client->link.peer_limited_ns, 0);
	assert_int_equal(f->client->link.slow_count, 0);
	assert_int_equal(f->client->link.slow_until_ns, 0);
}

/* A thread that takes the turn can have looked at the clock before the one that had it; no time is no long time. */
CLIENT_TEST(a_clock_that_was_read_earlier_makes_no_slow_link)
{
	f->options.compress = K2HFT_COMPRESS_AUTO;
	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	f->client->link.busy_since_ns = f->now_ns;
	assert_int_equal(k2hft_client_process(f->client, f->now_ns - 1), 0);
	assert_int_equal(f->client->link.slow_count, 0);
}

static unsigned lines_with(const struct fixture *f, const char *text)
{
	unsigned lines = 0;

	for (const char *at = f->log; (at = strstr(at, text)); at++)
		lines++;
	return lines;
}

static unsigned lines_logged(const struct fixture *f)
{
	return lines_with(f, "trying again");
}

/* Twice as long each time, up to ten minutes. */
CLIENT_TEST(what_goes_on_is_logged_less_and_less)
{
	static const uint64_t pauses_s[] = {10, 20, 40, 80, 160, 320, 600, 600};
	uint16_t port = (uint16_t)strtoul(f->port, NULL, 10);
	unsigned lines = 0;
	uint64_t logged_ns;

	(void)close(f->listener);
	f->listener = -1;
	client_open(f);
	failure_at(f, f->now_ns);
	assert_int_equal(lines_logged(f), ++lines);
	for (size_t at = 0; at < sizeof(pauses_s) / sizeof(pauses_s[0]); at++) {
		logged_ns = f->now_ns;
		failure_at(f, logged_ns + pauses_s[at] * 1000 * MS - 1);
		assert_int_equal(lines_logged(f), lines);
		failure_at(f, logged_ns + pauses_s[at] * 1000 * MS);
		assert_int_equal(lines_logged(f), ++lines);
	}
	/* Something else is news, and begins anew. */
	f->listener = listen_at(port, f->port);
	f->client->failure.retry_at_ns = f->now_ns;
	peer_accept(f);
	peer_close(f);
	state_await(f, K2HFT_CLIENT_WAITING);
	assert_int_equal(lines_logged(f), ++lines);
	assert_int_equal(f->client->failure.pause_ns, 10000 * MS);
}

/* A receiver that is started again twice within seconds, or one that takes each connection and ends it. */
CLIENT_TEST(a_failure_is_not_the_last_word)
{
	client_open(f);
	connection_ends_after(f, MS);
	assert_int_equal(lines_logged(f), 1);
	connection_ends_after(f, MS);
	assert_int_equal(lines_with(f, "connected to"), 2);
	/* The same end again is not logged, so there is nothing to take back. */
	assert_int_equal(lines_logged(f), 1);
	connection_ends_after(f, MS);
	assert_int_equal(lines_with(f, "connected to"), 2);
}

/* ---- names */

static sem_t name_server;
static atomic_int name_questions;
static atomic_int resolver_signals; /* that the thread which asks it would take */

int __real_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **addresses);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **addresses);

/* A name whose server does not answer for now, and a name for which there is no socket to ask by. */
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **addresses)
{
	sigset_t blocked;

	if (strcmp(node, "many.example") == 0) {
		errno = EMFILE;
		return EAI_SYSTEM;
	}
	if (strcmp(node, "slow.example") != 0 || hints->ai_flags & AI_NUMERICHOST)
		return __real_getaddrinfo(node, service, hints, addresses);
	name_questions++;
	(void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	resolver_signals = !sigismember(&blocked, SIGTERM) + !sigismember(&blocked, SIGALRM);
	while (sem_wait(&name_server))
		continue;
	return EAI_NONAME;
}

STATE_TEST(a_name_is_not_waited_for_without_end, fixture_open, fixture_close)
{
	struct pollfd descriptor = {.events = POLLIN};
	struct fixture *f = *state;

	assert_int_equal(sem_init(&name_server, 0, 0), 0);
	resolver_signals = -1;
	f->options.host = "slow.example";
	client_open(f);
	descriptor.fd = k2hft_client_descriptor(f->client);
	round_go(f);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTING);
	assert_int_equal(k2hft_client_timeout_ms(f->client, f->now_ns), 30000);
	time_pass(f, 29990);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTING);
	time_pass(f, 10);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_WAITING);
	assert_string_equal(stats_of(f).last_error, "its name is not resolved in time");
	/* A client that tries again waits on; the answer wakes it. */
	for (int tries = 0; tries < 3; tries++) {
		f->now_ns = f->client->failure.retry_at_ns;
		round_go(f);
		assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTING);
		time_pass(f, 30000);
		assert_int_equal(stats_of(f).state, K2HFT_CLIENT_WAITING);
	}
	f->now_ns = f->client->failure.retry_at_ns;
	round_go(f);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTING);
	assert_int_equal(sem_post(&name_server), 0);
	assert_int_equal(poll(&descriptor, 1, 10000), 1);
	state_await(f, K2HFT_CLIENT_WAITING);
	assert_string_equal(stats_of(f).last_error, gai_strerror(EAI_NONAME));
	assert_int_equal(name_questions, 1);
	assert_int_equal(resolver_signals, 0);
	/* After an answer the next one is asked anew. */
	assert_int_equal(sem_post(&name_server), 0);
	f->now_ns = f->client->failure.retry_at_ns;
	round_go(f);
	state_await(f, K2HFT_CLIENT_WAITING);
	assert_int_equal(name_questions, 2);
}

/* "System error" would say nothing. */
CLIENT_TEST(what_the_system_refuses_is_told)
{
	f->options.host = "many.example";
	client_open(f);
	for (int round = 0; stats_of(f).connect_failures == 0; round++) {
		assert_true(round < ROUNDS_MAX);
		round_go(f);
	}
	assert_string_equal(stats_of(f).last_error, strerror(EMFILE));
}
