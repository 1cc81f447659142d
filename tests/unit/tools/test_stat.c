/* SPDX-License-Identifier: MIT */

#include "unit.h"
#include "tools/stat/stat.h"
#include "app/program/report.h"

static struct json_value *parsed(const char *text)
{
	size_t at;

	return json_parse(text, strlen(text), &at);
}

TEST(test_json_of_ours)
{
	struct k2i_report report = {0};
	const struct json_value *row;
	struct json_value *status;
	uint64_t numbers[K2I_RING_COUNTER_COUNT];
	size_t at;

	for (at = 0; at < K2I_RING_COUNTER_COUNT; at++)
		numbers[at] = UINT64_MAX - at;
	k2i_report_open(&report, NULL, '{');
	k2i_report_text(&report, "text", "a\"\\\n\xff\xc3\xa4");
	k2i_report_counters(&report, "ring", &k2i_ring_counter_table, numbers);
	k2i_report_open(&report, "rows", '[');
	k2i_report_open(&report, NULL, '{');
	k2i_report_number(&report, "one", 1);
	k2i_report_close(&report, '}');
	k2i_report_close(&report, ']');
	k2i_report_close(&report, '}');
	assert_false(report.failed);
	status = parsed(report.text);
	assert_non_null(status);
	assert_string_equal(json_text(status, "text"), "a\"\\\n\xef\xbf\xbd\xc3\xa4");
	row = json_get(status, "rows")->first;
	assert_string_equal(json_get(row, "one")->text, "1");
	assert_null(row->next);
	assert_true(stat_table_there(status, &k2i_ring_counter_table));
	assert_false(stat_table_there(status, &k2i_mount_counter_table));
	for (at = 0; at < K2I_RING_COUNTER_COUNT; at++)
		assert_true(stat_counter(status, &k2i_ring_counter_table, at) == numbers[at]);
	assert_true(stat_lossy(status));
	json_free(status);
	free(report.text);
}

TEST(test_losses)
{
	uint64_t numbers[K2I_RING_COUNTER_COUNT] = {0};
	struct k2i_report report = {0};
	const struct json_value *lost;
	struct json_value *status;

	numbers[K2I_RING_COUNTER_resent_frames] = 7;
	k2i_report_open(&report, NULL, '{');
	k2i_report_counters(&report, "ring", &k2i_ring_counter_table, numbers);
	numbers[K2I_RING_COUNTER_expired_records] = 1;
	k2i_report_counters(&report, "other", &k2i_ring_counter_table, numbers);
	k2i_report_close(&report, '}');
	status = parsed(report.text);
	assert_false(stat_lossy(status));
	lost = json_get(status, "other_lost")->first;
	assert_string_equal(lost->text, "expired_records");
	assert_null(lost->next);
	json_free(status);
	free(report.text);
}

TEST(test_json_of_others)
{
	static const char *const wrong[] = {
		"",      "{",   "[",         "}",           "{\"a\"}",     "{\"a\":}", "{\"a\":1,}",
		"{a:1}", "\"",  "\"\\",      "\"\\u12",     "\"\\u12g4\"", "\"\\x\"",  "{\"a\":1}}",
		"[1 2]", "[1,", "{\"a\" 1}", "{\"a\":\"b}", "\x01",
	};
	struct json_value *value;
	char deep[200000];
	size_t at;

	for (at = 0; at < sizeof(wrong) / sizeof(wrong[0]); at++)
		if (parsed(wrong[at]))
			fail_msg("taken: %s", wrong[at]);
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_null(parsed(deep));
	value = parsed(" { \"a\" : [ ] , \"b\" : { } , \"c\" : \"\\u20ac\\u0000\\/\" } \n");
	assert_string_equal(json_text(value, "c"), "\xe2\x82\xac?/");
	json_free(value);
}

/* Names are as much another's as values are. */
TEST(test_terminal)
{
	struct json_value *status =
		parsed("{\"files\":[[1],2,{\"\\u001bname\":\"\\u009bvalue \\u00a0\",\"a\":[1],\"b\":\"\"}]}");
	char *shown = NULL;
	size_t bytes;
	FILE *output = open_memstream(&shown, &bytes);

	assert_non_null(output);
	assert_non_null(status);
	stat_show_table(output, "target", status, NULL, 0, false);
	assert_int_equal(fclose(output), 0);
	assert_string_equal(shown, "target: fine: nothing waits\n\n  files: ?name ?value \xc2\xa0\n");

	free(shown);
	json_free(status);
}

/* Answers are never a whole second apart. */
TEST(test_rates)
{
	const char *const first = "{\"receiver\":{\"connections\":1,\"records\":1}}";
	const char *const second = "{\"receiver\":{\"connections\":2,\"records\":8}}";
	struct json_value *before = parsed(first), *now = parsed(second);
	char *shown = NULL;
	size_t bytes;
	FILE *output = open_memstream(&shown, &bytes);

	assert_non_null(output);
	stat_show_table(output, "target", now, before, 1.001, false);
	assert_int_equal(fclose(output), 0);
	assert_non_null(strstr(shown, " 1/s "));
	assert_non_null(strstr(shown, " 7/s "));
	free(shown);
	json_free(before);
	json_free(now);
}

TEST(test_metrics)
{
	static const uint64_t mount[64] = {5};
	struct k2i_report report = {0};

	k2i_report_metrics(&report, &k2i_mount_counter_table, mount);
	assert_non_null(strstr(report.text, "\n# TYPE k2hft_mount_filtered_records_total counter\n"
					    "k2hft_mount_filtered_records_total 5\n"));
	assert_non_null(strstr(report.text, "\n# TYPE k2hft_mount_open_files gauge\nk2hft_mount_open_files 0\n"));
	free(report.text);
}

/* Names are for ever and for metrics; help is one line. */
TEST(test_tables)
{
	size_t table, at, other;

	for (table = 0; table < K2I_COUNTER_TABLES; table++) {
		const struct k2i_counter *counters = k2i_counter_tables[table]->counters;

		for (at = 0; at < k2i_counter_tables[table]->count; at++) {
			assert_int_equal(strspn(counters[at].name, "abcdefghijklmnopqrstuvwxyz_"),
					 strlen(counters[at].name));
			assert_null(strpbrk(counters[at].help, "\\\n\t\""));
			for (other = 0; other < at; other++)
				assert_string_not_equal(counters[other].name, counters[at].name);
		}
	}
}
