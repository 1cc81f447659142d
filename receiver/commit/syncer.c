/* SPDX-License-Identifier: MIT */
#include "receiver/commit/syncer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/log.h"
#include "receiver/base/text.h"
#include "base/thread.h"

#define AGAIN_MS 1000u

struct k2i_syncer {
	const struct k2i_destination *destination;
	void (*tell)(void *argument);
	void *tell_argument;
	struct k2i_log_limit limit, ledger_limit;
	pthread_t thread;
	bool started;
	atomic_uint_fast64_t done, failed, rounds_failed;
	pthread_cond_t wake, round_done;
	pthread_mutex_t mutex; /* guards what follows */
	uint64_t interval_ms;
	bool wanted, stopping;
	bool other_interval;
	bool again; /* the ledger could not be written: a while later */
	uint64_t rounds_in_vain;
};

/* `*number`: of the last commit that it was for. `*refused`: it is data that can't be synced, and not only the ledger. */
static int everything_sync(const struct k2i_destination *destination, uint64_t *number, bool *refused)
{
	int error = k2i_ledger_mark(destination->ledger, number);

	if (error)
		return error;
	K2I_SINKS_EACH(&destination->sinks, sink)
		error = error || !(*sink)->ops->sync ? error : (*sink)->ops->sync(*sink);
	if (!error)
		error = k2i_quarantine_sync(destination->quarantine);
	*refused = error != 0;
	return error ? error : k2i_ledger_checkpoint(destination->ledger);
}

/*
 * After an error the kernel may have thrown the data away, and a second fdatasync(2) says that all is well. So a sender that
 * waits is not acknowledged by a later success, but sends again.
 */
static void round_failed(struct k2i_syncer *syncer, int error)
{
	/* Not the round's: what was written to a file before its sync failed is committed by now, and can be gone, too. */
	uint64_t number = k2i_ledger_number(syncer->destination->ledger);

	k2i_count(&syncer->destination->counters->sync_errors, 1);
	k2i_log_limited(&syncer->limit, k2i_clock_ns(CLOCK_MONOTONIC), K2HFT_LOG_ERROR,
			"output: files can't be synced to the disk: %s; senders that wait for it send again",
			k2i_text_error(error));
	/* This order: a commit that comes between is made with doubt, see session_sync.c. */
	atomic_store(&syncer->failed, number);
	k2i_ledger_doubt(syncer->destination->ledger);
}

/* The ledger's record follows in a later round: senders that wait go on waiting, as on a full disk. */
static void ledger_failed(struct k2i_syncer *syncer, int error)
{
	k2i_count(&syncer->destination->counters->ledger_sync_errors, 1);
	k2i_log_limited(&syncer->ledger_limit, k2i_clock_ns(CLOCK_MONOTONIC), K2HFT_LOG_ERROR,
			"ledger: it can't be synced to the disk: %s; senders that wait for it wait on, it is tried "
			"again every second",
			k2i_text_error(error));
}

static int sync_round(struct k2i_syncer *syncer, bool *refused)
{
	uint64_t number = k2i_ledger_number(syncer->destination->ledger);
	int error = 0;

	*refused = false;
	if (number > atomic_load(&syncer->done)) {
		error = everything_sync(syncer->destination, &number, refused);
		k2i_count(&syncer->destination->counters->syncs, 1);
	}
	if (*refused)
		round_failed(syncer, error);
	else if (error)
		ledger_failed(syncer, error);
	else
		atomic_store(&syncer->done, number);
	return error;
}

/* Until somebody wants a round, or it is time for one; with the lock. */
static void round_await(struct k2i_syncer *syncer)
{
	uint64_t wait_ms = syncer->again ? AGAIN_MS : syncer->interval_ms;
	struct timespec until = k2i_timespec(k2i_clock_ns(CLOCK_MONOTONIC) + wait_ms * 1000000u);
	int error = 0;

	syncer->other_interval = false;
	while ((!syncer->wanted || syncer->again) && !syncer->stopping && !syncer->other_interval && error != ETIMEDOUT)
		error = wait_ms ? pthread_cond_timedwait(&syncer->wake, &syncer->mutex, &until)
				: pthread_cond_wait(&syncer->wake, &syncer->mutex);
}

static void *syncer_run(void *argument)
{
	struct k2i_syncer *syncer = argument;
	bool refused;
	int error;

	(void)pthread_mutex_lock(&syncer->mutex);
	for (;;) {
		round_await(syncer);
		if (syncer->stopping)
			break;
		syncer->wanted = false;
		(void)pthread_mutex_unlock(&syncer->mutex);
		error = sync_round(syncer, &refused);
		(void)pthread_mutex_lock(&syncer->mutex);
		atomic_fetch_add(&syncer->rounds_failed, refused);
		syncer->again = error && !refused;
		syncer->rounds_in_vain += error != 0;
		(void)pthread_cond_broadcast(&syncer->round_done);
		if (syncer->tell)
			syncer->tell(syncer->tell_argument);
	}
	(void)pthread_mutex_unlock(&syncer->mutex);
	return NULL;
}

int k2i_syncer_start(const struct k2i_destination *destination, uint64_t interval_ms, struct k2i_syncer **syncer)
{
	struct k2i_syncer *made = calloc(1, sizeof(*made));
	int error;

	if (!made)
		return -ENOMEM;
	made->destination = destination;
	made->interval_ms = interval_ms;
	(void)pthread_mutex_init(&made->mutex, NULL);
	k2i_condition_init(&made->wake);
	(void)pthread_cond_init(&made->round_done, NULL);
	error = k2i_thread_start(&made->thread, syncer_run, made);
	made->started = !error;
	if (error)
		k2i_syncer_stop(made);
	else
		*syncer = made;
	return error;
}

void k2i_syncer_interval(struct k2i_syncer *syncer, uint64_t interval_ms)
{
	(void)pthread_mutex_lock(&syncer->mutex);
	syncer->other_interval = syncer->interval_ms != interval_ms;
	syncer->interval_ms = interval_ms;
	(void)pthread_cond_signal(&syncer->wake);
	(void)pthread_mutex_unlock(&syncer->mutex);
}

void k2i_syncer_stop(struct k2i_syncer *syncer)
{
	if (!syncer)
		return;
	(void)pthread_mutex_lock(&syncer->mutex);
	syncer->stopping = true;
	(void)pthread_cond_signal(&syncer->wake);
	(void)pthread_mutex_unlock(&syncer->mutex);
	if (syncer->started)
		(void)pthread_join(syncer->thread, NULL);
	(void)pthread_cond_destroy(&syncer->wake);
	(void)pthread_cond_destroy(&syncer->round_done);
	(void)pthread_mutex_destroy(&syncer->mutex);
	free(syncer);
}

void k2i_syncer_listen(struct k2i_syncer *syncer, void (*tell)(void *argument), void *argument)
{
	(void)pthread_mutex_lock(&syncer->mutex);
	syncer->tell_argument = argument;
	syncer->tell = tell;
	(void)pthread_mutex_unlock(&syncer->mutex);
}

void k2i_syncer_want(struct k2i_syncer *syncer)
{
	(void)pthread_mutex_lock(&syncer->mutex);
	syncer->wanted = true;
	(void)pthread_cond_signal(&syncer->wake);
	(void)pthread_mutex_unlock(&syncer->mutex);
}

uint64_t k2i_syncer_done(const struct k2i_syncer *syncer)
{
	return atomic_load(&syncer->done);
}

uint64_t k2i_syncer_failed(const struct k2i_syncer *syncer)
{
	return atomic_load(&syncer->failed);
}

uint64_t k2i_syncer_rounds_failed(const struct k2i_syncer *syncer)
{
	return atomic_load(&syncer->rounds_failed);
}

int k2i_syncer_wait(struct k2i_syncer *syncer, uint64_t number)
{
	int error = 0;

	(void)pthread_mutex_lock(&syncer->mutex);
	while (!error && atomic_load(&syncer->done) < number) {
		uint64_t rounds_in_vain = syncer->rounds_in_vain;

		syncer->wanted = true;
		(void)pthread_cond_signal(&syncer->wake);
		if (!syncer->again)
			(void)pthread_cond_wait(&syncer->round_done, &syncer->mutex);
		if (syncer->again || syncer->rounds_in_vain != rounds_in_vain)
			error = -EIO;
	}
	(void)pthread_mutex_unlock(&syncer->mutex);
	return error;
}
