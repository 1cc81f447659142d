/* SPDX-License-Identifier: MIT */
/* k2hft bench: what is computed from the figures of the runs, drawn, saved and read again. */
#include "unit.h"
#include "bench_help.h"

#include <math.h>
#include <unistd.h>

#include "tools/bench/chart.h"
#include "tools/base/json.h"
#include "folder_help.h"

static void near(double got, double wanted)
{
	assert_true(fabs(got - wanted) <= 1e-9 * fabs(wanted));
}

static void result_fill(struct bench_result *result, enum bench_metric metric, const double *values, uint64_t runs)
{
	uint64_t number;

	result->runs = runs;
	result->point.level = 1;
	result->values = calloc(BENCH_METRICS * (size_t)runs, sizeof(double));
	assert_non_null(result->values);
	for (number = 0; number < BENCH_METRICS * runs; number++)
		result->values[number] = (double)NAN;
	for (number = 0; number < runs; number++)
		result->values[metric * runs + number] = values[number];
	bench_result_sum(result);
}

TEST(medians)
{
	double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, holed[] = {1, (double)NAN, 2};

	near(bench_median(odd, 3), 2);
	near(bench_median(even, 4), 2.5);
	assert_true(isnan(bench_median(holed, 3)));
	assert_true(isnan(bench_median(odd, 0)));
}

TEST(ranks)
{
	assert_int_equal(bench_rank(1, 500), 0);
	assert_int_equal(bench_rank(5, 500), 2);
	assert_int_equal(bench_rank(300, 990), 296);
	assert_int_equal(bench_rank(999, 999), 998);
	assert_int_equal(bench_rank(1000, 999), 998);
	assert_int_equal(bench_rank(1000, 1000), 999);
}

/* The ratio is of each run, and its median: not that of the medians. */
TEST(rows)
{
	struct bench_result results[3] = {0};
	struct bench_row row = {.result = 2,
				.metric = BENCH_COMMITTED_MB,
				.base = 0,
				.base_last = 1,
				.base_metric = BENCH_COMMITTED_MB,
				.scale = 1,
				.against = (double)NAN};
	unsigned number;

	result_fill(&results[0], BENCH_COMMITTED_MB, (double[]){1, 1, 1}, 3);
	result_fill(&results[1], BENCH_COMMITTED_MB, (double[]){10, 20, 40}, 3);
	result_fill(&results[2], BENCH_COMMITTED_MB, (double[]){10, 10, 10}, 3);
	bench_row_sum(&row, results);
	near(row.value, 10);
	near(row.against, 20);
	near(row.ratio, 0.5);
	near(row.lowest, 0.25);
	near(row.highest, 1);
	row = (struct bench_row){.result = 1, .base_metric = BENCH_METRICS, .metric = BENCH_COMMITTED_MB, .scale = 2};
	row.against = (double)NAN;
	bench_row_sum(&row, results);
	near(row.value, 40);
	near(row.highest, 80);
	assert_true(isnan(row.ratio));
	row.against = 10;
	bench_row_sum(&row, results);
	near(row.ratio, 4);
	/* Nothing to divide by, in one run or in all: the ratio is not known, the figure is. */
	row = (struct bench_row){
		.result = 1, .metric = BENCH_COMMITTED_MB, .base_metric = BENCH_COMMITTED_MB, .scale = 1};
	results[0].values[BENCH_COMMITTED_MB * 3 + 1] = 0;
	bench_row_sum(&row, results);
	assert_true(isnan(row.ratio));
	near(row.lowest, 10);
	near(row.highest, 40);
	assert_true(isnan(bench_ratio(1, 0)) && isnan(bench_ratio(0, 0)) && isnan(bench_ratio(1, (double)NAN)));
	for (number = 0; number < 3; number++)
		free(results[number].values);
}

TEST(quarters)
{
	const double series[] = {8, 4, 0, 0, 0, 0, 1, 2, 9};
	double first, last;

	bench_quarters(series, 8, &first, &last);
	near(first, 6);
	near(last, 1.5);
	bench_quarters(series, 9, &first, &last);
	near(last, 5.5);
	bench_quarters(series, 3, &first, &last);
	assert_true(isnan(first) && isnan(last));
}

/* Ranges that overlap say nothing; less is better of a latency, and a pipe's rate is nobody's merit. */
TEST(judgements)
{
	struct bench_result a = {0}, b = {0}, once = {0};

	result_fill(&a, BENCH_COMMITTED_MB, (double[]){10, 11, 12}, 3);
	result_fill(&b, BENCH_COMMITTED_MB, (double[]){7, 8, 9.9}, 3);
	result_fill(&once, BENCH_COMMITTED_MB, (double[]){1}, 1);
	assert_int_equal(bench_judge(BENCH_COMMITTED_MB, &a, &b), -1);
	assert_int_equal(bench_judge(BENCH_COMMITTED_MB, &b, &a), 1);
	assert_int_equal(bench_judge(BENCH_COMMITTED_MB, &a, &a), 0);
	assert_int_equal(bench_judge(BENCH_COMMITTED_MB, &a, &once), 0);
	b.highest[BENCH_COMMITTED_MB] = 10;
	assert_int_equal(bench_judge(BENCH_COMMITTED_MB, &a, &b), 0);
	a.lowest[BENCH_LATENCY_P99] = a.highest[BENCH_LATENCY_P99] = 5;
	b.lowest[BENCH_LATENCY_P99] = b.highest[BENCH_LATENCY_P99] = 6;
	assert_int_equal(bench_judge(BENCH_LATENCY_P99, &a, &b), -1);
	a.lowest[BENCH_PIPE_MB] = a.highest[BENCH_PIPE_MB] = 5;
	b.lowest[BENCH_PIPE_MB] = b.highest[BENCH_PIPE_MB] = 1;
	assert_int_equal(bench_judge(BENCH_PIPE_MB, &a, &b), 0);
	free(a.values);
	free(b.values);
	free(once.values);
}

/* 0 is what one write holds, so the knee is at what does with fewer. */
TEST(knee_of_records_in_one_write)
{
	static const uint64_t per_write[] = {0, 1, 1024, 4096};
	static const double rates[] = {99, 10, 95, 100};
	struct bench_result results[4] = {0};
	struct bench_report report = {.results = results, .count = 4};
	unsigned best, knee, number;

	for (number = 0; number < 4; number++) {
		results[number] = (struct bench_result){
			.runs = 1,
			.point = {.way = BENCH_MOUNT, .size = 100, .senders = 1, .per_write = per_write[number]}};
		results[number].medians[BENCH_COMMITTED_MB] = rates[number];
	}
	assert_int_equal(bench_knee(&report, 0, BENCH_PER_WRITE, &best, &knee), 4);
	assert_int_equal(best, 3);
	assert_int_equal(knee, 2);
	for (number = 0; number < 4; number++)
		results[number].point.size = 0; /* lines of a log */
	assert_int_equal(bench_knee(&report, 0, BENCH_PER_WRITE, &best, &knee), 4);
	assert_int_equal(knee, 2);
	/* For the library it is one. */
	for (number = 0; number < 4; number++)
		results[number].point.way = BENCH_LIBRARY;
	assert_int_equal(bench_knee(&report, 0, BENCH_PER_WRITE, &best, &knee), 4);
	assert_int_equal(knee, 0);
}

TEST(knees)
{
	static const double rates[] = {10, 50, 91, 100, 60, 500};
	struct bench_result results[6] = {0};
	struct bench_report report = {.results = results, .count = 6};
	unsigned best, knee, number;

	for (number = 0; number < 6; number++) {
		results[number].runs = 1;
		results[number].point.senders = UINT64_C(1) << number;
		results[number].medians[BENCH_COMMITTED_MB] = rates[number];
	}
	results[5].point.size = 7; /* of another sweep */
	assert_int_equal(bench_knee(&report, 0, BENCH_SENDERS, &best, &knee), 5);
	assert_int_equal(best, 3);
	assert_int_equal(knee, 2);
	assert_int_equal(bench_knee(&report, 1, BENCH_SENDERS, &best, &knee), 0);
	assert_int_equal(bench_knee(&report, 5, BENCH_SENDERS, &best, &knee), 1);
	/* Along another axis the points are not one sweep. */
	assert_int_equal(bench_knee(&report, 0, BENCH_RINGS, &best, &knee), 1);
	for (number = 0; number < 5; number++) {
		results[number].point.ring_bytes = results[number].point.senders << 20;
		results[number].point.senders = 1;
	}
	assert_int_equal(bench_knee(&report, 0, BENCH_SENDERS, &best, &knee), 1);
	assert_int_equal(bench_knee(&report, 0, BENCH_RINGS, &best, &knee), 5);
	assert_int_equal(best, 3);
	assert_int_equal(knee, 2);
	for (number = 0; number < 5; number++) {
		results[number].point.senders = results[number].point.ring_bytes >> 20;
		results[number].point.ring_bytes = 0;
	}
	/* A point that is not measured yet is no member. */
	results[3].runs = 0;
	assert_int_equal(bench_knee(&report, 0, BENCH_SENDERS, &best, &knee), 4);
	assert_int_equal(best, 2);
	results[3].runs = 1;
	/* In a preset, within a group. */
	report.row_count = 1;
	results[3].group = 1;
	assert_int_equal(bench_knee(&report, 0, BENCH_SENDERS, &best, &knee), 4);
	assert_int_equal(best, 2);
	/* A rate that was given, or none, has no knee. */
	for (number = 0; number < 5; number++)
		results[number].point.rate = 100;
	assert_int_equal(bench_knee(&report, 0, BENCH_SENDERS, &best, &knee), 0);
	for (number = 0; number < 5; number++) {
		results[number].point.rate = 0;
		results[number].medians[BENCH_COMMITTED_MB] = (double)NAN;
	}
	assert_int_equal(bench_knee(&report, 0, BENCH_SENDERS, &best, &knee), 0);
}

TEST(steps)
{
	static const double most[] = {0.003, 0.9, 1, 7, 12, 99, 100, 1234, 98765, 1e9};
	unsigned number;

	for (number = 0; number < sizeof(most) / sizeof(most[0]); number++) {
		double count = most[number] / bench_chart_step(most[number]);

		assert_true(count >= 1.5 && count <= 10.5);
	}
	near(bench_chart_step(0), 1);
	near(bench_chart_step((double)NAN), 1);
}

TEST(figures)
{
	static const struct {
		double figure;
		const char *text;
	} known[] = {{0, "0"},
		     {0.1234, "0.123"},
		     {1, "1.00"},
		     {12.34, "12.3"},
		     {999.6, "1000"},
		     {9999.4, "9999"},
		     {9999.6, "10,000"},
		     {1234567, "1,234,567"},
		     {-1.5, "-1.50"},
		     {-123456, "-123,456"},
		     {(double)NAN, "-"},
		     {1e300, "?"},
		     {99.96, "100"},
		     {100000, "100,000"},
		     {(double)INFINITY, "?"}};
	char text[BENCH_FIGURE_ROOM];
	unsigned number;

	for (number = 0; number < sizeof(known) / sizeof(known[0]); number++)
		assert_string_equal(bench_figure_text(known[number].figure, text), known[number].text);
}

static char *written(void (*write)(FILE *output, const struct bench_report *report), const struct bench_report *report)
{
	static char *text; /* gcc 12 with -O3 thinks that it could point to itself, and be gone */
	size_t bytes;
	FILE *output = open_memstream(&text, &bytes);

	assert_non_null(output);
	write(output, report);
	assert_int_equal(fclose(output), 0);
	return text;
}

static void report_fill(struct bench_report *report)
{
	static const char hostile[] = "a \"<b>&\\\n\x01 c";

	report->results = calloc(1, sizeof(*report->results));
	report->rows = calloc(1, sizeof(*report->rows));
	assert_true(report->results && report->rows);
	report->count = report->row_count = 1;
	(void)snprintf(report->note, sizeof(report->note), "%s", hostile);
	(void)snprintf(report->rows[0].what, sizeof(report->rows[0].what), "%s", hostile);
	report->processors = 12;
	report->results[0].point.way = BENCH_APPEND;
	report->results[0].point.size = 100;
	report->results[0].point.memory_limit = UINT64_C(1) << 40;
	report->results[0].group = 3;
	report->results[0].series_count = 8;
	report->results[0].series = calloc(8, sizeof(double));
	assert_non_null(report->results[0].series);
	report->results[0].series[7] = 2.5;
	result_fill(&report->results[0], BENCH_COMMITTED_MB, (double[]){3, 1, 2}, 3);
	report->rows[0] = (struct bench_row){
		.base_metric = BENCH_METRICS, .metric = BENCH_COMMITTED_MB, .scale = 1, .against = 4};
	(void)snprintf(report->rows[0].what, sizeof(report->rows[0].what), "%s", hostile);
	bench_row_sum(&report->rows[0], report->results);
}

static char json_path[300];

static int text_read(const char *text, struct bench_report *report)
{
	FILE *file;

	(void)snprintf(json_path, sizeof(json_path), "%s/json", folder);
	file = fopen(json_path, "we");
	assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
	return bench_json_read(json_path, report);
}

TEST(saved)
{
	struct bench_report report = {0}, again = {0};
	char *first, *second;

	report_fill(&report);
	first = written(bench_json_write, &report);
	assert_int_equal(text_read(first, &again), 0);
	second = written(bench_json_write, &again);
	assert_string_equal(first, second);
	assert_string_equal(again.note, report.note);
	near(again.results[0].medians[BENCH_COMMITTED_MB], 2);
	free(first);
	free(second);
	bench_report_free(&report);
	bench_report_free(&again);
}

/* Files of another program: refused with a message, never taken in part. */
TEST(hostile)
{
	static const char *const texts[] = {"",
					    "{",
					    "nonsense",
					    "{}",
					    "[1]",
					    "{\"results\": 1}",
					    "{\"results\": [1]}",
					    "{\"results\": [{\"way\": \"library\", \"runs\": 1e99}]}",
					    "{\"results\": []} more"};
	unsigned number;

	for (number = 0; number < sizeof(texts) / sizeof(texts[0]); number++) {
		struct bench_report report = {0};

		said[0] = '\0';
		assert_int_equal(text_read(texts[number], &report), -1);
		assert_non_null(strstr(said, json_path));
		bench_report_free(&report);
	}
}

TEST(json_texts)
{
	static const char good[] =
		" {\"a\": [1, -2.5e3, null, true, false, {}], \"b\": \"\\u0041\\n\\\\\\\"\", \"c\": []} ";
	static const char *const bad[] = {"[1,]", "{\"a\"}",    "\"\\", "\"\\u00\"", "[",      "nul",
					  "1 2",  "{\"a\":1,}", "-",    "1e999",     "\"\\q\""};
	char deep[200];
	size_t at;
	struct json_value *value = json_parse(good, sizeof(good) - 1, &at);
	unsigned number;

	assert_non_null(value);
	near(json_get(value, "a")->first->next->number, -2500);
	assert_string_equal(json_text(value, "b"), "A\n\\\"");
	assert_string_equal(json_text(value, "a"), "");
	assert_null(json_get(value, "d"));
	assert_null(json_get(NULL, "d"));
	near(json_number(value, "b", 7), 7);
	json_free(value);
	for (number = 0; number < sizeof(bad) / sizeof(bad[0]); number++)
		assert_null(json_parse(bad[number], strlen(bad[number]), &at));
	/* Each begin of a good one. */
	for (number = 0; number < sizeof(good) - 2; number++)
		assert_null(json_parse(good, number, &at));
	memset(deep, '[', sizeof(deep));
	assert_null(json_parse(deep, sizeof(deep), &at));
}

/* No text of the results becomes a tag, and nothing is fetched from anywhere. */
TEST(page)
{
	struct bench_report report = {0};
	char *text, *at;

	report_fill(&report);
	report.results[0].point.sustain = 1;
	text = written(bench_html_write, &report);
	assert_null(strstr(text, "<b>"));
	assert_non_null(strstr(text, "&lt;b&gt;&amp;"));
	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "http"));
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
	assert_non_null(strstr(text, "</html>"));
	for (at = text; (at = strstr(at, "<svg")); at++)
		assert_non_null(strstr(at, "</svg>"));
	free(text);
	bench_report_free(&report);
}

/* No text of the results ends a cell of a table, or a line. */
TEST(cells)
{
	struct bench_row row = {.what = "a|b",
				.unit = "<s",
				.against_what = "c\x1b|",
				.done = true,
				.value = 1,
				.against = 2,
				.ratio = 0.5,
				.lowest = 3,
				.highest = 4,
				.runs = 5};
	struct bench_report report = {.note = "a|b\nc",
				      .command = "--note a\nb",
				      .processors = 3,
				      .rows = &row,
				      .row_count = 1,
				      .skipped = "<d\ne\x1b\n"};
	char *text = written(bench_markdown_write, &report);

	assert_non_null(strstr(text, "\n| note | a\\|b c |\n"));
	assert_non_null(strstr(text, "\n| command | --note a b |\n"));
	assert_non_null(strstr(text, "\n| a\\|b | 1.00 \\<s | c \\|: 2.00 | 0.500 | 3.00 to 4.00 | 5 |\n"));
	assert_non_null(strstr(text, "\n- \\<d\n- e \n"));
	free(text);
	text = written(bench_html_write, &report);
	assert_non_null(strstr(text, "<p class=\"lines\">&lt;d\ne \n</p>"));
	free(text);
}

/* Knees and what more a result has are one list. */
TEST(one_list)
{
	struct bench_result results[4] = {0};
	struct bench_report report = {.results = results, .count = 4};
	unsigned number;
	char *text;

	for (number = 0; number < 4; number++) {
		results[number].runs = 1;
		results[number].point.size = number < 2 ? 10 : 20;
		results[number].point.senders = 1 + number % 2;
		for (unsigned metric = 0; metric < BENCH_METRICS; metric++)
			results[number].medians[metric] = 1;
	}
	text = written(bench_markdown_write, &report);
	assert_non_null(strstr(text, "\n\n- "));
	assert_non_null(strstr(text, "\n- knee: "));
	assert_null(strstr(strstr(text, "\n\n- ") + 1, "\n\n- "));
	free(text);
}

/* The label of a bar stands beside it whole, in two lines or narrower if need be. */
TEST(long_labels)
{
	struct bench_bar bars[3] = {
		{.label = "short", .value = 1},
		{.value = 2},
		{.label = "library, lines of a log, -g 2, -c 1000, JSON, unified, TLS, 1000 Mbit/s", .value = 3},
	};
	struct bench_bars chart = {.bars = bars, .count = 3, .axis = "", .reference = (double)NAN};
	size_t bytes;
	char *text = NULL, *at;
	FILE *output = open_memstream(&text, &bytes);

	assert_non_null(output);
	memset(bars[1].label, 'm', 100);
	bench_chart_bars(output, &chart);
	assert_int_equal(fclose(output), 0);
	at = strstr(text, ">short<");
	assert_true(at && strstr(text, bars[1].label) && strstr(text, "textLength=\"3") > at);
	assert_non_null(strstr(text, ">library, lines of a log, -g 2, -c 1000, JSON,</text>\n"));
	assert_non_null(strstr(text, ">unified, TLS, 1000 Mbit/s</text>\n"));
	free(text);
}

/* The x of each point of a polyline. */
static unsigned points_read(const char *text, double x[8])
{
	const char *at = strstr(text, "<polyline");
	unsigned count = 0;

	assert_non_null(at);
	for (at = strstr(at, "points=\"") + 8; count < 8 && *at != '"'; at = strchr(at, ' ') + 1)
		x[count++] = strtod(at, NULL);
	return count;
}

/* In whatever order its values were given, and from 0 on, a sweep's line goes from left to right, at equal steps here. */
TEST(sweeps)
{
	static const uint64_t per_write[4] = {2, 0, 4, 1};
	struct bench_result results[4] = {0};
	struct bench_report report = {.results = results, .count = 4};
	double x[8];
	char *text;
	unsigned number;

	for (number = 0; number < 4; number++) {
		result_fill(&results[number], BENCH_COMMITTED_MB, (double[]){1 + number}, 1);
		results[number].point.per_write = per_write[number];
	}
	text = written(bench_html_write, &report);
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
	assert_int_equal(points_read(text, x), 4);
	for (number = 1; number < 4; number++)
		assert_true(fabs(x[number] - x[number - 1] - (x[3] - x[0]) / 3) < 0.2 && x[number] > x[number - 1]);
	assert_true(x[0] >= 0 && x[3] <= 760);
	free(text);
	for (number = 0; number < 4; number++)
		free(results[number].values);
}

/* The lines of the quarters are of the run that is shown, not of all runs; sizes are told as options take them. */
TEST(lines_of_a_chart)
{
	double series[8] = {10, 10, 2, 2, 2, 2, 20, 20};
	struct bench_result results[3] = {{.series = series, .series_count = 8}};
	struct bench_report report = {.results = results, .count = 1};
	unsigned number;
	char *text, *at;

	result_fill(&results[0], BENCH_FIRST_MB, (double[]){4}, 1);
	results[0].free_mib = series;
	results[0].point.drop_caches = 3;
	text = written(bench_html_write, &report);
	/* Both charts have a stroke at the third of the eight points. */
	at = strstr(text, "<line class=\"mark\" x1=\"261.4\"");
	assert_true(at && strstr(at + 1, "<line class=\"mark\" x1=\"261.4\"") &&
		    strstr(text, ">MiB of memory that were free<"));
	/* 10 and 20 of 21, from the bottom of the plot up, the last from the sixth second on. */
	assert_non_null(strstr(text, "<line class=\"reference\" x1=\"70.0\" y1=\"141.2\""));
	assert_non_null(strstr(text, "<line class=\"reference\" x1=\"548.6\" y1=\"36.5\""));
	free(text);
	/* A file can have any figure. */
	series[1] = 1.79e308;
	text = written(bench_html_write, &report);
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
	free(text);
	free(results[0].values);
	results[0].series_count = 0;
	results[0].point.drop_caches = 0;
	for (number = 0; number < 3; number++) {
		result_fill(&results[number], BENCH_COMMITTED_MB, (double[]){1 + number}, 1);
		results[number].point.ring_bytes = UINT64_C(1) << (19 + number);
	}
	report.count = 3;
	text = written(bench_html_write, &report);
	assert_true(strstr(text, ">512K<") && strstr(text, ">1M<") && strstr(text, ">2M<"));
	assert_non_null(strstr(text, "knee: 2M"));
	/* The first of the sizes is not what they have in common. */
	assert_non_null(strstr(text, "<h2>Sweep: library</h2>"));
	free(text);
	for (number = 0; number < 3; number++)
		free(results[number].values);
}

UNIT_GROUP(folder_begin, folder_end)
