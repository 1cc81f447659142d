/* SPDX-License-Identifier: MIT */
/* A run's streams: their names, the receiver's files that they end in, and when a record of them is due. */
#include "tools/bench/bench.h"

#include <stdio.h>
#include <string.h>

unsigned bench_stream_count(const struct bench_point *point)
{
	return (unsigned)(point->senders * point->writers);
}

void bench_stream_name(const struct bench_point *point, unsigned stream, char name[BENCH_STREAM_ROOM])
{
	unsigned writers = (unsigned)point->writers;

	if (writers > 1)
		(void)snprintf(name, BENCH_STREAM_ROOM, "bench/%u.%u", stream / writers, stream % writers);
	else
		(void)snprintf(name, BENCH_STREAM_ROOM, "bench/%u", stream);
}

unsigned bench_received_count(const struct bench_run *run)
{
	return (unsigned)run->point.receivers * (run->point.unify ? 1 : bench_stream_count(&run->point));
}

void bench_received_folder(const struct bench_run *run, unsigned receiver, char path[BENCH_PATH_ROOM])
{
	(void)snprintf(path, BENCH_PATH_ROOM, receiver ? "%s/received.%u" : "%s/received", run->work, receiver);
}

void bench_received_path(const struct bench_run *run, unsigned file, char path[BENCH_PATH_ROOM])
{
	unsigned each = bench_received_count(run) / (unsigned)run->point.receivers;
	char name[BENCH_STREAM_ROOM] = "unify.log";
	size_t used;

	if (!run->point.unify)
		bench_stream_name(&run->point, file % each, name);
	bench_received_folder(run, file / each, path);
	used = strlen(path);
	(void)snprintf(path + used, BENCH_PATH_ROOM - used, "/%s", name);
}

uint64_t bench_due_ns(const struct bench_run *run, unsigned stream, uint64_t record)
{
	uint64_t per_write = run->point.per_write ? run->point.per_write : 1;
	double first = (double)(record - record % per_write) * bench_stream_count(&run->point) + stream;

	return (uint64_t)(first * 1e9 / (double)run->point.rate);
}
