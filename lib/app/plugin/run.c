/* SPDX-License-Identifier: MIT */
#include "app/plugin/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/plugin/process.h"
#include "base/clock.h"
#include "base/log.h"

#define LOOK_MS 100
#define TERM_LOOKS 10u  /* from SIGTERM to SIGKILL */
#define ERROR_LINES 20u /* in ten seconds */

struct running {
	struct k2i_process process;
	const char *area, *name;
	struct k2i_log_limit limit;
	char line[512];
	size_t line_bytes;
};

static void line_log(struct running *running)
{
	if (running->line_bytes)
		k2i_log_limited(&running->limit, k2i_clock_now_ns(), K2HFT_LOG_WARNING, "%s: %s: %.*s", running->area,
				running->name, (int)running->line_bytes, running->line);
	running->line_bytes = 0;
}

/* A longer line comes in parts. False: the end. */
static bool errors_read(struct running *running)
{
	char bytes[4096];
	ssize_t got;

	while ((got = read(running->process.errors, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			if (bytes[i] == '\n' || running->line_bytes == sizeof(running->line))
				line_log(running);
			if (bytes[i] != '\n')
				running->line[running->line_bytes++] = bytes[i];
		}
	}
	return got < 0;
}

/* Processes that it has left behind may have its standard error still. */
static int end_await(struct running *running, const atomic_bool *stop)
{
	struct pollfd look = {running->process.errors, POLLIN, 0};
	unsigned looks = 0;
	int status;

	while (!k2i_process_ended(&running->process, &status)) {
		(void)poll(&look, 1, LOOK_MS);
		if (look.fd >= 0 && !errors_read(running))
			look.fd = -1;
		if (atomic_load(stop) && looks++ % TERM_LOOKS == 0)
			k2i_process_signal(&running->process, looks > 1 ? SIGKILL : SIGTERM);
	}
	if (look.fd >= 0)
		(void)errors_read(running);
	line_log(running);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int command_run(struct running *running, const struct k2i_plugin_command *command, const atomic_bool *stop)
{
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), result;

	if (nowhere < 0)
		return -errno;
	result = k2i_process_start(command, nowhere, &running->process);
	(void)close(nowhere);
	if (result)
		return result;
	(void)close(running->process.input);
	result = end_await(running, stop);
	(void)close(running->process.errors);
	return result;
}

int k2i_plugin_run(const struct k2i_plugin_command *command, const char *last_argument, const char *area,
		   const atomic_bool *stop)
{
	struct running running = {.area = area, .name = command->path, .limit.burst = ERROR_LINES};
	struct k2i_plugin_command whole = *command;
	size_t count = 0;
	int result;

	while (command->arguments[count])
		count++;
	whole.arguments = malloc((count + 2) * sizeof(*whole.arguments));
	if (!whole.arguments)
		return -ENOMEM;
	memcpy(whole.arguments, command->arguments, count * sizeof(*whole.arguments));
	whole.arguments[count] = strdup(last_argument);
	whole.arguments[count + 1] = NULL;
	result = whole.arguments[count] ? command_run(&running, &whole, stop) : -ENOMEM;
	free(whole.arguments[count]);
	free(whole.arguments);
	return result;
}
