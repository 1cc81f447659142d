/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "unit.h"
#include "base/log.h"
#include "receiver/connection/acceptor.h"
#include "receiver/listen/listener.h"

static struct event_base *base;
static unsigned refused_accepts, refused_adds, served;
static in_port_t port;
static int serve_error;
static char refusal[256];

/* Named by the linker, all of these. */
int __real_accept4(int descriptor, struct sockaddr *address, socklen_t *address_bytes, int flags);
int __wrap_accept4(int descriptor, struct sockaddr *address, socklen_t *address_bytes, int flags);
int __real_event_add(struct event *event, const struct timeval *timeout);
int __wrap_event_add(struct event *event, const struct timeval *timeout);
int __wrap_k2i_loops_serve(struct k2i_loops *loops, int descriptor, const struct sockaddr *address,
			   socklen_t address_bytes);

int __wrap_accept4(int descriptor, struct sockaddr *address, socklen_t *address_bytes, int flags)
{
	if (refused_accepts == 0)
		return __real_accept4(descriptor, address, address_bytes, flags);
	refused_accepts--;
	errno = EMFILE;
	return -1;
}

/* Pauses are over at once. */
int __wrap_event_add(struct event *event, const struct timeval *timeout)
{
	const struct timeval now = {0, 0};

	if (timeout)
		return __real_event_add(event, &now);
	if (refused_adds == 0)
		return __real_event_add(event, NULL);
	refused_adds--;
	return -1;
}

int __wrap_k2i_loops_serve(struct k2i_loops *loops, int descriptor, const struct sockaddr *address,
			   socklen_t address_bytes)
{
	(void)loops;
	(void)address;
	(void)address_bytes;
	(void)close(descriptor);
	served++;
	(void)event_base_loopbreak(base);
	return serve_error;
}

static void port_find(void *argument, enum k2hft_log_level level, const char *text)
{
	const char *found = strstr(text, "listening on 127.0.0.1:"), *why = strstr(text, "is refused: ");

	(void)argument;
	(void)level;
	if (found)
		port = (in_port_t)strtoul(strrchr(found, ':') + 1, NULL, 10);
	if (why)
		(void)snprintf(refusal, sizeof(refusal), "%s", why);
}

static int connect_to(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(descriptor >= 0);
	assert_int_equal(connect(descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
	return descriptor;
}

/* As lack of descriptors ends by itself, so does lack of what watching a socket takes. */
TEST(a_pause_that_can_not_end_is_made_longer)
{
	const struct k2i_listen_choice choice = {.words = &k2i_listen_records, .port = "0", .loopback = true};
	static struct k2i_counters counters;
	struct k2i_acceptor acceptor = {.counters = &counters};
	const struct k2i_listen_taker taker = {k2i_acceptor_take, &acceptor, &counters.accept_errors};
	struct k2i_listener *listener;
	int descriptor;

	k2hft_log_callback_set(port_find, NULL, K2HFT_LOG_INFO);
	base = event_base_new();
	assert_non_null(base);
	assert_int_equal(k2i_listener_open(&choice, &listener), 0);
	assert_int_equal(k2i_listener_start(listener, base, &taker), 0);
	assert_true(port > 0);
	descriptor = connect_to();
	refused_accepts = 1;
	refused_adds = 4;
	(void)event_base_dispatch(base);
	assert_int_equal(served, 1);
	assert_int_equal(refused_adds, 0);
	assert_true(atomic_load(&counters.accept_errors) > 1);
	(void)close(descriptor);
	k2i_listener_close(listener);
	event_base_free(base);
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
}

/* A line in ten seconds: each has a listener of its own. */
static void refused_with(int error, const char *why, const atomic_uint_fast64_t *counter, struct k2i_counters *counters)
{
	const struct k2i_listen_choice choice = {.words = &k2i_listen_records, .port = "0", .loopback = true};
	struct k2i_acceptor acceptor = {.counters = counters};
	const struct k2i_listen_taker taker = {k2i_acceptor_take, &acceptor, &counters->accept_errors};
	struct k2i_listener *listener;
	int descriptor;

	base = event_base_new();
	assert_non_null(base);
	assert_int_equal(k2i_listener_open(&choice, &listener), 0);
	assert_int_equal(k2i_listener_start(listener, base, &taker), 0);
	descriptor = connect_to();
	serve_error = error;
	(void)event_base_dispatch(base);
	serve_error = 0;
	assert_string_equal(refusal, why);
	assert_int_equal(atomic_load(counter), 1);
	(void)close(descriptor);
	k2i_listener_close(listener);
	event_base_free(base);
}

/* An administrator who reads of CONNMAX looks for who has taken all places. */
TEST(why_a_connection_is_refused)
{
	static struct k2i_counters counters;

	k2hft_log_callback_set(port_find, NULL, K2HFT_LOG_INFO);
	refused_with(-ENOMEM, "is refused: no memory", &counters.accept_errors, &counters);
	refused_with(-EUSERS, "is refused: there are as many connections as CONNMAX allows",
		     &counters.refused_connections, &counters);
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
}
