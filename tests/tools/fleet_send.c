/* SPDX-License-Identifier: MIT */
/*
 * A program with several receivers, which change while it goes on:
 *
 *	fleet_send RING FAILOVER_MS STREAM RECORDS HOST:PORT...
 *
 * RECORDS is a pipe with what `k2hft verify --make --shared` makes; the records of each producer are a stream,
 * STREAM.PRODUCER. A line of standard input is "add HOST PORT" or "remove HOST PORT", and its answer "done", or why not.
 * Ends with 0 when RECORDS has ended and everything is acknowledged.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <k2hft/k2hft.h>

#define PRODUCERS_MAX 1000u
#define TARGETS_MAX 16
#define TIMEOUT_MS 240000

struct fleet {
	struct k2hft_sender *sender;
	struct k2hft_writer *writers[PRODUCERS_MAX + 1];
	const char *stream;
	char text[65536];
	size_t bytes;
};

/* "~k2RUN,PRODUCER,..." */
static unsigned long line_producer(const char *line)
{
	const char *comma = strchr(line, ',');

	return comma ? strtoul(comma + 1, NULL, 10) : 0;
}

/* `line` has no line end. */
static int line_send(struct fleet *fleet, const char *line, size_t bytes)
{
	unsigned long producer = line_producer(line);
	char name[256];
	int status = 0;

	if (producer == 0 || producer > PRODUCERS_MAX)
		return -ERANGE;
	(void)snprintf(name, sizeof(name), "%s.%lu", fleet->stream, producer);
	if (!fleet->writers[producer])
		status = k2hft_writer_open(fleet->sender, name, &fleet->writers[producer]);
	return status ? status : k2hft_writer_write(fleet->writers[producer], line, bytes);
}

/* 1: `records` has ended. */
static int records_take(struct fleet *fleet, int records)
{
	char *line = fleet->text, *end;
	ssize_t got = read(records, fleet->text + fleet->bytes, sizeof(fleet->text) - fleet->bytes);
	int status = 0;

	if (got <= 0)
		return got < 0 ? -errno : 1;
	fleet->bytes += (size_t)got;
	while (status == 0 && (end = memchr(line, '\n', fleet->bytes - (size_t)(line - fleet->text)))) {
		*end = '\0';
		status = line_send(fleet, line, (size_t)(end - line));
		line = end + 1;
	}
	fleet->bytes -= (size_t)(line - fleet->text);
	memmove(fleet->text, line, fleet->bytes);
	return status;
}

static void command_take(struct fleet *fleet, char *line)
{
	char *save, *verb = strtok_r(line, " \n", &save), *host = strtok_r(NULL, " \n", &save),
		    *port = strtok_r(NULL, " \n", &save);
	struct k2hft_target target = {.host = host, .port = port};
	int status = -EINVAL;

	if (verb && port && strcmp(verb, "add") == 0)
		status = k2hft_sender_target_add(fleet->sender, &target);
	else if (verb && port && strcmp(verb, "remove") == 0)
		status = k2hft_sender_target_remove(fleet->sender, host, port);
	puts(status ? strerror(-status) : "done");
	(void)fflush(stdout);
}

static int serve(struct fleet *fleet, int records)
{
	struct pollfd ready[] = {{.fd = records, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
	char line[256];
	int status = 0;

	/* A command comes as one write, and is answered before the next. */
	while (status == 0 && poll(ready, 2, -1) > 0) {
		ssize_t got = ready[1].revents ? read(STDIN_FILENO, line, sizeof(line) - 1) : 0;

		if (got > 0) {
			line[got] = '\0';
			command_take(fleet, line);
		} else if (ready[1].revents) {
			ready[1].fd = -1;
		}
		if (ready[0].revents)
			status = records_take(fleet, records);
	}
	return status > 0 ? 0 : status;
}

static int sender_open(struct k2hft_sender **sender, char **argv)
{
	struct k2hft_target targets[TARGETS_MAX] = {{0}};
	struct k2hft_sender_options options = K2HFT_SENDER_OPTIONS_INIT;

	options.ring_path = argv[1];
	options.failover_ms = (uint32_t)strtoul(argv[2], NULL, 10);
	options.targets = targets;
	for (char **given = argv + 5; *given && options.target_count < TARGETS_MAX; given++) {
		char *colon = strrchr(*given, ':');

		if (!colon)
			return -EINVAL;
		*colon = '\0';
		targets[options.target_count++] = (struct k2hft_target){.host = *given, .port = colon + 1};
	}
	return k2hft_sender_open(&options, sender);
}

int main(int argc, char **argv)
{
	struct fleet *fleet = calloc(1, sizeof(*fleet));
	int records, status, closed = 0;

	if (argc < 6 || !fleet)
		return 2;
	fleet->stream = argv[3];
	status = sender_open(&fleet->sender, argv);
	records = open(argv[4], O_RDONLY | O_CLOEXEC);
	if (status == 0)
		status = records < 0 ? -errno : serve(fleet, records);
	for (unsigned producer = 0; producer <= PRODUCERS_MAX; producer++)
		k2hft_writer_close(fleet->writers[producer]);
	if (fleet->sender)
		closed = k2hft_sender_close(fleet->sender, TIMEOUT_MS);
	if (status || closed)
		fprintf(stderr, "fleet_send: %s, %s\n", strerror(-status), strerror(-closed));
	free(fleet);
	return status || closed;
}
