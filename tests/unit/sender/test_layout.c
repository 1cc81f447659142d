/* SPDX-License-Identifier: MIT */
/* Programs are compiled with the structures of 0.1.0, and run with whatever library has the soname of now. */
#include <stdalign.h>

#include <k2hft/k2hft.h>

#include "unit.h"

static void keep(const char *name, size_t now, size_t released)
{
	if (now != released)
		fail_msg("struct %s is not as it was: %zu, not %zu", name, now, released);
}

/* Offsets that are different where pointers have 32 bits follow from the same fields. */
static bool words_have_64_bits(void)
{
	return sizeof(void *) == 8 && alignof(uint64_t) == 8;
}

#define WHOLE(structure, bytes) keep(#structure, sizeof(struct structure), bytes)

TEST(without_a_size_they_never_change)
{
	if (!words_have_64_bits())
		skip();
	WHOLE(k2hft_chunk, 24);
	WHOLE(k2hft_stream, 24);
	WHOLE(k2hft_span, 40);
	WHOLE(k2hft_chunk_view, 56);
	WHOLE(k2hft_frame, 32);
	WHOLE(k2hft_hello, 600);
	WHOLE(k2hft_welcome, 128);
	WHOLE(k2hft_stream_message, 1288);
	WHOLE(k2hft_ack, 24);
	WHOLE(k2hft_discard, 32);
	WHOLE(k2hft_ping, 8);
	WHOLE(k2hft_target, 24);
	WHOLE(k2hft_error_message, 1026);
}

#define LAST(structure, field, at) keep(#structure, offsetof(struct structure, field), at)

/* The last field of each release stays where it is. */
TEST(with_a_size_they_grow_behind_the_last_field)
{
	if (!words_have_64_bits())
		skip();
	LAST(k2hft_ring_options, reserved, 28);
	LAST(k2hft_ring_stats, waiting_producers, 304);
	LAST(k2hft_tls_options, reserved, 44);
	LAST(k2hft_client_options, failover_ms, 100);
	LAST(k2hft_lease, reserved, 20);
	LAST(k2hft_client_stats, acked_ns, 424);
	LAST(k2hft_sender_options, tls, 80);
	LAST(k2hft_sender_stats, pieces, 48);
}
