/* SPDX-License-Identifier: MIT */
#include "receiver/sink/file/file_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct k2i_store_options k2i_file_rules_store(const struct k2i_settings *settings)
{
	return (struct k2i_store_options){
		.write_bytes = (size_t)settings->write_bytes, .mode = settings->open_mode, .cache = settings->cache};
}

int k2i_file_rules_make(const struct k2i_format *format, const char *unify_file, struct k2i_file_rules **rules)
{
	struct k2i_file_rules *made = calloc(1, sizeof(*made));

	if (made && unify_file)
		made->unify_file = strdup(unify_file);
	if (!made || (unify_file && !made->unify_file)) {
		free(made);
		return -ENOMEM;
	}
	made->references = 1;
	made->format = format;
	*rules = made;
	return 0;
}

void k2i_file_rules_put(struct k2i_file_rules *rules)
{
	if (!rules || atomic_fetch_sub(&rules->references, 1) > 1)
		return;
	k2i_format_free(rules->own_format);
	free(rules->unify_file);
	free(rules);
}

void k2i_file_rules_place_start(struct k2i_file_rules_place *place, struct k2i_file_rules *rules)
{
	place->now = rules;
	(void)pthread_mutex_init(&place->mutex, NULL);
}

void k2i_file_rules_place_free(struct k2i_file_rules_place *place)
{
	k2i_file_rules_put(place->now);
	(void)pthread_mutex_destroy(&place->mutex);
}

struct k2i_file_rules *k2i_file_rules_get(struct k2i_file_rules_place *place)
{
	struct k2i_file_rules *rules;

	(void)pthread_mutex_lock(&place->mutex);
	rules = place->now;
	atomic_fetch_add(&rules->references, 1);
	(void)pthread_mutex_unlock(&place->mutex);
	return rules;
}

int k2i_file_rules_prepare(struct k2i_file_rules_place *place, const struct k2i_settings *settings)
{
	struct k2i_format *format;
	char message[512];
	int error = k2i_format_compile(settings->format, settings->time_format, &format, message, sizeof(message));

	if (error)
		return error;
	error = k2i_file_rules_make(format, settings->unify_file, &place->prepared);
	if (error) {
		k2i_format_free(format);
		return error;
	}
	place->prepared->own_format = format;
	place->prepared->file_mode = settings->file_mode;
	place->prepared->store = k2i_file_rules_store(settings);
	return 0;
}

void k2i_file_rules_change(struct k2i_file_rules_place *place, bool take)
{
	struct k2i_file_rules *other = place->prepared;

	(void)pthread_mutex_lock(&place->mutex);
	if (take) {
		other = place->now;
		place->now = place->prepared;
	}
	place->prepared = NULL;
	(void)pthread_mutex_unlock(&place->mutex);
	k2i_file_rules_put(other);
}
