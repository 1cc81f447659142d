/* SPDX-License-Identifier: MIT */
/* What is pending for the ring while that is full, and when there is room again. */
#include "ring_help.h"

#include <stdint.h>
#include <sys/mman.h>

#include "../../fuse/mount.h"
#include "../../fuse/outlet.h"

#define PENDING_BYTES 4096u
#define LINE "0123456"
#define LINES (PENDING_BYTES / sizeof(LINE))

struct place {
	struct k2i_settings settings;
	struct k2i_mount mount;
	struct k2i_outlet outlet;
};

uint64_t k2i_mount_clock_ns(void)
{
	return 0;
}

static void fill(const struct k2i_mount *mount, uint32_t stream_id)
{
	struct k2hft_chunk chunk = chunk_of(stream_id);
	static char filling[PENDING_BYTES / 2];
	int status;

	do
		status = k2hft_producer_push(mount->producer, &chunk, filling, sizeof(filling));
	while (status == 0);
	assert_int_equal(status, -EAGAIN);
}

/* `pending` in a page of its own. */
static void place_make(struct place *place)
{
	char *page = mmap(NULL, PENDING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	for (size_t at = 0; at < PENDING_BYTES; at += sizeof(LINE))
		memcpy(page + at, LINE "\n", sizeof(LINE));
	memset(place, 0, sizeof(*place));
	place->mount.settings = &place->settings;
	place->mount.ring = memory_ring();
	place->mount.producer = producer_of(place->mount.ring);
	place->mount.chunk_bytes_max = place->mount.limits.piece_bytes_max = PENDING_BYTES;
	place->outlet.transfer = place->outlet.passes_all = true;
	place->outlet.stream_id = stream_of(place->mount.ring, "file");
	place->outlet.pending = page;
	place->outlet.pending_bytes = place->outlet.pending_room = PENDING_BYTES;
}

static void place_end(struct place *place)
{
	assert_int_equal(munmap(place->outlet.pending, PENDING_BYTES), 0);
	k2hft_producer_close(place->mount.producer);
	k2hft_ring_close(place->mount.ring);
}

/* It is tried with every request that is served meanwhile. */
static void a_full_ring_costs_no_look_at_what_is_pending(void **state)
{
	struct place place;

	(void)state;
	place_make(&place);
	fill(&place.mount, place.outlet.stream_id);
	assert_int_equal(mprotect(place.outlet.pending, PENDING_BYTES, PROT_NONE), 0);
	assert_int_equal(k2i_outlet_push(&place.mount, &place.outlet), -EAGAIN);
	place.settings.binary = true;
	assert_int_equal(k2i_outlet_push(&place.mount, &place.outlet), -EAGAIN);
	assert_int_equal(k2i_outlet_pending(&place.outlet), PENDING_BYTES);
	place_end(&place);
}

static void what_is_pending_goes_with_its_number_of_records(void **state)
{
	struct k2hft_chunk_view view;
	struct k2hft_span span;
	size_t offset = 0;
	struct place place;

	(void)state;
	place_make(&place);
	assert_int_equal(k2i_outlet_push(&place.mount, &place.outlet), 0);
	assert_int_equal(k2i_outlet_pending(&place.outlet), 0);
	assert_int_equal(k2hft_ring_read(place.mount.ring, SIZE_MAX, 0, &span, NULL), 1);
	assert_int_equal(k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view), 1);
	assert_int_equal(view.payload_bytes, PENDING_BYTES);
	assert_memory_equal(view.payload, place.outlet.pending, PENDING_BYTES);
	assert_int_equal(view.chunk.record_count, LINES);
	place_end(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_ring_costs_no_look_at_what_is_pending),
		cmocka_unit_test(what_is_pending_goes_with_its_number_of_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
