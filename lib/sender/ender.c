/* SPDX-License-Identifier: MIT */
/* The end of a lane whose receiver was removed: it drains, and then it is gone, with its ring's file. */
#include "sender/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "ring/ring.h"
#include "sender/writer.h"

#define LOOK_MS 200

/* Until no writer has a place in it any more; idle ones are made to leave. False: the sender closes. */
static bool users_wait(struct k2i_lane *lane)
{
	struct k2hft_sender *sender = lane->sender;
	bool stays = true, closes;

	while (stays) {
		struct timespec deadline = k2i_timespec(k2i_clock_ns(CLOCK_MONOTONIC) + LOOK_MS * K2I_MILLISECOND_NS);

		(void)k2i_sender_seal(sender);
		(void)k2i_writers_end_lines(sender, lane);
		(void)pthread_mutex_lock(&sender->mutex);
		if (lane->users && !sender->closes)
			(void)pthread_cond_timedwait(&sender->sealed, &sender->mutex, &deadline);
		closes = sender->closes;
		stays = lane->users && !closes;
		(void)pthread_mutex_unlock(&sender->mutex);
	}
	return !closes;
}

/* With the mutex. The first who finds it so. */
static bool gives_up(struct k2i_lane *lane)
{
	const struct k2hft_sender *sender = lane->sender;
	uint32_t failover_ms = sender->options.failover_ms ? sender->options.failover_ms : K2HFT_FAILOVER_MS_DEFAULT;
	uint64_t now_ns = k2i_clock_ns(CLOCK_MONOTONIC);

	if (!lane->removed || !sender->copies_kept || lane->given_up)
		return false;
	if (k2i_lane_connected(lane) || !lane->away_ns)
		lane->away_ns = now_ns;
	lane->given_up = now_ns - lane->away_ns >= failover_ms * K2I_MILLISECOND_NS;
	return lane->given_up;
}

bool k2i_lane_given_up(struct k2i_lane *lane)
{
	struct k2hft_sender *sender = lane->sender;
	bool given_up, first;

	(void)pthread_mutex_lock(&sender->mutex);
	first = gives_up(lane);
	given_up = lane->given_up;
	(void)pthread_mutex_unlock(&sender->mutex);
	if (first)
		k2i_log(K2HFT_LOG_ERROR,
			"sender: %s was removed and does not answer: %" PRIu64
			" records for it are given up; the other receivers have them",
			lane->home, k2i_ring_stats(lane->ring).unacked_records);
	return given_up;
}

/* Until all is acknowledged, and every receiver that the lane has left has settled. False: the sender closes. */
static bool drain_wait(struct k2i_lane *lane)
{
	struct k2hft_sender *sender = lane->sender;
	struct k2hft_client_stats client = K2HFT_CLIENT_STATS_INIT;
	bool closes = false;

	while (!closes) {
		int status = k2hft_client_drain(lane->client, LOOK_MS);

		(void)k2hft_client_stats(lane->client, &client);
		if (status == 0 && !client.unsettled)
			return true;
		if (k2i_lane_given_up(lane))
			return true;
		if (status == -EIO)
			return false;
		(void)pthread_mutex_lock(&sender->mutex);
		closes = sender->closes;
		(void)pthread_mutex_unlock(&sender->mutex);
		if (status == 0 && !closes)
			(void)nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
	}
	return false;
}

static void lane_take_out(struct k2i_lane *lane)
{
	struct k2hft_sender *sender = lane->sender;
	uint32_t at = 0;

	(void)pthread_mutex_lock(&sender->mutex);
	/* Others that hold it look at it for a moment, or wait for it to drain, which it has. */
	while (lane->users)
		(void)pthread_cond_wait(&sender->sealed, &sender->mutex);
	while (sender->lanes[at] != lane)
		at++;
	for (sender->lane_count--; at < sender->lane_count; at++)
		sender->lanes[at] = sender->lanes[at + 1];
	(void)pthread_mutex_unlock(&sender->mutex);
}

static void *ender_main(void *argument)
{
	struct k2i_lane *lane = argument, *ended = NULL;
	struct k2hft_sender *sender = lane->sender;

	(void)pthread_setname_np(pthread_self(), "k2hft-ender");
	if (users_wait(lane) && drain_wait(lane)) {
		lane_take_out(lane);
		k2i_log(K2HFT_LOG_INFO, "sender: %s is removed", lane->home);
		if (lane->ring_path)
			(void)unlink(lane->ring_path);
		k2i_lane_end(lane);
		ended = lane;
	}
	(void)pthread_mutex_lock(&sender->mutex);
	if (ended) {
		ended->ended = sender->ended;
		sender->ended = ended;
	}
	sender->enders--;
	(void)pthread_cond_broadcast(&sender->sealed);
	(void)pthread_mutex_unlock(&sender->mutex);
	return NULL;
}

int k2i_lane_end_begin(struct k2i_lane *lane)
{
	struct k2hft_sender *sender = lane->sender;
	pthread_t thread;
	int status;

	(void)pthread_mutex_lock(&sender->mutex);
	sender->enders++;
	(void)pthread_mutex_unlock(&sender->mutex);
	status = k2i_thread_start(&thread, ender_main, lane);
	if (status == 0) {
		(void)pthread_detach(thread);
		return 0;
	}
	(void)pthread_mutex_lock(&sender->mutex);
	sender->enders--;
	(void)pthread_mutex_unlock(&sender->mutex);
	return status;
}

void k2i_sender_enders_stop(struct k2hft_sender *sender)
{
	(void)pthread_mutex_lock(&sender->mutex);
	sender->closes = true;
	(void)pthread_cond_broadcast(&sender->sealed);
	while (sender->enders)
		(void)pthread_cond_wait(&sender->sealed, &sender->mutex);
	(void)pthread_mutex_unlock(&sender->mutex);
}
