/* SPDX-License-Identifier: MIT */
/* The small areas of a large ring, and all of it. */
#include "unit.h"
#include "ring_help.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "ring/handle.h"

#define RING_BYTES (UINT64_C(8) << 20)
#define LARGE_RING_BYTES (UINT64_C(64) << 20)
#define RECORD_BYTES 4000u
#define ENTRY_BYTES (RECORD_BYTES + 32)

struct many {
	struct k2hft_ring *ring;
	struct k2hft_producer *producer;
	uint32_t stream_id;
	uint64_t pushed, taken; /* records, whose number they begin with */
};

static void many_open(struct many *many, const char *path, uint64_t ring_bytes)
{
	struct k2hft_ring_options options = {.size = sizeof(options), .path = path, .ring_bytes = ring_bytes};

	assert_int_equal(k2hft_ring_open(&options, &many->ring), 0);
	many->producer = producer_of(many->ring);
	many->stream_id = stream_of(many->ring, "s");
}

static void many_close(struct many *many)
{
	k2hft_producer_close(many->producer);
	k2hft_ring_close(many->ring);
}

static int many_push(struct many *many)
{
	static char record[RECORD_BYTES];
	struct k2hft_chunk chunk = chunk_of(many->stream_id);
	int status;

	memcpy(record, &many->pushed, sizeof(many->pushed));
	status = k2hft_producer_push(many->producer, &chunk, record, sizeof(record));
	many->pushed += status == 0;
	return status;
}

/* Reads `count` chunks at most, each the next one; they are not released. Returns how many. */
static uint64_t many_read(struct many *many, uint64_t count)
{
	uint64_t read = 0;

	while (read < count) {
		struct k2hft_span span;
		struct k2hft_chunk_view view;
		size_t offset = 0;
		int chunks = k2hft_ring_read(many->ring, 0, 0, &span, NULL);

		assert_true(chunks >= 0);
		if (chunks == 0)
			break;
		assert_int_equal(k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view), 1);
		assert_int_equal(view.payload_bytes, RECORD_BYTES);
		assert_memory_equal(view.payload, &many->taken, sizeof(many->taken));
		many->taken++;
		read++;
	}
	return read;
}

static uint64_t many_take(struct many *many, uint64_t count)
{
	uint64_t read = many_read(many, count);

	assert_int_equal(k2hft_ring_release(many->ring, many->ring->read), 0);
	return read;
}

static unsigned area_of(const struct many *many)
{
	return (unsigned)(atomic_load(&many->ring->header->tail) & K2I_PLACE_AREA) >> 1;
}

/* Nothing waits, and what comes next is in the small area. */
static void to_small_area(struct many *many)
{
	while (area_of(many) != 1) {
		assert_int_equal(many_push(many), 0);
		(void)many_take(many, 1);
	}
}

/* The small area is full, and what comes next is in all of the ring. */
static void to_whole_ring(struct many *many)
{
	to_small_area(many);
	while (area_of(many) == 1)
		assert_int_equal(many_push(many), 0);
}

static size_t touched_bytes(const struct k2hft_ring *ring)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), touched = 0;

	for (unsigned at = 0; at < K2I_AREA_COUNT; at++) {
		size_t bytes = (size_t)ring->areas[at].bytes;
		unsigned char *pages = malloc(bytes / page_bytes);

		assert_non_null(pages);
		assert_int_equal(mincore(ring->areas[at].data, bytes, pages), 0);
		for (size_t page = 0; page < bytes / page_bytes; page++)
			touched += pages[page] & 1 ? page_bytes : 0;
		free(pages);
	}
	return touched;
}

TEST(little_is_touched_while_the_consumer_keeps_up)
{
	struct many many = {0};

	many_open(&many, NULL, LARGE_RING_BYTES);
	while (many.pushed * ENTRY_BYTES < 3 * LARGE_RING_BYTES) {
		for (unsigned at = 0; at < 100; at++)
			assert_int_equal(many_push(&many), 0);
		assert_int_equal(many_take(&many, UINT64_MAX), 100);
	}
	assert_true(touched_bytes(many.ring) <= K2I_AREA_1_BYTES + K2I_AREA_1_BYTES / 2 + 65536);
	many_close(&many);
}

/* Requests of a mount are that long, and several are on the way. */
TEST(long_claims_have_the_larger_of_them)
{
	struct many many = {0};

	many_open(&many, NULL, LARGE_RING_BYTES);
	for (unsigned at = 0; at < 200; at++) {
		(void)reserve(many.producer, 1 << 20);
		assert_int_equal(commit(many.producer, many.stream_id, 0, 1 << 20), 0);
		if (at < 3)
			continue;
		struct k2hft_span span;

		assert_int_equal(k2hft_ring_read(many.ring, 0, 0, &span, NULL), 1);
		assert_int_equal(k2hft_ring_release(many.ring, span.position + span.bytes), 0);
	}
	assert_int_equal(area_of(&many), 2);
	assert_true(touched_bytes(many.ring) <= K2I_AREA_1_BYTES + K2I_AREA_2_BYTES + (UINT64_C(8) << 20));
	many_close(&many);
}

/* Records that would leave the small areas, and those that it takes to be back in them. */
TEST(lack_of_room_in_the_small_areas)
{
	const uint64_t small_bytes = K2I_AREA_2_BYTES;
	struct many many = {0};
	uint64_t head, lack;

	many_open(&many, NULL, LARGE_RING_BYTES);
	to_small_area(&many);
	while (k2hft_ring_space_lack(many.ring, RECORD_BYTES) == 0) {
		assert_int_not_equal(area_of(&many), K2I_AREA_ALL);
		assert_int_equal(many_push(&many), 0);
	}
	assert_true(stats_of(many.ring).tail - stats_of(many.ring).head > small_bytes - ENTRY_BYTES);
	assert_int_equal(many_push(&many), 0);
	assert_int_equal(area_of(&many), K2I_AREA_ALL);
	head = stats_of(many.ring).head;
	lack = k2hft_ring_space_lack(many.ring, RECORD_BYTES);
	assert_int_equal(lack, stats_of(many.ring).tail - head + ENTRY_BYTES - small_bytes / 2);
	assert_int_equal(many_take(&many, lack / ENTRY_BYTES), lack / ENTRY_BYTES);
	assert_true(k2hft_ring_space_lack(many.ring, RECORD_BYTES) > 0);
	assert_int_equal(many_take(&many, 1), 1);
	assert_int_equal(k2hft_ring_space_lack(many.ring, RECORD_BYTES), 0);
	many_close(&many);
}

/* Room for it is all that counts in one that has no second small area. */
TEST(small_ring_lacks_room_when_it_is_full)
{
	struct many many = {0};

	many_open(&many, NULL, RING_BYTES);
	while (k2hft_ring_space_lack(many.ring, RECORD_BYTES) == 0)
		assert_int_equal(many_push(&many), 0);
	assert_true(stats_of(many.ring).tail - stats_of(many.ring).head > RING_BYTES - ENTRY_BYTES);
	many_close(&many);
}

static void fill(struct many *many)
{
	while (many_push(many) == 0)
		continue;
	assert_true(stats_of(many->ring).tail - stats_of(many->ring).head > many->ring->capacity - ENTRY_BYTES);
	assert_int_equal(k2hft_ring_space_wait(many->ring, RECORD_BYTES, 0), -ETIMEDOUT);
}

/* Wherever the tail was when the consumer stopped; and later the small area is enough again. */
TEST(all_of_the_ring_takes_records)
{
	const uint64_t sizes[] = {RING_BYTES, LARGE_RING_BYTES};

	for (unsigned size = 0; size < 2; size++)
		for (uint64_t before = 0; before < 1000; before += 333) {
			struct many many = {0};

			many_open(&many, NULL, sizes[size]);
			for (uint64_t at = 0; at < before; at++) {
				assert_int_equal(many_push(&many), 0);
				assert_int_equal(many_take(&many, 1), 1);
			}
			fill(&many);
			(void)many_take(&many, UINT64_MAX);
			assert_int_equal(many.taken, many.pushed);
			to_small_area(&many);
			fill(&many);
			(void)many_take(&many, UINT64_MAX);
			assert_int_equal(many.taken, many.pushed);
			many_close(&many);
		}
}

/* Back to what was read and not released, over switches, also by the next consumer. */
FILES_TEST(a_file_goes_on_from_any_area)
{
	struct many many = {0};

	many_open(&many, files->path, RING_BYTES);
	to_whole_ring(&many);
	(void)many_take(&many, 7);
	for (unsigned at = 0; at < 2; at++) {
		uint64_t taken = many.taken;

		assert_int_equal(many.ring->head_area, 1 << 1);
		assert_int_equal(many_push(&many), 0);
		(void)many_read(&many, UINT64_MAX);
		assert_int_equal(many.taken, many.pushed);
		assert_int_equal(many.ring->read_area, K2I_AREA_ALL);
		assert_int_equal(k2hft_ring_validate(many.ring), 0);
		many.taken = taken;
		if (at == 0) {
			assert_int_equal(k2hft_ring_rewind(many.ring, many.ring->acked), 0);
			continue;
		}
		many_close(&many);
		many_open(&many, files->path, RING_BYTES);
	}
	(void)many_take(&many, UINT64_MAX);
	assert_int_equal(many.taken, many.pushed);
	assert_int_equal(many.ring->head_area, K2I_AREA_ALL);
	assert_int_equal(stats_of(many.ring).damaged_bytes, 0);
	many_close(&many);
}

/* The consumer died between the two words that a release writes. */
FILES_TEST(an_acknowledgement_that_was_not_finished_counts)
{
	struct many many = {0};
	uint64_t head;

	many_open(&many, files->path, RING_BYTES);
	to_whole_ring(&many);
	assert_int_equal(many_push(&many), 0);
	(void)many_take(&many, 1);
	head = atomic_load(&many.ring->header->head);
	(void)many_take(&many, UINT64_MAX);
	assert_int_equal(many_push(&many), 0);
	atomic_store(&many.ring->header->head, head);
	many_close(&many);
	many_open(&many, files->path, RING_BYTES);
	assert_int_equal(many_take(&many, UINT64_MAX), 1);
	assert_int_equal(stats_of(many.ring).damaged_bytes, 0);
	many_close(&many);
}

/* As k2hft_producer_reserve leaves it if it is killed between tail and mark. */
static void switch_by_the_dead(struct many *many, unsigned to)
{
	uint64_t tail = atomic_load(&many->ring->header->tail);
	struct k2i_slot *slot = k2i_slot_take(many->ring);

	atomic_store(&slot->claim, tail | 1);
	atomic_store(&slot->owner, K2I_OWNER_GONE);
	atomic_store(&k2i_entry_at(many->ring, tail)->mark, 0);
	atomic_store(&many->ring->header->tail, k2i_place_behind(tail, K2I_KIND_SWITCH + to, 8));
}

TEST(a_switch_by_the_dead_is_found)
{
	for (unsigned behind = 0; behind < 2; behind++)
		for (unsigned to = 0; to < 2; to++) {
			struct many many = {0};
			struct k2hft_span span;
			int claimed;

			many_open(&many, NULL, RING_BYTES);
			if (to == 0)
				to_small_area(&many);
			assert_int_equal(many_push(&many), 0);
			switch_by_the_dead(&many, to);
			for (unsigned at = 0; at < behind; at++)
				assert_int_equal(many_push(&many), 0);
			assert_int_equal(many_read(&many, 1), 1);
			assert_int_equal(k2hft_ring_read(many.ring, 0, 0, &span, &claimed), 0);
			assert_int_equal(claimed, 1);
			assert_int_equal(k2hft_ring_recover(many.ring), 1);
			assert_int_equal(many_push(&many), 0);
			assert_int_equal(many_take(&many, UINT64_MAX), 1 + behind);
			assert_int_equal(many.ring->read_area, to << 1);
			assert_int_equal(stats_of(many.ring).damaged_bytes, 0);
			assert_int_equal(stats_of(many.ring).discarded_claims, 1);
			many_close(&many);
		}
}

/* Also with entries on both sides of it. */
TEST(a_damaged_switch_is_mended)
{
	for (unsigned around = 0; around < 3; around++) {
		struct many many = {0};
		struct k2hft_span span;
		uint64_t switched, small_bytes;

		many_open(&many, NULL, RING_BYTES);
		to_whole_ring(&many);
		/* The last claim was behind the switch. */
		switched = k2i_position(atomic_load(&many.ring->header->tail)) - ENTRY_BYTES - 8;
		assert_int_equal(many_push(&many), 0);
		memset((void *)k2i_entry_at(many.ring, switched | 1 << 1), 0, 8);
		if (around > 0)
			memset((void *)k2i_entry_at(many.ring, (switched + 8) | K2I_AREA_ALL), 0xee, 8);
		if (around > 1)
			memset((void *)k2i_entry_at(many.ring, (switched - ENTRY_BYTES) | 1 << 1), 0xee, 8);
		assert_int_equal(k2hft_ring_validate(many.ring), 1);
		small_bytes = switched - many.ring->read - (around > 1 ? ENTRY_BYTES : 0);
		assert_int_equal(many_read(&many, small_bytes / ENTRY_BYTES), small_bytes / ENTRY_BYTES);
		assert_int_equal(k2hft_ring_read(many.ring, 0, 0, &span, NULL), -EBADMSG);
		assert_int_equal(k2hft_ring_repair(many.ring), 1);
		assert_int_equal(stats_of(many.ring).damaged_bytes, 8 + around * ENTRY_BYTES);
		many.taken += around;
		(void)many_take(&many, UINT64_MAX);
		assert_int_equal(many.taken, many.pushed);
		assert_int_equal(many.ring->read_area, K2I_AREA_ALL);
		many_close(&many);
	}
}

/* Marks that a power cut has left where nothing is, in each area, and the mark of a chunk that waits. */
FILES_TEST(free_room_of_each_area_is_cleared)
{
	struct many many = {0};
	uint64_t places[4], tail;

	many_open(&many, files->path, RING_BYTES);
	to_whole_ring(&many);
	(void)many_take(&many, many.pushed - many.taken - 10);
	assert_int_equal(many.ring->head_area, 1 << 1);
	tail = stats_of(many.ring).tail;
	places[0] = tail | K2I_AREA_ALL;
	places[1] = (many.ring->head + 8) | K2I_AREA_ALL;
	places[2] = (tail + 5 * K2I_AREA_1_BYTES) | 1 << 1;
	places[3] = (many.ring->head + K2I_AREA_1_BYTES - 8) | 1 << 1;
	for (unsigned at = 0; at < 4; at++)
		atomic_store(&k2i_entry_at(many.ring, places[at])->mark,
			     k2i_mark_make(many.ring, places[at], K2I_KIND_DISCARDED, 8));
	memset(many.ring->header->boot_id, 0xee, sizeof(many.ring->header->boot_id));
	many_close(&many);
	many_open(&many, files->path, RING_BYTES);
	for (unsigned at = 0; at < 4; at++)
		assert_int_equal(atomic_load(&k2i_entry_at(many.ring, places[at])->mark), 0);
	assert_int_equal(many_take(&many, UINT64_MAX), 10);
	many_close(&many);
}

/* The small area is behind the large one, and what waits begins in the middle of it and goes on at its beginning. */
FILES_TEST(a_file_that_was_cut_in_the_small_area_keeps_the_rest)
{
	struct many many = {0};
	struct k2hft_span span;
	uint64_t first, lost, at;

	many_open(&many, files->path, RING_BYTES);
	to_whole_ring(&many);
	assert_int_equal(many_push(&many), 0);
	first = many.taken;
	/* The third chunk that waits is cut in two; so many begin between it and the end of the area. */
	at = (many.ring->head + 2 * ENTRY_BYTES) & many.ring->areas[1].mask;
	lost = (K2I_AREA_1_BYTES - at + ENTRY_BYTES - 1) / ENTRY_BYTES;
	many_close(&many);
	assert_int_equal(truncate(files->path, (off_t)(K2I_DATA_AT + RING_BYTES + at + 100)), 0);
	many_open(&many, files->path, RING_BYTES);
	assert_int_equal(many_take(&many, 2), 2);
	many.taken = first + 2 + lost;
	(void)many_take(&many, UINT64_MAX);
	assert_int_equal(many.taken, many.pushed);
	assert_int_equal(k2hft_ring_read(many.ring, 0, 0, &span, NULL), 0);
	assert_int_equal(stats_of(many.ring).damaged_bytes, lost * ENTRY_BYTES);
	many_close(&many);
}

static uint64_t random_next(uint64_t *random)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *random >> 16;
}

/* A process that is attached writes marks and positions that could be, and everything else. */
static void spoil(struct k2hft_ring *ring, uint64_t *random)
{
	for (unsigned count = 1 + (unsigned)(random_next(random) % 6); count; count--) {
		uint64_t position = ring->head + random_next(random) % (2 * ENTRY_BYTES / 8 * 512) * 8;
		uint64_t place = k2i_position(position) | random_next(random) % 2 << 1;
		uint64_t size = random_next(random) % 3 ? 8 + random_next(random) % 2048 * 8 : random_next(random);

		if (random_next(random) % 2)
			place = k2i_position(atomic_load(&ring->header->tail)) - random_next(random) % 3 * ENTRY_BYTES;
		atomic_store(
			&k2i_entry_at(ring, place)->mark,
			k2i_mark_make(ring, place, (unsigned)(random_next(random) % 10), size & K2I_MARK_SIZE_MASK));
		if (random_next(random) % 8 == 0)
			atomic_fetch_xor(&ring->header->tail, random_next(random) % 8);
		if (random_next(random) % 16 == 0)
			atomic_fetch_add(&ring->header->tail, random_next(random) % RING_BYTES);
	}
}

/* The consumer always comes to the end, and takes nothing from outside of the memory. */
TEST(spoiled_areas_come_to_an_end)
{
	uint64_t random = 1;

	for (unsigned run = 0; run < 300; run++) {
		struct many many = {0};
		struct k2hft_span span;
		int chunks;

		many_open(&many, NULL, RING_BYTES);
		to_small_area(&many);
		for (uint64_t at = random_next(&random) % 700; at; at--)
			assert_int_equal(many_push(&many), 0);
		spoil(many.ring, &random);
		for (unsigned rounds = 0; rounds < 5000; rounds++) {
			chunks = k2hft_ring_read(many.ring, 1 << 20, 0, &span, NULL);
			if (chunks == -EBADMSG)
				(void)k2hft_ring_repair(many.ring);
			else if (chunks == 0)
				break;
			for (size_t at = 0; chunks > 0 && at < span.bytes; at += 512)
				random += ((const uint8_t *)span.data)[at];
			assert_true(chunks <= 0 || k2hft_ring_release(many.ring, span.position + span.bytes) <= 0);
			if (chunks > 0 && random_next(&random) % 32 == 0)
				spoil(many.ring, &random);
			(void)many_push(&many);
		}
		assert_true(k2hft_ring_validate(many.ring) >= 0);
		many_close(&many);
	}
}
