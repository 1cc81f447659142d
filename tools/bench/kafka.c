/* SPDX-License-Identifier: MIT */
/* A plain producer of Kafka in place of a pipe: by the receiver's module, in a process of its own. */
#include "tools/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/program/module.h"
#include "tools/bench/pipe.h"

#define REASON_ROOM 256

struct outcome {
	int error;
	double seconds;
	char reason[REASON_ROOM];
};

/* A receiver commits at the latest when its senders may not send more before that. */
static uint64_t commit_bytes(const struct bench_point *point)
{
	return point->senders * (point->ring_bytes < BENCH_WINDOW_BYTES ? point->ring_bytes : BENCH_WINDOW_BYTES);
}

static _Noreturn void produce(const struct bench_run *run, const struct k2i_kafka_tools *tools,
			      const struct bench_pipe *carried, int output)
{
	struct k2i_kafka_plain plain = {.brokers = run->options->brokers,
					.topic = BENCH_KAFKA_TOPIC,
					.block_bytes = (size_t)run->block_bytes,
					.bytes = carried->bytes,
					.commit_ms = BENCH_KAFKA_COMMIT_MS,
					.commit_bytes = commit_bytes(&run->point)};
	struct outcome outcome = {0};
	void *block = mmap(NULL, plain.block_bytes, PROT_READ, MAP_PRIVATE, carried->input, 0);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	plain.block = block;
	if (block == MAP_FAILED)
		outcome.error = -errno;
	else
		outcome.error = tools->plain(&plain, &outcome.seconds, outcome.reason, sizeof(outcome.reason));
	_exit(bench_write_all(output, (const char *)&outcome, sizeof(outcome)) ? 1 : 0);
}

int bench_kafka_copy(const struct bench_run *run, struct bench_pipe *carried)
{
	char reason[PATH_MAX + REASON_ROOM];
	const struct k2i_kafka_tools *tools = k2i_module_load("kafka", "k2i_kafka_tools", reason, sizeof(reason));
	struct outcome outcome = {.error = -EIO};
	struct rusage used;
	int ends[2];
	pid_t child;

	if (!tools)
		return bench_failed(-1, "--sink kafka: %s", reason);
	if (pipe2(ends, O_CLOEXEC))
		return bench_failed(-1, "pipe: %s", strerror(errno));
	child = fork();
	if (child == 0)
		produce(run, tools, carried, ends[1]);
	(void)close(ends[1]);
	if (child < 0 || read(ends[0], &outcome, sizeof(outcome)) != sizeof(outcome))
		outcome.error = -EIO;
	(void)close(ends[0]);
	if (child > 0 && outcome.error)
		(void)kill(child, SIGKILL);
	while (child > 0 && wait4(child, NULL, 0, &used) < 0 && errno == EINTR)
		continue;
	if (outcome.error)
		return bench_failed(-1, "plain producer of Kafka: %s",
				    *outcome.reason ? outcome.reason : strerror(-outcome.error));
	carried->seconds = outcome.seconds;
	carried->cpu_seconds = bench_cpu_s(&used);
	return 0;
}
