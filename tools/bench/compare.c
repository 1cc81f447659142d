/* SPDX-License-Identifier: MIT */
/* Two saved results, figure by figure. */
#include "tools/bench/bench.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/bench/chart.h"
#include "tools/base/terminal.h"

struct tally {
	unsigned compared, worse, better, single;
};

/* The same point in the other report. A preset has some points several times, beside others each time: the same of them. */
static const struct bench_result *twin_find(const struct bench_report *report, const struct bench_report *from,
					    unsigned which)
{
	const struct bench_result *found = NULL;
	const struct bench_point *point = &from->results[which].point;
	unsigned number, before = 0;

	for (number = 0; number < which; number++)
		before += bench_point_equal(&from->results[number].point, point);
	for (number = 0; number < report->count && (!found || before); number++) {
		if (!bench_point_equal(&report->results[number].point, point))
			continue;
		before -= found != NULL;
		found = &report->results[number];
	}
	return found;
}

/* Names of figures, both sides and their ratio stand below each other. */
#define COLUMNS "  %-23s %-37s %-37s %6s"
#define SIDE_ROOM (3 * BENCH_FIGURE_ROOM + 8)

static const char *side_text(const struct bench_result *result, enum bench_metric metric, char text[SIDE_ROOM])
{
	char median[BENCH_FIGURE_ROOM], lowest[BENCH_FIGURE_ROOM], highest[BENCH_FIGURE_ROOM];

	(void)snprintf(text, SIDE_ROOM, "%s [%s to %s]", bench_figure_text(result->medians[metric], median),
		       bench_figure_text(result->lowest[metric], lowest),
		       bench_figure_text(result->highest[metric], highest));
	return text;
}

static void figure_print(const struct bench_result *a, const struct bench_result *b, enum bench_metric metric,
			 int judged)
{
	char of_a[SIDE_ROOM], of_b[SIDE_ROOM], ratio[32] = "-";

	if (a->medians[metric] != 0)
		(void)snprintf(ratio, sizeof(ratio), "%.3f", b->medians[metric] / a->medians[metric]);
	(void)printf(COLUMNS "%s\n", bench_metrics[metric].name, side_text(a, metric, of_a), side_text(b, metric, of_b),
		     ratio,
		     judged < 0   ? "  WORSE"
		     : judged > 0 ? "  better"
				  : "");
}

static void pair_compare(const struct bench_result *a, const struct bench_result *b, struct tally *tally)
{
	char text[BENCH_TEXT_ROOM];
	unsigned metric;
	int judged;

	bench_point_text(&a->point, text, sizeof(text));
	(void)printf("%s\n", text);
	tally->single += a->runs < 2 || b->runs < 2;
	for (metric = 0; metric < BENCH_METRICS; metric++) {
		if (isnan(a->medians[metric]) || isnan(b->medians[metric]) || metric == BENCH_BYTES)
			continue;
		judged = bench_judge(metric, a, b);
		figure_print(a, b, metric, judged);
		tally->compared++;
		tally->worse += judged < 0;
		tally->better += judged > 0;
	}
}

static void side_print(const char *side, const char *path, const struct bench_report *report)
{
	const char *const texts[] = {report->program, report->note, report->date, report->processor};
	size_t number;

	(void)printf("%s: %s, ", side, path);
	for (number = 0; number < sizeof(texts) / sizeof(texts[0]); number++) {
		text_show(stdout, texts[number], false);
		(void)fputs(texts[number][0] ? ", " : "", stdout);
	}
	(void)fputs("Linux ", stdout);
	text_show(stdout, report->kernel, false);
	(void)fputc('\n', stdout);
}

static void difference_print(const char *name, const char *a, const char *b)
{
	(void)printf("not the same: %s, A ", name);
	text_show(stdout, *a ? a : "-", false);
	(void)fputs(", B ", stdout);
	text_show(stdout, *b ? b : "-", false);
	(void)putchar('\n');
}

/* No parameters of a run, and yet it depends on them: they may be what got worse. Program and note are there to differ. */
static void differences_print(const struct bench_report *a, const struct bench_report *b)
{
	char of_a[24], of_b[24];
	unsigned number;

	for (number = 0; number < BENCH_TEXTS; number++)
		if (!bench_texts[number].each && strcmp(bench_texts[number].name, "program") != 0 &&
		    strcmp(bench_texts[number].name, "note") != 0 &&
		    strcmp(bench_text_get(a, number), bench_text_get(b, number)) != 0)
			difference_print(bench_texts[number].name, bench_text_get(a, number),
					 bench_text_get(b, number));
	for (number = 0; number < BENCH_NUMBERS; number++) {
		(void)snprintf(of_a, sizeof(of_a), "%" PRIu64, bench_number_get(a, number));
		(void)snprintf(of_b, sizeof(of_b), "%" PRIu64, bench_number_get(b, number));
		if (!bench_numbers[number].each && strcmp(of_a, of_b) != 0)
			difference_print(bench_numbers[number].name, of_a, of_b);
	}
}

/* How much a run was is part of what makes a line another one; what a record costs has none. */
static void left_print(const struct bench_report *a, const struct bench_report *b, const char *side)
{
	char text[BENCH_TEXT_ROOM];
	unsigned number;

	for (number = 0; number < a->count; number++) {
		const struct bench_point *point = &a->results[number].point;
		uint64_t volume = point->records + point->bytes + point->seconds;

		if (twin_find(b, a, number))
			continue;
		bench_point_text(point, text, sizeof(text));
		(void)printf("only in %s: %s", side, text);
		if (volume)
			(void)printf(", runs of %" PRIu64 " %s", volume,
				     point->records ? "records"
				     : point->bytes ? "bytes"
						    : "seconds");
		(void)putchar('\n');
	}
}

static int reports_compare(const struct bench_report *a, const struct bench_report *b)
{
	struct tally tally = {0};
	unsigned number;

	for (number = 0; number < a->count; number++) {
		const struct bench_result *twin = twin_find(b, a, number);

		if (twin)
			pair_compare(&a->results[number], twin, &tally);
	}
	left_print(a, b, "A");
	left_print(b, a, "B");
	if (tally.compared == 0)
		return bench_failed(STATUS_FAILED, "--compare: the two have no run in common");
	(void)printf("%u figures: %u worse, %u better, beyond the spread of the runs\n", tally.compared, tally.worse,
		     tally.better);
	if (tally.single)
		(void)printf("not judged, since run once only, without a spread: %u\n", tally.single);
	return tally.worse ? STATUS_FOUND : STATUS_OK;
}

int bench_compare(const struct bench_options *options)
{
	struct bench_report a = {0}, b = {0};
	int status = STATUS_FAILED;

	if (bench_json_read(options->compare_file, &a) == 0 && bench_json_read(options->compare_to, &b) == 0) {
		side_print("A", options->compare_file, &a);
		side_print("B", options->compare_to, &b);
		differences_print(&a, &b);
		(void)printf(COLUMNS "\n", "", "A [lowest to highest]", "B [lowest to highest]", "B of A");
		status = reports_compare(&a, &b);
	}
	bench_report_free(&a);
	bench_report_free(&b);
	return status;
}
