/* SPDX-License-Identifier: MIT */
#include "tools/bench/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define PIECE_BYTES (256 * 1024)

static char piece[PIECE_BYTES];

double bench_cpu_s(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

int bench_write_all(int output, const char *bytes, size_t count)
{
	ssize_t put;

	for (; count > 0; bytes += put, count -= (size_t)put) {
		put = write(output, bytes, count);
		if (put < 0)
			return -errno;
	}
	return 0;
}

static int carry(int from, int to, uint64_t left, int again)
{
	size_t wanted;
	ssize_t got;
	int error = 0, starved = 0;

	while (left > 0 && error == 0) {
		wanted = left < sizeof(piece) ? (size_t)left : sizeof(piece);
		got = read(from, piece, wanted);
		if (got < 0)
			return -errno;
		if (got == 0 && (!again || starved++ || lseek(from, 0, SEEK_SET) < 0))
			return -EIO;
		if (got > 0)
			starved = 0;
		left -= (uint64_t)got;
		error = bench_write_all(to, piece, (size_t)got);
	}
	return error;
}

int bench_listener_open(struct sockaddr_in *address)
{
	socklen_t address_bytes = sizeof(*address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

	if (listener < 0)
		return -errno;
	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (bind(listener, (struct sockaddr *)address, sizeof(*address)) == 0 && listen(listener, 1) == 0 &&
	    getsockname(listener, (struct sockaddr *)address, &address_bytes) == 0)
		return listener;
	error = -errno;
	(void)close(listener);
	return error;
}

/* The input of a program that writes to `output`, or -errno. */
static int program_start(const char *program, int output, pid_t *child)
{
	int ends[2], error;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	*child = fork();
	if (*child == 0) {
		if (dup2(ends[0], STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0)
			(void)execlp(program, program, (char *)NULL);
		_exit(127);
	}
	error = -errno;
	(void)close(ends[0]);
	if (*child > 0)
		return ends[1];
	(void)close(ends[1]);
	return error;
}

static int receiver_start(const struct bench_pipe *carried, pid_t *child);

static _Noreturn void receive(int listener, const struct bench_pipe *carried)
{
	struct bench_pipe rest = *carried;
	int output, error, status = 0;
	pid_t child = 0;

	if (rest.relays) {
		rest.relays--;
		output = receiver_start(&rest, &child);
	} else {
		output = open(carried->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (output >= 0 && carried->through)
			output = program_start(carried->through, output, &child);
	}
	error = output < 0 ? output : carry(accept(listener, NULL, NULL), output, carried->bytes, 0);
	(void)close(output);
	if (child > 0 && waitpid(child, &status, 0) < 0)
		status = 1;
	_exit(error || status);
}

/* A connection to it, or -errno. */
static int receiver_start(const struct bench_pipe *carried, pid_t *child)
{
	struct sockaddr_in address;
	int listener = bench_listener_open(&address), connection = -1, error;

	if (listener < 0)
		return listener;
	*child = fork();
	if (*child == 0)
		receive(listener, carried);
	error = *child < 0 ? -errno : 0;
	(void)close(listener); /* the child's is the only one, or nobody would see that it is gone */
	if (error == 0) {
		connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connection >= 0 && connect(connection, (const struct sockaddr *)&address, sizeof(address)) == 0)
			return connection;
		error = -errno;
		(void)kill(*child, SIGKILL); /* it may wait for a connection */
	}
	if (connection >= 0)
		(void)close(connection);
	return error;
}

int bench_pipe_copy(struct bench_pipe *carried)
{
	struct rusage before, after, receiver;
	uint64_t begin_ns = k2i_clock_now_ns();
	int connection, error, status = 0;
	pid_t child = 0;

	(void)getrusage(RUSAGE_SELF, &before);
	connection = receiver_start(carried, &child);
	error = connection < 0 ? connection : carry(carried->input, connection, carried->bytes, 1);
	if (connection >= 0)
		(void)close(connection);
	while (child > 0 && wait4(child, &status, 0, &receiver) < 0 && errno == EINTR)
		error = error ? error : -EINTR;
	if (error || status)
		return error ? error : -EIO;
	carried->seconds = (double)(k2i_clock_now_ns() - begin_ns) / 1e9;
	(void)getrusage(RUSAGE_SELF, &after);
	carried->cpu_seconds = bench_cpu_s(&after) - bench_cpu_s(&before) + bench_cpu_s(&receiver);
	return 0;
}
