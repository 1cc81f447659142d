/* SPDX-License-Identifier: MIT */
#include "fuse/device/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/visibility.h>

#include "fuse/cached/writeback_pull.h"
#include "app/program/ring_stats.h"
#include "base/crash.h"
#include "fuse/device/drain.h"
#include "fuse/base/fuse_api.h"
#include "fuse/device/read_backoff.h"
#include "fuse/ops/deferred_requests.h"
#include "fuse/cached/truncate_probe.h"
#include "fuse/base/mount.h"
#include "fuse/base/options.h"
#include "fuse/intake/record_route.h"
#include "fuse/intake/advance.h"
#include "fuse/device/populate.h"
#include "fuse/base/reply.h"
#include "fuse/base/journal.h"
#include "fuse/base/mount_point.h"
#include "fuse/intake/write.h"
#include "fuse/ops/request.h"
#include "fuse/intake/queue.h"
#include "fuse/plugin/feeder.h"
#include "fuse/intake/spread.h"
#include "fuse/tree/nodes.h"

/* Room and acknowledgements come with progress_fd; what a producer elsewhere gives up comes without. */
#define WAITING_MS 100
/* umount(2) has long taken the mount away by then. */
#define ABORTED_LOOK_NS 100000000
#define INIT_WAIT_MS 1000

/*
 * Nobody knows how long the next request is, and room for the longest is more than there is in a ring that stays in the
 * processor's cache. So a claim has room for as much as most programs write at once. A request that has more is put
 * together outside of the ring, and the claims for so many behind it have room for the longest.
 */
#define PLACE_BYTES (256u * 1024)
#define LARGE_AHEAD 64u

/*
 * To a thread that sends large requests come one behind the other, and poll(2) would say so each time. After so many it is
 * asked for the sake of all else.
 */
#define UNASKED_MAX 16u

/* More than a receiver takes while the loop waits for it. */
#define UNSENT_BYTES (1024u * 1024)

#define REQUEST_BYTES (K2I_REQUEST_HEAD_BYTES + K2I_WRITE_BYTES_MAX)

enum { WAIT_DEVICE, WAIT_PROGRESS, WAIT_SIGNAL, WAIT_CLIENT, WAIT_COUNT };

struct request {
	/* FUSE_WRITE's header; of other requests their first bytes. */
	struct {
		struct fuse_in_header in;
		struct fuse_write_in write;
	} head;
	size_t bytes; /* of the whole request */
	char *claim;  /* NULL: the rest is in mount->loop->body */
	char *body;
	size_t body_room; /* what it has more is as far behind the begin of mount->loop->body */
};

_Static_assert(offsetof(struct fuse_notify_retrieve_in, offset) == offsetof(struct fuse_write_in, offset) &&
		       sizeof(struct fuse_notify_retrieve_in) == sizeof(struct fuse_write_in),
	       "an answer is made like a WRITE");
_Static_assert(sizeof(((struct request *)0)->head) == K2I_REQUEST_HEAD_BYTES, "the kernel's header has no holes");

void k2i_loop_progress(void *argument, uint64_t acked)
{
	struct k2i_mount *mount = argument;
	uint64_t one = 1;

	(void)acked;
	/*
	 * Exchanges of one word have an order: if wait_for_work's came before, this sees it; if it comes later, the loop
	 * sees what was released before this.
	 */
	if (atomic_fetch_add_explicit(&mount->loop->waiting, 0, memory_order_acq_rel))
		(void)!write(mount->loop->progress_fd, &one, sizeof(one));
}

/* The size of a claim for the next request; 0: it does not fit into a ring. */
static size_t place_bytes(const struct k2i_mount *mount)
{
	size_t bytes = K2I_HEADROOM_BYTES + (mount->loop->large_ahead ? K2I_WRITE_BYTES_MAX : PLACE_BYTES);

	return bytes <= mount->lanes.chunk_bytes_max ? bytes : 0;
}

/* Memory for a request's data: in a ring, if it has room and nobody waits for it. -EFAULT: it can't be written. */
static int place_body(struct k2i_mount *mount, struct request *request)
{
	struct k2i_mount_lane *lane = k2i_spread_guess(&mount->lanes);
	size_t bytes = place_bytes(mount);
	void *claim;

	request->claim = NULL;
	request->body = mount->loop->body;
	request->body_room = K2I_WRITE_BYTES_MAX;
	if (bytes == 0 || !lane || k2i_queues_wait(mount->queues, k2i_lane_bit(lane)) ||
	    k2i_lane_claim(&mount->lanes, lane, bytes, &claim))
		return 0;
	request->claim = claim;
	request->body = request->claim + K2I_HEADROOM_BYTES;
	request->body_room = bytes - K2I_HEADROOM_BYTES;
	return k2i_populate(lane->populated, claim, bytes);
}

/* Puts a body together that the claim had no room for. */
static void join_body(struct k2i_mount *mount, struct request *request)
{
	size_t bytes = request->bytes < sizeof(request->head) ? 0 : request->bytes - sizeof(request->head);

	if (bytes > PLACE_BYTES)
		mount->loop->large_ahead = LARGE_AHEAD;
	else if (mount->loop->large_ahead)
		mount->loop->large_ahead--;
	if (bytes <= request->body_room)
		return;
	request->body = memcpy(mount->loop->body, request->body, request->body_room);
	request->claim = NULL;
}

/* Where this process itself writes to the ring that is a SIGBUS, see keeper.c. Another worker is to try. */
static int ring_failed(void)
{
	k2i_log(K2HFT_LOG_ERROR, K2I_LANE_UNWRITABLE);
	return -EFAULT;
}

/* 1: a request; 0: none now; -errno: there will be none any more, or -EFAULT, the ring can't be written. */
static int request_receive(struct k2i_mount *mount, struct request *request)
{
	struct iovec parts[3];
	ssize_t bytes;

	if (place_body(mount, request))
		return ring_failed();
	parts[0] = (struct iovec){.iov_base = &request->head, .iov_len = sizeof(request->head)};
	parts[1] = (struct iovec){.iov_base = request->body, .iov_len = request->body_room};
	parts[2] = (struct iovec){.iov_base = mount->loop->body + request->body_room,
				  .iov_len = K2I_WRITE_BYTES_MAX - request->body_room};
	bytes = readv(mount->kernel.fd, parts, 3);
	if (bytes >= (ssize_t)sizeof(request->head.in) && request->head.in.len == (size_t)bytes) {
		request->bytes = (size_t)bytes;
		join_body(mount, request);
		return 1;
	}
	if (bytes >= 0)
		return -EIO;
	if (errno == EFAULT)
		return ring_failed();
	/* ENOENT: the request was taken back while it was read. */
	return errno == EAGAIN || errno == EINTR || errno == ENOENT ? 0 : -errno;
}

/*
 * Where the kernel has pages of a file read, as for posix_fadvise(2), it takes what is read as empty for the file's end. An
 * append is behind what was written all the same.
 */
static uint64_t offset_of(const struct k2i_mount *mount, const struct request *request)
{
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, request->head.in.nodeid);
	uint64_t offset = request->head.write.offset;

	if (mount->kernel.writeback || !entry || !(request->head.write.flags & O_APPEND))
		return offset;
	return offset > entry->size ? offset : entry->size;
}

static void serve_write(struct k2i_mount *mount, const struct request *request)
{
	struct k2i_write write = {
		.unique = request->head.in.unique,
		.handle = request->head.write.fh,
		.writer_pid = request->head.in.pid,
		.offset = offset_of(mount, request),
		.data = request->body,
		.bytes = request->bytes - sizeof(request->head),
		.synchronous = (request->head.write.flags & O_DSYNC) != 0,
		.answer_bytes = request->bytes - sizeof(request->head),
		.claim = request->claim,
		.claim_bytes = K2I_HEADROOM_BYTES + request->body_room,
		.aside = mount->loop->body,
	};

	/* The kernel asks for that by a SETATTR for data that goes through the cache. */
	if (request->head.write.write_flags & FUSE_WRITE_KILL_SUIDGID)
		k2i_node_drop_set_ids(mount->nodes, request->head.in.nodeid);
	if (mount->loop->lease.client)
		k2hft_lease_committed(&mount->loop->lease, write.bytes, k2i_clock_now_ns());
	if (request->head.write.write_flags & FUSE_WRITE_CACHE)
		k2i_pull_write(mount, request->head.in.nodeid, &write);
	else
		k2i_request_write(mount, &write);
}

/* The kernel answers a question; it is made like a WRITE. */
static void serve_answer(struct k2i_mount *mount, const struct request *request)
{
	struct k2i_write write = {
		.offset = request->head.write.offset,
		.data = request->body,
		.bytes = request->bytes - sizeof(request->head),
		.claim = request->claim,
		.claim_bytes = K2I_HEADROOM_BYTES + request->body_room,
		.aside = mount->loop->body,
	};

	k2i_pull_answer(mount, request->head.in.nodeid, request->head.in.unique, &write);
}

/* All other requests, in one piece, for libfuse. */
static void serve_other(struct k2i_mount *mount, struct request *request)
{
	size_t in_head = request->bytes < sizeof(request->head) ? request->bytes : sizeof(request->head);
	struct fuse_buf buffer = {.size = request->bytes, .mem = mount->loop->request};

	memcpy(mount->loop->request, &request->head, in_head);
	/* mount->loop->body lies just behind the head. */
	if (request->claim)
		memcpy(mount->loop->body, request->body, request->bytes - in_head);
	k2i_lane_drop_claim(&mount->lanes);
	if (request->head.in.opcode == FUSE_INIT)
		k2i_kernel_init_keep(mount, mount->loop->request, request->bytes);
	k2i_deferred_requests_serve(mount, &buffer);
}

static void request_serve(struct k2i_mount *mount, struct request *request)
{
	uint64_t argument;

	switch (request->head.in.opcode) {
	case FUSE_WRITE:
		if (request->bytes >= sizeof(request->head) &&
		    request->head.write.size == request->bytes - sizeof(request->head)) {
			serve_write(mount, request);
			return;
		}
		break;
	case FUSE_NOTIFY_REPLY:
		if (request->bytes >= sizeof(request->head)) {
			serve_answer(mount, request);
			return;
		}
		break;
	case FUSE_FSYNC:     /* it begins with the handle */
	case FUSE_INTERRUPT: /* it is the other request's unique */
		if (request->bytes < sizeof(request->head.in) + sizeof(argument))
			break;
		/* The position that an FSYNC waits for must not include it. */
		k2i_lane_drop_claim(&mount->lanes);
		memcpy(&argument, &request->head.write, sizeof(argument));
		if (request->head.in.opcode == FUSE_FSYNC)
			k2i_request_sync(mount, request->head.in.unique, argument);
		else if (!k2i_deferred_requests_interrupt(mount, argument))
			k2i_request_interrupt(mount, argument);
		return;
	}
	serve_other(mount, request);
}

/* 0, or -errno when the device is at its end. */
static int serve_one(struct k2i_mount *mount)
{
	struct request request;
	int status = request_receive(mount, &request);

	mount->loop->in_a_row = status > 0 ? mount->loop->in_a_row + 1 : 0;
	if (status > 0) {
		K2I_CRASH(mount_request_read);
		request_serve(mount, &request);
	}
	k2i_lane_drop_claim(&mount->lanes);
	k2i_journal_step();
	return status < 0 ? status : 0;
}

static void take_signal(struct k2i_mount *mount)
{
	struct signalfd_siginfo signal;

	if (read(mount->loop->signal_fd, &signal, sizeof(signal)) != (ssize_t)sizeof(signal))
		return;
	if (signal.ssi_signo == SIGCHLD) {
		k2i_truncate_probes_ended(mount);
		k2i_journal_step();
		return;
	}
	if ((pid_t)signal.ssi_pid != mount->keeper.pid)
		return;
	if (signal.ssi_int == SIGCONT) {
		atomic_fetch_add(&mount->keeper.answers, 1);
		return;
	}
	if (signal.ssi_int == SIGUSR1 || signal.ssi_int == SIGUSR2) {
		mount->loop->reloads = !mount->ending && (mount->loop->reloads || signal.ssi_int == SIGUSR1);
		mount->loop->leaves = !mount->ending && (mount->loop->leaves || signal.ssi_int == SIGUSR2);
		return;
	}
	/* Below zero it is what was asked of another worker, which has died since. */
	if (mount->asked && mount->ending && signal.ssi_int > 0) {
		k2i_log(K2HFT_LOG_WARNING, "mount: %s: not waiting any longer", strsignal(signal.ssi_int));
		mount->drain->deadline_ns = 0;
		return;
	}
	mount->loop->leaves = false;
	/* Not an unmount: a system that stops does both, in any order. */
	mount->asked = true;
	k2i_log(K2HFT_LOG_INFO, "mount: %s: ending", strsignal(abs(signal.ssi_int)));
	if (!mount->ending)
		k2i_drain_ask(mount);
	k2i_journal_step();
}

/*
 * The connection was aborted, which leaves a mount without server. umount -f of one that nobody uses aborts it, too, before
 * it is taken away, which is not to be disturbed: so not at once.
 */
static bool is_aborted(const struct k2i_mount *mount)
{
	struct timespec pause = {.tv_nsec = ABORTED_LOOK_NS};

	(void)nanosleep(&pause, NULL);
	return k2i_mount_point_is_dead(mount->options->mount_point);
}

/* Unmounted from outside, or the connection was aborted. */
static void end_by_kernel(struct k2i_mount *mount, int status)
{
	if (status != -ENODEV)
		k2i_log(K2HFT_LOG_WARNING, "mount: /dev/fuse: %s", strerror(-status));
	else if (!mount->ending)
		mount->drain->aborted = is_aborted(mount);
	(void)close(mount->kernel.fd);
	mount->kernel.fd = -1;
	k2i_pull_abandon(mount);
	if (!mount->ending)
		k2i_drain_begin(mount);
	k2i_journal_step();
}

/* Asks for what is in the page cache; when to come again, or -1. */
static int pull_run(struct k2i_mount *mount)
{
	uint64_t now_ns;

	if (!mount->pull->first)
		return -1;
	now_ns = k2i_clock_now_ns();
	k2i_pull_run(mount, now_ns);
	return k2i_pull_timeout_ms(mount, now_ns);
}

/* The shorter of two times to wait, -1 for ever. */
static int timeout_sooner(int one_ms, int other_ms)
{
	return one_ms < 0 || (other_ms >= 0 && other_ms < one_ms) ? other_ms : one_ms;
}

/* Sends, if this thread has the lease of the client: when to come again, or -1. */
static int send_much(struct k2i_mount *mount)
{
	if (mount->ending)
		k2hft_lease_end(&mount->loop->lease);
	else if (mount->loop->lease.held || mount->loop->lease.large_ns)
		return k2hft_lease_send(&mount->loop->lease, k2i_clock_now_ns());
	return -1;
}

/* Whether room comes if nothing more is read: in the ring, where `full`, else in its small areas. */
static bool room_comes(const struct k2i_mount *mount, const struct k2hft_ring_stats *ring, bool full)
{
	/* With a full ring requests are to be queued while another thread sends, so that their writers can be killed. */
	if (full)
		return mount->loop->lease.held;
	/* To a far receiver everything is on its way. */
	return ring->tail - ring->read >= UNSENT_BYTES &&
	       (mount->loop->lease.held || k2i_spread_connected(&mount->lanes));
}

/* Whether the next request is to be read. */
static bool wants_request(struct k2i_mount *mount)
{
	size_t bytes = place_bytes(mount);
	struct k2i_read_backoff *backoff = &mount->loop->backoff;
	struct k2hft_ring *ring;
	struct k2hft_ring_stats stats;
	bool queued;

	backoff->wanted = false;
	/* It waits for the next keeper. */
	if (mount->loop->leaves)
		return false;
	/* More would only be put beside what waits already; but who is to end needs the answers to its questions. */
	if (mount->queues->bytes > K2I_QUEUE_BYTES_MAX && !mount->asked)
		return false;
	/* Records that are to be dropped when the ring is full wait for nothing. Nor does another lane's writer. */
	if (bytes == 0 || mount->settings->full == K2HFT_FULL_DROP || mount->lanes.takers > 1)
		return true;
	ring = mount->lanes.lane[mount->lanes.taker[0]].ring;
	queued = k2i_queues_wait(mount->queues, UINT64_MAX);
	if (!queued && k2hft_ring_space_lack(ring, bytes) == 0) {
		backoff->since_ns = 0;
		return true;
	}
	stats = k2i_ring_stats_get(ring);
	queued = queued || k2hft_ring_space_wait(ring, bytes, 0) != 0;
	return !k2i_read_backoff_wanted(backoff, stats.head, stats.tail - stats.head, room_comes(mount, &stats, queued),
					k2i_clock_now_ns());
}

/*
 * poll(2) refuses more descriptors than may be open, which somebody can set while they are. Nothing is served then: another
 * worker is to try, and the log to say why.
 */
static int wait_for_any(const struct k2i_mount *mount, struct pollfd waits[WAIT_COUNT], int timeout_ms)
{
	bool unasked = mount->loop->lease.held && waits[WAIT_DEVICE].events && mount->loop->in_a_row % UNASKED_MAX;

	if (!unasked && poll(waits, WAIT_COUNT, timeout_ms) >= 0)
		return 0;
	if (!unasked && errno == EINVAL) {
		k2i_log(K2HFT_LOG_ERROR,
			"mount: can't wait for requests: the limit of open files is below %d: "
			"raise LimitNOFILE= or ulimit -n",
			WAIT_COUNT);
		return -EMFILE;
	}
	for (int wait = 0; wait < WAIT_COUNT; wait++)
		waits[wait].revents = 0;
	if (unasked)
		waits[WAIT_DEVICE].revents = POLLIN;
	return 0;
}

/* Whether a lane is there until it is empty. */
static bool lanes_empty(const struct k2i_mount *mount)
{
	unsigned at = 0;

	while (at < mount->lanes.count && mount->lanes.lane[at].state != K2I_LANE_EMPTIES)
		at++;
	return at < mount->lanes.count && !mount->ending;
}

static int wait_for_work(struct k2i_mount *mount, struct pollfd waits[WAIT_COUNT])
{
	int sent_ms = send_much(mount), timeout_ms, error;
	bool waiting;
	uint64_t count;

	k2i_feeder_outputs_take(mount);
	waiting = !k2i_queue_is_empty(mount) || mount->deferred_requests->first || mount->ending;

	/* See k2i_loop_progress. */
	(void)atomic_exchange_explicit(&mount->loop->waiting, waiting, memory_order_acq_rel);
	if (waiting)
		k2i_queue_run(mount);
	k2i_journal_step();
	k2i_routes_release_streams();
	if (waiting)
		k2i_deferred_requests_run(mount);
	waits[WAIT_DEVICE] = (struct pollfd){.fd = mount->kernel.fd, .events = wants_request(mount) ? POLLIN : 0};
	waits[WAIT_PROGRESS] = (struct pollfd){.fd = mount->loop->progress_fd, .events = POLLIN};
	waits[WAIT_SIGNAL] = (struct pollfd){.fd = mount->loop->signal_fd, .events = POLLIN};
	waits[WAIT_CLIENT] = (struct pollfd){.fd = k2hft_lease_descriptor(&mount->loop->lease), .events = POLLIN};
	timeout_ms = timeout_sooner(pull_run(mount), waiting || lanes_empty(mount) ? WAITING_MS : -1);
	/* k2i_feeder_drained waits, as at the end. */
	timeout_ms = timeout_sooner(timeout_ms, mount->loop->leaves ? 0 : -1);
	timeout_ms = timeout_sooner(timeout_ms, k2i_truncate_probes_run(mount));
	timeout_ms = timeout_sooner(timeout_ms, mount->loop->backoff.wanted ? K2I_READ_BACKOFF_LOOK_MS : -1);
	/* With an empty queue at the end, k2i_drain_done waits. */
	timeout_ms =
		mount->ending && !k2i_queues_wait(mount->queues, UINT64_MAX) ? 0 : timeout_sooner(timeout_ms, sent_ms);
	error = wait_for_any(mount, waits, timeout_ms);
	if (error)
		return error;
	if (waits[WAIT_PROGRESS].revents)
		(void)!read(mount->loop->progress_fd, &count, sizeof(count));
	k2hft_lease_waited(&mount->loop->lease);
	return 0;
}

/* ---- taking over */

static bool request_is_new(const struct request *request)
{
	uint32_t opcode = request->head.in.opcode;

	return !(request->head.in.unique & K2I_UNIQUE_RESENT) && opcode != FUSE_FORGET && opcode != FUSE_BATCH_FORGET &&
	       opcode != FUSE_INTERRUPT;
}

/*
 * Serves what is sent again. Requests that waited when the other one died stay so until it is known who still wants
 * them. -EFAULT: the ring can't be written, and the next worker is to begin with that anew.
 */
static int serve_again(struct k2i_mount *mount)
{
	struct pollfd device = {.fd = mount->kernel.fd, .events = POLLIN};
	struct request request;
	bool came_new = false;

	k2i_queue_resume_begin(mount);
	while (!came_new && poll(&device, 1, 0) == 1 && device.revents & POLLIN) {
		int status = request_receive(mount, &request);

		if (status == -EFAULT)
			return status;
		if (status < 0)
			break;
		came_new = status > 0 && request_is_new(&request);
		if (status > 0)
			request_serve(mount, &request);
		k2i_lane_drop_claim(&mount->lanes);
		k2i_journal_step();
	}
	k2i_queue_resume_end(mount);
	k2i_journal_step();
	return 0;
}

/*
 * All of its pages are there when the kernel writes to it, see populate.h. So that they are after a fork, too, the child has
 * none of it (see k2i_truncate_probe_leave): what two processes have is copied as soon as one of them writes.
 */
static char *request_buffer_make(void)
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

int k2i_loop_open(struct k2i_mount *mount)
{
	struct k2i_loop *loop = mount->loop;
	sigset_t ends;

	*loop = (struct k2i_loop){.request = NULL};
	mount->drain->files = 0;
	mount->drain->last_ns = 0;
	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, K2I_SIGNAL_END);
	(void)sigaddset(&ends, SIGCHLD); /* blocked as that is */
	loop->signal_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	loop->progress_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	loop->request = request_buffer_make();
	if (loop->signal_fd < 0 || loop->progress_fd < 0 || !loop->request)
		return k2i_mount_fail("descriptors", errno ? -errno : -ENOMEM);
	loop->body = loop->request + K2I_REQUEST_HEAD_BYTES;
	return 0;
}

void k2i_loop_close(struct k2i_mount *mount)
{
	(void)close(mount->loop->signal_fd);
	(void)close(mount->loop->progress_fd);
	(void)munmap(mount->loop->request, REQUEST_BYTES);
}

/* The kernel has sent it as it mounted: whoever hears that the mount is ready knows what the kernel can do. */
static int init_serve(struct k2i_mount *mount)
{
	struct pollfd device = {.fd = mount->kernel.fd, .events = POLLIN};

	return poll(&device, 1, INIT_WAIT_MS) == 1 && serve_one(mount) == -EFAULT ? -EFAULT : 0;
}

int k2i_loop_prepare(struct k2i_mount *mount)
{
	int status;

	k2i_kernel_serve(mount);
	if (mount->keeper.workers == 1)
		return init_serve(mount);
	if (mount->kernel.init_bytes)
		k2i_kernel_init_repeat(mount, mount->loop->request);
	if (mount->kernel.fd < 0)
		return 0;
	k2i_reply_prepared(mount);
	status = k2i_kernel_resend(mount);
	return status ? status : serve_again(mount);
}

/* Whether it is time to look at lanes that empty. */
static bool lanes_look(struct k2i_mount *mount)
{
	uint64_t now_ns;

	if (!lanes_empty(mount))
		return false;
	now_ns = k2i_clock_now_ns();
	if (now_ns < mount->loop->looked_ns + WAITING_MS * K2I_MILLISECOND_NS)
		return false;
	mount->loop->looked_ns = now_ns;
	return true;
}

static bool loop_ended(struct k2i_mount *mount)
{
	if (!mount->ending)
		return false;
	/* The clients' threads tell from now on how much is acknowledged. */
	k2hft_lease_end(&mount->loop->lease);
	return k2i_drain_done(mount);
}

int k2i_loop_run(struct k2i_mount *mount)
{
	struct pollfd waits[WAIT_COUNT];
	int status;

	if (mount->ending)
		k2i_drain_begin(mount);
	while (!loop_ended(mount)) {
		status = wait_for_work(mount, waits);
		if (status)
			return status;
		if (waits[WAIT_SIGNAL].revents)
			take_signal(mount);
		if (mount->loop->reloads || lanes_look(mount))
			return -ERESTART;
		if (mount->loop->leaves && !mount->ending && k2i_feeder_drained(mount))
			return -ECANCELED;
		if (!waits[WAIT_DEVICE].revents)
			continue;
		status = serve_one(mount);
		if (status == -EFAULT)
			return status;
		if (status)
			end_by_kernel(mount, status);
	}
	return k2i_drain_report(mount);
}
