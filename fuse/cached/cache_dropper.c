/* SPDX-License-Identifier: MIT */
#include "fuse/cached/cache_dropper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuse/cached/write_mode.h"
#include "fuse/base/mount.h"
#include "fuse/base/options.h"
#include "fuse/base/mount_point.h"
#include "fuse/cached/cache_drop.h"

#define SOCKET_FD 3 /* the cache dropper's only one */
/* It can't be one here, as without close_range(2), and another could not either. */
#define STATUS_CANNOT 2
/*
 * A dropper that comes after another that died waits: a fault that ends it over and over does not take a processor's
 * whole time.
 */
#define PAUSE_NS 20000000
#define END_TRIES 100u
#define END_PAUSE_NS 10000000

int k2i_cache_dropper_prepare(struct k2i_mount *mount)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, mount->cache_dropper->fds))
		return k2i_mount_fail("socketpair", -errno);
	return 0;
}

/* ---- the process */

/* A file system that has been mounted over the mount meanwhile, or is where it was, is left alone. -1 */
static int mount_open_below(const struct k2i_mount *mount, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	int root = open(mount->options->mount_point, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), file = -1;
	dev_t device = 0;

	if (root >= 0 && k2i_mount_point_device(root, "", AT_EMPTY_PATH, &device) == 0 &&
	    device == mount->kernel.device)
		file = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (root >= 0)
		(void)close(root);
	return file;
}

/* The file that is open, and its node. */
struct dropped {
	int file; /* -1: none */
	uint32_t node;
};

static void dropped_close(struct dropped *dropped)
{
	if (dropped->file >= 0)
		(void)close(dropped->file);
	dropped->file = -1;
}

static void order_carry_out(const struct k2i_mount *mount, const struct k2i_cache_drop_order *order,
			    struct dropped *dropped)
{
	if (dropped->node != order->node)
		dropped_close(dropped);
	if (dropped->file < 0 && order->path[0])
		dropped->file = mount_open_below(mount, order->path);
	dropped->node = order->node;
	/*
	 * Pages that are still dirty, or on their way to the worker, are passed over: the next order has it, if there
	 * is one. A length of 0 would be all of the file.
	 */
	if (dropped->file >= 0 && order->end && !order->keep)
		(void)sync_file_range(dropped->file, 0, (off_t)order->end,
				      SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
	if (dropped->file >= 0 && order->end)
		(void)posix_fadvise(dropped->file, 0, (off_t)order->end, POSIX_FADV_DONTNEED);
	if (!order->keep)
		dropped_close(dropped);
}

static void dropper_pause(long ns)
{
	struct timespec time = {.tv_nsec = ns};

	(void)nanosleep(&time, NULL);
}

static bool dropper_begin(struct k2i_mount *mount)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Before it opens anything. */
	atomic_store(&mount->cache_dropper->process, getpid());
	/* By its number: musl has no function close_range. */
	return getppid() == mount->keeper.pid && chdir("/") == 0 &&
	       dup2(mount->cache_dropper->fds[K2I_CACHE_DROP_DROPPER], SOCKET_FD) == SOCKET_FD &&
	       syscall(SYS_close_range, SOCKET_FD + 1, ~0u, 0) == 0;
}

/* An order is taken away when it has been answered: who comes after one that was killed does it again. */
static void dropper_run(struct k2i_mount *mount)
{
	struct dropped dropped = {.file = -1};
	struct k2i_cache_drop_order order;

	for (;;) {
		ssize_t bytes = recv(SOCKET_FD, &order, sizeof(order), MSG_PEEK);

		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes <= 0)
			return;
		order_carry_out(mount, &order, &dropped);
		if (send(SOCKET_FD, &order.number, sizeof(order.number), MSG_NOSIGNAL) < 0)
			return;
		(void)!recv(SOCKET_FD, &order, sizeof(order), MSG_DONTWAIT);
	}
}

/* ---- the keeper's */

/* A child has its parent's name: so that nobody takes it for a worker, it is born with its own. */
static pid_t process_fork_as(const char *name)
{
	char own[16] = "";
	pid_t child;

	(void)prctl(PR_GET_NAME, own);
	(void)prctl(PR_SET_NAME, name);
	child = fork();
	if (child)
		(void)prctl(PR_SET_NAME, own);
	return child;
}

static void dropper_start(struct k2i_mount *mount, long pause_ns)
{
	pid_t dropper = process_fork_as("k2hftfuse-sweep");

	if (dropper == 0) {
		if (!dropper_begin(mount))
			_exit(STATUS_CANNOT);
		dropper_pause(pause_ns);
		dropper_run(mount);
		_exit(EXIT_FAILURE);
	}
	mount->cache_dropper->missing = dropper < 0;
	atomic_store(&mount->cache_dropper->process, dropper > 0 ? dropper : 0);
}

void k2i_cache_dropper_start(struct k2i_mount *mount)
{
	if (atomic_load(&mount->cache_dropper->process) == 0 && k2i_write_mode_any_cached(mount))
		dropper_start(mount, 0);
}

void k2i_cache_dropper_check(struct k2i_mount *mount)
{
	pid_t dropper = atomic_load(&mount->cache_dropper->process);
	int status;

	if (dropper == 0 || waitpid(dropper, &status, WNOHANG) != dropper)
		return;
	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_CANNOT) {
		atomic_store(&mount->cache_dropper->process, 0);
		k2i_log(K2HFT_LOG_WARNING, "mount: there can be no sweeper here: what was sent stays in the page cache "
					   "until the kernel needs the memory");
		return;
	}
	k2i_log_limited(&mount->log.dropper, k2i_clock_now_ns(), K2HFT_LOG_WARNING,
			"mount: the sweeper died: pages stay in the cache until there is another");
	dropper_start(mount, PAUSE_NS);
}

void k2i_cache_dropper_end(struct k2i_mount *mount)
{
	pid_t dropper = atomic_load(&mount->cache_dropper->process);
	bool gone = dropper == 0 || kill(dropper, SIGKILL) != 0;

	for (unsigned tries = 0; !gone && tries < END_TRIES; tries++) {
		gone = waitpid(dropper, NULL, WNOHANG) != 0;
		if (!gone)
			dropper_pause(END_PAUSE_NS);
	}
	if (!gone)
		k2i_log(K2HFT_LOG_WARNING, "mount: the sweeper does not end yet");
	for (size_t end = 0; end < 2; end++) {
		if (mount->cache_dropper->fds[end] >= 0)
			(void)close(mount->cache_dropper->fds[end]);
	}
}

bool k2i_cache_dropper_is(const struct k2i_mount *mount, pid_t pid)
{
	return pid > 0 && pid == atomic_load(&mount->cache_dropper->process);
}
