/* SPDX-License-Identifier: MIT */
/*
 * The measure for the scripts of this folder. `pipe copy IN OUT` sends a file over loopback TCP to another process that writes it, with
 * nothing in between; `pipe timed OUT BYTES COMMAND...` runs a command and waits until OUT is BYTES long. Both print
 * the seconds that this took.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/bench/pipe.h"

#define POLL_NS 1000000
#define LIMIT_NS (300 * K2I_SECOND_NS)

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "pipe: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void wait_for(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) < 0 || status != 0) {
		fprintf(stderr, "pipe: the command failed\n");
		exit(1);
	}
}

static void copy(const char *from, const char *to)
{
	struct bench_pipe carried = {.input = open(from, O_RDONLY | O_CLOEXEC), .output = to};
	struct stat status;
	int error;

	if (carried.input < 0 || fstat(carried.input, &status))
		fail(from);
	carried.bytes = (uint64_t)status.st_size;
	error = bench_pipe_copy(&carried);
	if (error) {
		errno = -error;
		fail(to);
	}
}

static void timed(const char *output, int64_t bytes, char **command)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	uint64_t begin_ns = k2i_clock_now_ns();
	struct stat status;
	pid_t child = fork();

	if (child < 0)
		fail("fork");
	if (child == 0) {
		execvp(command[0], command);
		fail(command[0]);
	}
	wait_for(child);
	while (stat(output, &status) || status.st_size < bytes) {
		if (k2i_clock_now_ns() - begin_ns > LIMIT_NS) {
			fprintf(stderr, "pipe: %s does not grow to %" PRId64 " bytes\n", output, bytes);
			exit(1);
		}
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	uint64_t begin_ns = k2i_clock_now_ns();

	if (argc == 4 && strcmp(argv[1], "copy") == 0)
		copy(argv[2], argv[3]);
	else if (argc >= 5 && strcmp(argv[1], "timed") == 0)
		timed(argv[2], strtoll(argv[3], NULL, 10), argv + 4);
	else
		return 2;
	printf("%.4f\n", (double)(k2i_clock_now_ns() - begin_ns) / 1e9);
	return 0;
}
