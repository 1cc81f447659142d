/* SPDX-License-Identifier: MIT */
/*
 * A sender of k2hft bench: a process that writes records, as fast as they are taken or at a rate. With several writers
 * each has a thread, as in a program that logs from all of its threads.
 */
#include "tools/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/sender.h>

#include "tools/bench/pipe.h"

#define PIPE_BYTES (1024 * 1024)
#define FLUSH_MS 120000
#define TMPFS "/dev/shm"
/* How often a run by time looks whether it is over: after so many steps, or one of so many bytes. */
#define STEPS_PER_CLOCK 64u
#define STEP_BYTES (64u * 1024)

/* A stream of the sender. */
struct sending {
	struct bench_run *run;
	unsigned sender, number; /* number: of the stream */
	int ready, gate;
	char stream[BENCH_STREAM_ROOM];
	int output; /* push, mount */
	pid_t push;
	struct k2hft_sender *library;
	struct k2hft_writer *writer;
	pthread_t thread;
	const char *block;
	char *copy; /* mount: room for as much as the block */
	uint64_t per_write, per_step;
	uint64_t produced_ns, bytes, records;
};

static int library_open(struct sending *sending)
{
	/* Another's can be away for long, and whoever waits wants to know. */
	if (sending->run->options->receiver)
		k2hft_log_callback_set(command_log, "bench", K2HFT_LOG_WARNING);
	return bench_library_open(sending->run, &sending->library);
}

static _Noreturn void push_exec(const struct sending *sending, int input)
{
	const struct bench_run *run = sending->run;
	char program[4096], receiver[BENCH_PATH_ROOM], ring_size[24];
	const char *where = run->options->receiver ? "-r" : run->point.receivers > 1 ? "-qc" : "-qr";
	bool key = run->point.tls && run->point.receivers == 1;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	bench_program_find("k2hft", program, sizeof(program));
	(void)snprintf(receiver, sizeof(receiver), strchr(run->host, ':') ? "[%s]:%s" : "%s:%s", run->host,
		       run->ports[0]);
	if (run->point.receivers > 1 && bench_sender_config(run, receiver))
		_exit(127);
	(void)snprintf(ring_size, sizeof(ring_size), "%" PRIu64, run->point.ring_bytes);
	if (dup2(input, STDIN_FILENO) >= 0)
		(void)execlp(program, program, "push", where, receiver, "-t", sending->stream, "--level",
			     level_names[run->point.level], "--compress", compress_names[run->point.compress],
			     "--ring-size", ring_size, key ? "--psk" : (char *)NULL, run->shared_key, (char *)NULL);
	_exit(127);
}

static int push_open(struct sending *sending)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	(void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
	sending->push = fork();
	if (sending->push == 0)
		push_exec(sending, ends[0]);
	(void)close(ends[0]);
	sending->output = ends[1];
	return sending->push < 0 ? -errno : 0;
}

/* mount: as `cat >FILE` does. mount-append: as a program that logs does, each record when it is made. */
static int mount_open(struct sending *sending)
{
	char path[BENCH_PATH_ROOM];
	bool mount = sending->run->point.way == BENCH_MOUNT;
	int append = mount ? 0 : O_APPEND;

	sending->copy = mount ? malloc((size_t)sending->run->block_bytes) : NULL;
	if (mount && !sending->copy)
		return -ENOMEM;
	(void)snprintf(path, sizeof(path), "%s/mnt/%s", sending->run->work, sending->stream);
	sending->output = open(path, O_WRONLY | O_CREAT | append | O_CLOEXEC, 0644);
	return sending->output < 0 ? -errno : 0;
}

/* Without a name from the start: it is gone with the process. */
static int tmpfs_open(struct sending *sending)
{
	sending->output = open(TMPFS, O_WRONLY | O_TMPFILE | O_APPEND | O_CLOEXEC, 0600);
	return sending->output < 0 ? -errno : 0;
}

/* Read from the block's file first, as cat(1) does, and the plain pipe. */
static int copy_write(const struct sending *sending, const char *records, size_t bytes)
{
	ssize_t got = pread(sending->run->block, sending->copy, bytes, records - sending->block);

	if (got < 0)
		return -errno;
	return (size_t)got == bytes ? bench_write_all(sending->output, sending->copy, bytes) : -EIO;
}

/* Each by a call of its own. A program that has ten bytes to write does not do more around it than this. */
static int each_write(struct k2hft_writer *writer, const char *records, size_t bytes, size_t size)
{
	const char *end = records + bytes;
	int error = 0;

	for (; records < end && error == 0; records += size)
		error = k2hft_writer_write(writer, records, size - 1);
	return error;
}

static int records_put(struct sending *sending, const char *records, size_t bytes)
{
	size_t size = (size_t)sending->run->point.size;

	if (sending->copy)
		return copy_write(sending, records, bytes);
	if (sending->run->point.way != BENCH_LIBRARY)
		return bench_write_all(sending->output, records, bytes);
	if (sending->per_write == 1)
		return each_write(sending->writer, records, bytes, size ? size : bytes);
	return k2hft_writer_lines(sending->writer, records, bytes, NULL);
}

static void due_wait(const struct sending *sending, uint64_t record)
{
	uint64_t due = sending->run->shared->start_ns + bench_due_ns(sending->run, sending->number, record);
	struct timespec until = k2i_timespec(due);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		continue;
}

/* Bytes of the next step, which ends with a record. */
static uint64_t next_bytes(const struct sending *sending, uint64_t at, uint64_t left)
{
	const struct bench_run *run = sending->run;
	uint64_t size = run->point.size, rest = run->block_bytes - at, most = rest < left ? rest : left, count;
	const char *begin = sending->block + at, *end = begin;

	if (size)
		return sending->per_step * size < most ? sending->per_step * size : most;
	if (sending->per_write == 0) {
		end = memrchr(begin, '\n', most < BENCH_WRITE_BYTES ? (size_t)most : BENCH_WRITE_BYTES);
		end = end ? end : memchr(begin, '\n', (size_t)rest);
		return (uint64_t)(end + 1 - begin);
	}
	for (count = 0; count < sending->per_write && end < begin + rest; count++)
		end = (const char *)memchr(end, '\n', (size_t)(begin + rest - end)) + 1;
	return (uint64_t)(end - begin);
}

/* How many records are in what was sent: laps of the block and the begin of another. */
static uint64_t records_of(const struct sending *sending, uint64_t bytes)
{
	const struct bench_run *run = sending->run;
	const char *text = sending->block, *end = text + bytes % run->block_bytes;
	uint64_t records = bytes / run->block_bytes * run->block_records;

	if (run->point.size)
		return bytes / run->point.size;
	for (; (text = memchr(text, '\n', (size_t)(end - text))); text++)
		records++;
	return records;
}

static uint64_t stream_bytes(const struct bench_run *run)
{
	if (run->writer_records == UINT64_MAX)
		return UINT64_MAX;
	if (run->point.size)
		return run->writer_records * run->point.size;
	return run->writer_records * (run->block_bytes / run->block_records);
}

static int records_send(struct sending *sending)
{
	const struct bench_run *run = sending->run;
	uint64_t all = stream_bytes(run), sent = 0, at = 0, bytes = 0, steps = 0;
	uint64_t end_ns = run->shared->start_ns + run->point.seconds * 1000000000u;
	int error = 0;

	while (sent < all && error == 0) {
		if (run->point.rate)
			due_wait(sending, sent / run->point.size);
		else if (all == UINT64_MAX && (++steps % STEPS_PER_CLOCK == 0 || bytes >= STEP_BYTES) &&
			 k2i_clock_ns(CLOCK_MONOTONIC) >= end_ns)
			break;
		bytes = next_bytes(sending, at, all - sent);
		error = records_put(sending, sending->block + at, (size_t)bytes);
		sent += bytes;
		at = at + bytes == run->block_bytes ? 0 : at + bytes;
	}
	sending->produced_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	sending->records = records_of(sending, sent);
	sending->bytes = sent;
	return error;
}

static int push_end(struct sending *sending)
{
	struct bench_slot *slot = &sending->run->shared->slots[sending->sender];
	struct rusage usage;
	int status;

	(void)close(sending->output);
	while (wait4(sending->push, &status, 0, &usage) < 0)
		if (errno != EINTR)
			return -errno;
	slot->push_cpu_s = bench_cpu_s(&usage);
	slot->push_peak_kib = (uint64_t)usage.ru_maxrss;
	return status ? -EIO : 0;
}

static int output_commit(struct sending *sending)
{
	switch (sending->run->point.way) {
	case BENCH_LIBRARY:
		return k2hft_sender_flush(sending->library, FLUSH_MS);
	case BENCH_PUSH:
		return push_end(sending);
	case BENCH_TMPFS:
		return 0;
	default: /* the mount's fsync returns when the receiver has acknowledged */
		return fsync(sending->output) ? -errno : 0;
	}
}

static int output_open(struct sending *sending)
{
	switch (sending->run->point.way) {
	case BENCH_LIBRARY:
		return library_open(sending);
	case BENCH_PUSH:
		return push_open(sending);
	case BENCH_TMPFS:
		return tmpfs_open(sending);
	case BENCH_RECORD: /* they open what they need */
	case BENCH_IDLE:
	case BENCH_FAILOVER:
		return 0;
	default:
		return mount_open(sending);
	}
}

/* How many records go between two looks at the clock and at what is left. */
static uint64_t per_step_of(const struct sending *sending)
{
	const struct bench_point *point = &sending->run->point;

	if (point->way != BENCH_LIBRARY || sending->per_write != 1 || point->rate || point->size == 0)
		return sending->per_write;
	return point->size < STEP_BYTES ? STEP_BYTES / point->size : 1;
}

static int release_await(const struct sending *sending)
{
	char byte = 0;

	return write(sending->ready, &byte, 1) == 1 && read(sending->gate, &byte, 1) == 0 ? 0 : -EPIPE;
}

static int stream_send(struct sending *sending)
{
	int error = sending->library ? k2hft_writer_open(sending->library, sending->stream, &sending->writer) : 0;

	if (error == 0)
		error = release_await(sending);
	if (error == 0)
		error = records_send(sending);
	k2hft_writer_close(sending->writer);
	return error;
}

static _Noreturn void fail(const struct sending *sending, int error)
{
	bench_error("sender %u: %s%s", sending->sender, sending->run->point.way == BENCH_TMPFS ? TMPFS ": " : "",
		    strerror(-error));
	_exit(1);
}

/* Ends the process if it fails: the others would wait for all to be ready. */
static void *thread_send(void *argument)
{
	struct sending *sending = argument;
	int error = stream_send(sending);

	if (error)
		fail(sending, error);
	return NULL;
}

/* The first writer is the thread that is there anyway. */
static int streams_send(struct sending *sendings, struct bench_slot *slot)
{
	unsigned writers = (unsigned)sendings[0].run->point.writers, number;
	int error = 0;

	for (number = 1; number < writers && error == 0; number++) {
		sendings[number] = sendings[0];
		sendings[number].number += number;
		bench_stream_name(&sendings[0].run->point, sendings[number].number, sendings[number].stream);
		error = -pthread_create(&sendings[number].thread, NULL, thread_send, &sendings[number]);
	}
	if (error == 0)
		error = stream_send(&sendings[0]);
	for (number = 0; number < writers && error == 0; number++) {
		if (number)
			error = -pthread_join(sendings[number].thread, NULL);
		slot->bytes += sendings[number].bytes;
		slot->records += sendings[number].records;
		if (sendings[number].produced_ns > slot->produced_ns)
			slot->produced_ns = sendings[number].produced_ns;
	}
	return error;
}

static int all_send(struct sending *sendings, struct bench_slot *slot)
{
	struct bench_run *run = sendings[0].run;
	bool still = bench_way_still(run->point.way);
	int error = still ? release_await(&sendings[0]) : streams_send(sendings, slot);

	if (error)
		return error;
	if (run->point.way == BENCH_RECORD)
		return bench_record_cost(run, sendings[0].block, slot);
	if (run->point.way == BENCH_FAILOVER)
		return bench_failover_send(run, sendings[0].block);
	return still ? bench_idle_use(run, slot) : output_commit(&sendings[0]);
}

void bench_send(struct bench_run *run, unsigned number, int ready, int gate)
{
	struct sending sendings[BENCH_WRITERS_MAX] = {{.run = run,
						       .sender = number,
						       .number = number * (unsigned)run->point.writers,
						       .ready = ready,
						       .gate = gate,
						       .per_write = bench_per_write(&run->point)}};
	struct bench_slot *slot = &run->shared->slots[number];
	struct rusage usage;
	void *block;
	int error;

	sendings[0].per_step = per_step_of(&sendings[0]);
	bench_stream_name(&run->point, sendings[0].number, sendings[0].stream);
	error = output_open(&sendings[0]);
	if (error)
		fail(&sendings[0], error);
	block = mmap(NULL, (size_t)run->block_bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, run->block, 0);
	sendings[0].block = block;
	error = block == MAP_FAILED ? -errno : all_send(sendings, slot);
	slot->committed_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	slot->peak_kib = getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss;
	if (error)
		fail(&sendings[0], error);
	_exit(0);
}
