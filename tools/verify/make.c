/* SPDX-License-Identifier: MIT */
/* Producers that write records. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "app/program/ring_stats.h"
#include "tools/base/output.h"
#include "tools/verify/output.h"
#include "tools/verify/record.h"

/* How many records are made before they are written, if nothing says otherwise. */
#define BATCH_BYTES (64u * 1024)
#define SLICE_NS 100000000L
/* Ends system calls of a producer; tells the main thread that one has ended. */
#define SIGNAL_LOOK SIGUSR1

struct making {
	const struct verify_options *options;
	struct verify_text text;
	uint32_t run;
	uint64_t started_ns;
	pthread_t main_thread;
	_Atomic(uint32_t) running, writing; /* producers; those that are in a write */
	_Atomic(uint64_t) writes;           /* that have ended */
	/* As it was last seen that something had come on. */
	uint64_t moved_writes, moved_acked, moved_ns;
};

struct producer {
	struct making *making;
	struct verify_output output;
	struct verify_record record; /* to be made next */
	uint64_t made_bytes;
	char *buffer;
	size_t filled; /* with what is not written yet */
	bool between;  /* what is written ends with a record's end */
	int status;    /* to exit with */
	pthread_t thread;
	bool started;
	_Atomic(bool) ended;
};

static atomic_bool stop_asked, given_up;

static bool stopping(void)
{
	return atomic_load_explicit(&stop_asked, memory_order_relaxed);
}

static uint64_t made_count(const struct producer *producer)
{
	return producer->record.counter - producer->making->options->first;
}

static uint64_t counter_max(const struct making *making)
{
	return making->run == VERIFY_RUN_NONE ? VERIFY_COMPACT_COUNTER_MAX : VERIFY_COUNTER_MAX;
}

static bool all_made(const struct producer *producer)
{
	const struct verify_options *options = producer->making->options;

	return producer->record.counter > counter_max(producer->making) ||
	       (options->count && made_count(producer) >= options->count) ||
	       (options->bytes && producer->made_bytes >= options->bytes);
}

static bool records_enough(const struct producer *producer)
{
	const struct making *making = producer->making;

	return stopping() || all_made(producer) ||
	       (making->options->seconds &&
		k2i_clock_now_ns() - making->started_ns >= making->options->seconds * K2I_SECOND_NS);
}

/* Waits until a record is due. How many are. */
static uint64_t due_wait(const struct producer *producer)
{
	uint64_t rate = producer->making->options->rate, count = made_count(producer), due_ns, passed_ns, left_ns;
	struct timespec pause;

	if (!rate)
		return UINT64_MAX;
	due_ns = count / rate * K2I_SECOND_NS + count % rate * K2I_SECOND_NS / rate;
	passed_ns = k2i_clock_ns(CLOCK_MONOTONIC) - producer->making->started_ns;
	if (passed_ns >= due_ns)
		return passed_ns / K2I_SECOND_NS * rate + passed_ns % K2I_SECOND_NS * rate / K2I_SECOND_NS + 1 - count;
	left_ns = due_ns - passed_ns;
	/* In slices, so that a time limit is kept; a signal ends it too, and then nothing is due. */
	pause = k2i_timespec(left_ns < SLICE_NS ? left_ns : SLICE_NS);
	(void)nanosleep(&pause, NULL);
	return 0;
}

/* Makes records behind those in the buffer. */
static void records_make(struct producer *producer)
{
	const struct making *making = producer->making;
	const struct verify_options *options = making->options;
	uint64_t due = due_wait(producer);
	uint64_t batch_bytes = options->write_bytes > BATCH_BYTES ? options->write_bytes : BATCH_BYTES;

	for (; due && producer->filled < batch_bytes; due--) {
		size_t wanted = verify_record_length(making->text.seed, &producer->record, (size_t)options->size_min,
						     (size_t)options->size_max),
		       bytes = verify_record_encode(&making->text, &producer->record, wanted,
						    producer->buffer + producer->filled);

		producer->filled += bytes;
		producer->made_bytes += bytes;
		producer->record.counter++;
		if (all_made(producer))
			break;
	}
}

/* How much of what is made goes into one write; 0: nothing before there is more. */
static size_t write_bytes(const struct producer *producer, size_t at, bool last)
{
	const struct verify_options *options = producer->making->options;
	size_t rest_bytes = producer->filled - at;
	const char *end;

	if (options->write_bytes) {
		if (rest_bytes >= options->write_bytes)
			return (size_t)options->write_bytes;
		return last ? rest_bytes : 0;
	}
	if (!options->append_each && !options->reopen && !producer->output.writer)
		return rest_bytes;
	end = memchr(producer->buffer + at, '\n', rest_bytes);
	return end ? (size_t)(end - producer->buffer) - at + 1 : rest_bytes;
}

/* Records that were not written were not made. */
static void rest_forget(struct producer *producer)
{
	const char *at = producer->buffer, *end = producer->buffer + producer->filled;

	producer->made_bytes -= producer->filled;
	for (; at < end; at++)
		producer->record.counter -= *at == '\n';
	producer->filled = 0;
}

static int producer_failed(struct producer *producer, int error)
{
	verify_error("%s: producer %" PRIu32 ", record %" PRIu64 ": %s",
		     producer->output.name ? producer->output.name : "", producer->record.producer,
		     producer->record.counter, output_error_text(error));
	producer->status = STATUS_FAILED;
	return error;
}

/* Writes what the buffer holds. `last`: all of it. 0, or an error after its message; -EINTR if it was asked to stop. */
static int records_write(struct producer *producer, bool last)
{
	struct making *making = producer->making;
	size_t at = 0, bytes, taken;
	int status = 0;

	while (at < producer->filled && status == 0) {
		bytes = write_bytes(producer, at, last);
		if (!bytes)
			break;
		atomic_fetch_add_explicit(&making->writing, 1, memory_order_relaxed);
		status = verify_output_put(&producer->output, producer->buffer + at, bytes, &taken);
		atomic_fetch_sub_explicit(&making->writing, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&making->writes, 1, memory_order_relaxed);
		at += taken;
		if (taken)
			producer->between = producer->buffer[at - 1] == '\n';
		/* A record that has begun is to be written whole, if there is ever room for it. */
		if (status == -EINTR && !atomic_load(&given_up) && !(stopping() && producer->between))
			status = 0;
	}
	producer->filled -= at;
	memmove(producer->buffer, producer->buffer + at, producer->filled);
	if (status)
		rest_forget(producer);
	if (status && status != -EINTR)
		(void)producer_failed(producer, status);
	return status;
}

static int records_produce(struct producer *producer)
{
	struct making *making = producer->making;
	const struct verify_options *options = making->options;
	size_t room = (size_t)(options->write_bytes > BATCH_BYTES ? options->write_bytes : BATCH_BYTES) +
		      (size_t)options->size_max + VERIFY_RECORD_NUMBERS_BYTES_MAX;
	int status = 0;

	producer->buffer = malloc(room);
	if (!producer->buffer)
		return producer_failed(producer, -ENOMEM);
	while (status == 0 && !records_enough(producer)) {
		records_make(producer);
		status = records_write(producer, false);
	}
	if (status == 0)
		status = records_write(producer, true);
	return status;
}

/* Here, since it can wait as a write can. */
static int output_close(struct producer *producer)
{
	int status = verify_output_close(&producer->output);

	return status ? producer_failed(producer, status) : 0;
}

static void *producer_run(void *argument)
{
	struct producer *producer = argument;
	struct making *making = producer->making;
	sigset_t looks;

	(void)sigemptyset(&looks);
	(void)sigaddset(&looks, SIGNAL_LOOK);
	(void)pthread_sigmask(SIG_UNBLOCK, &looks, NULL);
	(void)records_produce(producer);
	(void)output_close(producer);
	atomic_store_explicit(&producer->ended, true, memory_order_relaxed);
	atomic_fetch_sub_explicit(&making->running, 1, memory_order_relaxed);
	(void)pthread_kill(making->main_thread, SIGNAL_LOOK);
	return NULL;
}

static void looked(int number)
{
	(void)number;
}

static void signals_set(sigset_t *signals)
{
	struct sigaction action = {.sa_handler = looked};

	/* Not SA_RESTART: a write that waits is to end. */
	(void)sigaction(SIGNAL_LOOK, &action, NULL);
	(void)sigemptyset(signals);
	(void)sigaddset(signals, SIGINT);
	(void)sigaddset(signals, SIGTERM);
	(void)sigaddset(signals, SIGNAL_LOOK);
	(void)pthread_sigmask(SIG_BLOCK, signals, NULL);
}

/* SIGINT and SIGTERM wait to be fetched: true when one was. */
static bool interrupted(const sigset_t *signals, long wait_ns)
{
	const struct timespec wait = {.tv_nsec = wait_ns};
	int number = sigtimedwait(signals, NULL, &wait);

	return number == SIGINT || number == SIGTERM;
}

/* The second SIGINT or SIGTERM; or the time is over. */
static bool flush_stop(void)
{
	sigset_t signals;

	if (atomic_load(&given_up))
		return true;
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	return interrupted(&signals, 0) && atomic_exchange(&stop_asked, true);
}

/* How long writes have waited for room, and no acknowledgement made any. */
static uint64_t stalled_ns(struct making *making, struct k2hft_sender *sender)
{
	uint64_t writes = atomic_load_explicit(&making->writes, memory_order_relaxed),
		 now_ns = k2i_clock_ns(CLOCK_MONOTONIC), acked = k2i_ring_stats_get(k2hft_sender_ring(sender)).acked;

	if (!atomic_load_explicit(&making->writing, memory_order_relaxed) || writes != making->moved_writes ||
	    acked != making->moved_acked) {
		making->moved_writes = writes;
		making->moved_acked = acked;
		making->moved_ns = now_ns;
	}
	return now_ns - making->moved_ns;
}

static void stall_look(struct making *making, struct k2hft_sender *sender)
{
	/* More than a slice, so that it has been looked at twice. */
	uint64_t waited_ns = stalled_ns(making, sender),
		 limit_ns = making->options->timeout_s * K2I_SECOND_NS + 2 * SLICE_NS;

	if (waited_ns > limit_ns && !atomic_load(&given_up)) {
		verify_error("the ring is full, and nothing was acknowledged for %" PRIu64 " s",
			     making->options->timeout_s);
		atomic_store(&given_up, true);
		atomic_store(&stop_asked, true);
	} else if (waited_ns > limit_ns + K2I_SECOND_NS) {
		/* The library writes a record whole that it has begun, whatever signals come. */
		verify_error("the last record is incomplete");
		_exit(STATUS_FAILED);
	}
}

/* `sender`: NULL if they write files. */
static void producers_wait(struct making *making, struct producer *producers, const sigset_t *signals,
			   struct k2hft_sender *sender)
{
	while (atomic_load_explicit(&making->running, memory_order_relaxed)) {
		if (interrupted(signals, SLICE_NS) && atomic_exchange(&stop_asked, true)) {
			verify_error("interrupted twice: the last records may be incomplete");
			_exit(STATUS_FAILED);
		}
		if (sender)
			stall_look(making, sender);
		for (uint32_t at = 0; stopping() && at < making->options->producers; at++)
			if (producers[at].started && !atomic_load_explicit(&producers[at].ended, memory_order_relaxed))
				(void)pthread_kill(producers[at].thread, SIGNAL_LOOK);
	}
}

static void producers_start(struct making *making, struct producer *producers, struct k2hft_sender *sender)
{
	for (uint32_t at = 0; at < making->options->producers; at++) {
		struct producer *producer = producers + at;
		int status;

		producer->making = making;
		producer->between = true;
		producer->record.run = making->run;
		producer->record.producer = (uint32_t)making->options->producer + at;
		producer->record.counter = making->options->first;
		status = verify_output_open(&producer->output, making->options, sender, producer->record.producer);
		if (status == 0) {
			atomic_fetch_add_explicit(&making->running, 1, memory_order_relaxed);
			status = -pthread_create(&producer->thread, NULL, producer_run, producer);
			producer->started = status == 0;
			if (status)
				atomic_fetch_sub_explicit(&making->running, 1, memory_order_relaxed);
		}
		if (status)
			(void)producer_failed(producer, status);
	}
}

/* The worst status of all. */
static int producers_end(struct producer *producers, uint32_t count)
{
	int worst = STATUS_OK;

	for (uint32_t at = 0; at < count; at++) {
		struct producer *producer = producers + at;

		if (producer->started)
			(void)pthread_join(producer->thread, NULL);
		else
			(void)output_close(producer);
		if (producer->status)
			worst = producer->status;
		free(producer->output.name);
		free(producer->buffer);
	}
	return worst;
}

#define COLUMNS 5
static const char *const column_names[COLUMNS] = {"producer", "first", "last", "records", "bytes"};

static void columns_of(const struct producer *producer, uint64_t columns[COLUMNS])
{
	columns[0] = producer->record.producer;
	columns[1] = producer->making->options->first;
	columns[2] = producer->record.counter - 1;
	columns[3] = made_count(producer);
	columns[4] = producer->made_bytes;
}

static void table_print(const struct making *making, const struct producer *producers, bool aligned)
{
	static const int widths[COLUMNS] = {8, 10, 12, 10, 13};
	char run[VERIFY_RUN_TEXT_BYTES];
	uint64_t columns[COLUMNS];

	(void)printf("%-*s", aligned ? 7 : 0, "run");
	for (size_t column = 0; column < COLUMNS; column++)
		(void)printf("%s%*s", aligned ? " " : "\t", aligned ? widths[column] : 0, column_names[column]);
	for (uint32_t at = 0; at < making->options->producers; at++) {
		columns_of(producers + at, columns);
		(void)printf("\n%-*s", aligned ? 7 : 0, verify_run_text(making->run, run));
		for (size_t column = 0; column < COLUMNS; column++)
			(void)printf("%s%*" PRIu64, aligned ? " " : "\t", aligned ? widths[column] : 0,
				     columns[column]);
	}
	(void)putchar('\n');
}

static void json_print(const struct making *making, const struct producer *producers, double seconds)
{
	char run[VERIFY_RUN_TEXT_BYTES];
	uint64_t columns[COLUMNS];

	(void)printf("{\"run\":\"%s\",\"seed\":%" PRIu64 ",\"seconds\":%.3f,\"producers\":[",
		     verify_run_text(making->run, run), making->text.seed, seconds);
	for (uint32_t at = 0; at < making->options->producers; at++) {
		columns_of(producers + at, columns);
		for (size_t column = 0; column < COLUMNS; column++)
			(void)printf("%s\"%s\":%" PRIu64,
				     column ? ","
				     : at   ? ",{"
					    : "{",
				     column_names[column], columns[column]);
		(void)putchar('}');
	}
	(void)puts("]}");
}

static void summary_print(const struct making *making, const struct producer *producers)
{
	double seconds = (double)(k2i_clock_ns(CLOCK_MONOTONIC) - making->started_ns) / 1e9, megabytes = 0;
	uint64_t records = 0;

	for (uint32_t at = 0; at < making->options->producers; at++) {
		records += made_count(producers + at);
		megabytes += (double)producers[at].made_bytes / 1e6;
	}
	if (making->options->json) {
		json_print(making, producers, seconds);
	} else if (making->options->table) {
		table_print(making, producers, false);
	} else if (!making->options->quiet) {
		table_print(making, producers, true);
		(void)printf("%" PRIu64 " records, %.1f MB in %.2f s, %.0f MB/s; seed %" PRIu64 "\n", records,
			     megabytes, seconds, seconds > 0 ? megabytes / seconds : 0, making->text.seed);
	}
}

static int make_all(struct making *making, struct producer *producers)
{
	const struct verify_options *options = making->options;
	bool through_library = options->receiver || options->config || options->attach;
	struct verify_sender sender = {0};
	sigset_t signals;
	int status = STATUS_OK, made, closed;

	signals_set(&signals);
	if (through_library)
		status = verify_sender_open(options, &sender);
	if (status == STATUS_OK) {
		making->started_ns = making->moved_ns = k2i_clock_ns(CLOCK_MONOTONIC);
		producers_start(making, producers, sender.sender);
		producers_wait(making, producers, &signals, sender.sender);
		made = producers_end(producers, (uint32_t)options->producers);
		closed = verify_sender_close(options, &sender, flush_stop);
		status = made ? made : closed;
		summary_print(making, producers);
	}
	return status;
}

int verify_make(const struct verify_options *options)
{
	struct making *making = calloc(1, sizeof(*making));
	struct producer *producers = calloc((size_t)options->producers, sizeof(*producers));
	int status = STATUS_FAILED;

	if (making && producers) {
		making->options = options;
		making->main_thread = pthread_self();
		making->run =
			options->size_min < VERIFY_RECORD_BYTES_MIN ? VERIFY_RUN_NONE : verify_run_of(options->seed);
		verify_text_fill(&making->text, options->seed);
		k2hft_log_callback_set(command_log, "verify", options->quiet ? K2HFT_LOG_ERROR : K2HFT_LOG_WARNING);
		status = make_all(making, producers);
		k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
	} else {
		verify_error("%s", strerror(ENOMEM));
	}
	free(producers);
	free(making);
	return status;
}
