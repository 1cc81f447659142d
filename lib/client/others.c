/* SPDX-License-Identifier: MIT */
/* The receivers that may take over, and how they change while the client runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/caller.h"
#include "client/state.h"

/* Others that are not named any more are kept for what they have to take back, up to so many. */
#define GONE_MAX 8u

static const struct k2i_target *target_find(const struct k2i_client_targets *targets, const struct k2hft_target *given)
{
	for (uint32_t at = 0; at < targets->count; at++)
		if (strcmp(targets->list[at].host, given->host) == 0 &&
		    strcmp(targets->list[at].port, given->port) == 0)
			return &targets->list[at];
	return NULL;
}

static bool list_has(const struct k2i_client_targets *targets, const struct k2i_target *target)
{
	for (uint32_t at = 0; at < targets->count; at++)
		if (targets->list[at].hash == target->hash)
			return true;
	return false;
}

/* Behind those that are named: the ones in use, and those that may have to settle. */
static void gone_keep(const struct k2hft_client *client, struct k2i_client_targets *made)
{
	const struct k2i_client_targets *before = &client->targets;
	uint32_t named = made->count;

	for (uint32_t at = 0; at < before->count; at++) {
		struct k2i_target *target = &before->list[at];
		bool used = target == client->dial.target || target == client->side.dial.target;

		if (list_has(made, target) ||
		    (!used && (client->move.receivers.unsettled_count == 0 || made->count >= named + GONE_MAX)))
			continue;
		made->list[made->count] = *target;
		made->list[made->count++].gone = true;
	}
}

/* A target has moved, with all that is under way. */
static void target_follow(struct k2i_target **place, const struct k2i_client_targets *made)
{
	uint32_t at = 0;

	while (*place && made->list[at].hash != (*place)->hash)
		at++;
	*place = *place ? &made->list[at] : NULL;
}

/* Frees a list, but for the targets that the other has, too. */
static void list_drop(struct k2i_client_targets *dropped, const struct k2i_client_targets *kept)
{
	struct k2i_target *last = dropped->list;

	for (uint32_t at = 0; at < dropped->count; at++)
		if (!list_has(kept, &dropped->list[at]))
			*last++ = dropped->list[at];
	k2i_targets_free(dropped->list, (uint32_t)(last - dropped->list));
}

static int list_make(struct k2hft_client *client, const struct k2hft_target *others, uint32_t count,
		     struct k2i_client_targets *made)
{
	int error = 0;

	made->list[made->count++] = client->targets.list[0];
	for (uint32_t at = 0; error == 0 && at < count; at++) {
		const struct k2i_target *known = target_find(&client->targets, &others[at]);
		struct k2i_target *made_one;

		/* Named twice, or the home. */
		if (target_find(made, &others[at]))
			continue;
		made_one = &made->list[made->count++];
		if (known)
			*made_one = *known;
		made_one->gone = false;
		if (!known)
			error = k2i_target_open(made_one, &others[at], &client->targets.tls);
		else if (!others[at].tls)
			made_one->tls = NULL;
		else
			error = k2i_client_tls_find(&client->targets.tls, others[at].tls, &made_one->tls);
	}
	return error;
}

int k2i_client_others_take(struct k2hft_client *client, const struct k2hft_target *others, uint32_t count)
{
	struct k2i_client_targets made = {.list = calloc(count + GONE_MAX + 3, sizeof(*made.list))};
	int error = made.list ? list_make(client, others, count, &made) : -ENOMEM;

	if (error) {
		if (made.list)
			list_drop(&made, &client->targets);
		return error;
	}
	gone_keep(client, &made);
	target_follow(&client->dial.target, &made);
	target_follow(&client->side.dial.target, &made);
	list_drop(&client->targets, &made);
	client->targets.list = made.list;
	client->targets.count = made.count;
	client->move.returning |= client->dial.target->gone;
	return 0;
}

int k2hft_client_others_set(struct k2hft_client *client, const struct k2hft_target *others, uint32_t count)
{
	bool had_tls;
	int error = client && (others || !count) ? 0 : -EINVAL;
	K2I_ERRNO_KEPT;

	for (uint32_t at = 0; error == 0 && at < count; at++)
		error = k2i_client_target_check(&others[at]);
	if (error)
		return error;
	(void)pthread_mutex_lock(&client->lease.running);
	had_tls = client->targets.tls != NULL;
	error = k2i_client_others_take(client, others, count);
	k2i_client_publish(client);
	(void)pthread_mutex_unlock(&client->lease.running);
	/* Not with `running`: the end of OpenSSL waits for a thread that has it. */
	if (!had_tls && client->targets.tls)
		k2i_client_exit_add(client);
	k2i_client_interrupt(client);
	return error;
}
