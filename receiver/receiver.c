/* SPDX-License-Identifier: MIT */
#include "receiver.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <event2/event.h>

#include "admission.h"
#include "commit.h"
#include "control.h"
#include "daemon.h"
#include "hosts.h"
#include "identity.h"
#include "listener.h"
#include "log.h"
#include "loops.h"
#include "message.h"
#include "path.h"
#include "secure.h"
#include "syncer.h"
#include "text.h"
#include "uuid.h"

#define QUARANTINE_DIRECTORY "quarantine"
#define DESCRIPTORS_OWN 64u
#define DESCRIPTORS_LOOP 4u /* epoll's, the one that wakes it, and two for signals that libevent makes in any case */
#define LOOPS_BY_ITSELF_MAX 8
#define DESCRIPTORS_LEAST 64u /* for connections and output files */
#define OPEN_FILES_MAX 1024u
#define MAPPED_BYTES_MIN (64 * 1024)

static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
#define SIGNAL_COUNT (sizeof(signals) / sizeof(signals[0]))

struct k2i_receiver {
	struct k2i_counters counters;
	struct k2i_destination destination;
	struct k2i_service service;
	struct k2i_format *format;
	struct k2i_listener *listener;
	struct k2i_loops *loops;
	struct k2i_control *control;
	struct k2i_status status;
	struct event_base *base;
	struct event *signals[SIGNAL_COUNT], *tick;
	struct k2i_log_limit ledger_limit;
	const char *config; /* as the command line has it */
	char state_path[PATH_MAX], *refused_prefix;
	bool started;
};

/* Who may connect ------------------------------------------------------------------------------------------------ */

static void hosts_report(void *argument, enum k2i_finding finding, const char *file, unsigned line, const char *text)
{
	(void)argument;
	if (finding == K2I_FINDING_ERROR)
		k2i_log(K2HFT_LOG_ERROR, "%s:%u: %s", file, line, text);
}

static int admission_open(struct k2i_receiver *receiver, const struct k2i_settings *settings)
{
	struct k2i_hosts *hosts;
	int error = k2i_hosts_compile(settings, hosts_report, NULL, &hosts);

	if (!error)
		error = k2i_admission_open(hosts, &k2i_lookup_system, k2i_loops_admit, &receiver->service.admission);
	if (error != -ENOMEM)
		return error ? K2I_EXIT_CONFIGURATION : 0;
	k2i_log(K2HFT_LOG_ERROR, "receiver: can't start: no memory for NAMEs of [SLVNODE]");
	return K2I_EXIT_FAILED;
}

/* SLVNODE as the configuration has it now. What is wrong with any of it changes nothing. */
static void admission_reload(struct k2i_receiver *receiver)
{
	struct k2i_settings *settings = NULL;
	struct k2i_hosts *hosts = NULL;
	char message[1024] = "no memory";
	int error = k2i_settings_load(receiver->config, &settings, message, sizeof(message));

	if (error)
		k2i_log(K2HFT_LOG_ERROR, "%s", message);
	else
		error = k2i_hosts_compile(settings, hosts_report, NULL, &hosts);
	k2i_settings_free(settings);
	if (error) {
		k2i_log(K2HFT_LOG_ERROR,
			"receiver: NAMEs of [SLVNODE] are not read again: the former ones stay in use");
		return;
	}
	k2i_log(K2HFT_LOG_INFO, "receiver: %s may make new connections",
		hosts ? "from now on hosts that match NAME of an [SLVNODE]" : "without [SLVNODE] any host");
	k2i_admission_change(receiver->service.admission, hosts);
}

/* Signals and time ----------------------------------------------------------------------------------------------- */

static void on_signal(evutil_socket_t number, short what, void *argument)
{
	struct k2i_receiver *receiver = argument;

	(void)what;
	switch (number) {
	case SIGHUP:
		k2i_log(K2HFT_LOG_INFO, "receiver: SIGHUP: output files are opened anew");
		k2i_outputs_reopen(receiver->destination.outputs);
		k2i_secure_reload(receiver->service.secure);
		admission_reload(receiver);
		break;
	case SIGUSR1:
		/* Who asks wants to see it, whatever the level of messages. */
		k2i_counters_log(&receiver->counters, K2HFT_LOG_ERROR);
		break;
	default:
		(void)event_base_loopbreak(receiver->base);
	}
}

static void on_tick(evutil_socket_t descriptor, short what, void *argument)
{
	struct k2i_receiver *receiver = argument;
	int result;

	(void)descriptor;
	(void)what;
	k2i_outputs_tick(receiver->destination.outputs, k2i_loop_now_ns());
	k2i_quarantine_tick(receiver->destination.quarantine);
	result = k2i_ledger_check(receiver->destination.ledger);
	if (result < 0)
		k2i_log_limited(&receiver->ledger_limit, k2i_loop_now_ns(), K2HFT_LOG_ERROR,
				"ledger: somebody removed or cut it in %s, and it can't be written again: %s",
				receiver->state_path, k2i_text_error(result));
	if (result != 1)
		return;
	k2i_count(&receiver->counters.ledger_rewritten, 1);
	k2i_log(K2HFT_LOG_WARNING, "ledger: somebody removed or cut it in %s; it was written again",
		receiver->state_path);
}

/*
 * The last two until there is something to do about them: a start that waits for room on the disk can take long. The orphans
 * of a container, whose first process gets them as children, go by themselves then; it makes none.
 */
static void signals_ignore(void)
{
	static const int numbers[] = {SIGPIPE, SIGXFSZ, SIGCHLD, SIGHUP, SIGUSR1};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void)signal(numbers[i], SIG_IGN);
}

static int events_open(struct k2i_receiver *receiver)
{
	struct timeval second = {1, 0};
	unsigned i;

	receiver->base = event_base_new();
	if (!receiver->base)
		return -ENOMEM;
	for (i = 0; i < SIGNAL_COUNT; i++) {
		receiver->signals[i] = evsignal_new(receiver->base, signals[i], on_signal, receiver);
		if (!receiver->signals[i] || event_add(receiver->signals[i], NULL))
			return -ENOMEM;
	}
	receiver->tick = event_new(receiver->base, -1, EV_PERSIST, on_tick, receiver);
	return receiver->tick && event_add(receiver->tick, &second) == 0 ? 0 : -ENOMEM;
}

/* Configuration -------------------------------------------------------------------------------------------------- */

static int format_compile(const char *format, const char *time_format, const struct k2i_place *place,
			  struct k2i_format **compiled)
{
	char message[512];
	int error = k2i_format_compile(format, time_format, compiled, message, sizeof(message));

	if (!error)
		return 0;
	k2i_log(K2HFT_LOG_ERROR, "%s:%u: %s", place->file ? place->file : "FORMAT", place->line, message);
	return error == -ENOMEM ? K2I_EXIT_FAILED : K2I_EXIT_CONFIGURATION;
}

static int format_open(struct k2i_receiver *receiver, const struct k2i_settings *settings)
{
	char at[PATH_MAX + 16];
	const char *refused = NULL;
	struct k2i_format *time_only = NULL;
	int status = 0;

	/* On its own first, so that its mistakes are reported at its own line. */
	if (settings->time_format)
		status = format_compile("%T", settings->time_format, &settings->time_format_place, &time_only);
	k2i_format_free(time_only);
	if (status == 0)
		status = format_compile(settings->format, settings->time_format, &settings->format_place,
					&receiver->format);
	if (status)
		return status;
	if (settings->unify_file)
		refused = k2i_format_unify_check(settings->unify_file, (uint64_t)time(NULL) * 1000000000u);
	if (refused) {
		k2i_log(K2HFT_LOG_ERROR, "%s: FILE_UNIFY \"%s\" %s",
			k2i_settings_place(settings, &settings->unify_place, at, sizeof(at)), settings->unify_file,
			refused);
		return K2I_EXIT_CONFIGURATION;
	}
	return 0;
}

/* One for each processor: one alone is busy with what several senders bring, while the others idle. */
static unsigned loop_count(const struct k2i_settings *settings)
{
	cpu_set_t processors;
	int count = LOOPS_BY_ITSELF_MAX;

	if (settings->loop_count)
		return settings->loop_count;
	/* It fails where there are more processors than a cpu_set_t has room for. */
	if (sched_getaffinity(0, sizeof(processors), &processors) == 0)
		count = CPU_COUNT(&processors);
	return count < LOOPS_BY_ITSELF_MAX ? (unsigned)count : LOOPS_BY_ITSELF_MAX;
}

/* More descriptors than a shell allows; fewer connections rather than none. */
static int descriptors_share(const struct k2i_settings *settings, size_t *connections_max, size_t *files_max)
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
	*connections_max = available - *files_max < connections_wanted ? available - *files_max : connections_wanted;
	if (*connections_max < connections_wanted)
		k2i_log(K2HFT_LOG_WARNING,
			"receiver: the limit of open files allows %zu connections, fewer than CONNMAX = %zu: raise "
			"LimitNOFILE= or ulimit -n",
			*connections_max, connections_wanted);
	return 0;
}

/* Ledger and output ---------------------------------------------------------------------------------------------- */

/* A ledger within the base directory must not be a name that a stream can have. */
static int refused_prefix_find(struct k2i_receiver *receiver, const char *base_directory)
{
	char *base = realpath(base_directory, NULL), *state = realpath(receiver->state_path, NULL);
	size_t base_bytes = base ? strlen(base) : 0;
	int error = base && state ? 0 : -errno;

	/* The root alone ends with a slash. */
	if (base_bytes == 1)
		base_bytes = 0;
	if (!error && strcmp(state, base) == 0) {
		error = -EINVAL;
	} else if (!error && strncmp(state, base, base_bytes) == 0 && state[base_bytes] == '/') {
		receiver->refused_prefix = strdup(state + base_bytes + 1);
		error = receiver->refused_prefix ? 0 : -ENOMEM;
	}
	free(base);
	free(state);
	return error;
}

static void ledger_report(struct k2i_receiver *receiver, const struct k2i_ledger_report *report)
{
	if (report->damaged) {
		k2i_count(&receiver->counters.ledger_damaged, 1);
		k2i_log(K2HFT_LOG_ERROR,
			"ledger: record %zu of %s is damaged, %" PRIu64 " bytes are lost; the damaged one stays as "
			"ledger.damaged; senders say where they go on, records may come twice",
			report->record_count + 1, receiver->state_path, report->lost_bytes);
	}
	if (report->torn) {
		k2i_count(&receiver->counters.ledger_torn, 1);
		k2i_log(K2HFT_LOG_WARNING, "ledger: its end was not whole when the receiver died; it is ignored");
	}
	if (report->copied && !report->clean)
		k2i_log(K2HFT_LOG_WARNING,
			"ledger: %s/ledger is a copy that somebody put there: files are kept as they are, records may "
			"come twice",
			receiver->state_path);
	else if (report->found && !report->clean && !report->same_boot)
		k2i_log(K2HFT_LOG_WARNING,
			"ledger: the machine went down while the receiver ran; what senders of level synced were not "
			"acknowledged comes again, of others files are kept as they are");
}

struct recovery {
	struct k2i_receiver *receiver;
	bool cut_all, cut_deferred, lost;
};

static void file_look(void *argument, const struct k2i_ledger_file *file)
{
	struct recovery *recovery = argument;

	if (k2i_outputs_short(recovery->receiver->destination.outputs, file))
		recovery->lost = true;
}

/* A disk that went away and came back, without the machine, has of each file what was synced, and of the ledger more. */
static void disk_look(struct recovery *recovery)
{
	struct k2i_ledger *ledger = recovery->receiver->destination.ledger;

	k2i_ledger_files_unsynced(ledger, file_look, recovery);
	if (!recovery->lost)
		return;
	k2i_log(K2HFT_LOG_WARNING,
		"ledger: files are gone, or shorter than they were: what senders of level synced were not acknowledged "
		"comes again");
	k2i_ledger_fall_back(ledger);
}

static void file_recover(void *argument, const struct k2i_ledger_file *file)
{
	struct recovery *recovery = argument;

	k2i_outputs_recover(recovery->receiver->destination.outputs, file,
			    recovery->cut_all || (recovery->cut_deferred && file->deferred));
}

/* The key that says where the ledger is. */
static int state_failed(struct k2i_receiver *receiver, const struct k2i_settings *settings, int error)
{
	bool own = settings->state_directory;
	char at[PATH_MAX + 16];

	k2i_settings_place(settings, own ? &settings->state_place : &settings->base_place, at, sizeof(at));
	if (error == -EWOULDBLOCK)
		k2i_log(K2HFT_LOG_ERROR,
			"ledger: %s: another receiver uses %s; end it, or give this one a STATEDIR of its own", at,
			receiver->state_path);
	else if (error == -EINVAL && own)
		k2i_log(K2HFT_LOG_ERROR,
			"ledger: %s: STATEDIR must not be FILE_BASEDIR itself, where streams can have the names of its "
			"files; name a directory in it, or elsewhere",
			at);
	else if (error == -EPROTO)
		k2i_log(K2HFT_LOG_ERROR, "ledger: %s: %s/ledger was made by a later version", at, receiver->state_path);
	else
		k2i_log(K2HFT_LOG_ERROR, "ledger: %s: can't use %s%s: %s; give the receiver a %s that it can write", at,
			own ? "STATEDIR " : "", receiver->state_path, k2i_text_error(error),
			own ? "directory" : "FILE_BASEDIR or a STATEDIR");
	return K2I_EXIT_FAILED;
}

/* What is to be done about a directory that can't be made or used. */
static int base_failed(const struct k2i_settings *settings, const char *what, int error)
{
	char at[PATH_MAX + 16];

	k2i_log(K2HFT_LOG_ERROR, "output: %s: can't %s FILE_BASEDIR %s: %s",
		k2i_settings_place(settings, &settings->base_place, at, sizeof(at)), what, settings->base_directory,
		error == -EWOULDBLOCK ? "another receiver writes there" : k2i_text_error(error));
	return K2I_EXIT_FAILED;
}

static int ledger_open(struct k2i_receiver *receiver, const struct k2i_settings *settings,
		       struct k2i_ledger_report *report)
{
	uint8_t boot_id[16];
	int error = k2i_boot_id(boot_id);

	/* Without it each start would be one of the same machine run. */
	if (error || k2i_message_uuid_zero(boot_id)) {
		k2i_log(K2HFT_LOG_ERROR, "ledger: /proc/sys/kernel/random/boot_id can't be read: the receiver needs "
					 "/proc, and all of it "
					 "(no subset=pid, or ProcSubset= of a unit)");
		return K2I_EXIT_FAILED;
	}
	error = k2i_ledger_open(receiver->state_path, boot_id, &receiver->destination.ledger, report);
	if (!error)
		error = refused_prefix_find(receiver, settings->base_directory);
	if (error)
		return state_failed(receiver, settings, error);
	ledger_report(receiver, report);
	return 0;
}

/* A full disk is waited for, as it is later. SIGTERM ends the wait and the program: nothing is under way. */
static int ledger_begin(struct k2i_receiver *receiver)
{
	struct timespec second = {1, 0};
	int error = k2i_ledger_begin(receiver->destination.ledger);

	if (error == -ENOSPC || error == -EDQUOT)
		k2i_log(K2HFT_LOG_ERROR, "ledger: no room in %s; the receiver waits for it", receiver->state_path);
	while (error == -ENOSPC || error == -EDQUOT) {
		(void)nanosleep(&second, NULL);
		error = k2i_ledger_begin(receiver->destination.ledger);
	}
	return error;
}

static int quarantine_open(struct k2i_receiver *receiver, uint64_t bytes_max)
{
	char path[PATH_MAX + sizeof(QUARANTINE_DIRECTORY)];

	(void)snprintf(path, sizeof(path), "%s/%s", receiver->state_path, QUARANTINE_DIRECTORY);
	return k2i_quarantine_create(path, bytes_max, &receiver->counters, &receiver->destination.quarantine);
}

static int state_path_set(struct k2i_receiver *receiver, const struct k2i_settings *settings)
{
	const char *own = settings->state_directory;
	int length = snprintf(receiver->state_path, sizeof(receiver->state_path), "%s%s",
			      own ? own : settings->base_directory, own ? "" : "/" K2I_STATE_NAME);

	return (size_t)length < sizeof(receiver->state_path) ? 0 : -ENAMETOOLONG;
}

static int output_open(struct k2i_receiver *receiver, const struct k2i_settings *settings, size_t files_max)
{
	struct k2i_outputs_options options = {
		.base_directory = settings->base_directory,
		.open_max = files_max,
		.store = {.write_bytes = (size_t)settings->write_bytes,
			  .mode = settings->open_mode,
			  .cache = settings->cache},
		.counters = &receiver->counters,
	};
	struct k2i_ledger_report report;
	struct recovery recovery = {.receiver = receiver};
	int error = k2i_outputs_base_make(settings->base_directory);

	if (!error)
		error = state_path_set(receiver, settings);
	if (error)
		return base_failed(settings, "make", error);
	if (ledger_open(receiver, settings, &report))
		return K2I_EXIT_FAILED;
	options.ledger = receiver->destination.ledger;
	options.refused_prefix = receiver->refused_prefix;
	options.killed = report.found && !report.clean;
	error = k2i_outputs_create(&options, &receiver->destination.outputs);
	if (error)
		return base_failed(settings, "use", error);
	/*
	 * What this very machine run wrote behind the ledger's back is known not to have been acknowledged. After another
	 * the ledger may not have all that was; of deferred files it has. A copy of it can have less than was acknowledged.
	 */
	recovery.cut_deferred = report.found && !report.clean && !report.damaged && !report.copied;
	recovery.cut_all = recovery.cut_deferred && report.same_boot;
	if (recovery.cut_all)
		disk_look(&recovery);
	k2i_ledger_files(receiver->destination.ledger, file_recover, &recovery);
	k2i_outputs_recover_renamed(receiver->destination.outputs);
	error = ledger_begin(receiver);
	if (!error)
		k2i_outputs_recovered(receiver->destination.outputs);
	if (!error)
		error = quarantine_open(receiver, settings->quarantine_bytes);
	return error ? state_failed(receiver, settings, error) : 0;
}

/* Contract ------------------------------------------------------------------------------------------------------- */

static int service_open(struct k2i_receiver *receiver, const struct k2i_settings *settings)
{
	int error = k2i_rings_create(receiver->destination.ledger, &receiver->counters, k2i_loops_fence,
				     &receiver->service.rings);

	if (error)
		return error;
	receiver->destination.counters = &receiver->counters;
	receiver->destination.format = receiver->format;
	receiver->destination.unify_file = settings->unify_file;
	receiver->service.destination = &receiver->destination;
	receiver->service.counters = &receiver->counters;
	receiver->service.receiver_uuid = k2i_ledger_uuid(receiver->destination.ledger);
	receiver->service.streams.count_max = (size_t)settings->streams_max;
	receiver->service.host_connections_max = (size_t)settings->host_connections_max;
	receiver->service.budget.bytes_max =
		settings->buffer_bytes < SIZE_MAX ? (size_t)settings->buffer_bytes : SIZE_MAX;
	receiver->service.frame_bytes_max = (uint32_t)settings->frame_bytes_max;
	receiver->service.window_bytes = settings->window_bytes;
	atomic_store(&receiver->service.next_id, 1);
	error = k2i_syncer_start(&receiver->destination,
				 settings->file_sync == K2I_FILE_SYNC_INTERVAL ? settings->file_sync_ms : 0,
				 &receiver->service.syncer);
	if (error)
		return error;
	receiver->service.sync_always = settings->file_sync == K2I_FILE_SYNC_ALWAYS;
	return k2i_loops_start(&receiver->service, loop_count(settings), &receiver->loops);
}

/* So that `tail -f` has something to open, and that what is in the way is said at once. */
static void unify_make(struct k2i_receiver *receiver, const char *unify_file)
{
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	struct k2i_output_file *output;
	int error;

	if (k2i_format_unify(unify_file, (uint64_t)time(NULL) * 1000000000u, path) ||
	    k2i_output_acquire(receiver->destination.outputs, path, &output))
		return;
	k2i_output_lock(output);
	error = k2i_output_prepare(receiver->destination.outputs, output);
	k2i_output_unlock(output);
	k2i_output_release(receiver->destination.outputs, output);
	if (error)
		k2i_log(K2HFT_LOG_ERROR,
			"output: FILE_UNIFY %s can't be written: %s; senders will be held until it can", path,
			k2i_text_error(error));
}

/* What needs root, which it may be started as, and then no longer is. */
static int privileges_use(struct k2i_receiver *receiver, const struct k2i_settings *settings,
			  const struct k2i_listen_choice *choice)
{
	const char *base = settings->base_directory, *state = settings->state_directory;
	struct k2i_identity identity;

	if (k2i_identity_find(settings, &identity))
		return K2I_EXIT_CONFIGURATION;
	if (k2i_listener_open(choice, &receiver->listener) || k2i_control_open(settings, &receiver->control) ||
	    k2i_identity_directory_make(&identity, "FILE_BASEDIR", base) ||
	    (state && k2i_identity_directory_make(&identity, "STATEDIR", state)) || k2i_identity_take(&identity) ||
	    k2i_identity_directory_check(&identity, "FILE_BASEDIR", base) ||
	    (state && k2i_identity_directory_check(&identity, "STATEDIR", state)))
		return K2I_EXIT_FAILED;
	return 0;
}

static int receiver_build(struct k2i_receiver *receiver, const struct k2i_settings *settings,
			  const struct k2i_options *options)
{
	struct k2i_listen_choice choice;
	size_t files_max;
	int status, error;

	if (descriptors_share(settings, &receiver->service.connections_max, &files_max))
		return K2I_EXIT_FAILED;
	if (k2i_listen_choose(settings, options->listen, &choice)) {
		k2i_log(K2HFT_LOG_ERROR, "receiver: --listen wants ADDRESS:PORT, a port of 65535 at most, not \"%s\"",
			options->listen);
		return K2I_EXIT_CONFIGURATION;
	}
	status = k2i_secure_open(settings, &receiver->service.secure) ? K2I_EXIT_CONFIGURATION
								      : format_open(receiver, settings);
	if (!status)
		status = admission_open(receiver, settings);
	if (!status)
		status = privileges_use(receiver, settings, &choice);
	if (!status)
		status = output_open(receiver, settings, files_max);
	if (status)
		return status;
	error = events_open(receiver);
	if (!error)
		error = service_open(receiver, settings);
	if (error) {
		k2i_log(K2HFT_LOG_ERROR, "receiver: can't start: %s", k2i_text_error(error));
		return K2I_EXIT_FAILED;
	}
	if (settings->unify_file)
		unify_make(receiver, settings->unify_file);
	receiver->status = (struct k2i_status){&receiver->service, receiver->destination.outputs, k2i_loop_now_ns()};
	error = receiver->control ? k2i_control_start(receiver->control, &receiver->status) : 0;
	if (error) {
		k2i_log(K2HFT_LOG_ERROR, "status: can't start: %s", k2i_text_error(error));
		return K2I_EXIT_FAILED;
	}
	/* Last: whoever can connect is served. */
	return k2i_listener_start(receiver->listener, receiver->base, receiver->loops, &receiver->counters)
		       ? K2I_EXIT_FAILED
		       : 0;
}

int k2i_receiver_open(const struct k2i_settings *settings, const struct k2i_options *options,
		      struct k2i_receiver **receiver)
{
	struct k2i_receiver *opened = calloc(1, sizeof(*opened));
	int status;

	if (!opened)
		return K2I_EXIT_FAILED;
	signals_ignore();
	opened->config = options->config;
	k2i_peers_start(&opened->service.peers);
	/*
	 * Buffers for frames come and go with their senders: each is a mapping of its own that grows in place and goes
	 * back to the system. In the heap they would leave holes, and twice what BUFFERMAX allows would be in use. musl maps
	 * what is twice as large by itself, and can't be told more.
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
	k2i_admission_free(receiver->service.admission);
	k2i_syncer_stop(receiver->service.syncer);
	k2i_secure_free(receiver->service.secure);
	error = k2i_outputs_free(receiver->destination.outputs, receiver->started);
	if (!error && receiver->started)
		error = k2i_quarantine_sync(receiver->destination.quarantine);
	if (error)
		k2i_log(K2HFT_LOG_ERROR, "output: can't sync files to the disk: %s", k2i_text_error(error));
	if (receiver->started)
		k2i_counters_log(&receiver->counters, K2HFT_LOG_INFO);
	k2i_ledger_close(receiver->destination.ledger, receiver->started && !error);
	k2i_rings_free(receiver->service.rings);
	k2i_peers_end(&receiver->service.peers);
	k2i_quarantine_free(receiver->destination.quarantine);
	k2i_format_free(receiver->format);
	for (i = 0; i < SIGNAL_COUNT; i++) {
		if (receiver->signals[i])
			event_free(receiver->signals[i]);
	}
	if (receiver->tick)
		event_free(receiver->tick);
	if (receiver->base)
		event_base_free(receiver->base);
	free(receiver->refused_prefix);
	free(receiver);
	return error ? K2I_EXIT_FAILED : 0;
}
