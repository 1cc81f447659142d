/* SPDX-License-Identifier: MIT */
/* k2hft bench: what it measures, and how that is called. */
#include "unit.h"
#include "bench_help.h"

/* The volume of a line where nothing gives it: all lines of a list have the same. */
TEST(volumes)
{
	struct bench_options options = {.sizes = {.values = {1024}, .count = 1},
					.per_write = {.count = 1},
					.rings = {.values = {1u << 20, 8u << 20}, .count = 1},
					.writers = {.values = {1, 8}, .count = 1},
					.sinks = {.count = 1},
					.receivers = {.values = {1, 4}, .count = 1},
					.ways = {.values = {BENCH_LIBRARY, BENCH_APPEND}, .count = 2},
					.senders = {.values = {1, 128}, .count = 1}};
	struct bench_report report = {0};
	unsigned number;

	assert_int_equal(bench_plan_make(&report, &options), 0);
	assert_int_equal(report.count, 2);
	assert_int_equal(report.results[0].point.bytes, 256u << 20);
	assert_int_equal(report.results[0].point.seconds, 0);
	assert_true(report.results[1].point.records > 0);
	assert_int_equal(report.results[1].point.bytes + report.results[1].point.seconds, 0);
	free(report.results);
	options.senders.count = 2;
	report = (struct bench_report){0};
	assert_int_equal(bench_plan_make(&report, &options), 0);
	assert_int_equal(report.count, 4);
	for (number = 0; number < report.count; number++) {
		assert_int_equal(report.results[number].point.senders, options.senders.values[number % 2]);
		assert_int_equal(report.results[number].point.seconds, 10);
		assert_int_equal(report.results[number].point.bytes + report.results[number].point.records, 0);
	}
	free(report.results);
	options.rings.count = 2;
	report = (struct bench_report){0};
	assert_int_equal(bench_plan_make(&report, &options), 0);
	assert_int_equal(report.count, 8);
	for (number = 0; number < report.count; number++) {
		assert_int_equal(report.results[number].point.ring_bytes, options.rings.values[number % 2]);
		assert_int_equal(report.results[number].point.senders, options.senders.values[number / 2 % 2]);
		assert_int_equal(report.results[number].point.way, options.ways.values[number / 4]);
	}
	free(report.results);
	options.senders.count = options.rings.count = options.ways.count = 1;
	options.writers.count = 2;
	report = (struct bench_report){0};
	assert_int_equal(bench_plan_make(&report, &options), 0);
	assert_int_equal(report.count, 2);
	for (number = 0; number < report.count; number++) {
		assert_int_equal(report.results[number].point.writers, options.writers.values[number]);
		assert_int_equal(report.results[number].point.seconds, 10);
		assert_int_equal(report.results[number].point.bytes + report.results[number].point.records, 0);
	}
	free(report.results);
	options.writers.count = 1;
	options.receivers.count = 2;
	report = (struct bench_report){0};
	assert_int_equal(bench_plan_make(&report, &options), 0);
	assert_int_equal(report.count, 2);
	for (number = 0; number < report.count; number++)
		assert_int_equal(report.results[number].point.receivers, options.receivers.values[number]);
	free(report.results);
}

/* Those of one combination take turns. */
TEST(sinks)
{
	const struct number_list one = {.values = {1}, .count = 1};
	struct bench_options options = {.sizes = {.values = {10, 1024}, .count = 2},
					.per_write = {.count = 1},
					.rings = one,
					.writers = one,
					.receivers = one,
					.ways = {.count = 1},
					.senders = one,
					.sinks = {.values = {BENCH_SINK_FILE, BENCH_SINK_RELAY}, .count = 2}};
	struct bench_report report = {0};

	assert_int_equal(bench_plan_make(&report, &options), 0);
	assert_int_equal(report.count, 4);
	for (unsigned number = 0; number < report.count; number++) {
		assert_int_equal(report.results[number].point.sink, options.sinks.values[number % 2]);
		assert_int_equal(report.results[number].point.size, options.sizes.values[number / 2]);
		assert_int_equal(report.results[number].group, 1 + number / 2);
	}
	free(report.results);
}

/* A preset's sweep of one sender's writers is a group of its own, and its last line stands against the best. */
TEST(sweep_of_writers)
{
	struct bench_options options = {.all = true, .no_mount = true, .rings = {.count = 1}};
	struct bench_report report = {0};
	const struct bench_row *row = NULL;
	unsigned number, best, knee;

	assert_int_equal(bench_plan_make(&report, &options), 0);
	for (number = 0; number < report.row_count; number++)
		if (strcmp(report.rows[number].what, "library, 128 writers of one sender, 1 KiB") == 0)
			row = &report.rows[number];
	assert_non_null(row);
	assert_string_equal(row->against_what, "best of 1 to 128");
	assert_int_equal(row->base_last, row->result);
	assert_int_equal(row->base_last - row->base, 7);
	for (number = row->base; number <= row->base_last; number++) {
		struct bench_result *result = &report.results[number];

		result->runs = 1;
		assert_int_equal(result->point.writers, UINT64_C(1) << (number - row->base));
		assert_int_equal(result->point.senders, 1);
		assert_int_equal(result->point.ring_bytes, 16 * 1024 * 1024);
		assert_int_equal(result->point.way, BENCH_LIBRARY);
		assert_int_equal(result->group, report.results[row->base].group);
	}
	assert_int_equal(bench_knee(&report, row->base, BENCH_WRITERS, &best, &knee), 8);
	for (number = 0; number < report.count; number++)
		assert_true(report.results[number].point.writers == 1 ||
			    (number >= row->base && number <= row->base_last));
	bench_report_free(&report);
}

TEST(labels)
{
	struct bench_point point = {.way = BENCH_LIBRARY,
				    .size = 1024,
				    .senders = 1,
				    .writers = 128,
				    .level = 1,
				    .ring_bytes = bench_ring_bytes(BENCH_LIBRARY)};
	char text[BENCH_TEXT_ROOM];

	bench_point_text(&point, text, sizeof(text));
	assert_string_equal(text, "library, 1024 bytes, 128 writers");
	point.senders = 3;
	bench_point_text(&point, text, sizeof(text));
	assert_string_equal(text, "library, 1024 bytes, -g 3, 128 writers");
	point.writers = 1;
	bench_point_text(&point, text, sizeof(text));
	assert_string_equal(text, "library, 1024 bytes, -g 3");
}
