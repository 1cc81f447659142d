/* SPDX-License-Identifier: MIT */
/* The greeting and the acknowledgements of a server of Forward, over a pair of sockets. */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"
#include "receiver/sink/forward/peer.h"

#define ID "QUJDREVGR0hJSktMTU5PUA=="
#define ACK                                                                                                            \
	"\x81\xa3"                                                                                                     \
	"ack\xb8" ID

struct world {
	char key[300];
	struct k2i_forward_options options;
	struct k2i_forward_peer peer;
	int server;
};

static int world_open(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	int sockets[2], file;

	assert_non_null(world);
	*state = world;
	(void)snprintf(world->key, sizeof(world->key), "/tmp/k2hft-forward.XXXXXX");
	file = mkstemp(world->key);
	assert_int_equal(write(file, "secret\n", 7), 7);
	(void)close(file);
	/* A message of the server's is one that is read. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
	world->options = (struct k2i_forward_options){.key_file = world->key, .answer_ms = 60000};
	world->peer = (struct k2i_forward_peer){.options = &world->options,
						.stop = eventfd(0, EFD_CLOEXEC),
						.transport.descriptor = sockets[0],
						.open = true};
	world->server = sockets[1];
	return 0;
}

static int world_close(void **state)
{
	struct world *world = *state;

	k2i_forward_peer_close(&world->peer);
	(void)close(world->peer.stop);
	(void)close(world->server);
	(void)unlink(world->key);
	free(world);
	return 0;
}

static void says(struct world *world, const char *bytes, size_t count)
{
	assert_int_equal(send(world->server, bytes, count, 0), count);
}
#define SAYS(world, bytes) says(world, bytes, sizeof(bytes) - 1)

static void expect_acknowledged(struct world *world, bool wait, const char *wanted)
{
	const char *id;
	size_t bytes;

	assert_int_equal(k2i_forward_peer_acknowledged(&world->peer, wait, &id, &bytes), 1);
	assert_int_equal(bytes, strlen(wanted));
	assert_memory_equal(id, wanted, bytes);
}

static void expect_failed(struct world *world, int result, int error, const char *reason)
{
	assert_int_equal(result, error);
	assert_string_equal(world->peer.reason, reason);
}

static int acknowledged(struct world *world)
{
	const char *id;
	size_t bytes;

	return k2i_forward_peer_acknowledged(&world->peer, true, &id, &bytes);
}

/* In parts, several at once, and among what is none. */
FIXTURE_TEST(test_acknowledged, struct world *world, world_open, world_close)
{
	const char *id;
	size_t bytes;

	assert_int_equal(k2i_forward_peer_acknowledged(&world->peer, false, &id, &bytes), 0);
	for (size_t at = 0; at + 1 < sizeof(ACK) - 1; at++) {
		says(world, &ACK[at], 1);
		assert_int_equal(k2i_forward_peer_acknowledged(&world->peer, false, &id, &bytes), 0);
	}
	SAYS(world, "=");
	expect_acknowledged(world, false, ID);
	SAYS(world, ACK "\x81\xa3"
			"ack\xa1z");
	expect_acknowledged(world, true, ID);
	expect_acknowledged(world, true, "z");
	/* nil, a number, another map, an id that is none, and one with more beside it, as binary. */
	SAYS(world, "\xc0\x07\x81\xa1"
		    "a\x01\x81\xa3"
		    "ack\xc0\x82\xa1"
		    "b\x92\xc0\x80\xa3"
		    "ack\xc4\x01y");
	expect_acknowledged(world, true, "y");
	assert_int_equal(k2i_forward_peer_acknowledged(&world->peer, false, &id, &bytes), 0);
	assert_int_equal(shutdown(world->server, SHUT_WR), 0);
	expect_failed(world, acknowledged(world), -ECONNRESET, "it has closed the connection");
}

FIXTURE_TEST(test_longest_id, struct world *world, world_open, world_close)
{
	char wanted[65];

	memset(wanted, 'i', 64);
	wanted[64] = '\0';
	SAYS(world, "\x81\xa3"
		    "ack\xd9\x41");
	says(world, wanted, 64);
	SAYS(world, "+\x81\xa3"
		    "ack\xd9\x40");
	says(world, wanted, 64);
	expect_acknowledged(world, true, wanted);
}

FIXTURE_TEST(test_strange, struct world *world, world_open, world_close)
{
	static char nothing[2000];

	memset(nothing, '\xc0', sizeof(nothing));
	says(world, nothing, sizeof(nothing));
	expect_failed(world, acknowledged(world), -EPROTO, "it answers with much else than acknowledgements");
}

FIXTURE_TEST(test_no_forward, struct world *world, world_open, world_close)
{

	SAYS(world, "\xc1");
	expect_failed(world, acknowledged(world), -EPROTO, "its answer is none of Forward");
}

/* An answer that never ends takes no more memory than there is for one. */
FIXTURE_TEST(test_endless, struct world *world, world_open, world_close)
{
	static char block[16384];

	memset(block, '\x91', sizeof(block));
	for (unsigned count = 0; count < 4; count++)
		says(world, block, sizeof(block));
	expect_failed(world, acknowledged(world), -EPROTO, "its answer is none of Forward");
}

FIXTURE_TEST(test_unasked_greeting, struct world *world, world_open, world_close)
{

	SAYS(world, "\x92\xa4HELO\x80");
	expect_failed(world, acknowledged(world), -EACCES, "it wants a shared key: write FORWARD_SHARED_KEY_FILE");
}

FIXTURE_TEST(test_stopped, struct world *world, world_open, world_close)
{
	const uint64_t one = 1;

	assert_int_equal(write(world->peer.stop, &one, sizeof(one)), sizeof(one));
	expect_failed(world, acknowledged(world), -ECANCELED, "the receiver ends");
}

FIXTURE_TEST(test_silent, struct world *world, world_open, world_close)
{

	world->options.answer_ms = 20;
	expect_failed(world, acknowledged(world), -ETIMEDOUT, "it has not answered for 20 ms");
}

/* Each of these is another world's. */
static void expect_greeting(const char *bytes, size_t count, int error, const char *reason)
{
	void *state;
	struct world *world;

	assert_int_equal(world_open(&state), 0);
	world = state;
	says(world, bytes, count);
	assert_int_equal(shutdown(world->server, SHUT_WR), 0);
	expect_failed(world, k2i_forward_greet(&world->peer), error, reason);
	assert_int_equal(world_close(&state), 0);
}
#define EXPECT_GREETING(bytes, error, reason) expect_greeting(bytes, sizeof(bytes) - 1, error, reason)

#define HELO "\x92\xa4HELO\x81\xa5nonce\xa2no"

TEST(test_greeting_fails)
{
	static char long_nonce[300] = "\x92\xa4HELO\x81\xa5nonce\xc5\x01\x01";

	EXPECT_GREETING("", -ECONNRESET, "it has closed the connection");
	EXPECT_GREETING("\x07", -EPROTO, "it answers with something else than HELO");
	EXPECT_GREETING("\x91\xa4HELO", -EPROTO, "it answers with something else than HELO");
	EXPECT_GREETING("\x92\xa4HELP\x80", -EPROTO, "it answers with something else than HELO");
	EXPECT_GREETING("\x92\xa4HELO\xc0", -EPROTO, "it answers with something else than HELO");
	expect_greeting(long_nonce, 16 + 257, -EPROTO, "it answers with something else than HELO");
	EXPECT_GREETING(HELO, -ECONNRESET, "it has closed the connection");
	EXPECT_GREETING(HELO "\x92\xa4PONG\xc3", -EPROTO, "it answers with something else than PONG");
	EXPECT_GREETING(HELO "\x93\xa4PONG\x01\xa0", -EPROTO, "it answers with something else than PONG");
	EXPECT_GREETING(HELO "\x93\xa4PONG\xc3\xa0", -EPROTO, "it answers with something else than PONG");
	EXPECT_GREETING(HELO "\x93\xa4PONG\xc2\xa2no", -EACCES, "it refuses FORWARD_SHARED_KEY_FILE or the user: no");
	EXPECT_GREETING(HELO "\x93\xa4PONG\xc2\xc0", -EACCES, "it refuses FORWARD_SHARED_KEY_FILE or the user: ");
	EXPECT_GREETING(HELO "\x95\xa4PONG\xc3\xa0\xa1h\xa1"
			     "0",
			-EACCES, "it does not know the key of FORWARD_SHARED_KEY_FILE");
}

/* PING has the host, a salt and two digests; the secret is not in it. */
FIXTURE_TEST(test_ping, struct world *world, world_open, world_close)
{
	struct k2i_unpacked value;
	uint8_t ping[2000];
	ssize_t count;
	size_t at = 0;

	SAYS(world, "\x92\xa4HELO\x82\xa9keepalive\xc2\xa5nonce\xa2no");
	assert_int_equal(shutdown(world->server, SHUT_WR), 0);
	assert_int_equal(k2i_forward_greet(&world->peer), -ECONNRESET);
	assert_true(world->peer.once);
	count = recv(world->server, ping, sizeof(ping), 0);
	assert_true(count > 0 && !memmem(ping, (size_t)count, "secret", 6));
	assert_int_equal(k2i_unpack_next(ping, (size_t)count, &at, &value), 1);
	assert_int_equal(value.kind, K2I_UNPACKED_ARRAY);
	assert_int_equal(value.count, 6);
	assert_int_equal(k2i_unpack_next(ping, (size_t)count, &at, &value), 1);
	assert_true(k2i_unpacked_is(&value, "PING"));
	at = 0;
	assert_int_equal(k2i_unpack_skip(ping, (size_t)count, &at), 1);
	assert_int_equal(at, count);
}
