/* SPDX-License-Identifier: MIT */
#include "tools/bench/chart.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define WIDTH 760.0
#define LABELS 330.0 /* what bars have at their left */
#define LABEL_CHARACTERS 48u
#define VALUES 80.0 /* and at their right */
#define ROW 26.0
#define LEFT 70.0 /* of a line chart */
#define RIGHT 20.0
#define TOP 26.0
#define PLOT 220.0
#define TICKS_MAX 12u

double bench_chart_step(double most)
{
	double step = 1;

	if (!(most > 0) || isinf(most))
		return 1;
	while (step * 5 < most)
		step *= 10;
	while (step * 5 >= most * 10)
		step /= 10;
	/* Between half a step and five of them are left. */
	if (most <= step)
		return step / 5;
	return most <= 2 * step ? step / 2 : step;
}

void bench_chart_text(FILE *output, const char *text)
{
	for (; *text; text++)
		if (*text == '<')
			(void)fputs("&lt;", output);
		else if (*text == '>')
			(void)fputs("&gt;", output);
		else if (*text == '&')
			(void)fputs("&amp;", output);
		else if (*text == '"')
			(void)fputs("&quot;", output);
		else
			(void)fputc((unsigned char)*text < ' ' && *text != '\n' ? ' ' : *text, output);
}

const char *bench_figure_text(double figure, char text[BENCH_FIGURE_ROOM])
{
	double size = fabs(figure);

	if (!(size > 0) || size >= 1e15) {
		(void)snprintf(text, BENCH_FIGURE_ROOM, "%s", isnan(figure) ? "-" : size > 0 ? "?" : "0");
	} else if (size < 9999.5) {
		(void)snprintf(text, BENCH_FIGURE_ROOM, "%.*f",
			       size >= 99.95    ? 0
			       : size >= 9.995  ? 1
			       : size >= 0.9995 ? 2
						: 3,
			       figure);
	} else {
		*text = '-';
		(void)number_text((uint64_t)round(size), text + (figure < 0));
	}
	return text;
}

const char *bench_size_text(uint64_t bytes, char text[BENCH_FIGURE_ROOM])
{
	static const char *const units[] = {"", "K", "M", "G"};
	unsigned unit = 0;

	while (bytes && bytes % 1024 == 0 && unit < sizeof(units) / sizeof(units[0]) - 1) {
		bytes /= 1024;
		unit++;
	}
	(void)snprintf(text, BENCH_FIGURE_ROOM, "%" PRIu64 "%s", bytes, units[unit]);
	return text;
}

struct scale {
	double low, high, begin, length; /* of the values; of the picture */
	bool logarithmic;
};

static double place(const struct scale *scale, double value)
{
	double share;

	if (scale->logarithmic)
		share = (log10(fmax(value, scale->low)) - log10(scale->low)) / (log10(scale->high) - log10(scale->low));
	else
		share = (value - scale->low) / (scale->high - scale->low);
	return scale->begin + scale->length * fmin(fmax(share, 0), 1);
}

static void label_write(FILE *output, double x, double y, const char *class, const char *anchor, const char *text)
{
	(void)fprintf(output, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\"", x, y, class, anchor);
	/* A bar's label that is longer than the room beside it is drawn narrower. */
	if (strcmp(class, "label") == 0 && strlen(text) > LABEL_CHARACTERS)
		(void)fprintf(output, " textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\"", LABELS - 16);
	(void)fputs(">", output);
	bench_chart_text(output, text);
	(void)fputs("</text>\n", output);
}

/* A label that is longer than a line stands in two. */
static void bar_label_write(FILE *output, double middle, const char *text)
{
	char first[BENCH_TEXT_ROOM];
	size_t bytes = strlen(text), at = bytes > LABEL_CHARACTERS ? LABEL_CHARACTERS : 0;

	while (at > 0 && text[at] != ' ')
		at--;
	if (at == 0) {
		label_write(output, LABELS - 8, middle + 4, "label", "end", text);
		return;
	}
	(void)snprintf(first, sizeof(first), "%.*s", (int)at, text);
	label_write(output, LABELS - 8, middle - 2, "label", "end", first);
	label_write(output, LABELS - 8, middle + 11, "label", "end", text + at + 1);
}

static void stroke_write(FILE *output, const char *class, double x1, double y1, double x2, double y2)
{
	(void)fprintf(output, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1,
		      x2, y2);
}

static void begin_write(FILE *output, double height, const char *title)
{
	(void)fprintf(output, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", WIDTH, height);
	bench_chart_text(output, title);
	(void)fputs("\">\n", output);
}

/* Ticks along the x axis, from the top of the plot to its bottom. */
static void x_ticks_write(FILE *output, const struct scale *scale, double top, double bottom)
{
	double step = scale->logarithmic ? 10 : bench_chart_step(scale->high - scale->low), value = scale->low;
	char text[BENCH_FIGURE_ROOM];
	unsigned count;

	for (count = 0; count < TICKS_MAX && value <= scale->high * 1.0001; count++) {
		double x = place(scale, value);

		stroke_write(output, "grid", x, top, x, bottom);
		label_write(output, x, bottom + 15, "tick", "middle", bench_figure_text(value, text));
		value = scale->logarithmic ? value * step : value + step;
	}
}

static struct scale bars_scale(const struct bench_bars *chart)
{
	struct scale scale = {.begin = LABELS, .length = WIDTH - LABELS - VALUES, .logarithmic = chart->logarithmic};
	double most = isnan(chart->reference) ? 0 : chart->reference, least = INFINITY;
	unsigned number;

	for (number = 0; number < chart->count; number++) {
		const struct bench_bar *bar = &chart->bars[number];

		most = fmax(fmax(most, bar->value), fmax(bar->highest, bar->mark));
		least = bar->value > 0 ? fmin(least, bar->value) : least;
	}
	scale.high = most > 0 ? most : 1;
	if (chart->logarithmic) {
		scale.low = pow(10, floor(log10(isinf(least) ? 1 : least)));
		scale.high = pow(10, ceil(log10(fmax(scale.high, scale.low * 1.01))));
	}
	return scale;
}

static void bar_write(FILE *output, const struct bench_bars *chart, const struct scale *scale, unsigned number)
{
	const struct bench_bar *bar = &chart->bars[number];
	double y = TOP + ROW * number, middle = y + ROW / 2, x = place(scale, bar->value);
	char text[BENCH_FIGURE_ROOM];

	bar_label_write(output, middle, bar->label);
	if (isnan(bar->value))
		return;
	if (chart->logarithmic)
		(void)fprintf(output, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n", x, middle);
	else
		(void)fprintf(output,
			      "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\"/>\n",
			      scale->begin, y + 5, x - scale->begin, ROW - 10);
	if (bar->highest > bar->lowest)
		stroke_write(output, "range", place(scale, bar->lowest), middle, place(scale, bar->highest), middle);
	if (!isnan(bar->mark))
		stroke_write(output, "mark", place(scale, bar->mark), y + 2, place(scale, bar->mark), y + ROW - 2);
	label_write(output, WIDTH - 4, middle + 4, "value", "end", bench_figure_text(bar->value, text));
}

void bench_chart_bars(FILE *output, const struct bench_bars *chart)
{
	struct scale scale = bars_scale(chart);
	double bottom = TOP + ROW * chart->count;
	unsigned number;

	begin_write(output, bottom + 24, chart->axis);
	label_write(output, LABELS, 14, "axis", "start", chart->axis);
	x_ticks_write(output, &scale, TOP, bottom);
	for (number = 0; number < chart->count; number++)
		bar_write(output, chart, &scale, number);
	if (!isnan(chart->reference))
		stroke_write(output, "reference", place(&scale, chart->reference), TOP - 4,
			     place(&scale, chart->reference), bottom);
	(void)fputs("</svg>\n", output);
}

/* Where doubling is the scale, 0 stands as far below 1 as 2 above it. */
static double line_place(const struct bench_line *chart, double x)
{
	return chart->doubling ? log2(fmax(x, 0.5)) : x;
}

static double line_x(const struct bench_line *chart, unsigned number)
{
	double first = line_place(chart, chart->x[0]), last = line_place(chart, chart->x[chart->count - 1]);
	double share = last > first ? (line_place(chart, chart->x[number]) - first) / (last - first) : 0;

	return LEFT + (WIDTH - LEFT - RIGHT) * share;
}

static void line_ticks_write(FILE *output, const struct bench_line *chart, const struct scale *y)
{
	double step = bench_chart_step(y->high), value = 0;
	char text[BENCH_FIGURE_ROOM];
	unsigned number;

	for (number = 0; number < TICKS_MAX && value <= y->high * 1.0001; number++, value += step) {
		stroke_write(output, "grid", LEFT, place(y, value), WIDTH - RIGHT, place(y, value));
		label_write(output, LEFT - 6, place(y, value) + 4, "tick", "end", bench_figure_text(value, text));
	}
	step = chart->doubling ? 1 : fmax(bench_chart_step(chart->count), 1);
	for (number = (unsigned)step - 1; number < chart->count; number += (unsigned)step)
		label_write(output, line_x(chart, number), TOP + PLOT + 16, "tick", "middle",
			    bench_size_text((uint64_t)chart->x[number], text));
}

static void area_write(FILE *output, const struct bench_line *chart, const struct scale *y)
{
	unsigned number;

	(void)fputs("<polygon class=\"area\" points=\"", output);
	for (number = 0; number < chart->count; number++)
		(void)fprintf(output, "%.1f,%.1f ", line_x(chart, number), place(y, chart->highest[number]));
	for (number = chart->count; number-- > 0;)
		(void)fprintf(output, "%.1f,%.1f ", line_x(chart, number), place(y, chart->lowest[number]));
	(void)fputs("\"/>\n", output);
}

/* The means of the quarters, each over its own quarter. */
static void quarters_write(FILE *output, const struct bench_line *chart, const struct scale *y)
{
	unsigned quarter = chart->count / 4;

	if (isnan(chart->first) || quarter == 0)
		return;
	stroke_write(output, "reference", line_x(chart, 0), place(y, chart->first), line_x(chart, quarter),
		     place(y, chart->first));
	stroke_write(output, "reference", line_x(chart, chart->count - 1 - quarter), place(y, chart->last),
		     line_x(chart, chart->count - 1), place(y, chart->last));
}

void bench_chart_line(FILE *output, const struct bench_line *chart)
{
	struct scale y = {.high = 1e-9, .begin = TOP + PLOT, .length = -PLOT};
	unsigned number;

	if (chart->count < 2)
		return;
	for (number = 0; number < chart->count; number++)
		y.high = fmax(y.high, chart->highest ? chart->highest[number] : chart->y[number]);
	y.high *= 1.05;
	begin_write(output, TOP + PLOT + 40, chart->y_axis);
	label_write(output, LEFT, 14, "axis", "start", chart->y_axis);
	label_write(output, WIDTH - RIGHT, TOP + PLOT + 34, "axis", "end", chart->x_axis);
	line_ticks_write(output, chart, &y);
	if (chart->highest)
		area_write(output, chart, &y);
	(void)fputs("<polyline class=\"line\" points=\"", output);
	for (number = 0; number < chart->count; number++)
		(void)fprintf(output, "%.1f,%.1f ", line_x(chart, number), place(&y, chart->y[number]));
	(void)fputs("\"/>\n", output);
	quarters_write(output, chart, &y);
	if (chart->marked > 0 && chart->marked <= chart->count)
		stroke_write(output, "mark", line_x(chart, chart->marked - 1), TOP, line_x(chart, chart->marked - 1),
			     TOP + PLOT);
	if (chart->note) {
		double x = line_x(chart, chart->noted), at = place(&y, chart->y[chart->noted]);

		(void)fprintf(output, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n", x, at);
		label_write(output, fmin(fmax(x, LEFT + 60), WIDTH - RIGHT - 60), at < TOP + 40 ? at + 22 : at - 12,
			    "value", "middle", chart->note);
	}
	(void)fputs("</svg>\n", output);
}
