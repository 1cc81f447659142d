/* SPDX-License-Identifier: MIT */
/*
 * The measure for rate.sh. `pipe copy IN OUT` sends a file over loopback TCP to another process that writes it, with
 * nothing in between; `pipe timed OUT BYTES COMMAND...` runs a command and waits until OUT is BYTES long. Both print
 * the seconds that this took.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIECE_BYTES (256 * 1024)
#define POLL_NS 1000000
#define LIMIT_S 300.0

static char piece[PIECE_BYTES];

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "pipe: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void carry(int from, int to)
{
	ssize_t got, put, done;

	while ((got = read(from, piece, sizeof(piece))) > 0)
		for (done = 0; done < got; done += put)
			if ((put = write(to, piece + done, (size_t)(got - done))) < 0)
				fail("write");
	if (got < 0)
		fail("read");
}

static int open_or_fail(const char *path, int flags)
{
	int descriptor = open(path, flags | O_CLOEXEC, 0644);

	if (descriptor < 0)
		fail(path);
	return descriptor;
}

static pid_t receiver_start(const char *path, struct sockaddr_in *address)
{
	socklen_t address_bytes = sizeof(*address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int output = open_or_fail(path, O_WRONLY | O_CREAT | O_TRUNC);
	pid_t child;

	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener < 0 || bind(listener, (struct sockaddr *)address, sizeof(*address)) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)address, &address_bytes))
		fail("listen");
	child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0) {
		carry(accept(listener, NULL, NULL), output);
		exit(0);
	}
	close(listener);
	close(output);
	return child;
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
	struct sockaddr_in address;
	int input = open_or_fail(from, O_RDONLY);
	pid_t receiver = receiver_start(to, &address);
	int connection = socket(AF_INET, SOCK_STREAM, 0);

	if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof(address)))
		fail("connect");
	carry(input, connection);
	close(connection);
	wait_for(receiver);
}

static void timed(const char *output, int64_t bytes, char **command)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	double begin = now_s();
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
		if (now_s() - begin > LIMIT_S) {
			fprintf(stderr, "pipe: %s does not grow to %" PRId64 " bytes\n", output, bytes);
			exit(1);
		}
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	double begin = now_s();

	if (argc == 4 && strcmp(argv[1], "copy") == 0)
		copy(argv[2], argv[3]);
	else if (argc >= 5 && strcmp(argv[1], "timed") == 0)
		timed(argv[2], strtoll(argv[3], NULL, 10), argv + 4);
	else
		return 2;
	printf("%.4f\n", now_s() - begin);
	return 0;
}
