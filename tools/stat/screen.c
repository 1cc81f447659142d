/* SPDX-License-Identifier: MIT */
/* A terminal's alternate screen, which comes and goes as that of an editor does: what stood before stands there again. */
#include "tools/stat/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"

#define ENTER "\033[?1049h\033[?25l\033[?7l" /* without a cursor, and lines that are too long are cut */
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

static struct termios before;
static atomic_bool keys; /* standard input is a terminal, and `before` is how it was */

/* Safe in a signal handler. */
static void terminal_restore(void)
{
	ssize_t put = write(STDOUT_FILENO, LEAVE, sizeof(LEAVE) - 1);

	(void)put;
	/* relaxed: the flag is set before there are threads. */
	if (atomic_load_explicit(&keys, memory_order_relaxed))
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

/* At once, also while a target is asked. */
static void on_end(int number)
{
	int error = errno;

	terminal_restore();
	(void)signal(number, SIG_DFL);
	(void)raise(number);
	errno = error;
}

/*
 * The handler ends the ppoll(2) below. Elsewhere SIGWINCH is blocked: it would interrupt a write(2) to the terminal, or the
 * wait for a target's answer.
 */
static void on_resize(int number)
{
	(void)number;
}

void stat_screen_begin(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = on_end}, now;
	struct termios keyed;
	sigset_t resize;

	/* relaxed: as above. */
	atomic_store_explicit(&keys, tcgetattr(STDIN_FILENO, &before) == 0, memory_order_relaxed);
	for (size_t at = 0; at < sizeof(ends) / sizeof(ends[0]); at++)
		if (sigaction(ends[at], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			(void)sigaction(ends[at], &action, NULL);
	action.sa_handler = on_resize;
	(void)sigemptyset(&resize);
	(void)sigaddset(&resize, SIGWINCH);
	(void)sigprocmask(SIG_BLOCK, &resize, NULL);
	(void)sigaction(SIGWINCH, &action, NULL);
	/* relaxed: as above. */
	if (atomic_load_explicit(&keys, memory_order_relaxed)) {
		keyed = before;
		keyed.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		/* A process that is stopped would leave the screen as it is. */
		keyed.c_cc[VSUSP] = _POSIX_VDISABLE;
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &keyed);
	}
	(void)fputs(ENTER, stdout);
	(void)fflush(stdout);
}

void stat_screen_end(void)
{
	(void)fflush(stdout);
	terminal_restore();
}

/* The last column stays free: the cursor of a terminal that cuts lines stops there, and \033[K would erase what it shows. */
unsigned stat_screen_columns(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1U : 79;
}

static unsigned lines_there(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row ? size.ws_row : 24;
}

/* The bytes of a line up to the last blank in `columns`; all of them if they fit, or without such a blank. */
static size_t part_of(const char *text, size_t bytes, unsigned columns)
{
	unsigned column = 0;
	size_t blank = 0;

	for (size_t at = 0; at < bytes; at++) {
		if (text[at] == '\033') /* a colour */
			at += strcspn(text + at, "m");
		else if (((unsigned char)text[at] & 0xc0) != 0x80 && column++ == columns)
			return blank ? blank : bytes;
		else if (text[at] == ' ')
			blank = at;
	}
	return bytes;
}

/*
 * Each line takes the place of the one that stood there, so nothing flickers. Details, which are indented, are cut. A
 * verdict is not: it ends with the reason.
 */
void stat_screen_show(const char *text)
{
	unsigned left = lines_there(), columns = stat_screen_columns();
	bool verdict = true, begins = true;
	size_t bytes;

	(void)fputs("\033[H", stdout);
	for (; *text && left > 0; left--, text += bytes + (text[bytes] != '\0')) {
		verdict = begins ? *text != ' ' : verdict;
		bytes = strcspn(text, "\n");
		bytes = verdict ? part_of(text, bytes, columns) : bytes;
		begins = text[bytes] != ' ';
		(void)fwrite(text, 1, bytes, stdout);
		(void)fputs(left > 1 ? "\033[K\n" : "\033[K", stdout);
	}
	(void)fputs(left ? "\033[J" : "", stdout);
	(void)fflush(stdout);
}

enum stat_screen_event stat_screen_wait(uint64_t pause_ns)
{
	static struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	uint64_t now_ns = k2i_clock_now_ns(), end_ns = now_ns + pause_ns;
	struct timespec left;
	sigset_t signals;
	ssize_t got;
	char key;

	/* relaxed: as above. A descriptor of -1 is never ready. */
	if (!atomic_load_explicit(&keys, memory_order_relaxed))
		input.fd = -1;
	(void)sigprocmask(SIG_SETMASK, NULL, &signals);
	(void)sigdelset(&signals, SIGWINCH);
	for (; now_ns < end_ns; now_ns = k2i_clock_now_ns()) {
		int ready;

		left = k2i_timespec(end_ns - now_ns);
		ready = ppoll(&input, 1, &left, &signals);
		if (ready < 0)
			return STAT_SCREEN_RESIZED;
		if (ready == 0)
			continue;
		got = read(STDIN_FILENO, &key, 1);
		if (got > 0 && (key == 'q' || key == 'Q'))
			return STAT_SCREEN_QUIT;
		if (got <= 0 && errno != EINTR)
			input.fd = -1;
	}
	return STAT_SCREEN_DUE;
}
