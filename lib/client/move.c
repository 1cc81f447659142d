/* SPDX-License-Identifier: MIT */
/*
 * Which receiver the ring goes to. The client leaves one that has not answered for failover_ms for the next of its list,
 * round and round. The ring has moved when another receiver than the one that acknowledged last answers, and that is
 * brought to the disk before it is sent anything: who acknowledged last can have more than it has told of, so it is
 * unsettled, with the position up to which it had told. Each HELLO names all unsettled ones to whoever reads it, and the
 * receiver that finds itself there takes back what it has beyond.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/uuid.h"
#include "client/state.h"

#define SEARCH_TRIES 4u

/* Greetings of any client that its target answered: behind a new one, the next round of a search is one of all targets. */
static atomic_uint_fast64_t answers;

static uint64_t failover_ns(const struct k2hft_client *client)
{
	return client->options.failover_ms * K2I_MILLISECOND_NS;
}

bool k2i_client_movable(const struct k2hft_client *client)
{
	/* The original of a copy can have sent, and settle, the chunks of its name anywhere. */
	return client->targets.count > 1 && !k2i_client_name_old(client);
}

uint64_t k2i_client_ping_ns(const struct k2hft_client *client)
{
	uint64_t half_ns = failover_ns(client) / 2;

	return client->targets.count == 1 || half_ns > K2I_CLIENT_PING_NS ? K2I_CLIENT_PING_NS : half_ns;
}

uint64_t k2i_client_patience_ns(const struct k2hft_client *client)
{
	/* A receiver that waits for its disk tells so every second. */
	bool slow = client->stats.status != K2HFT_STATUS_OK && failover_ns(client) < K2I_CLIENT_SLOW_NS;

	return slow ? K2I_CLIENT_SLOW_NS : failover_ns(client);
}

/* -1: it is settled */
static int unsettled_find(const struct k2i_ring_receivers *receivers, const uint8_t uuid[16])
{
	for (int at = 0; at < receivers->unsettled_count; at++) {
		if (memcmp(receivers->unsettled[at].receiver_uuid, uuid, 16) == 0)
			return at;
	}
	return -1;
}

static void unsettled_remove(struct k2i_ring_receivers *receivers, int at)
{
	receivers->unsettled_count--;
	memmove(&receivers->unsettled[at], &receivers->unsettled[at + 1],
		(size_t)(receivers->unsettled_count - at) * sizeof(receivers->unsettled[0]));
}

void k2i_client_move_begin(struct k2hft_client *client)
{
	struct k2i_client_move *move = &client->move;

	k2i_ring_receivers(client->ring, &move->receivers);
	/* Written in one go, they are never both, but others can write to the ring. */
	int last = unsettled_find(&move->receivers, move->receivers.last);
	if (last >= 0)
		unsettled_remove(&move->receivers, last);
	for (uint32_t at = 0; at < client->targets.count; at++) {
		if (client->targets.list[at].hash == move->receivers.last_target) {
			client->dial.target = &client->targets.list[at];
			return;
		}
	}
}

void k2i_client_unanswered(struct k2hft_client *client, uint64_t since_ns)
{
	if (client->move.silent_ns == 0)
		client->move.silent_ns = since_ns;
}

uint64_t k2i_client_failover_at(const struct k2hft_client *client)
{
	if (!k2i_client_movable(client) || client->state == K2HFT_CLIENT_CONNECTED || client->move.silent_ns == 0)
		return UINT64_MAX;
	return client->move.silent_ns + failover_ns(client);
}

void k2i_client_target_go(struct k2hft_client *client, struct k2i_target *target, uint64_t at_ns)
{
	k2i_client_socket_close(client);
	k2i_dial_addresses_free(&client->dial);
	client->dial.target = target;
	client->state = K2HFT_CLIENT_WAITING;
	client->failure.answered_wrong = false;
	client->failure.retry_at_ns = client->move.silent_ns = at_ns;
	if (target != client->targets.list)
		client->move.searched_to = 0;
}

struct k2i_target *k2i_client_target_next(const struct k2hft_client *client)
{
	const struct k2i_client_targets *targets = &client->targets;
	uint32_t here = (uint32_t)(client->dial.target - targets->list), at = here ? here : client->move.searched_to;

	for (uint32_t step = 0; step < targets->count; step++) {
		at = (at + 1) % targets->count;
		if (at != here && !targets->list[at].gone)
			return &targets->list[at];
	}
	return targets->list;
}

/*
 * All are tried once without a pause, then SEARCH_TRIES at a time, since many lanes that search among many receivers would
 * keep the sender busy. The home is the first of each such time, so its own lane finds it as soon as an only receiver is
 * found, and then the others look at all again.
 */
void k2i_client_search_on(struct k2hft_client *client, uint64_t pause_ns, uint64_t now_ns)
{
	struct k2i_client_move *move = &client->move;
	uint32_t count = client->targets.count;
	/* relaxed: a hint. */
	uint64_t answers_now = atomic_load_explicit(&answers, memory_order_relaxed);

	if (!move->searching || !k2i_client_movable(client))
		return;
	if (++move->searched < count) {
		/* They are one failure, of which the pause grows. */
		client->failure.count--;
		k2i_client_target_go(client, k2i_client_target_next(client), now_ns);
		return;
	}
	move->searched = count > SEARCH_TRIES && move->answers == answers_now ? count - SEARCH_TRIES : 0;
	move->answers = answers_now;
	if (client->dial.target != client->targets.list)
		move->searched_to = (uint32_t)(client->dial.target - client->targets.list);
	k2i_client_target_go(client, client->targets.list, now_ns + pause_ns);
}

void k2i_client_failover(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2i_client_move *move = &client->move;
	const char *before = client->dial.target->peer;

	if (client->state != K2HFT_CLIENT_WAITING)
		client->stats.connect_failures++;
	if (!move->searching)
		move->searched = move->searched_to = 0;
	move->searching = true;
	move->going_home = false;
	move->searched++;
	k2i_client_target_go(client, k2i_client_target_next(client), now_ns);
	k2i_log_limited(&move->search_limit, now_ns, K2HFT_LOG_WARNING,
			"client: %s has not answered for %" PRIu32 " ms%s%s; trying %s", before,
			client->options.failover_ms, client->stats.last_error[0] ? ": " : "", client->stats.last_error,
			client->dial.target->peer);
}

/* `receivers` becomes what holds, also after the end of this process. */
static void receivers_keep(struct k2hft_client *client, const struct k2i_ring_receivers *receivers)
{
	int error;

	K2I_CRASH(move_before);
	error = k2i_ring_receivers_set(client->ring, receivers);
	K2I_CRASH(move_kept);
	client->move.receivers = *receivers;
	if (error < 0)
		k2i_log(K2HFT_LOG_ERROR,
			"client: the ring's file can't be brought to the disk (%s): after a power cut, what was sent "
			"to one receiver can be sent to another, too",
			strerror(-error));
}

static void settled_take(struct k2hft_client *client, const struct k2hft_welcome *welcome, int at, const char *peer)
{
	struct k2i_ring_receivers receivers = client->move.receivers;
	uint64_t position = receivers.unsettled[at].position;
	char uuid[K2I_UUID_TEXT_BYTES];

	unsettled_remove(&receivers, at);
	receivers_keep(client, &receivers);
	client->stats.settled_records += welcome->cut_records;
	client->stats.retracted_records += welcome->retracted_records;
	k2i_ring_count(client->ring, settled_records, welcome->cut_records);
	k2i_ring_count(client->ring, retracted_records, welcome->retracted_records);
	k2i_log(welcome->retracted_records ? K2HFT_LOG_WARNING : K2HFT_LOG_INFO,
		"client: %s (%s) is settled: beyond position %" PRIu64 " it has taken back %" PRIu64
		" records, and named %" PRIu64 " that it can't take back",
		peer, k2i_uuid_text(welcome->receiver_uuid, uuid), position, welcome->cut_records,
		welcome->retracted_records);
}

bool k2i_client_settle(struct k2hft_client *client, const struct k2hft_welcome *welcome, const char *peer)
{
	int at = k2i_client_name_old(client) ? -1 : unsettled_find(&client->move.receivers, welcome->receiver_uuid);

	if (at < 0)
		return true;
	/* It would have taken that back. */
	if (welcome->position > client->positions.acked)
		return false;
	settled_take(client, welcome, at, peer);
	return true;
}

/* Whether the receiver that acknowledged last can have chunks that it has not acknowledged. */
static bool last_doubtful(const struct k2hft_client *client)
{
	return client->resume.opened_at > client->positions.acked ||
	       client->positions.sent_max > client->positions.acked;
}

/*
 * Without others, the receiver behind the only name was replaced by another, and can be so any number of times: the first
 * of those that are gone is forgotten then, which the log tells.
 */
static int unsettled_add(struct k2hft_client *client, struct k2i_ring_receivers *receivers)
{
	struct k2hft_unsettled *free_one;
	char uuid[K2I_UUID_TEXT_BYTES];

	if (receivers->unsettled_count == K2HFT_UNSETTLED_MAX) {
		if (client->targets.count > 1)
			return -ENOSPC;
		k2i_log(K2HFT_LOG_WARNING, "client: receiver %s was never seen again, and stays unsettled",
			k2i_uuid_text(receivers->unsettled[0].receiver_uuid, uuid));
		unsettled_remove(receivers, 0);
	}
	free_one = &receivers->unsettled[receivers->unsettled_count++];
	memcpy(free_one->receiver_uuid, receivers->last, sizeof(free_one->receiver_uuid));
	free_one->position = client->positions.acked;
	return 0;
}

static void move_log(const struct k2hft_client *client, const uint8_t from[16], const uint8_t to[16], bool doubts)
{
	char before[K2I_UUID_TEXT_BYTES], after[K2I_UUID_TEXT_BYTES];

	k2i_log(doubts ? K2HFT_LOG_WARNING : K2HFT_LOG_INFO,
		"client: moved from receiver %s to %s (%s) at position %" PRIu64 ": %s%s", k2i_uuid_text(from, before),
		client->dial.target->peer, k2i_uuid_text(to, after), client->positions.acked,
		client->targets.count == 1 ? "another one answers under this name"
		: client->move.going_home  ? "its home answers again"
					   : "the other one did not answer",
		doubts ? "; it can have more, and is to take that back" : "");
}

int k2i_client_move(struct k2hft_client *client, const struct k2hft_welcome *welcome)
{
	struct k2i_ring_receivers receivers = client->move.receivers;
	bool same = memcmp(receivers.last, welcome->receiver_uuid, sizeof(receivers.last)) == 0;
	bool moved = !same && !k2i_uuid_zero(receivers.last), doubts = moved && last_doubtful(client);

	if (k2i_client_name_old(client) || (same && receivers.last_target == client->dial.target->hash))
		return 0;
	if (doubts && unsettled_add(client, &receivers) < 0)
		return -ENOSPC;
	memcpy(receivers.last, welcome->receiver_uuid, sizeof(receivers.last));
	receivers.last_target = client->dial.target->hash;
	if (moved) {
		client->resume.epoch = k2i_ring_epoch_raise(client->ring);
		move_log(client, client->move.receivers.last, receivers.last, doubts);
		client->stats.moves++;
		k2i_ring_count(client->ring, moves, 1);
	}
	receivers_keep(client, &receivers);
	return 0;
}

void k2i_client_answered(struct k2hft_client *client)
{
	/* relaxed: a hint. */
	(void)atomic_fetch_add_explicit(&answers, 1, memory_order_relaxed);
	client->move.silent_ns = 0;
	client->move.searching = client->move.returning = client->move.going_home = false;
	client->move.searched = 0;
}

void k2i_client_unsettled_log(const struct k2hft_client *client)
{
	const struct k2i_ring_receivers *receivers = &client->move.receivers;
	bool ends = client->options.flags & K2HFT_CLIENT_RING_ENDS;
	char uuid[K2I_UUID_TEXT_BYTES];

	for (int at = 0; at < receivers->unsettled_count; at++)
		k2i_log(ends ? K2HFT_LOG_WARNING : K2HFT_LOG_INFO,
			"client: receiver %s is unsettled: what it has beyond position %" PRIu64
			" is at another one, too%s",
			k2i_uuid_text(receivers->unsettled[at].receiver_uuid, uuid), receivers->unsettled[at].position,
			ends ? ", and the ring ends" : "");
}
