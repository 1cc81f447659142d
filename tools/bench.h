/* SPDX-License-Identifier: MIT */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Exit statuses. */
#define BENCH_OK 0
#define BENCH_FAILED 1
#define BENCH_USAGE 2

#define BENCH_LIST_MAX 16u
#define BENCH_SENDERS_MAX 128u

struct bench_list {
	uint64_t values[BENCH_LIST_MAX];
	unsigned count;
};

enum bench_way { BENCH_LIBRARY, BENCH_PUSH, BENCH_MOUNT, BENCH_WAYS };
extern const char *const bench_way_names[BENCH_WAYS];

/* As k2hft-bench(1) has them. */
struct bench_options {
	bool help, quiet, json;
	struct bench_list sizes, senders, per_write; /* per_write: 0 is the way's own */
	struct bench_list ways;                      /* enum bench_way */
	uint64_t records, bytes, seconds;            /* one is not 0 */
	uint64_t rate;                               /* records a second of all senders; 0: as fast as it goes */
	uint64_t runs;
	uint32_t level, compress; /* indexes of their names */
	char receiver[1100];      /* "": its own; else HOST of -r, terminated in place, then PORT */
	const char *host, *port;
	const char *tsv_file, *json_file;
};
extern const char *const bench_level_names[], *const bench_compress_names[];

/* One line of the table. */
struct bench_point {
	enum bench_way way;
	uint64_t size, senders, per_write;
};

/* What one run gives; NAN: was not measured. Their names are in bench_report.c. */
enum bench_metric {
	BENCH_BYTES,
	BENCH_PRODUCED_RECORDS,
	BENCH_COMMITTED_RECORDS,
	BENCH_PRODUCED_MB,
	BENCH_COMMITTED_MB,
	BENCH_PIPE_MB,
	BENCH_RATIO,
	BENCH_CPU_WRITER,
	BENCH_CPU_SENDER,
	BENCH_CPU_RECEIVER,
	BENCH_CPU_ALL,
	BENCH_CPU_PIPE,
	BENCH_PEAK_WRITER,
	BENCH_PEAK_SENDER,
	BENCH_PEAK_RECEIVER,
	BENCH_LATENCY_P50,
	BENCH_LATENCY_P99,
	BENCH_LATENCY_P999,
	BENCH_LATENCY_MAX,
	BENCH_METRICS
};

struct bench_result {
	struct bench_point point;
	double medians[BENCH_METRICS];
};

/* What a sender tells its parent, in memory that they share. */
struct bench_slot {
	uint64_t produced_ns, committed_ns; /* CLOCK_MONOTONIC */
	uint64_t bytes, records;
	double push_cpu_s;
	uint64_t push_peak_kib;
};

struct bench_shared {
	uint64_t start_ns;
	struct bench_slot slots[BENCH_SENDERS_MAX];
};

/* A program that is measured. */
struct bench_process {
	pid_t pid; /* 0: does not run */
	double cpu_s;
	uint64_t peak_kib;
};

/* One run of one point. */
struct bench_run {
	const struct bench_options *options;
	struct bench_point point;
	const char *work;         /* the temporary directory */
	char host[1100], port[8]; /* of the receiver */
	int block;                /* file with the records */
	uint64_t block_bytes;
	uint64_t sender_records; /* of each sender; UINT64_MAX: until the time is over */
	struct bench_shared *shared;
	struct bench_process receiver, mount;
	pid_t senders[BENCH_SENDERS_MAX]; /* 0: ended */
	double sender_cpu_s;
	uint64_t sender_peak_kib;
	uint64_t *latencies_ns; /* with a rate */
	uint64_t latency_count;
};

/* bench_options.c: BENCH_OK, or BENCH_USAGE with the message. */
int bench_options_parse(struct bench_options *options, int argc, char **argv);
/* bench_report.c: its table, and the files; BENCH_FAILED with the message. */
void bench_table_head(const struct bench_options *options);
void bench_table_line(const struct bench_options *options, const struct bench_result *result);
void bench_knees_print(const struct bench_options *options, const struct bench_result *results, unsigned count);
int bench_files_write(const struct bench_options *options, const struct bench_result *results, unsigned count);
/* bench_run.c: 0; -1 with the message. */
int bench_run(struct bench_run *run, double metrics[BENCH_METRICS]);
/* bench_process.c */
int bench_receiver_start(struct bench_run *run);
int bench_mount_start(struct bench_run *run);
/* Asks it to end, and takes what it used. -1 with the message: it failed. */
int bench_process_stop(struct bench_process *process, const char *name);
/* The path of one of the project's programs: beside this one, else its name, for PATH. */
void bench_program_find(const char *name, char *path, size_t room);
/* bench_send.c: a sender process; never returns. It waits until `gate` ends. */
_Noreturn void bench_send(struct bench_run *run, unsigned number, int ready, int gate);
/* bench_latency.c: looks at the receiver's files until every record is there. -1 with the message. */
int bench_latency_watch(struct bench_run *run);
/* When the record is due, in nanoseconds from the start. */
uint64_t bench_due_ns(const struct bench_run *run, unsigned sender, uint64_t record);

void bench_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool bench_interrupted(void);
uint64_t bench_clock_ns(void);

#endif
