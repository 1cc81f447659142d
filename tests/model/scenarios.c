/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim_calls.h"

/*
 * The threads of a scenario. Thread 0 is the consumer: it reads, checks and acknowledges until all producers
 * have ended and nothing is left. Each producer is a process of its own, with a slot of its own.
 *
 * A record is known by its producer (the stream) and its number (the time); its payload is made of both.
 */

#define ENTRY_BYTES 64u
#define PAYLOAD_BYTES (ENTRY_BYTES - K2HFT_CHUNK_HEADER_BYTES)

static _Alignas(4096) uint8_t memory[K2I_DATA_AT + 2 * (MODEL_CAPACITY_MAX + MODEL_AREA_BYTES)];
struct k2i_ring_header *model_header = (void *)memory;
struct k2i_slot *model_slots = (void *)(memory + K2I_SLOTS_AT);
struct k2i_stream *model_streams = (void *)(memory + K2I_STREAMS_AT);
uint8_t *model_data = memory + K2I_DATA_AT;

static uint64_t payload_word(unsigned producer, uint64_t number, size_t at)
{
	return (uint64_t)producer << 32 | number << 8 | at;
}

static void must(bool holds, const char *what)
{
	if (!holds)
		model_violation("%s", what);
}

/* ---- producers */

static struct k2hft_producer *producer_of(unsigned thread)
{
	return world.opened[thread - 1];
}

static struct k2hft_chunk chunk_of(unsigned thread)
{
	return (struct k2hft_chunk){
		.stream_id = thread,
		.record_count = 1,
		.time_ns = world.tallies[thread - 1].begun,
		.writer_pid = thread,
	};
}

static uint64_t *reserved(unsigned thread, size_t bytes)
{
	void *payload = NULL;
	int status;

	while ((status = k2hft_producer_reserve(producer_of(thread), bytes, &payload)) == -EAGAIN) {
		must(world.rings[thread].capacity == MODEL_CAPACITY, "no room, but in another area there is");
		must(k2hft_ring_space_wait(&world.rings[thread], bytes, -1) == 0, "waiting for room fails");
	}
	must(status == 0, "a reserve fails");
	return payload;
}

static void commit(unsigned thread, uint64_t *payload, size_t offset, size_t bytes)
{
	struct k2hft_chunk chunk;

	world.tallies[thread - 1].begun++;
	chunk = chunk_of(thread);
	for (size_t at = offset / 8; at < (offset + bytes) / 8; at++)
		model_plain_write(payload + at, payload_word(thread, chunk.time_ns, at - offset / 8));
	must(k2hft_producer_commit(producer_of(thread), &chunk, offset, bytes) == 0, "a commit fails");
	world.tallies[thread - 1].committed++;
}

static void push(unsigned thread)
{
	commit(thread, reserved(thread, PAYLOAD_BYTES), 0, PAYLOAD_BYTES);
}

/* ---- the consumer */

static void chunk_check(const struct k2i_entry *entry, const struct k2i_chunk_fields *fields, uint64_t payload_bytes)
{
	unsigned producer = fields->stream_id;
	const uint64_t *payload = (const uint64_t *)(const void *)(entry + 1);
	struct model_tally *tally;

	must(producer >= 1 && producer <= MODEL_PRODUCERS && fields->writer_pid == producer &&
		     fields->record_count == 1,
	     "a chunk's header is not what its producer wrote");
	tally = &world.tallies[producer - 1];
	must(fields->time_ns != tally->seen, "a record is seen twice");
	must(fields->time_ns == tally->seen + 1, "a record is lost or out of order");
	must(fields->time_ns <= tally->begun, "a record is seen before it was written");
	tally->seen++;
	for (size_t at = 0; at < payload_bytes / 8; at++)
		must(model_plain_read(payload + at) == payload_word(producer, fields->time_ns, at),
		     "a payload is torn");
}

static void span_check(struct k2hft_ring *ring, const struct k2hft_span *span)
{
	uint64_t place = span->position | ring->read_area, end = place + span->bytes;
	struct k2hft_stream stream;
	uint32_t generation;

	must(span->position >= ring->head && end - ring->head <= k2i_area_of(ring, place)->bytes,
	     "a span is not within a lap of the head");
	while (place < end) {
		struct k2i_chunk_fields fields;
		uint64_t size, payload_bytes;
		unsigned kind = k2i_mark_read(ring, place, model_peek(&k2i_entry_at(ring, place)->mark), &size);

		must(kind == K2I_KIND_CHUNK, "a span has no chunk");
		payload_bytes = k2i_chunk_read(ring, place, size, &fields);
		must(payload_bytes != 0, "a span has a damaged chunk");
		chunk_check(k2i_entry_at(ring, place), &fields, payload_bytes);
		if (ring->stream_copies)
			must(k2hft_stream_find(ring, fields.stream_id, &stream, &generation) == 0,
			     "the stream of a chunk is taken for one that nobody has");
		place += size;
	}
	must(k2hft_ring_release(ring, k2i_position(end)) == 0, "a release fails");
}

static void consume(unsigned thread)
{
	struct k2hft_ring *ring = &world.rings[thread];

	for (;;) {
		struct k2hft_span span;
		int claimed = 0, count;

		count = k2hft_ring_read(ring, MODEL_CAPACITY_MAX, 0, &span, &claimed);
		must(count >= 0, "an entry is taken for damaged");
		if (count) {
			span_check(ring, &span);
			continue;
		}
		if (claimed && k2hft_ring_recover(ring))
			continue;
		world.claimed = claimed;
		if (k2hft_ring_sleep(ring)) {
			model_block(NULL);
		}
		world.claimed = false;
		k2hft_ring_awake(ring);
	}
}

static bool dead_left(void)
{
	for (unsigned thread = 1; thread < MODEL_THREADS; thread++)
		if (world.threads[thread].status == MODEL_DEAD)
			return true;
	return false;
}

static bool all_seen(void)
{
	for (unsigned at = 0; at < MODEL_PRODUCERS; at++)
		if (world.tallies[at].seen < world.tallies[at].committed)
			return false;
	return true;
}

bool model_timer(void)
{
	/* A client looks again at a claim that stands in its way. Committed chunks must not have to wait for that. */
	return world.claimed ||
	       (dead_left() && all_seen() && k2i_position(model_peek(&model_header->tail)) != world.rings[0].read);
}

static bool all_ended(void)
{
	for (unsigned thread = 1; thread < MODEL_THREADS; thread++) {
		enum model_status status = world.threads[thread].status;

		if (status != MODEL_ENDED && status != MODEL_DEAD && status != MODEL_ABSENT)
			return false;
	}
	return true;
}

bool model_end_check(const struct model_scenario *scenario)
{
	const struct k2hft_ring *ring = &world.rings[0];

	if (!all_ended() || scenario->idle)
		return all_ended();
	return all_seen() && model_peek(&model_header->tail) == k2i_read_place(ring) && ring->head == ring->read &&
	       model_peek(&model_header->head) == k2i_head_place(ring) && model_peek(&model_header->damaged_bytes) == 0;
}

/* ---- preparations */

static void ring_prepare(unsigned thread, bool small_area)
{
	struct k2hft_ring *ring = &world.rings[thread];

	ring->header = model_header;
	ring->slots = model_slots;
	ring->streams = model_streams;
	ring->data = model_data;
	ring->capacity = small_area ? MODEL_CAPACITY_MAX : MODEL_CAPACITY;
	ring->areas[0] = (struct k2i_area){model_data, ring->capacity, ring->capacity - 8, 0};
	ring->turn = UINT64_MAX;
	if (small_area) {
		ring->areas[1] = (struct k2i_area){model_data + 2 * MODEL_CAPACITY_MAX, MODEL_AREA_BYTES,
						   MODEL_AREA_BYTES - 8, 0};
		ring->turn = MODEL_AREA_BYTES / 2;
	}
	ring->seed = 0x5eed;
	ring->sleep_number = MODEL_SLEEP_BEGIN;
	ring->consumer = thread == 0;
	ring->descriptor = ring->wake_epoll = ring->wake_event = ring->wake_inotify = ring->wake_timer = -1;
	ring->process.owner = (uint64_t)(thread + 1) << 32 | 1;
	ring->process.namespace = 1;
}

static void word_set(const char *name, void *word, uint64_t value)
{
	model_store((struct model_site){__func__, name}, word, value, memory_order_relaxed);
}

static void producer_open(unsigned thread)
{
	world.running = thread;
	must(k2hft_producer_open(&world.rings[thread], &world.opened[thread - 1]) == 0, "a producer is not opened");
	world.running = 0;
}

/* An empty ring whose next place is that: its position is an offset into a lap. */
static void empty_in(uint64_t place, bool small_area)
{
	struct k2hft_ring *ring = &world.rings[0];
	uint64_t begin = MODEL_BEGIN + k2i_position(place);

	for (unsigned thread = 0; thread < MODEL_THREADS; thread++)
		ring_prepare(thread, small_area);
	word_set("header->tail", &model_header->tail, MODEL_BEGIN + place);
	word_set("header->head", &model_header->head, MODEL_BEGIN + place);
	word_set("header->sleeping", &model_header->sleeping, 0);
	word_set("header->give_backs", &model_header->give_backs, 0);
	word_set("header->space_sequence", &model_header->space_sequence, 0);
	word_set("header->space_waiters", &model_header->space_waiters, 0);
	ring->head = ring->acked = ring->read = ring->chunk_end = ring->tail_seen = begin;
	ring->head_area = ring->read_area = place & K2I_PLACE_AREA;
	for (unsigned thread = 1; thread <= MODEL_PRODUCERS; thread++) {
		word_set("declared", &model_streams[thread - 1].declared, 1);
		word_set("references", &model_streams[thread - 1].references, 1);
	}
}

static void empty_at(uint64_t offset)
{
	empty_in(offset, false);
}

static void two_opened(uint64_t offset)
{
	empty_at(offset);
	producer_open(1);
	producer_open(2);
}

static void two_at_the_wrap(void)
{
	two_opened(MODEL_CAPACITY - ENTRY_BYTES / 2);
}

/* Room for `entries` only: the rest was committed before, by the third producer, who has ended. */
static void filled(unsigned entries)
{
	two_opened(MODEL_CAPACITY / 2);
	producer_open(3);
	world.running = 3;
	for (unsigned at = entries; at < MODEL_CAPACITY / ENTRY_BYTES; at++)
		push(3);
	world.running = 0;
}

static void filled_but_one(void)
{
	filled(1);
}

static void filled_whole(void)
{
	filled(0);
}

static void two_in_areas(uint64_t place)
{
	empty_in(place, true);
	producer_open(1);
	producer_open(2);
}

/* All of the ring, and the first claim goes over a place where a smaller area is looked for. */
static void before_smaller(void)
{
	two_in_areas(MODEL_AREA_BYTES / 2 - ENTRY_BYTES / 2);
}

/* The small area, in which there is no room before the consumer has freed some. */
static void before_larger(void)
{
	two_in_areas((MODEL_AREA_BYTES - ENTRY_BYTES / 2) | 1 << 1);
	producer_open(3);
	world.running = 3;
	for (unsigned at = 0; at < 3; at++)
		push(3);
	world.running = 0;
}

/* The consumer finds the streams, each of which its producer alone has. */
static void streams_found(void)
{
	two_at_the_wrap();
	world.rings[0].stream_copies = world.stream_copies;
	for (unsigned thread = 1; thread <= MODEL_PRODUCERS; thread++)
		model_streams[thread - 1].path[0] = 's';
}

static void none_opened(void)
{
	empty_at(MODEL_CAPACITY - ENTRY_BYTES);
}

/* ---- threads */

static void push_one(unsigned thread)
{
	if (thread == 0) {
		consume(thread);
	} else {
		push(thread);
	}
}

static void push_two(unsigned thread)
{
	if (thread == 0)
		consume(thread);
	for (unsigned step = 0; thread && step < 2; step++) {
		push(thread);
	}
}

/* The first producer commits the middle of its claim; the second one pushes. */
static void middle(unsigned thread)
{
	if (thread != 1) {
		push_one(thread);
		return;
	}
	commit(thread, reserved(thread, PAYLOAD_BYTES), 8, 8);
	push(thread);
}

static void middle_alone(unsigned thread)
{
	if (thread == 1) {
		commit(thread, reserved(thread, PAYLOAD_BYTES), 8, 8);
	} else {
		push_one(thread);
	}
}

static void discard(unsigned thread)
{
	if (thread != 1) {
		push_one(thread);
		return;
	}
	(void)reserved(thread, PAYLOAD_BYTES);
	must(k2hft_producer_discard(producer_of(thread)) == 0, "a discard fails");
	push(thread);
}

static void discard_both(unsigned thread)
{
	if (thread == 0) {
		consume(thread);
	} else {
		(void)reserved(thread, PAYLOAD_BYTES / thread);
		must(k2hft_producer_discard(producer_of(thread)) == 0, "a discard fails");
	}
}

static void discard_only(unsigned thread)
{
	if (thread)
		discard_both(thread);
}

static void discard_second(unsigned thread)
{
	if (thread == 2) {
		(void)reserved(thread, PAYLOAD_BYTES);
		must(k2hft_producer_discard(producer_of(thread)) == 0, "a discard fails");
	} else {
		push_one(thread);
	}
}

static void push_and_release(unsigned thread)
{
	push_one(thread);
	if (thread)
		must(k2hft_stream_release(&world.rings[thread], thread) == 0, "a stream is not released");
}

/* Places are taken and left; what a dead one has left is taken over. */
static void comers(unsigned thread)
{
	if (thread == 0) {
		consume(thread);
		return;
	}
	must(k2hft_producer_open(&world.rings[thread], &world.opened[thread - 1]) == 0, "a producer is not opened");
	push(thread);
	k2hft_producer_close(producer_of(thread));
}

const struct model_scenario model_scenarios[] = {
	{"wrap", "two producers push over the ring's end", two_at_the_wrap, push_one, 3, 0, false},
	{"wrap-killed", "the same, one dies", two_at_the_wrap, push_one, 3, 1, false},
	{"middle", "one gives back front and rear of its claim", two_at_the_wrap, middle_alone, 3, 0, false},
	{"middle-killed", "the same, it dies", two_at_the_wrap, middle_alone, 3, 1, false},
	{"discard", "one discards its claim and pushes", two_at_the_wrap, discard, 3, 0, false},
	{"discard-killed", "the same, it dies", two_at_the_wrap, discard, 3, 1, false},
	{"discard-both", "both discard", two_at_the_wrap, discard_both, 3, 0, false},
	{"discard-both-killed", "the same, one dies", two_at_the_wrap, discard_both, 3, 1, false},
	{"discard-second", "the second one discards, the first one pushes", two_at_the_wrap, discard_second, 3, 0,
	 false},
	{"full", "room for one entry, two producers", filled_but_one, push_one, 3, 0, false},
	{"full-killed", "the same, one dies", filled_but_one, push_one, 3, 1, false},
	{"full-one", "no room, one producer waits", filled_whole, push_one, 2, 0, false},
	{"full-discard", "room for one entry: one discards it, one waits", filled_but_one, discard_both, 3, 0, false},
	{"full-discard-killed", "the same, the discarder dies", filled_but_one, discard_both, 3, 1, false},
	{"full-idle", "as full-discard, and nobody reads", filled_but_one, discard_only, 3, 0, true},
	{"comers", "places are taken, used and left", none_opened, comers, 3, 0, false},
	{"comers-killed", "the same, one dies", none_opened, comers, 3, 1, false},
	{"two", "two producers push twice", two_at_the_wrap, push_two, 3, 0, false},
	{"two-killed", "the same, one dies", two_at_the_wrap, push_two, 3, 1, false},
	{"release", "one pushes and releases its stream", streams_found, push_and_release, 2, 0, false},
	{"release-killed", "the same, it dies", streams_found, push_and_release, 2, 1, false},
	{"smaller", "two push, one switches to the small area", before_smaller, push_one, 3, 0, false},
	{"smaller-killed", "the same, one dies", before_smaller, push_one, 3, 1, false},
	{"larger", "two push, one switches to all of the ring", before_larger, push_one, 3, 0, false},
	{"larger-killed", "the same, one dies", before_larger, push_one, 3, 1, false},
	{"larger-discard", "the first one discards, then both push", before_larger, discard, 3, 0, false},
	{"larger-discard-killed", "the same, it dies", before_larger, discard, 3, 1, false},
	{"middle-again", "one gives back parts and pushes", two_at_the_wrap, middle, 3, 0, false},
};
const unsigned model_scenario_count = sizeof(model_scenarios) / sizeof(*model_scenarios);
