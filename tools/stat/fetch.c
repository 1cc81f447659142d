/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/base/numbers.h"
#include "config/path.h"
#include "app/program/report.h"
#include "tools/stat/stat.h"

/* More targets than these wait for one of them to have answered. */
#define THREADS_MAX 63u
#define UNSERVED "the mount is there, but nothing serves it"

/* The files of the rings of a mount with several lanes; how many. */
static size_t lanes_find(const struct json_value *status, const char *paths[STAT_LANES_MAX])
{
	const struct json_value *lanes = json_get(status, "lanes"), *lane = lanes ? lanes->first : NULL;
	size_t count = 0;

	for (; lane && count < STAT_LANES_MAX; lane = lane->next)
		paths[count++] = json_text(lane, "ring_file");
	return count;
}

/*
 * The backlog of the mount's rings, which this process reads by itself: the mount has other things to do. Without the
 * right to read them, and while there are none, the status stays as the mount gave it.
 */
static char *backlog_add(char *text, const char *directory)
{
	struct k2i_report report = {.text = text, .bytes = strlen(text), .room = strlen(text) + 1, .comma = true};
	char link[PATH_MAX], *end = strrchr(text, '}');
	const char *paths[STAT_LANES_MAX];
	struct json_value *status;
	size_t at, count;

	if (!end || (size_t)snprintf(link, sizeof(link), "%s/%s", directory, K2I_RING_LINK_NAME) >= sizeof(link))
		return text;
	status = json_parse(text, report.bytes, &at);
	count = lanes_find(status, paths);
	if (!count)
		paths[count++] = link;
	report.bytes = (size_t)(end - text);
	stat_backlog_report(&report, paths, count);
	k2i_report_close(&report, '}');
	k2i_report_add(&report, "\n");
	json_free(status);
	if (!report.failed)
		return report.text;
	free(report.text);
	errno = ENOMEM;
	return NULL;
}

static char *mount_read(const char *directory, const char **reason)
{
	char *text = NULL;
	int root = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int file = root < 0 ? -1 : openat(root, K2I_STAT_NAME, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (file >= 0)
		text = stat_answer_read(file, -1);
	if (!text)
		*reason = root >= 0 && errno == ENOENT ? "it is a directory, but not the root of a mount of k2hftfuse"
			  : errno == ENOTCONN          ? UNSERVED
						       : strerror(errno);
	if (file >= 0)
		(void)close(file);
	if (root >= 0)
		(void)close(root);
	return text ? backlog_add(text, directory) : NULL;
}

/* The connection, if the ring's client tells of it. */
static void client_report(struct k2i_report *report, const char *path, const struct k2hft_ring_stats *ring)
{
	struct k2hft_client_stats stats = K2HFT_CLIENT_STATS_INIT;
	char receiver[K2HFT_RECEIVER_BYTES_MAX + 1], *colon;

	if (k2hft_client_observe(path, &stats, receiver, sizeof(receiver)))
		return;
	colon = strrchr(receiver, ':');
	if (colon)
		*colon++ = '\0';
	stats.acked = ring->acked;
	k2i_report_client(report, receiver, colon ? colon : "", &stats);
}

/* A ring without a name, by the descriptor of its process: a number says little. */
static void process_report(struct k2i_report *report, const char *path)
{
	char name[32] = "", comm[64];
	long pid;
	FILE *file;

	if (sscanf(path, "/proc/%ld/fd/", &pid) != 1)
		return;
	(void)snprintf(comm, sizeof(comm), "/proc/%ld/comm", pid);
	file = fopen(comm, "re");
	if (!file)
		return;
	if (fgets(name, sizeof(name), file))
		name[strcspn(name, "\n")] = '\0';
	(void)fclose(file);
	k2i_report_text(report, "process", name);
}

static char *ring_read(const char *path, const char **reason)
{
	struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT;
	struct k2i_report report = {0};
	int served, error = k2hft_ring_observe(path, &stats, &served);

	if (error) {
		*reason = error == -EPROTO ? "it is not a ring that this version knows; a receiver is HOST:CTLPORT, a "
					     "mount is its directory"
					   : strerror(-error);
		return NULL;
	}
	k2i_report_open(&report, NULL, '{');
	k2i_report_text(&report, "program", "ring");
	k2i_report_text(&report, "sender", served ? "runs" : "does not run");
	process_report(&report, path);
	k2i_report_ring(&report, &stats);
	client_report(&report, path, &stats);
	stat_backlog_report(&report, &path, 1);
	k2i_report_close(&report, '}');
	k2i_report_add(&report, "\n");
	if (report.failed)
		*reason = strerror(ENOMEM);
	return report.failed ? NULL : report.text;
}

static int text_write(int output, const char *text)
{
	size_t bytes = strlen(text), at = 0;
	ssize_t put = 1;

	for (; at < bytes && put > 0; at += put > 0 ? (size_t)put : 0)
		put = write(output, text + at, bytes - at);
	return at == bytes ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The status, or, with EXIT_FAILURE, why there is none. */
static int path_write(const char *target, int output)
{
	const char *reason = "";
	struct stat status;
	char *text;
	int error;

	if (stat(target, &status) < 0) {
		(void)text_write(output, errno == ENOTCONN ? UNSERVED : strerror(errno));
		return EXIT_FAILURE;
	}
	text = S_ISDIR(status.st_mode) ? mount_read(target, &reason) : ring_read(target, &reason);
	error = text_write(output, text ? text : reason);
	error = text ? error : EXIT_FAILURE;
	free(text);
	return error;
}

/* Reads the child's output; NULL with the reason. */
static char *child_hear(pid_t child, int descriptor, int timeout_ms, char *reason, size_t room)
{
	char *text = stat_answer_read(descriptor, timeout_ms);
	int error = text ? 0 : errno, status = 0;

	if (error == ETIMEDOUT)
		(void)kill(child, SIGKILL);
	(void)close(descriptor);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (!error && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
		return text;
	(void)snprintf(reason, room, "%s",
		       error == ETIMEDOUT    ? "no answer in time"
		       : WIFSIGNALED(status) ? "the process that asked was killed"
		       : error               ? strerror(error)
					     : text);
	free(text);
	return NULL;
}

/* Ends with its parent: nobody else would wake it. */
static _Noreturn void child_do(pid_t parent, const char *target, int output)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(getppid() == parent ? path_write(target, output) : EXIT_FAILURE);
}

/* A pipe's end, where the child's answer comes; -errno. */
static int child_begin(const char *target, pid_t *child)
{
	pid_t parent = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	*child = fork();
	if (*child == 0)
		child_do(parent, target, ends[1]);
	if (*child < 0) {
		int error = -errno;

		(void)close(ends[0]);
		ends[0] = error;
	}
	(void)close(ends[1]);
	return ends[0];
}

/*
 * In a process of its own: whoever asks a mount whose server hangs can't be woken but by SIGKILL. Threads fork one after the
 * other: a child that had the other end of another's pipe would hold up the end of that answer.
 */
static char *path_fetch(const char *target, int timeout_ms, char *reason, size_t room)
{
	static pthread_mutex_t forks = PTHREAD_MUTEX_INITIALIZER;
	pid_t child = -1;
	int answer;

	(void)pthread_mutex_lock(&forks);
	answer = child_begin(target, &child);
	(void)pthread_mutex_unlock(&forks);
	if (answer >= 0)
		return child_hear(child, answer, timeout_ms, reason, room);
	(void)snprintf(reason, room, "%s", strerror(-answer));
	return NULL;
}

static bool is_path(const char *target)
{
	return strchr(target, '/') || target[0] == '.' || access(target, F_OK) == 0;
}

char *stat_fetch(const char *target, int timeout_ms, char *reason, size_t room)
{
	char copy[RECEIVER_ROOM];
	const char *host, *port;

	if (is_path(target))
		return path_fetch(target, timeout_ms, reason, room);
	if (receiver_parse(target, "", copy, &host, &port) == 0)
		return stat_http_get(host, port, timeout_ms, reason, room);
	(void)snprintf(reason, room, "there is no such file, and it is not HOST:CTLPORT");
	return NULL;
}

struct asking {
	void (*ask)(void *context, size_t at);
	void *context;
	size_t count;
	atomic_size_t next;
};

static void *asking_run(void *argument)
{
	struct asking *asking = argument;
	size_t at;

	/* relaxed: each number is given once, and pthread_join publishes the rest. */
	while ((at = atomic_fetch_add_explicit(&asking->next, 1, memory_order_relaxed)) < asking->count)
		asking->ask(asking->context, at);
	return NULL;
}

void stat_targets_ask(void (*ask)(void *context, size_t at), void *context, size_t count)
{
	struct asking asking = {.ask = ask, .context = context, .count = count};
	pthread_t threads[THREADS_MAX];
	size_t started = 0;

	/* This thread takes part: where no other can be had, it asks one after the other. */
	while (started + 1 < count && started < THREADS_MAX &&
	       pthread_create(&threads[started], NULL, asking_run, &asking) == 0)
		started++;
	(void)asking_run(&asking);
	while (started > 0)
		(void)pthread_join(threads[--started], NULL);
}
