/* SPDX-License-Identifier: MIT */
/* News that a process that is attached to a ring has of its consumer, and the consumer of it. */
#include "unit.h"
#include "ring_help.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <k2hft/log.h>
#include <k2hft/sender.h>

#include "ring/handle.h"

#define LONG_MS 60000

/* An attached handle of a ring without a name, or with one. */
static struct k2hft_ring *attached_to(const struct k2hft_ring *ring)
{
	struct k2hft_ring *attached;
	char target[64];

	(void)snprintf(target, sizeof(target), "/proc/self/fd/%d", k2hft_ring_descriptor(ring));
	assert_int_equal(k2hft_ring_attach(target, &attached), 0);
	return attached;
}

static struct k2hft_producer *full_by(struct k2hft_ring *attached)
{
	struct k2hft_producer *producer = producer_of(attached);
	size_t bytes = (size_t)stats_of(attached).ring_bytes / 8;
	void *payload;

	while (k2hft_producer_reserve(producer, bytes, &payload) == 0)
		assert_int_equal(commit(producer, stream_of(attached, "s"), 0, bytes), 0);
	return producer;
}

TEST(a_wait_in_memory_ends_with_the_consumer)
{
	struct k2hft_ring *ring = memory_ring(), *attached = attached_to(ring);
	struct k2hft_producer *producer = full_by(attached);

	assert_int_equal(k2hft_ring_space_wait(attached, SMALL / 8, 1), -ETIMEDOUT);
	k2hft_ring_close(ring);
	errno = 77;
	assert_int_equal(k2hft_ring_space_wait(attached, SMALL / 8, -1), -EPIPE);
	assert_int_equal(k2hft_ring_space_wait(attached, SMALL / 8, -1), -EPIPE);
	assert_int_equal(errno, 77);
	k2hft_producer_close(producer);
	k2hft_ring_close(attached);
}

/* Another one may come by the ring's name; not when that leads elsewhere. */
FILES_TEST(a_ring_with_a_name_is_waited_for)
{
	struct k2hft_ring *ring = file_ring(files->path, 0), *attached = attached_to(ring);
	struct k2hft_producer *producer = full_by(attached);

	k2hft_ring_close(ring);
	assert_int_equal(k2hft_ring_space_wait(attached, SMALL / 8, 1), -ETIMEDOUT);
	ring = file_ring(files->path, K2HFT_RING_FRESH);
	assert_int_equal(k2hft_ring_space_wait(attached, SMALL / 8, LONG_MS), -EPIPE);
	k2hft_producer_close(producer);
	k2hft_ring_close(attached);
	k2hft_ring_close(ring);
}

TEST(a_ring_that_is_kept_is_waited_for)
{
	struct k2hft_ring *ring = memory_ring(), *attached = attached_to(ring);
	struct k2hft_producer *producer = full_by(attached);
	int keeper = k2hft_ring_keep(ring);

	assert_true(keeper >= 0);
	k2hft_ring_close(ring);
	assert_int_equal(k2hft_ring_space_wait(attached, SMALL / 8, 1), -ETIMEDOUT);
	(void)close(keeper);
	assert_int_equal(k2hft_ring_space_wait(attached, SMALL / 8, LONG_MS), -EPIPE);
	k2hft_producer_close(producer);
	k2hft_ring_close(attached);
}

/* To look for the consumer takes a descriptor. */
STATE_TEST(without_descriptors_nobody_is_taken_for_gone, ring_make, ring_end)
{
	struct k2hft_ring *ring = *state, *attached = attached_to(ring);
	struct k2hft_producer *producer = full_by(attached);

	descriptors_limit(0);
	assert_int_equal(k2hft_ring_space_wait(attached, SMALL / 8, 1), -ETIMEDOUT);
	descriptors_limit(RLIM_INFINITY);
	assert_int_equal(k2hft_ring_space_wait(attached, SMALL / 8, 1), -ETIMEDOUT);
	k2hft_producer_close(producer);
	k2hft_ring_close(attached);
}

/* Else it is taken for awake. */
RING_TEST(every_sleep_has_a_number)
{
	ring->sleep_number = UINT32_MAX - 1;
	for (unsigned sleep = 0; sleep < 3; sleep++) {
		assert_int_equal(k2hft_ring_sleep(ring), 1);
		assert_int_not_equal(atomic_load(&ring->header->sleeping), 0);
	}
}

static bool without_inotify;

int __real_inotify_init1(int flags);
int __wrap_inotify_init1(int flags);
int __wrap_inotify_init1(int flags)
{
	errno = EMFILE;
	return without_inotify ? -1 : __real_inotify_init1(flags);
}

/* A user may have so many watches. */
TEST(without_a_watch_it_looks_by_itself)
{
	struct k2hft_ring *ring, *attached;
	struct k2hft_producer *producer;
	uint32_t stream_id;

	without_inotify = true;
	ring = memory_ring();
	without_inotify = false;
	attached = attached_to(ring);
	producer = producer_of(attached);
	stream_id = stream_of(ring, "s");
	for (unsigned time = 0; time < 3; time++) {
		assert_int_equal(k2hft_ring_sleep(ring), 1);
		assert_int_equal(push(producer, stream_id, "x"), 0);
		assert_int_equal(readable(ring, LONG_MS), 1);
		k2hft_ring_awake(ring);
		assert_int_equal(readable(ring, 0), 0);
		(void)take(ring, "x");
	}
	k2hft_producer_close(producer);
	k2hft_ring_close(attached);
	k2hft_ring_close(ring);
}

STATE_TEST(who_is_attached_validates, ring_make, ring_end)
{
	struct k2hft_ring *ring = *state, *attached = attached_to(ring);
	struct k2hft_producer *producer = producer_of(attached);
	uint32_t stream_id = stream_of(ring, "s");

	for (unsigned count = 0; count < 3; count++)
		assert_int_equal(push(producer, stream_id, "12345678"), 0);
	(void)take(ring, "12345678");
	assert_int_equal(k2hft_ring_validate(attached), 0);
	atomic_store(&k2i_entry_at(ring, 40)->mark, 0);
	assert_int_equal(k2hft_ring_validate(attached), 1);
	k2hft_producer_close(producer);
	k2hft_ring_close(attached);
}

STATE_TEST(attaching_takes_a_place, ring_make, ring_end)
{
	struct k2hft_ring *ring = *state, *attached;
	char target[64];

	(void)snprintf(target, sizeof(target), "/proc/self/fd/%d", k2hft_ring_descriptor(ring));
	while (k2i_slot_take(ring))
		continue;
	assert_int_equal(k2hft_ring_attach(target, &attached), -ENOSPC);
	k2i_slot_free(&ring->slots[77]);
	for (unsigned time = 0; time < 2; time++) {
		assert_int_equal(k2hft_ring_attach(target, &attached), 0);
		k2hft_ring_close(attached);
	}
}

STATE_TEST(who_attaches_clears_away_the_dead, ring_make, ring_end)
{
	struct k2hft_ring *ring = *state, *attached;
	struct k2hft_producer *producer = producer_of(ring);
	int status;
	pid_t child = fork();

	if (child == 0) {
		(void)producer_of(attached_to(ring));
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	attached = attached_to(ring);
	assert_int_equal(stats_of(ring).producers, 1);
	k2hft_ring_close(attached);
	k2hft_producer_close(producer);
}

/* A program that is started without them and says something must not say it into the ring. */
STATE_TEST(the_ring_is_no_standard_output, ring_make, ring_end)
{
	struct k2hft_ring *ring = *state, *attached;
	char target[64];
	int status;
	pid_t child = fork();

	if (child == 0) {
		(void)snprintf(target, sizeof(target), "/proc/self/fd/%d", k2hft_ring_descriptor(ring));
		(void)(close(STDIN_FILENO) | close(STDOUT_FILENO) | close(STDERR_FILENO));
		if (k2hft_ring_attach(target, &attached))
			_exit(2);
		_exit(k2hft_ring_descriptor(attached) <= STDERR_FILENO || fcntl(STDERR_FILENO, F_GETFD) >= 0 ||
		      fcntl(k2hft_ring_descriptor(attached), F_GETFD) != FD_CLOEXEC);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* He takes the place, or leaves it, and his pid is one of another container. */
STATE_TEST(who_has_not_said_where_he_is_keeps_his_place, ring_make, ring_end)
{
	struct k2hft_ring *ring = *state, *attached;
	struct k2i_slot *slot;
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, &status, 0), child);
	slot = k2i_slot_take(ring);
	assert_non_null(slot);
	atomic_store(&slot->owner, (uint64_t)child << 32 | 1);
	atomic_store(&slot->owner_namespace, 0);
	attached = attached_to(ring);
	assert_true(atomic_load(&slot->owner) == ((uint64_t)child << 32 | 1));
	/* In this container he is dead. */
	atomic_store(&slot->owner_namespace, ring->process.namespace);
	k2hft_ring_close(attached);
	attached = attached_to(ring);
	assert_true(atomic_load(&slot->owner) != ((uint64_t)child << 32 | 1));
	k2hft_ring_close(attached);
}

RING_TEST(who_waits_is_woken_by_what_is_given_back)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s"), sequence = atomic_load(&ring->header->space_sequence);

	atomic_fetch_add(&ring->header->space_waiters, 1);
	(void)reserve(producer, 1000);
	assert_int_equal(commit(producer, stream_id, 0, 8), 0);
	assert_int_equal(atomic_load(&ring->header->space_sequence), ++sequence);
	(void)reserve(producer, 1000);
	assert_int_equal(k2hft_producer_discard(producer), 0);
	assert_int_equal(atomic_load(&ring->header->space_sequence), ++sequence);
	k2hft_producer_close(producer);
}

/* Fills the ring and waits for room until it is killed. */
static void waiting_process(const char *path)
{
	struct k2hft_ring *attached;
	struct k2hft_producer *producer;

	if (k2hft_ring_attach(path, &attached) || k2hft_producer_open(attached, &producer))
		_exit(1);
	while (push(producer, stream_of(attached, "s"), "text") == 0)
		continue;
	(void)k2hft_ring_space_wait(attached, SMALL / 8, -1);
	_exit(1);
}

/* Or each acknowledgement would wake nobody, for as long as there is the file. */
FILES_TEST(killed_waiters_are_not_waited_for)
{
	struct k2hft_ring *ring = file_ring(files->path, 0), *attached;
	int status;
	pid_t child = fork();

	if (child == 0)
		waiting_process(files->path);
	while (atomic_load(&ring->header->space_waiters) == 0 && waitpid(child, &status, WNOHANG) == 0)
		(void)usleep(1000);
	assert_int_equal(kill(child, SIGKILL) | (waitpid(child, &status, 0) != child), 0);
	assert_int_equal(k2hft_ring_attach(files->path, &attached), 0);
	k2hft_ring_close(ring);
	/* It could be the one who waits. */
	ring = file_ring(files->path, 0);
	assert_int_equal(atomic_load(&ring->header->space_waiters), 1);
	k2hft_ring_close(attached);
	k2hft_ring_close(ring);
	ring = file_ring(files->path, 0);
	assert_int_equal(atomic_load(&ring->header->space_waiters), 0);
	k2hft_ring_close(ring);
}

/* Commits, and may not write the byte that wakes. Does not return. */
static void mute_process(const struct k2hft_ring *ring, uint32_t stream_id)
{
	struct k2hft_producer *producer = producer_of(attached_to(ring));
	struct rlimit none = {0, 0};

	if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &none) || push(producer, stream_id, "mute"))
		_exit(1);
	_exit(0);
}

/* The next one wakes it. */
STATE_TEST(who_cannot_wake_does_not_take_the_sleep_along, ring_make, ring_end)
{
	struct k2hft_ring *ring = *state, *attached = attached_to(ring);
	struct k2hft_producer *producer = producer_of(attached);
	uint32_t stream_id = stream_of(ring, "s");
	int status;
	pid_t child;

	assert_int_equal(k2hft_ring_sleep(ring), 1);
	child = fork();
	if (child == 0)
		mute_process(ring, stream_id);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(readable(ring, 0), 0);
	assert_int_equal(push(producer, stream_id, "loud"), 0);
	assert_int_equal(readable(ring, LONG_MS), 1);
	(void)take(ring, "mute");
	(void)take(ring, "loud");
	k2hft_producer_close(producer);
	k2hft_ring_close(attached);
}

/* For children of this process: by their clock all processes have begun at other times. */
static bool clock_change(void)
{
	static const char offset[] = "boottime 1000000 0";
	int offsets = unshare(CLONE_NEWTIME) ? -1 : open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);

	return write(offsets, offset, strlen(offset)) > 0;
}

/* By another clock: what is wrong, if anything. It ends when `go_on` does. */
static int claim_by_other_clock(const char *path, int ready, int go_on)
{
	struct k2hft_ring *attached;
	struct k2hft_producer *producer;
	uint32_t stream_id;
	char byte = 'r';

	if (open_answer(path, 0) != -EBUSY)
		return 1;
	if (k2hft_ring_attach(path, &attached))
		return 2;
	producer = producer_of(attached);
	stream_id = stream_of(attached, "s");
	*(char *)reserve(producer, 1) = 'x';
	if (write(ready, &byte, 1) != 1 || read(go_on, &byte, 1) != 0)
		return 3;
	return commit(producer, stream_id, 0, 1) ? 4 : 0;
}

static void other_clock_process(const char *path, int ready, int go_on)
{
	int status;
	pid_t child;

	if (!clock_change())
		_exit(77);
	child = fork();
	if (child == 0)
		_exit(claim_by_other_clock(path, ready, go_on));
	_exit(waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 5);
}

FILES_TEST(another_clock_is_no_death)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	int ready[2], go_on[2], status;
	bool claimed;
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go_on), 0);
	child = fork();
	if (child == 0) {
		(void)close(go_on[1]);
		other_clock_process(files->path, ready[1], go_on[0]);
	}
	(void)close(ready[1]);
	(void)close(go_on[0]);
	claimed = read(ready[0], &byte, 1) == 1;
	if (claimed)
		assert_int_equal(k2hft_ring_recover(ring), 0);
	(void)close(ready[0]);
	(void)close(go_on[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (claimed)
		(void)take(ring, "x");
	k2hft_ring_close(ring);
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

/* Forks a process of that pid, which nobody has in this namespace; -1: it can't be. */
static pid_t fork_as(pid_t pid)
{
	int last = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
	bool set = last >= 0 && dprintf(last, "%ld", (long)pid - 1) > 0;

	(void)close(last);
	return set ? fork() : -1;
}

/* Has a claim in the ring until it is killed. Does not return. */
static void claiming_process(const char *path, int ready)
{
	struct k2hft_ring *attached;

	if (k2hft_ring_attach(path, &attached))
		_exit(1);
	(void)reserve(producer_of(attached), 1);
	if (write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		(void)pause();
}

/*
 * In a namespace of pids, where /proc is still that of the host, which has another process of that pid; that one is dead
 * when `go_on` ends. The fault, if there is any.
 */
static int claim_beside(const char *path, pid_t other, int ready, int go_on)
{
	struct k2hft_ring *ring = file_ring(path, 0);
	pid_t child = fork_as(other);
	int recovered, status;
	char byte;

	if (child < 0)
		return 77;
	if (child == 0)
		claiming_process(path, ready);
	if (child != other)
		return 1;
	if (read(go_on, &byte, 1) != 0)
		return 2;
	recovered = k2hft_ring_recover(ring);
	if (kill(child, SIGKILL) || waitpid(child, &status, 0) != child)
		return 3;
	return recovered == 0 && k2hft_ring_recover(ring) == 1 ? 0 : 4;
}

static void other_pids_process(const char *path, pid_t other, int ready, int go_on)
{
	int status;
	pid_t child;

	if (unshare(CLONE_NEWPID))
		_exit(77);
	child = fork();
	if (child == 0)
		_exit(claim_beside(path, other, ready, go_on));
	(void)close(ready);
	_exit(waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 5);
}

FILES_TEST(a_process_of_the_host_is_no_other)
{
	int ready[2], go_on[2], status;
	pid_t other, child;
	siginfo_t ended;
	char byte;

	other = fork();
	while (other == 0 && pause())
		continue;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go_on), 0);
	child = fork();
	if (child == 0) {
		(void)close(go_on[1]);
		other_pids_process(files->path, other, ready[1], go_on[0]);
	}
	(void)close(ready[1]);
	(void)close(go_on[0]);
	(void)!read(ready[0], &byte, 1);
	assert_int_equal(kill(other, SIGKILL), 0);
	/* It stays as a zombie. */
	assert_int_equal(waitid(P_PID, (id_t)other, &ended, WEXITED | WNOWAIT), 0);
	(void)close(go_on[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(waitpid(other, NULL, 0), other);
	(void)close(ready[0]);
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

/* `write` until it is refused. */
static int refusal(struct k2hft_writer *writer, int (*write)(struct k2hft_writer *writer))
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int status = 0;

	for (unsigned tries = 0; tries < LONG_MS / 10 && status == 0; tries++) {
		status = write(writer);
		(void)nanosleep(&pause, NULL);
	}
	return status;
}

static int write_record(struct k2hft_writer *writer)
{
	return k2hft_writer_write(writer, "record", 6);
}

static int write_lines(struct k2hft_writer *writer)
{
	return k2hft_writer_lines(writer, "one\ntwo\n", 8, NULL);
}

static void said_keep(void *argument, enum k2hft_log_level level, const char *text)
{
	(void)level;
	(void)snprintf(argument, 100, "%s", text);
}

TEST(writers_learn_that_nobody_sends)
{
	const struct k2hft_sender_options options = {.size = sizeof(options), .host = "127.0.0.1", .port = "1"};
	struct k2hft_sender *sender, *attached;
	struct k2hft_writer *writer, *late;
	char target[64], said[100] = "";

	assert_int_equal(k2hft_sender_open(&options, &sender), 0);
	(void)snprintf(target, sizeof(target), "/proc/self/fd/%d", k2hft_ring_descriptor(k2hft_sender_ring(sender)));
	assert_int_equal(k2hft_sender_attach(target, &attached), 0);
	assert_int_equal(k2hft_writer_open(attached, "a.log", &writer), 0);
	assert_int_equal(write_record(writer), 0);
	assert_int_equal(k2hft_sender_flush(attached, 0), -ETIMEDOUT);
	assert_int_equal(k2hft_sender_close(sender, 0), -ETIMEDOUT);
	assert_int_equal(k2hft_sender_flush(attached, 0), -EPIPE);
	assert_int_equal(refusal(writer, write_record), -EPIPE);
	assert_int_equal(write_lines(writer), -EPIPE);
	assert_int_equal(k2hft_writer_open(attached, "b.log", &late), 0);
	assert_int_equal(write_lines(late), -EPIPE);
	assert_int_equal(k2hft_writer_lines(late, "rest", 4, NULL), 0);
	k2hft_log_callback_set(said_keep, said, K2HFT_LOG_ERROR);
	k2hft_writer_close(late);
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
	assert_string_equal(said, "sender: Broken pipe: 1 records dropped");
	assert_int_equal(k2hft_sender_flush(attached, LONG_MS), -EPIPE);
	k2hft_writer_close(writer);
	assert_int_equal(k2hft_sender_close(attached, -1), -EPIPE);
}
