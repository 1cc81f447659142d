/* SPDX-License-Identifier: MIT */
#include "receiver/daemon/state.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "config/path.h"
#include "receiver/daemon/sinks.h"
#include "receiver/daemon/temporary.h"
#include "receiver/base/text.h"
#include "base/uuid.h"

#define QUARANTINE_DIRECTORY "quarantine"

/* Failing -------------------------------------------------------------------------------------------------------- */

/* The key that says where the ledger is. */
static int state_failed(const struct k2i_state *state, const struct k2i_settings *settings, int error)
{
	bool own = settings->state_directory;
	char at[PATH_MAX + 16];

	k2i_settings_place(settings, K2I_SECTION_K2HFTFUSESVR, own ? "STATEDIR" : "FILE_BASEDIR", at, sizeof(at));
	if (error == -EWOULDBLOCK)
		k2i_log(K2HFT_LOG_ERROR,
			"ledger: %s: another receiver uses %s; end it, or give this one a STATEDIR of its own", at,
			state->path);
	else if (error == -EPROTO)
		k2i_log(K2HFT_LOG_ERROR, "ledger: %s: %s/ledger was made by a later version", at, state->path);
	else if (error == -ENXIO)
		k2i_log(K2HFT_LOG_ERROR, "ledger: %s: %s/ledger is no regular file", at, state->path);
	else
		k2i_log(K2HFT_LOG_ERROR, "ledger: %s: can't use %s%s: %s; give the receiver a %s that it can write", at,
			own ? "STATEDIR " : "", state->path, k2i_text_error(error),
			own ? "directory" : "FILE_BASEDIR or a STATEDIR");
	return error;
}

/* Ledger --------------------------------------------------------------------------------------------------------- */

static void ledger_report(struct k2i_state *state, const struct k2i_ledger_report *report)
{
	char kept[256] = "stays as ledger.damaged";

	if (report->damaged) {
		if (report->keep_error)
			(void)snprintf(kept, sizeof(kept), "can't be kept as ledger.damaged: %s",
				       k2i_text_error(report->keep_error));
		k2i_count(&state->destination.counters->ledger_damaged, 1);
		k2i_log(K2HFT_LOG_ERROR,
			"ledger: record %zu of %s is damaged, %" PRIu64 " bytes are lost; the damaged one %s; "
			"senders say where they go on, records may come twice",
			report->record_count + 1, state->path, report->lost_bytes, kept);
	}
	if (report->torn) {
		k2i_count(&state->destination.counters->ledger_torn, 1);
		k2i_log(K2HFT_LOG_WARNING, "ledger: its end was not whole when the receiver died; it is ignored");
	}
	if (report->copied && !report->clean)
		k2i_log(K2HFT_LOG_WARNING,
			"ledger: %s/ledger is a copy that somebody put there: files are kept as they are, records may "
			"come twice",
			state->path);
	else if (report->found && !report->clean && !report->same_boot)
		k2i_log(K2HFT_LOG_WARNING,
			"ledger: the machine went down while the receiver ran; what senders of level synced were not "
			"acknowledged comes again, of others files are kept as they are");
}

static int ledger_open(struct k2i_state *state, const struct k2i_settings *settings, struct k2i_ledger_report *report)
{
	uint8_t boot_id[16];
	int error = k2i_boot_id(boot_id);

	/* Without it each start would be one of the same machine run. */
	if (error || k2i_uuid_zero(boot_id)) {
		k2i_log(K2HFT_LOG_ERROR, "ledger: /proc/sys/kernel/random/boot_id can't be read: the receiver needs "
					 "/proc, and all of it "
					 "(no subset=pid, or ProcSubset= of a unit)");
		return -ENOENT;
	}
	error = k2i_ledger_open(state->path, boot_id, &state->destination.ledger, report);
	if (error)
		return state_failed(state, settings, error);
	ledger_report(state, report);
	return 0;
}

/* A full disk is waited for, as it is later. SIGTERM ends the wait and the program: nothing is under way. */
static int ledger_begin(struct k2i_state *state)
{
	struct timespec second = {1, 0};
	int error = k2i_ledger_begin(state->destination.ledger);

	if (error == -ENOSPC || error == -EDQUOT)
		k2i_log(K2HFT_LOG_ERROR, "ledger: no room in %s; the receiver waits for it", state->path);
	while (error == -ENOSPC || error == -EDQUOT) {
		(void)nanosleep(&second, NULL);
		error = k2i_ledger_begin(state->destination.ledger);
	}
	return error;
}

/* State that an earlier receiver left ----------------------------------------------------------------------------- */

struct recovery {
	struct k2i_state *state;
	bool cut_all, cut_deferred, lost;
};

static void mark_look(void *argument, const struct k2i_ledger_file *mark)
{
	struct recovery *recovery = argument;

	if (k2i_sinks_behind(&recovery->state->destination.sinks, mark))
		recovery->lost = true;
}

/* A disk that went away and came back, without the machine, has of each file what was synced, and of the ledger more. */
static void disk_look(struct recovery *recovery)
{
	struct k2i_ledger *ledger = recovery->state->destination.ledger;

	k2i_ledger_files_unsynced(ledger, mark_look, recovery);
	if (!k2i_sinks_recover_end(&recovery->state->destination.sinks) && !recovery->lost)
		return;
	k2i_log(K2HFT_LOG_WARNING,
		"ledger: files are gone, or shorter than they were: what senders of level synced were not acknowledged "
		"comes again");
	k2i_ledger_fall_back(ledger);
}

static void mark_recover(void *argument, const struct k2i_ledger_file *mark)
{
	struct recovery *recovery = argument;

	k2i_sinks_recover(&recovery->state->destination.sinks, mark,
			  recovery->cut_all || (recovery->cut_deferred && mark->deferred));
}

static void former_recover(struct k2i_state *state, const struct k2i_ledger_report *report)
{
	struct recovery recovery = {.state = state};

	/*
	 * Bytes that this very run of the machine wrote behind the ledger's back are known not to have been
	 * acknowledged. After another run the ledger may lack some that were; of deferred files it has all. A copy of
	 * it can have less than was acknowledged.
	 */
	recovery.cut_deferred = report->found && !report->clean && !report->damaged && !report->copied;
	recovery.cut_all = recovery.cut_deferred && report->same_boot;
	if (recovery.cut_all)
		disk_look(&recovery);
	k2i_ledger_files(state->destination.ledger, mark_recover, &recovery);
	(void)k2i_sinks_recover_end(&state->destination.sinks);
}

/* Contract ------------------------------------------------------------------------------------------------------- */

static int quarantine_open(struct k2i_state *state, uint64_t bytes_max)
{
	char path[PATH_MAX + sizeof(QUARANTINE_DIRECTORY)];

	(void)snprintf(path, sizeof(path), "%s/%s", state->path, QUARANTINE_DIRECTORY);
	return k2i_quarantine_create(path, bytes_max, state->destination.counters, &state->destination.quarantine);
}

/* A relay from memory has nothing that outlives it. */
static int state_path_temporary(struct k2i_state *state)
{
	state->lock = k2i_temporary_make(state->path);
	state->temporary = state->lock >= 0;
	return state->temporary ? 0 : state->lock;
}

static int state_path_set(struct k2i_state *state, const struct k2i_settings *settings)
{
	const char *own = settings->state_directory;
	int length = snprintf(state->path, sizeof(state->path), "%s%s", own ? own : settings->base_directory,
			      own ? "" : "/" K2I_STATE_NAME);

	return (size_t)length < sizeof(state->path) ? 0 : -ENAMETOOLONG;
}

/* The quarantine is there before a sink has anything to put into it. */
static int refused_put(void *argument, const uint8_t ring[16], const struct k2i_group *group,
		       const struct k2i_group_target *target)
{
	const struct k2i_state *state = argument;

	return k2i_quarantine_put(state->destination.quarantine, ring, group, target);
}

static int sinks_open(const struct k2i_state_options *options, struct k2i_state *state,
		      const struct k2i_ledger_report *report)
{
	const struct k2i_sink_options sink_options = {
		.settings = options->settings,
		.format = options->format,
		.listener = options->listener,
		.ledger = state->destination.ledger,
		.counters = options->counters,
		.state_directory = state->path,
		.targets_max = options->targets_max,
		.killed = report->found && !report->clean,
		.quarantine = refused_put,
		.quarantine_argument = state,
	};

	return k2i_sinks_open(&sink_options, &state->destination.sinks);
}

int k2i_state_open(const struct k2i_state_options *options, struct k2i_state *state)
{
	const struct k2i_settings *settings = options->settings;
	struct k2i_ledger_report report;
	int error = k2i_sinks_make(settings);

	if (error)
		return error;
	state->destination.counters = options->counters;
	error = k2i_settings_state_ends(settings) ? state_path_temporary(state) : state_path_set(state, settings);
	if (error)
		return state_failed(state, settings, error);
	(void)snprintf(state->retracted_path, sizeof(state->retracted_path), "%s/retracted", state->path);
	state->destination.retracted_path = state->retracted_path;
	error = ledger_open(state, settings, &report);
	if (!error)
		error = sinks_open(options, state, &report);
	if (error)
		return error;
	former_recover(state, &report);
	error = ledger_begin(state);
	if (!error)
		error = quarantine_open(state, settings->quarantine_bytes);
	if (error)
		return state_failed(state, settings, error);
	K2I_SINKS_EACH(&state->destination.sinks, sink) {
		if ((*sink)->ops->start)
			(*sink)->ops->start(*sink);
		error = error || !(*sink)->ops->resume ? error : (*sink)->ops->resume(*sink);
	}
	return error;
}

void k2i_state_reopen(struct k2i_state *state)
{
	K2I_SINKS_EACH(&state->destination.sinks, sink) {
		if ((*sink)->ops->reload)
			(*sink)->ops->reload(*sink);
	}
}

int k2i_state_prepare(struct k2i_state *state, const struct k2i_settings *settings, char *message, size_t message_room)
{
	int error = 0;

	K2I_SINKS_EACH(&state->destination.sinks, sink)
		error = error || !(*sink)->ops->prepare ? error
							: (*sink)->ops->prepare(*sink, settings, message, message_room);
	return error;
}

void k2i_state_change(struct k2i_state *state, bool take)
{
	K2I_SINKS_EACH(&state->destination.sinks, sink) {
		if ((*sink)->ops->change)
			(*sink)->ops->change(*sink, take);
	}
}

void k2i_state_tick(struct k2i_state *state)
{
	int result;

	K2I_SINKS_EACH(&state->destination.sinks, sink)
		(*sink)->ops->tick(*sink, k2i_clock_now_ns());
	k2i_quarantine_tick(state->destination.quarantine);
	result = k2i_ledger_check(state->destination.ledger);
	if (result < 0)
		k2i_log_limited(&state->ledger_limit, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
				"ledger: %s does not have it as it was written, and it can't be written again: %s",
				state->path, k2i_text_error(result));
	if (result != 1)
		return;
	k2i_count(&state->destination.counters->ledger_rewritten, 1);
	k2i_log(K2HFT_LOG_WARNING, "ledger: somebody removed or cut it in %s; it was written again", state->path);
}

int k2i_state_close(struct k2i_state *state, bool in_order)
{
	int error = k2i_sinks_close(&state->destination.sinks, in_order);

	if (!error && in_order)
		error = k2i_quarantine_sync(state->destination.quarantine);
	if (error)
		k2i_log(K2HFT_LOG_ERROR, "output: can't sync files to the disk: %s", k2i_text_error(error));
	k2i_ledger_close(state->destination.ledger, in_order && !error);
	k2i_quarantine_free(state->destination.quarantine);
	if (state->temporary)
		k2i_temporary_remove(state->path, state->lock);
	return error;
}
