/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <errno.h>

#include <k2hft/client.h>
#include <k2hft/frame.h>
#include <k2hft/ring.h>

#include "unit.h"
#include "batch/batch.h"

#define NO_WINDOW UINT64_MAX
#define MS UINT64_C(1000000)

struct fixture {
	struct k2hft_ring *ring;
	struct k2hft_producer *producer;
	uint32_t stream_id;
	struct k2i_batch batch;
	struct k2i_batch_limits limits;
};

static int fixture_open(void **state)
{
	struct k2hft_ring_options options = {.size = sizeof(options), .ring_bytes = 1024u * 1024};
	struct k2hft_stream stream = {.path = "a"};
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	assert_int_equal(k2hft_ring_open(&options, &f->ring), 0);
	assert_int_equal(k2hft_producer_open(f->ring, &f->producer), 0);
	assert_int_equal(k2hft_stream_declare(f->ring, &stream, &f->stream_id), 0);
	f->limits = (struct k2i_batch_limits){.window_end = NO_WINDOW, .frame_bytes_max = 64u * 1024};
	k2i_batch_reset(&f->batch, 0);
	return 0;
}

static int fixture_close(void **state)
{
	struct fixture *f = *state;

	k2hft_producer_close(f->producer);
	k2hft_ring_close(f->ring);
	free(f);
	return 0;
}

/* A chunk of 64 bytes in the ring. */
static void push(struct fixture *f, uint32_t records, uint64_t time_ns)
{
	struct k2hft_chunk chunk = {.stream_id = f->stream_id, .record_count = records, .time_ns = time_ns};
	static const char payload[32] = "0123456789abcdef0123456789abcde";

	assert_int_equal(k2hft_producer_push(f->producer, &chunk, payload, sizeof(payload)), 0);
}

static void gap(struct fixture *f)
{
	struct k2hft_producer *other;
	void *payload;

	/* Room that is reserved before a later claim can't be given back. */
	assert_int_equal(k2hft_producer_open(f->ring, &other), 0);
	assert_int_equal(k2hft_producer_reserve(other, 32, &payload), 0);
	push(f, 1, 1000);
	assert_int_equal(k2hft_producer_discard(other), 0);
	k2hft_producer_close(other);
}

static enum k2i_batch_kind cut(struct fixture *f, struct k2hft_span *span)
{
	enum k2i_batch_kind kind;
	int claimed;

	assert_int_equal(k2i_batch_fill(&f->batch, f->ring, &f->limits, &claimed), 0);
	assert_int_equal(claimed, 0);
	assert_int_equal(k2i_batch_cut(&f->batch, &f->limits, &kind, span), 0);
	return kind;
}

static void expect(struct fixture *f, enum k2i_batch_kind wanted, uint64_t position, uint64_t bytes, uint64_t records)
{
	struct k2hft_span span;

	assert_int_equal(cut(f, &span), wanted);
	assert_int_equal(span.bytes, bytes);
	if (bytes == 0)
		return;
	assert_int_equal(span.position, position);
	assert_int_equal(span.record_count, records);
	k2i_batch_take(&f->batch, &span);
}

STATE_TEST(an_empty_ring_gives_nothing, fixture_open, fixture_close)
{
	expect(*state, K2I_BATCH_EMPTY, 0, 0, 0);
}

#define CASE(name) FIXTURE_TEST(name, struct fixture *f, fixture_open, fixture_close)

CASE(all_that_is_there_goes_at_once)
{
	for (int chunk = 0; chunk < 5; chunk++)
		push(f, 2, 1000);
	expect(f, K2I_BATCH_CHUNKS, 0, 320, 10);
	expect(f, K2I_BATCH_EMPTY, 0, 0, 0);
}

CASE(frames_have_a_size)
{
	f->limits.frame_bytes_max = 150;
	for (int chunk = 0; chunk < 5; chunk++)
		push(f, 1, 1000);
	expect(f, K2I_BATCH_CHUNKS, 0, 128, 2);
	expect(f, K2I_BATCH_CHUNKS, 128, 128, 2);
	expect(f, K2I_BATCH_CHUNKS, 256, 64, 1);
	f->limits.frame_bytes_max = 10; /* one chunk goes however small the frame shall be */
	push(f, 1, 1000);
	push(f, 1, 1000);
	expect(f, K2I_BATCH_CHUNKS, 320, 64, 1);
	expect(f, K2I_BATCH_CHUNKS, 384, 64, 1);
}

static uint64_t push_many(struct fixture *f, unsigned chunks)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};

	while (chunks--)
		push(f, 1, 1000);
	assert_int_equal(k2hft_ring_stats(f->ring, &stats), 0);
	return stats.tail;
}

/* The rest of a span can begin behind the wrap; all of a lap that joins it must not reach over the second view. */
CASE(what_joins_behind_the_wrap_is_the_rings)
{
	struct k2hft_span span;
	struct k2hft_chunk_view view;
	uint64_t tail = push_many(f, 16000), window_end = tail + 1000 * 64;
	size_t offset = 0;

	f->limits.frame_bytes_max = 1024u * 1024;
	expect(f, K2I_BATCH_CHUNKS, 0, tail, 16000);
	assert_int_equal(k2hft_ring_release(f->ring, tail), 0);
	(void)push_many(f, 1001);
	f->limits.window_end = window_end;
	expect(f, K2I_BATCH_CHUNKS, tail, 1000 * 64, 1000);
	assert_int_equal(k2hft_ring_release(f->ring, window_end), 0);
	(void)push_many(f, 16383);
	f->limits.window_end = NO_WINDOW;
	assert_int_equal(cut(f, &span), K2I_BATCH_CHUNKS);
	assert_int_equal(span.position, window_end);
	assert_int_equal(span.bytes, 1024 * 1024);
	for (unsigned chunk = 0; chunk < span.chunk_count; chunk++)
		assert_int_equal(k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view), 1);
	assert_int_equal(offset, span.bytes);
}

CASE(records_have_a_limit)
{
	f->limits.records_max = 5;
	for (int chunk = 0; chunk < 5; chunk++)
		push(f, 2, 1000);
	push(f, 9, 1000);
	expect(f, K2I_BATCH_CHUNKS, 0, 128, 4);
	expect(f, K2I_BATCH_CHUNKS, 128, 128, 4);
	expect(f, K2I_BATCH_CHUNKS, 256, 64, 2);
	expect(f, K2I_BATCH_CHUNKS, 320, 64, 9);
}

/* Also where what comes later joins what waits. */
CASE(what_waits_has_these_limits)
{
	struct k2hft_span span;

	for (uint64_t position = 0; position < 2 * 192; position += 192) {
		f->limits.records_max = position == 0 ? 5 : 0;
		f->limits.frame_bytes_max = position == 0 ? 1000 : 150;
		push(f, 2, 1000);
		push(f, 2, 1000);
		assert_int_equal(cut(f, &span), K2I_BATCH_CHUNKS);
		push(f, 2, 1000);
		expect(f, K2I_BATCH_CHUNKS, position, 128, 4);
		expect(f, K2I_BATCH_CHUNKS, position + 128, 64, 2);
	}
}

CASE(the_window_is_kept_to_the_byte)
{
	for (int chunk = 0; chunk < 5; chunk++)
		push(f, 1, 1000);
	f->limits.window_end = 191;
	expect(f, K2I_BATCH_CHUNKS, 0, 128, 2);
	expect(f, K2I_BATCH_WINDOW, 0, 0, 0);
	f->limits.window_end = 192;
	expect(f, K2I_BATCH_CHUNKS, 128, 64, 1);
	f->limits.window_end = 0;
	expect(f, K2I_BATCH_WINDOW, 0, 0, 0);
	f->limits.window_end = NO_WINDOW;
	expect(f, K2I_BATCH_CHUNKS, 192, 128, 2);
}

CASE(old_chunks_part_from_young_ones)
{
	f->limits.expired_before_ns = 1000;
	push(f, 1, 999);
	push(f, 1, 1);
	push(f, 1, 1000);
	push(f, 1, 5);
	push(f, 1, 2000);
	expect(f, K2I_BATCH_EXPIRED, 0, 128, 2);
	expect(f, K2I_BATCH_CHUNKS, 128, 64, 1);
	expect(f, K2I_BATCH_EXPIRED, 192, 64, 1);
	expect(f, K2I_BATCH_CHUNKS, 256, 64, 1);
}

CASE(what_comes_later_joins_what_waits)
{
	struct k2hft_span span;

	push(f, 1, 1000);
	assert_int_equal(cut(f, &span), K2I_BATCH_CHUNKS);
	assert_true(k2i_batch_gather(&f->batch, &span, K2I_BATCH_GATHER_FRAMES, 0));
	assert_false(k2i_batch_gather(&f->batch, &span, K2I_BATCH_GATHER_FRAMES - 1, 0));
	assert_false(k2i_batch_gather(&f->batch, &span, K2I_BATCH_GATHER_FRAMES, K2I_BATCH_GATHER_NS));
	push(f, 1, 1000);
	expect(f, K2I_BATCH_CHUNKS, 0, 128, 2);
}

CASE(nothing_waits_before_a_gap)
{
	struct k2hft_span span;

	push(f, 1, 1000);
	gap(f);
	assert_int_equal(cut(f, &span), K2I_BATCH_CHUNKS);
	assert_int_equal(span.bytes, 64);
	assert_true(k2i_batch_gather(&f->batch, &span, K2I_BATCH_GATHER_FRAMES, 0));
	/* The next look shows what is behind the gap. */
	assert_int_equal(cut(f, &span), K2I_BATCH_CHUNKS);
	assert_int_equal(span.bytes, 64);
	assert_false(k2i_batch_gather(&f->batch, &span, K2I_BATCH_GATHER_FRAMES, 0));
	/* Later chunks go behind that. */
	push(f, 1, 1000);
	assert_int_equal(cut(f, &span), K2I_BATCH_CHUNKS);
	assert_int_equal(span.bytes, 64);
	k2i_batch_take(&f->batch, &span);
	assert_int_equal(cut(f, &span), K2I_BATCH_CHUNKS);
	assert_int_equal(span.bytes, 128);
	assert_int_equal(span.position, 128);
}

CASE(a_claim_in_the_way_is_told)
{
	struct k2hft_producer *other;
	void *payload;
	int claimed;

	assert_int_equal(k2hft_producer_open(f->ring, &other), 0);
	assert_int_equal(k2hft_producer_reserve(other, 32, &payload), 0);
	push(f, 1, 1000);
	assert_int_equal(k2i_batch_fill(&f->batch, f->ring, &f->limits, &claimed), 0);
	assert_int_equal(claimed, 1);
	k2hft_producer_close(other);
	assert_int_equal(k2i_batch_fill(&f->batch, f->ring, &f->limits, &claimed), 0);
	assert_int_equal(claimed, 0);
	assert_int_equal(f->batch.span.bytes, 64);
}

CASE(shortening_ends_between_chunks)
{
	struct k2hft_span span, whole;

	for (int chunk = 0; chunk < 3; chunk++)
		push(f, 2, 1000);
	assert_int_equal(cut(f, &whole), K2I_BATCH_CHUNKS);
	span = whole;
	assert_int_equal(k2i_batch_shorten(&span, 100), -EBADMSG);
	assert_int_equal(k2i_batch_shorten(&span, 128), 0);
	assert_int_equal(span.record_count, 4);
	assert_int_equal(span.chunk_count, 2);
	k2i_batch_take(&f->batch, &span);
	expect(f, K2I_BATCH_CHUNKS, 128, 64, 2);
}

static int glance_of(const void *data, size_t bytes, struct k2i_chunk_glance *glance)
{
	const struct k2hft_span span = {.data = data, .bytes = bytes};

	return k2i_chunk_glance(&span, 0, glance);
}

TEST(a_glance_checks_the_length)
{
	struct k2i_chunk_glance glance;
	uint64_t words[8] = {htole64(64)};

	assert_int_equal(glance_of(words, sizeof(words), &glance), 0);
	assert_int_equal(glance.bytes, 64);
	assert_int_equal(glance_of(words, 56, &glance), -EBADMSG);
	assert_int_equal(glance_of(words, 39, &glance), -EBADMSG);
	for (uint64_t bad = 0; bad < 40; bad += 8) {
		words[0] = htole64(bad);
		assert_int_equal(glance_of(words, sizeof(words), &glance), -EBADMSG);
	}
	words[0] = htole64(63);
	assert_int_equal(glance_of(words, sizeof(words), &glance), -EBADMSG);
}

/* ---- compression */

static struct k2i_link link_after(uint64_t bytes, uint64_t elapsed_ns, uint64_t peer_limited_ns)
{
	struct k2i_link link = {0};

	k2i_link_full(&link, 1000 * MS - 2 * elapsed_ns);
	for (uint64_t measured = 0; measured < 3; measured++) {
		uint64_t now_ns = 1000 * MS - elapsed_ns + measured * elapsed_ns;

		/* A link that is slow once is not slow. */
		assert_false(k2i_link_compress(&link, K2HFT_COMPRESS_AUTO, now_ns));
		k2i_link_sent(&link, (size_t)bytes);
		assert_true(k2i_link_measured(&link, now_ns));
		k2i_link_judge(&link, (measured + 1) * peer_limited_ns, now_ns);
	}
	return link;
}

TEST(a_slow_network_is_worth_compressing)
{
	struct k2i_link link = link_after(2048u * 1024, 90 * MS, 0);

	assert_true(k2i_link_compress(&link, K2HFT_COMPRESS_AUTO, 1091 * MS));
	assert_false(k2i_link_compress(&link, K2HFT_COMPRESS_NEVER, 1091 * MS));
	assert_false(k2i_link_compress(&link, K2HFT_COMPRESS_AUTO, 3000 * MS));
	assert_true(k2i_link_compress(&link, K2HFT_COMPRESS_ALWAYS, 3000 * MS));
}

/* The rate of a link of 1 Gbit/s is below the border, by more than a measurement is wrong; 200 MB/s are above. */
TEST(a_gigabit_is_slow)
{
	struct k2i_link link = link_after(3010000, 25 * MS, 0);

	assert_true(k2i_link_compress(&link, K2HFT_COMPRESS_AUTO, 1030 * MS));
	link = link_after(5000000, 25 * MS, 0);
	assert_false(k2i_link_compress(&link, K2HFT_COMPRESS_AUTO, 1030 * MS));
}

TEST(one_fast_measurement_does_not_make_a_slow_network_fast)
{
	struct k2i_link link = link_after(2048u * 1024, 90 * MS, 0);

	k2i_link_sent(&link, 4u * 1024 * 1024);
	k2i_link_judge(&link, 0, 1092 * MS);
	for (uint64_t now_ns = 1182 * MS; now_ns < 3000 * MS; now_ns += 90 * MS) {
		k2i_link_sent(&link, 2048u * 1024);
		k2i_link_judge(&link, 0, now_ns);
		assert_true(k2i_link_compress(&link, K2HFT_COMPRESS_AUTO, now_ns));
	}
	/* Several do, whatever went before. */
	for (uint64_t now_ns = 3000 * MS; now_ns < 3006 * MS; now_ns += MS) {
		k2i_link_sent(&link, 4u * 1024 * 1024);
		k2i_link_judge(&link, 0, now_ns);
	}
	assert_false(k2i_link_compress(&link, K2HFT_COMPRESS_AUTO, 4100 * MS));
}

TEST(a_fast_network_is_not)
{
	struct k2i_link link = link_after(4u * 1024 * 1024, 4 * MS, 0);

	assert_false(k2i_link_compress(&link, K2HFT_COMPRESS_AUTO, 1005 * MS));
}

TEST(a_slow_receiver_is_no_slow_network)
{
	struct k2i_link link = link_after(2048u * 1024, 90 * MS, 80 * MS);

	assert_false(k2i_link_compress(&link, K2HFT_COMPRESS_AUTO, 1091 * MS));
}

TEST(what_does_not_shrink_is_tried_seldom)
{
	struct k2i_link link = link_after(2048u * 1024, 90 * MS, 0);

	k2i_link_compressed(&link, 1000, 0, 1091 * MS);
	assert_true(k2i_link_compress(&link, K2HFT_COMPRESS_AUTO, 1092 * MS));
	k2i_link_compressed(&link, 100000, 95000, 1091 * MS);
	assert_false(k2i_link_compress(&link, K2HFT_COMPRESS_AUTO, 1092 * MS));
	k2i_link_full(&link, 2100 * MS);
	k2i_link_judge(&link, 0, 2200 * MS);
	assert_true(k2i_link_compress(&link, K2HFT_COMPRESS_AUTO, 2200 * MS));
	k2i_link_compressed(&link, 100000, 50000, 2200 * MS);
	assert_true(k2i_link_compress(&link, K2HFT_COMPRESS_AUTO, 2201 * MS));
}

TEST(an_idle_socket_measures_nothing)
{
	struct k2i_link link = {0};

	k2i_link_sent(&link, 10u * 1024 * 1024);
	assert_false(k2i_link_measured(&link, 5000 * MS));
	k2i_link_full(&link, 5000 * MS);
	k2i_link_sent(&link, 1024);
	assert_false(k2i_link_measured(&link, 5001 * MS));
	k2i_link_idle(&link);
	assert_false(k2i_link_measured(&link, 9000 * MS));
}
