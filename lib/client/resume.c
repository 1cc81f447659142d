/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include <k2hft/version.h>

#include "base/hash.h"
#include "client/state.h"
#include "ring/ring.h"
#include "base/uuid.h"

void k2i_client_ring_look(struct k2hft_client *client)
{
	struct k2hft_ring_stats stats = k2i_ring_stats(client->ring);
	bool known;

	client->resume.opened_at = k2i_ring_opened_at(client->ring, &known);
	client->resume.epoch = stats.epoch;
	k2i_ring_name(client->ring, &client->resume.name);
	client->positions.acked = client->positions.released = client->positions.announced = stats.acked;
	if (k2i_ring_damage(client->ring, &client->positions.repaired_from, &client->positions.repaired_to))
		k2i_log(K2HFT_LOG_ERROR,
			"client: the ring was damaged when it was opened: records between positions %" PRIu64
			" and %" PRIu64 " can be lost; %" PRIu64 " bytes were skipped since the ring was made",
			client->positions.repaired_from, client->positions.repaired_to, stats.damaged_bytes);
	/* Without a random number, copies of the ring that are open at the same time are not told from each other. */
	(void)!getrandom(&client->resume.opening, sizeof(client->resume.opening), GRND_NONBLOCK);
	client->failure.random = k2i_hash_pair(stats.uuid, sizeof(stats.uuid), &stats.epoch, sizeof(stats.epoch)) | 1;
}

int k2i_client_hello_encode(struct k2hft_client *client, uint8_t *room, size_t bytes)
{
	const struct k2i_ring_receivers *receivers = &client->move.receivers;
	struct k2hft_hello hello = {.version_min = K2HFT_FRAME_VERSION,
				    .version_max = K2HFT_FRAME_VERSION,
				    .acked = client->positions.acked,
				    .frame_bytes_max = client->options.frame_bytes_max,
				    .level = (uint8_t)client->options.level,
				    .opening = client->resume.opening,
				    .attempt = ++client->resume.attempts};

	/* Read late, behind chunks that came on another connection, it would have them taken back: then its epoch is too low. */
	if (receivers->unsettled_count > 0 && !k2i_client_name_old(client))
		client->resume.epoch = k2i_ring_epoch_raise(client->ring);
	k2i_ring_name(client->ring, &client->resume.name);
	memcpy(hello.ring_uuid, client->resume.name.uuid, sizeof(hello.ring_uuid));
	hello.epoch = client->resume.name.epoch;
	hello.flags = (client->resume.name.begins ? K2HFT_HELLO_BEGINS : 0) |
		      (k2i_client_name_old(client) ? K2HFT_HELLO_COPY : 0);
	/* They have chunks of the ring's own name. */
	if (!k2i_client_name_old(client)) {
		memcpy(hello.receiver_uuid, receivers->last, sizeof(hello.receiver_uuid));
		memcpy(hello.unsettled, receivers->unsettled, sizeof(hello.unsettled));
		hello.unsettled_count = receivers->unsettled_count;
	}
	memcpy(hello.host, client->host_name, sizeof(hello.host));
	(void)snprintf(hello.software, sizeof(hello.software), "k2hft %s", k2hft_version_string());
	return k2hft_hello_encode(&hello, room, bytes);
}

int k2i_client_hello_send(struct k2hft_client *client)
{
	uint8_t *room = k2i_client_control_room(client, K2I_CLIENT_MESSAGE_ROOM);
	int bytes = room ? k2i_client_hello_encode(client, room, K2I_CLIENT_MESSAGE_ROOM) : 0;

	if (bytes < 0)
		return bytes;
	k2i_client_control_add(client, (size_t)bytes);
	return 0;
}

/* Said once: every later connection to this receiver would say it again. */
static void ledger_lost(struct k2hft_client *client, const struct k2hft_welcome *welcome)
{
	char ring[K2I_UUID_TEXT_BYTES], receiver[K2I_UUID_TEXT_BYTES];

	client->stats.ledger_lost++;
	if (client->resume.ledger_lost_logged)
		return;
	client->resume.ledger_lost_logged = true;
	k2i_log(K2HFT_LOG_WARNING,
		"client: %s (%s) does not know ring %s, of which positions up to %" PRIu64
		" were acknowledged; it begins at %" PRIu64
		": what came after the acknowledgement can be there twice, or be missing there",
		client->dial.target->peer, k2i_uuid_text(welcome->receiver_uuid, receiver),
		k2i_uuid_text(client->resume.name.uuid, ring), client->positions.acked, welcome->position);
}

static void ledger_look(struct k2hft_client *client, const struct k2hft_welcome *welcome)
{
	const uint8_t *last = client->move.receivers.last;
	bool same = k2i_uuid_zero(last) || memcmp(last, welcome->receiver_uuid, sizeof(welcome->receiver_uuid)) == 0;
	bool unknown =
		!(welcome->flags & K2HFT_WELCOME_KNOWN) && client->positions.acked > 0 && !client->resume.name.begins;

	/* Another receiver need not know the ring; behind the only name it stands for the one that did. */
	if (same ? unknown || welcome->position < client->positions.acked : unknown && client->targets.count == 1)
		ledger_lost(client, welcome);
}

static bool welcome_acceptable(struct k2hft_client *client, const struct k2hft_welcome *welcome, uint64_t now_ns)
{
	if (welcome->version == K2HFT_FRAME_VERSION && welcome->features == 0)
		return true;
	k2i_client_refuse(client, K2HFT_ERROR_VERSION, K2I_CLIENT_RETRY_LATE, now_ns,
			  "the receiver chose version %u with features %" PRIu32 ", which was not offered",
			  (unsigned)welcome->version, welcome->features);
	return false;
}

void k2i_client_name_next(struct k2hft_client *client)
{
	if (!k2i_client_name_old(client) || client->positions.acked < client->resume.name.end)
		return;
	k2i_client_bye(client);
	client->resume.name.end = UINT64_MAX;
}

/* Where chunks end around a position that need not be such a place itself. */
struct place {
	uint64_t position;
	uint64_t below, above; /* the last end at or below, the first begin at or above */
};

/* 1: the place is in front of the span or between two of its chunks; 0: behind it; -EINVAL inside a whole chunk. */
static int place_look(struct place *place, const struct k2hft_span *span)
{
	struct k2i_chunk_glance chunk;
	size_t at = 0;

	place->above = span->position;
	while (place->above < place->position && at < span->bytes) {
		if (k2i_chunk_glance(span, at, &chunk) < 0)
			return -EINVAL;
		at += chunk.bytes;
		place->above += chunk.bytes;
		if (place->above > place->position)
			return -EINVAL;
		place->below = place->above;
	}
	return place->above >= place->position;
}

/* Nothing can be read any more: damage up to the end, which was read over. */
static int place_at_end(struct k2hft_client *client, struct place *place)
{
	uint64_t read = k2i_ring_stats(client->ring).read;

	if (read < place->position)
		return -EINVAL;
	place->above = read;
	return 1;
}

/*
 * The ring was damaged, by a power cut or a process that went wild, among the chunks that are not acknowledged, so the
 * receiver's position is not found by walking. Reads from the head on, and mends.
 */
static int place_find(struct k2hft_client *client, struct place *place)
{
	struct k2hft_span span;
	int found = k2hft_ring_rewind(client->ring, client->positions.acked);

	place->below = client->positions.acked;
	for (unsigned repairs = 0; found == 0;) {
		int chunks = k2hft_ring_read(client->ring, K2I_BATCH_FRAME_BYTES, 0, &span, NULL);

		if (chunks == -EBADMSG && repairs++ < K2I_CLIENT_REPAIRS_MAX)
			found = k2hft_ring_repair(client->ring) < 0 ? -EIO : 0;
		else
			found = chunks > 0 ? place_look(place, &span) : place_at_end(client, place);
	}
	return found < 0 ? found : k2hft_ring_rewind(client->ring, place->above);
}

static void damage_found(struct k2hft_client *client, const struct place *place)
{
	if (place->above == place->position)
		return;
	client->positions.repaired_from = place->position;
	client->positions.repaired_to = place->above;
	k2i_log(K2HFT_LOG_ERROR,
		"client: the ring is damaged: %s goes on at position %" PRIu64
		", the next chunk that can be read is at %" PRIu64,
		client->dial.target->peer, place->position, place->above);
}

/*
 * Places the ring where the receiver goes on. Chunks that it committed and could not acknowledge any more are
 * acknowledged now.
 */
static int ring_place(struct k2hft_client *client, uint64_t position, uint64_t head)
{
	struct place place = {.position = position > head ? position : head, .below = position};
	int error = k2hft_ring_rewind(client->ring, place.position);

	place.above = place.position;
	if (error < 0)
		error = place_find(client, &place);
	if (error < 0)
		return error;
	k2i_batch_reset(&client->data.batch, place.above);
	client->positions.announced = position > client->positions.acked ? position : client->positions.acked;
	damage_found(client, &place);
	if (place.below <= client->positions.acked)
		return 0;
	error = k2hft_ring_release(client->ring, place.below);
	if (error < 0)
		return error;
	client->positions.acked = client->positions.released = place.below;
	if (client->options.progress)
		client->options.progress(client->options.progress_argument, place.below);
	return 0;
}

static const char perhaps_twice[] = "what was not acknowledged is sent, and part of it can be there already";

/*
 * (uuid, position) names a chunk for ever, but the receiver has other chunks at positions of this ring, or can have: its
 * file was put back from a backup or by a power cut, or another process sends a copy of it. Under another uuid nothing of
 * it is taken for what the receiver has.
 */
static int name_anew(struct k2hft_client *client, const char *sent, uint64_t now_ns)
{
	char before[K2I_UUID_TEXT_BYTES], after[K2I_UUID_TEXT_BYTES];
	int error = 0;

	if (k2i_client_name_old(client))
		k2i_ring_name_drop(client->ring);
	else
		error = k2i_ring_rename(client->ring);
	if (error < 0)
		return error;
	(void)k2i_uuid_text(client->resume.name.uuid, before);
	k2i_ring_name(client->ring, &client->resume.name);
	client->move.receivers = (struct k2i_ring_receivers){.unsettled_count = 0};
	client->resume.ledger_lost_logged = true; /* this says more */
	k2i_log_limited(
		&client->resume.copy_limit, now_ns, K2HFT_LOG_ERROR,
		"client: %s has other chunks of ring %s: its file is an older copy, or another process sends a copy. "
		"It is ring %s from now on; %s",
		client->dial.target->peer, before, k2i_uuid_text(client->resume.name.uuid, after), sent);
	return 0;
}

void k2i_client_name_drop(struct k2hft_client *client, uint64_t now_ns)
{
	k2i_ring_name_drop(client->ring);
	k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns,
			      "chunks of the copied ring are damaged: the others are sent under another uuid");
}

void k2i_client_fenced(struct k2hft_client *client, uint64_t now_ns)
{
	/* If the ring itself has another consumer, that is the one who may send it. */
	if (k2i_ring_stats(client->ring).epoch == client->resume.epoch)
		(void)name_anew(client, perhaps_twice, now_ns);
}

/* The same ring: its chunks from when it was opened are there, if no receiver heard of this copy since. */
static void older_copy(struct k2hft_client *client, uint64_t position, uint64_t head, uint64_t now_ns)
{
	const char *sent = perhaps_twice;
	bool known;

	(void)k2i_ring_opened_at(client->ring, &known);
	if (!known && ring_place(client, client->resume.opened_at, head) == 0)
		sent = "what was in it when it was opened is there, what has come since is sent";
	k2i_client_refuse(client, K2HFT_ERROR_POSITION,
			  name_anew(client, sent, now_ns) ? K2I_CLIENT_RETRY_LATE : K2I_CLIENT_RETRY_SOON, now_ns,
			  "the ring was not sent up to position %" PRIu64
			  ": it is an older copy, and gets another name",
			  position);
}

static void connection_begin(struct k2hft_client *client, const struct k2hft_welcome *welcome, uint64_t now_ns)
{
	client->state = K2HFT_CLIENT_CONNECTED;
	client->failure.connected_ns = now_ns;
	client->positions.window_end = welcome->window_end;
	client->positions.level = welcome->level;
	k2i_client_sent_begin(client, welcome->position);
	client->positions.frame_bytes_max = welcome->frame_bytes_max < client->options.frame_bytes_max
						    ? welcome->frame_bytes_max
						    : client->options.frame_bytes_max;
	k2i_client_answered(client);
	k2i_ring_introduced(client->ring);
	client->stats.connects++;
	client->stats.last_error[0] = '\0';
	if (client->data.batch.read < client->positions.sent_max)
		k2i_log_limited(&client->resume.resent_limit, now_ns, K2HFT_LOG_INFO,
				"client: positions %" PRIu64 " to %" PRIu64
				" were sent before, but not acknowledged: they are sent again",
				client->data.batch.read, client->positions.sent_max);
	/* The log that told of a failure tells of its end, too. */
	if (!k2i_log_limit_due(&client->resume.connected_limit, now_ns) && !client->failure.logged_last)
		return;
	client->failure.logged_last = false;
	k2i_log(K2HFT_LOG_INFO, "client: connected to %s (%s), from position %" PRIu64 " on", client->dial.target->peer,
		welcome->software, client->data.batch.read);
	if (welcome->level < client->options.level)
		k2i_log(K2HFT_LOG_WARNING, "client: %s acknowledges at level %u, not %u as wanted",
			client->dial.target->peer, (unsigned)welcome->level, (unsigned)client->options.level);
}

/* The end of what a receiver can have of this ring, if it has the same chunks. */
static uint64_t sendable_end(const struct k2hft_client *client, const struct k2hft_welcome *welcome, uint64_t tail)
{
	uint64_t sent = client->resume.opened_at > client->positions.sent_max ? client->resume.opened_at
									      : client->positions.sent_max;

	/* It can have more of the original than this copy holds. */
	if (k2i_client_name_old(client))
		return UINT64_MAX;
	/* A copy sent nothing that this ring has not as well. */
	return welcome->flags & K2HFT_WELCOME_COPIED || sent > tail ? tail : sent;
}

void k2i_client_welcome(struct k2hft_client *client, const struct k2hft_welcome *welcome, uint64_t now_ns)
{
	struct k2hft_ring_stats stats = k2i_ring_stats(client->ring);
	uint64_t end = client->resume.name.end, position = welcome->position < end ? welcome->position : end;

	if (!welcome_acceptable(client, welcome, now_ns))
		return;
	if (welcome->position > sendable_end(client, welcome, stats.tail)) {
		older_copy(client, welcome->position, stats.head, now_ns);
		return;
	}
	if (!k2i_client_settle(client, welcome, client->dial.target->peer)) {
		k2i_client_refuse(client, K2HFT_ERROR_POSITION, K2I_CLIENT_RETRY_LATE, now_ns,
				  "the receiver has not taken back what is at another one: it is at position %" PRIu64,
				  welcome->position);
		return;
	}
	ledger_look(client, welcome);
	if (k2i_client_move(client, welcome) < 0) {
		client->move.searching = true;
		k2i_client_disconnect(
			client, K2I_CLIENT_RETRY_LATE, now_ns,
			"%u receivers are unsettled: it can't be another one's turn before one of them answers",
			K2HFT_UNSETTLED_MAX);
		return;
	}
	if (ring_place(client, position, stats.head) < 0) {
		k2i_client_refuse(client, K2HFT_ERROR_POSITION,
				  name_anew(client, perhaps_twice, now_ns) ? K2I_CLIENT_RETRY_LATE
									   : K2I_CLIENT_RETRY_SOON,
				  now_ns,
				  "the receiver's position %" PRIu64
				  " is not between two chunks of the ring, which gets another name",
				  position);
		return;
	}
	k2i_client_name_next(client);
	if (client->dial.transport.descriptor >= 0)
		connection_begin(client, welcome, now_ns);
}
