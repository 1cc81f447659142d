/* SPDX-License-Identifier: MIT */
/* Whether a process that left its mark in a ring is still there. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"
#include "ring/handle.h"

static struct k2i_process self_of(void)
{
	struct k2i_process self = {0};

	assert_int_equal(k2i_process_self(&self), 0);
	return self;
}

/* Text in a process's name is not to be taken for the fields behind it. */
TEST(any_name_will_do)
{
	static const char *const names[] = {") Z 1 2 3", "a) b) S 4", "((("};
	struct k2i_process before = self_of(), after;
	char name[16];

	assert_int_equal(before.owner >> 32, getpid());
	assert_int_not_equal((uint32_t)before.owner, 0);
	assert_int_equal(prctl(PR_GET_NAME, name), 0);
	for (size_t at = 0; at < sizeof(names) / sizeof(names[0]); at++) {
		assert_int_equal(prctl(PR_SET_NAME, names[at]), 0);
		after = self_of();
		assert_true(after.owner == before.owner && after.namespace == before.namespace);
	}
	assert_int_equal(prctl(PR_SET_NAME, name), 0);
}

/* A child that lives until it is killed, or whose first thread has ended and another lives. */
struct child {
	struct k2i_process process;
	pid_t pid;
};

static void *live_on(void *argument)
{
	(void)argument;
	for (;;)
		(void)pause();
	return NULL;
}

static _Noreturn void child_run(int ready, bool leader_ends)
{
	struct k2i_process self = self_of();
	pthread_t thread;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (leader_ends && pthread_create(&thread, NULL, live_on, NULL))
		_exit(1);
	if (write(ready, &self, sizeof(self)) != (ssize_t)sizeof(self))
		_exit(1);
	if (leader_ends)
		pthread_exit(NULL);
	(void)live_on(NULL);
	_exit(1);
}

static void child_make(struct child *child, bool leader_ends)
{
	int ready[2];

	assert_int_equal(pipe(ready), 0);
	child->pid = fork();
	if (child->pid == 0)
		child_run(ready[1], leader_ends);
	assert_int_equal(read(ready[0], &child->process, sizeof(child->process)), sizeof(child->process));
	(void)close(ready[0]);
	(void)close(ready[1]);
}

/* A zombie: its parent has not asked for it. */
static void child_kill(const struct child *child)
{
	siginfo_t ended;

	assert_int_equal(kill(child->pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)child->pid, &ended, WEXITED | WNOWAIT), 0);
}

TEST(who_was_killed_is_dead)
{
	struct k2i_process self = self_of();
	struct child child;

	child_make(&child, false);
	assert_true(k2i_process_alive(&self, &child.process));
	child_kill(&child);
	assert_false(k2i_process_alive(&self, &child.process));
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	errno = 77;
	assert_false(k2i_process_alive(&self, &child.process));
	assert_int_equal(errno, 77);
}

/* Waits until the first thread is a zombie, and ends the process with 0 if that has changed nothing. */
static void *look_later(void *argument)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	const struct k2i_process *before = argument;
	struct k2i_process after;
	char text[512] = "";

	while (!strstr(text, ") Z ")) {
		FILE *file = fopen("/proc/self/stat", "re");

		if (!file || !fgets(text, sizeof(text), file))
			_exit(2);
		(void)fclose(file);
		(void)nanosleep(&moment, NULL);
	}
	_exit(k2i_process_self(&after) || after.owner != before->owner || after.namespace != before->namespace);
}

/* Else it would be of another container to all others, and what it reserved would never be theirs again. */
TEST(a_process_without_its_first_thread_is_where_it_was)
{
	static struct k2i_process before;
	pthread_t thread;
	pid_t child;
	int status;

	child = fork();
	if (child == 0) {
		if (k2i_process_self(&before) || pthread_create(&thread, NULL, look_later, &before))
			_exit(3);
		pthread_exit(NULL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Its first thread is a zombie by then, as a process is that has ended. */
TEST(a_process_lives_as_long_as_any_thread)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	struct k2i_process self = self_of();
	struct child child;
	char path[64], text[512] = "";

	child_make(&child, true);
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)child.pid);
	for (unsigned tries = 0; !strstr(text, ") Z "); tries++) {
		FILE *file = fopen(path, "re");

		assert_true(tries < 20000);
		assert_non_null(file);
		assert_non_null(fgets(text, sizeof(text), file));
		(void)fclose(file);
		(void)nanosleep(&moment, NULL);
	}
	assert_true(k2i_process_alive(&self, &child.process));
	child_kill(&child);
	assert_false(k2i_process_alive(&self, &child.process));
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
}

/* A number is given again to others; who began at another time is another. Without /proc only the number is known. */
TEST(the_start_tells_two_of_one_number_apart)
{
	struct k2i_process self = self_of(), other;
	struct child child;

	child_make(&child, false);
	other = child.process;
	other.owner++;
	assert_false(k2i_process_alive(&self, &other));
	other.owner = child.process.owner >> 32 << 32;
	assert_true(k2i_process_alive(&self, &other));
	other = self;
	other.owner++;
	assert_false(k2i_process_alive(&self, &other));
	child_kill(&child);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
}

/* Nothing can be known of its processes here; who did not say yet where he is can be there. */
TEST(elsewhere_all_are_alive)
{
	struct k2i_process self = self_of(), other;
	struct child child;

	child_make(&child, false);
	child_kill(&child);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	other = child.process;
	other.namespace ++;
	assert_true(k2i_process_alive(&self, &other));
	other.namespace = 0;
	assert_true(k2i_process_alive(&self, &other));
	other = (struct k2i_process){.owner = 1, .namespace = self.namespace + 1};
	assert_false(k2i_process_alive(&self, &other)); /* no process has the number 0 */
}
