/* SPDX-License-Identifier: MIT */
/* How long records take until they are in the receiver's file, seen from outside: the file grows. */
#include "tools/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define READ_BYTES 65536
#define LOOK_NS 100000    /* while a file is not there yet */
#define WAIT_NS 100000000 /* for the next one to grow */
#define LIMIT_NS UINT64_C(30000000000)

struct watch {
	struct bench_run *run;
	int notices; /* inotify */
	int files[BENCH_STREAMS_MAX];
	uint64_t seen[BENCH_STREAMS_MAX];
	uint64_t grown_ns, limit_ns;
	bool all_open;
};

/* Counted from when it was due: a sender that is held up makes the records behind it late too. */
static void record_seen(struct watch *watch, unsigned stream, uint64_t now)
{
	struct bench_run *run = watch->run;
	uint64_t due = run->shared->start_ns + bench_due_ns(run, stream, watch->seen[stream]++);

	if (watch->seen[stream] <= run->writer_records)
		run->latencies_ns[run->latency_count++] = now > due ? now - due : 0;
}

static void file_read(struct watch *watch, unsigned stream)
{
	char bytes[READ_BYTES], *at;
	uint64_t now;
	ssize_t got;

	while ((got = read(watch->files[stream], bytes, sizeof(bytes))) > 0) {
		now = k2i_clock_ns(CLOCK_MONOTONIC);
		watch->grown_ns = now;
		for (at = bytes; (at = memchr(at, '\n', (size_t)(bytes + got - at))); at++)
			record_seen(watch, stream, now);
	}
}

static void files_look(struct watch *watch)
{
	char path[BENCH_PATH_ROOM];
	unsigned stream;

	watch->all_open = true;
	for (stream = 0; stream < bench_stream_count(&watch->run->point); stream++) {
		if (watch->files[stream] < 0) {
			bench_received_path(watch->run, stream, path);
			watch->files[stream] = open(path, O_RDONLY | O_CLOEXEC);
			if (watch->files[stream] >= 0 && inotify_add_watch(watch->notices, path, IN_MODIFY) < 0)
				bench_error("inotify: %s", strerror(errno));
		}
		if (watch->files[stream] >= 0)
			file_read(watch, stream);
		else
			watch->all_open = false;
	}
}

static int growth_wait(struct watch *watch)
{
	struct pollfd notices = {.fd = watch->notices, .events = POLLIN};
	struct timespec wait = {.tv_nsec = watch->all_open ? WAIT_NS : LOOK_NS};
	char events[4096];
	int ready = ppoll(&notices, 1, &wait, NULL);

	if (ready > 0 && read(watch->notices, events, sizeof(events)) < 0)
		return -errno;
	if (bench_interrupted() || (ready == 0 && bench_trouble(watch->run)))
		return -ECANCELED;
	return k2i_clock_ns(CLOCK_MONOTONIC) - watch->grown_ns > watch->limit_ns ? -ETIMEDOUT : 0;
}

int bench_latency_watch(struct bench_run *run)
{
	struct watch watch = {.run = run, .grown_ns = k2i_clock_ns(CLOCK_MONOTONIC)};
	uint64_t all = run->writer_records * bench_stream_count(&run->point);
	unsigned stream;
	int error = 0;

	/* From one write to the next nothing is to come. */
	watch.limit_ns = LIMIT_NS + bench_due_ns(run, 0, run->point.per_write ? run->point.per_write : 1);
	watch.notices = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watch.notices < 0)
		return bench_failed(-1, "inotify: %s", strerror(errno));
	run->latency_count = 0;
	run->latencies_ns =
		all <= SIZE_MAX / sizeof(*run->latencies_ns) ? calloc((size_t)all, sizeof(*run->latencies_ns)) : NULL;
	if (!run->latencies_ns)
		error = -ENOMEM;
	for (stream = 0; stream < BENCH_STREAMS_MAX; stream++)
		watch.files[stream] = -1;
	while (error == 0) {
		files_look(&watch);
		if (run->latency_count == all)
			break;
		error = growth_wait(&watch);
	}
	for (stream = 0; stream < BENCH_STREAMS_MAX; stream++)
		if (watch.files[stream] >= 0)
			(void)close(watch.files[stream]);
	(void)close(watch.notices);
	if (error && error != -ECANCELED)
		bench_error("the records do not arrive: %s", strerror(-error));
	return error ? -1 : 0;
}
