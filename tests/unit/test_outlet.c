/* SPDX-License-Identifier: MIT */
/* What is pending for the ring while that is full, and when there is room again; what counts of records that are judged. */
#include "ring_help.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "../../fuse/mount.h"
#include "../../fuse/outlet.h"
#include "pattern.h"
#include "rules.h"

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

/* Of the calls that the linker sends here, the one after so many fails; -1: none. */
static int matches_before_failure = -1;

int __wrap_k2i_regex_match(const struct k2i_regex *regex, struct k2i_regex_scratch *scratch, const char *subject,
			   size_t bytes, struct k2i_group *groups);
int __real_k2i_regex_match(const struct k2i_regex *regex, struct k2i_regex_scratch *scratch, const char *subject,
			   size_t bytes, struct k2i_group *groups);

int __wrap_k2i_regex_match(const struct k2i_regex *regex, struct k2i_regex_scratch *scratch, const char *subject,
			   size_t bytes, struct k2i_group *groups)
{
	if (matches_before_failure >= 0 && matches_before_failure-- == 0)
		return -ENOMEM;
	return __real_k2i_regex_match(regex, scratch, subject, bytes, groups);
}

#define MIXED "drop\na1\ndrop a\na2\ndrop\n"
#define PASSING "a1\na2\n"

/* A writer who gets an error tries again, so what is judged for him comes twice. */
static void what_failed_counts_when_it_is_tried_again(void **state)
{
	char target[] = "t", expression[] = "\"a[0-9]\"", message[512], text[sizeof(MIXED)] = MIXED;
	struct k2i_pattern pattern = {.text = expression, .file = "f"};
	struct k2i_rule rule = {.target = target, .allow = &pattern, .allow_count = 1, .file = "f"};
	struct k2i_settings settings = {.rules = &rule, .rule_count = 1};
	struct k2i_records records = {.data = MIXED, .bytes = sizeof(MIXED) - 1};
	struct k2i_mount mount = {.settings = &settings};
	struct k2i_outlet outlet = {.path = target};
	struct k2i_rules *rules;
	size_t bytes = sizeof(MIXED) - 1;

	(void)state;
	assert_int_equal(k2i_rules_compile(&settings, &rules, message, sizeof(message)), 0);
	outlet.match = k2i_rules_find(rules, "t");
	assert_int_equal(k2i_rule_scratch_create(outlet.match, &outlet.scratch), 0);
	matches_before_failure = 2;
	assert_int_equal(k2i_outlet_sift(&mount, &outlet, text, &bytes), -ENOMEM);
	assert_int_equal(matches_before_failure, -1);
	assert_int_equal(mount.counts.filtered_records, 0);
	memcpy(text, MIXED, sizeof(text));
	bytes = sizeof(MIXED) - 1;
	assert_int_equal(k2i_outlet_sift(&mount, &outlet, text, &bytes), 0);
	assert_int_equal(bytes, sizeof(PASSING) - 1);
	assert_memory_equal(text, PASSING, bytes);
	assert_int_equal(mount.counts.filtered_records, 3);
	matches_before_failure = 2;
	assert_int_equal(k2i_outlet_take(&mount, &outlet, &records), -ENOMEM);
	assert_int_equal(mount.counts.filtered_records, 3);
	assert_int_equal(k2i_outlet_take(&mount, &outlet, &records), 0);
	assert_int_equal(mount.counts.filtered_records, 6);
	k2i_rule_scratch_free(outlet.scratch);
	k2i_rules_free(rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_ring_costs_no_look_at_what_is_pending),
		cmocka_unit_test(what_is_pending_goes_with_its_number_of_records),
		cmocka_unit_test(what_failed_counts_when_it_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
