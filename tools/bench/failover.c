/* SPDX-License-Identifier: MIT */
/* How long a stream stands still when its receiver is killed: from its last record there to its first elsewhere. */
#include "tools/bench/bench.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <k2hft/sender.h>

#define RECORD_NS 1000000
#define LOOK_NS 200000
/* So much is written before, as by a sender that has run for a while. */
#define WARM_NS 500000000
#define LIMIT_NS UINT64_C(30000000000)
#define FLUSH_MS 30000

struct watch {
	struct bench_run *run;
	uint64_t sizes[BENCH_RECEIVERS_MAX], grown_ns[BENCH_RECEIVERS_MAX];
};

int bench_failover_send(struct bench_run *run, const char *block)
{
	const struct timespec pause = {.tv_nsec = RECORD_NS};
	struct k2hft_sender *sender;
	struct k2hft_writer *writer;
	int error = bench_library_open(run, &sender), closed;

	if (error)
		return error;
	error = k2hft_writer_open(sender, "bench/0", &writer);
	while (error == 0 && !atomic_load(&run->shared->over)) {
		error = k2hft_writer_write(writer, block, (size_t)run->point.size - 1);
		(void)nanosleep(&pause, NULL);
	}
	k2hft_writer_close(writer);
	closed = k2hft_sender_close(sender, FLUSH_MS);
	return error ? error : closed;
}

static void sizes_look(struct watch *watch)
{
	char path[BENCH_PATH_ROOM];
	struct stat status;

	for (unsigned number = 0; number < watch->run->point.receivers; number++) {
		bench_received_path(watch->run, number, path);
		if (stat(path, &status) || (uint64_t)status.st_size <= watch->sizes[number])
			continue;
		watch->sizes[number] = (uint64_t)status.st_size;
		watch->grown_ns[number] = k2i_clock_ns(CLOCK_MONOTONIC);
	}
}

/* Until a receiver's file has grown after `since_ns`; -1 with the message. */
static int growth_await(struct watch *watch, uint64_t since_ns)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	uint64_t begin = k2i_clock_ns(CLOCK_MONOTONIC);

	while (k2i_clock_ns(CLOCK_MONOTONIC) - begin < LIMIT_NS) {
		sizes_look(watch);
		for (unsigned number = 0; number < watch->run->point.receivers; number++)
			if (watch->grown_ns[number] > since_ns)
				return (int)number;
		if (bench_interrupted() || bench_trouble(watch->run))
			return -1;
		(void)nanosleep(&pause, NULL);
	}
	return bench_failed(-1, "the records do not arrive");
}

/* Its end is no failure of the run. */
static void receiver_kill(struct bench_process *receiver)
{
	(void)kill(receiver->pid, SIGKILL);
	while (waitpid(receiver->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	receiver->pid = 0;
}

int bench_failover_watch(struct bench_run *run)
{
	struct watch watch = {.run = run};
	int first = growth_await(&watch, 0), next = first < 0 ? -1 : first;
	uint64_t warm_ns = k2i_clock_ns(CLOCK_MONOTONIC) + WARM_NS;

	while (next >= 0 && watch.grown_ns[first] < warm_ns)
		next = growth_await(&watch, watch.grown_ns[first]);
	if (next >= 0) {
		receiver_kill(&run->receivers[first]);
		sizes_look(&watch);
		next = growth_await(&watch, watch.grown_ns[first]);
	}
	if (next >= 0)
		run->shared->failover_ms = (double)(watch.grown_ns[next] - watch.grown_ns[first]) / 1e6;
	atomic_store(&run->shared->over, true);
	return next < 0 ? -1 : 0;
}
