/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/crash.h"
#include "base/text.h"
#include "base/thread.h"
#include "receiver/base/text.h"
#include "receiver/sink/remote/internal.h"

#define DELAY_FIRST_MS 100u
#define DELAY_MS_MAX 30000u
#define AFTER_MS_MAX 300000u
#define DOING_SHOWN_NS K2I_SECOND_NS

uint64_t k2i_remote_delay_ms(unsigned failures, uint64_t after_ms)
{
	uint64_t delay_ms = failures < 10 ? DELAY_FIRST_MS << failures : DELAY_MS_MAX;

	delay_ms = delay_ms < DELAY_MS_MAX ? delay_ms : DELAY_MS_MAX;
	after_ms = after_ms < AFTER_MS_MAX ? after_ms : AFTER_MS_MAX;
	return after_ms > delay_ms ? after_ms : delay_ms;
}

static void eventfd_add(int descriptor)
{
	uint64_t one = 1;

	/* It can't fail but when the counter is at its end. */
	(void)!write(descriptor, &one, sizeof(one));
}

void k2i_remote_queue_push(struct k2i_remote *remote, struct k2i_remote_piece *first)
{
	struct k2i_remote_piece *piece = first;

	if (!first)
		return;
	(void)pthread_mutex_lock(&remote->mutex);
	*remote->last = first;
	for (; piece; piece = piece->next) {
		remote->pieces++;
		remote->last = &piece->next;
	}
	(void)pthread_cond_signal(&remote->condition);
	(void)pthread_mutex_unlock(&remote->mutex);
}

/* Batches --------------------------------------------------------------------------------------------------------- */

/* The worker's next batch; false: it ends. */
static bool batch_take(struct k2i_remote *remote)
{
	struct k2i_remote_batch *batch = &remote->batch;
	struct k2i_remote_piece *piece;
	size_t bytes = 0;

	batch->count = 0;
	(void)pthread_mutex_lock(&remote->mutex);
	while (!remote->first && !remote->stopping)
		(void)pthread_cond_wait(&remote->condition, &remote->mutex);
	while (!remote->stopping && batch->count < remote->kind.batch_pieces && (piece = remote->first) != NULL &&
	       (!batch->count || bytes + piece->bytes <= remote->kind.batch_bytes)) {
		remote->first = piece->next;
		batch->pieces[batch->count++] = piece;
		bytes += piece->bytes;
	}
	if (!remote->first)
		remote->last = &remote->first;
	remote->oldest_ns = batch->count ? batch->pieces[0]->taken_ns : 0;
	(void)pthread_mutex_unlock(&remote->mutex);
	return batch->count > 0;
}

static void piece_end(struct k2i_remote *remote, struct k2i_remote_piece *piece, int error)
{
	if (!error)
		k2i_count(remote->kind.records, piece->record_count);
	(void)pthread_mutex_lock(&remote->mutex);
	remote->pieces--;
	remote->refused += piece->fate == K2I_REMOTE_REFUSED;
	(void)pthread_mutex_unlock(&remote->mutex);
	k2i_pending_done(&remote->pending, piece->group, error);
	K2I_CRASH(remote_reported);
	free(piece);
}

/* Errors as k2i_quarantine_put. */
static int piece_quarantine(struct k2i_remote *remote, const struct k2i_remote_piece *piece, const char *refusal)
{
	const struct k2i_stream stream = {.path = piece->origin.path, .host = piece->origin.host, .ring = piece->ring};
	struct k2i_group_entry entry = {.stream = &stream,
					.payload = (const uint8_t *)piece->records,
					.position = piece->position,
					.payload_bytes = (uint32_t)piece->bytes,
					.record_count = piece->record_count};
	struct k2i_group group = {.entries = &entry, .entry_count = 1, .target_count = 1};
	int error;

	group.targets[0] =
		(struct k2i_group_target){.error = -EBADMSG, .reason = refusal, .record_count = entry.record_count};
	error = remote->quarantine(remote->quarantine_argument, piece->ring, &group, &group.targets[0]);
	if (!error)
		K2I_CRASH(remote_quarantined);
	return error;
}

/* Ends pieces that are not left, in their order; those that are stay in the batch. */
static void batch_settle(struct k2i_remote *remote)
{
	struct k2i_remote_batch *batch = &remote->batch;
	struct k2i_remote_piece *piece;
	size_t kept = 0;
	int error;

	for (size_t at = 0; at < batch->count; at++) {
		piece = batch->pieces[at];
		error = piece->fate == K2I_REMOTE_REFUSED ? piece_quarantine(remote, piece, batch->refusal) : 0;
		if (error)
			(void)snprintf(batch->reason, sizeof(batch->reason),
				       "the quarantine can't take what was refused: %s", k2i_text_error(error));
		if (error || piece->fate == K2I_REMOTE_LEFT)
			batch->pieces[kept++] = piece;
		else
			piece_end(remote, piece, 0);
	}
	batch->count = kept;
}

/* Whether something is to be delivered: pieces that are refused can wait for room in the quarantine only. */
static bool batch_undelivered(const struct k2i_remote_batch *batch)
{
	for (size_t at = 0; at < batch->count; at++)
		if (batch->pieces[at]->fate == K2I_REMOTE_LEFT)
			return true;
	return false;
}

/* How a try ended is shown, and logged. */
static void batch_tell(struct k2i_remote *remote, uint64_t now_ns)
{
	const struct k2i_remote_batch *batch = &remote->batch;
	uint64_t held_ns;

	(void)pthread_mutex_lock(&remote->mutex);
	held_ns = remote->held_ns;
	remote->doing_ns = 0;
	remote->held_ns = !batch->count ? 0 : held_ns ? held_ns : now_ns;
	remote->retries += batch->count > 0;
	(void)snprintf(remote->held, sizeof(remote->held), "%s", batch->count ? batch->reason : "");
	(void)pthread_mutex_unlock(&remote->mutex);
	if (batch->count) {
		k2i_count(remote->kind.retries, 1);
		k2i_log_limited(&remote->limit, now_ns, K2HFT_LOG_ERROR,
				"%s: records can't be delivered to %s: %s; it is tried again", remote->kind.name,
				remote->kind.peer, batch->reason);
	} else if (held_ns) {
		k2i_log(K2HFT_LOG_WARNING, "%s: records are delivered to %s again after %" PRIu64 " s",
			remote->kind.name, remote->kind.peer, (now_ns - held_ns) / K2I_SECOND_NS);
	}
}

/* Worker ---------------------------------------------------------------------------------------------------------- */

static void worker_rest(struct k2i_remote *remote, uint64_t delay_ms)
{
	const struct timespec until = k2i_timespec(k2i_clock_now_ns() + delay_ms * K2I_MILLISECOND_NS);

	(void)pthread_mutex_lock(&remote->mutex);
	while (!remote->stopping && pthread_cond_timedwait(&remote->condition, &remote->mutex, &until) != ETIMEDOUT)
		;
	(void)pthread_mutex_unlock(&remote->mutex);
}

static bool worker_stopping(struct k2i_remote *remote)
{
	bool stopping;

	(void)pthread_mutex_lock(&remote->mutex);
	stopping = remote->stopping;
	(void)pthread_mutex_unlock(&remote->mutex);
	return stopping;
}

static void batch_try(struct k2i_remote *remote)
{
	struct k2i_remote_batch *batch = &remote->batch;
	size_t before = batch->count;

	batch->after_ms = 0;
	(void)snprintf(batch->reason, sizeof(batch->reason), "%s", "it gave no reason");
	if (batch_undelivered(batch)) {
		batch->renew = atomic_exchange(&remote->renew, false);
		k2i_remote_say(remote, "it has no answer yet");
		K2I_CRASH(remote_deliver_before);
		remote->kind.deliver(remote->kind.argument, batch);
		K2I_CRASH(remote_delivered);
		(void)k2i_text_clean(batch->reason, batch->reason, sizeof(batch->reason));
		(void)k2i_text_clean(batch->refusal, batch->refusal, sizeof(batch->refusal));
	}
	batch_settle(remote);
	remote->failures = batch->count < before ? 0 : remote->failures;
}

static void *worker_run(void *argument)
{
	struct k2i_remote *remote = argument;

	while (batch_take(remote)) {
		while (remote->batch.count && !worker_stopping(remote)) {
			batch_try(remote);
			if (worker_stopping(remote))
				break;
			batch_tell(remote, k2i_clock_now_ns());
			if (remote->batch.count)
				worker_rest(remote, k2i_remote_delay_ms(remote->failures++, remote->batch.after_ms));
		}
		for (size_t at = 0; at < remote->batch.count; at++)
			piece_end(remote, remote->batch.pieces[at], -ECANCELED);
	}
	return NULL;
}

/* Contract -------------------------------------------------------------------------------------------------------- */

int k2i_remote_queue_start(struct k2i_remote *remote)
{
	int error;

	remote->last = &remote->first;
	(void)pthread_mutex_init(&remote->mutex, NULL);
	k2i_condition_init(&remote->condition);
	remote->batch.remote = remote;
	remote->stop = remote->batch.stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (remote->stop < 0)
		return -errno;
	remote->batch.pieces = calloc(remote->kind.batch_pieces, sizeof(struct k2i_remote_piece *));
	if (!remote->batch.pieces)
		return -ENOMEM;
	error = k2i_thread_start(&remote->worker, worker_run, remote);
	remote->working = !error;
	return error;
}

void k2i_remote_queue_end(struct k2i_remote *remote)
{
	struct k2i_remote_piece *piece;

	if (remote->working) {
		(void)pthread_mutex_lock(&remote->mutex);
		remote->stopping = true;
		(void)pthread_cond_signal(&remote->condition);
		(void)pthread_mutex_unlock(&remote->mutex);
		eventfd_add(remote->stop);
		(void)pthread_join(remote->worker, NULL);
	}
	while ((piece = remote->first) != NULL) {
		remote->first = piece->next;
		piece_end(remote, piece, -ECANCELED);
	}
	if (remote->stop >= 0)
		(void)close(remote->stop);
	free(remote->batch.pieces);
	(void)pthread_cond_destroy(&remote->condition);
	(void)pthread_mutex_destroy(&remote->mutex);
}

void k2i_remote_say(struct k2i_remote *remote, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)pthread_mutex_lock(&remote->mutex);
	remote->doing_ns = k2i_clock_now_ns();
	(void)vsnprintf(remote->doing, sizeof(remote->doing), format, arguments);
	(void)pthread_mutex_unlock(&remote->mutex);
	va_end(arguments);
}

/* With the lock: how long the oldest piece has waited. */
static uint64_t waiting_ns(const struct k2i_remote *remote, uint64_t now_ns)
{
	uint64_t oldest_ns = remote->oldest_ns ? remote->oldest_ns : remote->first ? remote->first->taken_ns : now_ns;

	return remote->pieces && now_ns > oldest_ns ? now_ns - oldest_ns : 0;
}

void k2i_remote_queue_show(struct k2i_remote *remote, struct k2i_report *report, uint64_t now_ns,
			   struct k2i_sink_state *state)
{
	uint64_t bytes = k2i_pending_bytes(&remote->pending);
	const char *held = remote->held;

	k2i_report_open(report, remote->kind.name, '[');
	k2i_report_open(report, NULL, '{');
	k2i_report_text(report, "peer", remote->kind.peer);
	(void)pthread_mutex_lock(&remote->mutex);
	/* A peer that has not answered for long holds records before the try has failed. */
	if (!*held && remote->doing_ns && now_ns > remote->doing_ns + DOING_SHOWN_NS)
		held = remote->doing;
	state->name = remote->kind.name;
	k2i_sink_state_add(state, held, bytes, waiting_ns(remote, now_ns));
	k2i_report_number(report, "waiting_bytes", bytes);
	k2i_report_number(report, "waiting_chunks", remote->pieces);
	k2i_report_number(report, "waiting_s", waiting_ns(remote, now_ns) / K2I_SECOND_NS);
	k2i_report_number(report, "retries", remote->retries);
	k2i_report_number(report, "refused_chunks", remote->refused);
	k2i_report_text(report, "held", held);
	(void)pthread_mutex_unlock(&remote->mutex);
	k2i_report_close(report, '}');
	k2i_report_close(report, ']');
}

void k2i_remote_queue_tick(struct k2i_remote *remote, uint64_t now_ns)
{
	atomic_store(remote->kind.waiting_bytes, k2i_pending_bytes(&remote->pending));
	(void)pthread_mutex_lock(&remote->mutex);
	atomic_store(remote->kind.waiting_seconds, waiting_ns(remote, now_ns) / K2I_SECOND_NS);
	(void)pthread_mutex_unlock(&remote->mutex);
}
