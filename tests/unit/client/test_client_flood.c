/* SPDX-License-Identifier: MIT */
/* A receiver that sends without end. */
#include "unit.h"
#include "client_peer.h"

#include "net/transport.h"

static unsigned more_left; /* reads that TLS still has something for */

bool __real_k2i_transport_more(const struct k2i_transport *transport);
bool __wrap_k2i_transport_more(const struct k2i_transport *transport);
bool __wrap_k2i_transport_more(const struct k2i_transport *transport)
{
	if (more_left == 0 || transport->descriptor < 0)
		return __real_k2i_transport_more(transport);
	more_left--;
	return true;
}

CLIENT_TEST(a_flood_leaves_time_for_all_else)
{
	unsigned calls = 0;

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	push(f, "sent meanwhile\n");
	peer_ack(f, 0);
	more_left = 1000;
	/* Nobody wakes the client: it asks for its next turn itself. */
	while (more_left > 1) {
		assert_int_equal(k2hft_client_timeout_ms(f->client, f->now_ns), 0);
		unsigned before = more_left;
		assert_int_equal(k2hft_client_process(f->client, f->now_ns), 0);
		assert_true(more_left < before && before - more_left < 100);
		calls++;
	}
	assert_true(calls > 10);
	(void)peer_data(f);
}
