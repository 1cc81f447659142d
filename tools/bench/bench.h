/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_BENCH_BENCH_H
#define K2I_TOOLS_BENCH_BENCH_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/clock.h"
#include "tools/base/arguments.h"
#include "tools/base/errors.h"
#include "tools/base/numbers.h"

#define BENCH_SENDERS_MAX 128u
#define BENCH_WRITERS_MAX 128u
#define BENCH_RECEIVERS_MAX 8u
/* Writers of all senders: each has a file, which is open here while the run is watched. */
#define BENCH_STREAMS_MAX 512u
#define BENCH_STREAM_ROOM 32u
#define BENCH_RULES_MAX 16u
#define BENCH_RUNS_MAX 1000u
#define BENCH_TEXT_ROOM 256u
/* Room for the path of a file in the temporary directory. */
#define BENCH_PATH_ROOM 4200u

/* TMPFS is no way to a receiver: mount-append is measured against it. */
enum bench_way {
	BENCH_LIBRARY,
	BENCH_PUSH,
	BENCH_MOUNT,
	BENCH_APPEND,
	BENCH_RECORD,
	BENCH_IDLE,
	BENCH_FAILOVER,
	BENCH_TMPFS
};
/* Where the receiver's records go; those beyond files are in process.c's table. */
enum bench_sink {
	BENCH_SINK_FILE,
	BENCH_SINK_EXEC,
	BENCH_SINK_RELAY,
	/* No files from here on. */
	BENCH_SINK_KAFKA,
	BENCH_SINK_FORWARD,
	BENCH_SINK_OTLP
};
#define BENCH_KAFKA_TOPIC "k2hft-bench"
#define BENCH_KAFKA_COMMIT_MS 100u                  /* KAFKA_COMMITMS as it is */
#define BENCH_WINDOW_BYTES (UINT64_C(16) * 1048576) /* WINDOW as it is */
extern const char *const bench_way_names[], *const bench_format_names[], *const bench_sink_names[];
#define BENCH_FORMAT_PUBLISHED 2u

/* A point that is measured: all that tells one line of the table from another. point.c has the names of its fields. */
struct bench_point {
	uint64_t way, size, senders;      /* size: 0 with `input` */
	uint64_t writers;                 /* of each sender */
	uint64_t receivers;               /* over which each sender spreads its records at random */
	uint64_t per_write;               /* 0: the way's own */
	uint64_t records, bytes, seconds; /* of one run; one is not 0 */
	uint64_t rate;                    /* records a second of all senders; 0: as fast as it goes */
	uint64_t sustain;                 /* 1: with a time series */
	uint64_t format, unify, rules, input, tls, compress, level;
	uint64_t link_mbit;    /* of the link between; 0: the loopback's */
	uint64_t memory_limit; /* bytes; 0: none */
	uint64_t ring_bytes;
	uint64_t drop_caches; /* the second after which the page cache is dropped; 0: it is not */
	/* In seconds. Rates are those of BENCH_WINDOWS windows, if there are any, which begin when the warm-up is over. */
	uint64_t warmup, window;
	uint64_t sink;
};
#define BENCH_PARAMETERS 25u
#define BENCH_WINDOWS 10u

struct bench_parameter {
	const char *name;
	size_t offset;
	const char *const *words; /* NULL: a number */
	uint64_t absent;          /* its value in results that were saved before there was such a parameter */
};
extern const struct bench_parameter bench_parameters[BENCH_PARAMETERS];

/* The parameters that a sweep goes along. */
enum bench_axis { BENCH_SENDERS, BENCH_WRITERS, BENCH_RECEIVERS, BENCH_PER_WRITE, BENCH_RINGS, BENCH_AXES };
uint64_t *bench_axis_value(struct bench_point *point, enum bench_axis axis);
/* The size of a write where -c does not say it. */
#define BENCH_WRITE_BYTES (256u * 1024)
/* 0: of lines of a log, as many as BENCH_WRITE_BYTES hold. */
uint64_t bench_per_write(const struct bench_point *point);
/* The size of a way's ring, where --ring does not say it. */
uint64_t bench_ring_bytes(uint64_t way);
bool bench_way_mounts(uint64_t way);
/* Whether its figures are no rates. */
bool bench_way_still(uint64_t way);
bool bench_point_equal(const struct bench_point *a, const struct bench_point *b);
uint64_t bench_parameter_get(const struct bench_point *point, unsigned number);
/* "library, 10 bytes, -g 3", and other values that are not the default. */
void bench_point_text(const struct bench_point *point, char *text, size_t room);
/* Appends to a text, as far as there is room. */
void bench_text_add(char *text, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Figures of a run; NAN: was not measured. */
enum bench_metric {
	BENCH_BYTES,
	BENCH_ELAPSED,
	BENCH_PRODUCED_RECORDS,
	BENCH_COMMITTED_RECORDS,
	BENCH_PRODUCED_MB,
	BENCH_COMMITTED_MB,
	BENCH_OUTPUT_MB,
	BENCH_PIPE_MB,
	BENCH_RATIO,
	BENCH_TMPFS_MB,
	BENCH_OF_TMPFS,
	BENCH_LINE_MB,
	BENCH_OF_LINE,
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
	BENCH_RECORD_NS,
	BENCH_IDLE_MOUNT,
	BENCH_IDLE_RECEIVER,
	BENCH_FAILOVER_MS,
	BENCH_LEAST_OF_MEAN,
	BENCH_FIRST_MB,
	BENCH_LAST_MB,
	BENCH_LAST_OF_FIRST,
	BENCH_WINDOW_LOWEST,
	BENCH_WINDOW_HIGHEST,
	BENCH_METRICS
};

struct bench_metric_name {
	const char *name;
	int better;       /* 1: more is; -1: less is; 0: neither */
	const char *unit; /* of the metrics that a preset's table has */
};
extern const struct bench_metric_name bench_metrics[BENCH_METRICS];
/* The figure that the table sets a point's rate against, and the ratio of both. */
enum bench_metric bench_against_metric(const struct bench_point *point);
enum bench_metric bench_ratio_metric(const struct bench_point *point);

struct bench_result {
	struct bench_point point;
	unsigned group; /* its members take turns, run by run */
	uint64_t runs;  /* 0: not measured yet */
	double *values; /* of each metric, of each run */
	double medians[BENCH_METRICS], lowest[BENCH_METRICS], highest[BENCH_METRICS];
	double *series, *free_mib; /* of each second of the last run: megabytes a second, memory that was free */
	unsigned series_count;
};

/* A line of a preset's table: a figure of one result against a figure of another or the same, or against a constant. */
struct bench_row {
	char what[BENCH_TEXT_ROOM], unit[32], against_what[BENCH_TEXT_ROOM];
	unsigned result, base, base_last;      /* base_last: of these, the one whose median is the best */
	enum bench_metric metric, base_metric; /* BENCH_METRICS: `against` is it, or nothing if that is NAN */
	double scale;
	bool done;
	uint64_t runs;
	double value, against, ratio, lowest, highest; /* lowest, highest: of the ratio, else of the value */
	double kafka, fluentd;                         /* published beside `against`; NAN: not */
};

struct bench_report {
	char program[BENCH_TEXT_ROOM], date[BENCH_TEXT_ROOM], command[BENCH_TEXT_ROOM], note[BENCH_TEXT_ROOM],
		remark[BENCH_TEXT_ROOM];
	char receiver[BENCH_TEXT_ROOM]; /* "": its own */
	char host[BENCH_TEXT_ROOM], kernel[BENCH_TEXT_ROOM], architecture[BENCH_TEXT_ROOM], processor[BENCH_TEXT_ROOM],
		file_system[BENCH_TEXT_ROOM], input[BENCH_TEXT_ROOM];
	uint64_t processors, memory_mib, planned; /* planned: how many results there are when it is done */
	struct bench_result *results;
	unsigned count;
	struct bench_row *rows;
	unsigned row_count;
	char skipped[1024]; /* lines: what a preset left out, and why */
};

/* As k2hft-bench(1) has them. */
struct bench_options {
	bool help, quiet, seed_table, all, brief, resume, no_mount;
	struct number_list sizes, senders, writers, receivers, per_write, rings, ways, sinks;
	struct bench_point base; /* what all points have in common */
	uint64_t runs, sustain_s;
	const struct bench_report *repeated; /* whose points are measured; NULL: there is none */
	const char *brokers;                 /* of Kafka */
	const char *receiver;                /* NULL: its own; else HOST and PORT of -r */
	char receiver_copy[RECEIVER_ROOM];
	const char *host, *port, *shared_key, *input_file, *note;
	const char *tsv_file, *json_file, *html_file, *markdown_file, *from_file, *repeat_file, *compare_file,
		*compare_to;
};

/* Figures that a sender tells its parent, in memory that they share. */
struct bench_slot {
	uint64_t produced_ns, committed_ns; /* CLOCK_MONOTONIC */
	uint64_t bytes, records;
	double push_cpu_s;
	uint64_t push_peak_kib, peak_kib; /* of push; of the sender: who waits for that gets the larger of the two */
	double record_ns, idle_mount, idle_receiver;
};

struct bench_shared {
	uint64_t start_ns;
	_Atomic bool over; /* a sender without an end of its own is to end */
	double failover_ms;
	struct bench_slot slots[BENCH_SENDERS_MAX];
};

/* A program that is measured. */
struct bench_process {
	pid_t pid;    /* 0: does not run */
	int messages; /* descriptor of what it says and was not shown yet; 0: there is none */
	double cpu_s;
	uint64_t peak_kib;
};

/* A run of a point. */
struct bench_run {
	const struct bench_options *options;
	struct bench_point point;
	const char *work;         /* the temporary directory */
	char host[RECEIVER_ROOM]; /* of the receivers, and their ports */
	char ports[2 * BENCH_RECEIVERS_MAX][8];
	char shared_key[BENCH_PATH_ROOM]; /* file, with TLS */
	int block;                        /* file with the records */
	struct bench_point block_point;
	uint64_t block_bytes, block_records;
	uint64_t writer_records; /* of each writer; UINT64_MAX: until the time is over */
	struct bench_shared *shared;
	/* The relays are behind the receivers. */
	struct bench_process receivers[2 * BENCH_RECEIVERS_MAX], mount, link;
	struct bench_process peer; /* the server that the sink sends on to, its port, and what it has kept */
	char peer_port[8];
	struct bench_kept *kept;
	pid_t senders[BENCH_SENDERS_MAX]; /* 0: ended */
	double sender_cpu_s;
	uint64_t *latencies_ns; /* with a rate */
	uint64_t latency_count;
	double *series, *free_mib;
	unsigned series_count;
	uint64_t renamed_bytes; /* of files that the receiver has written to and that have another name since */
};

/* options.c: STATUS_OK, or STATUS_WRONG with the message. */
int bench_options_parse(struct bench_options *options, int argc, char **argv);
/* Whether the points of --repeat can be measured here. The same, or STATUS_FAILED. */
int bench_repeated_check(struct bench_options *options);

/* plan.c: fills in results and rows, not measured yet. -1 with the message. */
int bench_plan_make(struct bench_report *report, const struct bench_options *options);
/* The file with log lines that is used when none is given; NULL: there is none. */
const char *bench_input_find(void);

/* figures.c: pure. */
double bench_median(double *values, uint64_t count);
/* Which of `count` values in order, from 0, is the lowest that so many thousandths of them do not exceed. */
uint64_t bench_rank(uint64_t count, unsigned thousandths);
/* NAN where there is nothing to divide by. */
double bench_ratio(double value, double against);
/* From the values of its runs. */
void bench_result_sum(struct bench_result *result);
void bench_row_sum(struct bench_row *row, const struct bench_result *results);
/* Whether a row has figures that others published. */
bool bench_rows_published(const struct bench_report *report);
/* Means of the first and the last quarter of a series. */
void bench_quarters(const double *series, unsigned count, double *first, double *last);
/* 1: `b` is better than `a` by more than the spread of the runs; -1: worse; 0: neither can be said. */
int bench_judge(enum bench_metric metric, const struct bench_result *a, const struct bench_result *b);
/*
 * Finds, among the points that differ from results[first] along one axis only, the one with the best committed rate,
 * and the lowest that reaches BENCH_KNEE_SHARE of it. How many there are; 0 if an earlier one is of the same sweep, or
 * if the rate was given or there is none. A preset has the same point in several groups: there a sweep is within one.
 */
unsigned bench_knee(const struct bench_report *report, unsigned first, enum bench_axis axis, unsigned *best,
		    unsigned *knee);
bool bench_sweep_has(const struct bench_report *report, unsigned first, unsigned number, enum bench_axis axis);
#define BENCH_KNEE_SHARE 0.9

/* machine.c */
void bench_machine_take(struct bench_report *report, const struct bench_options *options, int argc, char **argv);
/* The lines that a report begins with, without those that are empty. */
void bench_facts_write(FILE *output, const struct bench_report *report,
		       void (*write)(FILE *output, const char *name, const char *text));

/* table.c: the tables on the terminal. */
void bench_table_head(const struct bench_report *report);
void bench_table_line(const struct bench_report *report, const struct bench_result *result);
/* The bullet of a list's next line: the empty line before the list comes with the first. */
const char *bench_bullet(const char **bullet);
/* A line for each, behind its bullet. */
void bench_knees_print(FILE *output, const char **bullet, const struct bench_report *report);
void bench_row_print(const struct bench_row *row);
/* Says so if starting takes more of the runs than sending. */
void bench_short_warn(const struct bench_report *report);
/* A table of the figures that others published; nothing if no row has one. */
void bench_published_print(const struct bench_report *report);

/* files.c: STATUS_FAILED with the message. */
/* Again and again: each time the whole. `once`, in the end: what is no file of its own, a pipe say. */
int bench_files_write(const struct bench_options *options, const struct bench_report *report, bool once);
/* Before anything is measured: whether the files that options name can be written. */
int bench_files_check(const struct bench_options *options);

/* json.c: what a report has beside its results. */
struct bench_text {
	const char *name;
	size_t offset;
	bool each; /* of each measurement, whatever is measured */
};
#define BENCH_TEXTS 12u
#define BENCH_NUMBERS 3u
extern const struct bench_text bench_texts[BENCH_TEXTS], bench_numbers[BENCH_NUMBERS];
const char *bench_text_get(const struct bench_report *report, unsigned number);
uint64_t bench_number_get(const struct bench_report *report, unsigned number);
void bench_json_write(FILE *output, const struct bench_report *report);
/* The name of something that they do not share, so that nothing of one belongs into the other; NULL: there is nothing. */
const char *bench_report_differs(const struct bench_report *a, const struct bench_report *b);
/* -1 with the message. bench_report_free in every case. */
int bench_json_read(const char *path, struct bench_report *report);
void bench_report_free(struct bench_report *report);
/* markdown.c, html.c */
void bench_markdown_write(FILE *output, const struct bench_report *report);
void bench_html_write(FILE *output, const struct bench_report *report);
/* compare.c: exit status, STATUS_FOUND if a figure got worse. */
int bench_compare(const struct bench_options *options);

/* block.c: the file that senders take their records from; 0, -1 with the message. */
int bench_block_make(struct bench_run *run);
/* run.c: 0; -1 with the message. */
int bench_run(struct bench_run *run, double metrics[BENCH_METRICS]);
/* With all that is in it, but not what is mounted there. */
void bench_folder_remove(const char *path);

/* streams.c: how many streams there are: each writer of each sender has its own. */
unsigned bench_stream_count(const struct bench_point *point);
void bench_stream_name(const struct bench_point *point, unsigned stream, char name[BENCH_STREAM_ROOM]);
void bench_received_path(const struct bench_run *run, unsigned file, char path[BENCH_PATH_ROOM]);
/* The directory of a receiver. */
void bench_received_folder(const struct bench_run *run, unsigned receiver, char path[BENCH_PATH_ROOM]);
/* How many files of the receivers there can be; those of a receiver come one after the other. */
unsigned bench_received_count(const struct bench_run *run);
/* When a record is due, in nanoseconds from the start. */
uint64_t bench_due_ns(const struct bench_run *run, unsigned stream, uint64_t record);

/* process.c */
/* A destination of records, and what it is measured beside. */
struct bench_sink_kind {
	const char *lines;   /* of the receiver's configuration */
	const char *through; /* a program that the plain pipe goes through, as the records do; NULL: none */
	unsigned relays;     /* 1: each receiver has a relay before it, and a plain pipe a second one */
	bool kafka;          /* it writes no files, and stands against a plain producer of Kafka */
	const char *peer;    /* where its records go: a line of the configuration, up to a server's port */
};
extern const struct bench_sink_kind bench_sinks[];
/* kafka.c: the same bytes by a plain producer, as bench_pipe_copy. -1 with the message. */
struct bench_pipe;
int bench_kafka_copy(const struct bench_run *run, struct bench_pipe *carried);
/* Receivers, and the relays before them. */
unsigned bench_servers_count(const struct bench_run *run);
int bench_receivers_start(struct bench_run *run);
int bench_mount_start(struct bench_run *run);
/* The configuration of a sender with all receivers; its path goes to `path`. -1 with the message. */
int bench_sender_config(const struct bench_run *run, char path[BENCH_PATH_ROOM]);
/* Asks it to end, and takes what it used. -1 with the message: it failed. */
int bench_process_stop(struct bench_run *run, struct bench_process *process, const char *name);
/* Whether a child has, and how; it is still to be waited for. */
bool bench_ended(pid_t process, siginfo_t *how);
/* Whether one of the senders has not ended. */
bool bench_senders_run(const struct bench_run *run);
/* Whether a program that the run needs has ended, or there is no room for its files; with the message. */
bool bench_trouble(const struct bench_run *run);
/* The path of one of the project's programs: beside this one, else its name, for PATH. */
void bench_program_find(const char *name, char *path, size_t room);
/* peer.c: the server that a sink without files sends on to. -1 with the message; bench_peer_stop in every case. */
int bench_peer_start(struct bench_run *run);
void bench_peer_stop(struct bench_run *run);
/* The bytes that it has, with what the protocol puts around records. */
uint64_t bench_peer_bytes(const struct bench_run *run);
struct bench_pipe;
/*
 * Sends the first messages of the run, which had so many bytes of records, to the server again, as often as
 * carried->bytes of records have. -errno
 */
int bench_peer_send(const struct bench_run *run, uint64_t records_bytes, struct bench_pipe *carried);
/* link.c: a process between sender and receiver that lets so much through; changes the port. */
int bench_link_start(struct bench_run *run);
/* send.c: a sender process; never returns. It waits until `gate` ends. */
_Noreturn void bench_send(struct bench_run *run, unsigned number, int ready, int gate);
/* still.c: figures that are no rates: the cost of one record, and the use of idle processes. -errno. */
int bench_record_cost(struct bench_run *run, const char *block, struct bench_slot *slot);
int bench_idle_use(struct bench_run *run, struct bench_slot *slot);
/* library.c */
#define BENCH_FAILOVERTIME_MS 1000u
struct k2hft_sender;
int bench_library_open(const struct bench_run *run, struct k2hft_sender **sender);
/* latency.c: looks at the receiver's files until every record is there. -1 with the message. */
int bench_latency_watch(struct bench_run *run);
#define BENCH_DROP_CACHES "/proc/sys/vm/drop_caches"
/* sustain.c: looks at the receiver's files each second until the senders are done. -1 with the message. */
int bench_sustain_watch(struct bench_run *run);
/* failover.c: a sender that writes until that is over. -errno. */
int bench_failover_send(struct bench_run *run, const char *block);
/* Kills the receiver that gets records, and waits until another one has some. -1 with the message. */
int bench_failover_watch(struct bench_run *run);
/* memory.c: this process and those that it starts have so much memory from now on. -errno, and why not. */
int bench_memory_limit(uint64_t bytes, char why[BENCH_TEXT_ROOM]);
void bench_memory_release(void);

/* interrupt.c: signals that end a run, in order: how many came. */
void bench_signals_catch(void);
int bench_interrupted(void);

#define bench_error(...) command_error("bench", __VA_ARGS__)
#define bench_failed(status, ...) command_failed(status, "bench", __VA_ARGS__)

#endif
