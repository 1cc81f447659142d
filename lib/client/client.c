/* SPDX-License-Identifier: MIT */
#include "client/client.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cancel.h"
#include "client/state.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/hash.h"
#include "base/options.h"
#include "base/text.h"
#include "ring/counts.h"
#include "ring/handle.h"

/* A number, or a service name. Of a larger number getaddrinfo(3) takes the lower 16 bits, which is another port. */
static bool is_port(const char *port)
{
	int kept = errno;
	char *end;
	unsigned long number = strtoul(port, &end, 10);

	errno = kept;
	return *port && (*end || (number > 0 && number <= UINT16_MAX));
}

static int texts_check(const struct k2hft_client_options *options)
{
	if (!options->host || !*options->host)
		return k2i_option_refuse("host is missing");
	if (!options->port)
		return k2i_option_refuse("port is missing");
	if (!is_port(options->port))
		return k2i_option_refuse("port = \"%s\" is no port", options->port);
	if (options->host_name &&
	    (strlen(options->host_name) > K2HFT_STREAM_HOST_BYTES_MAX || !k2i_text_plain(options->host_name)))
		return k2i_option_refuse("host_name = \"%s\" has more than %u bytes, or a control character",
					 options->host_name, (unsigned)K2HFT_STREAM_HOST_BYTES_MAX);
	return 0;
}

int k2i_client_options_check(struct k2hft_client_options *options)
{
	int error = texts_check(options);

	if (error)
		return error;
	if (options->level > K2HFT_LEVEL_SYNCED)
		return k2i_option_refuse("level = %u is not known", options->level);
	if (options->compress > K2HFT_COMPRESS_ALWAYS)
		return k2i_option_refuse("compress = %u is not known", options->compress);
	if (options->frame_bytes_max > K2HFT_FRAME_BODY_BYTES_MAX)
		return k2i_option_refuse("frame_bytes_max = %" PRIu64 " is more than %u",
					 (uint64_t)options->frame_bytes_max, (unsigned)K2HFT_FRAME_BODY_BYTES_MAX);
	if (options->flags & ~K2HFT_CLIENT_RING_ENDS)
		return k2i_option_refuse("flags = %#x are not known", options->flags);
	if (options->reserved)
		return k2i_option_refuse("reserved = %u is not 0", options->reserved);
	if (options->level == 0)
		options->level = K2HFT_LEVEL_WRITTEN;
	if (options->frame_bytes_max == 0)
		options->frame_bytes_max = K2HFT_FRAME_BODY_BYTES_DEFAULT;
	return k2i_client_tls_check(options->tls);
}

/* A line end that a script has left at the end of it must not keep this host from being heard. */
static void own_name(char *name, size_t room)
{
	if (gethostname(name, room - 1) < 0)
		name[0] = '\0';
	k2i_text_controls_mask(name);
}

static int names_copy(struct k2hft_client *client)
{
	size_t peer_room = strlen(client->options.host) + strlen(client->options.port) + sizeof("[]:");

	client->host = strdup(client->options.host);
	client->port = strdup(client->options.port);
	client->peer = malloc(peer_room);
	if (!client->host || !client->port || !client->peer)
		return -ENOMEM;
	(void)snprintf(client->peer, peer_room, strchr(client->host, ':') ? "[%s]:%s" : "%s:%s", client->host,
		       client->port);
	if (client->options.host_name)
		memcpy(client->host_name, client->options.host_name, strlen(client->options.host_name));
	else
		own_name(client->host_name, sizeof(client->host_name));
	/* The caller's memory. */
	client->options.host = client->options.port = client->options.host_name = NULL;
	client->options.tls = NULL;
	return 0;
}

static void ring_look(struct k2hft_client *client)
{
	struct k2hft_ring_stats stats = k2i_ring_stats(client->ring);
	bool known;

	client->opened_at = k2i_ring_opened_at(client->ring, &known);
	memcpy(client->ring_uuid, stats.uuid, sizeof(client->ring_uuid));
	client->epoch = stats.epoch;
	client->acked = client->released = client->announced = stats.acked;
	if (k2i_ring_damage(client->ring, &client->repaired_from, &client->repaired_to))
		k2i_log(K2HFT_LOG_ERROR,
			"client: the ring was damaged when it was opened: records between positions %" PRIu64
			" and %" PRIu64 " can be lost; %" PRIu64 " bytes were skipped since the ring was made",
			client->repaired_from, client->repaired_to, stats.damaged_bytes);
	client->random = k2i_hash_pair(stats.uuid, sizeof(stats.uuid), &stats.epoch, sizeof(stats.epoch)) | 1;
}

static int watch(int epoll, int descriptor)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};

	if (descriptor < 0)
		return descriptor;
	return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) < 0 ? -errno : 0;
}

static int descriptors_open(struct k2hft_client *client)
{
	client->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (client->epoll < 0)
		return -errno;
	client->interrupt = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (client->interrupt < 0)
		return -errno;
	int error = watch(client->epoll, client->interrupt);
	return error < 0 ? error : watch(client->epoll, k2hft_ring_wake_descriptor(client->ring));
}

static void client_free(struct k2hft_client *client)
{
	if (client->epoll >= 0)
		(void)close(client->epoll);
	if (client->interrupt >= 0)
		(void)close(client->interrupt);
	(void)pthread_cond_destroy(&client->drained);
	(void)pthread_mutex_destroy(&client->running);
	(void)pthread_mutex_destroy(&client->lock);
	k2i_client_tls_free(client);
	free(client->compressed);
	free(client->host);
	free(client->port);
	free(client->peer);
	free(client);
}

static int client_open(struct k2hft_ring *ring, const struct k2hft_client_options *options,
		       struct k2hft_client **client)
{
	struct k2hft_client_options known;

	if (!ring || !client)
		return -EINVAL;
	int error = k2i_options_copy(&known, sizeof(known), options);
	if (error == 0)
		error = k2i_client_options_check(&known);
	if (error < 0)
		return error;
	struct k2hft_client *opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->ring = ring;
	opened->options = known;
	opened->epoll = opened->interrupt = opened->transport.descriptor = -1;
	(void)pthread_mutex_init(&opened->running, NULL);
	(void)pthread_mutex_init(&opened->lock, NULL);
	k2i_condition_init(&opened->drained);
	error = names_copy(opened);
	if (error == 0)
		error = k2i_client_tls_open(opened, known.tls);
	if (error == 0)
		error = descriptors_open(opened);
	/* Two would take the chunks from each other. acquire: what the one before has done with the ring. */
	if (error == 0 && atomic_exchange_explicit(&ring->sent, true, memory_order_acquire))
		error = -EBUSY;
	if (error < 0) {
		client_free(opened);
		return error;
	}
	ring_look(opened);
	k2i_client_certificate_look(opened, 0);
	k2i_client_publish(opened);
	*client = opened;
	return 0;
}

int k2hft_client_open(struct k2hft_ring *ring, const struct k2hft_client_options *options, struct k2hft_client **client)
{
	int kept = errno, status = client_open(ring, options, client);

	errno = kept;
	return status;
}

void k2hft_client_close(struct k2hft_client *client)
{
	int kept = errno;

	if (!client)
		return;
	k2i_client_tls_leave(client);
	k2i_client_thread_stop(client);
	k2i_client_bye(client);
	atomic_store_explicit(&client->ring->sent, false, memory_order_release);
	client_free(client);
	errno = kept;
}

int k2hft_client_descriptor(const struct k2hft_client *client)
{
	return client->epoll;
}

int k2hft_client_timeout_ms(struct k2hft_client *client, uint64_t now_ns)
{
	if (client->broken)
		return -1;
	if (client->state == K2HFT_CLIENT_CONNECTED && client->pause == K2I_CLIENT_PAUSE_NONE)
		return 0;
	if (k2i_transport_more(&client->transport))
		return 0;
	uint64_t deadline_ns = k2i_client_deadline(client), claims_due_ns = k2i_client_claims_due(client);
	if (deadline_ns > claims_due_ns)
		deadline_ns = claims_due_ns;
	if (deadline_ns <= now_ns)
		return 0;
	/* Up, so that it is not called again just before the time. */
	uint64_t wait_ms = (deadline_ns - now_ns + K2I_MILLISECOND_NS - 1) / K2I_MILLISECOND_NS;
	return wait_ms > INT_MAX ? INT_MAX : (int)wait_ms;
}

static void event_handle(struct k2hft_client *client, const struct epoll_event *event, uint64_t now_ns)
{
	if (event->data.fd == client->interrupt)
		k2i_client_interrupted(client);
	else if (event->data.fd == client->transport.descriptor)
		k2i_client_socket_event(client, event->events, now_ns);
	else
		k2hft_ring_awake(client->ring);
}

/*
 * A writer that begins a chunk when this thread is awake does not wake it. It may have begun it after the ring was last
 * read: so the hook is asked once more, now that writers see that the client sleeps.
 */
static void claims_ask(struct k2hft_client *client, uint64_t now_ns)
{
	if (!client->claim_hook)
		return;
	if (k2i_client_claim_hook_due(client, now_ns)) {
		client->claim_hook(client->claim_argument);
		return;
	}
	client->pause = K2I_CLIENT_PAUSE_CLAIM;
	client->pause_until_ns = client->cut_ns + K2I_BATCH_HOLD_NS;
}

static int ring_sleep(struct k2hft_client *client, uint64_t now_ns)
{
	bool empty = client->pause == K2I_CLIENT_PAUSE_RING;

	if (!empty && client->pause != K2I_CLIENT_PAUSE_CLAIM)
		return 0;
	int quiet = k2hft_ring_sleep(client->ring);
	if (quiet == 0)
		client->pause = K2I_CLIENT_PAUSE_NONE;
	if (quiet > 0 && empty)
		claims_ask(client, now_ns);
	return quiet < 0 ? quiet : 0;
}

/* Before the wait: what is to wake this thread is set as it is needed now, and nothing else wakes it. */
static int wait_prepare(struct k2hft_client *client, uint64_t now_ns)
{
	if (client->state != K2HFT_CLIENT_GREETING && client->state != K2HFT_CLIENT_CONNECTED)
		return 0;
	int error = k2i_client_watch(client, client->output.full ? EPOLLIN | EPOLLOUT : EPOLLIN);
	if (error < 0)
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "%s", strerror(-error));
	return client->state == K2HFT_CLIENT_CONNECTED ? ring_sleep(client, now_ns) : 0;
}

static void ring_give_up(struct k2hft_client *client, uint64_t now_ns)
{
	k2i_log(K2HFT_LOG_ERROR, "client: the ring can't be used any more");
	client->broken = true;
	k2i_client_disconnect(client, K2I_CLIENT_RETRY_LATE, now_ns, "the ring can't be used any more");
}

int k2i_client_step(struct k2hft_client *client, const struct epoll_event *events, int event_count, uint64_t now_ns)
{
	int error = 0;

	if (client->broken)
		return -EIO;
	/* Who takes the turn can have looked at the clock before the one who had it. */
	if (now_ns < client->step_ns)
		now_ns = client->step_ns;
	client->step_ns = now_ns;
	for (int index = 0; index < event_count; index++)
		event_handle(client, &events[index], now_ns);
	/* What is left in TLS makes no event. */
	if (k2i_transport_more(&client->transport))
		k2i_client_receive(client, now_ns);
	k2i_client_session_step(client, now_ns);
	if (client->state == K2HFT_CLIENT_GREETING || client->state == K2HFT_CLIENT_CONNECTED)
		error = k2i_client_send(client, now_ns);
	if (error == 0)
		error = wait_prepare(client, now_ns);
	k2i_client_claims_seal(client, now_ns);
	if (error < 0)
		ring_give_up(client, now_ns);
	k2i_client_publish(client);
	return client->broken ? -EIO : 0;
}

int k2hft_client_process(struct k2hft_client *client, uint64_t now_ns)
{
	struct epoll_event events[K2I_CLIENT_EVENTS_MAX];
	/* A caller's thread that ended in the middle would leave a descriptor open, or bytes that went out uncounted. */
	int kept = errno, cancel_state = k2i_cancel_disable();
	int count = epoll_wait(client->epoll, events, K2I_CLIENT_EVENTS_MAX, 0);
	int status = k2i_client_step(client, events, count < 0 ? 0 : count, now_ns);

	k2i_cancel_restore(cancel_state);
	errno = kept;
	return status;
}
