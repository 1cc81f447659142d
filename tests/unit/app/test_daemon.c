/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "app/program/daemon.h"
#include "folder_help.h"

/* Runs `body` in a process of its own, since it forks and changes what belongs to the process. Its exit status. */
static int status_of(void (*body)(void))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		body();
		_exit(99);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void detach(void)
{
	if (k2i_daemon_detach())
		_exit(98);
}

static void body_ready(void)
{
	detach();
	k2i_daemon_ready();
	_exit(7);
}

static void body_failed(void)
{
	detach();
	k2i_daemon_failed(2);
	_exit(0);
}

static void body_exits(void)
{
	detach();
	_exit(3);
}

static void body_exits_well(void)
{
	detach();
	_exit(0);
}

static void body_killed(void)
{
	detach();
	(void)raise(SIGKILL);
}

static void body_in_foreground(void)
{
	k2i_daemon_failed(2);
	k2i_daemon_ready();
	_exit(5);
}

TEST(test_parent_status)
{
	assert_int_equal(status_of(body_ready), 0);
	assert_int_equal(status_of(body_failed), 2);
	assert_int_equal(status_of(body_exits), 3);
	assert_int_equal(status_of(body_exits_well), 1);
	assert_int_equal(status_of(body_killed), 1);
	assert_int_equal(status_of(body_in_foreground), 5);
}

static int report_fd;

static bool is_null(int fd)
{
	struct stat status;

	return !fstat(fd, &status) && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
}

static void body_surroundings(void)
{
	char here[256];
	bool before;
	pid_t group = getpgrp();

	k2i_daemon_leave(); /* in the foreground nothing */
	detach();
	if (getpgrp() != group)
		_exit(97);
	k2i_daemon_leave();
	before = !is_null(STDERR_FILENO);
	k2i_daemon_ready();
	k2i_daemon_ready();
	(void)dprintf(report_fd, "%d %d%d%d %s %d", before, is_null(0), is_null(1), is_null(2),
		      getcwd(here, sizeof(here)), getsid(0) == getpid());
	_exit(0);
}

/* All of it, until nobody is left who could report more. */
static void reported(int fd, char *text, size_t room)
{
	size_t bytes = 0;
	ssize_t more;

	while ((more = read(fd, text + bytes, room - 1 - bytes)) > 0)
		bytes += (size_t)more;
	text[bytes] = '\0';
	(void)close(fd);
}

TEST(test_surroundings)
{
	char text[300];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	report_fd = fds[1];
	assert_int_equal(status_of(body_surroundings), 0);
	(void)close(fds[1]);
	reported(fds[0], text, sizeof(text));
	assert_string_equal(text, "1 111 / 1");
}

TEST(test_levels)
{
	static const struct {
		const char *text;
		enum k2hft_log_level level;
	} cases[] = {
		{"err", K2HFT_LOG_ERROR},   {"ERR", K2HFT_LOG_ERROR},       {"wan", K2HFT_LOG_WARNING},
		{"msg", K2HFT_LOG_INFO},    {"dump", K2HFT_LOG_DEBUG},      {"silent", K2HFT_LOG_ERROR},
		{"error", K2HFT_LOG_ERROR}, {"warning", K2HFT_LOG_WARNING}, {"info", K2HFT_LOG_INFO},
		{"debug", K2HFT_LOG_DEBUG},
	};
	enum k2hft_log_level level;
	size_t number;

	for (number = 0; number < sizeof(cases) / sizeof(cases[0]); number++) {
		assert_int_equal(k2i_daemon_level_parse(cases[number].text, &level), 0);
		assert_int_equal(level, cases[number].level);
	}
	assert_int_equal(k2i_daemon_level_parse("loud", &level), -EINVAL);
	assert_int_equal(k2i_daemon_level_parse("", &level), -EINVAL);
}

static void read_file(const char *path, char *text, size_t room)
{
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, room - 1, file)] = '\0';
	assert_int_equal(fclose(file), 0);
}

static void body_log_to_file(void)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/log", folder);
	if (k2i_daemon_log_open("prog", K2HFT_LOG_WARNING, path))
		_exit(98);
	k2i_log(K2HFT_LOG_ERROR, "ring: %s", "one");
	k2i_log(K2HFT_LOG_INFO, "ring: hidden");
	detach();
	k2i_daemon_ready();
	k2i_log(K2HFT_LOG_WARNING, "ring: two");
	_exit(0);
}

TEST(test_log_file)
{
	char path[512], text[512];

	(void)snprintf(path, sizeof(path), "%s/log", folder);
	assert_int_equal(status_of(body_log_to_file), 0);
	/* The one that logs "two" is not this process's child: it is done when the line is there. */
	do
		read_file(path, text, sizeof(text));
	while (!strstr(text, "two\n"));
	assert_non_null(strstr(text, " error prog: ring: one\n"));
	assert_non_null(strstr(text, " warning prog: ring: two\n"));
	assert_null(strstr(text, "hidden"));
	assert_int_equal(k2i_daemon_log_open("prog", K2HFT_LOG_INFO, "/nonexistent/log"), -ENOENT);
}

/* Files of this process may not grow, as on a full disk, until they may again. */
static void body_log_to_full_file(void)
{
	const struct rlimit none = {0, RLIM_INFINITY}, enough = {RLIM_INFINITY, RLIM_INFINITY};
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/full", folder);
	(void)signal(SIGXFSZ, SIG_IGN);
	if (k2i_daemon_log_open("prog", K2HFT_LOG_INFO, path) || setrlimit(RLIMIT_FSIZE, &none))
		_exit(97);
	k2i_log(K2HFT_LOG_INFO, "ring: many");
	k2i_log(K2HFT_LOG_INFO, "ring: many");
	if (setrlimit(RLIMIT_FSIZE, &enough))
		_exit(97);
	k2i_log(K2HFT_LOG_ERROR, "ring: one");
	_exit(0);
}

TEST(test_log_full_file)
{
	char path[512], text[512];

	assert_int_equal(status_of(body_log_to_full_file), 0);
	(void)snprintf(path, sizeof(path), "%s/full", folder);
	read_file(path, text, sizeof(text));
	assert_non_null(strstr(text, " error prog: ring: one (2 messages before were not taken)\n"));
}

static void stderr_to_file(void)
{
	char path[512];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/stderr", folder);
	if (!freopen(path, "w", stderr))
		_exit(98);
	fd = fileno(stderr);
	if (fd != STDERR_FILENO && dup2(fd, STDERR_FILENO) < 0)
		_exit(97);
}

static void body_log_to_terminal(void)
{
	stderr_to_file();
	if (k2i_daemon_log_open("prog", K2HFT_LOG_DEBUG, NULL))
		_exit(96);
	k2i_log(K2HFT_LOG_DEBUG, "ring: one");
	_exit(0);
}

TEST(test_log_terminal)
{
	char path[512], text[512];

	(void)snprintf(path, sizeof(path), "%s/stderr", folder);
	assert_int_equal(status_of(body_log_to_terminal), 0);
	read_file(path, text, sizeof(text));
	assert_string_equal(text, "prog: ring: one\n");
}

/* As systemd.exec(5) has it: which file is the journal, `more` beside it. */
static void journal_is_stderr(ino_t more)
{
	struct stat status;
	char text[64];

	if (fstat(STDERR_FILENO, &status))
		_exit(96);
	(void)snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)status.st_dev,
		       (unsigned long long)(status.st_ino + more));
	if (setenv("JOURNAL_STREAM", text, 1))
		_exit(96);
}

static void journal_log_open(const char *file)
{
	if (k2i_daemon_log_open("prog", K2HFT_LOG_DEBUG, file))
		_exit(96);
}

/* It has a level where it is the journal, and only there; that is found out anew whenever the log is opened. */
static void body_log_to_journal(void)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/beside", folder);
	stderr_to_file();
	journal_is_stderr(0);
	journal_log_open(NULL);
	k2i_log(K2HFT_LOG_ERROR, "ring: one");
	k2i_log(K2HFT_LOG_WARNING, "ring: two\nring: three");
	k2i_log(K2HFT_LOG_INFO, "ring: four");
	k2i_log(K2HFT_LOG_DEBUG, "ring: five");
	journal_log_open(path);
	k2i_log(K2HFT_LOG_INFO, "ring: beside");
	journal_is_stderr(1);
	journal_log_open(NULL);
	k2i_log(K2HFT_LOG_INFO, "ring: elsewhere");
	(void)unsetenv("JOURNAL_STREAM");
	journal_log_open(NULL);
	k2i_log(K2HFT_LOG_INFO, "ring: last");
	_exit(0);
}

TEST(test_log_journal)
{
	char path[512], text[512];

	assert_int_equal(status_of(body_log_to_journal), 0);
	(void)snprintf(path, sizeof(path), "%s/stderr", folder);
	read_file(path, text, sizeof(text));
	assert_string_equal(text, "<3>prog: ring: one\n<4>prog: ring: two?ring: three\n<6>prog: ring: four\n"
				  "<7>prog: ring: five\nprog: ring: elsewhere\nprog: ring: last\n");
	(void)snprintf(path, sizeof(path), "%s/beside", folder);
	read_file(path, text, sizeof(text));
	assert_null(strchr(text, '<'));
	assert_non_null(strstr(text, " info prog: ring: beside\n"));
}

/* Fills a pipe, logs to it, empties it and logs again: what it says then is reported. */
static void body_log_to_full_pipe(void)
{
	char bytes[65536] = "";
	int fds[2];

	if (pipe2(fds, O_NONBLOCK) || k2i_daemon_log_open("prog", K2HFT_LOG_DEBUG, NULL))
		_exit(98);
	while (write(fds[1], bytes, sizeof(bytes)) > 0)
		continue;
	if (fcntl(fds[1], F_SETFL, 0) || dup2(fds[1], STDERR_FILENO) < 0)
		_exit(97);
	(void)alarm(60);
	for (unsigned number = 0; number < 100; number++)
		k2i_log(K2HFT_LOG_INFO, "ring: many");
	while (read(fds[0], bytes, sizeof(bytes)) > 0)
		continue;
	k2i_log(K2HFT_LOG_ERROR, "ring: one");
	k2i_log(K2HFT_LOG_ERROR, "ring: two");
	(void)dprintf(report_fd, "%.*s", (int)read(fds[0], bytes, sizeof(bytes)), bytes);
	_exit(0);
}

TEST(test_log_pipe)
{
	char text[512];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	report_fd = fds[1];
	assert_int_equal(status_of(body_log_to_full_pipe), 0);
	(void)close(fds[1]);
	reported(fds[0], text, sizeof(text));
	assert_string_equal(text, "prog: ring: one (100 messages before were not taken)\nprog: ring: two\n");
}

/* Neither the start nor a message waits for a reader. A reader that comes gets the lines that have had room. */
static void body_log_to_fifo(void)
{
	char path[512], bytes[65536], *line;
	ssize_t count;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/fifo", folder);
	(void)alarm(60);
	if (mkfifo(path, 0600) || k2i_daemon_log_open("prog", K2HFT_LOG_DEBUG, path))
		_exit(98);
	/* More than pages of 64 KiB have room for. */
	for (unsigned number = 0; number < 50000; number++)
		k2i_log(K2HFT_LOG_INFO, "ring: many");
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	count = read(fd, bytes, sizeof(bytes) - 1);
	bytes[count < 0 ? 0 : count] = '\0';
	if (!strstr(bytes, " info prog: ring: many\n"))
		_exit(97);
	while (read(fd, bytes, sizeof(bytes)) > 0)
		continue;
	k2i_log(K2HFT_LOG_ERROR, "ring: last");
	count = read(fd, bytes, sizeof(bytes) - 1);
	bytes[count < 0 ? 0 : count] = '\0';
	line = strstr(bytes, " error prog: ring: last (");
	_exit(line && strstr(line, " messages before were not taken)\n") ? 0 : 96);
}

/* A FIFO that this user may only write to needs a reader, and is not waited for either. */
static void body_log_to_unreadable_fifo(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	char path[512], text[256] = "";
	int reader;

	(void)snprintf(path, sizeof(path), "%s/unreadable", folder);
	(void)alarm(60);
	if (mkfifo(path, 0600))
		_exit(98);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (chmod(path, 0200) || syscall(SYS_capset, &header, none))
		_exit(97);
	if (k2i_daemon_log_open("prog", K2HFT_LOG_DEBUG, path))
		_exit(96);
	k2i_log(K2HFT_LOG_ERROR, "ring: one");
	if (read(reader, text, sizeof(text) - 1) <= 0 || !strstr(text, " error prog: ring: one\n"))
		_exit(95);
	(void)close(reader);
	_exit(k2i_daemon_log_open("prog", K2HFT_LOG_DEBUG, path) == -ENXIO ? 0 : 94);
}

TEST(test_log_fifo)
{
	assert_int_equal(status_of(body_log_to_fifo), 0);
	assert_int_equal(status_of(body_log_to_unreadable_fifo), 0);
}

/* Nobody reads what it shows, and its room is no multiple of a line's length. */
static void body_log_to_full_terminal(void)
{
	int shown = posix_openpt(O_RDWR | O_NOCTTY), fd;
	char name[64];

	if (shown < 0 || grantpt(shown) || unlockpt(shown) || ptsname_r(shown, name, sizeof(name)))
		_exit(98); /* a chroot may have no /dev/pts */
	fd = open(name, O_RDWR | O_NOCTTY);
	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0 || k2i_daemon_log_open("prog", K2HFT_LOG_DEBUG, NULL))
		_exit(97);
	(void)alarm(60);
	for (unsigned number = 0; number < 10000; number++)
		k2i_log(K2HFT_LOG_INFO, "ring: many");
	_exit(0);
}

TEST(test_log_full_terminal)
{
	int status = status_of(body_log_to_full_terminal);

	if (status == 98)
		skip();
	assert_int_equal(status, 0);
}

/* A socket at /dev/log, of which nobody else knows; -1: there can be none. */
static int syslog_socket(void)
{
	static const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("k2hft-test", "/dev", "tmpfs", 0, NULL) ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)))
		return -1;
	return fd;
}

/* Reports the next message, but for its time; k2i_log has a line of its own for it. */
static void syslog_report(int fd)
{
	char text[256] = "", pid[32], *process;

	(void)recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	(void)snprintf(pid, sizeof(pid), "[%ld]: ", (long)getpid());
	process = strstr(text, pid);
	if (process && strlen(text) > 20)
		(void)dprintf(report_fd, "%.4s %.*s %s|", text, (int)(process - text - 20), text + 20,
			      process + strlen(pid));
}

/* A line that nobody reads is not waited for, and the next one that is read says so. */
static void body_syslog(void)
{
	int fd = syslog_socket();

	if (fd < 0)
		_exit(77);
	if (k2i_daemon_log_open("prog", K2HFT_LOG_DEBUG, NULL))
		_exit(98);
	detach();
	(void)alarm(60);
	k2i_daemon_ready();
	k2i_log(K2HFT_LOG_WARNING, "ring: one");
	syslog_report(fd);
	for (unsigned number = 0; number < 100000; number++)
		k2i_log(K2HFT_LOG_INFO, "ring: many");
	while (recv(fd, &(char){0}, 1, MSG_DONTWAIT) >= 0)
		continue;
	k2i_log(K2HFT_LOG_ERROR, "ring: last");
	syslog_report(fd);
	_exit(0);
}

TEST(test_syslog)
{
	char text[512], *missed;
	int fds[2], status;

	assert_int_equal(pipe(fds), 0);
	report_fd = fds[1];
	status = status_of(body_syslog);
	(void)close(fds[1]);
	if (status == 77) {
		(void)close(fds[0]);
		skip();
	}
	assert_int_equal(status, 0);
	reported(fds[0], text, sizeof(text));
	missed = strstr(text, " (");
	assert_non_null(missed);
	*missed++ = '\0';
	assert_string_equal(text, "<28> prog ring: one|<27> prog ring: last");
	assert_true(strtoul(missed + 1, NULL, 10) > 1000);
	assert_string_equal(strchr(missed, ' '), " messages before were not taken)|");
}

static void body_tells_a_name(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	char text[64];

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "@k2hft-test-%ld", (long)getpid());
	(void)setenv("NOTIFY_SOCKET", address.sun_path, 1);
	address.sun_path[0] = '\0';
	if (bind(fd, (const struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1))))
		_exit(1);
	k2i_daemon_ready();
	_exit(recv(fd, text, sizeof(text), MSG_DONTWAIT) > 0 ? 0 : 2);
}

static void body_tells_nobody(void)
{
	char path[201];

	(void)snprintf(path, sizeof(path), "/%0199d", 0);
	(void)setenv("NOTIFY_SOCKET", path, 1);
	k2i_daemon_ready();
	_exit(0);
}

STATE_TEST(test_systemd, NULL, NULL)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char text[128] = "", wanted[64];
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	(void)state;
	/* A socket can have a name that is no file's; one that is too long is none. */
	assert_int_equal(status_of(body_tells_a_name), 0);
	assert_int_equal(status_of(body_tells_nobody), 0);
	assert_true(fd >= 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/notify", folder);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
	k2i_daemon_ready();
	assert_true(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0);
	(void)snprintf(wanted, sizeof(wanted), "READY=1\nMAINPID=%ld", (long)getpid());
	assert_string_equal(text, wanted);
	assert_null(getenv("NOTIFY_SOCKET"));
	/* It does not wait for a watchdog, and hears the same state once. */
	assert_true(k2i_daemon_watchdog_ns() == 0);
	k2i_daemon_alive();
	k2i_daemon_status("%d of %s", 1, "them");
	k2i_daemon_status("%d of %s", 1, "them");
	k2i_daemon_stopping();
	memset(text, 0, sizeof(text));
	assert_true(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0);
	assert_string_equal(text, "STATUS=1 of them");
	memset(text, 0, sizeof(text));
	assert_true(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0);
	assert_string_equal(text, "STOPPING=1");
	(void)close(fd);
}

UNIT_GROUP(folder_begin, folder_end)
