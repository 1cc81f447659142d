/* SPDX-License-Identifier: MIT */
/* Declarations of several processes, some of which do not go on. */
#include "unit.h"
#include "ring_help.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "ring/handle.h"

static int declare(struct k2hft_ring *ring, const char *path, uint32_t *stream_id)
{
	struct k2hft_stream stream = {.path = path};

	return k2hft_stream_declare(ring, &stream, stream_id);
}

/* A process that may read the file may lock it. */
FILES_TEST(a_lock_on_the_file_keeps_nobody)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct flock all = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	int reader = open(files->path, O_RDONLY);
	uint32_t stream_id;

	assert_true(reader >= 0);
	all.l_start = 1; /* the consumer has byte 0 */
	assert_int_equal(fcntl(reader, F_OFD_SETLK, &all), 0);
	(void)alarm(20);
	assert_int_equal(declare(ring, "a", &stream_id), 0);
	assert_int_equal(k2hft_stream_release(ring, stream_id), 0);
	(void)alarm(0);
	(void)close(reader);
	k2hft_ring_close(ring);
}

/* An attached process that has the table's lock, and is stopped. */
static pid_t stopped_declarer(const char *path)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct k2hft_ring *attached;

		if (k2hft_ring_attach(path, &attached) || k2i_table_lock(attached))
			_exit(1);
		(void)raise(SIGSTOP);
		_exit(2);
	}
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	return child;
}

FILES_TEST(a_stopped_declarer_holds_up_no_release)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	uint32_t first = stream_of(ring, "first"), second = stream_of(ring, "second"), stream_id;
	pid_t child = stopped_declarer(files->path);
	uint64_t begin_ns = k2i_clock_ns(CLOCK_MONOTONIC);

	(void)alarm(20);
	assert_int_equal(k2hft_stream_release(ring, first), 0);
	assert_int_equal(k2hft_stream_withdraw(ring, second), 0);
	errno = 77;
	assert_int_equal(declare(ring, "third", &stream_id), -EBUSY);
	assert_int_equal(errno, 77);
	assert_in_range(k2i_clock_ns(CLOCK_MONOTONIC) - begin_ns, 20 * K2I_MILLISECOND_NS, 15 * K2I_SECOND_NS);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(declare(ring, "third", &stream_id), 0);
	(void)alarm(0);
	k2hft_ring_close(ring);
}

/* A declaration of an attached process in the midst of that. */
static struct {
	struct k2i_stream *stream;
	uint64_t owner, namespace;
	void *table;
	size_t bytes;
} midst;

static void declared_in_the_midst(int number)
{
	(void)number;
	(void)mprotect(midst.table, midst.bytes, PROT_READ | PROT_WRITE);
	atomic_store(&midst.stream->declarer_namespace, midst.namespace);
	atomic_store(&midst.stream->declarer, midst.owner);
}

/* Else nobody would take it back from the attached process when that is dead. */
STATE_TEST(a_new_declarer_is_kept_while_a_consumer_inherits, ring_make, ring_end)
{
	struct k2hft_ring *ring = *state, *attached;
	struct sigaction action = {.sa_handler = declared_in_the_midst}, before;
	const struct k2i_process old = {.owner = UINT64_C(77) << 32, .namespace = 5};
	uint32_t stream_id = stream_of(ring, "s");
	struct k2i_stream *stream = &ring->streams[stream_id - 1];
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", k2hft_ring_descriptor(ring));
	assert_int_equal(k2hft_ring_attach(path, &attached), 0);
	midst.stream = &attached->streams[stream_id - 1];
	midst.owner = UINT64_C(99) << 32;
	midst.namespace = 6;
	midst.table = (void *)((uintptr_t)stream & ~(uintptr_t)(K2I_PAGE_BYTES_MAX - 1));
	midst.bytes = K2I_PAGE_BYTES_MAX;
	atomic_store(&stream->declarer, old.owner);
	atomic_store(&stream->declarer_namespace, old.namespace);
	assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
	assert_int_equal(mprotect(midst.table, midst.bytes, PROT_READ), 0);
	k2i_streams_inherit(ring, &old);
	assert_int_equal(mprotect(midst.table, midst.bytes, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
	assert_int_equal(atomic_load(&stream->declarer), midst.owner);
	k2hft_ring_close(attached);
}
