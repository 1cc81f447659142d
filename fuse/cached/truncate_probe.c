/* SPDX-License-Identifier: MIT */
#include "fuse/cached/truncate_probe.h"

#include <errno.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "fuse/base/mount.h"
#include "fuse/tree/nodes.h"
#include "fuse/base/reply.h"
#include "fuse/base/journal.h"

/* The kernel did not take the probe of a cut: only a later request tells that the cut is done. */
#define PROBE_UNKNOWN UINT8_MAX
/* A probe that is not there by then is not waited for: its process is killed, and after as long again left alone. */
#define PROBE_NS UINT64_C(1000000000)
#define PROBE_LOOK_MS 100
#define PAGE_BYTES_MIN 4096u

int k2i_truncate_probe_prepare(struct k2i_mount *mount)
{
	pthread_mutexattr_t attributes;
	int status = pthread_mutexattr_init(&attributes);

	if (status == 0)
		status = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	if (status == 0)
		status = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	if (status == 0)
		status = pthread_mutex_init(&mount->probes->lock, &attributes);
	return -status;
}

/*
 * Writes to the kernel's copy of a page, which is not written back. The kernel waits for the page, which somebody can be
 * reading just then (mmap(2), posix_fadvise(2)), and the loop answers such a READ: so the loop must not wait here. Nor
 * may a thread: a worker that is killed is gone when all of its threads are, and its successor only starts then. The
 * process has nothing open but the device, so that the successor does not find the ring in use.
 *
 * So the process can outlive its worker, and its bytes would then be in data that is appended after a later cut. That
 * cut's probe waits for it: `probes.lock` is held until the process is gone. Nor is the process waited for without end:
 * a mapping holds the page until that is written back (mmap(2)), and nothing is written back before the cut has its
 * answer. The bytes are in a page that the process has not touched, and the kernel gets no page for a killed process:
 * then none are written.
 */
static _Noreturn void probe_store(struct k2i_mount *mount, const struct k2i_truncate_probe *probe, pid_t worker)
{
	struct fuse_notify_store_out place = {.nodeid = probe->node, .offset = probe->end, .size = probe->bytes};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != worker || dup2(mount->kernel.fd, STDIN_FILENO) != STDIN_FILENO)
		_exit(EXIT_FAILURE);
	/* By its number: musl has no function close_range. */
	(void)syscall(SYS_close_range, STDIN_FILENO + 1, ~0u, 0);
	if (pthread_mutex_lock(&mount->probes->lock) == EOWNERDEAD)
		(void)pthread_mutex_consistent(&mount->probes->lock);
	if (!k2i_reply_notify(STDIN_FILENO, FUSE_NOTIFY_STORE,
			      &(struct iovec){.iov_base = &place, .iov_len = sizeof(place)},
			      &(struct iovec){.iov_base = probe->page, .iov_len = probe->bytes}))
		_exit(EXIT_FAILURE);
	_exit(EXIT_SUCCESS);
}

/* It is there, or not. */
static void probe_end(struct k2i_mount *mount, struct k2i_truncate_probe **place, bool there)
{
	struct k2i_truncate_probe *probe = *place;

	*place = probe->next;
	if (probe->page != MAP_FAILED)
		(void)munmap(probe->page, sizeof(probe->value));
	if (!there)
		probe->bytes = PROBE_UNKNOWN;
	probe->then(mount, probe->argument);
}

/* In one page, which leaves the cache, and comes again with zeros, as a whole. */
static uint8_t probe_bytes_of(uint64_t end, uint64_t gone)
{
	uint64_t left = PAGE_BYTES_MIN - end % PAGE_BYTES_MIN, most = left < gone ? left : gone;

	return most < sizeof(uint64_t) ? (uint8_t)most : sizeof(uint64_t);
}

void k2i_truncate_probe_leave(struct k2i_mount *mount, uint32_t node, uint64_t bytes, struct k2i_truncate_probe *probe)
{
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);
	uint64_t gone = entry->size > bytes ? entry->size - bytes : 0;
	pid_t worker = getpid();

	if (!mount->kernel.writeback || gone == 0) {
		probe->then(mount, probe->argument);
		return;
	}
	probe->node = node;
	probe->end = bytes;
	probe->value = k2i_hash(&(uint64_t){k2i_clock_now_ns()}, sizeof(uint64_t));
	probe->bytes = probe_bytes_of(bytes, gone);
	probe->page = mmap(NULL, sizeof(probe->value), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (probe->page != MAP_FAILED)
		*probe->page = probe->value;
	probe->process = probe->page == MAP_FAILED ? -1 : fork();
	if (probe->process == 0)
		probe_store(mount, probe, worker);
	probe->until_ns = k2i_clock_now_ns() + PROBE_NS;
	probe->next = mount->probes->first;
	mount->probes->first = probe;
	if (probe->process < 0)
		probe_end(mount, &mount->probes->first, false);
}

void k2i_truncate_probes_ended(struct k2i_mount *mount)
{
	struct k2i_truncate_probe **place;
	pid_t ended;
	int status;

	while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
		for (place = &mount->probes->first; *place && (*place)->process != ended; place = &(*place)->next)
			continue;
		if (*place)
			probe_end(mount, place, WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
	}
}

int k2i_truncate_probes_run(struct k2i_mount *mount)
{
	struct k2i_truncate_probe **place = &mount->probes->first;
	uint64_t now_ns;

	if (!mount->probes->first)
		return -1;
	now_ns = k2i_clock_now_ns();
	while (*place) {
		if (now_ns >= (*place)->until_ns)
			(void)kill((*place)->process, SIGKILL);
		if (now_ns >= (*place)->until_ns + PROBE_NS)
			probe_end(mount, place, false);
		else
			place = &(*place)->next;
	}
	k2i_journal_step();
	return mount->probes->first ? PROBE_LOOK_MS : -1;
}

int k2i_truncate_probe_shows_cut(const struct k2i_node_entry *entry, const char *data, size_t bytes)
{
	const uint64_t zeros = 0;

	/* Another request has told so since. */
	if (entry->probe_bytes == 0)
		return 1;
	if (bytes == 0)
		return 0;
	if (entry->probe_bytes == PROBE_UNKNOWN ||
	    (bytes >= entry->probe_bytes && memcmp(data, &zeros, entry->probe_bytes) == 0))
		return -1;
	return bytes < entry->probe_bytes || memcmp(data, &entry->probe_value, entry->probe_bytes) != 0;
}
