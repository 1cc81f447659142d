/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "client_peer.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/wait.h>

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
TEST(a_connection_is_set_up)
{
	struct k2i_transport transport;
	char port[8];
	int listener = listen_at(0, port);

	connection_open(&transport, port);
	assert_int_equal(k2i_transport_connect_end(&transport), 0);
	assert_int_equal(number_option(transport.descriptor, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(number_option(transport.descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT), 15000);
	assert_int_equal(number_option(transport.descriptor, SOL_SOCKET, SO_KEEPALIVE), 1);
	k2i_transport_close(&transport);
	assert_int_equal(transport.descriptor, -1);
	(void)close(listener);
}

TEST(nobody_is_there)
{
	struct k2i_transport transport;
	char port[8];

	(void)close(listen_at(0, port));
	connection_open(&transport, port);
	assert_int_equal(k2i_transport_connect_end(&transport), -ECONNREFUSED);
	k2i_transport_close(&transport);
}

/* As it happens when nobody listens and the kernel gives the connection's near end the very port that it goes to. */
TEST(a_connection_to_itself_is_none)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t address_bytes = sizeof(address);
	struct k2i_transport transport = {.descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	assert_true(transport.descriptor >= 0);
	assert_int_equal(bind(transport.descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(transport.descriptor, (struct sockaddr *)&address, &address_bytes), 0);
	assert_int_equal(connect(transport.descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(k2i_transport_connect_end(&transport), -ECONNREFUSED);
	k2i_transport_close(&transport);
}

#define CONTROL_FILE "/proc/sys/net/ipv4/tcp_congestion_control"

enum { PACING_AS_IT_SHOULD, PACING_NOT_TRIED, PACING_WRONG };

/* Whether a connection to the host begins with that congestion control; nobody has to be there. */
static bool control_is(const char *host, const char *expected)
{
	struct k2i_transport transport;
	char control[32] = "";
	socklen_t control_bytes = sizeof(control) - 1;
	int error = connection_begin(&transport, host, "9");

	if (error) {
		print_message("%s: %s\n", host, strerror(-error));
		return false;
	}
	bool is = getsockopt(transport.descriptor, IPPROTO_TCP, TCP_CONGESTION, control, &control_bytes) == 0 &&
		  strcmp(control, expected) == 0;
	if (!is)
		print_message("%s: %s, not %s\n", host, control, expected);
	k2i_transport_close(&transport);
	return is;
}

static bool control_set(const char *control)
{
	FILE *file = fopen(CONTROL_FILE, "we");

	if (!file)
		return false;
	bool put = fputs(control, file) >= 0;
	return fclose(file) == 0 && put;
}

static bool ip_run(const char *const *words)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		(void)execvp("ip", (char *const *)words);
		_exit(127);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A host of its own, with a link that leads nowhere: nothing leaves it. */
static bool link_made(void)
{
	static const char *const commands[][10] = {
		{"ip", "link", "set", "lo", "up"},
		{"ip", "link", "add", "k2hft0", "type", "veth", "peer", "name", "k2hft1"},
		{"ip", "addr", "add", "198.18.0.1/30", "dev", "k2hft0"},
		{"ip", "addr", "add", "fd00::1/64", "dev", "k2hft0", "nodad"},
		{"ip", "link", "set", "k2hft0", "up"},
	};
	bool made = unshare(CLONE_NEWNET) == 0;

	for (size_t i = 0; made && i < sizeof(commands) / sizeof(commands[0]); i++)
		made = ip_run(commands[i]);
	return made;
}

static int pacing_look(void)
{
	const char *control;

	if (!link_made())
		return PACING_NOT_TRIED;
	control = control_set("bbr") ? "bbr" : "cubic";
	if (!control_set(control))
		return PACING_NOT_TRIED;
	return control_is("127.0.0.1", "reno") && control_is("127.0.0.2", "reno") && control_is("::1", "reno") &&
			       control_is("198.18.0.2", control) && control_is("fd00::2", control)
		       ? PACING_AS_IT_SHOULD
		       : PACING_WRONG;
}

TEST(only_on_loopback_nothing_is_paced)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(pacing_look());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == PACING_NOT_TRIED) {
		print_message("no network namespace, ip(8), veth or other congestion control than Reno here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), PACING_AS_IT_SHOULD);
}

/* Bytes that the peer does not read stay here in the end, and it is the peer that holds them back. */
TEST(who_does_not_read_is_seen)
{
	static uint8_t block[1024 * 1024];
	const struct iovec piece = {block, sizeof(block)};
	struct k2i_transport transport;
	char port[8];
	int listener = listen_at(0, port);
	ssize_t count;

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
