/* SPDX-License-Identifier: MIT */
/* The findings: for people, for scripts, as JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/base/json.h"
#include "tools/base/terminal.h"
#include "tools/verify/tally.h"

static const struct {
	const char *name, *text;
} kinds[VERIFY_KINDS] = {
	[VERIFY_KIND_TORN] = {"torn", "a record that is changed or torn"},
	[VERIFY_KIND_JOINED] = {"joined", "several records on one line"},
	[VERIFY_KIND_BEHIND] = {"behind", "a record behind something else"},
	[VERIFY_KIND_MARKER] = {"marker", "a record whose first bytes are changed"},
	[VERIFY_KIND_LONG] = {"long", "longer than any record"},
	[VERIFY_KIND_CUT] = {"cut", "the file ends within a record"},
	[VERIFY_KIND_UNENDED] = {"unended", "the file ends before a record's line end"},
	[VERIFY_KIND_FOREIGN] = {"foreign", "not a record"},
	[VERIFY_KIND_REPEATED] = {"repeated", "repeated"},
	[VERIFY_KIND_LATE] = {"late", "out of order"},
	[VERIFY_KIND_EXTRA] = {"extra", "not expected"},
};

static void range_print(uint64_t from, uint64_t to, const char *text)
{
	if (from == to)
		(void)printf("record %" PRIu64 " %s\n", from, text);
	else
		(void)printf("records %" PRIu64 "-%" PRIu64 " %s, %" PRIu64 "\n", from, to, text, to - from + 1);
}

static void finding_print(const struct verify_finding *finding)
{
	char run[VERIFY_RUN_TEXT_BYTES];

	text_show(stdout, finding->file, false);
	(void)printf(": byte %" PRIu64 ": ", finding->offset);
	if (finding->kind < VERIFY_KIND_FIRST_OF_RECORDS) {
		(void)printf("%s: %" PRIu64 " bytes\n", kinds[finding->kind].text, finding->bytes);
		return;
	}
	(void)printf("run %s, producer %" PRIu32 ": ", verify_run_text(finding->run, run), finding->producer);
	range_print(finding->from, finding->to, kinds[finding->kind].text);
}

static void missing_print(const struct verify_tally *tally)
{
	uint64_t told = 0, left_out = 0;
	char run[VERIFY_RUN_TEXT_BYTES];

	for (size_t at = 0; at < tally->sequence_count; at++) {
		const struct verify_sequence *sequence = tally->sequences[at];

		for (size_t gap = 0; gap < sequence->gaps.count; gap++) {
			if (told++ >= tally->options->limit) {
				left_out++;
				continue;
			}
			(void)printf("run %s, producer %" PRIu32 ": ", verify_run_text(sequence->run, run),
				     sequence->producer);
			range_print(sequence->gaps.ranges[gap].from, sequence->gaps.ranges[gap].to, "missing");
		}
	}
	if (left_out)
		(void)printf("and %" PRIu64 " more ranges that are missing\n", left_out);
}

enum { RUN, PRODUCER, RECORDS, BYTES, FIRST, LAST, MISSING, REPEATED, LATE, EXTRA, DAMAGED, FOREIGN, COLUMNS };
/* The line of a producer; the rest is about all. */
#define PRODUCER_COLUMNS DAMAGED
static const char *const column_names[COLUMNS] = {"run",     "producer", "records", "bytes", "first",   "last",
						  "missing", "repeated", "late",    "extra", "damaged", "foreign"};

static void columns_of(const struct verify_sequence *sequence, uint64_t columns[COLUMNS])
{
	columns[PRODUCER] = sequence->producer;
	columns[RECORDS] = sequence->records;
	columns[BYTES] = sequence->bytes;
	columns[FIRST] = sequence->lowest;
	columns[LAST] = sequence->highest;
	columns[MISSING] = sequence->missing;
	columns[REPEATED] = sequence->repeated;
	columns[LATE] = sequence->late;
	columns[EXTRA] = sequence->extra;
	columns[DAMAGED] = 0;
	columns[FOREIGN] = 0;
}

static void table_print(const struct verify_tally *tally)
{
	static const int widths[PRODUCER_COLUMNS] = {-7, 8, 10, 13, 9, 10, 8, 8, 6, 6};
	char run[VERIFY_RUN_TEXT_BYTES];
	uint64_t columns[COLUMNS];

	for (size_t column = 0; column < PRODUCER_COLUMNS; column++)
		(void)printf("%s%*s", column ? " " : "", widths[column], column_names[column]);
	(void)putchar('\n');
	for (size_t at = 0; at < tally->sequence_count; at++) {
		columns_of(tally->sequences[at], columns);
		(void)printf("%*s", widths[RUN], verify_run_text(tally->sequences[at]->run, run));
		for (size_t column = PRODUCER; column < PRODUCER_COLUMNS; column++)
			(void)printf(" %*" PRIu64, widths[column], columns[column]);
		(void)putchar('\n');
	}
}

static void totals_of(const struct verify_tally *tally, uint64_t columns[COLUMNS])
{
	columns[PRODUCER] = tally->sequence_count;
	columns[RECORDS] = tally->records;
	columns[BYTES] = tally->record_bytes;
	columns[FIRST] = columns[LAST] = 0;
	columns[MISSING] = tally->missing;
	columns[REPEATED] = tally->repeated;
	columns[LATE] = tally->late;
	columns[EXTRA] = tally->extra;
	columns[DAMAGED] = tally->damaged;
	columns[FOREIGN] = tally->foreign;
}

static void script_row_print(const char *run, const uint64_t columns[COLUMNS])
{
	(void)fputs(run, stdout);
	for (size_t column = PRODUCER; column < COLUMNS; column++)
		(void)printf("\t%" PRIu64, columns[column]);
	(void)putchar('\n');
}

static void script_table_print(const struct verify_tally *tally)
{
	char run[VERIFY_RUN_TEXT_BYTES];
	uint64_t columns[COLUMNS];

	for (size_t column = 0; column < COLUMNS; column++)
		(void)printf("%s%s", column ? "\t" : "", column_names[column]);
	(void)putchar('\n');
	for (size_t at = 0; at < tally->sequence_count; at++) {
		columns_of(tally->sequences[at], columns);
		script_row_print(verify_run_text(tally->sequences[at]->run, run), columns);
	}
	totals_of(tally, columns);
	script_row_print("total", columns);
}

static void human_print(const struct verify_tally *tally, double seconds)
{
	double megabytes = (double)tally->bytes / 1e6;

	for (size_t at = 0; at < tally->finding_count; at++)
		finding_print(tally->findings + at);
	if (tally->findings_left_out)
		(void)printf("and %" PRIu64 " more findings\n", tally->findings_left_out);
	missing_print(tally);
	if (tally->options->quiet)
		return;
	table_print(tally);
	(void)printf("%" PRIu64 " records, %" PRIu64 " missing", tally->records, tally->missing);
	if (tally->missing_tail)
		(void)printf(" (%" PRIu64 " of them at the end)", tally->missing_tail);
	(void)printf(", %" PRIu64 " repeated, %" PRIu64 " out of order, ", tally->repeated, tally->late);
	if (tally->extra)
		(void)printf("%" PRIu64 " not expected, ", tally->extra);
	(void)printf("%" PRIu64 " damaged line%s, %" PRIu64 " foreign\n", tally->damaged,
		     tally->damaged == 1 ? "" : "s", tally->foreign);
	(void)printf("%.1f MB in %.2f s, %.0f MB/s: ", megabytes, seconds, seconds > 0 ? megabytes / seconds : 0);
	colour_begin(stdout, tally->fine ? COLOUR_GOOD : COLOUR_BAD);
	(void)fputs(tally->fine ? "fine" : tally->records ? "NOT fine" : "NOT fine, no records", stdout);
	colour_end(stdout);
	(void)putchar('\n');
}

static void json_sequence(const struct verify_tally *tally, const struct verify_sequence *sequence)
{
	uint64_t columns[COLUMNS];
	char run[VERIFY_RUN_TEXT_BYTES];

	columns_of(sequence, columns);
	(void)printf("{\"run\":\"%s\"", verify_run_text(sequence->run, run));
	for (size_t column = PRODUCER; column < PRODUCER_COLUMNS; column++)
		(void)printf(",\"%s\":%" PRIu64, column_names[column], columns[column]);
	(void)printf(",\"missing_tail\":%" PRIu64 ",\"missing_ranges\":[", sequence->missing_tail);
	for (size_t gap = 0; gap < sequence->gaps.count && gap < tally->options->limit; gap++)
		(void)printf("%s[%" PRIu64 ",%" PRIu64 "]", gap ? "," : "", sequence->gaps.ranges[gap].from,
			     sequence->gaps.ranges[gap].to);
	(void)fputs("]}", stdout);
}

static void json_finding(const struct verify_finding *finding)
{
	char run[VERIFY_RUN_TEXT_BYTES];

	(void)printf("{\"kind\":\"%s\",\"file\":", kinds[finding->kind].name);
	json_string_write(stdout, finding->file);
	(void)printf(",\"offset\":%" PRIu64, finding->offset);
	if (finding->kind < VERIFY_KIND_FIRST_OF_RECORDS)
		(void)printf(",\"bytes\":%" PRIu64 "}", finding->bytes);
	else
		(void)printf(",\"run\":\"%s\",\"producer\":%" PRIu32 ",\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}",
			     verify_run_text(finding->run, run), finding->producer, finding->from, finding->to);
}

static void json_print(const struct verify_tally *tally, double seconds)
{
	(void)printf("{\"fine\":%s,\"files\":[", tally->fine ? "true" : "false");
	for (char **file = tally->options->files; *file; file++) {
		(void)fputs(file == tally->options->files ? "" : ",", stdout);
		json_string_write(stdout, *file);
	}
	(void)printf("],\"bytes\":%" PRIu64 ",\"seconds\":%.3f,\"records\":%" PRIu64 ",\"missing\":%" PRIu64
		     ",\"missing_tail\":%" PRIu64 ",\"repeated\":%" PRIu64 ",\"late\":%" PRIu64 ",\"extra\":%" PRIu64
		     ",\"damaged\":%" PRIu64 ",\"foreign\":%" PRIu64 ",\"lines\":{",
		     tally->bytes, seconds, tally->records, tally->missing, tally->missing_tail, tally->repeated,
		     tally->late, tally->extra, tally->damaged, tally->foreign);
	for (size_t kind = 0; kind < VERIFY_KIND_FOREIGN; kind++)
		(void)printf("%s\"%s\":%" PRIu64, kind ? "," : "", kinds[kind].name, tally->lines[kind]);
	(void)fputs("},\"producers\":[", stdout);
	for (size_t at = 0; at < tally->sequence_count; at++) {
		(void)fputs(at ? "," : "", stdout);
		json_sequence(tally, tally->sequences[at]);
	}
	(void)fputs("],\"findings\":[", stdout);
	for (size_t at = 0; at < tally->finding_count; at++) {
		(void)fputs(at ? "," : "", stdout);
		json_finding(tally->findings + at);
	}
	(void)printf("],\"findings_left_out\":%" PRIu64 "}\n", tally->findings_left_out);
}

void verify_report(const struct verify_tally *tally, double seconds)
{
	if (tally->options->json)
		json_print(tally, seconds);
	else if (tally->options->table)
		script_table_print(tally);
	else if (!tally->options->quiet || !tally->fine)
		human_print(tally, seconds);
}
