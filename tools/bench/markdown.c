/* SPDX-License-Identifier: MIT */
/* Results as Markdown, to be kept beside a source. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/bench/chart.h"

/* In a cell of a table, or in a line, whatever is in it. */
static void text_write(FILE *output, const char *text, size_t bytes)
{
	for (; bytes; text++, bytes--) {
		if (strchr("\\|<`", *text))
			(void)fputc('\\', output);
		(void)fputc((unsigned char)*text < ' ' ? ' ' : *text, output);
	}
}

static void fact_write(FILE *output, const char *name, const char *text)
{
	(void)fprintf(output, "| %s | ", name);
	text_write(output, text, strlen(text));
	(void)fputs(" |\n", output);
}

static void against_write(FILE *output, const struct bench_row *row)
{
	char figure[BENCH_FIGURE_ROOM];

	if (isnan(row->ratio)) {
		(void)fputs(" | |", output);
		return;
	}
	(void)fputc(' ', output);
	text_write(output, row->against_what, strlen(row->against_what));
	(void)fprintf(output, ": %s | %.3f |", bench_figure_text(row->against, figure), row->ratio);
}

static void cell_write(FILE *output, double value)
{
	char figure[BENCH_FIGURE_ROOM];

	if (isnan(value))
		(void)fputs(" |", output);
	else
		(void)fprintf(output, " %s |", bench_figure_text(value, figure));
}

static void rows_write(FILE *output, const struct bench_report *report)
{
	char figure[BENCH_FIGURE_ROOM], other[BENCH_FIGURE_ROOM];
	bool others = bench_rows_published(report);
	unsigned number;

	(void)fprintf(output,
		      "\n| what | measured | against | ratio | lowest to highest | runs |%s\n"
		      "| --- | ---: | ---: | ---: | ---: | ---: |%s\n",
		      others ? " kafka, published | fluentd, published |" : "", others ? " ---: | ---: |" : "");
	for (number = 0; number < report->row_count; number++) {
		const struct bench_row *row = &report->rows[number];

		if (!row->done)
			continue;
		(void)fputs("| ", output);
		text_write(output, row->what, strlen(row->what));
		(void)fprintf(output, " | %s ", bench_figure_text(row->value, figure));
		text_write(output, row->unit, strlen(row->unit));
		(void)fputs(" |", output);
		against_write(output, row);
		(void)fprintf(output, " %s to %s | %" PRIu64 " |", bench_figure_text(row->lowest, figure),
			      bench_figure_text(row->highest, other), row->runs);
		if (others) {
			cell_write(output, row->kafka);
			cell_write(output, row->fluentd);
		}
		(void)fputc('\n', output);
	}
}

static void result_write(FILE *output, const struct bench_result *result)
{
	const enum bench_metric shown[] = {BENCH_PRODUCED_MB,
					   BENCH_COMMITTED_MB,
					   bench_against_metric(&result->point),
					   bench_ratio_metric(&result->point),
					   BENCH_CPU_ALL,
					   BENCH_CPU_PIPE,
					   BENCH_LATENCY_P50,
					   BENCH_LATENCY_P99};
	char text[BENCH_TEXT_ROOM];
	unsigned column;

	bench_point_text(&result->point, text, sizeof(text));
	(void)fprintf(output, "| %s |", text);
	for (column = 0; column < sizeof(shown) / sizeof(shown[0]); column++)
		cell_write(output, result->medians[shown[column]]);
	(void)fputc('\n', output);
}

static void results_write(FILE *output, const struct bench_report *report)
{
	unsigned number;

	(void)fputs(
		"\n| run | produced MB/s | committed MB/s | against MB/s | ratio | CPU s/GB | of the pipe | p50 us | "
		"p99 us |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
		output);
	for (number = 0; number < report->count; number++)
		if (report->results[number].runs && !isnan(report->results[number].medians[BENCH_COMMITTED_MB]))
			result_write(output, &report->results[number]);
}

/* A line for a result that has more than the table's columns, or none of them. */
static void figures_write(FILE *output, const char **bullet, const struct bench_result *result, const char *before,
			  enum bench_metric first, const char *between, enum bench_metric second, const char *after)
{
	char text[BENCH_TEXT_ROOM], figure[BENCH_FIGURE_ROOM];

	if (result->runs == 0 || isnan(result->medians[first]))
		return;
	bench_point_text(&result->point, text, sizeof(text));
	(void)fprintf(output, "%s%s: %s%s", bench_bullet(bullet), text, before,
		      bench_figure_text(result->medians[first], figure));
	if (second != first)
		(void)fprintf(output, "%s%s", between, bench_figure_text(result->medians[second], figure));
	(void)fprintf(output, "%s\n", after);
}

static void others_write(FILE *output, const struct bench_report *report)
{
	const char *bullet = "\n- ";
	unsigned number;

	for (number = 0; report->row_count == 0 && number < report->count; number++) {
		const struct bench_result *result = &report->results[number];

		figures_write(output, &bullet, result, "a record costs its writer ", BENCH_RECORD_NS, "",
			      BENCH_RECORD_NS, " ns");
		figures_write(output, &bullet, result, "of a core, the mount ", BENCH_IDLE_MOUNT, " %, the receiver ",
			      BENCH_IDLE_RECEIVER, " %");
		figures_write(output, &bullet, result, "a stream goes on at another receiver after ", BENCH_FAILOVER_MS,
			      "", BENCH_FAILOVER_MS, " ms");
		figures_write(output, &bullet, result, "the receiver with the least had ", BENCH_LEAST_OF_MEAN, "",
			      BENCH_LEAST_OF_MEAN, " of their mean");
		figures_write(output, &bullet, result, "first quarter ", BENCH_FIRST_MB, " MB/s, last quarter ",
			      BENCH_LAST_MB, " MB/s");
	}
	bench_knees_print(output, &bullet, report);
}

static void skipped_write(FILE *output, const char *skipped)
{
	(void)fputs("\nNot measured:\n\n", output);
	for (; *skipped; skipped += strcspn(skipped, "\n"), skipped += *skipped == '\n') {
		(void)fputs("- ", output);
		text_write(output, skipped, strcspn(skipped, "\n"));
		(void)fputc('\n', output);
	}
}

static const char runs_explained[] =
	"Medians, too. The ways to the receiver: library, a process that links libk2hft; push, one that writes into\n"
	"`k2hft push`; mount, one that reads a file and writes to one of a mount; mount-append, one that appends\n"
	"each record by a write of its own. -g: so many senders, each a process; writers: threads of each sender;\n"
	"receivers: of each sender, which spreads its records at random; -c: records in one write; --ring: the\n"
	"queue of each sender; unified: all into one file of the receiver. Produced is what writers could hand\n"
	"over, committed what the receiver has acknowledged, in 1,000,000 bytes a second. They are set against the\n"
	"pipe; appends are set against tmpfs, by what was produced, and a slow link against its line rate. CPU is\n"
	"that of all processes together, beside that of the pipe's; p50 and p99 are latencies, from when a record\n"
	"was due until it could be read at the receiver. k2hft-bench(1) has the rest.\n";

void bench_markdown_write(FILE *output, const struct bench_report *report)
{
	(void)fputs("# Results of k2hft bench\n\n"
		    "Written by the command below, and anew each time: what is added by hand is lost.\n"
		    "Single figures say little on a machine that others use, too; the ratios compare\n"
		    "with what the same machine did in the same seconds: a plain pipe over TCP (read 256 KiB, send,\n"
		    "write), appends to tmpfs, or the run beside it. Medians of all runs, which took turns; of\n"
		    "a ratio that of the single runs' ratios, whose lowest and highest stand beside it.\n\n",
		    output);
	(void)fputs("| | |\n| --- | --- |\n", output);
	bench_facts_write(output, report, fact_write);
	if (report->row_count)
		rows_write(output, report);
	(void)fprintf(output, "\n## All runs\n\n%s", runs_explained);
	results_write(output, report);
	others_write(output, report);
	if (report->skipped[0])
		skipped_write(output, report->skipped);
}
