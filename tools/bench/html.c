/* SPDX-License-Identifier: MIT */
/* Results as one page: what it needs is in it, nothing is loaded, and no script runs. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/bench/chart.h"

#define SWEEP_MAX 64u

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>k2hft "
	"bench</title>\n<style>\n"
	":root { color-scheme: light dark; --paper: #fdfdfb; --ink: #1c2430; --soft: #5d6876; --rule: #dfe3e8;\n"
	"  --bar: #2f6fb3; --area: #2f6fb333; --mark: #b3432f; }\n"
	"@media (prefers-color-scheme: dark) { :root { --paper: #14181e; --ink: #e3e8ee; --soft: #93a0af; --rule: "
	"#2b333d;\n"
	"  --bar: #6aa9ea; --area: #6aa9ea33; --mark: #f0856f; } }\n"
	"body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; background: var(--paper); color: var(--ink);\n"
	"  font: 15px/1.5 system-ui, sans-serif; }\n"
	"h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem; }\n"
	"p { margin: .3rem 0 .8rem; color: var(--soft); } .lines { white-space: pre-line; } code { font-size: 13px; "
	"color: var(--ink); }\n"
	"div { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; width: 100%; }\n"
	"th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap;\n"
	"  font-variant-numeric: tabular-nums; }\n"
	"th { color: var(--soft); font-weight: 600; } th:first-child, td:first-child { text-align: left; }\n"
	"table.facts { width: auto; } table.facts td { text-align: left; white-space: normal; }\n"
	"svg { width: 100%; height: auto; display: block; margin: .4rem 0; } svg text { fill: var(--ink); font-size: "
	"12px; }\n"
	"svg .tick, svg .axis { fill: var(--soft); font-size: 11px; } svg .grid { stroke: var(--rule); }\n"
	"svg .bar, svg .dot { fill: var(--bar); } svg .line { fill: none; stroke: var(--bar); stroke-width: 2; }\n"
	"svg .area { fill: var(--area); } svg .range { stroke: var(--ink); stroke-width: 1.5; }\n"
	"svg .mark, svg .reference { stroke: var(--mark); stroke-width: 2; }\n"
	"</style>\n</head>\n<body>\n";

static void text_write(FILE *output, const char *before, const char *text, const char *after)
{
	(void)fputs(before, output);
	bench_chart_text(output, text);
	(void)fputs(after, output);
}

static void fact_write(FILE *output, const char *name, const char *text)
{
	(void)fprintf(output, "<tr><td>%s</td>", name);
	text_write(output, "<td>", text, "</td></tr>\n");
}

static void cell_write(FILE *output, double figure)
{
	char text[BENCH_FIGURE_ROOM];

	(void)fprintf(output, "<td>%s</td>", bench_figure_text(figure, text));
}

static void rows_table_write(FILE *output, const struct bench_report *report)
{
	bool others = bench_rows_published(report);
	unsigned number;

	(void)fprintf(output,
		      "<div><table>\n<tr><th>what</th><th>measured</th><th>unit</th><th>against</th><th></th>"
		      "<th>ratio</th><th>lowest</th><th>highest</th><th>runs</th>%s</tr>\n",
		      others ? "<th>kafka, published</th><th>fluentd, published</th>" : "");
	for (number = 0; number < report->row_count; number++) {
		const struct bench_row *row = &report->rows[number];

		if (!row->done)
			continue;
		text_write(output, "<tr><td>", row->what, "</td>");
		cell_write(output, row->value);
		text_write(output, "<td>", row->unit, "</td>");
		text_write(output, "<td>", row->against_what, "</td>");
		cell_write(output, row->against);
		cell_write(output, row->ratio);
		cell_write(output, row->lowest);
		cell_write(output, row->highest);
		(void)fprintf(output, "<td>%" PRIu64 "</td>", row->runs);
		if (others) {
			cell_write(output, row->kafka);
			cell_write(output, row->fluentd);
		}
		(void)fputs("</tr>\n", output);
	}
	(void)fputs("</table></div>\n", output);
}

/* Costs, of which less is better, have a chart of their own. */
static void ratios_chart(FILE *output, const struct bench_report *report, bool costs, const char *axis)
{
	struct bench_bar *bars = calloc((size_t)report->row_count + 1, sizeof(*bars));
	struct bench_bars chart = {.bars = bars, .axis = axis, .reference = 1};
	unsigned number;

	for (number = 0; bars && number < report->row_count; number++) {
		const struct bench_row *row = &report->rows[number];

		if (!row->done || isnan(row->ratio) || (strcmp(row->unit, "s/GB") == 0) != costs)
			continue;
		bars[chart.count] = (struct bench_bar){
			.value = row->ratio, .lowest = row->lowest, .highest = row->highest, .mark = (double)NAN};
		memcpy(bars[chart.count++].label, row->what, sizeof(row->what));
	}
	if (chart.count)
		bench_chart_bars(output, &chart);
	free(bars);
}

static void rows_write(FILE *output, const struct bench_report *report)
{
	(void)fputs(
		"<h2>Ratios</h2>\n<p>Medians of the runs, each against what the same machine did beside it; the thin "
		"line is from the lowest to the highest run, the red one is equality.</p>\n",
		output);
	ratios_chart(output, report, false, "rate, of what it is measured against");
	ratios_chart(output, report, true, "CPU time for each gigabyte, of the pipe's");
	rows_table_write(output, report);
}

/* Committed rates, with the pipe's as a mark; or, with `timed`, latencies. */
static void results_chart(FILE *output, const struct bench_report *report, bool timed, const char *axis,
			  const char *explained)
{
	enum bench_metric metric = timed ? BENCH_LATENCY_P50 : BENCH_COMMITTED_MB;
	struct bench_bar *bars = calloc((size_t)report->count + 1, sizeof(*bars));
	struct bench_bars chart = {.bars = bars, .axis = axis, .reference = (double)NAN, .logarithmic = timed};
	unsigned number;

	for (number = 0; bars && number < report->count; number++) {
		const struct bench_result *result = &report->results[number];
		const double *medians = result->medians;
		struct bench_bar *bar = &bars[chart.count];

		if (result->runs == 0 || isnan(medians[metric]) || (!timed && result->point.rate))
			continue;
		bench_point_text(&result->point, bar->label, sizeof(bar->label));
		bar->value = medians[metric];
		bar->lowest = timed ? medians[metric] : result->lowest[metric];
		bar->highest = timed ? medians[BENCH_LATENCY_P99] : result->highest[metric];
		bar->mark = medians[timed                               ? BENCH_LATENCY_MAX
				    : result->point.way == BENCH_APPEND ? BENCH_TMPFS_MB
									: BENCH_PIPE_MB];
		chart.count++;
	}
	if (chart.count) {
		(void)fputs(explained, output);
		bench_chart_bars(output, &chart);
	}
	free(bars);
}

/* By what the sweep goes along, in whatever order it was measured. */
static void order_insert(const struct bench_report *report, enum bench_axis axis, unsigned *order, unsigned count,
			 unsigned number)
{
	struct bench_result *results = report->results;
	uint64_t value = *bench_axis_value(&results[number].point, axis);

	for (; count > 0 && *bench_axis_value(&results[order[count - 1]].point, axis) > value; count--)
		order[count] = order[count - 1];
	order[count] = number;
}

/* The parameters that all points of a sweep have in common, so without its axis. */
static void sweep_title_write(FILE *output, const struct bench_point *first, enum bench_axis axis)
{
	struct bench_point common = *first;
	char title[BENCH_TEXT_ROOM];

	*bench_axis_value(&common, axis) = axis == BENCH_RINGS       ? bench_ring_bytes(first->way)
					   : axis == BENCH_PER_WRITE ? 0
								     : 1;
	bench_point_text(&common, title, sizeof(title));
	text_write(output, "<h2>Sweep: ", title, "</h2>\n");
}

static void sweep_write(FILE *output, const struct bench_report *report, unsigned first, enum bench_axis axis)
{
	static const char *const titles[BENCH_AXES] = {"senders at once", "writers of each sender", "receivers",
						       "records in one write", "size of the queue"};
	double x[SWEEP_MAX], y[SWEEP_MAX], lowest[SWEEP_MAX], highest[SWEEP_MAX];
	char note[BENCH_TEXT_ROOM], size[BENCH_FIGURE_ROOM];
	struct bench_line chart = {.x = x,
				   .y = y,
				   .lowest = lowest,
				   .highest = highest,
				   .x_axis = titles[axis],
				   .y_axis = "MB/s committed",
				   .doubling = true,
				   .note = note,
				   .first = (double)NAN};
	unsigned best, knee, number, count = 0, order[SWEEP_MAX];

	if (bench_knee(report, first, axis, &best, &knee) < 3)
		return;
	for (number = 0; number < report->count && count < SWEEP_MAX; number++)
		if (bench_sweep_has(report, first, number, axis))
			order_insert(report, axis, order, count++, number);
	for (number = 0; number < count; number++) {
		struct bench_result *result = &report->results[order[number]];

		chart.noted = order[number] == knee ? number : chart.noted;
		x[number] = (double)*bench_axis_value(&result->point, axis);
		y[number] = result->medians[BENCH_COMMITTED_MB];
		lowest[number] = result->lowest[BENCH_COMMITTED_MB];
		highest[number] = result->highest[BENCH_COMMITTED_MB];
	}
	chart.count = count;
	(void)snprintf(note, sizeof(note), "knee: %s", bench_size_text((uint64_t)x[chart.noted], size));
	sweep_title_write(output, &report->results[first].point, axis);
	(void)fputs("<p>The knee is the lowest value that reaches 0.9 of the best; the band is from the lowest to the "
		    "highest run.</p>\n",
		    output);
	bench_chart_line(output, &chart);
}

static void series_write(FILE *output, const struct bench_result *result)
{
	double *x = calloc((size_t)result->series_count + 1, sizeof(*x));
	struct bench_line chart = {.x = x,
				   .y = result->series,
				   .count = result->series_count,
				   .x_axis = "seconds",
				   .y_axis = "MB/s committed, each second of the last run",
				   .marked = (unsigned)result->point.drop_caches};
	char title[BENCH_TEXT_ROOM], text[BENCH_FIGURE_ROOM];
	unsigned number;

	for (number = 0; x && number < result->series_count; number++)
		x[number] = number + 1;
	/* The quarters are of the run that is shown, the medians of all runs. */
	bench_quarters(result->series, result->series_count, &chart.first, &chart.last);
	if (x && result->series_count > 1) {
		bench_point_text(&result->point, title, sizeof(title));
		text_write(output, "<h2>Over time: ", title, "</h2>\n");
		if (!isnan(result->medians[BENCH_LAST_OF_FIRST]))
			(void)fprintf(
				output,
				"<p>The last quarter has %s of the first, in the median of the runs; the red lines "
				"are the means of this run's.</p>\n",
				bench_figure_text(result->medians[BENCH_LAST_OF_FIRST], text));
		if (chart.marked)
			(void)fputs("<p>The page cache was dropped at the red stroke.</p>\n", output);
		bench_chart_line(output, &chart);
		if (result->free_mib) {
			chart.y = result->free_mib;
			chart.y_axis = "MiB of memory that were free";
			chart.first = chart.last = (double)NAN;
			bench_chart_line(output, &chart);
		}
	}
	free(x);
}

static void results_write(FILE *output, const struct bench_report *report)
{
	char text[BENCH_TEXT_ROOM];
	unsigned number, metric;
	bool used[BENCH_METRICS] = {false};

	for (number = 0; number < report->count; number++)
		for (metric = 0; report->results[number].runs && metric < BENCH_METRICS; metric++)
			used[metric] = used[metric] || !isnan(report->results[number].medians[metric]);
	(void)fputs("<h2>All figures</h2>\n<p>Medians.</p>\n<div><table>\n<tr><th>run</th><th>runs</th>", output);
	for (metric = 0; metric < BENCH_METRICS; metric++)
		if (used[metric])
			(void)fprintf(output, "<th>%s</th>", bench_metrics[metric].name);
	(void)fputs("</tr>\n", output);
	for (number = 0; number < report->count; number++) {
		const struct bench_result *result = &report->results[number];

		if (result->runs == 0)
			continue;
		bench_point_text(&result->point, text, sizeof(text));
		text_write(output, "<tr><td>", text, "</td>");
		(void)fprintf(output, "<td>%" PRIu64 "</td>", result->runs);
		for (metric = 0; metric < BENCH_METRICS; metric++)
			if (used[metric])
				cell_write(output, result->medians[metric]);
		(void)fputs("</tr>\n", output);
	}
	(void)fputs("</table></div>\n", output);
}

void bench_html_write(FILE *output, const struct bench_report *report)
{
	unsigned number, axis;

	(void)fputs(head, output);
	(void)fputs("<h1>k2hft bench</h1>\n", output);
	(void)fputs("<table class=\"facts\">\n", output);
	bench_facts_write(output, report, fact_write);
	(void)fputs("</table>\n", output);
	if (report->row_count)
		rows_write(output, report);
	results_chart(output, report, false, "MB/s committed",
		      "<h2>Rates</h2>\n<p>Committed: in the receiver's file and acknowledged. The red mark is what a "
		      "plain TCP pipe carried of the same data beside it; for appends, what tmpfs took.</p>\n");
	results_chart(output, report, true, "microseconds from write to the receiver's file",
		      "<h2>Latencies</h2>\n<p>The dot and the figure are the median, the line reaches to 99 percent, "
		      "the red mark is the longest.</p>\n");
	for (number = 0; number < report->count; number++) {
		if (report->results[number].runs == 0)
			continue;
		for (axis = 0; axis < BENCH_AXES; axis++)
			sweep_write(output, report, number, (enum bench_axis)axis);
		series_write(output, &report->results[number]);
	}
	results_write(output, report);
	if (report->skipped[0])
		text_write(output, "<h2>Not measured</h2>\n<p class=\"lines\">", report->skipped, "</p>\n");
	(void)fputs("</body>\n</html>\n", output);
}
