/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_VERIFY_TALLY_H
#define K2I_TOOLS_VERIFY_TALLY_H

#include "tools/verify/verify.h"
#include "tools/verify/gaps.h"
#include "tools/verify/record.h"

/* Sums of lines and records. */

enum verify_kind {
	VERIFY_KIND_TORN,     /* begins as a record and is none: changed or torn */
	VERIFY_KIND_JOINED,   /* several records, all whole */
	VERIFY_KIND_BEHIND,   /* a record, behind something else */
	VERIFY_KIND_MARKER,   /* a record but for its first bytes */
	VERIFY_KIND_LONG,     /* longer than any record */
	VERIFY_KIND_CUT,      /* of a file's end, in a record */
	VERIFY_KIND_UNENDED,  /* of a file's end: a record, whole, without its line end */
	VERIFY_KIND_FOREIGN,  /* something else; damage only if there is to be nothing else */
	VERIFY_KIND_REPEATED, /* the following are about records */
	VERIFY_KIND_LATE,
	VERIFY_KIND_EXTRA, /* counter below the first or above what is expected */
	VERIFY_KINDS,
};
#define VERIFY_KIND_FIRST_OF_RECORDS VERIFY_KIND_REPEATED

/* Where, and for records which: consecutive ones are one finding. */
struct verify_finding {
	enum verify_kind kind;
	const char *file;
	uint64_t offset, bytes;
	uint32_t run, producer;
	uint64_t from, to;
};

#define VERIFY_NO_FINDING SIZE_MAX

/* A producer of a run. */
struct verify_sequence {
	uint32_t run, producer;
	struct verify_gaps gaps;
	uint64_t records, bytes, repeated, late, extra;
	uint64_t lowest, highest; /* counters that came */
	const char *file;         /* of the last record, and the highest counter in it */
	uint64_t highest_in_file;
	bool expects;          /* `last` */
	uint64_t last;         /* counter that is expected */
	size_t finding;        /* that the next record may prolong */
	uint64_t missing;      /* after verify_tally_end */
	uint64_t missing_tail; /* of these, behind the highest that came */
};

struct verify_tally {
	const struct verify_options *options;
	struct verify_sequence **sequences; /* by order of appearance; by run and producer after verify_tally_end */
	size_t sequence_count, sequence_room;
	void *tree;                      /* the same, of tsearch(3) */
	struct verify_sequence *current; /* of the last record */
	struct verify_finding *findings;
	size_t finding_count, finding_room;
	uint64_t findings_left_out;
	uint64_t lines[VERIFY_KIND_FIRST_OF_RECORDS]; /* by kind */
	uint64_t bytes;                               /* read */

	/* After verify_tally_end. */
	uint64_t records, record_bytes, missing, missing_tail, repeated, late, extra, damaged, foreign;
	bool fine;
};

/* A line without its line end, and where it is; `ended`: it had one. */
struct verify_line {
	const char *bytes;
	size_t count;
	bool ended;
	const char *file;
	uint64_t offset;
};

void verify_tally_init(struct verify_tally *tally, const struct verify_options *options);
void verify_tally_free(struct verify_tally *tally);
/* 0 or -ENOMEM. */
int verify_tally_line(struct verify_tally *tally, const struct verify_line *line);
/* A line of `bytes` bytes that is longer than any record; line->bytes has its first ones. 0 or -ENOMEM. */
int verify_tally_long_line(struct verify_tally *tally, const struct verify_line *line, uint64_t bytes);
/* Adds up, and compares with what is expected. 0 or -ENOMEM. */
int verify_tally_end(struct verify_tally *tally);

/* report.c */
void verify_report(const struct verify_tally *tally, double seconds);

#endif
