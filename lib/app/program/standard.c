/* SPDX-License-Identifier: MIT */
#include "app/program/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int k2i_standard_keep(void)
{
	static const int useless[] = {
		[STDIN_FILENO] = O_WRONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_RDONLY};
	sigset_t none;

	for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++) {
		/* The lowest free number is this one. */
		if (fcntl(number, F_GETFD) < 0 && open("/dev/null", useless[number]) != number) {
			int error = errno ? errno : EBADF;

			/* If there is somebody to tell. */
			(void)dprintf(STDERR_FILENO,
				      "descriptor %d is closed, and /dev/null can't take its place: %s\n", number,
				      strerror(error));
			return -error;
		}
	}
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	return 0;
}

void k2i_standard_signals_ignore(void)
{
	static const int others[] = {SIGALRM, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR, SIGUSR1,
				     SIGUSR2, SIGXCPU,   SIGXFSZ, SIGTRAP, SIGSYS};

	for (size_t at = 0; at < sizeof(others) / sizeof(others[0]); at++)
		(void)signal(others[at], SIG_IGN);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		(void)signal(number, SIG_IGN);
}

int k2i_standard_flush(FILE *output, const char *program)
{
	int error;

	errno = 0;
	if (fflush(output) == 0 && !ferror(output))
		return 0;
	error = errno;
	/* The cause of an earlier failure is not known. */
	(void)dprintf(STDERR_FILENO, "%s: standard output: %s\n", program, error ? strerror(error) : "write error");
	return error ? -error : -EIO;
}
