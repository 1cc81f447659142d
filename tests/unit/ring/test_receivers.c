/* SPDX-License-Identifier: MIT */
/* Receivers that a ring remembers, beyond the process. */
#include "unit.h"
#include "ring_help.h"

#include <fcntl.h>

#include "ring/layout.h"
#include "ring/ring.h"

static struct k2i_ring_receivers receivers_of(const struct k2hft_ring *ring)
{
	struct k2i_ring_receivers receivers;

	k2i_ring_receivers(ring, &receivers);
	return receivers;
}

static void set(struct k2hft_ring *ring, uint8_t last, uint8_t unsettled_count)
{
	struct k2i_ring_receivers receivers = {.last = {last}, .last_target = last, .unsettled_count = unsettled_count};

	for (uint8_t at = 0; at < unsettled_count; at++)
		receivers.unsettled[at] = (struct k2hft_unsettled){{(uint8_t)(at + 1)}, UINT64_C(8) * at};
	assert_int_equal(k2i_ring_receivers_set(ring, &receivers), 0);
}

static void expect(const struct k2hft_ring *ring, uint8_t last, uint8_t unsettled_count)
{
	struct k2i_ring_receivers receivers = receivers_of(ring);

	assert_int_equal(receivers.last[0], last);
	assert_int_equal(receivers.last_target, last);
	assert_int_equal(receivers.unsettled_count, unsettled_count);
	for (uint8_t at = 0; at < unsettled_count; at++) {
		assert_int_equal(receivers.unsettled[at].receiver_uuid[0], at + 1);
		assert_int_equal(receivers.unsettled[at].position, UINT64_C(8) * at);
	}
}

FILES_TEST(they_survive_the_process)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);

	expect(ring, 0, 0);
	set(ring, 1, 0);
	set(ring, 2, 3);
	set(ring, 3, K2HFT_UNSETTLED_MAX);
	expect(ring, 3, K2HFT_UNSETTLED_MAX);
	k2hft_ring_close(ring);
	ring = file_ring(files->path, 0);
	expect(ring, 3, K2HFT_UNSETTLED_MAX);
	set(ring, 4, 1);
	expect(ring, 4, 1);
	k2hft_ring_close(ring);
}

/* The word at `word` of copy `at` in the file gets another bit. */
static void flip(const char *path, unsigned at, unsigned word)
{
	int descriptor = open(path, O_RDWR | O_CLOEXEC);
	off_t place = (off_t)(offsetof(struct k2i_ring_header, receivers[at]) + word * sizeof(uint64_t));
	uint64_t value;

	assert_true(descriptor >= 0);
	assert_int_equal(pread(descriptor, &value, sizeof(value), place), sizeof(value));
	value ^= 1;
	assert_int_equal(pwrite(descriptor, &value, sizeof(value), place), sizeof(value));
	(void)close(descriptor);
}

/* Each word of the change that was under way; the state before it holds. */
FILES_TEST(half_a_change_is_none)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);

	set(ring, 1, 2); /* copy 1 */
	set(ring, 2, 3); /* copy 0 */
	for (unsigned word = 0; word < K2I_RING_RECEIVERS_WORDS; word++) {
		flip(files->path, 0, word);
		expect(ring, 1, 2);
		flip(files->path, 0, word);
		expect(ring, 2, 3);
	}
	flip(files->path, 0, 3);
	set(ring, 5, 4);
	expect(ring, 5, 4);
	k2hft_ring_close(ring);
}

FILES_TEST(damage_of_both_leaves_none)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);

	set(ring, 1, 2);
	set(ring, 2, 3);
	flip(files->path, 0, 5);
	flip(files->path, 1, 5);
	expect(ring, 0, 0);
	k2hft_ring_close(ring);
}

/* Well formed by its checksum, but not by what it says: nothing that this version wrote. */
RING_TEST(what_can_not_be_is_not_taken)
{
	struct k2i_ring_receivers receivers = {.unsettled_count = 2, .unsettled = {{{1}, 8}, {{2}, 16}}}, bad;

	assert_int_equal(k2i_ring_receivers_set(ring, &receivers), 0);
	bad = receivers;
	bad.unsettled[1].position = 17;
	assert_int_equal(k2i_ring_receivers_set(ring, &bad), 0);
	assert_int_equal(receivers_of(ring).unsettled[1].position, 16);
	bad = receivers;
	bad.unsettled[1].receiver_uuid[0] = 1;
	assert_int_equal(k2i_ring_receivers_set(ring, &bad), 0);
	assert_int_equal(receivers_of(ring).unsettled[1].receiver_uuid[0], 2);
	bad = receivers;
	bad.unsettled[0].receiver_uuid[0] = 0;
	assert_int_equal(k2i_ring_receivers_set(ring, &bad), 0);
	assert_int_equal(receivers_of(ring).unsettled[0].receiver_uuid[0], 1);
}

RING_TEST(another_name_has_none)
{
	set(ring, 1, 2);
	assert_int_equal(k2i_ring_rename(ring), 0);
	expect(ring, 0, 0);
}

RING_TEST(a_move_raises_the_epoch)
{
	struct k2hft_ring_stats before = k2i_ring_stats(ring);

	assert_int_equal(k2i_ring_epoch_raise(ring), before.epoch + 1);
	assert_int_equal(k2i_ring_stats(ring).epoch, before.epoch + 1);
}
