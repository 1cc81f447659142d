/* SPDX-License-Identifier: MIT */
#include "receiver/base/flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* relaxed, all numbers: each is right by itself. */
static uint64_t number_get(const atomic_uint_fast64_t *number)
{
	return atomic_load_explicit(number, memory_order_relaxed);
}

void k2i_histogram_add(struct k2i_histogram *histogram, uint64_t chunks, uint64_t age_ns)
{
	atomic_fetch_add_explicit(&histogram->chunks[k2i_latency_bucket(age_ns)], chunks, memory_order_relaxed);
	atomic_fetch_add_explicit(&histogram->sum_us, age_ns / 1000 * chunks, memory_order_relaxed);
}

void k2i_histogram_copy(const struct k2i_histogram *histogram, struct k2i_latency *latency)
{
	for (unsigned at = 0; at < K2I_LATENCY_BUCKETS; at++)
		latency->chunks[at] = number_get(&histogram->chunks[at]);
	latency->sum_us = number_get(&histogram->sum_us);
}

void k2i_flows_start(struct k2i_flows *flows)
{
	(void)pthread_mutex_init(&flows->mutex, NULL);
}

static void place_free(struct k2i_flow_place *place)
{
	free(place->path);
	free(place->host);
	memset(place, 0, sizeof(*place));
}

void k2i_flows_end(struct k2i_flows *flows)
{
	for (size_t at = 0; at < K2I_FLOWS_MAX; at++)
		place_free(&flows->places[at]);
	(void)pthread_mutex_destroy(&flows->mutex);
}

/* A free place is the longest idle of all. */
static uint64_t idle_since(const struct k2i_flow_place *place)
{
	return place->path ? number_get(&place->flow.last_ns) : 0;
}

/* Its own place, or else the one that was idle for longest; NULL: all have users. */
static struct k2i_flow_place *place_find(struct k2i_flows *flows, const char *path, const char *host, uint64_t hash)
{
	struct k2i_flow_place *place, *idle = NULL;

	for (place = flows->places; place < flows->places + K2I_FLOWS_MAX; place++) {
		if (place->path && place->hash == hash && strcmp(place->path, path) == 0 &&
		    strcmp(place->host, host) == 0)
			return place;
		if (!place->users && (!idle || idle_since(place) < idle_since(idle)))
			idle = place;
	}
	if (!idle)
		return NULL;
	place_free(idle);
	idle->hash = hash;
	idle->path = strdup(path);
	idle->host = strdup(host);
	if (idle->path && idle->host)
		return idle;
	place_free(idle);
	return NULL;
}

struct k2i_flow *k2i_flow_take(struct k2i_flows *flows, const char *path, const char *host)
{
	uint64_t hash = k2i_hash(path, strlen(path)) ^ k2i_hash(host, strlen(host));
	struct k2i_flow_place *place;

	(void)pthread_mutex_lock(&flows->mutex);
	place = place_find(flows, path, host, hash);
	if (place)
		place->users++;
	(void)pthread_mutex_unlock(&flows->mutex);
	return place ? &place->flow : NULL;
}

void k2i_flow_give(struct k2i_flows *flows, struct k2i_flow *flow)
{
	struct k2i_flow_place *place;

	if (!flow)
		return;
	place = (struct k2i_flow_place *)((char *)flow - offsetof(struct k2i_flow_place, flow));
	(void)pthread_mutex_lock(&flows->mutex);
	place->users--;
	(void)pthread_mutex_unlock(&flows->mutex);
}

void k2i_flows_each(struct k2i_flows *flows,
		    void (*each)(void *argument, const char *path, const char *host,
				 const struct k2i_flow_values *values),
		    void *argument)
{
	(void)pthread_mutex_lock(&flows->mutex);
	for (const struct k2i_flow_place *place = flows->places; place < flows->places + K2I_FLOWS_MAX; place++) {
		struct k2i_flow_values values = {number_get(&place->flow.records),
						 number_get(&place->flow.bytes),
						 number_get(&place->flow.last_ns),
						 {{0}, 0}};

		k2i_histogram_copy(&place->flow.latency, &values.latency);
		if (place->path)
			each(argument, place->path, place->host, &values);
	}
	(void)pthread_mutex_unlock(&flows->mutex);
}
