/* SPDX-License-Identifier: MIT */
#include "app/plugin/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A pipe of 64 KiB makes two processes take turns. Where the limit of the user is reached, it stays as it is. */
#define PIPE_BYTES (256 * 1024)
#define UMASK 022 /* the receiver has none */
#define STATUS_FAILED 127

/* Behind fork(2): only what a signal handler may do. The thread that forked has blocked signals. */
static _Noreturn void child_run(const struct k2i_plugin_command *command, int input, int output, int errors, int failed)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t none;
	int error;

	(void)setpgid(0, 0);
	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, &standard, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)umask(UMASK);
	if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0)
		(void)execve(command->path, command->arguments, command->environment);
	error = errno;
	(void)!write(failed, &error, sizeof(error));
	_exit(STATUS_FAILED);
}

/* Both pipes, and one on which the child says why it could not run the program. */
static int pipes_make(int pipes[3][2])
{
	int made = 0, error;

	while (made < 3 && pipe2(pipes[made], O_CLOEXEC) == 0)
		made++;
	if (made == 3)
		return 0;
	error = -errno;
	while (made-- > 0) {
		(void)close(pipes[made][0]);
		(void)close(pipes[made][1]);
	}
	return error;
}

static int child_await(pid_t pid, int failed)
{
	int error = 0;
	ssize_t got;

	do
		got = read(failed, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof(error))
		return 0;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	return -error;
}

int k2i_process_start(const struct k2i_plugin_command *command, int output, struct k2i_process *process)
{
	int pipes[3][2], size, error = pipes_make(pipes);
	pid_t pid;

	if (error)
		return error;
	(void)fcntl(pipes[0][1], F_SETPIPE_SZ, PIPE_BYTES);
	(void)fcntl(pipes[0][1], F_SETFL, O_NONBLOCK);
	(void)fcntl(pipes[1][0], F_SETFL, O_NONBLOCK);
	pid = fork();
	if (pid == 0)
		child_run(command, pipes[0][0], output, pipes[1][1], pipes[2][1]);
	error = pid < 0 ? -errno : 0;
	(void)close(pipes[0][0]);
	(void)close(pipes[1][1]);
	(void)close(pipes[2][1]);
	if (!error)
		error = child_await(pid, pipes[2][0]);
	(void)close(pipes[2][0]);
	size = fcntl(pipes[0][1], F_GETPIPE_SZ);
	*process = (struct k2i_process){pid, pipes[0][1], pipes[1][0], size > 0 ? (size_t)size : 0};
	if (!error)
		return 0;
	(void)close(pipes[0][1]);
	(void)close(pipes[1][0]);
	return error;
}

bool k2i_process_ended(struct k2i_process *process, int *status)
{
	pid_t got = waitpid(process->pid, status, WNOHANG);

	/* A first process lets the system take its children. */
	if (got < 0)
		*status = -1;
	return got != 0;
}

void k2i_process_signal(const struct k2i_process *process, int number)
{
	(void)kill(-process->pid, number);
}

size_t k2i_process_unread(const struct k2i_process *process)
{
	int bytes = 0;

	return ioctl(process->input, FIONREAD, &bytes) == 0 && bytes > 0 ? (size_t)bytes : 0;
}
