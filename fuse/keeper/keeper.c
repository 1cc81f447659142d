/* SPDX-License-Identifier: MIT */
/*
 * The keeper holds what must not go when the process that serves a mount dies: the descriptor of /dev/fuse, the rings'
 * memory, and the shared memory with all that the worker knows (journal.h). From k2i_keeper_run on it waits, forwards
 * signals and forks; it allocates nothing, so nothing can go wrong with it for lack of memory but a fork, which it tries
 * again.
 */
#include "fuse/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crash.h"
#include "app/program/daemon.h"
#include "app/program/standard.h"
#include "fuse/base/journal.h"
#include "fuse/base/mount.h"
#include "fuse/base/mount_point.h"
#include "fuse/base/options.h"
#include "fuse/keeper/handover.h"
#include "fuse/keeper/setup.h"
#include "fuse/keeper/start.h"
#include "fuse/keeper/takeover.h"
#include "fuse/device/loop.h"
#include "fuse/keeper/worker.h"

/* A worker that dies sooner than this died young; after some of those in a row the keeper takes its time. */
#define YOUNG_NS UINT64_C(50000000)
#define PAUSE_NS UINT64_C(100000000)
#define PAUSE_NS_MAX UINT64_C(1000000000)
/* A worker that fails before it has served for so long was of no use; after so many in a row the next would not be. */
#define OF_USE_NS UINT64_C(1000000000)
#define FAILURES_MAX 20u
/* So long after DRAINTIMEOUT a worker that was told to end has ended, unless it is stopped or hangs. */
#define STUCK_NS (2 * K2I_SECOND_NS)
/* So long a worker has for its plug-ins to end before another keeper goes on. */
#define LEAVE_NS (5 * K2I_SECOND_NS)
/* So many workers in a row can hang before the mount is left to systemd's watchdog. */
#define HUNG_MAX 2u

/* That the mount is to end. */
struct ending {
	int signal;       /* that asked for it; 0: none did */
	uint64_t kill_ns; /* when a worker that is there still is killed */
	unsigned killed;  /* workers, or tries to */
};

/* A worker begins with this, whatever the one before has made of the mount. */
static struct {
	struct k2i_setup setup;
	uint64_t taken;       /* as the mount's, for this */
	uint64_t seen, tried; /* signatures of the files: at the last look, and of those that a reload was begun for */
	bool reload;          /* is asked for, and no worker has answered */
	bool forwarded;       /* to the worker */
	bool offers;          /* systemd may not have all descriptors yet */
	uint64_t leave_ns;    /* the worker has been told to end for another keeper's, until then; 0: it has not */
} kept;

/* The worker's answers to whether it serves, which systemd's watchdog wants to know. */
static struct {
	unsigned answers;     /* as the mount's, at the last look */
	uint64_t answered_ns; /* when the last came, or the worker was ready */
	bool asked;
	unsigned hung; /* workers in a row that were replaced since they did not answer */
} watch;

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define END_SIGNALS (sizeof(end_signals) / sizeof(end_signals[0]))

void k2i_keeper_signals_block(sigset_t *signals)
{
	sigset_t forwarded;

	(void)sigemptyset(signals);
	(void)sigaddset(signals, SIGCHLD);
	(void)sigaddset(signals, SIGUSR1); /* asks for a reload */
	(void)sigaddset(signals, SIGUSR2); /* that the mount be left to another keeper */
	(void)sigaddset(signals, K2I_SIGNAL_WORD);
	for (size_t at = 0; at < END_SIGNALS; at++)
		(void)sigaddset(signals, end_signals[at]);
	(void)sigprocmask(SIG_BLOCK, signals, NULL);
	(void)sigemptyset(&forwarded);
	(void)sigaddset(&forwarded, K2I_SIGNAL_END);
	(void)sigprocmask(SIG_BLOCK, &forwarded, NULL); /* for the worker, which inherits it */
	k2i_standard_signals_ignore();
	(void)signal(SIGPIPE, SIG_IGN);
}

/* Queued, see K2I_SIGNAL_END. The rest of the order: a user may have as many signals queued as the system lets him. */
static int signal_forward(pid_t worker, int number)
{
	return sigqueue(worker, K2I_SIGNAL_END, (union sigval){.sival_int = number}) ? number : 0;
}

/* -1: nothing came for a while, at whose end is tried again what failed. */
static int signal_wait(const sigset_t *signals, bool again, siginfo_t *info)
{
	uint64_t watch_ns = k2i_daemon_watchdog_ns() / 8;
	const struct timespec pause = k2i_timespec(watch_ns && watch_ns < K2I_SECOND_NS ? watch_ns : K2I_SECOND_NS);

	return again ? sigtimedwait(signals, info, &pause) : sigwaitinfo(signals, info);
}

/* The first process of a container gets the orphans of the others as children; nobody else would ever take those away. */
static void strangers_reap(pid_t worker)
{
	siginfo_t child = {0};

	while (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0 && child.si_pid != 0 &&
	       child.si_pid != worker)
		(void)waitpid(child.si_pid, NULL, WNOHANG);
}

static bool signal_ends(int number)
{
	size_t at = 0;

	while (at < END_SIGNALS && end_signals[at] != number)
		at++;
	return at < END_SIGNALS;
}

/* Signals that nobody has taken yet. */
static bool signals_ask_end(void)
{
	sigset_t pending;
	bool asked = false;

	(void)sigpending(&pending);
	for (size_t at = 0; at < END_SIGNALS; at++)
		asked = asked || sigismember(&pending, end_signals[at]) == 1;
	return asked;
}

static void log_lost(const struct k2i_mount *mount)
{
	if (*mount->lanes.ring_files[mount->lanes.taker[0]])
		k2i_log(K2HFT_LOG_ERROR,
			"mount: what is not acknowledged stays in %s%s; what was in the page cache, if anything, is "
			"lost",
			mount->lanes.ring_files[mount->lanes.taker[0]],
			k2i_lanes_used(&mount->lanes) > 1 ? ", and the files beside it" : "");
	else
		k2i_log(K2HFT_LOG_ERROR, "mount: what is not acknowledged is lost");
}

static void ending_begin(struct ending *ending, int number)
{
	/* The second signal ends the worker's wait. */
	uint64_t wait_s = ending->signal && number ? 0 : kept.setup.config.settings->drain_timeout_s;

	if (number) {
		k2i_daemon_stopping();
		k2i_takeover_withdraw();
	}
	k2i_daemon_status("ends, when everything is acknowledged, or after DRAINTIMEOUT");
	ending->signal = number ? number : ending->signal;
	ending->kill_ns = k2i_clock_now_ns() + wait_s * K2I_SECOND_NS + STUCK_NS;
}

/*
 * Whether the mount ends without its worker: the second that hangs, or one that waits in the kernel, be it for this mount
 * itself, and can't be killed before the kernel fails its request.
 */
static bool ending_is_stuck(struct ending *ending, const struct k2i_mount *mount, pid_t worker)
{
	if (!ending->signal || k2i_clock_now_ns() < ending->kill_ns)
		return false;
	k2i_log(K2HFT_LOG_ERROR,
		"mount: %s: the worker is stopped or hangs, and has not ended after DRAINTIMEOUT, %llu s: %s",
		strsignal(ending->signal), (unsigned long long)kept.setup.config.settings->drain_timeout_s,
		ending->killed ? "the mount ends without it" : "it is killed");
	(void)kill(worker, SIGKILL);
	ending->kill_ns = k2i_clock_now_ns() + STUCK_NS;
	if (ending->killed++ == 0)
		return false;
	log_lost(mount);
	(void)umount2(mount->options->mount_point, MNT_FORCE | MNT_DETACH);
	return true;
}

/* A worker goes by another setup: the next is to begin with that. */
static void reload_keep(struct k2i_mount *mount)
{
	struct k2i_setup setup;
	struct k2i_reload told = {.begun = 0};

	if (kept.taken == mount->reload.taken)
		return;
	(void)snprintf(told.file, sizeof(told.file), "%s", mount->reload.told.file);
	if (k2i_setup_load(mount, kept.setup.config.settings, &setup, &told)) {
		k2i_log(K2HFT_LOG_WARNING,
			"mount: %s has changed again: a worker that dies is replaced by one of the former rules",
			told.error);
		return;
	}
	k2i_setup_free(&kept.setup);
	kept.setup = setup;
	kept.taken = mount->reload.taken;
	/* The worker has read another file. */
	if (setup.signature != mount->reload.signature)
		kept.reload = true;
}

/* The worker died: in a reload, that has succeeded or failed with it. */
static void reload_settle(struct k2i_mount *mount)
{
	struct k2i_reload *told = &mount->reload.told;
	bool taken = kept.taken != mount->reload.taken;

	if (kept.forwarded)
		k2i_daemon_reloading(true);
	kept.forwarded = false;
	k2i_handover_reset();
	if (told->begun != told->done) {
		kept.reload = false;
		if (!taken)
			(void)snprintf(told->error, sizeof(told->error), "the worker died while it reloaded");
		k2i_reload_end(told, "mount");
		/* The step may not have been done: the next worker makes sure. */
		kept.reload = taken;
	}
	reload_keep(mount);
}

/*
 * RELOAD = auto: once a second, since inotify(7) does not tell what another host has written, or that a link on the way leads
 * elsewhere. A file that has changed since the last look may be written still.
 */
static void files_look(const struct k2i_mount *mount)
{
	uint64_t now = k2i_setup_sign(kept.setup.config.settings, mount->reload.told.file);

	if (now == kept.seen && now != kept.setup.signature && now != kept.tried) {
		kept.tried = now;
		kept.reload = true;
		kept.forwarded = false;
	}
	kept.seen = now;
}

/* Whether it waits in the kernel, where nobody can end it: for a disk, mostly. */
static bool process_waits(pid_t pid)
{
	char path[32], text[64] = "";
	const char *state;
	ssize_t bytes;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	bytes = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		(void)close(fd);
	state = bytes > 0 ? strrchr(text, ')') : NULL;
	return state && strncmp(state, ") D", 3) == 0;
}

/*
 * Under a watchdog: a worker that does not answer, and waits for no disk, is replaced, where the kernel lets another one take
 * over. Else, or if that does not help, systemd hears nothing any more, and ends the mount.
 */
static void worker_watch(const struct k2i_mount *mount, pid_t worker, bool ready)
{
	uint64_t now_ns = k2i_clock_now_ns(), patience_ns = k2i_daemon_watchdog_ns() / 2;
	unsigned answers = atomic_load(&mount->keeper.answers);

	if (!patience_ns)
		return;
	if (!ready || answers != watch.answers || process_waits(worker)) {
		watch.hung = answers != watch.answers ? 0 : watch.hung;
		watch.asked = watch.asked && answers == watch.answers;
		watch.answers = answers;
		watch.answered_ns = now_ns;
	} else if (!watch.asked && now_ns - watch.answered_ns > patience_ns / 4) {
		watch.asked = signal_forward(worker, SIGCONT) == 0;
	} else if (now_ns - watch.answered_ns > patience_ns && mount->kernel.resends && watch.hung < HUNG_MAX) {
		watch.hung++;
		k2i_log(K2HFT_LOG_ERROR, "mount: the worker has not answered for %llu s: it is killed",
			(unsigned long long)((now_ns - watch.answered_ns) / K2I_SECOND_NS));
		/* Else systemd would have another keeper start those that hang. */
		if (watch.hung == HUNG_MAX)
			k2i_takeover_withdraw();
		(void)kill(worker, SIGKILL);
		watch.answered_ns = now_ns;
	}
	if (now_ns - watch.answered_ns <= patience_ns)
		k2i_daemon_alive();
}

/*
 * Rings of lanes that have ended; and, where no reload is under way, those that one has made for lanes which did not come to
 * be.
 */
static void rings_close(struct k2i_mount *mount, bool settled)
{
	for (unsigned at = 0; at < K2I_LANE_COUNT_MAX; at++) {
		struct k2i_mount_lane *lane = &mount->lanes.lane[at];

		if (settled && lane->state == K2I_LANE_FREE && lane->made) {
			(void)unlink(mount->lanes.ring_files[at]);
			lane->made = false;
		}
		if (lane->ring_fd < 0 || (lane->state != K2I_LANE_ENDED && !(settled && lane->state == K2I_LANE_FREE)))
			continue;
		(void)close(lane->ring_fd);
		lane->ring_fd = -1;
		lane->state = K2I_LANE_FREE;
	}
}

/* The mount goes by what another keeper would read. */
static bool config_is_current(const struct k2i_mount *mount)
{
	const char *file = mount->reload.told.file;

	return !*file || k2i_setup_sign(kept.setup.config.settings, file) == mount->reload.signature;
}

/*
 * The mount is to be left to another keeper: the worker ends when its plug-ins have, which may take a while. Another signal can
 * end the mount meanwhile.
 */
static void leave_begin(const struct k2i_mount *mount, pid_t worker)
{
	const char *lack = NULL;

	if (!config_is_current(mount))
		lack = "its configuration has changed, and was not reloaded";
	else if (k2i_takeover_offer(mount))
		lack = mount->kernel.resends ? "systemd does not keep its descriptors"
					     : "this kernel can't send requests again (Linux 6.9 can)";
	if (lack) {
		k2i_log(K2HFT_LOG_WARNING, "mount: it can't be left to another keeper: %s", lack);
		k2i_journal_stay();
		return;
	}
	k2i_log(K2HFT_LOG_INFO, "mount: %s is left to the next keeper", mount->options->mount_point);
	if (signal_forward(worker, SIGUSR2))
		(void)kill(worker, SIGKILL);
	kept.leave_ns = k2i_clock_now_ns() + LEAVE_NS;
}

/* Nothing more is done here: the mount would be undone. */
static void leave_end(struct k2i_mount *mount, pid_t worker, bool ended)
{
	if (!ended && k2i_clock_now_ns() < kept.leave_ns)
		return;
	if (!ended) {
		k2i_log(K2HFT_LOG_WARNING, "mount: the worker, or its plug-ins, have not ended in time: it is killed");
		(void)kill(worker, SIGKILL);
		(void)waitpid(worker, NULL, 0);
	}
	mount->keeper.left++;
	K2I_CRASH(mount_left);
	_exit(EXIT_SUCCESS);
}

/* Whether that is to be tried again. */
static bool descriptors_offer(const struct k2i_mount *mount)
{
	int status = k2i_takeover_offer(mount);

	return status && status != -ENOTSUP;
}

static void word_take(struct k2i_mount *mount, const siginfo_t *info, uint64_t *ready_ns)
{
	kept.offers = true;
	switch ((enum k2i_worker_word)info->si_value.sival_int) {
	case K2I_WORD_RING:
		k2i_handover_take(mount);
		return;
	case K2I_WORD_LANES:
		rings_close(mount, false);
		return;
	case K2I_WORD_RELOADED:
		kept.reload = kept.forwarded = false;
		rings_close(mount, true);
		reload_keep(mount);
		k2i_daemon_reloading(true);
		return;
	case K2I_WORD_READY:
		break;
	}
	rings_close(mount, !kept.forwarded);
	*ready_ns = k2i_clock_now_ns();
	watch.asked = false;
	K2I_CRASH(mount_ready);
	mount->keeper.tries = 0;
	k2i_daemon_ready();
	k2i_daemon_status("%s is mounted, and served by worker %u", mount->options->mount_point, mount->keeper.workers);
}

static void reload_forward(pid_t worker)
{
	if (!kept.reload || kept.forwarded)
		return;
	kept.forwarded = signal_forward(worker, SIGUSR1) == 0;
	if (kept.forwarded)
		k2i_daemon_reloading(false);
}

/*
 * As waitpid(2) tells. Signals for the mount go to the worker, which heeds only those from here; one that was killed
 * before it was done leaves its order to the next.
 */
static int worker_wait(struct k2i_mount *mount, pid_t worker, struct ending *ending, const sigset_t *signals,
		       uint64_t *ready_ns)
{
	int status = 0, order = -ending->signal;

	if (order)
		ending_begin(ending, 0);
	for (;;) {
		siginfo_t info;
		bool watches;
		int number;

		if (ending_is_stuck(ending, mount, worker))
			return K2I_STATUS_FAILED << 8;
		if (order)
			order = signal_forward(worker, order);
		reload_forward(worker);
		watches = kept.setup.config.settings->reloads_itself && !ending->signal;
		kept.leave_ns = mount->ending ? 0 : kept.leave_ns;
		number = signal_wait(signals,
				     watches || ending->signal || kept.reload != kept.forwarded || kept.offers ||
					     kept.leave_ns || k2i_daemon_watchdog_ns(),
				     &info);
		if (number < 0 && watches)
			files_look(mount);
		if (number == SIGCHLD)
			strangers_reap(worker);
		if (number == SIGCHLD && waitpid(worker, &status, WNOHANG) == worker) {
			if (kept.leave_ns && !mount->ending)
				leave_end(mount, worker, true);
			return status;
		}
		if (number == K2I_SIGNAL_WORD && info.si_pid == worker)
			word_take(mount, &info, ready_ns);
		if (kept.offers && *ready_ns && !ending->signal && !mount->ending)
			kept.offers = descriptors_offer(mount);
		if (number == SIGUSR2 && !ending->signal && !mount->ending && !signals_ask_end())
			leave_begin(mount, worker);
		if (kept.leave_ns && !mount->ending)
			leave_end(mount, worker, false);
		if (!ending->signal)
			worker_watch(mount, worker, *ready_ns != 0);
		if (number == SIGUSR1) {
			kept.reload = true;
			kept.forwarded = false;
		}
		if (signal_ends(number)) {
			kept.leave_ns = 0;
			order = number;
			ending_begin(ending, number);
		}
	}
}

static void keeper_pause(uint64_t ns)
{
	struct timespec time = k2i_timespec(ns);

	while (nanosleep(&time, &time) && errno == EINTR)
		continue;
}

/* The first two that die young are replaced at once. */
static uint64_t keeper_pause_ns(unsigned young)
{
	uint64_t pause_ns = young < 3 ? 0 : PAUSE_NS << (young - 3 < 4 ? young - 3 : 4);

	return pause_ns < PAUSE_NS_MAX ? pause_ns : PAUSE_NS_MAX;
}

static bool status_is_short(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == K2I_STATUS_SHORT;
}

static void worker_log_death(struct k2i_mount *mount, int status)
{
	if (status_is_short(status))
		k2i_log_limited(&mount->log.short_of, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
				"mount: no worker: there is no process or thread to be had; writers wait for one");
	/* The worker itself wrote to a page of the ring's file that its disk has no room for. */
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS)
		k2i_log(K2HFT_LOG_ERROR, K2I_LANE_UNWRITABLE);
	if (WIFSIGNALED(status))
		k2i_log(K2HFT_LOG_ERROR, "mount: the worker died (%s)", strsignal(WTERMSIG(status)));
	else if (!status_is_short(status))
		k2i_log(K2HFT_LOG_ERROR, "mount: the worker ended with status %d", WEXITSTATUS(status));
}

static bool status_is_end(int status)
{
	return WIFEXITED(status) && (WEXITSTATUS(status) == EXIT_SUCCESS || WEXITSTATUS(status) == K2I_STATUS_FAILED);
}

/* As below unshare(1) without --fork. Where libfuse has mount(8) mount, that was the first process there, and has ended. */
static bool children_elsewhere(void)
{
	struct stat here, there;

	return stat("/proc/self/ns/pid", &here) == 0 &&
	       (stat("/proc/self/ns/pid_for_children", &there) || here.st_ino != there.st_ino);
}

/* A worker's life: its status, or that of one that could not begin. */
static int worker_live(struct k2i_mount *mount, struct ending *ending, const sigset_t *signals, uint64_t *ready_ns)
{
	pid_t worker;

	mount->keeper.workers++;
	worker = fork();
	if (worker == 0) /* what main has to undo is the keeper's */
		_exit(k2i_worker_run(mount, &kept.setup));
	if (worker > 0)
		return worker_wait(mount, worker, ending, signals, ready_ns);
	mount->keeper.workers--;
	if (mount->keeper.begun || !children_elsewhere())
		return K2I_STATUS_SHORT << 8;
	k2i_log(K2HFT_LOG_ERROR,
		"mount: workers are in another namespace of pids, which has ended: unshare(1) needs --fork");
	return K2I_STATUS_FAILED << 8;
}

/*
 * SIGKILL comes from outside, be it from a kernel that lacks memory, and says nothing of the next worker: whatever is
 * killed is replaced for ever, and nor does a limit of processes say anything of it, unless the mount is to end or has
 * not begun. A worker that dies otherwise does so by itself.
 */
static bool status_is_failure(int status, bool may_end)
{
	if (status_is_short(status))
		return may_end;
	return !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;
}

static unsigned failures_after(unsigned failures, int status, bool may_end, uint64_t served_ns)
{
	if (status_is_failure(status, may_end))
		return served_ns < OF_USE_NS ? failures + 1 : 0;
	return served_ns ? 0 : failures;
}

/* Whether the mount ends with the worker that died. */
static bool keeper_gives_up(const struct k2i_mount *mount, unsigned failures)
{
	const char *mount_point = mount->options->mount_point;

	if (mount->kernel.init_bytes && !mount->kernel.resends)
		k2i_log(K2HFT_LOG_ERROR, "mount: %s ends with it", mount_point);
	else if (failures == FAILURES_MAX)
		k2i_log(K2HFT_LOG_ERROR, "mount: %s ends: %u workers in a row failed soon after their start",
			mount_point, failures);
	else
		return false;
	log_lost(mount);
	return true;
}

static int workers_run(struct k2i_mount *mount)
{
	unsigned young = 0, failures = 0;
	struct ending ending = {.signal = 0};
	sigset_t signals;

	mount->keeper.pid = getpid();
	k2i_keeper_signals_block(&signals);
	for (;;) {
		uint64_t began_ns = k2i_clock_now_ns(), ready_ns = 0, died_ns;
		int status = worker_live(mount, &ending, &signals, &ready_ns);

		if (status_is_end(status)) {
			if (!mount->keeper.begun)
				k2i_daemon_failed(WEXITSTATUS(status));
			return WEXITSTATUS(status);
		}
		worker_log_death(mount, status);
		reload_settle(mount);
		died_ns = k2i_clock_now_ns();
		failures = failures_after(failures, status, !mount->keeper.begun || ending.signal || signals_ask_end(),
					  ready_ns ? died_ns - ready_ns : 0);
		if (keeper_gives_up(mount, failures)) {
			k2i_daemon_failed(K2I_STATUS_FAILED);
			return K2I_STATUS_FAILED;
		}
		young = died_ns - began_ns < YOUNG_NS ? young + 1 : 0;
		keeper_pause(keeper_pause_ns(young > failures ? young : failures));
	}
}

int k2i_keeper_run(struct k2i_mount *mount)
{
	int status = k2i_handover_open();

	if (status) {
		(void)k2i_mount_fail("descriptors", status);
		k2i_daemon_failed(K2I_STATUS_FAILED);
		return K2I_STATUS_FAILED;
	}
	kept.setup = k2i_setup_of(mount);
	kept.setup.signature = mount->reload.signature;
	kept.taken = mount->reload.taken;
	/* The keeper before may have died in a reload. */
	reload_settle(mount);
	status = workers_run(mount);
	/* For who undoes the mount: the last worker's was its own. */
	k2i_setup_use(mount, &kept.setup);
	return status;
}
