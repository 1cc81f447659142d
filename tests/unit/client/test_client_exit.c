/* SPDX-License-Identifier: MIT */
/* The end of OpenSSL in exit(3), while there are clients that have a connection. */
#include "unit.h"
#include "ring_help.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

#include <k2hft/client.h>

#include "client/state.h"
#include "ring/handle.h"
#include "net/tls/tls.h"

#define CLIENTS 3

static void (*exit_handler)(void);
static int timeouts_ms[CLIENTS];
static unsigned drains;

void __wrap_k2i_tls_at_end(void (*end)(void));
void __wrap_k2i_tls_at_end(void (*end)(void))
{
	exit_handler = end;
}

int __wrap_k2hft_client_stats(struct k2hft_client *client, struct k2hft_client_stats *stats);
int __wrap_k2hft_client_stats(struct k2hft_client *client, struct k2hft_client_stats *stats)
{
	(void)client;
	stats->state = K2HFT_CLIENT_CONNECTED;
	return 0;
}

/* The port of a receiver that does not answer. */
int __wrap_k2hft_client_drain(struct k2hft_client *client, int timeout_ms);
int __wrap_k2hft_client_drain(struct k2hft_client *client, int timeout_ms)
{
	const struct timespec pause = {.tv_nsec = 5000000};

	(void)client;
	assert_true(drains < CLIENTS);
	timeouts_ms[drains++] = timeout_ms;
	(void)nanosleep(&pause, NULL);
	return -ETIMEDOUT;
}

/* The answer of a drain that comes when the thread has ended. */
static int late_drain;

int __real_k2hft_client_drain(struct k2hft_client *client, int timeout_ms);
void __real_k2i_client_bye(struct k2hft_client *client);
void __wrap_k2i_client_bye(struct k2hft_client *client);
void __wrap_k2i_client_bye(struct k2hft_client *client)
{
	late_drain = __real_k2hft_client_drain(client, 0);
	__real_k2i_client_bye(client);
}

static void key_write(const char *path)
{
	static const char line[] = "000102030405060708090a0b0c0d0e0f\n";
	int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_int_equal(write(descriptor, line, sizeof(line) - 1), sizeof(line) - 1);
	assert_int_equal(close(descriptor), 0);
}

/* With its thread, and nobody who answers. */
static struct k2hft_client *client_with_tls(const struct files *files, struct k2hft_ring *ring)
{
	const struct k2hft_tls_options tls = {.size = sizeof(tls), .shared_key_path = files->path};
	const struct k2hft_client_options options = {
		.size = sizeof(options), .host = "127.0.0.1", .port = "1", .tls = &tls};
	struct k2hft_client *client;

	assert_int_equal(k2hft_client_open(ring, &options, &client), 0);
	assert_int_equal(k2hft_client_thread_start(client), 0);
	drains = 0;
	return client;
}

#define CASE(name) STATE_TEST(name, files_make, files_remove)

/* Else a program with many senders would take that much longer to end. */
CASE(clients_are_waited_for_together)
{
	const struct files *files = *state;
	struct k2hft_client *clients[CLIENTS];
	struct k2hft_ring *rings[CLIENTS];

	key_write(files->path);
	for (int at = 0; at < CLIENTS; at++) {
		rings[at] = memory_ring();
		clients[at] = client_with_tls(files, rings[at]);
	}
	assert_non_null(exit_handler);
	exit_handler();
	assert_int_equal(drains, CLIENTS);
	assert_true(timeouts_ms[0] <= 2000);
	for (int at = 1; at < CLIENTS; at++)
		assert_true(timeouts_ms[at] < timeouts_ms[at - 1] || timeouts_ms[at] == 0);
	for (int at = 0; at < CLIENTS; at++) {
		k2hft_client_close(clients[at]);
		k2hft_ring_close(rings[at]);
	}
}

/* A writer looks without `running`, and can have seen a connection before OpenSSL ended. */
CASE(no_writer_goes_on_without_tls)
{
	const struct files *files = *state;
	struct k2hft_ring *ring = memory_ring();
	struct k2hft_client *client;

	key_write(files->path);
	client = client_with_tls(files, ring);
	exit_handler();
	client->state = K2HFT_CLIENT_CONNECTED;
	assert_false(k2i_lease_take(client, 1));
	client->state = K2HFT_CLIENT_WAITING;
	k2hft_client_close(client);
	k2hft_ring_close(ring);
}

CASE(who_drains_meanwhile_is_told)
{
	const struct files *files = *state;
	struct k2hft_ring *ring = memory_ring();
	struct k2hft_producer *producer = producer_of(ring);
	struct k2hft_client *client;

	key_write(files->path);
	client = client_with_tls(files, ring);
	assert_int_equal(push(producer, stream_of(ring, "s"), "x"), 0);
	exit_handler();
	assert_int_equal(late_drain, -EIO);
	k2hft_client_close(client);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
}

/* It can have the pid of its parent, in a new namespace: both are the first process of a container then. */
CASE(a_child_ends_nothing_of_its_parent)
{
	const struct files *files = *state;
	struct k2hft_ring *ring = memory_ring();
	struct k2hft_client *client;
	int status;
	pid_t child;

	key_write(files->path);
	client = client_with_tls(files, ring);
	child = fork();
	if (child == 0) {
		ring->process.owner = (uint64_t)getpid() << 32;
		exit_handler();
		_exit(drains != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	k2hft_client_close(client);
	k2hft_ring_close(ring);
}
