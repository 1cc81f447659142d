/* SPDX-License-Identifier: MIT */
/* Claims of producers that died at each step, and entries that another process spoiled. */
#include "unit.h"
#include "ring_help.h"

#include <signal.h>
#include <sys/wait.h>

#include "ring/handle.h"

/* A process that attaches, does `steps` and dies; the ring is as it left it. */
static void die_after(struct k2hft_ring *ring, void (*steps)(struct k2hft_ring *ring))
{
	char path[64];
	pid_t parent = getpid(), child;
	int status;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)parent, k2hft_ring_descriptor(ring));
	child = fork();
	if (child == 0) {
		struct k2hft_ring *attached;

		if (k2hft_ring_attach(path, &attached) == 0)
			steps(attached);
		(void)kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static uint64_t mark_get(struct k2hft_ring *ring, uint64_t position)
{
	return atomic_load(&k2i_entry_at(ring, position)->mark);
}

static void mark_set(struct k2hft_ring *ring, uint64_t position, unsigned kind, uint64_t size)
{
	atomic_store(&k2i_entry_at(ring, position)->mark, kind ? k2i_mark_make(ring, position, kind, size) : 0);
}

/* The slot says where, as a claim does before it moves the tail. */
static struct k2i_slot *slot_at_tail(struct k2hft_ring *ring)
{
	struct k2i_slot *slot = k2i_slot_take(ring);

	atomic_store(&slot->claim, atomic_load(&ring->header->tail) | 1);
	return slot;
}

static void before_claim(struct k2hft_ring *ring)
{
	(void)slot_at_tail(ring);
}

static void after_claim(struct k2hft_ring *ring)
{
	(void)slot_at_tail(ring);
	atomic_fetch_add(&ring->header->tail, 1000);
}

static void after_mark(struct k2hft_ring *ring)
{
	(void)reserve(producer_of(ring), 1000 - 32);
}

static void after_rear_mark(struct k2hft_ring *ring)
{
	struct k2i_slot *slot = slot_at_tail(ring);
	uint64_t position = atomic_fetch_add(&ring->header->tail, 1000);

	atomic_store(&slot->rear, (position + 200) | 1);
	mark_set(ring, position + 200, 0, 0);
	mark_set(ring, position, K2I_KIND_CLAIMED, 200);
}

static void after_rear_went_back(struct k2hft_ring *ring)
{
	after_rear_mark(ring);
	atomic_fetch_sub(&ring->header->tail, 800);
}

static void after_rear_gap(struct k2hft_ring *ring)
{
	uint64_t position = atomic_load(&ring->header->tail);

	after_rear_mark(ring);
	mark_set(ring, position + 200, K2I_KIND_GAP, 800);
}

static void after_discard_cleared(struct k2hft_ring *ring)
{
	uint64_t position = atomic_load(&ring->header->tail);

	after_mark(ring);
	mark_set(ring, position, 0, 0);
}

static void after_discard_went_back(struct k2hft_ring *ring)
{
	after_discard_cleared(ring);
	atomic_fetch_sub(&ring->header->tail, 1000);
}

static const struct step {
	void (*steps)(struct k2hft_ring *ring);
	unsigned recovers; /* how often recover finds something */
	uint64_t bytes;    /* that the dead one leaves below the tail */
} steps_all[] = {
	{before_claim, 0, 0},
	{after_claim, 1, 1000},
	{after_mark, 1, 1000},
	{after_rear_mark, 2, 1000},
	{after_rear_went_back, 1, 200},
	{after_rear_gap, 1, 1000},
	{after_discard_cleared, 1, 1000},
	{after_discard_went_back, 0, 0},
};

/* At each step: with others' chunks before and behind, what lives is delivered and the claim becomes a gap. */
STATE_TEST(dead_producers_claim_is_recovered, NULL, NULL)
{
	for (size_t at = 0; at < sizeof(steps_all) / sizeof(steps_all[0]); at++) {
		const struct step *step = &steps_all[at];
		struct k2hft_ring *ring = memory_ring();
		struct k2hft_producer *producer = producer_of(ring);
		uint32_t stream_id = stream_of(ring, "s");

		(void)state;
		assert_int_equal(push(producer, stream_id, "before"), 0);
		die_after(ring, step->steps);
		assert_int_equal(push(producer, stream_id, "behind"), 0);
		assert_int_equal(take(ring, "before"), 0);
		for (unsigned count = 0; count < step->recovers; count++) {
			assert_nothing(ring, 1);
			assert_int_equal(k2hft_ring_recover(ring), 1);
		}
		assert_int_equal(k2hft_ring_recover(ring), 0);
		assert_int_equal(take(ring, "behind"), step->bytes);
		assert_int_equal(stats_of(ring).discarded_claims, step->recovers);
		assert_int_equal(stats_of(ring).damaged_bytes, 0);
		assert_int_equal(k2hft_ring_repair(ring), 0);
		assert_int_equal(stats_of(ring).producers, 1);
		k2hft_producer_close(producer);
		k2hft_ring_close(ring);
	}
}

/* The same all at once, by repair, nobody behind the last. */
RING_TEST(dead_producers_claims_are_repaired)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");
	int mended = 0;

	for (size_t at = 0; at < sizeof(steps_all) / sizeof(steps_all[0]); at++) {
		assert_int_equal(push(producer, stream_id, "x"), 0);
		die_after(ring, steps_all[at].steps);
		mended += (int)steps_all[at].recovers;
	}
	assert_int_equal(k2hft_ring_validate(ring), 0);
	assert_int_equal(k2hft_ring_repair(ring), mended);
	for (size_t at = 0; at < sizeof(steps_all) / sizeof(steps_all[0]); at++)
		(void)take(ring, "x");
	assert_nothing(ring, 0);
	assert_int_equal(stats_of(ring).head, stats_of(ring).tail);
	assert_int_equal(stats_of(ring).producers, 1);
	k2hft_producer_close(producer);
}

RING_TEST(live_claims_are_left_alone)
{
	struct k2hft_producer *first = producer_of(ring), *second = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");
	struct k2i_slot *slot;

	memcpy(reserve(first, 5), "first", 5);
	assert_int_equal(push(second, stream_id, "second"), 0);
	assert_int_equal(k2hft_ring_recover(ring), 0);
	assert_int_equal(k2hft_ring_repair(ring), 0);
	assert_int_equal(k2hft_ring_validate(ring), 0);
	assert_int_equal(commit(first, stream_id, 0, 5), 0);
	(void)take(ring, "first");
	(void)take(ring, "second");
	/* Between the claim and its mark. */
	slot = slot_at_tail(ring);
	atomic_fetch_add(&ring->header->tail, 80);
	assert_int_equal(push(second, stream_id, "third"), 0);
	assert_nothing(ring, 1);
	assert_int_equal(k2hft_ring_recover(ring), 0);
	assert_int_equal(k2hft_ring_repair(ring), 0);
	assert_int_equal(k2hft_ring_sleep(ring), 1);
	mark_set(ring, 80, K2I_KIND_DISCARDED, 80);
	k2i_slot_free(slot);
	(void)take(ring, "third");
	k2hft_producer_close(first);
	k2hft_producer_close(second);
}

/* A dead producer's unmarked claim ends where a live one begins, marked or not. */
RING_TEST(unmarked_claim_ends_at_a_live_one)
{
	struct k2hft_producer *producer = producer_of(ring);
	struct k2i_slot *slot;

	die_after(ring, after_claim);
	slot = slot_at_tail(ring);
	atomic_fetch_add(&ring->header->tail, 160);
	assert_int_equal(k2hft_ring_recover(ring), 1);
	assert_nothing(ring, 1);
	assert_int_equal(stats_of(ring).read, 1000);
	assert_int_equal(k2hft_ring_recover(ring), 0);
	mark_set(ring, 1000, K2I_KIND_DISCARDED, 160);
	k2i_slot_free(slot);
	assert_nothing(ring, 0);
	assert_int_equal(stats_of(ring).head, 1160);
	k2hft_producer_close(producer);
}

#define PAYLOAD "1234567890"
#define LEAD_BYTES 7u
#define CHUNK_BYTES 56u /* with a header of 32 and 7 bytes on either side of the payload */

/* A field of a chunk as a hostile process can write it. */
static const struct spoil {
	enum { MARK, REST, STREAM_RECORDS } word;
	unsigned kind;
	uint64_t value; /* the size that a mark of `kind` says, or bits that are set in another word */
	uint64_t away;  /* how far from the place that the mark is for */
} spoils[] = {
	{MARK, 0, 0, 0},
	{MARK, K2I_KIND_CHUNK, 32, 0},
	{MARK, K2I_KIND_CHUNK, 40, 0},
	{MARK, K2I_KIND_CHUNK, 44, 0},
	{MARK, K2I_KIND_CHUNK, SMALL / 4, 0},
	{MARK, K2I_KIND_CHUNK, SMALL / 2, 0},
	{MARK, 7, CHUNK_BYTES, 0},
	{MARK, K2I_KIND_GAP, K2I_MARK_SIZE_MASK & ~UINT64_C(7), 0},
	{MARK, K2I_KIND_DISCARDED, SMALL, 0},
	{MARK, K2I_KIND_CHUNK, CHUNK_BYTES, CHUNK_BYTES},
	{REST, 0, UINT64_C(8) << 32, 0},
	{REST, 0, UINT64_C(8) << 40, 0},
	{REST, 0, UINT64_C(0xff) << 40, 0},
	{REST, 0, UINT64_C(4) << 48, 0},
	{STREAM_RECORDS, 0, UINT64_C(10) << 32, 0},
	{STREAM_RECORDS, 0, 4000, 0},
	{STREAM_RECORDS, 0, 0xffffffff, 0},
};
#define SPOILS (sizeof(spoils) / sizeof(spoils[0]))

static void spoil(struct k2hft_ring *ring, uint64_t position, const struct spoil *how)
{
	struct k2i_entry *entry = k2i_entry_at(ring, position);

	if (how->word == REST)
		atomic_fetch_or(&entry->rest, htole64(how->value));
	else if (how->word == STREAM_RECORDS)
		atomic_fetch_or(&entry->stream_records, htole64(how->value));
	else if (how->kind)
		atomic_store(&entry->mark, k2i_mark_make(ring, position + how->away, how->kind, how->value));
	else
		atomic_store(&entry->mark, 0);
}

static void push_chunks(struct k2hft_ring *ring, struct k2hft_producer *producer, unsigned count)
{
	uint32_t stream_id = stream_of(ring, "s");

	while (count-- > 0) {
		memcpy((char *)reserve(producer, LEAD_BYTES + strlen(PAYLOAD)) + LEAD_BYTES, PAYLOAD, strlen(PAYLOAD));
		assert_int_equal(commit(producer, stream_id, LEAD_BYTES, strlen(PAYLOAD)), 0);
	}
}

TEST(spoiled_entry_is_skipped)
{
	for (size_t how = 0; how < SPOILS; how++) {
		struct k2hft_ring *ring = memory_ring();
		struct k2hft_producer *producer = producer_of(ring);
		struct k2hft_span span;
		int claimed;

		push_chunks(ring, producer, 3);
		spoil(ring, CHUNK_BYTES, &spoils[how]);
		assert_int_equal(k2hft_ring_validate(ring), 1);
		assert_int_equal(k2hft_ring_read(ring, SIZE_MAX, 0, &span, &claimed), 1);
		assert_int_equal(k2hft_ring_read(ring, SIZE_MAX, 0, &span, &claimed), -EBADMSG);
		assert_int_equal(k2hft_ring_sleep(ring), 0);
		assert_int_equal(k2hft_ring_recover(ring), 0);
		assert_int_equal(k2hft_ring_repair(ring), 1);
		assert_int_equal(k2hft_ring_validate(ring), 0);
		assert_int_equal(stats_of(ring).damaged_bytes, CHUNK_BYTES);
		assert_int_equal(take(ring, PAYLOAD), CHUNK_BYTES);
		assert_int_equal(stats_of(ring).head, 3 * CHUNK_BYTES);
		assert_int_equal(stats_of(ring).acked_records, 2);
		k2hft_producer_close(producer);
		k2hft_ring_close(ring);
	}
}

/* Spoiled after it was read: acknowledging goes on, what can't be counted is not. */
TEST(spoiled_after_it_was_read)
{
	for (size_t how = 0; how < SPOILS; how++) {
		struct k2hft_ring *ring = memory_ring();
		struct k2hft_producer *producer = producer_of(ring);
		uint32_t stream_id = stream_of(ring, "s");
		struct k2hft_span span;

		push_chunks(ring, producer, 3);
		assert_int_equal(k2hft_ring_read(ring, SIZE_MAX, 0, &span, NULL), 3);
		spoil(ring, CHUNK_BYTES, &spoils[how]);
		assert_int_equal(k2hft_ring_rewind(ring, 2 * CHUNK_BYTES), -EINVAL);
		assert_int_equal(k2hft_ring_release(ring, 3 * CHUNK_BYTES), 0);
		assert_int_equal(stats_of(ring).head, 3 * CHUNK_BYTES);
		assert_int_equal(push(producer, stream_id, "more"), 0);
		(void)take(ring, "more");
		k2hft_producer_close(producer);
		k2hft_ring_close(ring);
	}
}

/* Nothing that was read can reach into what was not. */
RING_TEST(spoiled_entry_takes_nothing_along_that_was_not_read)
{
	struct k2hft_producer *producer = producer_of(ring);
	struct k2hft_span span;

	push_chunks(ring, producer, 3);
	assert_int_equal(k2hft_ring_read(ring, 2 * CHUNK_BYTES, 0, &span, NULL), 2);
	mark_set(ring, CHUNK_BYTES, K2I_KIND_GAP, 2 * CHUNK_BYTES);
	assert_int_equal(k2hft_ring_repair(ring), 1);
	assert_int_equal(stats_of(ring).damaged_bytes, CHUNK_BYTES);
	assert_int_equal(k2hft_ring_release(ring, 2 * CHUNK_BYTES), 0);
	(void)take(ring, PAYLOAD);
	k2hft_producer_close(producer);
}

/* Between the first and the last place, whichever was found first. */
RING_TEST(all_damage_is_kept)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint64_t from, to;

	push_chunks(ring, producer, 8);
	mark_set(ring, 3 * CHUNK_BYTES, 0, 0);
	mark_set(ring, 5 * CHUNK_BYTES, 0, 0);
	assert_int_equal(k2hft_ring_repair(ring), 2);
	mark_set(ring, CHUNK_BYTES, 0, 0);
	assert_int_equal(k2hft_ring_repair(ring), 1);
	assert_true(k2i_ring_damage(ring, &from, &to));
	assert_int_equal(from, CHUNK_BYTES);
	assert_int_equal(to, 6 * CHUNK_BYTES);
	k2hft_producer_close(producer);
}

/* The slot is emptied last, and nobody will wake for what is committed already. */
RING_TEST(sleep_does_not_wait_for_what_is_committed)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");

	(void)reserve(producer, 8);
	assert_nothing(ring, 1);
	assert_int_equal(commit(producer, stream_id, 0, 8), 0);
	atomic_store(&ring->slots[0].claim, 0 | 1);
	assert_int_equal(k2hft_ring_sleep(ring), 0);
	atomic_store(&ring->slots[0].claim, 0);
	k2hft_producer_close(producer);
}

/* The last entry before the tail has no mark behind it. */
RING_TEST(spoiled_at_the_end)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");

	assert_int_equal(push(producer, stream_id, "12345678"), 0);
	mark_set(ring, 0, 0, 0);
	assert_int_equal(k2hft_ring_repair(ring), 1);
	assert_nothing(ring, 0);
	assert_int_equal(push(producer, stream_id, "more"), 0);
	assert_int_equal(take(ring, "more"), 40);
	k2hft_producer_close(producer);
}

/* The header as a hostile process can write it while the ring is in use: no wrong memory is touched, no call hangs. */
TEST(spoiled_header)
{
	static const uint64_t values[] = {0, 1, 7, 8, 4096, SMALL + 8, UINT64_MAX / 2, UINT64_MAX - 7, UINT64_MAX};

	for (size_t at = 0; at < sizeof(values) / sizeof(values[0]); at++) {
		struct k2hft_ring *ring = memory_ring();
		struct k2hft_producer *producer = producer_of(ring);
		uint32_t stream_id = stream_of(ring, "s");
		struct k2hft_span span;

		assert_int_equal(push(producer, stream_id, "12345678"), 0);
		atomic_store(&ring->header->tail, values[at]);
		atomic_store(&ring->header->head, values[at] + 16);
		atomic_store(&ring->header->slots_used, UINT32_MAX);
		atomic_store(&ring->header->streams_used, UINT32_MAX);
		ring->header->capacity = values[at];
		(void)push(producer, stream_id, "12345678");
		(void)k2hft_ring_read(ring, SIZE_MAX, 0, &span, NULL);
		(void)k2hft_ring_sleep(ring);
		(void)k2hft_ring_recover(ring);
		(void)k2hft_ring_repair(ring);
		(void)k2hft_ring_read(ring, SIZE_MAX, 0, &span, NULL);
		(void)k2hft_ring_release(ring, 40);
		(void)k2hft_ring_rewind(ring, 40);
		(void)k2hft_ring_space_wait(ring, 100, 0);
		k2hft_producer_close(producer);
		k2hft_ring_close(ring);
	}
}

/* Places of dead processes are given away when there are no others. */
RING_TEST(dead_places_are_taken_over)
{
	struct k2hft_producer *producers[K2I_SLOT_COUNT];

	die_after(ring, before_claim);
	for (unsigned at = 0; at < K2I_SLOT_COUNT; at++)
		producers[at] = producer_of(ring);
	for (unsigned at = 0; at < K2I_SLOT_COUNT; at++)
		k2hft_producer_close(producers[at]);
}

static void before_it_told(struct k2hft_ring *ring)
{
	unsigned told = k2i_slots_used(ring);

	(void)k2i_slot_take(ring);
	atomic_store(&ring->header->slots_used, told);
}

/* The last place: whoever took it first died before the ring knew that it is used. */
RING_TEST(a_place_that_was_not_told_of_is)
{
	struct k2hft_producer *producers[K2I_SLOT_COUNT];
	uint32_t stream_id = stream_of(ring, "s");
	const unsigned last = K2I_SLOT_COUNT - 1;

	for (unsigned at = 0; at < last - 1; at++)
		producers[at] = producer_of(ring);
	die_after(ring, before_it_told);
	for (unsigned at = last - 1; at <= last; at++)
		producers[at] = producer_of(ring);
	*(char *)reserve(producers[last], 1) = 'x';
	assert_nothing(ring, 1);
	assert_int_equal(k2hft_ring_recover(ring), 0);
	assert_int_equal(commit(producers[last], stream_id, 0, 1), 0);
	(void)take(ring, "x");
	for (unsigned at = 0; at < K2I_SLOT_COUNT; at++)
		k2hft_producer_close(producers[at]);
}

static void all_places(struct k2hft_ring *ring)
{
	while (k2i_slot_take(ring))
		continue;
}

/* But one stays that says whose a claim is which has no mark. */
RING_TEST(dead_places_with_a_claim_are_not)
{
	die_after(ring, after_claim);
	all_places(ring);
	assert_int_equal(k2hft_ring_recover(ring), 1);
	assert_int_equal(stats_of(ring).discarded_claims, 1);
	assert_int_equal(stats_of(ring).damaged_bytes, 0);
}

/* A change between the look whether a place's owner lives and the step that follows from it. */
static void (*meanwhile)(void);

bool __real_k2i_process_alive(const struct k2i_process *self, const struct k2i_process *other);
bool __wrap_k2i_process_alive(const struct k2i_process *self, const struct k2i_process *other);
bool __wrap_k2i_process_alive(const struct k2i_process *self, const struct k2i_process *other)
{
	bool lives = __real_k2i_process_alive(self, other);
	void (*now)(void) = meanwhile;

	if (now && !lives) {
		meanwhile = NULL;
		now();
	}
	return lives;
}

static struct k2hft_ring *attached;
static struct k2hft_producer *late;

static void place_taken(void)
{
	late = producer_of(attached);
}

/* While the ring gets its next consumer, a process that is attached takes the place of one that is dead. */
FIXTURE_TEST(a_place_that_changes_hands_stays_its_takers, struct files *files, files_make, files_remove)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	uint32_t stream_id;

	assert_int_equal(k2hft_ring_attach(files->path, &attached), 0);
	stream_id = stream_of(attached, "s");
	die_after(ring, all_places);
	k2hft_ring_close(ring);
	meanwhile = place_taken;
	ring = file_ring(files->path, 0);
	*(char *)reserve(late, 1) = 'x';
	assert_int_equal(k2hft_ring_recover(ring), 0);
	assert_int_equal(commit(late, stream_id, 0, 1), 0);
	(void)take(ring, "x");
	k2hft_producer_close(late);
	k2hft_ring_close(attached);
	k2hft_ring_close(ring);
}

/* After a power cut the room behind the tail can hold marks that are valid there. */
RING_TEST(free_room_is_cleared)
{
	struct k2hft_producer *producer = producer_of(ring);

	mark_set(ring, 0, K2I_KIND_CHUNK, 40);
	mark_set(ring, SMALL - 8, K2I_KIND_GAP, 8);
	k2i_free_room_clear(ring);
	assert_int_equal(mark_get(ring, 0), 0);
	assert_int_equal(mark_get(ring, SMALL - 8), 0);
	k2hft_producer_close(producer);
}
