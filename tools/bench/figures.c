/* SPDX-License-Identifier: MIT */
/* Medians, ratios and verdicts from the figures of the runs. */
#include "tools/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int number_compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double bench_median(double *values, uint64_t count)
{
	uint64_t number;

	for (number = 0; number < count; number++)
		if (isnan(values[number]))
			return values[number];
	if (count == 0)
		return (double)NAN;
	qsort(values, (size_t)count, sizeof(*values), number_compare);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

uint64_t bench_rank(uint64_t count, unsigned thousandths)
{
	return (count * thousandths + 999) / 1000 - 1;
}

double bench_ratio(double value, double against)
{
	return against > 0 ? value / against : (double)NAN;
}

/* Median, lowest and highest, of values in the order of the runs, which stay as they are. */
static void spread(const double *values, uint64_t count, double *median, double *lowest, double *highest)
{
	double sorted[BENCH_RUNS_MAX];
	uint64_t number;

	for (number = 0; number < count && number < BENCH_RUNS_MAX; number++)
		sorted[number] = values[number];
	*median = bench_median(sorted, number);
	*lowest = isnan(*median) ? *median : sorted[0];
	*highest = isnan(*median) ? *median : sorted[number - 1];
}

void bench_result_sum(struct bench_result *result)
{
	unsigned metric;

	for (metric = 0; metric < BENCH_METRICS; metric++)
		spread(result->values + metric * result->runs, result->runs, &result->medians[metric],
		       &result->lowest[metric], &result->highest[metric]);
}

static unsigned base_find(const struct bench_row *row, const struct bench_result *results)
{
	unsigned best = row->base, number;

	for (number = row->base + 1; number <= row->base_last; number++)
		if (results[number].medians[row->base_metric] > results[best].medians[row->base_metric])
			best = number;
	return best;
}

void bench_row_sum(struct bench_row *row, const struct bench_result *results)
{
	const struct bench_result *result = &results[row->result], *base = NULL;
	double ratios[BENCH_RUNS_MAX], against, lowest, highest;
	uint64_t run;

	row->runs = result->runs;
	row->value = result->medians[row->metric] * row->scale;
	row->lowest = result->lowest[row->metric] * row->scale;
	row->highest = result->highest[row->metric] * row->scale;
	row->ratio = (double)NAN;
	row->done = true;
	if (row->base_metric != BENCH_METRICS) {
		base = &results[base_find(row, results)];
		row->against = base->medians[row->base_metric] * row->scale;
	}
	/* Run by run: what they have in common, such as other users of the machine, is in both. */
	for (run = 0; run < result->runs && run < BENCH_RUNS_MAX; run++) {
		against = base && run < base->runs ? base->values[row->base_metric * base->runs + run] * row->scale
						   : row->against;
		ratios[run] = bench_ratio(result->values[row->metric * result->runs + run] * row->scale, against);
	}
	spread(ratios, run, &row->ratio, &lowest, &highest);
	if (isnan(row->ratio))
		return;
	row->lowest = lowest;
	row->highest = highest;
}

void bench_quarters(const double *series, unsigned count, double *first, double *last)
{
	unsigned quarter = count / 4, number;

	*first = *last = (double)NAN;
	if (quarter == 0)
		return;
	*first = *last = 0;
	for (number = 0; number < quarter; number++) {
		*first += series[number] / quarter;
		*last += series[count - 1 - number] / quarter;
	}
}

int bench_judge(enum bench_metric metric, const struct bench_result *a, const struct bench_result *b)
{
	int better = bench_metrics[metric].better, more;

	/* A single run has no spread. */
	if (a->runs < 2 || b->runs < 2)
		return 0;
	more = b->lowest[metric] > a->highest[metric] ? 1 : b->highest[metric] < a->lowest[metric] ? -1 : 0;
	return more * better;
}

bool bench_rows_published(const struct bench_report *report)
{
	unsigned number = 0;

	while (number < report->row_count && (!report->rows[number].done || !(report->rows[number].kafka > 0)))
		number++;
	return number < report->row_count;
}

/* 0 records in one write stands for many; of a log nobody knows how many, but more than a list is likely to name. */
static uint64_t knee_order(struct bench_point *point, enum bench_axis axis)
{
	uint64_t value = *bench_axis_value(point, axis);

	if (axis != BENCH_PER_WRITE || value)
		return value;
	return bench_per_write(point) ? bench_per_write(point) : UINT64_MAX - 1;
}

bool bench_sweep_has(const struct bench_report *report, unsigned first, unsigned number, enum bench_axis axis)
{
	struct bench_result *result = &report->results[number];
	struct bench_point other = report->results[first].point;

	if (result->runs == 0 || (report->row_count && result->group != report->results[first].group))
		return false;
	*bench_axis_value(&other, axis) = *bench_axis_value(&result->point, axis);
	return bench_point_equal(&other, &result->point);
}

unsigned bench_knee(const struct bench_report *report, unsigned first, enum bench_axis axis, unsigned *best,
		    unsigned *knee)
{
	struct bench_result *results = report->results;
	unsigned number, members = 0;
	uint64_t value, lowest = UINT64_MAX;

	*best = *knee = first;
	if (results[first].point.rate || isnan(results[first].medians[BENCH_COMMITTED_MB]))
		return 0;
	for (number = 0; number < report->count; number++) {
		if (!bench_sweep_has(report, first, number, axis))
			continue;
		if (number < first)
			return 0;
		members++;
		if (results[number].medians[BENCH_COMMITTED_MB] > results[*best].medians[BENCH_COMMITTED_MB])
			*best = number;
	}
	for (number = first; number < report->count; number++) {
		value = knee_order(&results[number].point, axis);
		if (value < lowest && bench_sweep_has(report, first, number, axis) &&
		    results[number].medians[BENCH_COMMITTED_MB] >=
			    BENCH_KNEE_SHARE * results[*best].medians[BENCH_COMMITTED_MB]) {
			lowest = value;
			*knee = number;
		}
	}
	return members;
}
