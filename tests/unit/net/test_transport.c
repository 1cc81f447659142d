/* SPDX-License-Identifier: MIT */
#include "client_peer.h"

#include <netdb.h>
#include <netinet/tcp.h>

#include "net/transport.h"

static int number_option(int descriptor, int level, int option)
{
	int value = -1;
	socklen_t value_bytes = sizeof(value);

	assert_int_equal(getsockopt(descriptor, level, option, &value, &value_bytes), 0);
	return value;
}

/* 0, or k2i_transport_connect's. */
static int connection_begin(struct k2i_transport *transport, const char *host, const char *port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *address;

	assert_int_equal(getaddrinfo(host, port, &hints, &address), 0);
	*transport = (struct k2i_transport){.descriptor = -1};
	int error = k2i_transport_connect(transport, address);
	freeaddrinfo(address);
	return error == -EINPROGRESS ? 0 : error;
}

static void connection_open(struct k2i_transport *transport, const char *port)
{
	struct pollfd writable = {.events = POLLOUT};

	assert_int_equal(connection_begin(transport, "127.0.0.1", port), 0);
	writable.fd = transport->descriptor;
	assert_int_equal(poll(&writable, 1, 10000), 1);
}

/* Records go at once, and a connection to a host that is gone ends by itself. */
static void a_connection_is_set_up(void **state)
{
	struct k2i_transport transport;
	char port[8];
	int listener = listen_at(0, port);

	(void)state;
	connection_open(&transport, port);
	assert_int_equal(k2i_transport_connect_end(&transport), 0);
	assert_int_equal(number_option(transport.descriptor, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(number_option(transport.descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT), 15000);
	assert_int_equal(number_option(transport.descriptor, SOL_SOCKET, SO_KEEPALIVE), 1);
	k2i_transport_close(&transport);
	assert_int_equal(transport.descriptor, -1);
	(void)close(listener);
}

static void nobody_is_there(void **state)
{
	struct k2i_transport transport;
	char port[8];

	(void)state;
	(void)close(listen_at(0, port));
	connection_open(&transport, port);
	assert_int_equal(k2i_transport_connect_end(&transport), -ECONNREFUSED);
	k2i_transport_close(&transport);
}

/* As it happens when nobody listens and the kernel gives the connection's near end the very port that it goes to. */
static void a_connection_to_itself_is_none(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t address_bytes = sizeof(address);
	struct k2i_transport transport = {.descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	(void)state;
	assert_true(transport.descriptor >= 0);
	assert_int_equal(bind(transport.descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(transport.descriptor, (struct sockaddr *)&address, &address_bytes), 0);
	assert_int_equal(connect(transport.descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(k2i_transport_connect_end(&transport), -ECONNREFUSED);
	k2i_transport_close(&transport);
}

/* Bytes that the peer does not read stay here in the end, and it is the peer that holds them back. */
static void who_does_not_read_is_seen(void **state)
{
	static uint8_t block[1024 * 1024];
	const struct iovec piece = {block, sizeof(block)};
	struct k2i_transport transport;
	char port[8];
	int listener = listen_at(0, port);
	ssize_t count;

	(void)state;
	connection_open(&transport, port);
	assert_int_equal(k2i_transport_unconfirmed_bytes(&transport), 0);
	assert_int_equal(k2i_transport_unsent_bytes(&transport), 0);
	assert_int_equal(k2i_transport_peer_limited_ns(&transport), 0);
	for (int round = 0; k2i_transport_peer_limited_ns(&transport) == 0; round++) {
		assert_true(round < ROUNDS_MAX);
		count = k2i_transport_write(&transport, &piece, 1);
		assert_true(count > 0 || count == -EAGAIN);
		(void)poll(NULL, 0, 1);
	}
	assert_true(k2i_transport_unsent_bytes(&transport) > 0);
	assert_true(k2i_transport_unconfirmed_bytes(&transport) >= k2i_transport_unsent_bytes(&transport));
	k2i_transport_close(&transport);
	(void)close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_is_set_up),
		cmocka_unit_test(nobody_is_there),
		cmocka_unit_test(a_connection_to_itself_is_none),
		cmocka_unit_test(who_does_not_read_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
