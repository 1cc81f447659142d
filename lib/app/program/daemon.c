/* SPDX-License-Identifier: MIT */
#include "app/program/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/link.h"

#define STATUS_DIED 1
#define LOG_WAIT_MS 1000
#define KEEP_WAIT_S 2
#define DESCRIPTORS_MAX 1000

/* Written before other threads start, or by the one call of k2i_daemon_ready. */
static const char *program_name = "k2hft";
static int log_fd = STDERR_FILENO;
static bool to_journal;       /* systemd reads standard error, and a level in front of each line */
static atomic_bool to_syslog; /* a mount's client logs already when its server leaves the terminal */
static int parent_fd = -1;    /* where a parent waits for a status byte */
static bool detached, ready;
/*
 * From k2i_daemon_ready or k2i_daemon_descriptor_drop on: where systemd listens, if it does, and how long it waits for a sign
 * of life; 0: for none.
 */
static struct {
	struct sockaddr_un address;
	socklen_t address_bytes;
	uint64_t watchdog_ns, alive_ns;
	char status[256];
} systemd;
static atomic_uint missed; /* messages that nobody took, of which no message tells yet */

static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};

/* systemd.exec(5). The variable alone says little: whoever inherits it can have sent its messages elsewhere. */
static bool is_journal(int fd)
{
	const char *journal = getenv("JOURNAL_STREAM");
	struct stat status;
	char name[64];

	if (!journal || fstat(fd, &status))
		return false;
	(void)snprintf(name, sizeof(name), "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
	return strcmp(journal, name) == 0;
}

/* sd-daemon(3) */
static const char *stderr_prefix(enum k2hft_log_level level, char *text, size_t room)
{
	text[0] = '\0';
	if (to_journal)
		(void)snprintf(text, room, "<%d>", priorities[level]);
	return text;
}

static const char *file_prefix(enum k2hft_log_level level, char *text, size_t room)
{
	static const char *const names[] = {"error", "warning", "info", "debug"};
	char stamp[32] = "";
	struct timespec now;
	struct tm local;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (localtime_r(&now.tv_sec, &local))
		(void)strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &local);
	(void)snprintf(text, room, "%s.%03ld %s ", stamp, now.tv_nsec / 1000000, names[level]);
	return text;
}

/* " (so many before were not taken)", or nothing; they count as told in `*before`. */
static const char *missed_text(unsigned *before, char *text, size_t room)
{
	*before = atomic_exchange(&missed, 0);
	text[0] = '\0';
	if (*before)
		(void)snprintf(text, room, " (%u messages before were not taken)", *before);
	return text;
}

static bool syslog_send(int type, const char *line, size_t bytes)
{
	const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = _PATH_LOG};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool sent = fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
		    send(fd, line, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;

	if (fd >= 0)
		(void)close(fd);
	return sent;
}

/*
 * Not syslog(3), which waits while its daemon has no room: that can be waiting itself, in a write to the mount whose line
 * this is.
 */
static void syslog_line(enum k2hft_log_level level, const char *text)
{
	char line[1280], stamp[32] = "", more[64];
	time_t now = time(NULL);
	struct tm local;
	unsigned before;
	int bytes;

	if (localtime_r(&now, &local))
		(void)strftime(stamp, sizeof(stamp), "%b %e %H:%M:%S", &local);
	bytes = snprintf(line, sizeof(line), "<%d>%s %s[%ld]: %s%s", LOG_DAEMON | priorities[level], stamp,
			 program_name, (long)getpid(), text, missed_text(&before, more, sizeof(more)));
	/* With its terminator where nothing else parts messages. */
	if (!syslog_send(SOCK_DGRAM, line, (size_t)bytes) && !syslog_send(SOCK_STREAM, line, (size_t)bytes + 1))
		(void)atomic_fetch_add(&missed, before + 1);
}

/* A reader that is only slow is waited for, once. */
static bool file_takes(void)
{
	struct pollfd room = {.fd = log_fd, .events = POLLOUT};
	int count;

	do
		count = poll(&room, 1, atomic_load(&missed) ? 0 : LOG_WAIT_MS);
	while (count < 0 && errno == EINTR);
	return count != 0;
}

/*
 * A terminal says that it has room when it has some for a part of a line, and would wait with the rest. Opened anew: others
 * have the same descriptor, and may not expect that it does not wait. -1: it is none.
 */
static int terminal_open(void)
{
	char path[32];

	if (!isatty(log_fd))
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", log_fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/*
 * A pipe that nobody reads, and a terminal that somebody has stopped, would hold whatever is held up by who logs: all
 * writers of a mount, for one.
 */
static void file_line(enum k2hft_log_level level, const char *text)
{
	char prefix[64], more[64];
	unsigned before;
	int terminal, bytes;

	if (!file_takes()) {
		(void)atomic_fetch_add(&missed, 1);
		return;
	}
	terminal = terminal_open();
	/* A single write, so that lines of threads and processes do not mix. */
	bytes = dprintf(terminal < 0 ? log_fd : terminal, "%s%s: %s%s\n",
			log_fd == STDERR_FILENO ? stderr_prefix(level, prefix, sizeof(prefix))
						: file_prefix(level, prefix, sizeof(prefix)),
			program_name, text, missed_text(&before, more, sizeof(more)));
	/* The disk of a log file can be full, too. */
	if (bytes < 0)
		(void)atomic_fetch_add(&missed, before + 1);
	if (terminal >= 0)
		(void)close(terminal);
}

static void log_line(void *argument, enum k2hft_log_level level, const char *text)
{
	(void)argument;
	if (to_syslog)
		syslog_line(level, text);
	else
		file_line(level, text);
}

/*
 * To write to a FIFO only, its open waits for a reader. As one of them this program waits for nobody, and what it says before
 * another one comes is not lost; file_takes does for what has no room.
 */
static int file_open(const char *file)
{
	const int flags = O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
	struct stat status;
	int fd;

	if (stat(file, &status) || !S_ISFIFO(status.st_mode))
		return k2i_link_open(file, O_WRONLY | flags, 0600);
	fd = k2i_link_open(file, O_RDWR | O_NONBLOCK | flags, 0600);
	/* A user who may not read it needs one who does. */
	return fd == -EACCES ? k2i_link_open(file, O_WRONLY | O_NONBLOCK | flags, 0600) : fd;
}

int k2i_daemon_log_open(const char *program, enum k2hft_log_level level, const char *file)
{
	int fd = file ? file_open(file) : STDERR_FILENO;
	int error = fd < 0 ? fd : 0;

	program_name = program;
	log_fd = error ? STDERR_FILENO : fd;
	to_journal = log_fd == STDERR_FILENO && is_journal(log_fd);
	k2hft_log_callback_set(log_line, NULL, level);
	if (error)
		k2i_log(K2HFT_LOG_ERROR, "can't write to %s: %s", file, strerror(-error));
	return error;
}

int k2i_daemon_level_parse(const char *text, enum k2hft_log_level *level)
{
	static const struct {
		const char *name;
		enum k2hft_log_level level;
	} levels[] = {
		{"err", K2HFT_LOG_ERROR},  {"wan", K2HFT_LOG_WARNING},     {"msg", K2HFT_LOG_INFO},
		{"dump", K2HFT_LOG_DEBUG}, {"silent", K2HFT_LOG_ERROR},    {"error", K2HFT_LOG_ERROR},
		{"info", K2HFT_LOG_INFO},  {"warning", K2HFT_LOG_WARNING}, {"debug", K2HFT_LOG_DEBUG},
	};
	size_t number;

	for (number = 0; number < sizeof(levels) / sizeof(levels[0]); number++) {
		if (strcasecmp(text, levels[number].name) != 0)
			continue;
		*level = levels[number].level;
		return 0;
	}
	return -EINVAL;
}

static int status_of(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : STATUS_DIED;
}

static void wait_for_child(pid_t child, int fd)
{
	unsigned char status;
	ssize_t bytes;
	int ended;

	do
		bytes = read(fd, &status, 1);
	while (bytes < 0 && errno == EINTR);
	if (bytes == 1)
		_exit(status);
	while (waitpid(child, &ended, 0) < 0)
		if (errno != EINTR)
			_exit(STATUS_DIED);
	_exit(status_of(ended));
}

int k2i_daemon_detach(void)
{
	int fds[2], null_fd;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	(void)fflush(NULL);
	child = fork();
	if (child < 0) {
		int error = -errno;

		(void)close(fds[0]);
		(void)close(fds[1]);
		return error;
	}
	if (child) {
		(void)close(fds[1]);
		wait_for_child(child, fds[0]);
	}
	(void)close(fds[0]);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd >= 0) {
		(void)dup2(null_fd, STDIN_FILENO);
		(void)close(null_fd);
	}
	parent_fd = fds[1];
	detached = true;
	return 0;
}

void k2i_daemon_leave(void)
{
	if (detached)
		(void)setsid();
}

static void parent_tell(int status)
{
	unsigned char byte = (unsigned char)status;

	if (parent_fd < 0)
		return;
	while (write(parent_fd, &byte, 1) < 0 && errno == EINTR)
		;
	(void)close(parent_fd);
	parent_fd = -1;
}

/* A program that this one starts must not speak for it. */
static void systemd_find(void)
{
	const char *path = getenv("NOTIFY_SOCKET"), *interval = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	size_t bytes = path ? strlen(path) : 0;

	if (bytes && bytes < sizeof(systemd.address.sun_path) && (*path == '/' || *path == '@')) {
		systemd.address.sun_family = AF_UNIX;
		memcpy(systemd.address.sun_path, path, bytes);
		if (*path == '@')
			systemd.address.sun_path[0] = '\0';
		systemd.address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
	}
	if (interval && (!pid || strtol(pid, NULL, 10) == getpid()))
		systemd.watchdog_ns = strtoull(interval, NULL, 10) * 1000;
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_USEC");
	(void)unsetenv("WATCHDOG_PID");
}

static void systemd_tell(const char *text)
{
	int fd = systemd.address_bytes ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

	if (fd < 0)
		return;
	(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&systemd.address,
		     systemd.address_bytes);
	(void)close(fd);
}

/* From here on nothing may be written to the terminal or pipe that the parent was started with. */
static void leave_terminal(void)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (log_fd == STDERR_FILENO)
		to_syslog = true;
	if (null_fd >= 0) {
		(void)dup2(null_fd, STDOUT_FILENO);
		(void)dup2(null_fd, STDERR_FILENO);
		(void)close(null_fd);
	}
	if (chdir("/"))
		k2i_log(K2HFT_LOG_WARNING, "daemon: can't change to /: %s", strerror(errno));
}

void k2i_daemon_ready(void)
{
	char text[64];

	if (ready)
		return;
	ready = true;
	systemd_find();
	(void)snprintf(text, sizeof(text), "READY=1\nMAINPID=%ld", (long)getpid());
	systemd_tell(text);
	if (!detached)
		return;
	leave_terminal();
	parent_tell(0);
}

void k2i_daemon_reloading(bool done)
{
	char text[64] = "READY=1";

	if (!done)
		(void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
			       (unsigned long long)(k2i_clock_now_ns() / 1000));
	systemd_tell(text);
}

void k2i_daemon_stopping(void)
{
	systemd_tell("STOPPING=1");
}

void k2i_daemon_status(const char *format, ...)
{
	char text[sizeof(systemd.status)] = "STATUS=";
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text + 7, sizeof(text) - 7, format, arguments);
	va_end(arguments);
	if (strcmp(text, systemd.status) == 0)
		return;
	memcpy(systemd.status, text, sizeof(text));
	systemd_tell(text);
}

uint64_t k2i_daemon_watchdog_ns(void)
{
	return systemd.watchdog_ns;
}

void k2i_daemon_alive(void)
{
	uint64_t now_ns = k2i_clock_now_ns();

	if (!systemd.watchdog_ns || now_ns - systemd.alive_ns < systemd.watchdog_ns / 4)
		return;
	systemd.alive_ns = now_ns;
	systemd_tell("WATCHDOG=1");
}

int k2i_daemon_descriptors(char *names, size_t names_room)
{
	const char *pid = getenv("LISTEN_PID"), *text = getenv("LISTEN_FDS"), *given = getenv("LISTEN_FDNAMES");
	long count = pid && text && strtol(pid, NULL, 10) == getpid() ? strtol(text, NULL, 10) : 0;
	int fd;

	(void)snprintf(names, names_room, "%s", given ? given : "");
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	if (count < 0 || count > DESCRIPTORS_MAX)
		return -EINVAL;
	for (fd = K2I_DAEMON_DESCRIPTORS_FIRST; fd < K2I_DAEMON_DESCRIPTORS_FIRST + (int)count; fd++)
		if (fcntl(fd, F_SETFD, FD_CLOEXEC))
			return -errno;
	return (int)count;
}

int k2i_daemon_descriptor_send(int to, const struct sockaddr_un *address, unsigned address_bytes, const char *text,
			       int fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.room = ""};
	struct iovec data = {.iov_base = (char *)(uintptr_t)text, .iov_len = strlen(text)};
	struct msghdr message = {.msg_name = (struct sockaddr_un *)(uintptr_t)address,
				 .msg_namelen = address_bytes,
				 .msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = fd < 0 ? NULL : &control,
				 .msg_controllen = fd < 0 ? 0 : sizeof(control)};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(to, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* systemd reads as fast as it can, but only so many messages at once wait for it. `fd`: -1, none. */
static int systemd_ask(const char *what, const char *name, int fd)
{
	const struct timeval patience = {.tv_sec = KEEP_WAIT_S};
	int to = systemd.address_bytes ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1, status;
	char text[128];

	if (to < 0)
		return systemd.address_bytes ? -errno : -ENOTCONN;
	(void)snprintf(text, sizeof(text), "%s=1\nFDNAME=%s", what, name);
	status = setsockopt(to, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) ? -errno : 0;
	if (status == 0)
		status = k2i_daemon_descriptor_send(to, &systemd.address, systemd.address_bytes, text, fd);
	(void)close(to);
	return status;
}

int k2i_daemon_descriptor_keep(const char *name, int fd)
{
	return systemd_ask("FDSTORE", name, fd);
}

int k2i_daemon_descriptor_drop(const char *name)
{
	systemd_find();
	return systemd_ask("FDSTOREREMOVE", name, -1);
}

void k2i_daemon_follow(void)
{
	if (parent_fd >= 0)
		(void)close(parent_fd);
	parent_fd = -1;
	systemd_find();
	systemd.address_bytes = 0;
	if (detached && !ready)
		leave_terminal();
	ready = true;
}

void k2i_daemon_failed(int status)
{
	parent_tell(status ? status : STATUS_DIED);
}
