/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <unistd.h>

#include "unit.h"
#include "output_place.h"

/* Errors of the thread that commits: others bring files to the disk when the place is closed. */
static _Thread_local uint64_t locked[8]; /* numbers of outputs, in the order in which they were */
static _Thread_local size_t locked_count;

/* Named by the linker. */
void __real_k2i_output_lock(struct k2i_output_file *output);
void __wrap_k2i_output_lock(struct k2i_output_file *output);
void __wrap_k2i_output_lock(struct k2i_output_file *output)
{
	assert_true(locked_count < sizeof(locked) / sizeof(locked[0]));
	locked[locked_count++] = output->number;
	__real_k2i_output_lock(output);
}

/* Two groups that have the same files in another order must not wait for each other. */
FIXTURE_TEST(test_one_order_of_locks, struct place *place, setup, teardown)
{
	struct k2i_stream one = stream_make(1, "one"), two = stream_make(2, "two"), three = stream_make(3, "three");

	place_open(place, "%L", NULL);
	add(place, &one, 0, 1, "1");
	add(place, &two, 0, 1, "2");
	add(place, &three, 0, 1, "3");
	assert_int_equal(commit(place), 0);
	add(place, &two, 0, 1, "b");
	add(place, &three, 0, 1, "c");
	add(place, &one, 0, 1, "a");
	locked_count = 0;
	assert_int_equal(commit(place), 0);
	assert_int_equal(locked_count, 3);
	assert_true(locked[0] < locked[1] && locked[1] < locked[2]);
	expect_file(place, "one", "1a");
	expect_file(place, "two", "2b");
	expect_file(place, "three", "3c");
	locked_count = 0;
}
