/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_BENCH_CHART_H
#define K2I_TOOLS_BENCH_CHART_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/bench/bench.h"

/* Charts as inline SVG, in the colours of the page that they are in (html.c has its style). */

/* A bar with what the runs ranged over, and a mark such as what the pipe did. NAN: there is none. */
struct bench_bar {
	char label[BENCH_TEXT_ROOM];
	double value, lowest, highest, mark;
};

struct bench_bars {
	const struct bench_bar *bars;
	unsigned count;
	const char *axis; /* what is shown, with its unit */
	double reference; /* a line across; NAN: none */
	bool logarithmic; /* no bar then, but a dot and its range */
};
void bench_chart_bars(FILE *output, const struct bench_bars *chart);

struct bench_line {
	const double *x, *y, *lowest, *highest; /* the range; NULL both: there is none */
	unsigned count;
	const char *x_axis, *y_axis;
	bool doubling;      /* x in powers of two */
	unsigned noted;     /* the place with the note */
	const char *note;   /* NULL: none */
	double first, last; /* means of the quarters; NAN: none */
	unsigned marked;    /* a stroke at this place, from 1; 0: none */
};
void bench_chart_line(FILE *output, const struct bench_line *chart);

/* A step of 1, 2 or 5 times a power of ten, so that few ticks reach `most`. */
double bench_chart_step(double most);
/* Text as HTML has it, lines and all. */
void bench_chart_text(FILE *output, const char *text);
/* A figure as people read it: three digits at least, thousands apart. */
#define BENCH_FIGURE_ROOM 40u
const char *bench_figure_text(double figure, char text[BENCH_FIGURE_ROOM]);
/* 2M, as an option takes it; what is no multiple of 1,024 as it is. */
const char *bench_size_text(uint64_t bytes, char text[BENCH_FIGURE_ROOM]);

#endif
