/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/caller.h"
#include "base/condition.h"
#include "base/options.h"
#include "client/state.h"
#include "base/text.h"
#include "ring/ring.h"

/* At the end of a ring, for receivers that nobody settles later. */
#define SETTLE_MS 1000

/* A line end that a script has left at the end of it must not keep this host from being heard. */
static void host_name_find(char *name, size_t room)
{
	if (gethostname(name, room - 1) < 0)
		name[0] = '\0';
	k2i_text_controls_mask(name);
}

static void name_copy(struct k2hft_client *client)
{
	if (client->options.host_name)
		memcpy(client->host_name, client->options.host_name, strlen(client->options.host_name));
	else
		host_name_find(client->host_name, sizeof(client->host_name));
	/* The caller's memory. */
	client->options.host = client->options.port = client->options.host_name = NULL;
	client->options.tls = NULL;
	client->options.others = NULL;
}

static int targets_open(struct k2hft_client *client)
{
	const struct k2hft_client_options *options = &client->options;
	const struct k2hft_target home = {options->host, options->port, options->tls};
	int error;

	client->targets.list = calloc(1, sizeof(*client->targets.list));
	if (!client->targets.list)
		return -ENOMEM;
	client->targets.count = 1;
	client->dial.target = client->targets.list;
	error = k2i_target_open(client->targets.list, &home, &client->targets.tls);
	return error ? error : k2i_client_others_take(client, options->others, options->others_count);
}

static int descriptor_watch(int epoll, int descriptor)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};

	if (descriptor < 0)
		return descriptor;
	return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) < 0 ? -errno : 0;
}

static int descriptors_open(struct k2hft_client *client)
{
	client->wake.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (client->wake.epoll < 0)
		return -errno;
	client->wake.interrupt = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (client->wake.interrupt < 0)
		return -errno;
	int error = descriptor_watch(client->wake.epoll, client->wake.interrupt);
	return error < 0 ? error : descriptor_watch(client->wake.epoll, k2hft_ring_wake_descriptor(client->ring));
}

static void client_free(struct k2hft_client *client)
{
	if (client->wake.epoll >= 0)
		(void)close(client->wake.epoll);
	if (client->wake.interrupt >= 0)
		(void)close(client->wake.interrupt);
	(void)pthread_cond_destroy(&client->published.changed);
	(void)pthread_mutex_destroy(&client->lease.running);
	(void)pthread_mutex_destroy(&client->published.lock);
	k2i_targets_free(client->targets.list, client->targets.count);
	k2i_client_tls_free(client->targets.tls);
	k2i_client_archive_end(client);
	free(client->data.compressed);
	free(client);
}

int k2hft_client_open(struct k2hft_ring *ring, const struct k2hft_client_options *options, struct k2hft_client **client)
{
	struct k2hft_client_options known;
	K2I_ERRNO_KEPT;

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
	opened->archive.descriptor = opened->wake.epoll = opened->wake.interrupt = opened->dial.transport.descriptor =
		opened->side.dial.transport.descriptor = -1;
	(void)pthread_mutex_init(&opened->lease.running, NULL);
	(void)pthread_mutex_init(&opened->published.lock, NULL);
	k2i_condition_init(&opened->published.changed);
	error = targets_open(opened);
	name_copy(opened);
	if (error == 0)
		error = descriptors_open(opened);
	if (error == 0)
		error = k2i_client_archive_begin(opened);
	if (error == 0 && !k2i_ring_client_enter(ring))
		error = -EBUSY;
	opened->dial.epoll = opened->side.dial.epoll = opened->wake.epoll;
	opened->dial.interrupt = opened->side.dial.interrupt = opened->wake.interrupt;
	if (error < 0) {
		client_free(opened);
		return error;
	}
	if (opened->targets.tls)
		k2i_client_exit_add(opened);
	k2i_client_ring_look(opened);
	k2i_client_move_begin(opened);
	k2i_client_certificate_look(opened, 0);
	k2i_client_publish(opened);
	/* A client before this one has told of itself. */
	k2i_ring_connection_acked(ring, 0);
	k2i_client_connection_tell(opened);
	*client = opened;
	return 0;
}

void k2hft_client_close(struct k2hft_client *client)
{
	K2I_ERRNO_KEPT;

	if (!client)
		return;
	k2i_client_settled_wait(client, SETTLE_MS);
	k2i_client_exit_remove(client);
	k2i_client_thread_stop(client);
	k2i_client_side_end(client);
	k2i_client_bye(client);
	k2i_client_unsettled_log(client);
	k2i_ring_connection_set(client->ring, &(struct k2i_ring_connection){.receiver = ""});
	k2i_ring_client_leave(client->ring);
	client_free(client);
}
