/* SPDX-License-Identifier: MIT */
/*
 * A run: starts the programs that it needs, lets the senders go together, takes the times, and carries the same through
 * a pipe.
 */
#include "tools/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bench/pipe.h"

#define REMOVE_DESCRIPTORS 16
#define AGAINST_BYTES_MAX (UINT64_C(1) << 30)
#define READY_LOOK_MS 1000

static int sender_start(struct bench_run *run, unsigned number, const int ready[2], const int gate[2])
{
	pid_t child = fork();

	if (child < 0)
		return bench_failed(-1, "fork: %s", strerror(errno));
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGINT, SIG_DFL);
		(void)signal(SIGTERM, SIG_DFL);
		(void)signal(SIGHUP, SIG_IGN); /* its parent ends it */
		(void)close(ready[0]);
		(void)close(gate[1]);
		bench_send(run, number, ready[1], gate[0]);
	}
	run->senders[number] = child;
	return 0;
}

/* Until one more is. While others live, the pipe does not end with one that failed. */
static int ready_await(const struct bench_run *run, int ready)
{
	struct pollfd wait = {.fd = ready, .events = POLLIN};
	int found;
	char byte;

	while ((found = poll(&wait, 1, READY_LOOK_MS)) == 0)
		if (bench_trouble(run))
			return -1;
	return found > 0 && read(ready, &byte, 1) == 1 ? 0 : -1; /* it has said why, or there was an interrupt */
}

/* Ends when all of them are ready, and lets them go. */
static int senders_release(struct bench_run *run, int ready, int gate)
{
	unsigned number;

	for (number = 0; number < bench_stream_count(&run->point); number++)
		if (ready_await(run, ready))
			return -1;
	run->shared->start_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	(void)close(gate);
	return 0;
}

static int senders_start(struct bench_run *run)
{
	int ready[2], gate[2], status = 0;
	unsigned number;

	if (pipe2(ready, O_CLOEXEC))
		return bench_failed(-1, "senders: %s", strerror(errno));
	if (pipe2(gate, O_CLOEXEC)) {
		bench_error("senders: %s", strerror(errno));
		(void)close(ready[0]);
		(void)close(ready[1]);
		return -1;
	}
	for (number = 0; status == 0 && number < run->point.senders; number++)
		status = sender_start(run, number, ready, gate);
	(void)close(ready[1]);
	(void)close(gate[0]);
	if (status == 0)
		status = senders_release(run, ready[0], gate[1]);
	if (status)
		(void)close(gate[1]);
	(void)close(ready[0]);
	return status;
}

/* With `stop` they are killed. */
static int senders_wait(struct bench_run *run, bool stop)
{
	struct rusage usage;
	unsigned number;
	int status, failed = 0;

	for (number = 0; number < run->point.senders; number++) {
		if (run->senders[number] == 0)
			continue;
		if (stop || failed)
			(void)kill(run->senders[number], SIGKILL);
		while (wait4(run->senders[number], &status, 0, &usage) < 0) {
			if (errno != EINTR)
				return -1;
			(void)kill(run->senders[number], SIGKILL);
		}
		if (WIFSIGNALED(status) && !stop && !failed && !bench_interrupted())
			bench_error("sender %u: %s", number, strsignal(WTERMSIG(status)));
		run->senders[number] = 0;
		run->sender_cpu_s += bench_cpu_s(&usage);
		failed |= status != 0;
	}
	return failed ? -1 : 0;
}

static double least_of_mean(const uint64_t *bytes, unsigned count)
{
	uint64_t least = UINT64_MAX, sum = 0;

	for (unsigned number = 0; number < count; number++) {
		least = bytes[number] < least ? bytes[number] : least;
		sum += bytes[number];
	}
	return bench_ratio((double)least * count, (double)sum);
}

/* Compares the bytes of the receivers' files with those that were sent. */
static int received_take(const struct bench_run *run, double metrics[BENCH_METRICS])
{
	uint64_t received = run->renamed_bytes, sent = (uint64_t)metrics[BENCH_BYTES], of[BENCH_RECEIVERS_MAX] = {0};
	unsigned each = bench_received_count(run) / (unsigned)run->point.receivers;
	struct stat status;
	char path[BENCH_PATH_ROOM];
	unsigned number;

	if (run->kept) {
		received = bench_peer_bytes(run);
		metrics[BENCH_OUTPUT_MB] = metrics[BENCH_COMMITTED_MB] * (double)received / metrics[BENCH_BYTES];
		return received > sent ? 0 : bench_failed(-1, "the server has less than was sent");
	}
	for (number = 0; number < bench_received_count(run); number++) {
		bench_received_path(run, number, path);
		if (stat(path, &status) == 0)
			of[number / each] += (uint64_t)status.st_size;
	}
	for (number = 0; number < run->point.receivers; number++)
		received += of[number];
	if (run->point.receivers > 1)
		metrics[BENCH_LEAST_OF_MEAN] = least_of_mean(of, (unsigned)run->point.receivers);
	metrics[BENCH_OUTPUT_MB] = metrics[BENCH_COMMITTED_MB] * (double)received / metrics[BENCH_BYTES];
	if (run->point.format ? received > sent : received == sent) {
		/* It is what files grew by, with a FORMAT by more than was committed. */
		for (number = 0; run->point.sustain && number < run->series_count; number++)
			run->series[number] *= metrics[BENCH_BYTES] / (double)received;
		return 0;
	}
	return bench_failed(-1, "the receiver's files have %" PRIu64 " bytes, %" PRIu64 " were sent", received, sent);
}

static int entry_remove(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status;
	(void)kind;
	(void)place;
	(void)remove(path);
	return 0;
}

void bench_folder_remove(const char *path)
{
	(void)nftw(path, entry_remove, REMOVE_DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void received_remove(const struct bench_run *run)
{
	char path[BENCH_PATH_ROOM];

	for (unsigned number = 0; number < run->point.receivers; number++) {
		bench_received_folder(run, number, path);
		bench_folder_remove(path);
	}
}

static int parts_start(struct bench_run *run)
{
	if (bench_sinks[run->point.sink].peer && bench_peer_start(run))
		return -1;
	if (!run->options->receiver && bench_receivers_start(run))
		return -1;
	if (run->point.link_mbit && bench_link_start(run))
		return -1;
	return bench_way_mounts(run->point.way) ? bench_mount_start(run) : 0;
}

/* Those that get records end first. */
static int parts_stop(struct bench_run *run)
{
	int mount = bench_process_stop(run, &run->mount, "k2hftfuse");
	int receivers = 0;

	for (unsigned number = bench_servers_count(run); number-- > 0;)
		receivers |= bench_process_stop(run, &run->receivers[number], "k2hftfusesvr");

	if (run->link.pid) {
		(void)kill(run->link.pid, SIGKILL);
		while (waitpid(run->link.pid, NULL, 0) < 0 && errno == EINTR)
			continue;
		run->link.pid = 0;
	}
	return mount || receivers ? -1 : 0;
}

/* A sender whose receiver is gone, or whose receiver's disk is full, waits for ever. */
static int senders_watch(struct bench_run *run)
{
	const struct timespec look = {.tv_sec = 1};
	sigset_t child, before;
	int status = 0;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &child, &before);
	while (status == 0 && bench_senders_run(run)) {
		(void)sigtimedwait(&child, NULL, &look);
		status = bench_interrupted() || bench_trouble(run) ? -1 : 0;
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}

static int senders_run(struct bench_run *run)
{
	int status = senders_start(run);

	if (status == 0 && run->point.way == BENCH_FAILOVER)
		status = bench_failover_watch(run);
	else if (status == 0 && run->point.rate && run->point.way != BENCH_TMPFS)
		status = bench_latency_watch(run);
	else if (status == 0 && run->point.sustain && run->point.way != BENCH_TMPFS)
		status = bench_sustain_watch(run);
	else if (status == 0)
		status = senders_watch(run);
	return senders_wait(run, status != 0) ? -1 : status;
}

static int latency_compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static void latencies_take(struct bench_run *run, double metrics[BENCH_METRICS])
{
	static const unsigned thousandths[] = {500, 990, 999, 1000};
	unsigned number;

	if (run->latency_count == 0)
		return;
	qsort(run->latencies_ns, (size_t)run->latency_count, sizeof(*run->latencies_ns), latency_compare);
	for (number = 0; number < sizeof(thousandths) / sizeof(thousandths[0]); number++)
		metrics[BENCH_LATENCY_P50 + number] =
			(double)run->latencies_ns[bench_rank(run->latency_count, thousandths[number])] / 1e3;
}

static void rates_take(const struct bench_run *run, double metrics[BENCH_METRICS])
{
	uint64_t bytes = 0, records = 0, produced = 0, committed = 0;
	double produced_s, committed_s;
	unsigned number;

	for (number = 0; number < run->point.senders; number++) {
		const struct bench_slot *slot = &run->shared->slots[number];

		bytes += slot->bytes;
		records += slot->records;
		produced = slot->produced_ns > produced ? slot->produced_ns : produced;
		committed = slot->committed_ns > committed ? slot->committed_ns : committed;
	}
	produced_s = (double)(produced - run->shared->start_ns) / 1e9;
	committed_s = (double)(committed - run->shared->start_ns) / 1e9;
	metrics[BENCH_BYTES] = (double)bytes;
	metrics[BENCH_ELAPSED] = committed_s;
	metrics[BENCH_PRODUCED_RECORDS] = (double)records / produced_s;
	metrics[BENCH_COMMITTED_RECORDS] = (double)records / committed_s;
	metrics[BENCH_PRODUCED_MB] = (double)bytes / 1e6 / produced_s;
	metrics[BENCH_COMMITTED_MB] = (double)bytes / 1e6 / committed_s;
}

static void comparisons_take(const struct bench_run *run, double metrics[BENCH_METRICS])
{
	if (run->point.link_mbit) {
		metrics[BENCH_LINE_MB] = (double)run->point.link_mbit / 8;
		metrics[BENCH_OF_LINE] = bench_ratio(metrics[BENCH_COMMITTED_MB], metrics[BENCH_LINE_MB]);
	}
	if (run->point.sustain) {
		bench_quarters(run->series, run->series_count, &metrics[BENCH_FIRST_MB], &metrics[BENCH_LAST_MB]);
		metrics[BENCH_LAST_OF_FIRST] = bench_ratio(metrics[BENCH_LAST_MB], metrics[BENCH_FIRST_MB]);
	}
}

/* The rates of the windows take the place of those of the whole run. */
static void windows_take(const struct bench_run *run, double metrics[BENCH_METRICS])
{
	const struct bench_point *point = &run->point;
	double mean = 0, factor;

	if (point->window == 0 || run->series_count < point->warmup + BENCH_WINDOWS * point->window)
		return;
	for (uint64_t window = 0; window < BENCH_WINDOWS; window++) {
		const double *series = run->series + point->warmup + window * point->window;
		double rate = 0;

		for (uint64_t second = 0; second < point->window; second++)
			rate += series[second] / (double)point->window;
		mean += rate / BENCH_WINDOWS;
		metrics[BENCH_WINDOW_LOWEST] = fmin(metrics[BENCH_WINDOW_LOWEST], rate);
		metrics[BENCH_WINDOW_HIGHEST] = fmax(metrics[BENCH_WINDOW_HIGHEST], rate);
	}
	factor = mean / metrics[BENCH_COMMITTED_MB];
	metrics[BENCH_COMMITTED_MB] = mean;
	metrics[BENCH_COMMITTED_RECORDS] *= factor;
	metrics[BENCH_OUTPUT_MB] *= factor;
}

static void usage_take(const struct bench_run *run, double metrics[BENCH_METRICS])
{
	double gigabytes = metrics[BENCH_BYTES] / 1e9, sender_s = run->mount.cpu_s;
	uint64_t peak = run->mount.peak_kib, writer_peak = 0;
	unsigned number;

	for (number = 0; number < run->point.senders; number++) {
		const struct bench_slot *slot = &run->shared->slots[number];

		sender_s += slot->push_cpu_s;
		peak = slot->push_peak_kib > peak ? slot->push_peak_kib : peak;
		writer_peak = slot->peak_kib > writer_peak ? slot->peak_kib : writer_peak;
	}
	/* The time of a process that its parent has waited for counts as its parent's too. */
	metrics[BENCH_CPU_WRITER] = (run->sender_cpu_s - (run->point.way == BENCH_PUSH ? sender_s : 0)) / gigabytes;
	metrics[BENCH_CPU_ALL] = metrics[BENCH_CPU_WRITER];
	metrics[BENCH_PEAK_WRITER] = (double)writer_peak / 1024;
	if (run->point.way != BENCH_LIBRARY) {
		metrics[BENCH_CPU_SENDER] = sender_s / gigabytes;
		metrics[BENCH_CPU_ALL] += metrics[BENCH_CPU_SENDER];
		metrics[BENCH_PEAK_SENDER] = (double)peak / 1024;
	}
	if (!run->options->receiver) {
		double receivers_s = 0;

		peak = 0;
		for (number = 0; number < bench_servers_count(run); number++) {
			receivers_s += run->receivers[number].cpu_s;
			if (run->receivers[number].peak_kib > peak)
				peak = run->receivers[number].peak_kib;
		}
		metrics[BENCH_CPU_RECEIVER] = receivers_s / gigabytes;
		metrics[BENCH_CPU_ALL] += metrics[BENCH_CPU_RECEIVER];
		metrics[BENCH_PEAK_RECEIVER] = (double)peak / 1024;
	}
}

/* The comparison carries as much as the run did, but no more than takes a moment, or finds room in memory. */
static uint64_t against_bytes(const double metrics[BENCH_METRICS])
{
	uint64_t all = (uint64_t)metrics[BENCH_BYTES];

	return all < AGAINST_BYTES_MAX ? all : AGAINST_BYTES_MAX;
}

static int pipe_run(const struct bench_run *run, double metrics[BENCH_METRICS])
{
	uint64_t bytes = against_bytes(metrics);
	struct bench_pipe carried = {.input = run->block,
				     .bytes = bytes,
				     .relays = bench_sinks[run->point.sink].relays,
				     .through = bench_sinks[run->point.sink].through};
	char output[BENCH_PATH_ROOM];
	int error;

	(void)snprintf(output, sizeof(output), "%s/pipe", run->work);
	carried.output = output;
	if (bench_sinks[run->point.sink].kafka) {
		if (bench_kafka_copy(run, &carried))
			return -1;
	} else {
		error = run->kept ? bench_peer_send(run, (uint64_t)metrics[BENCH_BYTES], &carried)
			: lseek(run->block, 0, SEEK_SET) < 0 ? -errno
							     : bench_pipe_copy(&carried);
		if (error && !bench_trouble(run))
			bench_error("pipe: %s", strerror(-error));
		(void)unlink(output);
		if (error)
			return -1;
	}
	metrics[BENCH_PIPE_MB] = (double)bytes / 1e6 / carried.seconds;
	metrics[BENCH_CPU_PIPE] = carried.cpu_seconds / ((double)bytes / 1e9);
	/* At a rate that is given, a ratio to a pipe that carries as much as it can would say nothing. */
	if (run->point.rate == 0 && run->point.link_mbit == 0)
		metrics[BENCH_RATIO] = bench_ratio(metrics[BENCH_COMMITTED_MB], metrics[BENCH_PIPE_MB]);
	return 0;
}

static void run_clear(struct bench_run *run)
{
	memset(run->shared, 0, sizeof(*run->shared));
	run->sender_cpu_s = 0;
	run->mount = (struct bench_process){0};
	memset(run->receivers, 0, sizeof(run->receivers));
	run->latency_count = 0;
	run->renamed_bytes = 0;
}

/* The same appends, by the same program, to files that are memory. */
static int tmpfs_run(struct bench_run *run, double metrics[BENCH_METRICS])
{
	uint64_t record_bytes = run->block_bytes / run->block_records;
	double other[BENCH_METRICS];
	int status;

	run->writer_records = against_bytes(metrics) / record_bytes / bench_stream_count(&run->point);
	run->point.way = BENCH_TMPFS;
	run_clear(run);
	status = senders_run(run);
	rates_take(run, other);
	run->point.way = BENCH_APPEND;
	metrics[BENCH_TMPFS_MB] = other[BENCH_PRODUCED_MB];
	if (run->point.rate == 0)
		metrics[BENCH_OF_TMPFS] = bench_ratio(metrics[BENCH_PRODUCED_MB], metrics[BENCH_TMPFS_MB]);
	return status;
}

static int figures_take(struct bench_run *run, double metrics[BENCH_METRICS])
{
	if (run->point.way == BENCH_RECORD) {
		metrics[BENCH_RECORD_NS] = run->shared->slots[0].record_ns;
		return 0;
	}
	if (run->point.way == BENCH_IDLE) {
		metrics[BENCH_IDLE_MOUNT] = run->shared->slots[0].idle_mount;
		metrics[BENCH_IDLE_RECEIVER] = run->shared->slots[0].idle_receiver;
		return 0;
	}
	if (run->point.way == BENCH_FAILOVER) {
		metrics[BENCH_FAILOVER_MS] = run->shared->failover_ms;
		return 0;
	}
	rates_take(run, metrics);
	usage_take(run, metrics);
	latencies_take(run, metrics);
	if (!run->options->receiver && !bench_sinks[run->point.sink].kafka && received_take(run, metrics))
		return -1;
	windows_take(run, metrics);
	comparisons_take(run, metrics);
	return 0;
}

int bench_run(struct bench_run *run, double metrics[BENCH_METRICS])
{
	unsigned number;
	int status;

	for (number = 0; number < BENCH_METRICS; number++)
		metrics[number] = (double)NAN;
	run_clear(run);
	status = parts_start(run);
	if (status == 0)
		status = senders_run(run);
	if (parts_stop(run))
		status = -1;
	if (status == 0)
		status = figures_take(run, metrics);
	received_remove(run);
	free(run->latencies_ns);
	run->latencies_ns = NULL;
	if (status == 0 && !bench_way_still(run->point.way))
		status = run->point.way == BENCH_APPEND ? tmpfs_run(run, metrics) : pipe_run(run, metrics);
	bench_peer_stop(run);
	return status;
}
