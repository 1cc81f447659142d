/* SPDX-License-Identifier: MIT */
/* What waits and does not get what it waits for: who is told, what counts as refused, and what as lost. */
#include "mounted_help.h"

#include <errno.h>
#include <stdint.h>

#include "../../fuse/collect.h"
#include "../../fuse/park.h"

/* Nothing goes through the page cache here. */
void k2i_collect_cut_done(struct k2i_mount *mount, uint32_t node)
{
	(void)mount;
	(void)node;
}

void k2i_collect_pass_hole(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	(void)mount;
	(void)file;
}

void k2i_collect_before(struct k2i_mount *mount, uint32_t node, k2i_collect_then *then, void *argument)
{
	(void)node;
	then(mount, argument);
}

#define LINES "a1\na2\n"

/* Data that waits, as if the first `taken` bytes had been sent. */
static void park_lines(struct mounted *mounted, uint64_t unique, bool cached, size_t taken)
{
	const struct k2i_parked item = {
		.kind = K2I_PARKED_WRITE,
		.unique = unique,
		.handle = mounted->handle,
		.cached = cached,
		.bytes = sizeof(LINES) - 1,
		.taken = taken,
	};

	mounted->handle->outlet->passes_all = true;
	assert_int_equal(k2i_park_add(&mounted->mount, &item, LINES), 0);
}

static void fill(const struct mounted *mounted)
{
	while (push(mounted->mount.producer, mounted->handle->outlet->stream_id, "\n") == 0)
		continue;
}

/* It has written less than it wanted, and comes again with the rest. */
static void who_is_interrupted_is_told_what_was_taken(void **state)
{
	struct mounted mounted;

	(void)state;
	mounted_make(&mounted);
	park_lines(&mounted, 1, false, 3);
	k2i_park_interrupt(&mounted.mount, 1);
	assert_int_equal(answer_of(&mounted, 1), 3);
	assert_int_equal(mounted.mount.counts.refused_writes, 0);
	park_lines(&mounted, 2, false, 0);
	k2i_park_interrupt(&mounted.mount, 2);
	assert_int_equal(answer_of(&mounted, 2), -EINTR);
	assert_int_equal(mounted.mount.counts.refused_writes, 1);
	k2i_park_run(&mounted.mount);
	assert_sent(&mounted, "");
	mounted_end(&mounted);
}

/* Its write(2) returned long ago: it is sent, whoever does not wait for the kernel's request any more. */
static void what_the_page_cache_gave_is_sent(void **state)
{
	struct mounted mounted;

	(void)state;
	mounted_make(&mounted);
	park_lines(&mounted, 1, true, 0);
	k2i_park_interrupt(&mounted.mount, 1);
	assert_int_equal(answer_of(&mounted, 1), -EINTR);
	assert_int_equal(mounted.mount.counts.refused_writes, 0);
	k2i_park_run(&mounted.mount);
	assert_sent(&mounted, LINES);
	park_lines(&mounted, 2, true, 0);
	park_lines(&mounted, 3, false, 0);
	/* Neither comes again. */
	k2i_park_resume_begin(&mounted.mount);
	k2i_park_resume_end(&mounted.mount);
	k2i_park_run(&mounted.mount);
	assert_sent(&mounted, LINES);
	mounted_end(&mounted);
}

/* A writer who is told of it has lost nothing. */
static void what_has_no_memory_is_lost_if_it_was_accepted(void **state)
{
	struct mounted mounted;

	(void)state;
	mounted_make(&mounted);
	for (int cached = 0; cached < 2; cached++) {
		park_lines(&mounted, 1, cached, 0);
		no_memory = true;
		k2i_park_run(&mounted.mount);
		no_memory = false;
		assert_int_equal(answer_of(&mounted, 1), -ENOMEM);
		assert_int_equal(mounted.mount.counts.lost_records, cached ? 2 : 0);
		assert_int_equal(mounted.mount.counts.refused_writes, 1);
	}
	/* Who asks is told, once. */
	k2i_write_sync(&mounted.mount, 2, mounted.handle->number);
	assert_int_equal(answer_of(&mounted, 2), -ENOMEM);
	k2i_write_sync(&mounted.mount, 3, mounted.handle->number);
	assert_int_equal(answer_of(&mounted, 3), 0);
	mounted_end(&mounted);
}

/* The mount ends: what was taken of them is lost, and so is a line that waits for its end; who was not told is refused. */
static void what_was_accepted_is_lost_with_the_mount(void **state)
{
	(void)state;
	for (unsigned held = 0; held < 2; held++) {
		struct mounted mounted;

		mounted_make(&mounted);
		mounted.handle->outlet->passes_all = true;
		if (held)
			assert_int_equal(write_text(&mounted, "a1"), 2);
		fill(&mounted);
		if (!held) {
			park_lines(&mounted, 1000, false, 0);
			park_lines(&mounted, 1001, false, 0);
		}
		k2i_write_release(&mounted.mount, mounted.handle);
		assert_false(k2i_park_empty(&mounted.mount));
		k2i_park_abandon(&mounted.mount, -ECONNABORTED);
		if (!held) {
			assert_int_equal(answer_of(&mounted, 1000), sizeof(LINES) - 1);
			assert_int_equal(answer_of(&mounted, 1001), -ECONNABORTED);
		}
		assert_int_equal(mounted.mount.counts.lost_records, held ? 1 : 2);
		assert_int_equal(mounted.mount.handles_open, 0);
		mounted_end(&mounted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_is_interrupted_is_told_what_was_taken, begin, end),
		cmocka_unit_test_setup_teardown(what_the_page_cache_gave_is_sent, begin, end),
		cmocka_unit_test_setup_teardown(what_has_no_memory_is_lost_if_it_was_accepted, begin, end),
		cmocka_unit_test_setup_teardown(what_was_accepted_is_lost_with_the_mount, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
