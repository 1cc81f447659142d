/* SPDX-License-Identifier: MIT */
#include "fuse/keeper/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "fuse/cached/writeback_pull.h"
#include "app/program/daemon.h"
#include "fuse/intake/advance.h"
#include "fuse/intake/handles.h"
#include "fuse/device/loop.h"
#include "fuse/base/mount.h"
#include "fuse/base/options.h"
#include "fuse/intake/queue.h"
#include "fuse/device/populate.h"
#include "fuse/base/journal.h"
#include "fuse/keeper/start.h"
#include "fuse/base/mount_point.h"
#include "fuse/device/drain.h"
#include "fuse/cached/truncate_probe.h"
#include "fuse/intake/line_buffer.h"
#include "fuse/ops/deferred_requests.h"

#define REQUEST_BYTES (K2I_REQUEST_HEAD_BYTES + K2I_WRITE_BYTES_MAX)

/*
 * All of its pages are there when the kernel writes to it, see populate.h. So that they are after a fork, too, the child has
 * none of it (see k2i_truncate_probe_leave): what two processes have is copied as soon as one of them writes.
 */
static char *loop_buffer_make(void)
{
	char *memory = mmap(NULL, REQUEST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (madvise(memory, REQUEST_BYTES, MADV_DONTFORK)) {
		(void)munmap(memory, REQUEST_BYTES);
		return NULL;
	}
	return memset(memory, 0, REQUEST_BYTES);
}

static int descriptors_open(struct k2i_mount *mount)
{
	sigset_t ends;

	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, K2I_SIGNAL_END);
	(void)sigaddset(&ends, SIGCHLD); /* blocked as that is */
	mount->loop->signal_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	mount->loop->progress_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	mount->loop->request = loop_buffer_make();
	if (mount->loop->signal_fd < 0 || mount->loop->progress_fd < 0 || !mount->loop->request)
		return k2i_mount_fail("descriptors", errno ? -errno : -ENOMEM);
	mount->loop->body = mount->loop->request + K2I_REQUEST_HEAD_BYTES;
	return 0;
}

static int ring_open(struct k2i_mount *mount)
{
	char path[32];
	struct k2hft_ring_options options = {.size = sizeof(options), .path = path};
	struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT;
	int status;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", mount->lane.ring_fd);
	status = k2hft_ring_open(&options, &mount->lane.ring);
	if (status == 0)
		(void)k2hft_ring_stats(mount->lane.ring, &stats);
	mount->lane.streams_forgotten = stats.streams_forgotten != 0;
	/* Before anything is sent or claimed: what the ring says of the last step of one that died holds no longer. */
	if (status == 0)
		k2i_journal_settle((const struct k2hft_ring *[]){mount->lane.ring});
	if (status == 0)
		status = k2hft_producer_open(mount->lane.ring, &mount->lane.producer);
	if (status == 0)
		status = k2i_populated_create(mount->lane.ring, &mount->loop->populated);
	if (status)
		return k2i_mount_fail("ring", status);
	mount->lane.chunk_bytes_max = stats.payload_bytes_max;
	mount->line_limits->record_bytes_max = mount->settings->record_bytes_limit;
	mount->line_limits->held_bytes_max = mount->settings->held_bytes_max;
	mount->line_limits->piece_bytes_max = mount->lane.chunk_bytes_max;
	if (mount->settings->record_bytes_max < mount->lane.chunk_bytes_max)
		mount->line_limits->piece_bytes_max = (size_t)mount->settings->record_bytes_max;
	return 0;
}

static int client_open(struct k2i_mount *mount)
{
	struct k2hft_client_options options;
	int status;

	/* The last worker alone closes its client in good order. */
	(void)k2hft_sender_client_options(&mount->config.options, &options);
	options.progress = k2i_loop_progress;
	options.progress_argument = mount;
	status = k2hft_client_open(mount->lane.ring, &options, &mount->lane.client);
	mount->loop->lease.client = mount->lane.client;
	if (status == 0)
		status = k2hft_client_thread_start(mount->lane.client);
	/* The keeper says so, and not each time. */
	if (status == -EAGAIN && mount->keeper.begun)
		return status;
	return status ? k2i_mount_fail("client", status) : 0;
}

/* State that the last worker had for itself is not this one's. */
static void worker_begin(struct k2i_mount *mount)
{
	mount->lane.ring = NULL;
	mount->lane.producer = NULL;
	mount->lane.client = NULL;
	mount->loop->populated = NULL;
	mount->loop->request = mount->loop->body = NULL;
	mount->loop->signal_fd = mount->loop->progress_fd = -1;
	mount->kernel.swallowing = mount->queue->resuming = false;
	mount->loop->lease = (struct k2hft_lease){.client = NULL};
	mount->loop->backoff = (struct k2i_read_backoff){.full_since_ns = 0};
	mount->loop->in_a_row = 0;
	mount->drain->files = 0;
	mount->drain->last_ns = 0;
	mount->deferred_writes = NULL;
	mount->probes->first = NULL;
	mount->deferred_requests->first = NULL;
	mount->pull->due_ns = UINT64_MAX;
	atomic_store(&mount->loop->waiting, false);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static int worker_start(struct k2i_mount *mount)
{
	int status = descriptors_open(mount);

	if (status == 0)
		status = ring_open(mount);
	if (status == 0)
		status = k2i_handles_inherit(mount);
	k2i_pull_inherit(mount);
	if (status == 0)
		status = k2i_loop_prepare(mount);
	return status ? status : client_open(mount);
}

static void worker_end(struct k2i_mount *mount)
{
	k2hft_client_close(mount->lane.client);
	k2i_queue_abandon(mount, -ECONNABORTED);
	k2i_handles_free(mount);
	k2hft_producer_close(mount->lane.producer);
	k2i_populated_free(mount->loop->populated);
	k2hft_ring_close(mount->lane.ring);
	if (mount->loop->signal_fd >= 0)
		(void)close(mount->loop->signal_fd);
	if (mount->loop->progress_fd >= 0)
		(void)close(mount->loop->progress_fd);
	if (mount->loop->request)
		(void)munmap(mount->loop->request, REQUEST_BYTES);
}

int k2i_worker_run(struct k2i_mount *mount)
{
	const char *host = mount->config.options.host;
	int status;

	worker_begin(mount);
	if (getppid() != mount->keeper.pid) {
		k2i_log(K2HFT_LOG_ERROR,
			"mount: the keeper has ended, or is in another namespace of pids: unshare(1) needs --fork");
		return K2I_STATUS_FAILED;
	}
	status = worker_start(mount);
	if (status && mount->keeper.begun)
		return status == -EAGAIN ? K2I_STATUS_SHORT : K2I_STATUS_AGAIN;
	if (status)
		return K2I_STATUS_FAILED;
	if (!mount->keeper.begun)
		k2i_log(K2HFT_LOG_INFO, strchr(host, ':') ? "mount: %s, to [%s]:%s" : "mount: %s, to %s:%s",
			mount->options->mount_point, host, mount->config.options.port);
	mount->keeper.begun = true;
	k2i_daemon_follow();
	(void)kill(mount->keeper.pid, SIGUSR1);
	status = k2i_loop_run(mount);
	/* As if it had been killed: who waits, waits for the next one. */
	if (status == -EMFILE || status == -EFAULT)
		return K2I_STATUS_AGAIN;
	worker_end(mount);
	return status ? K2I_STATUS_FAILED : EXIT_SUCCESS;
}
