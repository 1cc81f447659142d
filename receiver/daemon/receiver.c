/* SPDX-License-Identifier: MIT */
#include "receiver/daemon/receiver.h"

#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>

#include "receiver/listen/admission.h"
#include "receiver/control/control.h"
#include "app/program/daemon.h"
#include "app/program/standard.h"
#include "receiver/base/directory.h"
#include "app/rules/hosts.h"
#include "receiver/daemon/housekeeper.h"
#include "receiver/daemon/identity.h"
#include "receiver/daemon/reloader.h"
#include "receiver/listen/listener.h"
#include "base/clock.h"
#include "base/log.h"
#include "receiver/connection/acceptor.h"
#include "receiver/listen/secure.h"
#include "receiver/daemon/state.h"
#include "receiver/commit/syncer.h"
#include "receiver/base/text.h"

#define DESCRIPTORS_OWN 64u
#define DESCRIPTORS_LOOP 4u /* epoll's, the one that wakes the loop, and libevent's two for signals */
#define LOOPS_BY_ITSELF_MAX 8
#define DESCRIPTORS_LEAST 64u /* for connections and output files */
#define OPEN_FILES_MAX 1024u
#define MAPPED_BYTES_MIN (64 * 1024)
#define STATUS_WATCHES 25u /* ten seconds */

static const int signals[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1};
#define SIGNAL_COUNT (sizeof(signals) / sizeof(signals[0]))

struct k2i_receiver {
	struct k2i_counters counters;
	struct k2i_state state;
	struct k2i_housekeeper housekeeper;
	struct k2i_service service;
	struct k2i_format *format;
	struct k2i_listener *listener;
	struct k2i_acceptor acceptor;
	struct k2i_loops *loops;
	struct k2i_control *control;
	struct k2i_status status;
	struct event_base *base;
	struct event *signals[SIGNAL_COUNT], *watch;
	unsigned watches;
	struct k2i_reloader reloader;
	bool started;
};

/* Admission ------------------------------------------------------------------------------------------------------ */

static int admission_open(struct k2i_receiver *receiver, const struct k2i_settings *settings)
{
	struct k2i_hosts *hosts;
	int error = k2i_hosts_compile(settings, NULL, NULL, &hosts);

	if (!error)
		error = k2i_admission_open(hosts, &k2i_lookup_system, k2i_loops_admit, &receiver->service.admission);
	if (error)
		k2i_log(K2HFT_LOG_ERROR, "receiver: can't start: no memory for NAMEs of [SLVNODE]");
	return error ? K2I_EXIT_FAILED : 0;
}

/* Signals -------------------------------------------------------------------------------------------------------- */

static void on_signal(evutil_socket_t number, short what, void *argument)
{
	struct k2i_receiver *receiver = argument;

	(void)what;
	switch (number) {
	case SIGHUP:
		k2i_housekeeper_reload(&receiver->housekeeper);
		break;
	case SIGUSR1:
		/* The user who asked wants to see it, at any level of messages. */
		k2i_counters_log(&receiver->counters, K2HFT_LOG_ERROR);
		break;
	default:
		(void)event_base_loopbreak(receiver->base);
	}
}

/*
 * SIGHUP and SIGUSR1 are ignored only until their handlers are there: a start that waits for room on the disk can take
 * long. Ignoring SIGCHLD lets the orphans of a container go by themselves, where the receiver is the first process; it
 * does not know then how its plug-ins ended.
 */
static void signals_ignore(void)
{
	k2i_standard_signals_ignore();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGCHLD, getpid() == 1 ? SIG_IGN : SIG_DFL);
	(void)signal(SIGHUP, SIG_IGN);
}

static void on_watch(evutil_socket_t descriptor, short what, void *argument)
{
	struct k2i_receiver *receiver = argument;

	(void)descriptor;
	(void)what;
	if (k2i_loops_watch(receiver->loops))
		k2i_daemon_alive();
	if (receiver->watches++ % STATUS_WATCHES == 0)
		k2i_daemon_status("%zu senders are connected, %llu records are committed",
				  atomic_load(&receiver->service.connections),
				  (unsigned long long)atomic_load(&receiver->counters.records));
}

static int events_open(struct k2i_receiver *receiver)
{
	/* Told within twice that, a sender does not go to another receiver, even if it waits for no more than a second. */
	struct timeval interval = {0, 400000};
	unsigned i;

	receiver->base = event_base_new();
	if (!receiver->base)
		return -ENOMEM;
	for (i = 0; i < SIGNAL_COUNT; i++) {
		receiver->signals[i] = evsignal_new(receiver->base, signals[i], on_signal, receiver);
		if (!receiver->signals[i] || event_add(receiver->signals[i], NULL))
			return -ENOMEM;
	}
	receiver->watch = event_new(receiver->base, -1, EV_PERSIST, on_watch, receiver);
	return receiver->watch && !event_add(receiver->watch, &interval) ? 0 : -ENOMEM;
}

/* Configuration -------------------------------------------------------------------------------------------------- */

static int format_open(struct k2i_receiver *receiver, const struct k2i_settings *settings)
{
	char message[512];
	int error = k2i_format_compile(settings->format, settings->time_format, &receiver->format, message,
				       sizeof(message));

	if (error)
		k2i_log(K2HFT_LOG_ERROR, "receiver: can't start: %s", message);
	return error ? K2I_EXIT_FAILED : 0;
}

/* A loop for each processor: one alone is busy with what several senders bring, while the others idle. */
static unsigned loop_count(const struct k2i_settings *settings)
{
	cpu_set_t processors;
	int count = LOOPS_BY_ITSELF_MAX;

	if (settings->loop_count)
		return settings->loop_count;
	/* The call fails where there are more processors than a cpu_set_t has room for. */
	if (sched_getaffinity(0, sizeof(processors), &processors) == 0)
		count = CPU_COUNT(&processors);
	return count < LOOPS_BY_ITSELF_MAX ? (unsigned)count : LOOPS_BY_ITSELF_MAX;
}

/* Raises the limit of descriptors, and allows fewer connections where that is not enough. */
static int descriptors_share(const struct k2i_settings *settings, size_t *connections_max, size_t *connections_room,
			     size_t *files_max)
{
	size_t own = DESCRIPTORS_OWN + DESCRIPTORS_LOOP * loop_count(settings), available;
	size_t others = K2I_LOOPS_CROWD_MAX + K2I_CONTROL_CLIENTS_MAX;
	size_t connections_wanted = (size_t)settings->connections_max;
	struct rlimit limit = {1024, 1024};

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
		(void)getrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur < own + DESCRIPTORS_LEAST) {
		k2i_log(K2HFT_LOG_ERROR,
			"receiver: SOCKTHREADCNT = %u needs %zu open files, the limit is %zu: raise LimitNOFILE= or "
			"ulimit -n",
			loop_count(settings), own + DESCRIPTORS_LEAST, (size_t)limit.rlim_cur);
		return K2I_EXIT_FAILED;
	}
	available = (size_t)limit.rlim_cur - own;
	available = available > others + DESCRIPTORS_LEAST ? available - others : DESCRIPTORS_LEAST;
	*files_max = available / 4 < OPEN_FILES_MAX ? available / 4 : OPEN_FILES_MAX;
	*connections_room = available - *files_max;
	*connections_max = *connections_room < connections_wanted ? *connections_room : connections_wanted;
	if (*connections_max < connections_wanted)
		k2i_log(K2HFT_LOG_WARNING,
			"receiver: the limit of open files allows %zu connections, fewer than CONNMAX = %zu: raise "
			"LimitNOFILE= or ulimit -n",
			*connections_max, connections_wanted);
	return 0;
}

/* Contract ------------------------------------------------------------------------------------------------------- */

static int service_open(struct k2i_receiver *receiver, const struct k2i_settings *settings)
{
	struct k2i_destination *destination = &receiver->state.destination;
	int error = k2i_rings_create(destination->ledger, &destination->sinks, &receiver->counters, k2i_loops_fence,
				     &receiver->service.rings);

	if (error)
		return error;
	receiver->service.destination = destination;
	receiver->service.counters = &receiver->counters;
	receiver->service.receiver_uuid = k2i_ledger_uuid(destination->ledger);
	receiver->service.streams.count_max = (size_t)settings->streams_max;
	receiver->service.host_connections_max = (size_t)settings->host_connections_max;
	receiver->service.budget.bytes_max =
		settings->buffer_bytes < SIZE_MAX ? (size_t)settings->buffer_bytes : SIZE_MAX;
	receiver->service.frame_bytes_max = (uint32_t)settings->frame_bytes_max;
	receiver->service.window_bytes = settings->window_bytes;
	atomic_store(&receiver->service.next_id, 1);
	error = k2i_syncer_start(destination,
				 settings->file_sync == K2I_FILE_SYNC_INTERVAL ? settings->file_sync_ms : 0,
				 &receiver->service.syncer);
	if (error)
		return error;
	receiver->service.sync_always = settings->file_sync == K2I_FILE_SYNC_ALWAYS;
	return k2i_loops_start(&receiver->service, loop_count(settings), &receiver->loops);
}

/* The steps that need root, which it may be started as, and then no longer is. */
static int privileges_use(struct k2i_receiver *receiver, const struct k2i_settings *settings,
			  const struct k2i_listen_choice *choice)
{
	const char *base = settings->base_directory, *state = settings->state_directory;
	struct k2i_identity identity;

	if (k2i_identity_find(settings, &identity))
		return K2I_EXIT_CONFIGURATION;
	if (k2i_listener_open(choice, &receiver->listener) || k2i_control_open(settings, &receiver->control) ||
	    (base &&
	     k2i_identity_directory_make(&identity, "FILE_BASEDIR", base, k2i_directory_mode(settings->file_mode))) ||
	    (state && k2i_identity_directory_make(&identity, "STATEDIR", state, K2I_DIRECTORY_PRIVATE)) ||
	    k2i_identity_take(&identity) || (base && k2i_identity_directory_check(&identity, "FILE_BASEDIR", base)) ||
	    (state && k2i_identity_directory_check(&identity, "STATEDIR", state)))
		return K2I_EXIT_FAILED;
	return 0;
}

static int state_open(struct k2i_receiver *receiver, const struct k2i_settings *settings, size_t files_max)
{
	static const struct k2i_sink_listener listener = {k2i_loops_stored, k2i_loops_ready};
	const struct k2i_state_options options = {.settings = settings,
						  .format = receiver->format,
						  .listener = &listener,
						  .counters = &receiver->counters,
						  .targets_max = files_max};

	return k2i_state_open(&options, &receiver->state);
}

static int housekeeper_open(struct k2i_receiver *receiver)
{
	receiver->reloader.service = &receiver->service;
	receiver->reloader.loops = receiver->loops;
	receiver->reloader.state = &receiver->state;
	k2i_reloader_tell(&receiver->reloader);
	return k2i_housekeeper_start(&receiver->housekeeper, &receiver->state, &receiver->reloader);
}

static int receiver_build(struct k2i_receiver *receiver, const struct k2i_settings *settings,
			  const struct k2i_options *options)
{
	struct k2i_listen_choice choice;
	struct k2i_listen_taker taker;
	size_t connections_max, files_max;
	int status, error;

	if (descriptors_share(settings, &connections_max, &receiver->reloader.connections_max, &files_max))
		return K2I_EXIT_FAILED;
	atomic_store(&receiver->service.connections_max, connections_max);
	if (k2i_listen_choose(settings, options->listen, &choice)) {
		k2i_log(K2HFT_LOG_ERROR, "receiver: --listen wants ADDRESS:PORT, a port of 65535 at most, not \"%s\"",
			options->listen);
		return K2I_EXIT_CONFIGURATION;
	}
	choice.handed = k2i_daemon_descriptors(NULL, 0);
	choice.handed_first = K2I_DAEMON_DESCRIPTORS_FIRST;
	status = k2i_secure_open(settings, &receiver->service.secure) ? K2I_EXIT_CONFIGURATION
								      : format_open(receiver, settings);
	if (!status)
		status = admission_open(receiver, settings);
	if (!status)
		status = privileges_use(receiver, settings, &choice);
	if (status)
		return status;
	if (state_open(receiver, settings, files_max))
		return K2I_EXIT_FAILED;
	error = events_open(receiver);
	if (!error)
		error = service_open(receiver, settings);
	if (!error)
		error = housekeeper_open(receiver);
	if (error) {
		k2i_log(K2HFT_LOG_ERROR, "receiver: can't start: %s", k2i_text_error(error));
		return K2I_EXIT_FAILED;
	}
	receiver->status = (struct k2i_status){&receiver->service, &receiver->reloader.reload,
					       &receiver->reloader.mutex, k2i_clock_now_ns()};
	if (receiver->control && k2i_control_start(receiver->control, &receiver->status))
		return K2I_EXIT_FAILED;
	/* Last: a peer that can connect is served. */
	receiver->acceptor = (struct k2i_acceptor){.loops = receiver->loops, .counters = &receiver->counters};
	taker = (struct k2i_listen_taker){k2i_acceptor_take, &receiver->acceptor, &receiver->counters.accept_errors};
	return k2i_listener_start(receiver->listener, receiver->base, &taker) ? K2I_EXIT_FAILED : 0;
}

int k2i_receiver_open(struct k2i_settings *settings, const struct k2i_options *options, struct k2i_receiver **receiver)
{
	struct k2i_receiver *opened = calloc(1, sizeof(*opened));
	int status;

	if (!opened) {
		k2i_settings_free(settings);
		return K2I_EXIT_FAILED;
	}
	k2i_reloader_start(&opened->reloader, options->config, settings);
	signals_ignore();
	/* Each new file has the mode that is asked for: FILE_MODE, or 0600. */
	(void)umask(0);
	k2i_peers_start(&opened->service.peers);
	k2i_flows_start(&opened->service.streams.flows);
	/*
	 * Buffers for frames come and go with their senders: each is a mapping of its own that grows in place and goes
	 * back to the system. In the heap they would leave holes, and use twice as much as BUFFERMAX allows. musl maps
	 * blocks of twice that size by itself, and has no such setting.
	 */
#ifdef M_MMAP_THRESHOLD
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
#endif
	status = receiver_build(opened, settings, options);
	if (status) {
		(void)k2i_receiver_close(opened);
		return status;
	}
	opened->started = true;
	*receiver = opened;
	return 0;
}

void k2i_receiver_run(struct k2i_receiver *receiver)
{
	k2i_daemon_ready();
	(void)event_base_dispatch(receiver->base);
	k2i_daemon_stopping();
}

int k2i_receiver_close(struct k2i_receiver *receiver)
{
	unsigned i;
	int error;

	if (!receiver)
		return 0;
	k2i_control_close(receiver->control);
	k2i_listener_close(receiver->listener);
	k2i_admission_stop(receiver->service.admission);
	k2i_loops_stop(receiver->loops);
	k2i_housekeeper_stop(&receiver->housekeeper);
	k2i_admission_free(receiver->service.admission);
	k2i_syncer_stop(receiver->service.syncer);
	k2i_secure_free(receiver->service.secure);
	error = k2i_state_close(&receiver->state, receiver->started);
	k2i_loops_free(receiver->loops);
	if (receiver->started)
		k2i_counters_log(&receiver->counters, K2HFT_LOG_INFO);
	k2i_rings_free(receiver->service.rings);
	k2i_peers_end(&receiver->service.peers);
	k2i_flows_end(&receiver->service.streams.flows);
	k2i_format_free(receiver->format);
	for (i = 0; i < SIGNAL_COUNT; i++) {
		if (receiver->signals[i])
			event_free(receiver->signals[i]);
	}
	if (receiver->watch)
		event_free(receiver->watch);
	if (receiver->base)
		event_base_free(receiver->base);
	k2i_reloader_end(&receiver->reloader);
	free(receiver);
	return error ? K2I_EXIT_FAILED : 0;
}
